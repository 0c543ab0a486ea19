// SPDX-License-Identifier: MIT
// What a CPU thread does with an array of clipped refs (refs.hpp): bins them, moves them to two children. A ref's six bounds are
// the lanes of one vector (simt/lanes.hpp), so that it is binned on all axes at once; those of a corner or of one end of a
// box are another, so that a triangle is clipped in all coordinates at once. The same operations as in bins.hpp and clip.hpp
// give the same bins and bounds. Compiled once, in simd_refs.cpp, not once an allocator.
#pragma once

#include <cstdint>

#include "kdtree/bins.hpp"
#include "kdtree/refs.hpp"

namespace heapwood::kdtree {

// Counts the refs [first, last) of an array of n into bins; returns the bounds of all of them.
Box bin_refs(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Box& node,
             BinCounts& counts);

// A plane, and which side refs in it go to.
struct Cut {
  unsigned axis;
  float plane;
  bool flats_right;
};
// One side's array of n refs, and where the next one goes.
struct Target {
  std::byte* refs;
  std::uint32_t n, next;
};
struct Moved {
  std::uint32_t left, right;
};

// How many of the refs [first, last) of an array of n go to each side.
Moved count_sides(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Cut& cut,
                  const PackedCorners* corners);
// Moves them, in some order: those that straddle go to both sides, each with the bounds of its part. The targets have room for
// them.
Moved move_refs(const std::byte* refs, std::uint32_t n, std::uint32_t first, std::uint32_t last, const Cut& cut,
                const PackedCorners* corners, const Target& left, const Target& right);

}  // namespace heapwood::kdtree
