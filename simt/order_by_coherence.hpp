// SPDX-License-Identifier: MIT
// The order of an atomic change of a word whose memory later has another owner, if that owner
// follows a thread that has changed the same word after it.
#pragma once

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::simt {

// In C++ only a release orders the change itself before the next owner's stores. On a GPU it may be
// relaxed: PTX orders accesses of one location by coherence, and the later change happens before
// those stores. A release would there wait for all of the thread's own stores.
SIMT_FN constexpr auto order_by_coherence() {
#if defined(__CUDA_ARCH__)
  return relaxed;
#else
  return release;
#endif
}

}  // namespace heapwood::simt
