// SPDX-License-Identifier: MIT
// Size classes: 16 bytes, then every power of two and every three quarters of one: 32, 48, 64, 96,
// 128, 192, ... These are Halloc's sizes without 24 bytes, which 16-byte alignment rules out. At
// most a third of a block is wasted, half at 17 bytes. Class 0 is one granule, an odd class is a
// power of two and an even one is three times a power of two, so dividing by a class needs only
// shifts and a division by the constant 3.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::size_class {

// The smallest class whose blocks have at least `bytes` bytes, for at most 2^34 bytes.
HEAPWOOD_INLINE std::uint32_t of(std::size_t bytes) {
  const auto granules = static_cast<std::uint32_t>((bytes + granule - 1) / granule);
  if (granules <= 1) return 0;
  const auto log = simt::highest_bit(granules - 1) + 1;  // rounded up
  const bool three_quarters = log >= 2 && granules <= (3u << log) / 4;
  return 2 * log - (three_quarters ? 2 : 1);
}

HEAPWOOD_INLINE std::uint32_t granules(std::uint32_t k) {
  return k == 0 ? 1 : (3 - (k & 1)) << ((k - 1) / 2);
}
HEAPWOOD_INLINE std::size_t bytes(std::uint32_t k) { return granules(k) * std::size_t{granule}; }

// Returns n / granules(k) without a general division.
HEAPWOOD_INLINE std::uint32_t divide(std::uint32_t n, std::uint32_t k) {
  if (k == 0) return n;
  n >>= (k - 1) / 2;
  return (k & 1) != 0 ? n / 2 : n / 3;
}

}  // namespace heapwood::alloc::size_class
