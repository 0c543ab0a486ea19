// SPDX-License-Identifier: MIT
// Axis-aligned boxes, and triangles of a mesh by vertex indices or by corner positions.
#pragma once

#include <cstdint>
#include <limits>

#include "geometry/vec.hpp"

namespace heapwood {

// A closed box; a default one is empty.
struct Box {
  Vec3 lo{std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::infinity()};
  Vec3 hi{-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()};

  HEAPWOOD_INLINE bool empty() const { return lo.x > hi.x || lo.y > hi.y || lo.z > hi.z; }
  HEAPWOOD_INLINE Vec3 extent() const { return hi - lo; }
  HEAPWOOD_INLINE Vec3 centre() const { return lo * 0.5f + hi * 0.5f; }
  HEAPWOOD_INLINE void grow(Vec3 p) {
    lo = min(lo, p);
    hi = max(hi, p);
  }
  HEAPWOOD_INLINE void grow(const Box& b) {
    lo = min(lo, b.lo);
    hi = max(hi, b.hi);
  }
  HEAPWOOD_INLINE bool contains(Vec3 p) const { return max(lo, p) == p && min(hi, p) == p; }
  bool operator==(const Box&) const = default;
};

// Returns `first ? a : b` by component: selecting whole structs would use local memory on a GPU.
HEAPWOOD_INLINE Vec3 select(bool first, Vec3 a, Vec3 b) {
  return {first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z};
}
HEAPWOOD_INLINE Box select(bool first, const Box& a, const Box& b) {
  return {select(first, a.lo, b.lo), select(first, a.hi, b.hi)};
}

HEAPWOOD_INLINE Box intersect(const Box& a, const Box& b) {
  return {max(a.lo, b.lo), min(a.hi, b.hi)};
}

struct Triangle {
  std::uint32_t v[3] = {0, 0, 0};  // indices into the vertex array
  bool operator==(const Triangle&) const = default;
};

struct Corners {
  Vec3 a, b, c;
};

HEAPWOOD_INLINE Box bounds(const Corners& t) {
  return {min(min(t.a, t.b), t.c), max(max(t.a, t.b), t.c)};
}

// In double, so that squares of lengths of 1e-20 and 1e20 stay in range.
inline double area(const Corners& t) {
  const auto [x, y, z] = cross(to_double(t.b) - to_double(t.a), to_double(t.c) - to_double(t.a));
  return 0.5 * std::sqrt(x * x + y * y + z * z);
}

}  // namespace heapwood
