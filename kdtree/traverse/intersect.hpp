// SPDX-License-Identifier: MIT
// Two ray-triangle intersection tests; traverse.hpp is a template over them.
//
//   FastIntersection        tests the triangle's plane, then two more planes (PlaneTest). It
//                           enlarges triangles by the rounding errors of the test, so that a ray
//                           hardly ever passes between two triangles that share an edge. A ray that
//                           seems to hit a thin triangle is decided by ExactIntersection.
//   WatertightIntersection  Woop, Benthin, Wald 2013, "Watertight Ray/Triangle Intersection": no
//                           ray passes between two triangles that share an edge. Its plane
//                           distances are exact in sign, and traversal visits both sides of a plane
//                           if their order is within rounding, so the tree is watertight as well.
//
// Both tests report hits on either side of a triangle.
#pragma once

#include <cmath>
#include <cstdint>

#include "geometry/vec.hpp"
#include "kdtree/traverse/ray.hpp"
#include "kdtree/traverse/triangle_records.hpp"
#include "simt/arithmetic.hpp"
#include "simt/scratch.hpp"

namespace heapwood::kdtree {

// ---- a ray on one axis: the distance to a plane, and the storage of three slopes ---------------

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
// latter avoids the selects and registers of a dynamic axis.
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

// ---- the tests ----------------------------------------------------------------------------------

namespace detail {

HEAPWOOD_INLINE float select(Vec3 v, unsigned axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

}  // namespace detail

// The fast test: PlaneTest with a ray's slopes, which `Slopes` stores.
template <class Slopes>
class PlaneIntersection : public PlaneTest {
 public:
  using Record = PlaneRecord;
  // How far outside the leaf's interval of the ray a hit may lie: relative to its distance, plus
  // slack(). Hits further out belong to another leaf, so the rest of the record need not be read.
  static constexpr bool culls = true;
  static constexpr float relative_slack = 2e-4f;
  // The slack is diagonal_slack times the scene's diagonal, or offset_slack times the offset for
  // rays at a small angle to the planes of an axis. Rays that are parallel up to rounding are
  // exempt.
  static constexpr float diagonal_slack = 2e-5f, offset_slack = 0x1p-21f;
  static constexpr float parallel_below = 0x1p-24f;  // of the direction's length
  static constexpr bool conservative = false;
  static constexpr float plane_slack = 0;

  // `min_slack`: TreeView::slack.
  HEAPWOOD_INLINE PlaneIntersection(const Ray& ray, float min_slack, Slopes slopes = Slopes())
      : slopes_(slopes) {
    const Vec3 d = detail::away_from_zero(ray.direction);
    const Slope x = Slope::of(ray.origin.x, d.x), y = Slope::of(ray.origin.y, d.y),
                z = Slope::of(ray.origin.z, d.z);
    slopes_.set(0, x);
    slopes_.set(1, y);
    slopes_.set(2, z);
    const float parallel = parallel_below * (std::fabs(d.x) + std::fabs(d.y) + std::fabs(d.z));
    const auto offset = [parallel](float along, Slope slope) {
      return std::fabs(along) > parallel ? std::fabs(slope.offset) : 0;
    };
    const float max_offset = simt::max(simt::max(offset(d.x, x), offset(d.y, y)), offset(d.z, z));
    slopes_.set_slack(simt::max(offset_slack * max_offset, min_slack));
  }

  HEAPWOOD_INLINE Slope slope(unsigned axis) const { return slopes_[axis]; }
  HEAPWOOD_INLINE float slack() const { return slopes_.slack(); }
  // Distance at which the ray meets the plane `axis = at`.
  HEAPWOOD_INLINE float plane(const Ray&, unsigned, float at, Slope s) const {
    return s.distance(at);
  }
  // The position of the child that the ray visits first: the upper one for a negative direction.
  static HEAPWOOD_INLINE std::uint32_t near_child(std::uint32_t link, Slope s) {
    return simt::select_bits(link, s.side_bits(), 3);
  }
  // Whether a hit counts that another test has found. A derived test may accept fewer.
  HEAPWOOD_INLINE bool accepts(const Record*, const Ray&, float) const { return true; }

 private:
  Slopes slopes_;
};
using FastIntersection = PlaneIntersection<SlopesInRegisters>;

class WatertightIntersection {
 public:
  using Record = CornerRecord;
  static constexpr bool culls = false;
  static constexpr float relative_slack = 0;
  static constexpr float diagonal_slack = 0;
  // Cells overlap by this fraction of their distance: over 8 ulp, while plane() errs by less than
  // 2.
  static constexpr bool conservative = true;
  static constexpr float plane_slack = 1e-6f;

  HEAPWOOD_INLINE explicit WatertightIntersection(const Ray& ray, float = 0) {
    const Vec3 d = ray.direction;
    // A zero direction gives an infinite inverse, and plane() is NaN if the ray lies in the plane:
    // traversal then visits both sides.
    inverse_ = {1.0f / d.x, 1.0f / d.y, 1.0f / d.z};
    const float ax = std::fabs(d.x), ay = std::fabs(d.y), az = std::fabs(d.z);
    kz_ = ax > ay ? (ax > az ? 0u : 2u) : (ay > az ? 1u : 2u);
    kx_ = kz_ == 2 ? 0 : kz_ + 1;
    ky_ = kx_ == 2 ? 0 : kx_ + 1;
    // The paper swaps kx and ky for negative directions to keep the winding. Hits are two-sided
    // here, so the swap is not needed.
    sz_ = 1.0f / detail::select(ray.direction, kz_);
    sx_ = detail::select(ray.direction, kx_) * sz_;
    sy_ = detail::select(ray.direction, ky_) * sz_;
  }

  HEAPWOOD_INLINE float slope(unsigned axis) const { return detail::select(inverse_, axis); }
  // The difference is computed first: it is exact near the plane, so the sign is exact and the
  // error is relative.
  HEAPWOOD_INLINE float plane(const Ray& ray, unsigned axis, float at, float inverse) const {
    return (at - detail::select(ray.origin, axis)) * inverse;
  }
  static HEAPWOOD_INLINE std::uint32_t near_child(std::uint32_t link, float inverse) {
    return simt::select_bits(link, simt::bits(inverse) >> 31 << 1, 3);
  }

  HEAPWOOD_INLINE bool test(const Record* record, const Ray& ray, float lower, float upper,
                            float& t) const {
    float u, v;
    return solve(load(record), ray, lower, upper, t, u, v);
  }
  HEAPWOOD_INLINE void coordinates(const Record* record, const Ray& ray, float, float& u,
                                   float& v) const {
    float t;
    const float infinite = HUGE_VALF;
    if (!solve(load(record), ray, -infinite, infinite, t, u, v)) u = v = 0;
  }
  // Whether the triangle is hit in [lower, upper), and where.
  HEAPWOOD_INLINE bool solve(const Corners& corners, const Ray& ray, float lower, float upper,
                             float& t, float& u, float& v) const {
    const Sheared a = shear(corners.a, ray.origin), b = shear(corners.b, ray.origin),
                  c = shear(corners.c, ray.origin);
    return solve(a, b, c, lower, upper, t, u, v);
  }

 private:
  struct Sheared {
    float x, y, z;
  };
  static HEAPWOOD_INLINE Corners load(const Record* record) {
    const Row a = simt::load_constant(&record->a), b = simt::load_constant(&record->b),
              c = simt::load_constant(&record->c);
    return {{a.x, a.y, a.z}, {b.x, b.y, b.z}, {c.x, c.y, c.z}};
  }
  HEAPWOOD_INLINE Sheared shear(Vec3 corner, Vec3 origin) const {
    const Vec3 p = corner - origin;
    const float z = detail::select(p, kz_);
    return {detail::select(p, kx_) - simt::rounded_product(sx_, z),
            detail::select(p, ky_) - simt::rounded_product(sy_, z), z};
  }
  static HEAPWOOD_INLINE float edge(const Sheared& p, const Sheared& q) {
    return simt::rounded_product(p.x, q.y) - simt::rounded_product(p.y, q.x);
  }
  static HEAPWOOD_INLINE float edge_in_double(const Sheared& p, const Sheared& q) {
    return static_cast<float>(static_cast<double>(p.x) * q.y - static_cast<double>(p.y) * q.x);
  }

  HEAPWOOD_INLINE bool solve(const Sheared& a, const Sheared& b, const Sheared& c, float lower,
                             float upper, float& t, float& u, float& v) const {
    float ea = edge(c, b), eb = edge(a, c), ec = edge(b, a);
    // A float zero may have lost its sign to rounding: computed again in double, where the products
    // are exact.
    if (ea == 0 || eb == 0 || ec == 0) {
      ea = edge_in_double(c, b);
      eb = edge_in_double(a, c);
      ec = edge_in_double(b, a);
    }
    if ((ea < 0 || eb < 0 || ec < 0) && (ea > 0 || eb > 0 || ec > 0)) return false;
    const float determinant = ea + eb + ec;
    if (determinant == 0) return false;
    const float inverse = 1.0f / determinant;
    // The weights are computed first: they are within [0, 1], so their products with distances
    // neither overflow nor underflow, as those of tiny or huge edge functions would.
    const float wa = ea * inverse;
    u = eb * inverse;
    v = ec * inverse;
    const float h = (wa * a.z + u * b.z + v * c.z) * sz_;
    if (!(h >= lower && h < upper)) return false;
    limit_weights(u, v);
    t = h;
    return true;
  }

  Vec3 inverse_;
  float sx_, sy_, sz_;
  unsigned kx_, ky_, kz_;
};

// ---- rays from far away -------------------------------------------------------------------------

// A ray's start, moved along it.
struct MovedRay {
  Ray ray;
  double distance = 0;  // of the move, in units of the direction
};

// The ray moved to where it enters a box, but for a 64th of the diagonal, in double precision. A
// ray that starts nearer stays.
HEAPWOOD_FN inline MovedRay moved_to_box(const Box& box, Vec3d origin, Vec3d direction, float tmin,
                                         float tmax) {
  const double o[3] = {origin.x, origin.y, origin.z},
               d[3] = {direction.x, direction.y, direction.z};
  double enter = 0, diagonal = 0, square = 0;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const double lo = detail::select(box.lo, axis), hi = detail::select(box.hi, axis);
    diagonal += (hi - lo) * (hi - lo);
    square += d[axis] * d[axis];
    if (d[axis] != 0) enter = detail::larger(enter, ((d[axis] > 0 ? lo : hi) - o[axis]) / d[axis]);
  }
  const double move = enter - 0x1p-6 * std::sqrt(diagonal / square);
  if (!(move > 0)) return {{to_float(origin), tmin, to_float(direction), tmax}};
  return {{to_float(origin + direction * move), static_cast<float>(detail::larger(tmin - move, 0)),
           to_float(direction), static_cast<float>(tmax - move)},
          move};
}

}  // namespace heapwood::kdtree
