// SPDX-License-Identifier: MIT
// Seeded numbers and smooth noise for procedural scenes, the same on every machine.
#pragma once

#include <cstdint>

#include "geometry/vec.hpp"

namespace heapwood::scenes {

// SplitMix64's finalizer: every bit of the result depends on every bit of x.
inline constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// A number in [0, 1), from the upper 24 bits.
inline float unit_float(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

// A sequence of random numbers. Several draws must not be arguments of one call, because the
// compiler chooses their order; in a braced list the order is fixed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}
  std::uint64_t bits() { return mix(state_++); }
  float uniform(float low, float high) { return low + (high - low) * unit_float(bits()); }
  unsigned below(unsigned n) { return static_cast<unsigned>((bits() >> 32) * n >> 32); }
  bool chance(float p) { return unit_float(bits()) < p; }

 private:
  std::uint64_t state_;
};

// Smooth noise in about [-1, 1], one feature per unit of length.
float noise(Vec3 p, std::uint64_t seed);

// A sum of octaves of noise, each twice as fine and half as high as the one before.
float noise(Vec3 p, std::uint64_t seed, unsigned octaves);

}  // namespace heapwood::scenes
