// SPDX-License-Identifier: MIT
// The work of one warp in a build: the loop in which it gets work, and the decisions that concern
// other warps: shared nodes, deferred nodes and units. The classes of its members do the rest.
//
// The build ends when the count of pending units is 0: a shared node is one unit; a published task
// together with its descendants that are not published is one. `pending_units_` is the number of
// units that this warp finishes when its stack is empty.
#pragma once

#include <cstdint>

#include "kdtree/build/node_splitter.hpp"
#include "kdtree/build/refused_nodes.hpp"
#include "kdtree/build/root_phases.hpp"
#include "kdtree/build/shared_splits.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class BuildWorker {
 public:
  using Scratch = typename Kernel::Scratch;

  HEAPWOOD_INLINE BuildWorker(const Kernel& kernel, Warp& warp, Scratch& scratch)
      : k_(kernel),
        warp_(warp),
        scratch_(scratch),
        probe_(kernel.probe, warp, scratch),
        nodes_(kernel, warp, scratch, probe_),
        refused_(kernel, warp, scratch),
        shared_(kernel, warp, scratch, probe_) {}

  HEAPWOOD_INLINE void run() {
    shared_.begin();
    refused_.begin();
    if constexpr (Kernel::has_context) {
      if (warp_.lane() == 0) scratch_.replacement = {};
    }
    warp_.sync();
    begin_tree();
    work();
    nodes_.memory().end();
    probe_.end();
  }

 private:
  using Memory = RefMemory<Kernel, Warp>;
  using Next = typename NodeSplitter<Kernel, Warp>::Next;
  using Refused = RefusedNodes<Kernel, Warp>;

  // ---- where work comes from --------------------------------------------------------------------

  // Takes part in the root's phases. The warp that finishes the last piece continues with the root.
  HEAPWOOD_INLINE void begin_tree() {
    RootPhases<Kernel, Warp> root(k_, warp_, scratch_, probe_);
    if (root.gather_bounds(nodes_.memory()) && !root.open(nodes_.memory())) {
      nodes_.write_root_leaf();
      pending_units_ += 1;
    }
    nodes_.memory().begin();
    const RootState state = root.begin_init();
    if (state == RootState::unknown) nodes_.stop();
    if (state != RootState::open || !root.fill()) return;
    if (k_.triangle_count > shared_limit) {
      nodes_.set_shared_task(root_index);
    } else {
      nodes_.set_task(k_.shared[root_index].task);
      pending_units_ += 1;
      k_.shared.release(warp_, root_index);
    }
  }

  HEAPWOOD_INLINE void work() {
    while (!nodes_.is_stopped()) {
      if (nodes_.take_task()) {
        split_task();
        continue;
      }
      // Find work: a chunk of the backlog, a node of the stack, or an item of the queue.
      release_emptied();
      WorkItem item = shared_.next_of_backlog();
      if (item.kind == WorkKind::none) {
        if (!nodes_.stack().is_empty()) {
          nodes_.set_task(nodes_.stack().pop());
          continue;
        }
        // Release memory before units are finished: deferred nodes may need it.
        nodes_.memory().release_if_scarce();
        if (pending_units_ != 0) {
          const TaskQueue::Remaining left = k_.queue.finish(warp_, pending_units_);
          pending_units_ = 0;
          if (left == TaskQueue::Remaining::nothing) return;
          if (!refused_.are_deferred() || left == TaskQueue::Remaining::work) [[likely]]
            continue;
          item = {WorkKind::retry,
                  left == TaskQueue::Remaining::only_deferred ? all_others_idle : 0};
        } else {
          item = wait_for_work();
          if (item.kind == WorkKind::exit) return;
        }
      }
      // Start the item.
      if (item.kind == WorkKind::task) {
        nodes_.renew_task();
        pending_units_ = 1;
      } else if (item.kind == WorkKind::choose) {
        nodes_.set_shared_task(item.index);
      } else if (refused_.are_deferred() && item.kind >= WorkKind::retry) [[unlikely]] {
        if (item.kind == WorkKind::trim)
          trim();
        else
          retry_deferred(item.index == all_others_idle);
      } else {
        run_chunk(item);
      }
    }
  }

  HEAPWOOD_INLINE void split_task() {
    if constexpr (Kernel::splits_in_loop) {
      const Next next = nodes_.split_nodes();
      if constexpr (Kernel::has_context) free_replaced();
      if (next == Next::finish) {
        finish_node(scratch_.unfinished.split, scratch_.unfinished.tickets);
      } else if (next == Next::middle) {
        nodes_.choose_middle_split();
      }
    } else {
      typename Kernel::Unfinished rest;
      const Next next = nodes_.split_node(rest);
      if (next == Next::finish) {
        finish_node(rest.split, rest.tickets);
      } else if (next == Next::middle) {
        nodes_.choose_middle_split();
      }
    }
  }
  HEAPWOOD_INLINE WorkItem wait_for_work() {
    [[maybe_unused]] const auto in = probe_.in(Phase::wait);
    return k_.queue.pop(warp_, nodes_.task());
  }
  // Takes a deferred node and makes it the next task. `all_idle`: no warp has work.
  HEAPWOOD_INLINE void retry_deferred(bool all_idle) {
    const std::uint32_t found = refused_.take_deferred(nodes_.stack(), all_idle);
    if (found == Refused::found_nothing) return;
    if (found == Refused::found_trim) {
      trim();
    } else if (found == no_shared_node) {
      pending_units_ = 1;
      nodes_.stack().push_free_entry();
    } else {
      nodes_.set_shared_task(found);
    }
  }
  // Releases the memory that the warp caches. This counts as a pending unit of its own.
  HEAPWOOD_INLINE void trim() {
    nodes_.memory().end();
    refused_.skip_next_retry();
    pending_units_ = 1;
  }

  // Frees the array of a node whose refs the loop has moved to its children's arrays.
  HEAPWOOD_INLINE void free_replaced() {
    const auto replacement = scratch_.replacement;
    if (replacement.parent == nullptr) return;
    warp_.sync();  // a leaf's free may have been the last step
    nodes_.memory().free(replacement.parent, replacement.n);  // syncs
    if (warp_.lane() == 0) scratch_.replacement.parent = nullptr;
    warp_.sync();
  }

  // Finishes a node that is shared, or whose allocation needs the slow path.
  HEAPWOOD_INLINE void finish_node(const ChosenSplit split, const std::uint64_t tickets) {
    const NodeTask task = nodes_.task();
    const std::uint32_t index = nodes_.take_shared_index();
    const bool splits = split.found();
    // With a context, a small node goes back to the loop, which finishes it. A second copy of the
    // loop's code here would evict the loop from the instruction cache.
    [[maybe_unused]] const bool is_resumed =
        Kernel::has_context && index == no_shared_node && splits;
    // Make room in the warp's arena and let the loop try again.
    if constexpr (Kernel::has_context) {
      if (is_resumed && !task.path.has_chosen_split() && nodes_.memory().make_room(task, split))
        return nodes_.resume_with_split(split, {});
    }
    // Allocate the children's arrays, unless the loop has done so.
    alloc::BlockPair blocks;
    if constexpr (allocates_in_loop) {
      blocks = scratch_.unfinished.blocks;
    } else if (splits) {
      blocks = nodes_.memory().allocate_children(split.nl(), split.nr());
    }
    if (!Memory::is_allocated(blocks)) {
      // Defer a node that was refused memory; if that is not possible, it becomes a leaf.
      if (index != no_shared_node) pending_units_ += 1;
      if (splits) [[unlikely]] {
        const std::uint32_t n = split.nl() > split.nr() ? split.nl() : split.nr();
        if (refused_.defer(nodes_.stack(), task, index, n)) return;
      }
      nodes_.write_leaf(task);
      if (index != no_shared_node) k_.shared.release(warp_, index);
    } else {
      const ChildArrays arrays = Memory::arrays_in(blocks, split);
      if constexpr (Kernel::has_context) {
        // Let the loop move the refs; free_replaced() frees the array that they leave.
        if (is_resumed) {
          if (warp_.lane() == 0) {
            scratch_.replacement.parent = task.refs;
            scratch_.replacement.n = task.n;
          }
          return nodes_.resume_with_split(split, arrays);
        }
      }
      // Open a shared node's split for all warps, or move a small node's refs.
      const std::uint32_t pair = nodes_.reserve_pair();
      if (nodes_.is_stopped()) return;
      if (index != no_shared_node) {
        nodes_.tree().write_inner(task, split, pair);
        shared_.open(index, task, split, arrays, pair, tickets);
        return;
      }
      if constexpr (!Kernel::splits_in_loop) nodes_.split_small(task, split, arrays, pair);
      nodes_.renew_task();
    }
    // Free the node's array and give work to a waiting warp.
    nodes_.memory().free(task.refs, task.n);
    nodes_.publish_oldest(tickets);
  }

  // ---- shared nodes -----------------------------------------------------------------------------

  HEAPWOOD_INLINE void run_chunk(const WorkItem& item) {
    SharedNode& node = k_.shared[item.index];
    [[maybe_unused]] const auto in = probe_.in(Phase::move, node.task.path.depth());
    bool aborted = false;
    const bool is_last = shared_.run_chunk(node, item.chunk, aborted);
    if (aborted) nodes_.stop();
    if (is_last) end_split(node, item.index);
  }
  // Called by the warp that finished the last chunk, the last reader of the parent's array.
  // Publishes one child, frees the array and continues with the other child; what no warp waits for
  // comes last.
  HEAPWOOD_INLINE void end_split(SharedNode& node, std::uint32_t index) {
    // Loads each value only where it is needed: the kernel has no register to spare.
    const std::uint32_t left_index = node.child_index[0], right_index = node.child_index[1];
    const bool both_shared = left_index != no_shared_node && right_index != no_shared_node;
    const bool none_shared = left_index == no_shared_node && right_index == no_shared_node;
    emptied_ = index;
    const std::uint32_t unshared = shared_.start_children(left_index, right_index, pending_units_);
    HEAPWOOD_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      if ((unshared >> side & 1) == 0) continue;
      nodes_.push_child(child_task(node.task,
                                   {node.axis, node.plane, node.child_n[0], node.child_n[1],
                                    node.child_path, node.child_allowance},
                                   side, node.child[side], node.pair));
    }
    if (!nodes_.memory().delays_parent_free()) nodes_.memory().free(node.task.refs, node.task.n);
    const std::uint32_t tasks = nodes_.stack().size();
    if (!both_shared && (!none_shared || tasks > 1))
      nodes_.publish_oldest(k_.queue.load_tickets(warp_));
    if (!none_shared)
      nodes_.set_shared_task(right_index != no_shared_node ? right_index : left_index);
  }
  // Releases the shared node whose children end_split() has started. Its array is then free, so
  // this wakes a warp to retry a deferred node.
  HEAPWOOD_INLINE void release_emptied() {
    if (emptied_ == no_shared_node) return;
    const NodeTask& task = k_.shared[emptied_].task;
    if (nodes_.memory().delays_parent_free()) nodes_.memory().free(task.refs, task.n);
    if (refused_.are_deferred() && k_.queue.has_deferred(warp_))
      pending_units_ += TaskQueue::push_retry(k_.queue, warp_);
    k_.shared.release(warp_, emptied_);
    emptied_ = no_shared_node;
  }

  // `index` of a retry item: no other warp has work
  static constexpr std::uint32_t all_others_idle = 1;
  static constexpr bool allocates_in_loop = Kernel::splits_in_loop && !Kernel::has_context;

  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
  [[no_unique_address]] typename Kernel::Probe::template Of<Warp> probe_;
  NodeSplitter<Kernel, Warp> nodes_;
  Refused refused_;
  SharedSplits<Kernel, Warp> shared_;
  std::uint32_t pending_units_ = 0;
  std::uint32_t emptied_ = no_shared_node;  // a shared node to be released
};

template <class Allocator, RefKind kind, class ProbeType>
template <class Warp>
HEAPWOOD_INLINE void BuildKernel<Allocator, kind, ProbeType>::operator()(Warp& warp,
                                                                         Scratch& scratch) const {
  BuildWorker<BuildKernel, Warp>(*this, warp, scratch).run();
}

}  // namespace heapwood::kdtree
