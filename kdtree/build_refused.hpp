// SPDX-License-Identifier: MIT
// A warp's part in nodes that are refused memory: they are set aside until others have given some back. That seldom happens, so
// it is called, not inlined.
#pragma once

#include "kdtree/build_worker.hpp"

namespace heapwood::kdtree {

// Puts a node aside that was refused memory for n refs. False: nobody will give any back; it is a leaf.
template <class Kernel, class Warp>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::set_aside(const NodeTask& task, std::uint32_t slot, std::uint32_t n) {
  if (!sets_aside) {
    note_failure(*k_.counters, warp_, n);
    return false;
  }
  // Where the smaller child would have come to lie.
  const std::uint32_t at = top_ % Kernel::stack_size;
  if (warp_.lane() == 0) scratch_.stack[at] = task;
  return put_aside(k_.queue, k_.counters, warp_, scratch_, at, slot, n);
}
template <class Kernel, class Warp>
SIMT_OUTLINE bool BuildWorker<Kernel, Warp>::put_aside(TaskQueue queue, BuildCounters* counters, Warp warp,
                                                       Scratch& scratch, std::uint32_t at, std::uint32_t slot,
                                                       std::uint32_t n) {
  bool aside = false;
  if (warp.lane() == 0) {
    const NodeTask& task = scratch.stack[at];
    aside = task.node != scratch.last_try && queue.set_aside(warp, task, slot);
    scratch.refused = aside;
  }
  aside = warp.any(aside);
  warp.sync();
  if (!aside) note_failure(*counters, warp, n);
  return aside;
}

// Takes such a node up again, unless this warp has just tried in vain. `is_alone`: nobody has work. Then all warps give back first
// what they keep, whoever does so last tries, and a node that is refused all the same is a leaf.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::try_again(bool is_alone) {
  const std::uint32_t found = take_up(k_.queue, warp_, scratch_, top_ % Kernel::stack_size, is_alone);
  if (found == found_nothing) return;
  if (found == found_trim) {
    trim();
  } else if (found == no_slot) {
    owed_ = 1;
    ++top_;
  } else {
    take_shared(found);
  }
}
// A shared node's slot, or no_slot: the task is in the stack's entry `at`.
template <class Kernel, class Warp>
SIMT_OUTLINE std::uint32_t BuildWorker<Kernel, Warp>::take_up(TaskQueue queue, Warp warp, Scratch& scratch,
                                                              std::uint32_t at, bool is_alone) {
  const bool refused = scratch.refused;
  warp.sync();  // all have read
  if (warp.lane() == 0) scratch.refused = false;
  if (refused && !is_alone) return found_nothing;
  if (has_context && is_alone && TaskQueue::trim(queue, warp)) return found_trim;
  std::uint32_t found = found_nothing;
  if (warp.lane() == 0 && queue.take_set_aside(warp, scratch.stack[at], found) && is_alone)
    scratch.last_try = scratch.stack[at].node;
  found = warp.shfl(found, 0);
  warp.sync();
  return found;
}

// Gives back what the warp keeps, in a unit of its own.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::trim() {
  if constexpr (has_context) own_.end(warp_);
  if (warp_.lane() == 0) scratch_.refused = true;  // not a reason to try again
  warp_.sync();
  owed_ = 1;
}

}  // namespace heapwood::kdtree
