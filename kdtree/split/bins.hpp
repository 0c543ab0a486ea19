// SPDX-License-Identifier: MIT
// Binned SAH with 32 bins per axis over a node's box. A ref is counted in the bin where it begins
// and in the bin where it ends. Prefix sums over the bins then give exactly the numbers of refs
// that goes_left and goes_right send to each side of every bin boundary: on the left of plane(b)
// those with begin < b, on the right those with end >= b.
#pragma once

#include <cstdint>

#include "geometry/triangle.hpp"
#include "kdtree/sah.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

inline constexpr unsigned bin_count = 32;
inline constexpr unsigned histogram_words = 3 * bin_count;

// The bins of one axis of a box.
struct BinAxis {
  float lo, width, inverse;

  // Whether the axis can be divided into bins: not if it is infinite or its inverse would overflow.
  HEAPWOOD_INLINE bool usable() const { return width > 3.4e-39f && width < 3e38f; }
  HEAPWOOD_INLINE float plane(float b) const { return lo + width * b; }
  HEAPWOOD_INLINE float plane(int b) const { return plane(static_cast<float>(b)); }

  // True if the planes are closer than the rounding error of the coordinates: the first guess of a
  // bin can then be off by more than one.
  HEAPWOOD_INLINE bool coarse(float hi) const {
    return hi - lo <= 1e-5f * simt::max(simt::max(lo, -lo), simt::max(hi, -hi));
  }
  // The largest b with plane(b) <= x.
  HEAPWOOD_INLINE int begin(float x, bool is_coarse) const {
    return static_cast<int>(whole_begin(x, is_coarse));
  }
  // The smallest b with x <= plane(b + 1).
  HEAPWOOD_INLINE int end(float x, bool is_coarse) const {
    float b = whole_begin(x, is_coarse);
    b -= b > 0.0f && x <= plane(b) ? 1.0f : 0.0f;
    if (is_coarse) [[unlikely]] {
      while (b > 0.0f && x <= plane(b)) b -= 1.0f;
    }
    return static_cast<int>(b);
  }

 private:
  // begin() as a float: a GPU executes a quarter as many conversions per cycle as additions.
  HEAPWOOD_INLINE float whole_begin(float x, bool is_coarse) const {
    constexpr float rounds = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    float b = ((x - lo) * inverse + rounds) - rounds;
    b = simt::min(simt::max(b, 0.0f), 31.0f);
    b -= b > 0.0f && x < plane(b) ? 1.0f : 0.0f;
    b += b < 31.0f && x >= plane(b + 1.0f) ? 1.0f : 0.0f;
    if (is_coarse) [[unlikely]] {
      while (b > 0.0f && x < plane(b)) b -= 1.0f;
      while (b < 31.0f && x >= plane(b + 1.0f)) b += 1.0f;
    }
    return b;
  }
};

HEAPWOOD_INLINE BinAxis bin_axis(const Box& box, unsigned axis) {
  const float lo = box.lo[axis], extent = box.hi[axis] - lo;
  // The inverse gives begin() a first guess, which is corrected: it may differ between devices.
  return {lo, extent * (1.0f / bin_count),
          static_cast<float>(bin_count) * simt::approximate_reciprocal(extent)};
}

// What is needed to count a ref on one axis of its node, stored in the warp's Scratch. Aligned so
// that one load replaces about twenty instructions.
struct alignas(16) CountingAxis {
  BinAxis bins;
  enum : std::uint32_t { unusable, usual, coarse } kind;
};
HEAPWOOD_INLINE CountingAxis counting_axis(const Box& node, unsigned axis) {
  const BinAxis bins = bin_axis(node, axis);
  return {bins, !bins.usable()               ? CountingAxis::unusable
                : bins.coarse(node.hi[axis]) ? CountingAxis::coarse
                                             : CountingAxis::usual};
}
// Sets the node's three axes. The caller syncs.
template <class Warp>
HEAPWOOD_INLINE void set_counting_axes(Warp& warp, CountingAxis* axes, const Box& node) {
  for (unsigned axis = warp.lane(); axis < 3; axis += Warp::width)
    axes[axis] = counting_axis(node, axis);
}

// Counts a ref with bounds `box` in the warp's histogram: begins in the low half of a word, ends in
// the high half (up to 65535 of each). `axes` are the node's three, in one loop: code that fits the
// instruction cache gains more than the selects cost. A lane without a ref calls with `counts`
// false instead of skipping the call, which could split the warp (docs/experiments.md).
template <class Warp>
HEAPWOOD_INLINE void count_in_bins(Warp& warp, std::uint32_t* histogram, const CountingAxis* axes,
                                   const Box& box, bool counts = true) {
  HEAPWOOD_ROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const CountingAxis of = axes[axis];
    if (of.kind == CountingAxis::unusable) continue;
    const bool coarse = of.kind == CountingAxis::coarse;
    int begin = of.bins.begin(box.lo[axis], coarse);
    const int end = of.bins.end(box.hi[axis], coarse);
    // A ref that lies in plane(b) counts as below it: it goes left.
    begin = begin < end ? begin : end;
    std::uint32_t* const words = histogram + axis * bin_count;
    if (!counts) continue;
    if (begin == end) {
      warp.scratch_add(words[begin], 0x00010001u);
    } else {
      warp.scratch_add(words[begin], 0x00000001u);
      warp.scratch_add(words[end], 0x00010000u);
    }
  }
}

// A histogram with 32 bits per count, in a warp's Scratch.
struct BinCounts {
  std::uint32_t begins[histogram_words];
  std::uint32_t ends[histogram_words];
};

// Considers all bin boundaries as planes of a split.
template <class Warp>
HEAPWOOD_INLINE void consider_bins(Warp& warp, const BinCounts& counts, const SplitCost& cost,
                                   const Box& node, std::uint32_t n, Split& best) {
  constexpr unsigned per_lane = bin_count / Warp::width;
  HEAPWOOD_ROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(node, axis);
    const unsigned first = warp.lane() * per_lane;
    const std::uint32_t* const begins = counts.begins + axis * bin_count + first;
    const std::uint32_t* const ends = counts.ends + axis * bin_count + first;
    std::uint32_t own_begins = 0, own_ends = 0;
    for (unsigned k = 0; k < per_lane; ++k) {
      own_begins += begins[k];
      own_ends += ends[k];
    }
    std::uint32_t left = warp.inclusive_add(own_begins) - own_begins;
    std::uint32_t ended = warp.inclusive_add(own_ends) - own_ends;
    if (!bins.usable()) continue;
    for (unsigned k = 0; k < per_lane; ++k) {
      left += begins[k];
      ended += ends[k];
      const int b = static_cast<int>(first + k) + 1;
      if (b < static_cast<int>(bin_count))
        cost.consider(best, axis, bins.plane(b), left, n - ended);
    }
  }
}

// Considers the six planes that cut off only empty space. `bounds` holds the bounds of all refs as
// ordered keys of -lo.xyz, hi.xyz.
template <class Warp>
HEAPWOOD_INLINE void consider_tight_cuts(Warp& warp, const std::uint32_t* bounds,
                                         const SplitCost& cost, std::uint32_t n, Split& best) {
  HEAPWOOD_ROLLED
  for (unsigned c = warp.lane(); c < 6; c += Warp::width) {
    const bool below = c < 3;  // the empty side lies below the plane
    const float bound = simt::from_ordered_key(bounds[c]);
    cost.consider(best, below ? c : c - 3, below ? -bound : bound, below ? 0 : n, below ? n : 0,
                  below);
  }
}

}  // namespace heapwood::kdtree
