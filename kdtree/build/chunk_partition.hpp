// SPDX-License-Identifier: MIT
// The work of a warp in a chunk of a shared node: it moves the chunk's refs to the children and
// bins them for each child that is a shared node.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/partition.hpp"

namespace heapwood::kdtree {

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

}  // namespace heapwood::kdtree
