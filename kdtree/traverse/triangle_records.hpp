// SPDX-License-Identifier: MIT
// Triangles in the layout that the intersection tests read: one 48-byte record per ref, in the
// order of the leaves, so that a leaf's triangles are adjacent. A record has three rows of 16
// bytes, one load each. All rows are computed in double and then rounded.
//
//   PlaneRecord   fast test: the triangle's plane and the two planes that give its barycentric
//                 coordinates (Woop 2004, "A ray tracing hardware architecture for dynamic scenes",
//                 the affine triangle transformation). A ray that misses the plane's interval reads
//                 one row of three.
//   CornerRecord  watertight test: the corners themselves (Woop, Benthin, Wald 2013).
//
// Limits: rounding errors of the fast test grow with the distance from the origin, so scenes are
// kept near it (scenes::Mesh::origin). A triangle whose rows do not fit a float (edges under 1e-38
// of its distance from the origin) is treated as degenerate.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "geometry/triangle.hpp"
#include "kdtree/traverse/ray.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

struct alignas(16) Row {
  float x = 0, y = 0, z = 0, w = 0;
};

// plane.(p, 1) = 0 on the triangle's plane; there u.(p, 1) and v.(p, 1) are the weights of corners
// b and c of a triangle that is enlarged on all sides by the rounding errors of the test, so that
// neighbours overlap. With t the square of the normal's length, a weight w of the enlarged triangle
// is the weight w + t (3 w - 1) of the triangle itself. The sign bit of plane.x marks triangles
// that are enlarged visibly: is_thin().
struct PlaneRecord {
  Row plane, u, v;
};
// Hits near the edges of such triangles are confirmed by the watertight test (traverse.hpp).
HEAPWOOD_INLINE bool is_thin(float plane_x) { return simt::bits(plane_x) >> 31 != 0; }

struct CornerRecord {
  Row a, b, c;  // w unused
};
static_assert(sizeof(PlaneRecord) == 48 && sizeof(CornerRecord) == 48);

namespace detail {

struct Double3 {
  double x, y, z;
};
HEAPWOOD_INLINE Double3 difference(Vec3 a, Vec3 b) {
  return {static_cast<double>(a.x) - b.x, static_cast<double>(a.y) - b.y,
          static_cast<double>(a.z) - b.z};
}
HEAPWOOD_INLINE Double3 cross(const Double3& a, const Double3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
HEAPWOOD_INLINE double dot(const Double3& a, const Double3& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

HEAPWOOD_INLINE double larger(double a, double b) { return a > b ? a : b; }
HEAPWOOD_INLINE double limited(double x, double lowest, double highest) {
  return x < lowest ? lowest : x > highest ? highest : x;
}
HEAPWOOD_INLINE Vec3 rounded(const Double3& a, double scale) {
  return {static_cast<float>(a.x * scale), static_cast<float>(a.y * scale),
          static_cast<float>(a.z * scale)};
}

HEAPWOOD_INLINE bool finite(const Row& r) {
  // A sum of absolute values is finite only if all of them are.
  return std::fabs(r.x) + std::fabs(r.y) + std::fabs(r.z) + std::fabs(r.w) < 3.4e38f;
}
// Below this ratio of the area to the edges' lengths the corners lie on a line: the rest of the
// area is rounding error of the doubles.
inline constexpr double flat_ratio = 1e-14;

HEAPWOOD_INLINE bool degenerate(const Double3& ab, const Double3& ac, const Double3& normal) {
  return !(dot(normal, normal) > flat_ratio * flat_ratio * dot(ab, ab) * dot(ac, ac));
}

// A triangle in double precision: the normal, which is the product of two edges, and the planes of
// the weights of b and c.
struct TriangleFrame {
  Double3 normal, u, v;
  double area, min_height, longest;  // area of the parallelogram, longest edge
  bool degenerate;

  HEAPWOOD_INLINE explicit TriangleFrame(const Corners& t) {
    const Double3 ab = difference(t.b, t.a), ac = difference(t.c, t.a);
    normal = detail::cross(ab, ac);
    const double square = detail::dot(normal, normal);
    degenerate = detail::degenerate(ab, ac, normal);
    area = std::sqrt(square);
    const Double3 bc = difference(t.c, t.b);
    longest =
        std::sqrt(larger(larger(detail::dot(ab, ab), detail::dot(ac, ac)), detail::dot(bc, bc)));
    min_height = area / longest;
    const Double3 along_u = detail::cross(ac, normal), along_v = detail::cross(normal, ab);
    u = {along_u.x / square, along_u.y / square, along_u.z / square};
    v = {along_v.x / square, along_v.y / square, along_v.z / square};
  }
};

}  // namespace detail

// A plane that no ray reaches: the distance is -inf, below every interval, or NaN.
HEAPWOOD_INLINE void make_unhittable(PlaneRecord& record) {
  record = PlaneRecord{{0, 0, 0, 1}, {0, 0, 0, -1}, {0, 0, 0, -1}};
}
HEAPWOOD_INLINE bool is_hittable(const Row& plane) {
  return plane.x != 0 || plane.y != 0 || plane.z != 0;
}
// Three equal corners: all edge functions are exactly zero, which the watertight test rejects.
HEAPWOOD_INLINE void make_unhittable(CornerRecord& record) { record = CornerRecord{}; }

// The fast test's rounding errors, as a length, for triangles and ray origins with coordinates up
// to `reach`.
HEAPWOOD_INLINE double plane_error(double reach) { return 0x1.8p-23 * reach; }

// Rays start at most this many times the scene's largest coordinate from 0; others are moved first
// (moved_to_box()).
inline constexpr float max_origin = 8;

// The largest absolute coordinate in a box: `reach` below.
HEAPWOOD_INLINE float reach_of(const Box& box) {
  const Vec3 highest = max(max(box.lo, -box.lo), max(box.hi, -box.hi));
  return simt::max(simt::max(highest.x, highest.y), highest.z);
}

// A triangle is thin if it is enlarged by more than this part of itself, or of the reach.
inline constexpr double max_growth = 0x1p-3, max_growth_of_reach = 0x1p-13;

// `reach` is about the largest absolute coordinate from which rays start.
HEAPWOOD_INLINE void make_record(const Corners& t, float reach, PlaneRecord& record) {
  const detail::TriangleFrame frame(t);
  if (frame.degenerate) return make_unhittable(record);
  const Vec3 highest = max(max(max(t.a, -t.a), max(t.b, -t.b)), max(t.c, -t.c));
  const double error =
      plane_error(detail::larger(detail::larger(highest.x, highest.y), highest.z) + reach);
  const double growth = error / frame.min_height;
  const bool thin = growth > max_growth || growth * frame.longest > max_growth_of_reach * reach;
  // Hits of tiny triangles are confirmed, so they may grow more than the error of a ray that meets
  // them at a right angle: up to 8 times their size.
  const double tolerance = detail::limited(growth > max_growth ? 8 * growth : growth, 0x1p-24, 8);
  const auto plane = [&](const detail::Double3& normal, double scale, double at_a) {
    const Vec3 n = detail::rounded(normal, scale);
    const double w = at_a - scale * detail::dot(normal, {t.a.x, t.a.y, t.a.z});
    return Row{n.x, n.y, n.z, static_cast<float>(w)};
  };
  const double shrink = 1 / (1 + 3 * tolerance);
  // Either direction of the normal will do: the sign of its x is the mark.
  const double sign = (frame.normal.x < 0) == thin ? 1 : -1;
  record.plane = plane(frame.normal, sign * std::sqrt(tolerance) / frame.area, 0);
  record.plane.x = std::copysign(record.plane.x, thin ? -1.0f : 1.0f);
  record.u = plane(frame.u, shrink, tolerance * shrink);
  record.v = plane(frame.v, shrink, tolerance * shrink);
  if (!(detail::finite(record.plane) && detail::finite(record.u) && detail::finite(record.v)))
    make_unhittable(record);
}

HEAPWOOD_INLINE void make_record(const Corners& t, float, CornerRecord& record) {
  const detail::Double3 ab = detail::difference(t.b, t.a);
  const detail::Double3 ac = detail::difference(t.c, t.a);
  if (detail::degenerate(ab, ac, detail::cross(ab, ac))) return make_unhittable(record);
  record = {{t.a.x, t.a.y, t.a.z, 0}, {t.b.x, t.b.y, t.b.z, 0}, {t.c.x, t.c.y, t.c.z, 0}};
}

// Fills records[i] from refs[i]; for a launcher's for_each over all refs. A tree's ref array may
// hold entries that no leaf uses: whatever they contain, nothing is read out of bounds.
template <class Record>
struct FillRecords {
  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t triangle_count;
  const std::uint32_t* refs;
  Record* records;
  float reach = 0;  // the largest absolute coordinate of the scene

  HEAPWOOD_FN void operator()(std::size_t i) const {
    Record record;
    if (refs[i] < triangle_count) {
      const Triangle t = triangles[refs[i]];
      make_record({vertices[t.v[0]], vertices[t.v[1]], vertices[t.v[2]]}, reach, record);
    } else {
      make_unhittable(record);
    }
    records[i] = record;
  }
};

// Limits weights to [0, 1], and their rounded sum to 1.
HEAPWOOD_INLINE void limit_weights(float& u, float& v) {
  u = simt::min(simt::max(u, 0.0f), 1.0f);
  v = simt::min(simt::max(v, 0.0f), (1 - u) * (1 - 0x1p-23f));
}

// Ray-triangle test by planes: the triangle's plane gives the distance, two more planes give the
// barycentric coordinates there. Records contain triangles enlarged by the rounding errors of the
// test, so that no ray passes between triangles that share an edge.
class PlaneTest {
 public:
  HEAPWOOD_INLINE bool test(const PlaneRecord* record, const Ray& ray, float lower, float upper,
                            float& t) const {
    const Row plane = simt::load_constant(&record->plane);
    const float h =
        -at(plane, ray.origin) * simt::approximate_reciprocal(along(plane, ray.direction));
    // Parallel rays give inf or NaN: both fail.
    if (!(h >= lower && h < upper)) return false;
    const Vec3 p = ray.origin + ray.direction * h;
    const float u = at(simt::load_constant(&record->u), p);
    const float v = at(simt::load_constant(&record->v), p);
    if (!(u >= 0 && v >= 0 && u + v <= 1)) return false;
    t = h;
    return true;
  }

  HEAPWOOD_INLINE void coordinates(const PlaneRecord* record, const Ray& ray, float t, float& u,
                                   float& v) const {
    is_sure(record, ray, t, u, v);
  }
  // Whether the hit at t needs no confirmation. Sets its weights.
  HEAPWOOD_INLINE bool is_sure(const PlaneRecord* record, const Ray& ray, float t, float& u,
                               float& v) const {
    const Row plane = simt::load_constant(&record->plane);
    const Vec3 p = ray.origin + ray.direction * t;
    const float growth = plane.x * plane.x + plane.y * plane.y + plane.z * plane.z;
    const auto weight = [&](const Row& row) {
      const float w = at(row, p);
      return w + growth * (3 * w - 1);
    };
    u = weight(simt::load_constant(&record->u));
    v = weight(simt::load_constant(&record->v));
    const bool is_inside = u > growth && v > growth && 1 - u - v > growth;
    limit_weights(u, v);
    return is_inside || !is_thin(plane.x);
  }

 private:
  static HEAPWOOD_INLINE float at(const Row& row, Vec3 p) {
    return row.w + row.x * p.x + row.y * p.y + row.z * p.z;
  }
  static HEAPWOOD_INLINE float along(const Row& row, Vec3 d) {
    return row.x * d.x + row.y * d.y + row.z * d.z;
  }
};

}  // namespace heapwood::kdtree
