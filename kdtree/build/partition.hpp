// SPDX-License-Identifier: MIT
// Moves a node's refs to its children's arrays, in rounds of one ref per lane. The code is shared
// by nodes that one warp splits, by chunks of shared nodes and by the per-level builder. They
// differ in the placement, which reserves the positions of a round's refs, and in the bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kdtree/build/kernel.hpp"
#include "kdtree/split/simd.hpp"

namespace heapwood::kdtree {

// Two numbers of refs, or two positions in the children's arrays: one per side.
struct SidePair {
  std::uint32_t left = 0, right = 0;

  static HEAPWOOD_INLINE SidePair of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
  HEAPWOOD_INLINE std::uint64_t word() const { return left | std::uint64_t{right} << 32; }
  HEAPWOOD_INLINE SidePair operator+(const SidePair& b) const {
    return {left + b.left, right + b.right};
  }
  HEAPWOOD_INLINE bool exceeds(const SidePair& limit) const {
    return left > limit.left || right > limit.right;
  }
  HEAPWOOD_INLINE bool operator==(const SidePair& b) const {
    return left == b.left && right == b.right;
  }
};

// The array of a node's refs and those of its children.
struct PartitionArrays {
  const std::byte* refs;
  std::uint32_t n;
  Box box;  // of the node
  std::byte *left, *right;
  SidePair counts;  // sizes of the children's arrays
  // The refs' bounds on the split's axis as gather_all() has stored them, so that refs that do not
  // store bounds need not be clipped again; or nullptr.
  const Interval* intervals = nullptr;
};

// A placement reserves the positions of a round's refs. reserve() returns them in lane 0 and
// share() in all lanes, so that a caller can do other work in between. `prefetches`: the next
// round's refs are loaded before this round's are moved (only refs that store bounds).
// `checks_rounds`: the loop ends at a round that does not fit.

// The warp has stretches of the children's arrays of its own, and counts positions without atomics.
struct OwnStretch {
  static constexpr bool prefetches = false, checks_rounds = true;
  SidePair next;

  template <class Warp>
  HEAPWOOD_INLINE SidePair reserve(Warp&, const SidePair& round) {
    const SidePair position = next;
    next = position + round;
    return position;
  }
  template <class Warp>
  HEAPWOOD_INLINE SidePair share(Warp&, const SidePair& position) const {
    return position;
  }
};
// One warp splits the node alone: its stretches are the whole arrays. The caller checks `next`.
struct WholeNode : OwnStretch {
  static constexpr bool prefetches = true, checks_rounds = false;
};
// All warps of a shared node advance one cursor. relaxed: the positions are distinct, and nothing
// is read through them before the phase ends.
struct SharedCursor {
  static constexpr bool prefetches = false, checks_rounds = true;
  std::uint64_t& cursor;

  template <class Warp>
  HEAPWOOD_INLINE SidePair reserve(Warp& warp, const SidePair& round) {
    std::uint64_t position = 0;
    if (warp.lane() == 0)
      position = simt::global_ref(cursor).fetch_add(round.word(), simt::relaxed);
    return SidePair::of(position);
  }
  template <class Warp>
  HEAPWOOD_INLINE SidePair share(Warp& warp, const SidePair& position) const {
    return SidePair::of(warp.shfl(position.word(), 0));
  }
};

// Bins process a round's refs while they are in registers. NoBins does nothing; ChildBins in
// chunk_partition.hpp counts the refs. bounds() returns the bounds of a ref's parts if refs do not
// store them; add() is called after the refs have been stored.
struct NoBins {
  static constexpr bool uses_bounds = false;
  HEAPWOOD_INLINE Sides bounds(std::uint32_t, const Box& box, bool, bool) const {
    return {box, box};
  }
  template <class Warp>
  HEAPWOOD_INLINE void add(Warp&, const Sides&, bool, bool) const {}
};

// Moves the refs [first, last). Returns false if a round did not fit; only placements with
// `checks_rounds` notice that.
template <class Refs, class Warp, class Placement, class Bins>
HEAPWOOD_INLINE bool partition_refs(Warp& warp, const PartitionArrays& arrays, const Cut& cut,
                                    const PackedCorners* corners, std::uint32_t first,
                                    std::uint32_t last, Placement& placement, Bins& bins) {
  constexpr bool prefetches = Placement::prefetches && Refs::stores_bounds;
  const unsigned axis = cut.axis;
  const float p = cut.plane;
  const std::uint32_t lower_lanes = (1u << warp.lane()) - 1u;
  const auto load = [&](std::uint32_t i) {
    if constexpr (!Refs::stores_bounds && !Bins::uses_bounds) {
      // Without stored bounds, only the bounds on the split's axis are needed, and only whether
      // they are below or above the plane.
      Interval on_axis;
      if (arrays.intervals != nullptr) {
        on_axis = arrays.intervals[axis * in_fours(arrays.n) + i];
      } else {
        Refs::load_bounds(arrays.refs, i, arrays.box, corners, axis, p, p, on_axis.lo, on_axis.hi);
      }
      return Ref{Refs::load_id(arrays.refs, i),
                 {set(arrays.box.lo, axis, on_axis.lo), set(arrays.box.hi, axis, on_axis.hi)}};
    }
    return Refs::load(arrays.refs, i, arrays.box, corners);
  };
  Ref next{};
  if (prefetches && first + warp.lane() < last) next = load(first + warp.lane());
  HEAPWOOD_ROLLED
  for (std::uint32_t base = first; base < last; base += Warp::width) {
    const std::uint32_t i = base + warp.lane();
    Ref ref = next;
    bool to_left = false, to_right = false;
    if (prefetches && i + Warp::width < last) next = load(i + Warp::width);
    if (i < last) {
      if (!prefetches) ref = load(i);
      to_left = goes_left(ref.box.lo[axis], ref.box.hi[axis], p, cut.flats_right);
      to_right = goes_right(ref.box.lo[axis], ref.box.hi[axis], p, cut.flats_right);
    }
    const std::uint32_t left_lanes = warp.ballot(to_left), right_lanes = warp.ballot(to_right);
    const SidePair round{static_cast<std::uint32_t>(simt::popcount(left_lanes)),
                         static_cast<std::uint32_t>(simt::popcount(right_lanes))};
    SidePair position = placement.reserve(warp, round);
    Sides sides{ref.box, ref.box};
    if constexpr (Refs::stores_bounds) {
      if (to_left && to_right) sides = split_bounds(corners[ref.id].unpack(), ref.box, axis, p);
    } else {
      sides = bins.bounds(ref.id, ref.box, to_left, to_right);
    }
    position = placement.share(warp, position);
    // Sanity check: cannot fail, because the choice counted with the same comparisons.
    if (Placement::checks_rounds && (position + round).exceeds(arrays.counts)) return false;
    if (to_left) {
      Refs::store(arrays.left, position.left + simt::popcount(left_lanes & lower_lanes), ref.id,
                  sides.left);
    }
    if (to_right) {
      Refs::store(arrays.right, position.right + simt::popcount(right_lanes & lower_lanes), ref.id,
                  sides.right);
    }
    bins.add(warp, sides, to_left, to_right);
  }
  return true;
}

// Aborts the kernel: the counts of the choice and of the partition differ.
template <class Warp>
HEAPWOOD_INLINE void fail_partition(Warp& warp, std::uint32_t n, const SidePair& counts,
                                    const SidePair& moved) {
  if (warp.lane() == 0) warp.fail(count_mismatch, n, counts.word(), moved.word());
}

// The message for a kernel that stopped with count_mismatch; `operand` from fail_partition().
inline std::string count_mismatch_message(const std::uint64_t (&operand)[3]) {
  const auto text = [](SidePair sides) {
    return std::to_string(sides.left) + " and " + std::to_string(sides.right);
  };
  return "internal error: partitioning " + std::to_string(operand[0]) + " refs moved " +
         text(SidePair::of(operand[2])) + " to the children, but the split was chosen for " +
         text(SidePair::of(operand[1])) + "; please report the scene";
}

// Moves all refs of a node that one warp splits, after choose() with the same scratch.
template <class Refs, class Warp>
HEAPWOOD_INLINE void partition_node(Warp& warp, const NodeTask& task, const Split& split,
                                    const ChildArrays& children, const PackedCorners* corners,
                                    const ChooseScratch& scratch) {
  const Cut cut{split.axis(), split.position(), split.flats_right()};
  const bool knows_bounds = Warp::width > 1 && task.n <= exact_limit;
  const PartitionArrays arrays{task.refs,
                               task.n,
                               task.box,
                               children.left,
                               children.right,
                               {split.nl(), split.nr()},
                               knows_bounds ? scratch.interval : nullptr};
  SidePair moved;
  if constexpr (uses_simd<Refs, Warp>) {
    const Moved simd =
        move_refs(task.refs, 0, task.n, cut, corners, {arrays.left, 0}, {arrays.right, 0});
    moved = {simd.left, simd.right};
  } else {
    WholeNode placement{};
    NoBins none;
    partition_refs<Refs>(warp, arrays, cut, corners, 0, task.n, placement, none);
    moved = placement.next;
  }
  if (moved != arrays.counts) fail_partition(warp, task.n, arrays.counts, moved);
}

}  // namespace heapwood::kdtree
