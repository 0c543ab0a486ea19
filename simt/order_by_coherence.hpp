// SPDX-License-Identifier: MIT
// The memory order of an atomic write to memory that is later freed and reused, if another thread
// overwrites this word before the free.
#pragma once

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::simt {

// In C++ only a release orders the write before the stores of the memory's next owner. On a GPU it
// may be relaxed: PTX orders accesses to one location by coherence, and the overwriting access
// comes before those stores. A release would wait for all of the thread's own stores.
HEAPWOOD_FN constexpr auto order_by_coherence() {
#if defined(__CUDA_ARCH__)
  return relaxed;
#else
  return release;
#endif
}

}  // namespace heapwood::simt
