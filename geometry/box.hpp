// SPDX-License-Identifier: MIT
// Axis-aligned boxes (closed intervals); a default box is empty.
#pragma once

#include <limits>

#include "geometry/vec.hpp"

namespace heapwood {

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

}  // namespace heapwood
