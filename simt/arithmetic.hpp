// SPDX-License-Identifier: MIT
// Operations that have a GPU instruction but no C++ expression: vector loads of read-only memory,
// prefetches, an approximate reciprocal, a product that the compiler may not fuse. On the CPU each
// is the plain expression.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "simt/config.hpp"

namespace heapwood::simt {

// Loads 4, 8 or 16 aligned bytes by one instruction. No thread may write them during the kernel.
template <class T>
HEAPWOOD_INLINE T load_constant(const T* from) {
  static_assert(std::is_trivially_copyable_v<T> &&
                (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) && alignof(T) == sizeof(T));
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 16) {
    return std::bit_cast<T>(__ldg(reinterpret_cast<const uint4*>(from)));
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(__ldg(reinterpret_cast<const uint2*>(from)));
  } else {
    return std::bit_cast<T>(__ldg(reinterpret_cast<const unsigned*>(from)));
  }
#else
  return *from;
#endif
}

// Loads 16 read-only bytes that are read once, without L1: data that is read again stays there.
template <class T>
HEAPWOOD_INLINE T load_streaming(const T* from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) == 16 && alignof(T) == 16);
#if defined(__CUDA_ARCH__)
  uint4 words;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
      : "l"(from));
  return std::bit_cast<T>(words);
#else
  return *from;
#endif
}

// Prefetches the sector at an address into L1 of a GPU.
HEAPWOOD_INLINE void prefetch_l1([[maybe_unused]] const void* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
#endif
}

// Prefetches the line at an address into L2 of a GPU. Not on a CPU, whose hardware prefetcher
// follows sequential streams.
HEAPWOOD_INLINE void prefetch([[maybe_unused]] const void* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

// 1/x to about 1 ulp; 1/0 and 1/denormal are infinite. A division costs ten times as much.
HEAPWOOD_INLINE float approximate_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1.0f / x;
#endif
}

// Keeps the branch around it: nvcc 13.0 turns a few conditional assignments into selects, which
// threads that do not take the branch execute as well.
HEAPWOOD_INLINE void keep_branch() {
#if defined(__CUDA_ARCH__)
  asm volatile("");
#endif
}

// 1 if a < b, else 0, also if either is NaN. For counting on the GPU: takes the sign of the
// difference, with two operations; nvcc 13.0 compiles a comparison to three. The difference must
// not overflow, and `a` must not be -0: on the GPU -0 counts as less than +0.
HEAPWOOD_INLINE std::uint32_t counted_less(float a, float b) {
#if defined(__CUDA_ARCH__)
  return std::bit_cast<std::uint32_t>(a - b) >> 31;
#else
  return a < b ? 1 : 0;
#endif
}

// The bits of b where the mask is 1, of a where it is 0. One operation on the GPU; nvcc 13.0
// compiles the expression to more.
HEAPWOOD_INLINE std::uint32_t select_bits(std::uint32_t a, std::uint32_t b, std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  std::uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(r) : "r"(a), "r"(b), "r"(mask));
  return r;
#else
  return (a & ~mask) | (b & mask);
#endif
}

// A product never fused with an addition, for results that round identically on every device.
HEAPWOOD_INLINE float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace heapwood::simt
