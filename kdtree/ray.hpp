// SPDX-License-Identifier: MIT
// A ray and what it hits. A ray's interval is [tmin, tmax): tmin >= 0; the direction need not have unit length (t counts in
// its units) and may have zeros.
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
  float t = 0;         // the ray's tmax if there is none
  float u = 0, v = 0;  // weights of the triangle's second and third corner
  std::uint32_t triangle = no_triangle;

  SIMT_INLINE bool found() const { return triangle != no_triangle; }
};

}  // namespace heapwood::kdtree
