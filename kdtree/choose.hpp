// SPDX-License-Identifier: MIT
// How one warp chooses the split of a node. Exact SAH over the bounds of all refs up to `exact_limit` refs; above, bins, the
// six tight cuts around the refs, and, up to `shared_limit` refs, exact SAH inside the two bins around the best boundary.
// The tree depends on these limits, and on nothing else: not on who chooses, how wide a warp is, or in which order refs stand.
#pragma once

#include <cstdint>
#include <limits>

#include "kdtree/bins.hpp"
#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/serial_choice.hpp"
#include "kdtree/serial_refs.hpp"
#include "kdtree/shared_node.hpp"
#include "simt/arithmetic.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t exact_limit = 32;
inline constexpr std::uint32_t shared_limit = 1024;  // larger nodes are not refined, and always split by many warps
inline constexpr std::uint32_t refine_limit = 96;    // refs with a bound between the planes around the best boundary

struct Interval {
  float lo, hi;
};

// A warp's fast memory for a choice. Sums are done with when intervals come.
struct ChooseScratch {
  union {
    Interval interval[3 * exact_limit];  // exact: [axis * n + i]; refinement: the refs with a bound inside
    BinCounts sums;
  };
  std::uint32_t histogram[2 * histogram_words];  // the second half for a shared node's second child
  CountingAxis axes[2 * 3];                      // likewise
  std::uint32_t bounds[6];                       // of all refs: SharedNode::tight
};
static_assert(refine_limit <= 3 * exact_limit);

// Planes to be tried one by one: the bounds of m intervals on each of `axes` axes from `axis` on. `left` and `right` more refs
// are on that side whatever the plane; only planes strictly between `above` and `below` count. An axis' intervals are followed
// by no_interval up to a multiple of four.
struct Candidates {
  std::uint32_t m = 0;
  unsigned axis = 0, axes = 3;
  std::uint32_t left = 0, right = 0;
  float above = -3.4e38f, below = 3.4e38f;
  bool flats = false;  // some interval lies in a plane
};
inline constexpr Interval no_interval{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
SIMT_INLINE std::uint32_t in_fours(std::uint32_t m) { return (m + 3) & ~3u; }

// Considers the candidates. There is one copy of this loop, the builder's hottest.
template <class Warp>
SIMT_INLINE void consider_candidates(Warp& warp, const ChooseScratch& scratch, const Candidates& candidates,
                                     const SplitCost& cost, Split& best) {
  const std::uint32_t m = candidates.m;
  // One loop over all axes, so that few refs still keep all lanes busy.
  SIMT_ROLLED
  for (std::uint32_t c = warp.lane(); c < 2 * candidates.axes * m; c += Warp::width) {
    const unsigned step = c >= 4 * m ? 2 : c >= 2 * m ? 1 : 0;
    const Interval* const interval = scratch.interval + step * in_fours(m);
    const std::uint32_t k = c - 2 * m * step;
    const Interval from = interval[k >> 1];
    const float p = (k & 1) ? from.hi : from.lo;
    if (!(p > candidates.above && p < candidates.below)) continue;
    std::uint32_t begin_below = 0, end_above = 0;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < m; i += 4) {
      SIMT_UNROLLED
      for (std::uint32_t j = 0; j < 4; ++j) {
        const Interval other = interval[i + j];
        begin_below += simt::counted_less(other.lo, p);
        end_above += simt::counted_less(p, other.hi);
      }
    }
    // Those in the plane go left. A flat interval's two bounds are one plane: at the second they go right.
    std::uint32_t in_plane = 0;
    if (candidates.flats) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < m; ++i) {
        const Interval other = interval[i];
        in_plane += static_cast<std::uint32_t>(int(other.lo == p) & int(other.hi == p));
      }
    }
    const bool flats_right = (k & 1) && from.lo == from.hi;
    cost.consider(best, candidates.axis + step, p, candidates.left + begin_below + (flats_right ? 0 : in_plane),
                  candidates.right + end_above + (flats_right ? in_plane : 0), flats_right);
  }
}

// All refs' bounds become candidates. n <= exact_limit.
template <class Refs, class Warp>
SIMT_INLINE Candidates gather_all(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                  const PackedCorners* corners) {
  const std::uint32_t n = task.n, stride = in_fours(n);
  bool flat = false;
  SIMT_ROLLED
  for (std::uint32_t i = warp.lane(); i < stride; i += Warp::width) {
    Interval x = no_interval, y = no_interval, z = no_interval;
    if (i < n) {
      const Box box = Refs::load(task.refs, n, i, task.box, corners).box;
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

// Largest b with plane(b) <= p, as BinAxis::begin(), but, where a warp has a lane for each bin, in five instructions.
template <class Warp>
SIMT_INLINE int bin_of_plane(Warp& warp, const BinAxis& bins, float p, float hi) {
  if constexpr (Warp::width == bin_count) {
    return static_cast<int>(simt::popcount(warp.ballot(bins.plane(static_cast<int>(warp.lane())) <= p))) - 1;
  } else {
    return bins.begin(p, bins.coarse(hi));
  }
}

// The bounds between the neighbours of the best bin boundary become candidates; the rest of the refs are constants there.
template <class Refs, class Warp>
SIMT_INLINE Candidates gather_near(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                   const PackedCorners* corners, const Split& boundary) {
  const unsigned axis = boundary.axis();
  const BinAxis bins = bin_axis(task.box, axis);
  const float p = boundary.position();
  const int b = bin_of_plane(warp, bins, p, task.box.hi[axis]);
  Candidates near{.m = 0, .axis = axis, .axes = 1, .above = bins.plane(b - 1), .below = bins.plane(b + 1)};
  // Of clipped refs the next round's bounds are on their way while this one's are looked at; of others they would have to be computed.
  const auto load = [&](std::uint32_t i) {
    Interval interval{0, 0};
    if (i < task.n) {
      if constexpr (Refs::stores_bounds) {
        Refs::load_bounds(task.refs, task.n, i, axis, interval.lo, interval.hi);
      } else {
        const Box box = Refs::load(task.refs, task.n, i, task.box, corners).box;
        interval = {box.lo[axis], box.hi[axis]};
      }
    }
    return interval;
  };
  Interval next{0, 0};
  if constexpr (Refs::stores_bounds) next = load(warp.lane());
  warp.sync();
  SIMT_ROLLED
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
    const std::uint32_t at = near.m + simt::popcount(inside_lanes & ((1u << warp.lane()) - 1u));
    if (inside && at < refine_limit) scratch.interval[at] = interval;
    near.m += simt::popcount(inside_lanes);
    near.flats = near.flats || (inside && interval.lo == interval.hi);
  }
  near.flats = warp.any(near.flats);
  near.left = warp.reduce_add(near.left);
  near.right = warp.reduce_add(near.right);
  warp.sync();
  if (near.m > refine_limit) near.m = 0;
  SIMT_ROLLED
  for (std::uint32_t i = near.m + warp.lane(); i < in_fours(near.m); i += Warp::width)
    scratch.interval[i] = no_interval;
  warp.sync();
  return near;
}

// Bins the refs into the scratch's sums, and their bounds into its bounds. n > exact_limit, by one warp.
template <class Refs, class Warp>
SIMT_INLINE void gather_bins(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners) {
  Box tight;
  BinCounts& sums = scratch.sums;
  SIMT_ROLLED
  for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
    scratch.histogram[k] = 0;
    sums.begins[k] = sums.ends[k] = 0;
  }
  set_counting_axes(warp, scratch.axes, task.box);
  warp.sync();
  // Blocks keep the 16-bit halves of the histogram words from overflowing.
  constexpr std::uint32_t block = 32768;
  SIMT_ROLLED
  for (std::uint32_t first = 0; first < task.n; first += block) {
    const std::uint32_t last = task.n - first < block ? task.n : first + block;
    // As in gather_near().
    const auto load = [&](std::uint32_t i) { return Refs::load(task.refs, task.n, i, task.box, corners).box; };
    Box next;
    if (Refs::stores_bounds && first + warp.lane() < last) next = load(first + warp.lane());
    SIMT_ROLLED
    for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
      const Box box = Refs::stores_bounds ? next : load(i);
      if (Refs::stores_bounds && i + Warp::width < last) next = load(i + Warp::width);
      tight.grow(box);
      count_in_bins(warp, scratch.histogram, scratch.axes, box);
    }
    warp.sync();
    SIMT_ROLLED
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
      sums.begins[k] += scratch.histogram[k] & 0xffffu;
      sums.ends[k] += scratch.histogram[k] >> 16;
      scratch.histogram[k] = 0;
    }
    warp.sync();
  }
  // Six maxima, round by round in one place. The key of -x is the complement of that of x.
  Vec3 next = Vec3{-tight.lo.x, -tight.lo.y, -tight.lo.z}, later = tight.hi;
  SIMT_ROLLED
  for (unsigned k = 0; k < 6; ++k) {
    const std::uint32_t most = warp.reduce_max(simt::ordered_key(next.x));
    if (warp.lane() == 0) scratch.bounds[k] = most;
    const float done = next.x;
    next = {next.y, next.z, later.x};
    later = {later.y, later.z, done};
  }
  warp.sync();
}

// The same from what all warps have gathered in a shared node.
template <class Warp>
SIMT_INLINE void gather_bins(Warp& warp, ChooseScratch& scratch, const SharedNode& node) {
  constexpr unsigned each = histogram_words / Warp::width;
  static_assert(histogram_words % Warp::width == 0);
  std::uint64_t words[each];  // all are on their way before the first is waited for
  SIMT_UNROLLED
  for (unsigned i = 0; i < each; ++i) words[i] = node.histogram[i * Warp::width + warp.lane()];
  for (unsigned k = warp.lane(); k < 6; k += Warp::width) scratch.bounds[k] = node.tight[k];
  SIMT_UNROLLED
  for (unsigned i = 0; i < each; ++i) {
    scratch.sums.begins[i * Warp::width + warp.lane()] = static_cast<std::uint32_t>(words[i]);
    scratch.sums.ends[i * Warp::width + warp.lane()] = static_cast<std::uint32_t>(words[i] >> 32);
  }
  warp.sync();
}

// ---- one thread: the same choice with vectors (serial_choice.hpp) ---------------------------------------------------------

template <class Refs>
Split choose_exact_serial(const NodeTask& task, const PackedCorners* corners, const SplitCost& cost) {
  if constexpr (Refs::stores_bounds) {
    // From here on a ref will be clipped about once, and most triangles are met for the first time in a while.
    constexpr std::uint32_t first_visit = exact_limit / 2;
    for (std::uint32_t i = 0; task.n > first_visit && i < task.n; ++i)
      __builtin_prefetch(corners + Refs::load_id(task.refs, i));
    return choose_exact(task.refs, task.n, cost);
  }
  SerialIntervals axes[3];
  for (std::uint32_t i = 0; i < task.n; ++i) {
    const Box box = Refs::load(task.refs, task.n, i, task.box, corners).box;
    const auto put = [&](SerialIntervals& on, float lo, float hi) {
      on.bounds[i] = lo;
      on.bounds[task.n + i] = hi;
      on.flats += lo == hi ? 1 : 0;
    };
    put(axes[0], box.lo.x, box.hi.x);
    put(axes[1], box.lo.y, box.hi.y);
    put(axes[2], box.lo.z, box.hi.z);
  }
  Split best;
  consider_intervals(axes, task.n, 0, 3, {}, cost, best);
  return best;
}

// The bounds between the neighbours of the best bin boundary, as gather_near().
template <class Refs>
void refine_serial(const NodeTask& task, const PackedCorners* corners, const SplitCost& cost, const Split& boundary,
                   Split& best) {
  const unsigned axis = boundary.axis();
  const BinAxis bins = bin_axis(task.box, axis);
  const int b = bins.begin(boundary.position(), bins.coarse(task.box.hi[axis]));
  SerialRange range{.above = bins.plane(b - 1), .below = bins.plane(b + 1)};
  SerialIntervals near;
  static_assert(SerialIntervals::most >= refine_limit);
  float upper[refine_limit + 1];  // the last one, and what is behind the lower bounds, takes what is too much
  std::uint32_t m = 0;
  for (std::uint32_t i = 0; i < task.n; ++i) {
    const Box box = Refs::load(task.refs, task.n, i, task.box, corners).box;
    const float lo = box.lo[axis], hi = box.hi[axis];
    const bool inside =
        bool((int(lo > range.above) & int(lo < range.below)) | (int(hi > range.above) & int(hi < range.below)));
    const std::uint32_t at = m < refine_limit ? m : refine_limit;
    near.bounds[at] = lo;
    upper[at] = hi;
    m += inside ? 1 : 0;
    near.flats += inside && lo == hi ? 1 : 0;
    range.left += !inside && lo <= range.above ? 1 : 0;
    range.right += !inside && hi >= range.below ? 1 : 0;
  }
  if (m > refine_limit) return;
  for (std::uint32_t i = 0; i < m; ++i) near.bounds[m + i] = upper[i];
  consider_intervals(&near, m, axis, 1, range, cost, best);
}

template <class Refs, class Warp>
void gather_bins_serial(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners) {
  if constexpr (Refs::stores_bounds) {
    const Box tight = bin_refs(task.refs, task.n, 0, task.n, task.box, scratch.sums);
    for (unsigned axis = 0; axis < 3; ++axis) {
      scratch.bounds[axis] = ~simt::ordered_key(tight.lo[axis]);
      scratch.bounds[3 + axis] = simt::ordered_key(tight.hi[axis]);
    }
  } else {
    gather_bins<Refs>(warp, scratch, task, corners);
  }
}

template <class Refs, class Warp>
Split choose_serial(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners,
                    const SplitCost& cost, const SharedNode* shared) {
  if (task.n <= exact_limit) return choose_exact_serial<Refs>(task, corners, cost);
  if (shared != nullptr) {
    gather_bins(warp, scratch, *shared);
  } else {
    gather_bins_serial<Refs>(warp, scratch, task, corners);
  }
  Split best;
  consider_bins(scratch.sums, cost, task.box, task.n, best);
  const Split boundary = best;
  if (task.n <= shared_limit && boundary.cost != Split{}.cost) refine_serial<Refs>(task, corners, cost, boundary, best);
  consider_tight_cuts(warp, scratch.bounds, cost, task.n, best);
  return best;
}

// The cheapest split of a node that has area. `shared` is the node's gathered counts, or nullptr: then this warp counts.
template <class Refs, class Warp>
SIMT_INLINE Split choose(Warp& warp, ChooseScratch& scratch, const NodeTask& task, const PackedCorners* corners,
                         const SplitCost& cost, const SharedNode* shared) {
  if constexpr (Warp::width == 1) return choose_serial<Refs>(warp, scratch, task, corners, cost, shared);
  Split best;
  Candidates candidates;
  if (task.n <= exact_limit) {
    candidates = gather_all<Refs>(warp, scratch, task, corners);
  } else {
    if (shared != nullptr) {
      gather_bins(warp, scratch, *shared);
    } else {
      gather_bins<Refs>(warp, scratch, task, corners);
    }
    consider_bins(warp, scratch.sums, cost, task.box, task.n, best);
    if (task.n <= shared_limit) {
      const Split boundary = best_of(warp, best);
      if (boundary.cost != Split{}.cost) candidates = gather_near<Refs>(warp, scratch, task, corners, boundary);
    }
    consider_tight_cuts(warp, scratch.bounds, cost, task.n, best);
  }
  consider_candidates(warp, scratch, candidates, cost, best);
  warp.sync();
  return best_of(warp, best);
}

}  // namespace heapwood::kdtree
