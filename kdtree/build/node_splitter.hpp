// SPDX-License-Identifier: MIT
// Holds the node that a warp splits, and splits it and its descendants by this warp alone, with the
// private stack, the arrays of refs and the output.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/node_stack.hpp"
#include "kdtree/build/partition.hpp"
#include "kdtree/build/ref_memory.hpp"
#include "kdtree/build/tree_writer.hpp"

namespace heapwood::kdtree {

// The slow path of a node for which no split costs less than a leaf. Chooses a split in its middle,
// which becomes the node's chosen split. This is rare, so the code is called, not inlined. The task
// is in scratch.stack[entry]. Leaves the split in scratch.chosen; returns false if there is none.
template <class Kernel, class Warp>
HEAPWOOD_OUTLINE bool choose_middle_slow(Warp warp, typename Kernel::Scratch& scratch,
                                         const PackedCorners* corners, SahCosts costs,
                                         std::uint32_t entry) {
  const NodeTask& task = scratch.stack[entry];
  const SplitCost cost(costs, task.path.scale(), task.box, task.n);
  const ChosenSplit split =
      choose_middle<typename Kernel::Refs>(warp, scratch.choose, task, corners, cost);
  if (warp.lane() == 0) scratch.chosen = split;
  warp.sync();
  return split.found();
}

// Chooses a split in the middle of a node. The caller makes the node its next task again with the
// path that this returns; the node is then split there, or becomes a leaf. Must be called right
// after choose() for this node.
template <class Kernel, class Warp>
HEAPWOOD_INLINE NodePath choose_middle_of(const Kernel& k, Warp& warp,
                                          typename Kernel::Scratch& scratch,
                                          NodeStack<Kernel, Warp>& stack, const NodeTask& task) {
  stack.store_in_free_entry(task);
  warp.sync();
  const bool found =
      choose_middle_slow<Kernel>(warp, scratch, k.corners, k.costs, stack.free_entry());
  return found ? task.path.with_chosen_split() : task.path.without_poor_splits();
}

template <class Kernel, class Warp>
class NodeSplitter {
 public:
  using Refs = typename Kernel::Refs;
  using Scratch = typename Kernel::Scratch;
  using Unfinished = typename Kernel::Unfinished;
  using Memory = RefMemory<Kernel, Warp>;
  using Stack = NodeStack<Kernel, Warp>;
  using Tree = TreeWriter<Kernel, Warp>;
  using Probe = typename Kernel::Probe::template Of<Warp>;

  // What the caller does after a node. task: splits its larger child, the new task. pop: takes
  // another node from the stack. finish: finishes this node, which may need calls. middle: calls
  // choose_middle_split(). nothing: there is no node.
  enum class Next : std::uint32_t { task, pop, finish, middle, nothing };

  HEAPWOOD_INLINE NodeSplitter(const Kernel& kernel, Warp& warp, Scratch& scratch,
                               const Probe& probe)
      : k_(kernel),
        warp_(warp),
        scratch_(scratch),
        probe_(probe),
        memory_(kernel, warp, scratch, probe),
        stack_(warp, scratch.stack),
        tree_(kernel, warp, probe) {}

  HEAPWOOD_INLINE Memory& memory() { return memory_; }
  HEAPWOOD_INLINE Stack& stack() { return stack_; }
  HEAPWOOD_INLINE Tree& tree() { return tree_; }
  // Whether the kernel is aborted.
  HEAPWOOD_INLINE bool is_stopped() const { return stop_; }
  HEAPWOOD_INLINE void stop() { stop_ = true; }
  // Functions of the tree writer; they stop this warp if the output overflows.
  HEAPWOOD_INLINE std::uint32_t reserve_pair() { return tree_.reserve_pair(stop_); }
  HEAPWOOD_INLINE void write_leaf(const NodeTask& task) { tree_.write_leaf(task, stop_); }
  HEAPWOOD_INLINE void write_root_leaf() { tree_.write_root_leaf(stop_); }

  // ---- the node to split ------------------------------------------------------------------------

  HEAPWOOD_INLINE NodeTask& task() { return task_; }
  HEAPWOOD_INLINE void set_task(const NodeTask& task) {
    task_ = task;
    has_task_ = true;
  }
  HEAPWOOD_INLINE void set_shared_task(std::uint32_t index) {
    shared_index_ = index;
    set_task(k_.shared[index].task);
  }
  // Declares that task() has been set to the next node to split.
  HEAPWOOD_INLINE void renew_task() { has_task_ = true; }
  // Returns whether task() is a node to split, and clears that: the caller must split it.
  HEAPWOOD_INLINE bool take_task() {
    const bool has_task = has_task_;
    has_task_ = false;
    return has_task;
  }
  // Returns the index of the task's shared node, or no_shared_node, and clears it for later tasks.
  HEAPWOOD_INLINE std::uint32_t take_shared_index() {
    const std::uint32_t index = shared_index_;
    shared_index_ = no_shared_node;
    return index;
  }

  // ---- splitting --------------------------------------------------------------------------------

  // Splits the task or makes it a leaf, and continues with its descendants and the stack until the
  // stack is empty. A build spends nearly all its time in this loop. It contains no calls, not even
  // on cold paths: a call keeps convergence barriers live, and then warps wait wherever branches
  // reconverge. Work that needs a call is left to the caller.
  HEAPWOOD_INLINE Next split_nodes() {
    HEAPWOOD_ROLLED
    for (;;) {
      const Next next = split_node(scratch_.unfinished);
      if (next > Next::pop) return next;
      if (next == Next::pop) {
        if (stack_.is_empty()) return Next::nothing;
        task_ = stack_.pop();
      }
    }
  }
  // Splits the task or makes it a leaf, unless that needs a call: then `rest` is for the caller.
  HEAPWOOD_INLINE Next split_node(Unfinished& rest) {
    // Load the tickets that tell how many warps wait; the choice of the split hides the latency.
    const std::uint64_t tickets = k_.queue.load_tickets(warp_);
    const NodeTask task = task_;
    const std::uint32_t index = shared_index_;
    [[maybe_unused]] const auto in = probe_.in(index != no_shared_node ? Phase::choose
                                               : task.n <= exact_limit ? Phase::exact
                                                                       : Phase::binned,
                                               task.path.depth());
    // Choose the cheapest split, unless that was done at an earlier visit.
    ChosenSplit split{};
    const SplitCost cost(k_.costs, task.path.scale(), task.box, task.n);
    if (task.path.may_choose()) {
      if (cost.splittable()) {
        split = choose_within_limits<Refs>(warp_, scratch_.choose, task, k_.corners, cost,
                                           index != no_shared_node ? &k_.shared[index] : nullptr);
      }
    } else if (task.path.has_chosen_split()) {
      split = scratch_.chosen;
    }
    // A large node for which no split pays may be split in its middle.
    const bool splits = cost.is_below_leaf(split);
    if (!splits && may_split_in_middle(task, cost)) [[unlikely]]
      return Next::middle;
    if constexpr (!Kernel::splits_in_loop) {
      // Without a context the caller allocates and finishes the node.
      rest = {splits ? split : ChosenSplit{}, {}, tickets};
      return Next::finish;
    } else {
      alloc::BlockPair blocks;
      if constexpr (Kernel::has_context) {
        // A small node: split it in place or make it a leaf, if the context needs no call for that.
        if (index == no_shared_node) {
          ChildArrays arrays;
          if (splits) {
            if (take_allocated(task, arrays) || memory_.try_split_in_place(task, split, arrays))
              return end_small(task, split, arrays, tickets);
          } else if (memory_.try_free_early(task)) {
            return end_leaf(task, tickets);
          }
        }
      } else if (splits) {
        // Allocate for small and shared nodes here, so that the allocator's code is inlined once.
        blocks = memory_.allocate_children(split.nl(), split.nr());
        if (Memory::is_allocated(blocks) && index == no_shared_node)
          return end_small(task, split, Memory::arrays_in(blocks, split), tickets);
      } else if (index == no_shared_node) {
        return end_leaf(task, tickets);
      }
      // Leave a shared node, or one whose allocation needs a call, to the caller.
      if (warp_.lane() == 0) rest = {splits ? split : ChosenSplit{}, blocks, tickets};
      warp_.sync();
      return Next::finish;
    }
  }
  // Makes the task the next node again, which is then split in its middle or becomes a leaf.
  HEAPWOOD_INLINE void choose_middle_split() {
    if constexpr (Kernel::has_context) {
      if (warp_.lane() == 0) scratch_.replacement.children = {};
    }
    task_.path = choose_middle_of(k_, warp_, scratch_, stack_, task_);
    has_task_ = true;
  }
  // Makes the task the next node again, with its split and, if allocated, its children's arrays.
  HEAPWOOD_INLINE void resume_with_split(const ChosenSplit& split, const ChildArrays& arrays) {
    if (warp_.lane() == 0) {
      scratch_.chosen = split;
      scratch_.replacement.children = arrays;
    }
    warp_.sync();
    task_.path = task_.path.with_chosen_split();
    has_task_ = true;
  }
  // Moves a small node's refs to its children's arrays. The larger child becomes the next task; the
  // smaller one goes on the stack.
  HEAPWOOD_INLINE void split_small(const NodeTask& task, const ChosenSplit& split,
                                   const ChildArrays& arrays, std::uint32_t pair) {
    tree_.write_inner(task, split, pair);
    partition_node<Refs>(warp_, task, split, arrays, k_.corners, scratch_.choose);
    const unsigned first = split.nl() >= split.nr() ? 0 : 1;
    const ParentSplit cut = parent_split(split);
    task_ = child_task(task, cut, first, first == 0 ? arrays.left : arrays.right, pair);
    push_child(child_task(task, cut, 1 - first, first == 0 ? arrays.right : arrays.left, pair));
  }
  // Pushes a node onto the private stack; an empty node becomes a leaf immediately.
  HEAPWOOD_INLINE void push_child(const NodeTask& task) {
    if (warp_.lane() == 0) {
      if (task.n == 0) {
        tree_.write_empty_leaf(task);
      } else {
        stack_.store_in_free_entry(task);
      }
    }
    if (task.n != 0) stack_.push_free_entry();
    warp_.sync();
  }
  // Publishes the oldest node of the stack if `tickets` shows that a warp waits.
  HEAPWOOD_INLINE void publish_oldest(std::uint64_t tickets) {
    const std::uint32_t waiting = TaskQueue::waiting(warp_.shfl(tickets, 0));
    if (waiting == 0 || stack_.is_empty()) return;
    [[maybe_unused]] const auto in = probe_.in(Phase::give);
    stack_.publish_oldest(k_.queue, TaskQueue::is_mostly_idle(warp_, waiting));
  }

 private:
  // Whether the children's arrays of the node are allocated already; then stores them in `arrays`.
  HEAPWOOD_INLINE bool take_allocated(const NodeTask& task, ChildArrays& arrays) const {
    if (!task.path.has_chosen_split()) return false;
    arrays = scratch_.replacement.children;
    return arrays.left != nullptr;
  }
  HEAPWOOD_INLINE Next end_small(const NodeTask& task, const ChosenSplit& split,
                                 const ChildArrays& arrays, std::uint64_t tickets) {
    const std::uint32_t pair = tree_.reserve_pair(stop_);
    if (stop_) return Next::nothing;
    split_small(task, split, arrays, pair);
    if constexpr (!Kernel::has_context) memory_.free(task.refs, task.n);
    publish_oldest(tickets);
    return Next::task;
  }
  HEAPWOOD_INLINE Next end_leaf(const NodeTask& task, std::uint64_t tickets) {
    tree_.write_leaf(task, stop_);
    if (stop_) return Next::nothing;
    if constexpr (!Kernel::has_context) memory_.free(task.refs, task.n);
    publish_oldest(tickets);
    return Next::pop;
  }

  // The order of the members affects nvcc's register allocation: with stack_ before task_, the
  // kernel for 4-byte ids spills twice as many registers.
  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
  [[no_unique_address]] Probe probe_;
  Memory memory_;
  NodeTask task_{};
  bool has_task_ = false;
  bool stop_ = false;
  Stack stack_;
  std::uint32_t shared_index_ = no_shared_node;
  Tree tree_;
};

}  // namespace heapwood::kdtree
