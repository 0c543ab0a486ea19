// SPDX-License-Identifier: MIT
// The work of one warp in a build: where it gets work, and the loop in which it splits nodes. The
// member functions are in small.hpp (moving the refs of small nodes), memory.hpp,
// root.hpp (the first phases), shared.hpp (shared nodes) and refused.hpp (deferred nodes).
//
// The build ends when the count of pending units is 0: a shared node is one unit, a published task
// together with its private descendants is one. `pending_units_` is the number of units that this
// warp finishes when its stack is empty.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/middle_split.hpp"
#include "kdtree/build/node_stack.hpp"
#include "kdtree/build/ref_memory.hpp"
#include "kdtree/build/refused_nodes.hpp"
#include "kdtree/build/tree_writer.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class BuildWorker {
 public:
  using Refs = typename Kernel::Refs;
  using Scratch = typename Kernel::Scratch;
  using Memory = RefMemory<Kernel, Warp>;

  SIMT_INLINE BuildWorker(const Kernel& kernel, Warp& warp, Scratch& scratch)
      : k_(kernel),
        warp_(warp),
        scratch_(scratch),
        probe_(kernel.probe, warp, scratch),
        memory_(kernel, warp, scratch, probe_),
        refused_(kernel, warp, scratch),
        stack_(warp, scratch.stack),
        tree_(kernel, warp, probe_) {}

  SIMT_INLINE void run() {
    work();
    memory_.end();
    probe_.end();
  }

 private:
  SIMT_INLINE void work() {
    if (warp_.lane() == 0) scratch_.backlog = {};
    refused_.begin();
    warp_.sync();
    begin_tree();
    while (!stop_) {
      if (has_task_) {
        has_task_ = false;
        if constexpr (Kernel::splits_in_loop) {
          const Next next = split_nodes();
          if (next == Next::finish) {
            finish_node(scratch_.unfinished.split, scratch_.unfinished.tickets);
          } else if (next == Next::middle) {
            choose_middle_split();
          }
        } else if (split_node() == Next::middle) {
          choose_middle_split();
        }
        continue;
      }
      release_emptied();
      WorkItem item = next_of_backlog();
      if (item.kind == WorkKind::none) {
        if (!stack_.is_empty()) {
          task_ = stack_.pop();
          has_task_ = true;
          continue;
        }
        memory_.release_if_scarce();  // before a unit is finished: deferred nodes may need it
        if (pending_units_ != 0) {
          const TaskQueue::Remaining left = k_.queue.finish(warp_, pending_units_);
          pending_units_ = 0;
          if (left == TaskQueue::Remaining::nothing) return;
          if (!defers_nodes || left == TaskQueue::Remaining::work) [[likely]]
            continue;
          item = {WorkKind::retry,
                  left == TaskQueue::Remaining::only_deferred ? all_others_idle : 0};
        } else {
          item = wait_for_work();
          if (item.kind == WorkKind::exit) return;
        }
      }
      if (item.kind == WorkKind::task) {
        has_task_ = true;
        pending_units_ = 1;
      } else if (item.kind == WorkKind::choose) {
        continue_with_shared(item.index);
      } else if (defers_nodes && item.kind >= WorkKind::retry) [[unlikely]] {
        if (item.kind == WorkKind::trim)
          trim();
        else
          retry_deferred(item.index == all_others_idle);
      } else {
        run_chunk(item);
      }
    }
  }

  SIMT_INLINE WorkItem wait_for_work() {
    [[maybe_unused]] const auto in = probe_.in(Phase::wait);
    return k_.queue.pop(warp_, task_);
  }
  // The next chunk of the backlog, or kind none.
  SIMT_INLINE WorkItem next_of_backlog() {
    const Backlog backlog = scratch_.backlog;
    warp_.sync();
    if (backlog.item.chunk == backlog.end) return {};
    if (warp_.lane() == 0) ++scratch_.backlog.item.chunk;
    warp_.sync();
    return backlog.item;
  }

  // ---- splitting --------------------------------------------------------------------------------

  // What follows a node. task: its larger child, in task_. pop: another node of the stack. finish:
  // the rest of this node's work, in finish_node(). middle: the same after choosing a split in the
  // middle. nothing: none of these.
  enum class Next : std::uint32_t { task, pop, finish, middle, nothing };

  // Splits task_ or makes it a leaf, and continues with its descendants and the stack until the
  // stack is empty. A build spends nearly all its time in this loop. It contains no calls, not even
  // on cold paths: a call keeps convergence barriers live, and then warps wait wherever branches
  // reconverge. Work that needs a call is left to finish_node().
  SIMT_INLINE Next split_nodes() {
    SIMT_ROLLED
    for (;;) {
      const Next next = split_node();
      if (next > Next::pop) return next;
      if (next == Next::pop) {
        if (stack_.is_empty()) return Next::nothing;
        task_ = stack_.pop();
      }
    }
  }
  SIMT_INLINE Next split_node() {
    // used later: the choice hides the load's latency
    const std::uint64_t tickets = k_.queue.load_tickets(warp_);
    const NodeTask task = task_;
    const std::uint32_t index = shared_index_;
    [[maybe_unused]] const auto in = probe_.in(index != no_shared_node ? Phase::choose
                                               : task.n <= exact_limit ? Phase::exact
                                                                       : Phase::binned,
                                               task.path.depth());
    ChosenSplit split;
    const SplitCost cost(k_.costs, task.path.scale(), task.box, task.n);
    if (task.path.may_choose()) {
      if (cost.splittable()) {
        split = choose_within_limits<Refs>(warp_, scratch_.choose, task, k_.corners, cost,
                                           index != no_shared_node ? &k_.shared[index] : nullptr);
      }
    } else if (task.path.has_middle_split()) {
      split = scratch_.middle;
    }
    const bool splits = cost.is_below_leaf(split);
    if (!splits && may_split_in_middle(task, cost)) [[unlikely]]
      return Next::middle;
    if constexpr (!Kernel::splits_in_loop) {
      finish_node(splits ? split : ChosenSplit{}, tickets);
      return Next::nothing;
    } else {
      alloc::BlockPair arrays;
      if constexpr (has_context) {
        if (index == no_shared_node) {
          if (splits) {
            if (memory_.try_exchange(task, split, arrays))
              return end_small(task, split, arrays, tickets);
          } else if (memory_.try_free_early(task)) {
            return end_leaf(task, tickets);
          }
        }
      } else if (splits) {  // one copy of the allocator's code serves shared nodes as well
        arrays = memory_.allocate_children(split.nl(), split.nr());
        if (Memory::is_allocated(arrays) && index == no_shared_node)
          return end_small(task, split, arrays, tickets);
      } else if (index == no_shared_node) {
        return end_leaf(task, tickets);
      }
      if (warp_.lane() == 0)
        scratch_.unfinished = {splits ? split : ChosenSplit{}, arrays, tickets};
      warp_.sync();
      return Next::finish;
    }
  }
  // Moves a small node's refs at once and continues with the larger child, so that the stack holds
  // the smaller ones.
  SIMT_INLINE Next end_small(const NodeTask& task, const ChosenSplit& split,
                             const alloc::BlockPair& arrays, std::uint64_t tickets) {
    const std::uint32_t pair = tree_.reserve_pair(stop_);
    if (stop_) return Next::nothing;
    split_small(task, split, arrays, pair);
    if constexpr (!has_context) memory_.free(task.refs, task.n);
    publish_oldest(tickets);
    return Next::task;
  }
  SIMT_INLINE Next end_leaf(const NodeTask& task, std::uint64_t tickets) {
    tree_.write_leaf(task, stop_);
    if (stop_) return Next::nothing;
    if constexpr (!has_context) memory_.free(task.refs, task.n);
    publish_oldest(tickets);
    return Next::pop;
  }
  // Finishes a node that is shared, or whose allocation needs the slow path.
  SIMT_INLINE void finish_node(const ChosenSplit split, const std::uint64_t tickets) {
    const NodeTask task = task_;
    const std::uint32_t index = shared_index_;
    const bool splits = split.found();
    shared_index_ = no_shared_node;
    alloc::BlockPair arrays;
    if constexpr (allocates_in_loop) {
      arrays = scratch_.unfinished.arrays;
    } else if (splits) {
      arrays = memory_.allocate_children(split.nl(), split.nr());
    }
    if (!Memory::is_allocated(arrays)) {
      if (index != no_shared_node) pending_units_ += 1;
      if (splits) [[unlikely]] {
        const std::uint32_t n = split.nl() > split.nr() ? split.nl() : split.nr();
        if (refused_.defer(stack_, task, index, n)) return;
      }
      tree_.write_leaf(task, stop_);
      if (index != no_shared_node) k_.shared.release(warp_, index);
    } else {
      const std::uint32_t pair = tree_.reserve_pair(stop_);
      if (stop_) return;
      if (index != no_shared_node) {
        tree_.write_inner(task, split, pair);
        open_split(index, task, split, arrays, pair, tickets);
        return;
      }
      if constexpr (!allocates_in_loop) split_small(task, split, arrays, pair);
      has_task_ = true;
    }
    memory_.free(task.refs, task.n);
    publish_oldest(tickets);
  }
  // Chooses a split in the middle of task_ and makes it the next node again, which is then split
  // there or becomes a leaf.
  SIMT_INLINE void choose_middle_split() {
    task_.path = choose_middle_of(k_, warp_, scratch_, stack_, task_);
    has_task_ = true;
  }
  SIMT_INLINE bool mostly_idle(std::uint32_t waiting) const {
    return waiting > warp_.workers() / 2;
  }
  // Makes a shared node the next one to split.
  SIMT_INLINE void continue_with_shared(std::uint32_t index) {
    shared_index_ = index;
    task_ = k_.shared[index].task;
    has_task_ = true;
  }

  // ---- small nodes: small.hpp -------------------------------------------------------------------
  // Moves a small node's refs to its children's arrays and continues with the larger child.
  SIMT_INLINE void split_small(const NodeTask& task, const ChosenSplit& split,
                               const alloc::BlockPair& arrays, std::uint32_t pair);
  SIMT_INLINE void partition(const NodeTask& task, const Split& split, std::byte* left,
                             std::byte* right);
  SIMT_INLINE void descend(const NodeTask& parent, const ChosenSplit& split, std::byte* left,
                           std::byte* right, std::uint32_t pair);
  // Pushes a node onto the private stack; an empty node becomes a leaf at once.
  SIMT_INLINE void push_child(const NodeTask& task);
  // Publishes the oldest node of the stack if `tickets` shows a waiting warp.
  SIMT_INLINE void publish_oldest(std::uint64_t tickets);

  // Retries a deferred node. `all_idle`: no warp has work.
  SIMT_INLINE void retry_deferred(bool all_idle) {
    const std::uint32_t found = refused_.take_deferred(stack_, all_idle);
    if (found == RefusedNodes<Kernel, Warp>::found_nothing) return;
    if (found == RefusedNodes<Kernel, Warp>::found_trim) {
      trim();
    } else if (found == no_shared_node) {
      pending_units_ = 1;
      stack_.push_free_entry();
    } else {
      continue_with_shared(found);
    }
  }
  // Releases the warp's cached memory, as a pending unit of its own.
  SIMT_INLINE void trim() {
    memory_.end();
    refused_.skip_next_retry();
    pending_units_ = 1;
  }

  // ---- shared nodes: shared.hpp -----------------------------------------------------------------
  SIMT_INLINE void open_split(std::uint32_t index, const NodeTask& task, const ChosenSplit& split,
                              const alloc::BlockPair& arrays, std::uint32_t pair,
                              std::uint64_t tickets);
  SIMT_INLINE void run_chunk(const WorkItem& item);
  SIMT_INLINE void clear_sums();
  SIMT_INLINE void split_chunk(SharedNode& node, std::uint32_t chunk);
  void split_chunk_simd(SharedNode& node, std::uint32_t chunk);
  // Bins the refs [first, last) of an array of n refs that belongs to the shared node, or will.
  void bin_for(SharedNode& node, const std::byte* refs, std::uint32_t n, std::uint32_t first,
               std::uint32_t last, const Box& box) {
    const Box tight = bin_refs(refs, n, first, last, box, scratch_.choose.sums);
    node.add(scratch_.choose.sums, tight);
  }
  // Refs per chunk. A CPU thread has no rounds of lanes: its chunks are larger, as long as every
  // thread gets some.
  SIMT_INLINE std::uint32_t chunk_of(std::uint32_t n, std::uint32_t waiting) const {
    if constexpr (uses_simd) {
      const std::uint32_t even = n / (4 * warp_.workers());
      return even < 512 ? 512 : even > 16384 ? 16384 : even;
    }
    return chunk_size(n, waiting);
  }
  SIMT_INLINE void end_split(SharedNode& node, std::uint32_t index);
  SIMT_INLINE void release_emptied();
  SIMT_INLINE void publish_chunks(std::uint32_t index, std::uint32_t chunks, std::int32_t room);

  // ---- the root: root.hpp -----------------------------------------------------------------------
  SIMT_INLINE void begin_tree();
  SIMT_INLINE std::uint64_t claim_piece(std::uint64_t& pieces, std::uint64_t finished = 0);
  template <class Do>
  SIMT_INLINE bool process_pieces(std::uint64_t& pieces, std::uint64_t seen, std::uint32_t count,
                                  Do piece);
  SIMT_INLINE void bounds_piece(SharedNode& root, std::uint32_t first, std::uint32_t chunk);
  SIMT_INLINE void end_bounds(SharedNode& root);
  SIMT_INLINE RootState wait_for_bounds();
  SIMT_INLINE void init_piece(SharedNode& root, std::uint32_t first, std::uint32_t chunk);
  SIMT_INLINE void end_init(SharedNode& root);

  // A CPU thread with clipped refs uses vectors in place of lanes (simd_refs.hpp).
  static constexpr bool uses_simd = Warp::width == 1 && Refs::stores_bounds;
  // `index` of a retry item: no other warp has work
  static constexpr std::uint32_t all_others_idle = 1;
  static constexpr bool has_context = Kernel::has_context;
  // With a context, allocating the root's array is a piece of the bounds phase, since it is a call
  // that all warps would wait for after the phase.
  static constexpr std::uint32_t root_array_pieces = has_context ? 1 : 0;
  static constexpr bool allocates_in_loop = Kernel::splits_in_loop && !has_context;
  static constexpr bool defers_nodes = RefusedNodes<Kernel, Warp>::are_deferred;

  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
  [[no_unique_address]] typename Kernel::Probe::template Of<Warp> probe_;
  Memory memory_;
  RefusedNodes<Kernel, Warp> refused_;

  NodeTask task_{};
  bool has_task_ = false;
  bool stop_ = false;
  NodeStack<Kernel, Warp> stack_;
  std::uint32_t pending_units_ = 0;
  std::uint32_t shared_index_ = no_shared_node;  // the index of task_ if it is a shared node
  std::uint32_t emptied_ = no_shared_node;       // a shared node to be released
  TreeWriter<Kernel, Warp> tree_;
};

}  // namespace heapwood::kdtree
