// SPDX-License-Identifier: MIT
// The project's macros: attributes of functions that run on the GPU and on CPU threads. The
// library has one more, HEAPWOOD_HERE (include/heapwood/handle_operations.hpp). Every header of
// the library includes it first: it rejects an older language with one message. The headers that
// heap.hpp needs are C++17; the others include cxx20.hpp.
#pragma once

#if __cplusplus < 201703L
#error "heapwood: compile with -std=c++17 or later"
// g++ continues after #error, with more messages; it stops at a missing file, whose name is the
// message.
#include <heapwood/compile_with_std_cxx17>
#endif

// NVRTC has no host headers: libcu++'s types replace the C++ library's, only device code is
// compiled.
#if defined(__CUDACC_RTC__)
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace heapwood {
namespace std = ::cuda::std;
}
#endif

// Makes a constructor run only at compile time, if the language can require that.
#if __cplusplus >= 202002L
#define HEAPWOOD_CONSTEVAL consteval
#else
#define HEAPWOOD_CONSTEVAL constexpr
#endif

// A type whose objects may overlap those of other types. NVRTC knows only one of the two spellings.
#if defined(__CUDACC_RTC__)
#define HEAPWOOD_MAY_ALIAS __attribute__((__may_alias__))
#else
#define HEAPWOOD_MAY_ALIAS [[gnu::may_alias]]
#endif

#if defined(__CUDACC__)
#define HEAPWOOD_FN __host__ __device__
#define HEAPWOOD_INLINE __host__ __device__ __forceinline__
#else
#define HEAPWOOD_FN
#define HEAPWOOD_INLINE inline
#endif

// The inline namespace of types that are for the GPU if nvcc compiles them and for CPU threads
// otherwise. Its name differs, so that a program that passes such a type between a file compiled by
// nvcc and another one does not link.
#if defined(__CUDACC__)
#define HEAPWOOD_TARGET on_gpu
#else
#define HEAPWOOD_TARGET on_cpu_threads
#endif

// For large functions on slow paths, or called at many places: not inlined, so that they are
// compiled once and cost their callers no registers.
#if defined(__CUDACC__)
#define HEAPWOOD_OUTLINE inline __host__ __device__ __noinline__
#else
#define HEAPWOOD_OUTLINE inline
#endif

// Loops on the GPU: unrolled, if indices must be constants; unrolled by 4; kept rolled, if
// instruction-cache misses would cost more than the loop's branches. The host compiler decides
// itself.
#if defined(__CUDA_ARCH__)
#define HEAPWOOD_UNROLLED _Pragma("unroll")
#define HEAPWOOD_UNROLLED_4 _Pragma("unroll 4")
#define HEAPWOOD_ROLLED _Pragma("unroll 1")
#else
#define HEAPWOOD_UNROLLED
#define HEAPWOOD_UNROLLED_4
#define HEAPWOOD_ROLLED
#endif

// CPU functions with vectors (lanes.hpp). HEAPWOOD_AVX2: compiled for AVX2 on x86-64, and called
// only if the processor has it. HEAPWOOD_CLONED: compiled for every x86-64 processor, and again for
// AVX2 and AVX-512, whose masks and 32 registers also help vectors of 8; the dynamic linker selects
// a version at program start. Not under sanitizers, whose runtime is not initialized at that time,
// and where the linker cannot select.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__)
#define HEAPWOOD_AVX2 __attribute__((target("avx2")))
#else
#define HEAPWOOD_AVX2
#endif
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define HEAPWOOD_CLONED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define HEAPWOOD_CLONED __attribute__((target_clones("avx2", "default")))
#endif
#else
#define HEAPWOOD_CLONED
#endif

// For users of the library: marks a function that threads of the heap's device call.
#define HEAPWOOD_DEVICE HEAPWOOD_FN
