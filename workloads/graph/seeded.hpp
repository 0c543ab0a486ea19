// SPDX-License-Identifier: MIT
// Seeded numbers for graphs and batches, in integers: the same to the bit on every machine.
#pragma once

#include <cstdint>

namespace heapwood::workloads::graph {

// SplitMix64's finalizer: every bit of the result depends on every bit of x.
inline constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// In [0, n), from the upper 32 bits. A number is preferred to another by at most n / 2^32.
inline constexpr std::uint32_t below(std::uint64_t bits, std::uint32_t n) {
  return static_cast<std::uint32_t>((bits >> 32) * n >> 32);
}

// A sequence in which each number is computed independently, so that a generator can draw its edges
// twice, first to count and then to store them, without keeping them.
class Draws {
 public:
  explicit constexpr Draws(std::uint64_t seed) : start_(mix(seed)) {}
  constexpr std::uint64_t bits(std::uint64_t index) const { return mix(start_ + index); }

 private:
  std::uint64_t start_;
};

}  // namespace heapwood::workloads::graph
