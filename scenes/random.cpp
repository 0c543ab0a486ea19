// SPDX-License-Identifier: MIT
#include "scenes/random.hpp"

#include <cmath>

namespace heapwood::scenes {
namespace {

float lattice(std::int64_t x, std::int64_t y, std::int64_t z, std::uint64_t seed) {
  const auto u = [](std::int64_t i) { return static_cast<std::uint64_t>(i) & 0x1fffff; };
  return 2 * unit_float(mix((u(x) << 42 | u(y) << 21 | u(z)) ^ seed)) - 1;
}

float lerp(float a, float b, float t) { return a + (b - a) * t; }

}  // namespace

float noise(Vec3 p, std::uint64_t seed) {
  const Vec3 base = {std::floor(p.x), std::floor(p.y), std::floor(p.z)};
  const Vec3 f = p - base;
  const auto fade = [](float t) { return t * t * t * (t * (t * 6 - 15) + 10); };
  const float fx = fade(f.x), fy = fade(f.y), fz = fade(f.z);
  const auto x = static_cast<std::int64_t>(base.x), y = static_cast<std::int64_t>(base.y),
             z = static_cast<std::int64_t>(base.z);
  float plane[2];
  for (int k = 0; k < 2; ++k) {
    plane[k] =
        lerp(lerp(lattice(x, y, z + k, seed), lattice(x + 1, y, z + k, seed), fx),
             lerp(lattice(x, y + 1, z + k, seed), lattice(x + 1, y + 1, z + k, seed), fx), fy);
  }
  return lerp(plane[0], plane[1], fz);
}

float noise(Vec3 p, std::uint64_t seed, unsigned octaves) {
  float sum = 0, height = 1;
  for (unsigned i = 0; i < octaves; ++i, height *= 0.5f, p = p * 2.03f)
    sum += height * noise(p, seed + i);
  return sum;
}

}  // namespace heapwood::scenes
