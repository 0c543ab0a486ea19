// SPDX-License-Identifier: MIT
// A ray on one axis as traversal needs it: the distance to the plane `axis = at`. Also the storage
// of a ray's three slopes.
#pragma once

#include <cmath>
#include <cstdint>

#include "geometry/vec.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"
#include "simt/scratch_column.hpp"

namespace heapwood::kdtree {
namespace detail {

// Directions of exactly zero become tiny and keep their sign: planes are then at huge positive or
// negative distances, and every comparison works.
HEAPWOOD_INLINE float away_from_zero(float d) {
  return std::copysign(simt::max(std::fabs(d), 1e-20f), d);
}
HEAPWOOD_INLINE Vec3 away_from_zero(Vec3 d) {
  return {away_from_zero(d.x), away_from_zero(d.y), away_from_zero(d.z)};
}

}  // namespace detail

// A ray meets the plane at t = at * inverse + offset. The two lowest bits of `inverse` hold 2 if
// the direction is negative, else 0, so that one operation on them and a node's link gives the
// position of the near child. The offset is a multiple of this `inverse`, so the bits move planes
// by a fraction of their distance only.
struct Slope {
  float inverse, offset;

  static HEAPWOOD_INLINE Slope of(float origin, float direction) {
    const float inverse = simt::from_bits(
        (simt::bits(simt::approximate_reciprocal(direction)) & ~3u) | (direction < 0 ? 2u : 0u));
    return {inverse, -(origin * inverse)};
  }
  HEAPWOOD_INLINE float distance(float at) const { return at * inverse + offset; }
  HEAPWOOD_INLINE std::uint32_t side_bits() const { return simt::bits(inverse); }
};

// Storage of a ray's slopes and its slack: registers, or a column of a warp's Scratch. On a GPU the
// latter avoids the selects and registers of a dynamic axis: 64 instead of 40 warps per
// multiprocessor.
class SlopesInRegisters {
 public:
  HEAPWOOD_INLINE void set(unsigned axis, Slope slope) {
    (axis == 0 ? x_ : axis == 1 ? y_ : z_) = slope;
  }
  HEAPWOOD_INLINE Slope operator[](unsigned axis) const {
    const auto [x0, x1] = x_;
    const auto [y0, y1] = y_;
    const auto [z0, z1] = z_;
    return {axis == 0 ? x0 : axis == 1 ? y0 : z0, axis == 0 ? x1 : axis == 1 ? y1 : z1};
  }
  HEAPWOOD_INLINE void set_slack(float slack) { slack_ = slack; }
  HEAPWOOD_INLINE float slack() const { return slack_; }

 private:
  Slope x_, y_, z_;
  float slack_;
};
class SlopesInScratch {
 public:
  static constexpr unsigned entries = 4;  // of the column

  HEAPWOOD_INLINE explicit SlopesInScratch(simt::WordPair* column) : column_(column) {}
  HEAPWOOD_INLINE void set(unsigned axis, Slope slope) {
    const auto [first, second] = slope;
    column_.store(axis, {first, second});
  }
  HEAPWOOD_INLINE Slope operator[](unsigned axis) const {
    const simt::WordPair pair = column_.load(axis);
    return {pair.first, pair.second};
  }
  HEAPWOOD_INLINE void set_slack(float slack) { column_.store(3, {slack, 0}); }
  HEAPWOOD_INLINE float slack() const { return column_.load(3).first; }

 private:
  simt::ScratchColumn<32> column_;
};

}  // namespace heapwood::kdtree
