// SPDX-License-Identifier: MIT
// SIMD code for a CPU thread (simt/lanes.hpp). It performs the same operations as the warps' code,
// so it has the same results. Compiled once, not once per allocator, in simd_choice.cpp and
// simd_refs.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/split/bins.hpp"

namespace heapwood::kdtree {

// Considers all bin boundaries of a node of n refs, as consider_bins() of bins.hpp does.
void consider_bins(const BinCounts& counts, const SplitCost& cost, const Box& node, std::uint32_t n,
                   Split& best);

// Arrays of clipped refs: a ref's six bounds are the lanes of one vector, so that it is binned on
// all axes at once. The coordinates of a corner, or of one end of a box, are the lanes of another,
// so that a triangle is clipped in all coordinates at once.

// Counts the refs [first, last) of an array in bins. Returns their bounds.
Box bin_refs(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Box& node,
             BinCounts& counts);

// A plane, and the side of the refs that lie in it.
struct Cut {
  unsigned axis;
  float plane;
  bool flats_right;
};
// One side's array of refs, and the index of its next ref.
struct Target {
  std::byte* refs;
  std::uint32_t next;
};
struct Moved {
  std::uint32_t left, right;
};

// Counts how many of the refs [first, last) of an array go to each side.
Moved count_sides(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Cut& cut,
                  const PackedCorners* corners);
// Moves the refs [first, last) to their sides, in any order. Straddling refs go to both sides, each
// with the bounds of its part. The targets must have space for them. One target may overwrite the
// array that is read: then its `next` must be at most `first`.
Moved move_refs(const std::byte* refs, std::uint32_t first, std::uint32_t last, const Cut& cut,
                const PackedCorners* corners, const Target& left, const Target& right);

}  // namespace heapwood::kdtree
