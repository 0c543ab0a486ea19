// SPDX-License-Identifier: MIT
// A ray and its hit. The interval of a ray is [tmin, tmax) with tmin >= 0. The direction need not
// have unit length (t is in units of it) and may have zero components.
#pragma once

#include <cstdint>

#include "geometry/vec.hpp"

namespace heapwood::kdtree {

struct alignas(16) Ray {
  Vec3 origin;
  float tmin = 0;
  Vec3 direction;
  float tmax = 0;
};

inline constexpr std::uint32_t no_triangle = ~0u;

struct alignas(16) Hit {
  float t = 0;         // the ray's tmax if nothing is hit
  float u = 0, v = 0;  // weights of the triangle's second and third corner
  std::uint32_t triangle = no_triangle;

  HEAPWOOD_INLINE bool found() const { return triangle != no_triangle; }
};

}  // namespace heapwood::kdtree
