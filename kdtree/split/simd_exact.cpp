// SPDX-License-Identifier: MIT
// choose_exact() of simd.hpp: the cheapest split at the bounds of a few clipped refs.
//
// The bounds of a ref are the lanes {lo.xyz, -, -hi.xyz, -} of one vector. In this mirrored form an
// upper bound is a lower one, and one rule covers all planes: a ref begins at its own plane and
// lies behind it. The vectors are sorted lane by lane (Batcher 1968), so that k refs begin in front
// of the k-th plane. The refs that extend beyond the plane are counted by comparing with the same
// vectors in reverse: {hi.xyz, -, -lo.xyz, -}.
// - Of equal planes the first one has the correct k. The others' k is too large, so they cost no
//   less.
// - Refs that lie in a plane count in front of it: on the left of a lower bound, on the right of an
//   upper one. Together these are the candidates of the warps' code, with both sides if refs lie in
//   the plane.
// - Of two planes on an axis the one further left has no more refs on its left. The order of Split,
//   (cost, axis, left refs, plane), is therefore (cost, axis, plane), and of the two candidates in
//   one plane the one with flat refs on the right comes first.
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "kdtree/split/simd.hpp"
#include "simt/lanes.hpp"

namespace heapwood::kdtree {
namespace {

using simt::Floats4;
using simt::Floats8;
using simt::Ints4;
using simt::Ints8;

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float beyond = std::numeric_limits<float>::max();  // padding: no plane lies there

// ---- sorting ------------------------------------------------------------------------------------

// Batcher's odd-even merge sort of n: calls f(a, b) for each pair to be put in order.
template <class F>
constexpr void for_each_exchange(unsigned n, F f) {
  for (unsigned p = 1; p < n; p *= 2) {
    for (unsigned k = p; k >= 1; k /= 2) {
      for (unsigned j = k % p; j + k < n; j += 2 * k) {
        for (unsigned i = j; i < j + k && i + k < n; ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) f(i, i + k);
        }
      }
    }
  }
}
template <unsigned n>
constexpr unsigned exchange_count = [] {
  unsigned count = 0;
  for_each_exchange(n, [&](unsigned, unsigned) { ++count; });
  return count;
}();
struct Exchange {
  unsigned a, b;
};
template <unsigned n>
constexpr std::array<Exchange, exchange_count<n>> exchanges = [] {
  std::array<Exchange, exchange_count<n>> all{};
  unsigned count = 0;
  for_each_exchange(n, [&](unsigned a, unsigned b) { all[count++] = {a, b}; });
  return all;
}();

[[gnu::always_inline]] inline void put_in_order(Floats8& a, Floats8& b) {
  const Floats8 lowest = a < b ? a : b;
  b = a > b ? a : b;
  a = lowest;
}
// Up to 16 vectors are sorted without a loop. For 32 that would double the compile time of this
// file, and save a quarter of the time of nodes with 17 to 32 refs.
template <unsigned n>
[[gnu::always_inline]] inline void sort(Floats8* v) {
  if constexpr (n <= 16) {
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      (put_in_order(v[exchanges<n>[i].a], v[exchanges<n>[i].b]), ...);
    }
    (std::make_index_sequence<exchange_count<n>>{});
  } else {
    for (const Exchange& e : exchanges<n>) put_in_order(v[e.a], v[e.b]);
  }
}

// ---- costs --------------------------------------------------------------------------------------

// The inputs of costs (SplitCost::Terms), in the lanes of the planes.
struct Terms8 {
  Floats8 from, to;  // the node's box: begin and end
  Floats8 side, face, scale, traversal, intersection, inverse_area, one_sided, duplicate, n;

  [[gnu::always_inline]] Terms8(const SplitCost::Terms& x, const SplitCost::Terms& y,
                                const SplitCost::Terms& z)
      : from{x.lo, y.lo, z.lo, beyond, -x.hi, -y.hi, -z.hi, beyond},
        to{x.hi, y.hi, z.hi, beyond, -x.lo, -y.lo, -z.lo, beyond},
        side{x.side, y.side, z.side, 0, x.side, y.side, z.side, 0},
        face{x.face, y.face, z.face, 0, x.face, y.face, z.face, 0},
        scale(Floats8{} + x.scale),
        traversal(Floats8{} + x.costs.traversal),
        intersection(Floats8{} + x.costs.intersection),
        inverse_area(Floats8{} + x.inverse_area),
        one_sided(Floats8{} + (1.0f - x.costs.empty_bonus)),
        duplicate(Floats8{} + x.costs.duplicate),
        n(Floats8{} + static_cast<float>(x.n)) {}
};

// The best plane of each lane. Of equal costs the plane further left wins: the first one, or in
// mirrored lanes the last one. A cost is better if it is below `limit`, which in mirrored lanes is
// therefore the next float above the best cost.
struct LaneBest8 {
  static constexpr Ints8 mirrored{0, 0, 0, 0, 1, 1, 1, 1};
  Floats8 limit = Floats8{} + infinite;
  Floats8 plane{};

  // Considers one plane per lane with the given numbers of refs in front of it and behind it.
  // Performs the same operations as SplitCost::consider.
  [[gnu::always_inline]] void consider(const Terms8& t, const Floats8& p, const Floats8& in_front,
                                       const Floats8& behind) {
    const Floats8 front_area = (p - t.from) * t.scale * t.side + t.face;
    const Floats8 back_area = (t.to - p) * t.scale * t.side + t.face;
    Floats8 cost = t.traversal +
                   t.intersection * (front_area * in_front + back_area * behind) * t.inverse_area;
    cost = ((in_front == 0.0f) | (behind == 0.0f)) ? cost * t.one_sided : cost;
    cost = cost + t.duplicate * (behind + (in_front - t.n));
    const Ints8 better = (cost < limit) & (p > t.from) & (p < t.to);
    Ints8 bits;
    std::memcpy(&bits, &cost, sizeof bits);
    bits += mirrored;
    std::memcpy(&cost, &bits, sizeof cost);
    limit = better ? cost : limit;
    plane = better ? p : plane;
  }

  // The best of all lanes. Its refs are counted again.
  [[gnu::always_inline]] Split finish(const float* array, std::uint32_t n) const {
    Ints8 bits;
    std::memcpy(&bits, &limit, sizeof bits);
    bits -= mirrored;
    const Ints4 lower = __builtin_shufflevector(bits, bits, 0, 1, 2, 3);
    const Ints4 upper = __builtin_shufflevector(bits, bits, 4, 5, 6, 7);
    const Floats4 lower_plane = __builtin_shufflevector(plane, plane, 0, 1, 2, 3);
    const Floats4 upper_plane = -__builtin_shufflevector(plane, plane, 4, 5, 6, 7);
    const Ints4 is_upper = (upper < lower) | ((upper == lower) & (upper_plane <= lower_plane));
    const Ints4 costs = is_upper ? upper : lower;
    const Floats4 planes = is_upper ? upper_plane : lower_plane;
    unsigned axis = costs[1] < costs[0] ? 1 : 0;
    axis = costs[2] < costs[axis] ? 2 : axis;
    const float p = planes[axis];
    if (costs[axis] >= std::bit_cast<int>(infinite) - 1) return {};
    std::uint32_t left = 0, right = 0, in_plane = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto at = 4 * static_cast<std::ptrdiff_t>(i);
      const float lo = (array - at - 3)[axis], hi = (array + at)[axis];
      left += lo < p ? 1 : 0;
      right += hi > p ? 1 : 0;
      in_plane += (lo >= p ? 1 : 0) & (hi <= p ? 1 : 0);
    }
    const bool flats_right = is_upper[axis] != 0 && in_plane != 0;
    left += flats_right ? 0 : in_plane;
    right += flats_right ? in_plane : 0;
    return {static_cast<std::uint32_t>(costs[axis]), axis << 30 | left, simt::ordered_key(p),
            right | (flats_right ? 1u << 31 : 0)};
  }
};

// ---- counting -----------------------------------------------------------------------------------

// n <= capacity, which is a multiple of `planes_per_step`.
template <unsigned capacity>
[[gnu::always_inline]] inline Split choose_of(const float* array, std::uint32_t n,
                                              const Terms8& terms) {
  constexpr unsigned planes_per_step = 2;
  Floats8 plane[capacity], end[capacity], flat[capacity];
  Ints8 is_flat{};
  for (unsigned i = 0; i < n; ++i) {
    Floats4 lo, hi;
    const auto at = 4 * static_cast<std::ptrdiff_t>(i);
    std::memcpy(&lo, array - at - 3, sizeof lo);  // the unused fourth lane reads the next word
    std::memcpy(&hi, array + at, sizeof hi);
    hi = -hi;
    plane[i] = __builtin_shufflevector(lo, hi, 0, 1, 2, 3, 4, 5, 6, 7);
    end[i] = -__builtin_shufflevector(lo, hi, 4, 5, 6, 7, 0, 1, 2, 3);
    const Ints8 flat_here = plane[i] == end[i];
    is_flat |= flat_here;
    flat[i] = flat_here ? plane[i] : Floats8{} + std::numeric_limits<float>::quiet_NaN();
  }
  const bool flats = (is_flat[0] | is_flat[1] | is_flat[2]) != 0;
  for (unsigned i = n; i < capacity; ++i) plane[i] = Floats8{} + beyond;
  sort<capacity>(plane);
  LaneBest8 found;
  for (unsigned k = 0; k < n; k += planes_per_step) {
    Ints8 behind[planes_per_step]{}, in_plane[planes_per_step]{};
    for (unsigned i = 0; i < n; ++i) {
#pragma GCC unroll 2
      for (unsigned j = 0; j < planes_per_step; ++j) behind[j] -= plane[k + j] < end[i];
    }
    if (flats) {
      for (unsigned i = 0; i < n; ++i) {
#pragma GCC unroll 2
        for (unsigned j = 0; j < planes_per_step; ++j) in_plane[j] -= plane[k + j] == flat[i];
      }
    }
#pragma GCC unroll 2
    for (unsigned j = 0; j < planes_per_step; ++j) {
      found.consider(terms, plane[k + j],
                     static_cast<float>(k + j) + __builtin_convertvector(in_plane[j], Floats8),
                     __builtin_convertvector(behind[j], Floats8));
    }
  }
  return found.finish(array, n);
}

}  // namespace

HEAPWOOD_CLONED_512
Split choose_exact(const std::byte* refs, std::uint32_t n, const SplitCost& cost) {
  const float* const array = reinterpret_cast<const float*>(refs);
  const Terms8 terms(cost.terms(0), cost.terms(1), cost.terms(2));
  if (n <= 4) return choose_of<4>(array, n, terms);
  if (n <= 8) return choose_of<8>(array, n, terms);
  if (n <= 16) return choose_of<16>(array, n, terms);
  return choose_of<32>(array, n, terms);
}

}  // namespace heapwood::kdtree
