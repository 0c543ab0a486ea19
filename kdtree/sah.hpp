// SPDX-License-Identifier: MIT
// The surface area heuristic (MacDonald & Booth 1990; Wald & Havran 2006) as the builder evaluates
// it, and the order that makes its choices unique: the same candidates give the same winner on
// every device, with any number of lanes and any schedule. All arithmetic is plain IEEE single
// precision without contraction; all counts are integers.
#pragma once

#include <cstdint>

#include "geometry/triangle.hpp"
#include "kdtree/tree.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// goes_left, goes_right: whether a ref with bounds [lo, hi] is sent to a side of the plane p. Refs
// that lie in the plane go to one side only, which the split stores (Wald & Havran 2006, section
// 3.2: this pays for walls and floors). The tests avoid short-circuit evaluation, because the
// builder's hottest loop should not branch.
HEAPWOOD_INLINE bool goes_left(float lo, float hi, float p, bool flats_right = false) {
  return bool(int(lo < p) | (int(hi <= p) & int(!flats_right)));
}
HEAPWOOD_INLINE bool goes_right(float lo, float hi, float p, bool flats_right = false) {
  return bool(int(hi > p) | (int(lo >= p) & int(flats_right)));
}

// A candidate split of a node of n refs; the default is "no split". Candidates are ordered by
// (cost, axis, nl, plane). Those that differ only in the side of flat refs differ in nl.
struct Split {
  // Bits of the cost; positive floats are ordered like their bits.
  std::uint32_t cost = 0x7f800000u;
  std::uint32_t axis_nl = 0xffffffffu;  // axis << 30 | refs on the left
  std::uint32_t plane = 0xffffffffu;    // position as an ordered key
  std::uint32_t flats_nr = 0;           // {refs in the plane go right:1, refs on the right:31}

  HEAPWOOD_INLINE bool found() const { return cost != Split{}.cost; }
  HEAPWOOD_INLINE unsigned axis() const { return axis_nl >> 30; }
  HEAPWOOD_INLINE std::uint32_t nl() const { return axis_nl & 0x3fffffffu; }
  HEAPWOOD_INLINE std::uint32_t nr() const { return flats_nr & 0x7fffffffu; }
  HEAPWOOD_INLINE bool flats_right() const { return flats_nr >> 31 != 0; }
  // The number of refs that the split adds to the node's n.
  HEAPWOOD_INLINE std::uint32_t added(std::uint32_t n) const { return nl() + nr() - n; }
  // The cost of a split chosen although it costs no less than a leaf: -0, below every leaf's.
  static constexpr std::uint32_t poor_cost = 0x80000000u;
  HEAPWOOD_INLINE float position() const {
    return simt::from_ordered_key(plane) + 0.0f;
  }  // never -0
  HEAPWOOD_INLINE bool before(const Split& b) const {
    const std::uint64_t key = std::uint64_t{cost} << 32 | axis_nl,
                        other = std::uint64_t{b.cost} << 32 | b.axis_nl;
    return bool(int(key < other) | (int(key == other) & int(plane < b.plane)));
  }
};

// Evaluates candidates for one node. `scale` brings the scene's largest extent near 1, so that
// areas neither overflow nor underflow in scenes of size 1e20 or 1e-20. A power of two: it is
// exact.
class SplitCost {
 public:
  HEAPWOOD_INLINE SplitCost(const SahCosts& costs, float scale, const Box& box, std::uint32_t n)
      : costs_(costs), lo_(box.lo), hi_(box.hi), scale_(scale), n_(n) {
    const Vec3 e = box.extent() * scale;
    inverse_area_ = 1.0f / (e.x * e.y + e.y * e.z + e.z * e.x);
  }
  // False for boxes without area, where no split can reduce the cost.
  HEAPWOOD_INLINE bool splittable() const { return inverse_area_ > 0.0f && inverse_area_ < 3e38f; }
  HEAPWOOD_INLINE float leaf_cost() const { return costs_.intersection * static_cast<float>(n_); }
  HEAPWOOD_INLINE bool is_below_leaf(const Split& split) const {
    return simt::from_bits(split.cost) < leaf_cost();
  }

  // The inputs from which consider() computes the cost of a plane, for code that considers several
  // planes at once (simd_choice.cpp).
  struct Terms {
    SahCosts costs;
    unsigned axis;
    float lo, hi, scale, side, face, inverse_area;
    std::uint32_t n;
  };
  Terms terms(unsigned axis) const {
    const Vec3 e = (hi_ - lo_) * scale_;
    const float a = axis == 0 ? e.y : e.x;
    const float b = axis == 2 ? e.y : e.z;
    return {costs_, axis, lo_[axis], hi_[axis], scale_, a + b, a * b, inverse_area_, n_};
  }

  HEAPWOOD_INLINE void consider(Split& best, unsigned axis, float p, std::uint32_t nl,
                                std::uint32_t nr, bool flats_right = false) const {
    const float lo = lo_[axis], hi = hi_[axis];
    const Vec3 e = (hi_ - lo_) * scale_;
    const float a = axis == 0 ? e.y : e.x;
    const float b = axis == 2 ? e.y : e.z;
    const float side = a + b, face = a * b;
    const float left = (p - lo) * scale_ * side + face;
    const float right = (hi - p) * scale_ * side + face;
    float cost =
        costs_.traversal + costs_.intersection *
                               (left * static_cast<float>(nl) + right * static_cast<float>(nr)) *
                               inverse_area_;
    if (nl == 0 || nr == 0) cost = cost * (1.0f - costs_.empty_bonus);
    cost = cost + costs_.duplicate * static_cast<float>(nl + nr - n_);
    const Split candidate{simt::bits(cost), axis << 30 | nl, simt::ordered_key(p),
                          nr | (flats_right ? 1u << 31 : 0)};
    if (bool(int(p > lo) & int(p < hi) & int(candidate.before(best)))) best = candidate;
  }

 private:
  SahCosts costs_;
  Vec3 lo_, hi_;
  float scale_;
  float inverse_area_;
  std::uint32_t n_;
};

// Returns the best of all lanes' splits, in all lanes.
template <class Warp>
HEAPWOOD_INLINE Split best_of(Warp& warp, const Split& mine) {
  Split best;
  best.cost = warp.reduce_min(mine.cost);
  bool match = mine.cost == best.cost;
  best.axis_nl = warp.reduce_min(match ? mine.axis_nl : 0xffffffffu);
  match = match && mine.axis_nl == best.axis_nl;
  best.plane = warp.reduce_min(match ? mine.plane : 0xffffffffu);
  match = match && mine.plane == best.plane;
  best.flats_nr = warp.shfl(mine.flats_nr, simt::lowest_bit(warp.ballot(match)));
  return best;
}

}  // namespace heapwood::kdtree
