// SPDX-License-Identifier: MIT
// Splits a shared node: one warp opens the phase in which many warps move its refs to the children,
// all warps process chunks, and the warp that finishes the last chunk ends the phase.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/partition.hpp"

namespace heapwood::kdtree {

// The work of a warp in a chunk of a shared node: it moves the chunk's refs to the children and
// bins them for each child that is a shared node.

// Bins the refs of a chunk for the children that are shared nodes.
template <class Refs, class Warp>
class ChildBins {
 public:
  static constexpr bool uses_bounds = true;

  // `box` is the node's box, which the constructor cuts at the plane. Syncs.
  HEAPWOOD_INLINE ChildBins(Warp& warp, ChooseScratch& scratch, const PackedCorners* corners,
                            const Box& box, const Cut& cut, bool bin_left, bool bin_right)
      : scratch_(scratch),
        corners_(corners),
        axis_(cut.axis),
        plane_(cut.plane),
        below_{box.lo, set(box.hi, cut.axis, cut.plane)},
        above_{set(box.lo, cut.axis, cut.plane), box.hi},
        bin_left_(bin_left),
        bin_right_(bin_right) {
    for (unsigned k = warp.lane(); k < 6; k += Warp::width)
      scratch.axes[k] = counting_axis(select(k >= 3, above_, below_), k % 3);
    clear_histograms(warp, scratch);
  }

  // The bounds that each child will compute when it loads the ref. They are the bounds in the node
  // unless the triangle crosses the plane (see clip_bounds()).
  HEAPWOOD_INLINE Sides bounds(std::uint32_t id, const Box& box, bool to_left,
                               bool to_right) const {
    Sides sides{box, box};
    const PackedCorners packed = corners_[id];
    const Corners t = packed.unpack();
    const float a = t.a[axis_], b = t.b[axis_], c = t.c[axis_];
    const bool clips_left = to_left && bin_left_ && simt::max(simt::max(a, b), c) > plane_,
               clips_right = to_right && bin_right_ && simt::min(simt::min(a, b), c) < plane_;
    HEAPWOOD_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      if (!(side == 0 ? clips_left : clips_right)) continue;
      const Box part = Refs::clip(packed, select(side != 0, above_, below_));
      if (side == 0) {
        sides.left = part;
      } else {
        sides.right = part;
      }
    }
    return sides;
  }
  // Pass 0 bins one part of every lane's ref; pass 1 bins the right parts of straddling refs. So
  // refs of both sides share a pass.
  HEAPWOOD_INLINE void add(Warp& warp, const Sides& sides, bool to_left, bool to_right) {
    const bool first_right = !to_left;
    HEAPWOOD_ROLLED
    for (unsigned pass = 0; pass < 2; ++pass) {
      const bool to_side = pass == 0 ? to_left : to_right,
                 bin_side = pass == 0 ? bin_left_ : bin_right_;
      if (bin_side) {
        tight_.add(warp, to_side, select(pass != 0, sides.right, sides.left), pass);
      }
      const bool right = pass != 0 || first_right;
      const bool counts = pass == 0 ? (to_left ? bin_left_ : to_right && bin_right_)
                                    : to_left && to_right && bin_right_;
      if (warp.any(counts)) {
        count_in_bins(warp, scratch_.histogram + (right ? histogram_words : 0),
                      scratch_.axes + (right ? 3 : 0), select(right, sides.right, sides.left),
                      counts);
      }
    }
  }
  // Adds the histogram of one side to that child. The caller syncs first.
  HEAPWOOD_INLINE void add_to(SharedNode& child, Warp& warp, unsigned side) const {
    child.add_histogram(warp, scratch_.histogram + side * histogram_words);
    tight_.add_to(child, warp, side);
  }

 private:
  ChooseScratch& scratch_;
  const PackedCorners* corners_;
  unsigned axis_;
  float plane_;
  Box below_, above_;  // boxes of the two children
  bool bin_left_, bin_right_;
  GatheredBounds<Warp, 2> tight_;
};

// Reserves the positions of all refs [first, last) of a node together.
template <class Refs, class Warp>
HEAPWOOD_INLINE SidePair reserve_stretch(Warp& warp, SharedNode& node, const NodeTask& task,
                                         const Cut& cut, const PackedCorners* corners,
                                         std::uint32_t first, std::uint32_t last) {
  // Two counts of 16 bits in one word; a chunk has at most 512 refs.
  std::uint32_t sides = 0;
  HEAPWOOD_UNROLLED_4
  for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
    float lo, hi;
    Refs::load_bounds(task.refs, i, cut.axis, lo, hi);
    const bool to_left = goes_left(lo, hi, cut.plane, cut.flats_right),
               to_right = goes_right(lo, hi, cut.plane, cut.flats_right);
    sides += (to_left ? 1u : 0u) + (to_right ? 1u << 16 : 0u);
    if (to_left && to_right) corners[Refs::load_id(task.refs, i)].prefetch();
  }
  sides = warp.reduce_add(sides);
  SharedCursor cursor{node.cursor};
  return cursor.share(warp, cursor.reserve(warp, {sides & 0xffffu, sides >> 16}));
}

// move_chunk() for one CPU thread with clipped refs. Reserves the positions of the whole chunk
// together, and bins the moved refs afterwards, one side after the other.
template <class Kernel, class Warp>
bool move_chunk_simd(const Kernel& k, Warp& warp, ChooseScratch& scratch, SharedNode& node,
                     std::uint32_t first, std::uint32_t last) {
  const NodeTask task = node.task;
  const Cut cut{node.axis, node.plane, node.flats_right};
  const Moved sides = count_sides(task.refs, first, last, cut, k.corners);
  const SidePair counts{node.child_n[0], node.child_n[1]}, moved{sides.left, sides.right};
  const SidePair position = SharedCursor{node.cursor}.reserve(warp, moved);
  // Sanity check: cannot fail, because the choice counted with the same comparisons.
  if ((position + moved).exceeds(counts)) {
    fail_partition(warp, task.n, counts, position + moved);
    return false;
  }
  const Target left{node.child[0], position.left};
  const Target right{node.child[1], position.right};
  move_refs(task.refs, first, last, cut, k.corners, left, right);
  const auto bin_child = [&](unsigned side, const Target& child, std::uint32_t count,
                             const Box& box) {
    if (node.child_index[side] == no_shared_node) return;
    bin_array_for(k.shared[node.child_index[side]], scratch, child.refs, child.next,
                  child.next + count, box);
  };
  bin_child(0, left, moved.left, {task.box.lo, set(task.box.hi, cut.axis, cut.plane)});
  bin_child(1, right, moved.right, {set(task.box.lo, cut.axis, cut.plane), task.box.hi});
  return true;
}

// Moves and bins the refs of a chunk. Returns false if the kernel is aborted.
template <class Kernel, class Warp>
HEAPWOOD_INLINE bool move_chunk(const Kernel& k, Warp& warp, ChooseScratch& scratch,
                                SharedNode& node, std::uint32_t chunk) {
  using Refs = typename Kernel::Refs;
  // All loads from the node are issued before the first result is used.
  const NodeTask task = node.task;
  const Cut cut{node.axis, node.plane, node.flats_right};
  const PartitionArrays arrays{task.refs,     task.n,        task.box,
                               node.child[0], node.child[1], {node.child_n[0], node.child_n[1]}};
  const bool bin_left = node.child_index[0] != no_shared_node,
             bin_right = node.child_index[1] != no_shared_node;
  const std::uint32_t size = node.chunk, first = chunk * size,
                      last = task.n - first < size ? task.n : first + size;
  if constexpr (uses_simd<Refs, Warp>) return move_chunk_simd(k, warp, scratch, node, first, last);
  ChildBins<Refs, Warp> bins(warp, scratch, k.corners, task.box, cut, bin_left, bin_right);
  bool fits;
  SidePair moved;
  if constexpr (Refs::stores_bounds) {
    // Loads the refs twice, first to count them: cheap, and one reservation serves the chunk.
    OwnStretch placement{reserve_stretch<Refs>(warp, node, task, cut, k.corners, first, last)};
    fits = partition_refs<Refs>(warp, arrays, cut, k.corners, first, last, placement, bins);
    moved = placement.next;
  } else {
    SharedCursor placement{node.cursor};
    fits = partition_refs<Refs>(warp, arrays, cut, k.corners, first, last, placement, bins);
  }
  if (!fits) {
    fail_partition(warp, task.n, arrays.counts, moved);
    return false;
  }
  warp.sync();
  if (bin_left) bins.add_to(k.shared[node.child_index[0]], warp, 0);
  if (bin_right) bins.add_to(k.shared[node.child_index[1]], warp, 1);
  return true;
}

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
