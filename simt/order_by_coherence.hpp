// SPDX-License-Identifier: MIT
// The memory order of an atomic write to memory that is freed and reused later, where another
// thread overwrites the same word before the free.
#pragma once

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::simt {

// In C++ only a release orders the write before the stores of the memory's next owner. On a GPU it
// may be relaxed: PTX orders accesses of one location by coherence, and the overwriting access
// happens before those stores. A release would wait for all of the thread's own stores.
HEAPWOOD_FN constexpr auto order_by_coherence() {
#if defined(__CUDA_ARCH__)
  return relaxed;
#else
  return release;
#endif
}

}  // namespace heapwood::simt
