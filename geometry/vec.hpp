// SPDX-License-Identifier: MIT
// Vectors of three floats or doubles, with identical results on CPU and GPU.
#pragma once

#include <cmath>

#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood {

struct Vec3 {
  float x = 0, y = 0, z = 0;

  HEAPWOOD_INLINE float& operator[](unsigned axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  HEAPWOOD_INLINE float operator[](unsigned axis) const {
    return axis == 0 ? x : axis == 1 ? y : z;
  }
  bool operator==(const Vec3&) const = default;
};

// Returns v with one component replaced.
HEAPWOOD_INLINE Vec3 set(Vec3 v, unsigned axis, float value) {
  return {axis == 0 ? value : v.x, axis == 1 ? value : v.y, axis == 2 ? value : v.z};
}

HEAPWOOD_INLINE Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HEAPWOOD_INLINE Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HEAPWOOD_INLINE Vec3 operator-(Vec3 a) { return {-a.x, -a.y, -a.z}; }
HEAPWOOD_INLINE Vec3 operator*(Vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
HEAPWOOD_INLINE Vec3 operator*(float s, Vec3 a) { return a * s; }
HEAPWOOD_INLINE Vec3 operator*(Vec3 a, Vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }

HEAPWOOD_INLINE float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HEAPWOOD_INLINE Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
HEAPWOOD_INLINE float length(Vec3 a) { return std::sqrt(dot(a, a)); }
HEAPWOOD_INLINE Vec3 normalize(Vec3 a) { return a * (1.0f / length(a)); }
HEAPWOOD_INLINE Vec3 min(Vec3 a, Vec3 b) {
  return {simt::min(a.x, b.x), simt::min(a.y, b.y), simt::min(a.z, b.z)};
}
HEAPWOOD_INLINE Vec3 max(Vec3 a, Vec3 b) {
  return {simt::max(a.x, b.x), simt::max(a.y, b.y), simt::max(a.z, b.z)};
}
inline bool is_finite(Vec3 v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

// For coordinates as given in a file: they may be so large that single precision would lose the
// model's shape.
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
