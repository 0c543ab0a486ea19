// SPDX-License-Identifier: MIT
// Roots and logarithms in integers, which do not depend on the C library.
#pragma once

#include <cstdint>

namespace heapwood::workloads::graph {

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

// log2(x) in units of 2^-24, rounded down; 0 < x < 2^32. Squaring doubles the logarithm: whenever
// the square reaches 2, the next bit is 1.
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
