// SPDX-License-Identifier: MIT
// A ray on one axis as traversal needs it: the distance to the plane `axis = at`. Also the storage
// of a ray's three slopes.
//
// The difference is computed first, (at - origin) * inverse: it is exact near the origin, so the
// error is relative to the distance, at any position of the scene in space.
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
SIMT_INLINE float away_from_zero(float d) { return std::copysign(simt::max(std::fabs(d), 1e-20f), d); }
SIMT_INLINE Vec3 away_from_zero(Vec3 d) { return {away_from_zero(d.x), away_from_zero(d.y), away_from_zero(d.z)}; }

}  // namespace detail

// The two lowest bits of the second word hold 2 if the direction is negative, else 0, so that one
// operation on them and a node's link gives the position of the near child. They scale all
// distances along the axis by at most 1 + 3 ulp.
#if defined(HEAPWOOD_OFFSET_SLOPES)
struct Slope {
  float inverse, second;

  static SIMT_INLINE Slope of(float origin, float direction) {
    const float inverse = simt::approximate_reciprocal(direction);
    return {inverse, simt::from_bits((simt::bits(-(origin * inverse)) & ~3u) | (direction < 0 ? 2u : 0u))};
  }
  SIMT_INLINE float distance(float at) const { return at * inverse + second; }
  SIMT_INLINE std::uint32_t side_bits() const { return simt::bits(second); }
};
#else
struct Slope {
  float origin, inverse;

  static SIMT_INLINE Slope of(float origin, float direction) {
    const float inverse = simt::approximate_reciprocal(direction);
    return {origin, simt::from_bits((simt::bits(inverse) & ~3u) | (direction < 0 ? 2u : 0u))};
  }
  SIMT_INLINE float distance(float at) const { return (at - origin) * inverse; }
  SIMT_INLINE std::uint32_t side_bits() const { return simt::bits(inverse); }
};
#endif

// Storage of a ray's slopes: registers, or a column of a warp's Scratch. On a GPU the latter avoids
// the selects and registers of a dynamic axis: 64 instead of 40 warps per multiprocessor.
class SlopesInRegisters {
 public:
  SIMT_INLINE void set(unsigned axis, Slope slope) { (axis == 0 ? x_ : axis == 1 ? y_ : z_) = slope; }
  SIMT_INLINE Slope operator[](unsigned axis) const {
    const auto [x0, x1] = x_;
    const auto [y0, y1] = y_;
    const auto [z0, z1] = z_;
    return {axis == 0 ? x0 : axis == 1 ? y0 : z0, axis == 0 ? x1 : axis == 1 ? y1 : z1};
  }

 private:
  Slope x_, y_, z_;
};
class SlopesInScratch {
 public:
  SIMT_INLINE explicit SlopesInScratch(simt::WordPair* column) : column_(column) {}
  SIMT_INLINE void set(unsigned axis, Slope slope) {
    const auto [first, second] = slope;
    column_.store(axis, {first, second});
  }
  SIMT_INLINE Slope operator[](unsigned axis) const {
    const simt::WordPair pair = column_.load(axis);
    return {pair.first, pair.second};
  }

 private:
  simt::ScratchColumn<32> column_;
};

}  // namespace heapwood::kdtree
