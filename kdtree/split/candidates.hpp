// SPDX-License-Identifier: MIT
// Split candidates that a warp evaluates one by one: the bounds of all refs of a small node, or, in
// a larger node, those near the best bin boundary. Also the limits between these cases and the
// memory that a choice needs.
#pragma once

#include <cstdint>
#include <limits>

#include "kdtree/build/node_task.hpp"
#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/split/bins.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t exact_limit = 32;
// Nodes with more refs are split by many warps if a shared node is free, and without refinement.
inline constexpr std::uint32_t shared_limit = 1024;
// Max refs with a bound between the planes next to the best boundary, for refinement.
inline constexpr std::uint32_t refine_limit = 96;

struct Interval {
  float lo, hi;
};

// A warp's fast memory for a choice. Intervals overwrite sums: they are written only after all bin
// boundaries have been considered.
struct ChooseScratch {
  union {
    // Exact: bounds of ref i at [axis * n + i]. Refinement: bounds of the refs with one inside
    Interval interval[3 * exact_limit];
    BinCounts sums;
  };
  // In both arrays the second half is for the second child of a shared node.
  std::uint32_t histogram[2 * histogram_words];
  CountingAxis axes[2 * 3];
  std::uint32_t bounds[6];  // bounds of all refs, as in SharedNode::tight
};
static_assert(refine_limit <= 3 * exact_limit);

// The candidates of a choice: the bounds of m intervals on each of `axes` axes, starting with
// `axis`. Each bound is a plane. `left` and `right` count further refs that are on that side of
// every candidate. Only planes strictly between `above` and `below` count. The intervals of an axis
// are padded with no_interval to a multiple of four.
struct Candidates {
  std::uint32_t m = 0;
  unsigned axis = 0, axes = 3;
  std::uint32_t left = 0, right = 0;
  float above = -3.4e38f, below = 3.4e38f;
  bool flats = false;  // some interval lies in a plane
};
inline constexpr Interval no_interval{std::numeric_limits<float>::quiet_NaN(),
                                      std::numeric_limits<float>::quiet_NaN()};
HEAPWOOD_INLINE std::uint32_t in_fours(std::uint32_t m) { return (m + 3) & ~3u; }

// consider_candidates() for one CPU thread, eight planes at a time (simd_choice.cpp).
void consider_candidates_simd(const Interval* intervals, const Candidates& candidates,
                              const SplitCost& cost, Split& best);

// Considers the candidates. This is the builder's hottest loop, compiled in one place only.
template <class Warp>
HEAPWOOD_INLINE void consider_candidates(Warp& warp, const ChooseScratch& scratch,
                                         const Candidates& candidates, const SplitCost& cost,
                                         Split& best) {
  if constexpr (Warp::width == 1)
    return consider_candidates_simd(scratch.interval, candidates, cost, best);
  const std::uint32_t m = candidates.m;
  // One loop over all axes, so that even few refs occupy all lanes.
  HEAPWOOD_ROLLED
  for (std::uint32_t c = warp.lane(); c < 2 * candidates.axes * m; c += Warp::width) {
    const unsigned step = c >= 4 * m ? 2 : c >= 2 * m ? 1 : 0;
    const Interval* const interval = scratch.interval + step * in_fours(m);
    const std::uint32_t k = c - 2 * m * step;
    const Interval from = interval[k >> 1];
    const float p = (k & 1) ? from.hi : from.lo;
    if (!(p > candidates.above && p < candidates.below)) continue;
    std::uint32_t begin_below = 0, end_above = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < m; i += 4) {
      HEAPWOOD_UNROLLED
      for (std::uint32_t j = 0; j < 4; ++j) {
        const Interval other = interval[i + j];
        begin_below += simt::counted_less(other.lo, p);
        end_above += simt::counted_less(p, other.hi);
      }
    }
    // Refs in the plane go left. The two bounds of a flat interval are the same plane: at the
    // second one the refs go right.
    std::uint32_t in_plane = 0;
    if (candidates.flats) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < m; ++i) {
        const Interval other = interval[i];
        in_plane += static_cast<std::uint32_t>(int(other.lo == p) & int(other.hi == p));
      }
    }
    const bool flats_right = (k & 1) && from.lo == from.hi;
    cost.consider(best, candidates.axis + step, p,
                  candidates.left + begin_below + (flats_right ? 0 : in_plane),
                  candidates.right + end_above + (flats_right ? in_plane : 0), flats_right);
  }
}

// Makes the bounds of all refs candidates. n <= exact_limit.
template <class Refs, class Warp>
HEAPWOOD_INLINE Candidates gather_all(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                      const PackedCorners* corners) {
  const std::uint32_t n = task.n, stride = in_fours(n);
  bool flat = false;
  HEAPWOOD_ROLLED
  for (std::uint32_t i = warp.lane(); i < stride; i += Warp::width) {
    Interval x = no_interval, y = no_interval, z = no_interval;
    if (i < n) {
      const Box box = Refs::load(task.refs, i, task.box, corners).box;
      x = {box.lo.x, box.hi.x};
      y = {box.lo.y, box.hi.y};
      z = {box.lo.z, box.hi.z};
    }
    scratch.interval[i] = x;
    scratch.interval[stride + i] = y;
    scratch.interval[2 * stride + i] = z;
    flat = flat || x.lo == x.hi || y.lo == y.hi || z.lo == z.hi;
  }
  flat = warp.any(flat);
  warp.sync();
  return {.m = n, .flats = flat};
}

// The largest b with plane(b) <= p, in five instructions if a warp has one lane per bin.
template <class Warp>
HEAPWOOD_INLINE int bin_of_plane(Warp& warp, const BinAxis& bins, float p, float hi) {
  if constexpr (Warp::width == bin_count) {
    return static_cast<int>(
               simt::popcount(warp.ballot(bins.plane(static_cast<int>(warp.lane())) <= p))) -
           1;
  } else {
    return bins.begin(p, bins.coarse(hi));
  }
}

// Makes candidates of the bounds between the two planes next to the best bin boundary. All other
// refs are on one side of every such plane, so they are only counted.
template <class Refs, class Warp>
HEAPWOOD_INLINE Candidates gather_near(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                       const PackedCorners* corners, const Split& boundary) {
  const unsigned axis = boundary.axis();
  const BinAxis bins = bin_axis(task.box, axis);
  const float p = boundary.position();
  const int b = bin_of_plane(warp, bins, p, task.box.hi[axis]);
  Candidates near{
      .m = 0, .axis = axis, .axes = 1, .above = bins.plane(b - 1), .below = bins.plane(b + 1)};
  // For clipped refs the loads of the next round are in flight while this round is processed. For
  // other kinds bounds are computed, not loaded; they need not be exact beyond the two planes.
  const auto load = [&](std::uint32_t i) {
    Interval interval{0, 0};
    if (i < task.n) {
      if constexpr (Refs::stores_bounds) {
        Refs::load_bounds(task.refs, i, axis, interval.lo, interval.hi);
      } else {
        Refs::load_bounds(task.refs, i, task.box, corners, axis, near.above, near.below,
                          interval.lo, interval.hi);
      }
    }
    return interval;
  };
  Interval next{0, 0};
  if constexpr (Refs::stores_bounds) next = load(warp.lane());
  warp.sync();
  HEAPWOOD_ROLLED
  for (std::uint32_t base = 0; base < task.n; base += Warp::width) {
    const std::uint32_t i = base + warp.lane();
    bool inside = false;
    const Interval interval = Refs::stores_bounds ? next : load(i);
    if constexpr (Refs::stores_bounds) next = load(i + Warp::width);
    if (i < task.n) {
      inside = (interval.lo > near.above && interval.lo < near.below) ||
               (interval.hi > near.above && interval.hi < near.below);
      near.left += !inside && interval.lo <= near.above ? 1 : 0;
      near.right += !inside && interval.hi >= near.below ? 1 : 0;
    }
    const std::uint32_t inside_lanes = warp.ballot(inside);
    const std::uint32_t entry = near.m + simt::popcount(inside_lanes & ((1u << warp.lane()) - 1u));
    if (inside && entry < refine_limit) scratch.interval[entry] = interval;
    near.m += simt::popcount(inside_lanes);
    near.flats = near.flats || (inside && interval.lo == interval.hi);
  }
  near.flats = warp.any(near.flats);
  near.left = warp.reduce_add(near.left);
  near.right = warp.reduce_add(near.right);
  warp.sync();
  if (near.m > refine_limit) near.m = 0;
  HEAPWOOD_ROLLED
  for (std::uint32_t i = near.m + warp.lane(); i < in_fours(near.m); i += Warp::width)
    scratch.interval[i] = no_interval;
  warp.sync();
  return near;
}

}  // namespace heapwood::kdtree
