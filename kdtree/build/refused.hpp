// SPDX-License-Identifier: MIT
// Handling of nodes whose allocation was refused: they are deferred until other nodes have freed
// memory. This is rare, so the code is called, not inlined.
#pragma once

#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

// Defers a node that was refused memory for n refs. False: no node can free any more memory, so the
// node becomes a leaf.
template <class Kernel, class Warp>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::defer_node(const NodeTask& task, std::uint32_t index,
                                                       std::uint32_t n) {
  if (!defers_nodes) {
    note_failure(*k_.counters, warp_, n);
    return false;
  }
  stack_.store_in_free_entry(task);
  return record_deferred_node(k_.queue, k_.counters, warp_, scratch_, stack_.free_entry(), index,
                              n);
}
template <class Kernel, class Warp>
SIMT_OUTLINE bool BuildWorker<Kernel, Warp>::record_deferred_node(
    TaskQueue queue, BuildCounters* counters, Warp warp, Scratch& scratch, std::uint32_t at,
    std::uint32_t index, std::uint32_t n) {
  bool is_deferred = false;
  if (warp.lane() == 0) {
    NodeTask& task = scratch.stack[at];
    task.path = task.path.without_middle_split();  // it is chosen again
    is_deferred = task.node != scratch.last_try && queue.defer(warp, task, index);
    scratch.refused = is_deferred;
  }
  is_deferred = warp.any(is_deferred);
  warp.sync();
  if (!is_deferred) note_failure(*counters, warp, n);
  return is_deferred;
}

// Retries a deferred node, unless this warp was refused memory just before. `all_idle`: no warp has
// work. In that case all warps first release their cached memory, the last of them retries, and a
// node that is refused again becomes a leaf.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::retry_deferred(bool all_idle) {
  const std::uint32_t found =
      take_deferred(k_.queue, warp_, scratch_, stack_.free_entry(), all_idle);
  if (found == found_nothing) return;
  if (found == found_trim) {
    trim();
  } else if (found == no_shared_node) {
    pending_units_ = 1;
    stack_.push_free_entry();
  } else {
    continue_with_shared(found);
  }
}
// Returns a shared node's index, or no_shared_node if the task is in stack entry `at`.
template <class Kernel, class Warp>
SIMT_OUTLINE std::uint32_t BuildWorker<Kernel, Warp>::take_deferred(TaskQueue queue, Warp warp,
                                                                    Scratch& scratch,
                                                                    std::uint32_t at,
                                                                    bool all_idle) {
  const bool refused = scratch.refused;
  warp.sync();  // all lanes have read it
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

// Releases the warp's cached memory, as a pending unit of its own.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::trim() {
  if constexpr (has_context) context_.end(warp_);
  // releasing the cache alone is no reason to retry
  if (warp_.lane() == 0) scratch_.refused = true;
  warp_.sync();
  pending_units_ = 1;
}

}  // namespace heapwood::kdtree
