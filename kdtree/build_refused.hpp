// SPDX-License-Identifier: MIT
// A warp's part in nodes that are refused memory: they are set aside until others have given some back. That seldom happens, so
// it is called, not inlined.
#pragma once

#include "kdtree/build_worker.hpp"

namespace heapwood::kdtree {

// Puts a node aside that was refused memory for n refs. False: nobody will give any back; it is a leaf.
template <class Kernel, class Warp>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::defer_node(const NodeTask& task, std::uint32_t slot, std::uint32_t n) {
  if (!defers_nodes) {
    note_failure(*k_.counters, warp_, n);
    return false;
  }
  // Where the smaller child would have come to lie.
  const std::uint32_t at = top_ % Kernel::stack_size;
  if (warp_.lane() == 0) scratch_.stack[at] = task;
  return record_deferred_node(k_.queue, k_.counters, warp_, scratch_, at, slot, n);
}
template <class Kernel, class Warp>
SIMT_OUTLINE bool BuildWorker<Kernel, Warp>::record_deferred_node(TaskQueue queue, BuildCounters* counters, Warp warp,
                                                                  Scratch& scratch, std::uint32_t at,
                                                                  std::uint32_t slot, std::uint32_t n) {
  bool is_deferred = false;
  if (warp.lane() == 0) {
    const NodeTask& task = scratch.stack[at];
    is_deferred = task.node != scratch.last_try && queue.defer(warp, task, slot);
    scratch.refused = is_deferred;
  }
  is_deferred = warp.any(is_deferred);
  warp.sync();
  if (!is_deferred) note_failure(*counters, warp, n);
  return is_deferred;
}

// Takes such a node up again, unless this warp has just tried in vain. `is_alone`: nobody has work. Then all warps give back first
// what they keep, whoever does so last tries, and a node that is refused all the same is a leaf.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::retry_deferred(bool all_idle) {
  const std::uint32_t found = take_deferred(k_.queue, warp_, scratch_, top_ % Kernel::stack_size, all_idle);
  if (found == found_nothing) return;
  if (found == found_trim) {
    trim();
  } else if (found == no_slot) {
    pending_units_ = 1;
    ++top_;
  } else {
    take_shared(found);
  }
}
// A shared node's slot, or no_slot: the task is in the stack's entry `at`.
template <class Kernel, class Warp>
SIMT_OUTLINE std::uint32_t BuildWorker<Kernel, Warp>::take_deferred(TaskQueue queue, Warp warp, Scratch& scratch,
                                                                    std::uint32_t at, bool all_idle) {
  const bool refused = scratch.refused;
  warp.sync();  // all have read
  if (warp.lane() == 0) scratch.refused = false;
  if (refused && !all_idle) return found_nothing;
  if (has_context && all_idle && TaskQueue::trim(queue, warp)) return found_trim;
  std::uint32_t found = found_nothing;
  if (warp.lane() == 0 && queue.take_deferred(warp, scratch.stack[at], found) && all_idle)
    scratch.last_try = scratch.stack[at].node;
  found = warp.shfl(found, 0);
  warp.sync();
  return found;
}

// Gives back what the warp keeps, in a unit of its own.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::trim() {
  if constexpr (has_context) context_.end(warp_);
  if (warp_.lane() == 0) scratch_.refused = true;  // not a reason to try again
  warp_.sync();
  pending_units_ = 1;
}

}  // namespace heapwood::kdtree
