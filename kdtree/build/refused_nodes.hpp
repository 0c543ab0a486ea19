// SPDX-License-Identifier: MIT
// What a warp does with nodes that were refused memory: it defers them until other nodes have freed
// memory. This is rare, so the code is called, not inlined.
#pragma once

#include <cstdint>

#include "kdtree/build/node_stack.hpp"
#include "kdtree/build/ref_memory.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class RefusedNodes {
 public:
  using Scratch = typename Kernel::Scratch;
  using Stack = NodeStack<Kernel, Warp>;
  using Memory = RefMemory<Kernel, Warp>;

  // Results of take_deferred() other than the index of a shared node and no_shared_node.
  static constexpr std::uint32_t found_nothing = ~1u, found_trim = ~2u;

  HEAPWOOD_INLINE RefusedNodes(const Kernel& kernel, Warp& warp, Scratch& scratch)
      : k_(kernel), warp_(warp), scratch_(scratch) {}

  // Whether nodes that are refused memory are deferred: only if other nodes can free some.
  HEAPWOOD_INLINE bool are_deferred() const { return alloc::frees_individually(k_.allocator); }

  // The caller syncs afterwards.
  HEAPWOOD_INLINE void begin() {
    if (warp_.lane() != 0) return;
    scratch_.refused = false;
    scratch_.last_try = no_node;
  }
  // Defers a node that was refused memory for n refs. `index` is that of its shared node, or
  // no_shared_node. Returns false if the node must become a leaf: no other node can free memory, or
  // too many nodes are deferred.
  HEAPWOOD_INLINE bool defer(Stack& stack, const NodeTask& task, std::uint32_t index,
                             std::uint32_t n) {
    if (!are_deferred()) {
      Memory::count_failed_split(*k_.counters, warp_, n);
      return false;
    }
    stack.store_in_free_entry(task);
    return defer_slow(k_.queue, k_.counters, warp_, scratch_, stack.free_entry(), index, n);
  }
  // Takes a deferred node, unless this warp was refused memory just before. `all_idle`: no warp has
  // work. In that case all warps first release their cached memory, the last of them retries, and a
  // node that is refused again becomes a leaf.
  //
  // Returns the index of a shared node, no_shared_node if the task is in the stack's free entry,
  // found_trim if all warps are to release their cached memory, or found_nothing.
  HEAPWOOD_INLINE std::uint32_t take_deferred(const Stack& stack, bool all_idle) {
    return take_deferred_slow(k_.queue, warp_, scratch_, stack.free_entry(), all_idle);
  }
  // Called by a warp that has released its cached memory, which alone is no reason to retry.
  HEAPWOOD_INLINE void skip_next_retry() {
    if (warp_.lane() == 0) scratch_.refused = true;
    warp_.sync();
  }

 private:
  static constexpr std::uint32_t no_node = ~0u;

  // Defers the node in scratch.stack[entry].
  static HEAPWOOD_OUTLINE bool defer_slow(TaskQueue queue, BuildCounters* counters, Warp warp,
                                          Scratch& scratch, std::uint32_t entry,
                                          std::uint32_t index, std::uint32_t n) {
    bool is_deferred = false;
    if (warp.lane() == 0) {
      NodeTask& task = scratch.stack[entry];
      task.path = task.path.without_chosen_split();  // the split will be chosen again
      is_deferred = task.node != scratch.last_try && queue.defer(warp, task, index);
      scratch.refused = is_deferred;
    }
    is_deferred = warp.any(is_deferred);
    warp.sync();
    if (!is_deferred) Memory::count_failed_split(*counters, warp, n);
    return is_deferred;
  }
  // Takes a deferred node and leaves its task in scratch.stack[entry].
  static HEAPWOOD_OUTLINE std::uint32_t take_deferred_slow(TaskQueue queue, Warp warp,
                                                           Scratch& scratch, std::uint32_t entry,
                                                           bool all_idle) {
    const bool refused = scratch.refused;
    warp.sync();  // all lanes have read scratch.refused
    if (warp.lane() == 0) scratch.refused = false;
    if (refused && !all_idle) return found_nothing;
    if (Kernel::has_context && all_idle && TaskQueue::trim(queue, warp)) return found_trim;
    std::uint32_t found = found_nothing;
    if (warp.lane() == 0 && queue.take_deferred(warp, scratch.stack[entry], found) && all_idle)
      scratch.last_try = scratch.stack[entry].node;
    found = warp.shfl(found, 0);
    warp.sync();
    return found;
  }

  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
};

}  // namespace heapwood::kdtree
