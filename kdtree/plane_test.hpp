// SPDX-License-Identifier: MIT
// Ray-triangle test by planes (triangle_records.hpp): the triangle's plane gives the distance, two
// more planes give the barycentric coordinates there. A hit far outside the leaf is rejected before
// the whole record is read.
//
// Both versions enlarge a triangle by their own rounding errors, so that no ray passes between
// triangles that share an edge. The overlap is at most a 32nd of the triangle.
#pragma once

#include <cmath>

#include "kdtree/ray.hpp"
#include "kdtree/triangle_records.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

template <class Record>
class PlaneTest;

// Errors of u and v are about 2^-23 of the distance to the hit, over the triangle's height and the
// cosine of the angle with the normal, plus 2^-23 of the triangle's own size if the ray starts near
// it. The tolerance holds for directions of about unit length; for others it is off by the square
// of the length.
template <>
class PlaneTest<LocalPlaneRecord> {
 public:
  static constexpr float tolerance = 0x1p-23f, min_tolerance = 0x1p-22f, max_tolerance = 0x1p-5f;

  SIMT_INLINE bool test(const LocalPlaneRecord* record, const Ray& ray, float lower, float upper, float& t) const {
    const Row first = simt::load_constant(&record->a_nx);
    const Vec3 n = LocalPlaneRecord::n(first, simt::load_constant(&record->nyz));
    const Vec3 s = ray.origin - LocalPlaneRecord::a(first);
    const float inverse = simt::approximate_reciprocal(dot(n, ray.direction));
    const float h = -dot(n, s) * inverse;
    // Parallel rays give inf or NaN: both fail.
    if (!(h >= lower && h < upper)) return false;
    const RowPart second = simt::load_constant(&record->uxy);
    const Row third = simt::load_constant(&record->uz_v);
    const Vec3 p = s + ray.direction * h;
    const float u = dot(LocalPlaneRecord::u(second, third), p), v = dot(LocalPlaneRecord::v(third), p);
    // The length of the normal is the triangle's height.
    const float error = simt::min(std::fabs(h * inverse), max_tolerance / tolerance) * tolerance;
    if (!(simt::min(simt::min(u, v), 1 - u - v) + error >= -min_tolerance)) return false;
    t = h;
    return true;
  }

  SIMT_INLINE void coordinates(const LocalPlaneRecord* record, const Ray& ray, float t, float& u, float& v) const {
    const Row first = simt::load_constant(&record->a_nx);
    const RowPart second = simt::load_constant(&record->uxy);
    const Row third = simt::load_constant(&record->uz_v);
    const Vec3 p = ray.origin - LocalPlaneRecord::a(first) + ray.direction * t;
    u = dot(LocalPlaneRecord::u(second, third), p);
    v = dot(LocalPlaneRecord::v(third), p);
  }
};

// Errors of u and v are about 2^-23 of the largest coordinates, over the triangle's height. The
// record contains the enlarged triangle.
template <>
class PlaneTest<AbsolutePlaneRecord> {
 public:
  SIMT_INLINE bool test(const AbsolutePlaneRecord* record, const Ray& ray, float lower, float upper, float& t) const {
    const Row plane = simt::load_constant(&record->plane);
    const float h = -at(plane, ray.origin) * simt::approximate_reciprocal(along(plane, ray.direction));
    // Parallel rays give inf or NaN: both fail.
    if (!(h >= lower && h < upper)) return false;
    const Vec3 p = ray.origin + ray.direction * h;
    const float u = at(simt::load_constant(&record->u), p);
    const float v = at(simt::load_constant(&record->v), p);
    if (!(u >= 0 && v >= 0 && u + v <= 1)) return false;
    t = h;
    return true;
  }

  SIMT_INLINE void coordinates(const AbsolutePlaneRecord* record, const Ray& ray, float t, float& u, float& v) const {
    const Row plane = simt::load_constant(&record->plane);
    const Vec3 p = ray.origin + ray.direction * t;
    const float growth = plane.x * plane.x + plane.y * plane.y + plane.z * plane.z;
    const auto weight = [&](const Row& row) {
      const float w = at(row, p);
      return w + growth * (3 * w - 1);
    };
    u = weight(simt::load_constant(&record->u));
    v = weight(simt::load_constant(&record->v));
  }

 private:
  static SIMT_INLINE float at(const Row& row, Vec3 p) { return row.w + row.x * p.x + row.y * p.y + row.z * p.z; }
  static SIMT_INLINE float along(const Row& row, Vec3 d) { return row.x * d.x + row.y * d.y + row.z * d.z; }
};

}  // namespace heapwood::kdtree
