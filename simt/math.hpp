// SPDX-License-Identifier: MIT
// Scalar functions with the same results on CPU and GPU. min and max are single instructions on
// both and do not handle NaN.
#pragma once

#include <cstdint>
#include <cstring>

#include "simt/config.hpp"

namespace heapwood::simt {

HEAPWOOD_INLINE float min(float a, float b) {
#if defined(__CUDA_ARCH__)
  return ::fminf(a, b);
#else
  return a < b ? a : b;
#endif
}
HEAPWOOD_INLINE float max(float a, float b) {
#if defined(__CUDA_ARCH__)
  return ::fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}
HEAPWOOD_INLINE std::uint32_t bits(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  std::uint32_t b;
  std::memcpy(&b, &x, sizeof(b));
  return b;
#endif
}
HEAPWOOD_INLINE float from_bits(std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(b);
#else
  float x;
  std::memcpy(&x, &b, sizeof(x));
  return x;
#endif
}

// Maps a float, finite or infinite, to an unsigned integer of the same order, for integer min and
// max.
HEAPWOOD_INLINE std::uint32_t ordered_key(float x) {
  const std::uint32_t b = bits(x);
  return b ^ ((b & 0x80000000u) ? 0xffffffffu : 0x80000000u);
}
HEAPWOOD_INLINE float from_ordered_key(std::uint32_t key) {
  return from_bits(key ^ ((key & 0x80000000u) ? 0x80000000u : 0xffffffffu));
}

// Bit counts, which replace those of <bit>: these are C++20, and in device code nvcc 13.0 compiles
// std::countr_zero, and std::countl_zero of 64 bits, to a constant (tests/structure/conventions.sh
// rejects them).
HEAPWOOD_INLINE unsigned popcount(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popc(x));
#else
  return static_cast<unsigned>(__builtin_popcount(x));
#endif
}
HEAPWOOD_INLINE unsigned popcount(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__popcll(x));
#else
  return static_cast<unsigned>(__builtin_popcountll(x));
#endif
}
// Index of the lowest set bit. For 0 the result must not be used, but is defined on the host.
HEAPWOOD_INLINE unsigned lowest_bit(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__ffs(static_cast<int>(x)) - 1);
#else
  return x == 0 ? 32 : static_cast<unsigned>(__builtin_ctz(x));
#endif
}
HEAPWOOD_INLINE unsigned lowest_bit(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(__ffsll(static_cast<long long>(x)) - 1);
#else
  return x == 0 ? 64 : static_cast<unsigned>(__builtin_ctzll(x));
#endif
}
// Index of the highest set bit. For 0 the result must not be used, but is defined on the host.
HEAPWOOD_INLINE unsigned highest_bit(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return static_cast<unsigned>(63 - __clzll(static_cast<long long>(x)));
#else
  return x == 0 ? ~0u : static_cast<unsigned>(63 - __builtin_clzll(x));
#endif
}

// The largest power of two <= x; x != 0.
HEAPWOOD_INLINE std::uint64_t bit_floor(std::uint64_t x) {
  return std::uint64_t{1} << highest_bit(x);
}

// The index of a thread in its block, or of a block in its grid: x varies fastest. CUDA fills the
// warps of a block in this order.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

HEAPWOOD_INLINE constexpr unsigned linear_index(Index3 index, Index3 size) {
  return (index.z * size.y + index.y) * size.x + index.x;
}

}  // namespace heapwood::simt
