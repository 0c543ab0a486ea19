// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::workloads {

// A hash of two numbers, which is also the source of random numbers of strings and particles.
HEAPWOOD_INLINE std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b + 1;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
  }
  return x ^ x >> 32;
}

}  // namespace heapwood::workloads
