// SPDX-License-Identifier: MIT
#include "kdtree/split/simd.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kdtree/split/candidates.hpp"
#include "simt/lanes.hpp"

namespace heapwood::kdtree {
namespace {

using simt::Floats8;
using simt::Ints8;

constexpr std::uint32_t lanes = 8;
constexpr int no_key = 0x7fffffff;

// The best candidate of each lane, in the order of Split::before.
struct LaneBest {
  Ints8 key = Ints8{} + no_key;  // bits of the cost
  Ints8 order{};                 // Split::axis_nl, biased so that signed comparisons order it
  Ints8 right{};                 // Split::flats_nr
  Floats8 plane{};

  // Considers one plane per lane if it lies between `above` and `below`, by the same operations in
  // the same order as SplitCost::consider. `flats`: 1 << 31 if refs in the plane go right, else 0.
  [[gnu::always_inline]] void consider(const SplitCost::Terms& t, const Floats8& p, const Ints8& nl,
                                       const Ints8& nr, const Ints8& flats, float above,
                                       float below) {
    const Floats8 left = (p - t.lo) * t.scale * t.side + t.face;
    const Floats8 right_area = (t.hi - p) * t.scale * t.side + t.face;
    Floats8 cost = t.costs.traversal + t.costs.intersection *
                                           (left * __builtin_convertvector(nl, Floats8) +
                                            right_area * __builtin_convertvector(nr, Floats8)) *
                                           t.inverse_area;
    const Ints8 one_sided = (nl == 0) | (nr == 0);
    cost = one_sided ? cost * (1.0f - t.costs.empty_bonus) : cost;
    cost = cost +
           t.costs.duplicate * __builtin_convertvector(nl + nr - static_cast<int>(t.n), Floats8);
    Ints8 bits;
    std::memcpy(&bits, &cost, sizeof bits);
    // A negative cost is not valid: its bits would order after all others.
    const Ints8 valid = (p > std::max(above, t.lo)) & (p < std::min(below, t.hi)) & (bits >= 0);
    const Ints8 k = valid ? bits : no_key;
    update(k, nl + static_cast<int>(t.axis << 30 ^ 0x80000000u), nr | flats, p);
  }

  [[gnu::always_inline]] void update(const Ints8& k, const Ints8& o, const Ints8& r,
                                     const Floats8& p) {
    const Ints8 better = (k < key) | ((k == key) & ((o < order) | ((o == order) & (p < plane))));
    key = better ? k : key;
    order = better ? o : order;
    right = better ? r : right;
    plane = better ? p : plane;
  }

  // Updates `best` with the best of all lanes.
  void finish(Split& best) const {
    for (std::uint32_t k = 0; k < lanes; ++k) {
      // Infinity is the greatest cost; greater bit patterns are NaNs or no_key.
      if (key[k] > std::bit_cast<int>(std::numeric_limits<float>::infinity())) continue;
      const Split split{static_cast<std::uint32_t>(key[k]),
                        static_cast<std::uint32_t>(order[k]) ^ 0x80000000u,
                        simt::ordered_key(plane[k]), static_cast<std::uint32_t>(right[k])};
      if (split.before(best)) best = split;
    }
  }
};

// Considers the planes at `blocks` vectors of bounds, starting with bound `first`, and counts the
// refs on either side of each. With `flats`, the plane at the upper bound of a flat ref sends the
// refs that lie in it to the right.
template <unsigned blocks, bool flats>
[[gnu::always_inline]] inline void consider_planes(const float* bounds, std::uint32_t first,
                                                   const Candidates& candidates,
                                                   const SplitCost::Terms& terms, LaneBest& best) {
  Floats8 p[blocks];
  // refs on the left; refs that end at p or before; refs that begin before p
  Ints8 left[blocks], ended[blocks], begun[blocks];
#pragma GCC unroll 2
  for (unsigned b = 0; b < blocks; ++b) {
    std::memcpy(&p[b], bounds + first + b * lanes, sizeof p[b]);
    left[b] = ended[b] = begun[b] = Ints8{};
  }
  for (std::uint32_t i = 0; i < 2 * candidates.m; i += 2) {
#pragma GCC unroll 2
    for (unsigned b = 0; b < blocks; ++b) {
      const Ints8 ends = p[b] >= bounds[i + 1], begins = p[b] > bounds[i];
      ended[b] -= ends;
      left[b] -= ends | begins;
      if constexpr (flats) begun[b] -= begins;
    }
  }
#pragma GCC unroll 2
  for (unsigned b = 0; b < blocks; ++b) {
    Ints8 to_right{};
    if constexpr (flats) {
      // The refs that lie in the plane are those on its left that do not begin before it.
      const Floats8 lower = __builtin_shufflevector(p[b], p[b], 0, 0, 2, 2, 4, 4, 6, 6);
      const Ints8 upper_lanes{0, -1, 0, -1, 0, -1, 0, -1};
      const Ints8 flat = (p[b] == lower) & upper_lanes, in_plane = left[b] - begun[b];
      left[b] = flat ? begun[b] : left[b];
      ended[b] = flat ? ended[b] - in_plane : ended[b];
      to_right = flat & static_cast<int>(0x80000000u);
    }
    best.consider(terms, p[b], static_cast<int>(candidates.left) + left[b],
                  static_cast<int>(candidates.right + candidates.m) - ended[b], to_right,
                  candidates.above, candidates.below);
  }
}

// Considers all planes of one axis, two vectors at a time: each bound is loaded once for both.
// `count`: number of floats, a multiple of a vector's.
template <bool flats>
[[gnu::always_inline]] inline void consider_axis(const float* bounds, std::uint32_t count,
                                                 const Candidates& candidates,
                                                 const SplitCost::Terms& terms, LaneBest& best) {
  std::uint32_t first = 0;
  for (; first + lanes < count; first += 2 * lanes)
    consider_planes<2, flats>(bounds, first, candidates, terms, best);
  if (first < count) consider_planes<1, flats>(bounds, first, candidates, terms, best);
}

}  // namespace

HEAPWOOD_CLONED
void consider_candidates_simd(const Interval* intervals, const Candidates& candidates,
                              const SplitCost& cost, Split& best) {
  LaneBest found;
  const std::uint32_t stride = in_fours(candidates.m);
  for (unsigned k = 0; k < candidates.axes; ++k) {
    const auto* const bounds = reinterpret_cast<const float*>(intervals + k * stride);
    const SplitCost::Terms terms = cost.terms(candidates.axis + k);
    if (candidates.flats) {
      consider_axis<true>(bounds, 2 * stride, candidates, terms, found);
    } else {
      consider_axis<false>(bounds, 2 * stride, candidates, terms, found);
    }
  }
  found.finish(best);
}

HEAPWOOD_CLONED
void consider_bins(const BinCounts& counts, const SplitCost& cost, const Box& node, std::uint32_t n,
                   Split& best) {
  const Ints8 first_lanes{1, 2, 3, 4, 5, 6, 7, 8};
  LaneBest found;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const BinAxis bins = bin_axis(node, axis);
    if (!bins.usable()) continue;
    const SplitCost::Terms terms = cost.terms(axis);
    alignas(Ints8) int left[bin_count], right[bin_count];
    int begun = 0, ended = 0;
    for (unsigned b = 0; b < bin_count; ++b) {
      begun += static_cast<int>(counts.begins[axis * bin_count + b]);
      ended += static_cast<int>(counts.ends[axis * bin_count + b]);
      left[b] = begun;
      right[b] = static_cast<int>(n) - ended;
    }
    for (unsigned b = 0; b < bin_count; b += lanes) {
      // The plane after the last bin is no candidate: it is the box's end, up to an ulp.
      Floats8 p = bins.lo +
                  bins.width * __builtin_convertvector(first_lanes + static_cast<int>(b), Floats8);
      if (b + lanes == bin_count) p[lanes - 1] = std::numeric_limits<float>::infinity();
      Ints8 nl, nr;
      std::memcpy(&nl, left + b, sizeof nl);
      std::memcpy(&nr, right + b, sizeof nr);
      found.consider(terms, p, nl, nr, Ints8{}, -3.4e38f, std::numeric_limits<float>::infinity());
    }
  }
  found.finish(best);
}

}  // namespace heapwood::kdtree
