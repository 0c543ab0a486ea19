// SPDX-License-Identifier: MIT
// Stateless random numbers: a value depends only on seed, pixel, sample and dimension. So a picture
// does not depend on the number of threads or the order of pixels, and is the same on CPU and GPU.
// The hash is PCG's output function (Jarzynski & Olano 2020, "Hash functions for GPU rendering").
// Low-discrepancy points are additive recurrences on generalised golden ratios (Roberts 2018, "The
// unreasonable effectiveness of quasirandom sequences"), shifted per pixel, in 32-bit integers, so
// that both devices round identically.
#pragma once

#include <cmath>
#include <cstdint>

#include "geometry/vec.hpp"

namespace heapwood::render {

HEAPWOOD_INLINE std::uint32_t pcg(std::uint32_t s) {
  s = s * 747796405u + 2891336453u;
  const std::uint32_t word = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
  return (word >> 22u) ^ word;
}

HEAPWOOD_INLINE float unit_interval(std::uint32_t h) {
  return static_cast<float>(h >> 8) * 0x1p-24f;
}

struct Point2 {
  float x, y;
};

class PixelRandom {
 public:
  HEAPWOOD_INLINE PixelRandom(std::uint32_t seed, std::uint32_t pixel)
      : pixel_(pcg(pixel ^ pcg(seed))) {}

  HEAPWOOD_INLINE float value(std::uint32_t sample, std::uint32_t dimension) const {
    return unit_interval(pcg(pixel_ + pcg(sample + pcg(dimension))));
  }
  HEAPWOOD_INLINE Point2 point(std::uint32_t sample, std::uint32_t dimension) const {
    return {value(sample, dimension), value(sample, dimension + 1)};
  }
  // Low-discrepancy points: samples 0, 1, 2, ..., however many, cover the square evenly.
  HEAPWOOD_INLINE Point2 even_point(std::uint32_t sample, std::uint32_t dimension) const {
    return {unit_interval(pcg(pixel_ + pcg(dimension)) + sample * 0xc13fa9a9u),
            unit_interval(pcg(pixel_ + pcg(dimension + 1)) + sample * 0x91e10da5u)};
  }
  HEAPWOOD_INLINE float even_value(std::uint32_t sample, std::uint32_t dimension) const {
    return unit_interval(pcg(pixel_ + pcg(dimension)) + sample * 0x9e3779b9u);
  }

 private:
  std::uint32_t pixel_;
};

// Two unit vectors perpendicular to n and to each other (Duff et al. 2017, "Building an orthonormal
// basis, revisited"). Difference from the paper: n.z = -0 is treated as +0, so that normals that
// compare equal have equal bases, independent of a triangle's winding order.
HEAPWOOD_INLINE void basis(Vec3 n, Vec3& s, Vec3& t) {
  const float sign = n.z >= 0 ? 1.0f : -1.0f;
  const float a = -1.0f / (sign + n.z);
  const float b = n.x * n.y * a;
  s = {1.0f + sign * n.x * n.x * a, sign * b, -sign * n.x};
  t = {b, sign + n.y * n.y * a, -n.y};
}

// A random direction around n, distributed by the cosine.
HEAPWOOD_INLINE Vec3 cosine_direction(Vec3 n, Point2 u) {
  const float r = std::sqrt(u.x);
  const float phi = 6.28318530718f * u.y;
  Vec3 s, t;
  basis(n, s, t);
  return normalize(s * (r * std::cos(phi)) + t * (r * std::sin(phi)) +
                   n * std::sqrt(simt::max(0.0f, 1 - u.x)));
}

// A random point of the unit disc, distributed uniformly.
HEAPWOOD_INLINE Point2 disc(Point2 u) {
  const float r = std::sqrt(u.x);
  const float phi = 6.28318530718f * u.y;
  return {r * std::cos(phi), r * std::sin(phi)};
}

}  // namespace heapwood::render
