// SPDX-License-Identifier: MIT
// What a CPU thread chooses a split with: the candidates of choose.hpp, eight of them in the lanes of vectors (simt/lanes.hpp).
// Counts and costs are those of the warps' code operation by operation, and of equal candidates the same one wins: the same
// split. Compiled once, in simd_choice.cpp, not once an allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/bins.hpp"
#include "kdtree/sah.hpp"

namespace heapwood::kdtree {

// The bounds of n refs on one axis, the lower ones and then the upper ones, and how many refs are flat. Read in whole vectors.
struct alignas(32) SimdIntervals {
  static constexpr std::uint32_t max_refs = 96;
  float bounds[2 * max_refs + 16];
  std::uint32_t flats = 0;
};

// A range of planes on one axis, and the refs that lie on one side of all of them.
struct PlaneRange {
  std::uint32_t left = 0, right = 0;
  float above = -3.4e38f, below = 3.4e38f;
};

// Considers the bounds of n refs on each of `axes` axes. Writes behind them, two whole vectors.
void consider_intervals(SimdIntervals* intervals, std::uint32_t n, unsigned first_axis, unsigned axes,
                        const PlaneRange& range, const SplitCost& cost, Split& best);

// The cheapest of all bounds of n clipped refs, at most 32.
Split choose_exact(const std::byte* refs, std::uint32_t n, const SplitCost& cost);

// Considers all bin boundaries of a node of n refs: consider_bins() of bins.hpp.
void consider_bins(const BinCounts& counts, const SplitCost& cost, const Box& node, std::uint32_t n, Split& best);

}  // namespace heapwood::kdtree
