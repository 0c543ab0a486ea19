// SPDX-License-Identifier: MIT
// The lanes that act as one in a call of a queue of pages: all lanes of a warp if they call
// together for the same class, or else each lane by itself.
//
// Smaller groups would be valid in the programming model, and pass on simulated warps. On an H100
// (CUDA 13.0) examples/particles.cpp, whose lanes allocate and free at different times, did not
// end with them: a lane waited in a shuffle of its group whose other lanes had left it, threads
// had tickets without units, and the queue's tickets and pages disagreed for good. The probable
// cause is that several groups of a warp are inside the same collectives with different masks.
// While a group of all lanes exists, the warp has no other.
#pragma once

#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::ouroboros {

// `callers` is the result of thread.together() at the place of the call, which tells malloc from
// free.
template <class Thread>
SIMT_INLINE LaneGroup<Thread> caller_group(const Thread& thread, std::uint32_t callers,
                                           const void* class_key) {
  constexpr std::uint32_t all = Thread::width == 32 ? ~0u : (1u << Thread::width) - 1;
  std::uint32_t group = 1u << thread.lane();
  if (callers == all) {
    const std::uint32_t same_class = thread.together(class_key);
    if (same_class == all) group = all;
  }
  return LaneGroup<Thread>(thread, group);
}

}  // namespace heapwood::alloc::ouroboros
