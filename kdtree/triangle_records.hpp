// SPDX-License-Identifier: MIT
// Triangles as the intersection tests read them: one 48-byte record a ref, in the order of the leaves, so that a leaf's
// triangles lie side by side. Three rows of 16 bytes, each one load.
//
//   PlaneRecord   fast test: the triangle's plane and the two planes that give its barycentric coordinates (Woop 2004,
//                 "A ray tracing hardware architecture for dynamic scenes", the affine triangle transformation). A ray
//                 that misses the plane's interval reads one row of three.
//   CornerRecord  watertight test: the corners themselves (Woop, Benthin, Wald 2013).
//
// Differs from the paper: rows are planes in world space with a unit normal, computed in double and then rounded, so
// the distance is a true distance and no inverse matrix is needed. Limits: a triangle whose rows do not fit a float
// (edges under 1e-38 of its distance from the origin) is treated as degenerate.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "geometry/triangle.hpp"

namespace heapwood::kdtree {

struct alignas(16) Row {
  float x = 0, y = 0, z = 0, w = 0;
};

// plane.(p, 1) = 0 on the triangle's plane; u.(p, 1) and v.(p, 1) are the weights of corners b and c.
struct PlaneRecord {
  Row plane, u, v;
};

struct CornerRecord {
  Row a, b, c;  // w unused
};
static_assert(sizeof(PlaneRecord) == 48 && sizeof(CornerRecord) == 48);

namespace detail {

struct Double3 {
  double x, y, z;
};
SIMT_INLINE Double3 difference(Vec3 a, Vec3 b) {
  return {static_cast<double>(a.x) - b.x, static_cast<double>(a.y) - b.y, static_cast<double>(a.z) - b.z};
}
SIMT_INLINE Double3 cross(const Double3& a, const Double3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SIMT_INLINE double dot(const Double3& a, const Double3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// The plane with this normal times `scale`, through p.
SIMT_INLINE Row plane_through(const Double3& normal, double scale, Vec3 p) {
  const Double3 n{normal.x * scale, normal.y * scale, normal.z * scale};
  return {static_cast<float>(n.x), static_cast<float>(n.y), static_cast<float>(n.z),
          static_cast<float>(-dot(n, {p.x, p.y, p.z}))};
}
SIMT_INLINE bool finite(const Row& r) {
  // A sum of absolute values is finite only if all of them are.
  return std::fabs(r.x) + std::fabs(r.y) + std::fabs(r.z) + std::fabs(r.w) < 3.4e38f;
}
// Corners on a line: below this ratio to the edges' lengths, what is left of the area is rounding of the doubles.
inline constexpr double flat_ratio = 1e-14;

SIMT_INLINE bool degenerate(const Double3& ab, const Double3& ac, const Double3& normal) {
  return !(dot(normal, normal) > flat_ratio * flat_ratio * dot(ab, ab) * dot(ac, ac));
}

}  // namespace detail

// A plane that no ray reaches: the distance comes out as -1/0 = -inf, below every interval, and no NaN on the way.
SIMT_INLINE void make_unhittable(PlaneRecord& record) {
  record = PlaneRecord{{0, 0, 0, 1}, {0, 0, 0, -1}, {0, 0, 0, -1}};
}
// Three equal corners: all edge functions are exactly zero, which the watertight test rejects.
SIMT_INLINE void make_unhittable(CornerRecord& record) { record = CornerRecord{}; }

SIMT_INLINE void make_record(const Corners& t, PlaneRecord& record) {
  using namespace detail;
  const Double3 ab = difference(t.b, t.a);
  const Double3 ac = difference(t.c, t.a);
  const Double3 normal = detail::cross(ab, ac);
  const double square = detail::dot(normal, normal);
  if (degenerate(ab, ac, normal)) return make_unhittable(record);
  record.plane = plane_through(normal, 1 / std::sqrt(square), t.a);
  record.u = plane_through(detail::cross(ac, normal), 1 / square, t.a);
  record.v = plane_through(detail::cross(normal, ab), 1 / square, t.a);
  if (!(finite(record.plane) && finite(record.u) && finite(record.v))) make_unhittable(record);
}

SIMT_INLINE void make_record(const Corners& t, CornerRecord& record) {
  const detail::Double3 ab = detail::difference(t.b, t.a);
  const detail::Double3 ac = detail::difference(t.c, t.a);
  if (detail::degenerate(ab, ac, detail::cross(ab, ac))) return make_unhittable(record);
  record = {{t.a.x, t.a.y, t.a.z, 0}, {t.b.x, t.b.y, t.b.z, 0}, {t.c.x, t.c.y, t.c.z, 0}};
}

// Fills records[i] from refs[i]; for a launcher's for_each over all refs. A tree's ref array may hold entries that no
// leaf uses: whatever is in them, nothing is read out of bounds.
template <class Record>
struct FillRecords {
  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t triangle_count;
  const std::uint32_t* refs;
  Record* records;

  SIMT_FN void operator()(std::size_t i) const {
    Record record;
    if (refs[i] < triangle_count) {
      const Triangle t = triangles[refs[i]];
      make_record({vertices[t.v[0]], vertices[t.v[1]], vertices[t.v[2]]}, record);
    } else {
      make_unhittable(record);
    }
    records[i] = record;
  }
};

}  // namespace heapwood::kdtree
