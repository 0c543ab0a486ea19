// SPDX-License-Identifier: MIT
// The lanes that act as one in a call of a queue of pages: all lanes of a warp if they call
// together for the same class, or else each lane by itself.
//
// Smaller groups would be valid in the programming model, and pass on simulated warps. On sm_90
// (CUDA 13.0) they fail where the lanes of a warp allocate and free at different times: several
// groups of a warp are then inside the same collectives with different masks, a lane continues
// without its group, and takes a ticket without a unit or waits for lanes that have left. The
// queue's tickets and pages then disagree for good, and threads wait without end
// (examples/particles.cpp on an H100). While a group of all lanes exists, the warp has no other.
#pragma once

#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::ouroboros {

template <class Thread>
SIMT_INLINE LaneGroup<Thread> caller_group(const Thread& thread, const void* class_key) {
  constexpr std::uint32_t all = Thread::width == 32 ? ~0u : (1u << Thread::width) - 1;
  const std::uint32_t callers = thread.together();
  std::uint32_t group = 1u << thread.lane();
  if (callers == all) {
    const std::uint32_t same_class = thread.together(class_key);
    if (same_class == all) group = all;
  }
  return LaneGroup<Thread>(thread, group);
}

}  // namespace heapwood::alloc::ouroboros
