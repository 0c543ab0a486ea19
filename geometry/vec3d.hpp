// SPDX-License-Identifier: MIT
// A vector of three doubles, for coordinates as given in a file: they may be so large that single
// precision would lose the model's shape.
#pragma once

#include "geometry/vec.hpp"

namespace heapwood {

struct Vec3d {
  double x = 0, y = 0, z = 0;
  bool operator==(const Vec3d&) const = default;
};

HEAPWOOD_INLINE Vec3d operator+(Vec3d a, Vec3d b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HEAPWOOD_INLINE Vec3d operator-(Vec3d a, Vec3d b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HEAPWOOD_INLINE Vec3d operator*(Vec3d a, double s) { return {a.x * s, a.y * s, a.z * s}; }

HEAPWOOD_INLINE Vec3d cross(Vec3d a, Vec3d b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

HEAPWOOD_INLINE Vec3d to_double(Vec3 v) { return {v.x, v.y, v.z}; }
HEAPWOOD_INLINE Vec3 to_float(Vec3d v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}

}  // namespace heapwood
