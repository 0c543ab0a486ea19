// SPDX-License-Identifier: MIT
// What the GPU has an instruction for and C++ has no word: loads of read-only memory in one piece, a quick reciprocal,
// a product that the compiler may not fuse. On the CPU the plain expression.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "simt/config.hpp"

namespace heapwood::simt {

// Loads 4, 8 or 16 bytes (aligned to their size) that nobody writes while the kernel runs.
template <class T>
SIMT_INLINE T load_constant(const T* from) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) &&
                alignof(T) == sizeof(T));
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

// The same of 16 bytes that are read once: they take no room in L1 from what is read again.
template <class T>
SIMT_INLINE T load_once(const T* from) {
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

// Asks for the sector at an address, to have it in L1 soon. Of no effect on a CPU.
SIMT_INLINE void prefetch_l1([[maybe_unused]] const void* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
#endif
}

// Asks for the line at an address, to have it nearer (in L2) when somebody loads from it. Of no effect on a CPU, whose own prefetcher
// follows such streams.
SIMT_INLINE void prefetch([[maybe_unused]] const void* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

// 1/x to about 1 ulp; 1/0 and 1/denormal are infinite. A true division costs ten times as much on the GPU.
SIMT_INLINE float approximate_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1.0f / x;
#endif
}

// Keeps the branch around it: without it nvcc 13.0 makes selects of a few assignments, which those pay who do not take it.
SIMT_INLINE void keep_branch() {
#if defined(__CUDA_ARCH__)
  asm volatile("");
#endif
}

// 1 if a < b, else 0, also where one of them is not a number. For sums of many: by the difference's sign, an addition and one
// more operation on the GPU; of a comparison nvcc 13.0 makes three. The difference must not overflow.
SIMT_INLINE std::uint32_t counted_less(float a, float b) {
#if defined(__CUDA_ARCH__)
  return std::bit_cast<std::uint32_t>(a - b) >> 31;
#else
  return a < b ? 1 : 0;
#endif
}

// The bits of b where the mask has ones, of a elsewhere. One operation, which nvcc 13.0 does not make of the expression.
SIMT_INLINE std::uint32_t select_bits(std::uint32_t a, std::uint32_t b, std::uint32_t mask) {
#if defined(__CUDA_ARCH__)
  std::uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(r) : "r"(a), "r"(b), "r"(mask));
  return r;
#else
  return (a & ~mask) | (b & mask);
#endif
}

// A product that is never fused with an addition, for results that must round alike wherever they are computed.
SIMT_INLINE float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace heapwood::simt
