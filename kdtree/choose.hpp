// SPDX-License-Identifier: MIT
// How one warp chooses the split of a node. Exact SAH over the bounds of all refs up to `exact_limit` refs; above, bins, the
// six tight cuts around the refs, and, up to `shared_limit` refs, exact SAH inside the two bins around the best boundary.
// The tree depends on these limits, and on nothing else: not on who chooses, how wide a warp is, or in which order refs stand.
#pragma once

#include <cstdint>

#include "kdtree/bins.hpp"
#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/shared_node.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t exact_limit = 32;
inline constexpr std::uint32_t shared_limit = 1024;  // larger nodes are split by many warps, without refinement
inline constexpr std::uint32_t refine_limit = 96;    // refs with a bound between the planes around the best boundary

struct Interval {
  float lo, hi;
};

// A warp's fast memory for a choice.
struct ChooseScratch {
  Interval interval[3 * exact_limit];            // exact: [axis * n + i]; refinement: the refs with a bound inside
  std::uint32_t histogram[2 * histogram_words];  // the second half for a shared node's second child
};
static_assert(refine_limit <= 3 * exact_limit);

// Considers candidate c of m intervals on `axis`: a bound of interval c / 2. `left` and `right` more refs are on that side
// whatever the plane. A flat interval's two bounds are one plane: the second one is tried with flats on the right.
SIMT_INLINE void consider_bound(const Interval* interval, std::uint32_t m, std::uint32_t c, unsigned axis,
                                std::uint32_t left, std::uint32_t right, const SplitCost& cost, Split& best) {
  const Interval from = interval[c >> 1];
  const float p = (c & 1) ? from.hi : from.lo;
  std::uint32_t nl = left, nr = right;
  SIMT_UNROLLED_4
  for (std::uint32_t i = 0; i < m; ++i) {
    const Interval other = interval[i];
    nl += goes_left(other.lo, other.hi, p) ? 1 : 0;
    nr += goes_right(other.lo, other.hi, p) ? 1 : 0;
  }
  const bool flats_right = (c & 1) && from.lo == from.hi;
  // Counted apart: most scenes have few flat refs, and the loop above is the builder's hottest.
  if (flats_right) {
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < m; ++i) {
      const Interval other = interval[i];
      const std::uint32_t in_plane = other.lo == p && other.hi == p ? 1 : 0;
      nl -= in_plane;
      nr += in_plane;
    }
  }
  cost.consider(best, axis, p, nl, nr, flats_right);
}

// All refs' bounds as candidates. n <= exact_limit.
template <class Refs, class Warp>
SIMT_INLINE Split choose_exact(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners,
                               const SplitCost& cost) {
  const std::uint32_t n = task.n;
  for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
    const Box box = Refs::load(task.refs, n, i, task.box, corners).box;
    scratch.interval[i] = {box.lo.x, box.hi.x};
    scratch.interval[n + i] = {box.lo.y, box.hi.y};
    scratch.interval[2 * n + i] = {box.lo.z, box.hi.z};
  }
  warp.sync();
  Split best;
  // One loop over the candidates of all axes, so that few refs still keep all lanes busy.
  SIMT_ROLLED
  for (std::uint32_t c = warp.lane(); c < 6 * n; c += Warp::width) {
    const unsigned axis = c >= 4 * n ? 2 : c >= 2 * n ? 1 : 0;
    const std::uint32_t k = c - 2 * n * axis;
    consider_bound(scratch.interval + axis * n, n, k, axis, 0, 0, cost, best);
  }
  warp.sync();
  return best_of(warp, best);
}

// Refines the best bin boundary: exact SAH between its neighbours. The rest of the refs are constants there.
template <class Refs, class Warp>
SIMT_INLINE void refine(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners,
                        const SplitCost& cost, const Split& boundary, Split& best) {
  const unsigned axis = boundary.axis();
  const BinAxis bins = bin_axis(task.box, axis);
  const float p = boundary.position();
  const int b = bins.begin(p, bins.coarse(task.box.hi[axis]));
  const float above = bins.plane(b - 1), below = bins.plane(b + 1);
  std::uint32_t m = 0, left = 0, right = 0;
  warp.sync();
  for (std::uint32_t base = 0; base < task.n; base += Warp::width) {
    const std::uint32_t i = base + warp.lane();
    bool inside = false;
    Interval interval{0, 0};
    if (i < task.n) {
      const Box box = Refs::load(task.refs, task.n, i, task.box, corners).box;
      interval = {box.lo[axis], box.hi[axis]};
      inside = (interval.lo > above && interval.lo < below) || (interval.hi > above && interval.hi < below);
      left += !inside && interval.lo <= above ? 1 : 0;
      right += !inside && interval.hi >= below ? 1 : 0;
    }
    const std::uint32_t inside_lanes = warp.ballot(inside);
    const std::uint32_t at = m + simt::popcount(inside_lanes & ((1u << warp.lane()) - 1u));
    if (inside && at < refine_limit) scratch.interval[at] = interval;
    m += simt::popcount(inside_lanes);
  }
  left = warp.reduce_add(left);
  right = warp.reduce_add(right);
  warp.sync();
  if (m > refine_limit) return;
  SIMT_ROLLED
  for (std::uint32_t c = warp.lane(); c < 2 * m; c += Warp::width) {
    const float candidate = (c & 1) ? scratch.interval[c >> 1].hi : scratch.interval[c >> 1].lo;
    if (candidate > above && candidate < below) {
      consider_bound(scratch.interval, m, c, axis, left, right, cost, best);
    }
  }
}

// n > exact_limit, by one warp.
template <class Refs, class Warp>
SIMT_INLINE Split choose_binned(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners,
                                const SplitCost& cost) {
  BinCounts<Warp> counts;
  Box tight;
  // Blocks keep the 16-bit halves of the histogram words from overflowing.
  constexpr std::uint32_t block = 32768;
  SIMT_ROLLED
  for (std::uint32_t first = 0; first < task.n; first += block) {
    const std::uint32_t last = task.n - first < block ? task.n : first + block;
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) scratch.histogram[k] = 0;
    warp.sync();
    SIMT_ROLLED
    for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
      const Box box = Refs::load(task.refs, task.n, i, task.box, corners).box;
      tight.grow(box);
      count_in_bins(warp, scratch.histogram, task.box, box);
    }
    warp.sync();
    constexpr unsigned per_lane = BinCounts<Warp>::per_lane;
    SIMT_UNROLLED
    for (unsigned axis = 0; axis < 3; ++axis) {
      for (unsigned k = 0; k < per_lane; ++k) {
        const std::uint32_t word = scratch.histogram[axis * bin_count + warp.lane() * per_lane + k];
        counts.begins[axis * per_lane + k] += word & 0xffffu;
        counts.ends[axis * per_lane + k] += word >> 16;
      }
    }
    warp.sync();
  }
  Split mine;
  consider_bins(warp, counts, cost, task.box, task.n, mine);
  const Split boundary = best_of(warp, mine);
  Split best = boundary;
  const Box all{{simt::from_ordered_key(warp.reduce_min(simt::ordered_key(tight.lo.x))),
                 simt::from_ordered_key(warp.reduce_min(simt::ordered_key(tight.lo.y))),
                 simt::from_ordered_key(warp.reduce_min(simt::ordered_key(tight.lo.z)))},
                {simt::from_ordered_key(warp.reduce_max(simt::ordered_key(tight.hi.x))),
                 simt::from_ordered_key(warp.reduce_max(simt::ordered_key(tight.hi.y))),
                 simt::from_ordered_key(warp.reduce_max(simt::ordered_key(tight.hi.z)))}};
  consider_tight_cuts(warp, all, cost, task.n, best);
  if (task.n <= shared_limit && boundary.cost != Split{}.cost) {
    refine<Refs>(warp, scratch, task, corners, cost, boundary, best);
  }
  return best_of(warp, best);
}

// From a shared node's histogram and tight bounds, gathered by all warps.
template <class Warp>
SIMT_INLINE Split choose_shared(Warp& warp, const SharedNode& node, const SplitCost& cost) {
  BinCounts<Warp> counts;
  constexpr unsigned per_lane = BinCounts<Warp>::per_lane;
  SIMT_UNROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    for (unsigned k = 0; k < per_lane; ++k) {
      const std::uint64_t word = node.histogram[axis * bin_count + warp.lane() * per_lane + k];
      counts.begins[axis * per_lane + k] = static_cast<std::uint32_t>(word);
      counts.ends[axis * per_lane + k] = static_cast<std::uint32_t>(word >> 32);
    }
  }
  Split mine;
  consider_bins(warp, counts, cost, node.task.box, node.task.n, mine);
  consider_tight_cuts(warp, node.tight_box(), cost, node.task.n, mine);
  return best_of(warp, mine);
}

}  // namespace heapwood::kdtree
