// SPDX-License-Identifier: MIT
// Splits a shared node: one warp opens the phase in which many warps move its refs to the children,
// all warps process chunks, and the warp that finishes the last chunk ends the phase.
#pragma once

#include <cstdint>

#include "kdtree/build/chunk_partition.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class SharedSplits {
 public:
  using Refs = typename Kernel::Refs;
  using Scratch = typename Kernel::Scratch;
  using Probe = typename Kernel::Probe::template Of<Warp>;

  HEAPWOOD_INLINE SharedSplits(const Kernel& kernel, Warp& warp, Scratch& scratch,
                               const Probe& probe)
      : k_(kernel), warp_(warp), scratch_(scratch), probe_(probe) {}

  // The caller syncs afterwards.
  HEAPWOOD_INLINE void begin() {
    if (warp_.lane() == 0) scratch_.backlog = {};
  }
  // The next chunk of the backlog, or an item of kind `none`.
  HEAPWOOD_INLINE WorkItem next_of_backlog() {
    const Backlog backlog = scratch_.backlog;
    warp_.sync();
    if (backlog.item.chunk == backlog.end) return {};
    if (warp_.lane() == 0) ++scratch_.backlog.item.chunk;
    warp_.sync();
    return backlog.item;
  }

  // Stores a shared node's split and publishes its chunks. `tickets` comes from load_tickets().
  HEAPWOOD_INLINE void open(std::uint32_t index, const NodeTask& task, const ChosenSplit& split,
                            const ChildArrays& arrays, std::uint32_t pair, std::uint64_t tickets) {
    SharedNode& node = k_.shared[index];
    const std::uint32_t waiting = TaskQueue::waiting(warp_.shfl(tickets, 0));
    const std::uint32_t chunk = chunk_size_for<Refs>(warp_, task.n, waiting),
                        chunks = (task.n + chunk - 1) / chunk;
    const std::uint32_t max_unshared =
        !uses_simd<Refs, Warp> && TaskQueue::is_mostly_idle(warp_, waiting)
            ? Kernel::shared_limit_when_idle
            : shared_limit;
    const unsigned axis = split.axis();
    const float p = split.position();
    // Two lanes work at the same time, so that two round trips to L2 overlap: one reserves space in
    // the queue, the other one allocates the children's shared nodes.
    std::int32_t room_before = 0;
    std::uint32_t indices[2] = {no_shared_node, no_shared_node};
    constexpr unsigned second = Warp::width == 1 ? 0 : 1;
    if (warp_.lane() == 0) room_before = k_.queue.reserve_room(chunks);
    if (warp_.lane() == second) {
      k_.shared.allocate_pair(split.nl() > max_unshared, split.nr() > max_unshared, indices[0],
                              indices[1]);
    }
    HEAPWOOD_UNROLLED
    for (unsigned side = 0; side < 2; ++side) indices[side] = warp_.shfl(indices[side], second);
    if (warp_.lane() == 0) {
      const ParentSplit cut = parent_split(split);
      node.axis = axis;
      node.plane = p;
      node.flats_right = split.flats_right();
      node.child_path = cut.path;
      node.child_allowance = cut.allowance;
      node.pair = pair;
      node.chunk = chunk;
      node.chunks = chunks;
      node.done = 0;
      HEAPWOOD_UNROLLED
      for (unsigned side = 0; side < 2; ++side) {
        const std::uint32_t n = side == 0 ? split.nl() : split.nr(), child = indices[side];
        node.child[side] = side == 0 ? arrays.left : arrays.right;
        node.child_n[side] = n;
        node.child_index[side] = child;
        if (child != no_shared_node) {
          k_.shared[child].task = child_task(task, cut, side, node.child[side], pair);
        }
      }
    }
    publish_chunks(index, chunks, room_before);
  }

  // Moves and bins the refs of a chunk. Returns true to the warp that finished the last chunk,
  // which must end the split. Sets `aborted` if the kernel is aborted.
  HEAPWOOD_INLINE bool run_chunk(SharedNode& node, std::uint32_t chunk, bool& aborted) {
    if (!move_chunk(k_, warp_, scratch_.choose, node, chunk)) aborted = true;
    const std::uint32_t chunks = node.chunks;
    warp_.sync();
    bool ended = false;
    // acq_rel: publishes this chunk's refs and sums. The warp that finishes the last chunk sees
    // those of all chunks, and all reads of the parent's array are done.
    if (warp_.lane() == 0) {
      ended = simt::atomic_ref<std::uint32_t>(node.done).fetch_add(1, simt::acq_rel) + 1 == chunks;
    }
    return warp_.any(ended);
  }

  // Starts the children. If both are shared nodes, publishes the left one; this warp continues with
  // the other. A child that is not a shared node goes on the warp's stack: the result has bit 0 set
  // for the left child and bit 1 for the right one.
  //
  // Each shared child, and the stack as a whole, needs a pending unit. The parent's unit passes to
  // one of them; the others get new units. `pending_units` is the number of units that this warp
  // finishes when its stack is empty.
  HEAPWOOD_INLINE std::uint32_t start_children(std::uint32_t left_index, std::uint32_t right_index,
                                               std::uint32_t& pending_units) {
    const std::uint32_t unshared =
        (left_index == no_shared_node ? 1u : 0u) | (right_index == no_shared_node ? 2u : 0u);
    if (unshared == 0) {
      if (warp_.lane() == 0) k_.queue.add_pending(1);
      if (!k_.queue.push_shared(warp_, WorkKind::choose, left_index, 1)) {
        // there is no space in the queue: this warp splits the child alone
        k_.shared.release(warp_, left_index);
        pending_units += 1;
        return 1;
      }
    } else if (unshared == 3) {
      pending_units += 1;
    } else if (pending_units == 0) {
      // All tasks on the stack together need one pending unit, and this warp has none.
      if (warp_.lane() == 0) k_.queue.add_pending(1);
      pending_units = 1;
    }
    return unshared;
  }

 private:
  // Publishes the chunks of a split; all become this warp's backlog if the queue has no space.
  HEAPWOOD_INLINE void publish_chunks(std::uint32_t index, std::uint32_t chunks,
                                      std::int32_t room_before) {
    [[maybe_unused]] const auto in = probe_.in(Phase::give);
    warp_.sync();
    if (k_.queue.push_shared(warp_, WorkKind::split_chunk, index, chunks, room_before)) return;
    if (warp_.lane() == 0) scratch_.backlog = {{WorkKind::split_chunk, index, 0}, chunks};
    warp_.sync();
  }

  const Kernel& k_;
  Warp& warp_;
  Scratch& scratch_;
  [[no_unique_address]] Probe probe_;
};

}  // namespace heapwood::kdtree
