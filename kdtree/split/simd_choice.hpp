// SPDX-License-Identifier: MIT
// SIMD code for choosing a split on a CPU thread: the candidates of choose.hpp, eight at a time in
// the lanes of vectors (simt/lanes.hpp). Counts and costs result from the same operations as in the
// warps' code, and the same one of equal candidates wins, so the split is the same. Compiled once,
// in simd_choice.cpp, not once per allocator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/sah.hpp"
#include "kdtree/split/bins.hpp"

namespace heapwood::kdtree {

// The bounds of n refs on one axis, the lower ones before the upper ones, and the number of flat
// refs. Read in whole vectors.
struct alignas(32) SimdIntervals {
  static constexpr std::uint32_t max_refs = 96;
  float bounds[2 * max_refs + 16];
  std::uint32_t flats = 0;
};

// A range of planes on one axis, and the numbers of refs that lie on one side of all of them.
struct PlaneRange {
  std::uint32_t left = 0, right = 0;
  float above = -3.4e38f, below = 3.4e38f;
};

// Considers the bounds of n refs on each of `axes` axes. Overwrites the two whole vectors after the
// bounds.
void consider_intervals(SimdIntervals* intervals, std::uint32_t n, unsigned first_axis,
                        unsigned axes, const PlaneRange& range, const SplitCost& cost, Split& best);

// The cheapest split at the bounds of n clipped refs, n <= 32.
Split choose_exact(const std::byte* refs, std::uint32_t n, const SplitCost& cost);

// Considers all bin boundaries of a node of n refs: consider_bins() of bins.hpp.
void consider_bins(const BinCounts& counts, const SplitCost& cost, const Box& node, std::uint32_t n,
                   Split& best);

}  // namespace heapwood::kdtree
