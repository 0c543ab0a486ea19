// SPDX-License-Identifier: MIT
// A vector of three floats in IEEE single precision, with identical results on CPU and GPU.
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

}  // namespace heapwood
