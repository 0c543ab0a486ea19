// SPDX-License-Identifier: MIT
// Seeded numbers, roots and logarithms in integers: the same to the bit on every machine.
#pragma once

#include <cstdint>

#include "scenes/random.hpp"

namespace heapwood::workloads::graph {

using scenes::mix;

// Maps random bits to a number in [0, n); uses the upper 32. The probabilities of two numbers
// differ by at most 2^-32.
inline constexpr std::uint32_t below(std::uint64_t bits, std::uint32_t n) {
  return static_cast<std::uint32_t>((bits >> 32) * n >> 32);
}

// A random sequence in which each number is computed independently. So a generator can draw its
// edges twice, first to count and then to store them, without keeping them.
class Draws {
 public:
  explicit constexpr Draws(std::uint64_t seed) : start_(mix(seed)) {}
  constexpr std::uint64_t bits(std::uint64_t index) const { return mix(start_ + index); }

 private:
  std::uint64_t start_;
};

// The largest r with r * r <= x.
inline constexpr std::uint64_t square_root(std::uint64_t x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    const std::uint64_t next = root | bit;
    if (next * next <= x) root = next;
  }
  return root;
}

// The largest r with r * r * r <= x.
inline constexpr std::uint64_t cube_root(std::uint64_t x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 20; bit != 0; bit >>= 1) {
    const std::uint64_t next = root | bit;
    if (next * next * next <= x) root = next;
  }
  return root;
}

// log2(x) in units of 2^-24, rounded down, for 0 < x < 2^32. Repeatedly squares the mantissa, which
// doubles the logarithm: whenever the square reaches 2, the next bit is 1.
inline constexpr std::uint64_t log2_fixed(std::uint64_t x) {
  std::uint64_t log = 0;
  while (x >> (log + 1) != 0) ++log;
  std::uint64_t mantissa = x << (31 - log);  // in [1, 2), in units of 2^-31
  for (unsigned bit = 0; bit < 24; ++bit) {
    mantissa = mantissa * mantissa >> 31;
    log = log << 1 | mantissa >> 32;
    mantissa >>= mantissa >> 32;
  }
  return log;
}

}  // namespace heapwood::workloads::graph
