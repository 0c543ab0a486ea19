// SPDX-License-Identifier: MIT
// Ray-triangle test by planes (triangle_records.hpp): the triangle's plane gives the distance, two
// more planes give the barycentric coordinates there. A hit far outside the leaf is rejected before
// the whole record is read.
//
// Records contain triangles enlarged by the rounding errors of the test, so that no ray passes
// between triangles that share an edge. The overlap is at most a 32nd of the triangle.
#pragma once

#include "kdtree/traverse/ray.hpp"
#include "kdtree/traverse/triangle_records.hpp"
#include "simt/arithmetic.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// Errors of u and v are about 2^-23 of the largest coordinates, over the triangle's height.
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
  static HEAPWOOD_INLINE float at(const Row& row, Vec3 p) {
    return row.w + row.x * p.x + row.y * p.y + row.z * p.z;
  }
  static HEAPWOOD_INLINE float along(const Row& row, Vec3 d) {
    return row.x * d.x + row.y * d.y + row.z * d.z;
  }
};

}  // namespace heapwood::kdtree
