// SPDX-License-Identifier: MIT
// The choice of a node's split by one warp. Up to `exact_limit` refs: exact SAH over the bounds of
// all refs. Above: bins, the six tight cuts around the refs and, up to `shared_limit` refs, exact
// SAH within the two bins next to the best boundary. The tree depends on these limits
// (candidates.hpp) only, not on which warp chooses, how wide a warp is or in which order the refs
// are stored.
#pragma once

#include <cstdint>

#include "kdtree/build/shared_node.hpp"
#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "kdtree/split/bins.hpp"
#include "kdtree/split/candidates.hpp"
#include "kdtree/split/simd.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// One warp bins the refs into scratch.sums and their bounds into scratch.bounds. n > exact_limit.
template <class Refs, class Warp>
HEAPWOOD_INLINE void gather_bins(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                 const PackedCorners* corners) {
  if constexpr (Warp::width == 1 && Refs::stores_bounds) {
    const Box all = bin_refs(task.refs, 0, task.n, task.box, scratch.sums);
    for (unsigned axis = 0; axis < 3; ++axis) {
      scratch.bounds[axis] = ~simt::ordered_key(all.lo[axis]);
      scratch.bounds[3 + axis] = simt::ordered_key(all.hi[axis]);
    }
    return;
  }
  Box tight;
  BinCounts& sums = scratch.sums;
  HEAPWOOD_ROLLED
  for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
    scratch.histogram[k] = 0;
    sums.begins[k] = sums.ends[k] = 0;
  }
  set_counting_axes(warp, scratch.axes, task.box);
  warp.sync();
  // In blocks, so that the 16-bit halves of the histogram's words do not overflow.
  constexpr std::uint32_t block = 32768;
  HEAPWOOD_ROLLED
  for (std::uint32_t first = 0; first < task.n; first += block) {
    const std::uint32_t last = task.n - first < block ? task.n : first + block;
    // For clipped refs the loads of the next round are in flight while this round is processed.
    const auto load = [&](std::uint32_t i) {
      return Refs::load(task.refs, i, task.box, corners).box;
    };
    Box next;
    if (Refs::stores_bounds && first + warp.lane() < last) next = load(first + warp.lane());
    HEAPWOOD_ROLLED
    for (std::uint32_t base = first; base < last; base += Warp::width) {
      const std::uint32_t i = base + warp.lane();
      const bool counts = i < last;
      const Box box = Refs::stores_bounds ? next : counts ? load(i) : Box{};
      if (Refs::stores_bounds && i + Warp::width < last) next = load(i + Warp::width);
      tight.grow(box);  // a lane without a ref adds an empty box, or its last ref again
      count_in_bins(warp, scratch.histogram, scratch.axes, box, counts);
    }
    warp.sync();
    HEAPWOOD_ROLLED
    for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width) {
      sums.begins[k] += scratch.histogram[k] & 0xffffu;
      sums.ends[k] += scratch.histogram[k] >> 16;
      scratch.histogram[k] = 0;
    }
    warp.sync();
  }
  // Finds six maxima in one loop. The ordered key of -x is the complement of the key of x.
  Vec3 next = Vec3{-tight.lo.x, -tight.lo.y, -tight.lo.z}, later = tight.hi;
  HEAPWOOD_ROLLED
  for (unsigned k = 0; k < 6; ++k) {
    const std::uint32_t highest = warp.reduce_max(simt::ordered_key(next.x));
    if (warp.lane() == 0) scratch.bounds[k] = highest;
    const float done = next.x;
    next = {next.y, next.z, later.x};
    later = {later.y, later.z, done};
  }
  warp.sync();
}

// Loads the sums and bounds that all warps have gathered in a shared node.
template <class Warp>
HEAPWOOD_INLINE void gather_bins(Warp& warp, ChooseScratch& scratch, const SharedNode& node) {
  constexpr unsigned each = histogram_words / Warp::width;
  static_assert(histogram_words % Warp::width == 0);
  std::uint64_t words[each];  // all loads are issued before the first result is used
  HEAPWOOD_UNROLLED
  for (unsigned i = 0; i < each; ++i) words[i] = node.histogram[i * Warp::width + warp.lane()];
  for (unsigned k = warp.lane(); k < 6; k += Warp::width) scratch.bounds[k] = node.tight[k];
  HEAPWOOD_UNROLLED
  for (unsigned i = 0; i < each; ++i) {
    scratch.sums.begins[i * Warp::width + warp.lane()] = static_cast<std::uint32_t>(words[i]);
    scratch.sums.ends[i * Warp::width + warp.lane()] = static_cast<std::uint32_t>(words[i] >> 32);
  }
  warp.sync();
}

// Chooses the cheapest split of a node whose box has area. `shared` holds the counts that all warps
// have gathered; if it is nullptr, this warp counts.
template <class Refs, class Warp>
HEAPWOOD_INLINE Split choose(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                             const PackedCorners* corners, const SplitCost& cost,
                             const SharedNode* shared) {
  Split best;
  Candidates candidates;
  if (task.n <= exact_limit) {
    if constexpr (Warp::width == 1 && Refs::stores_bounds) {
      // In a node of this size each ref is clipped about once more, and most of the triangles have
      // not been read recently, so their corners are prefetched.
      for (std::uint32_t i = 0; task.n > exact_limit / 2 && i < task.n; ++i)
        __builtin_prefetch(corners + Refs::load_id(task.refs, i));
    }
    candidates = gather_all<Refs>(warp, scratch, task, corners);
  } else {
    if (shared != nullptr) {
      gather_bins(warp, scratch, *shared);
    } else {
      gather_bins<Refs>(warp, scratch, task, corners);
    }
    if constexpr (Warp::width == 1) {
      consider_bins(scratch.sums, cost, task.box, task.n, best);
    } else {
      consider_bins(warp, scratch.sums, cost, task.box, task.n, best);
    }
    if (task.n <= shared_limit) {
      const Split boundary = best_of(warp, best);
      if (boundary.cost != Split{}.cost)
        candidates = gather_near<Refs>(warp, scratch, task, corners, boundary);
    }
    consider_tight_cuts(warp, scratch.bounds, cost, task.n, best);
  }
  consider_candidates(warp, scratch, candidates, cost, best);
  warp.sync();
  return best_of(warp, best);
}

// Whether the node's allowance permits as many refs as the split makes.
HEAPWOOD_INLINE bool is_allowed(const Split& split, const NodeTask& task) {
  return static_cast<float>(split.nl() + split.nr()) <= task.allowance * static_cast<float>(task.n);
}

// A split, and what the children inherit.
struct ChosenSplit : Split {
  Inherited children;
};

// Returns the split of choose(), or none if the node's allowance forbids it.
template <class Refs, class Warp>
HEAPWOOD_INLINE ChosenSplit choose_within_limits(Warp& warp, ChooseScratch& scratch,
                                                 const NodeTask& task, const PackedCorners* corners,
                                                 const SplitCost& cost, const SharedNode* shared) {
  ChosenSplit split{choose<Refs>(warp, scratch, task, corners, cost, shared),
                    {task.path, task.allowance}};
  if (task.n > max_uncounted_refs) {
    if (!is_allowed(split, task)) split.cost = Split{}.cost;
    split.children = {task.path.with_poor_splits(0),
                      allowance_below(task.allowance, task.n, split.added(task.n))};
  }
  return split;
}

// In hair, cables and cones, often no single split of a large node costs less than a leaf, but
// several splits in sequence do. Such a node is split in its middle, up to max_poor_splits times in
// sequence; pbrt calls these "bad refines".
inline constexpr std::uint32_t min_poor_refs = 128;
inline constexpr unsigned max_poor_splits = 3;
static_assert(min_poor_refs >= max_uncounted_refs);  // so smaller nodes do not reset the count
HEAPWOOD_INLINE bool may_split_in_middle(const NodeTask& task, const SplitCost& cost) {
  return task.n > min_poor_refs && task.path.poor_splits() < max_poor_splits &&
         task.path.depth() < max_depth && cost.splittable();
}

// Returns the cheapest of three planes, one in the middle of each axis, with cost poor_cost, or no
// split. It may send every ref to both sides: the parts have smaller boxes, so that later splits
// may cut off empty space. Must be called right after choose() for this node: with more than
// shared_limit refs it reads the sums that choose() left in Scratch.
template <class Refs, class Warp>
HEAPWOOD_INLINE ChosenSplit choose_middle(Warp& warp, ChooseScratch& scratch, const NodeTask& task,
                                          const PackedCorners* corners, const SplitCost& cost) {
  constexpr int middle = bin_count / 2;
  Split best;
  HEAPWOOD_ROLLED
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(task.box, axis);
    if (!bins.usable()) continue;
    const float p = bins.plane(middle);
    std::uint32_t left = 0, right = 0;
    if (task.n > shared_limit) {
      for (unsigned b = warp.lane(); b < middle; b += Warp::width) {
        left += scratch.sums.begins[axis * bin_count + b];
        right += scratch.sums.ends[axis * bin_count + middle + b];
      }
    } else {
      for (std::uint32_t i = warp.lane(); i < task.n; i += Warp::width) {
        const Box box = Refs::load(task.refs, i, task.box, corners).box;
        left += goes_left(box.lo[axis], box.hi[axis], p) ? 1 : 0;
        right += goes_right(box.lo[axis], box.hi[axis], p) ? 1 : 0;
      }
    }
    left = warp.reduce_add(left);
    right = warp.reduce_add(right);
    cost.consider(best, axis, p, left, right);
  }
  if (!best.found() || !is_allowed(best, task)) return {};
  best.cost = Split::poor_cost;
  return {best,
          {task.path.with_poor_splits(task.path.poor_splits() + 1),
           allowance_below(task.allowance, task.n, best.added(task.n))}};
}

}  // namespace heapwood::kdtree
