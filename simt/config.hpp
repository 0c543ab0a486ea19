// SPDX-License-Identifier: MIT
// The only macros of the project: what a function that runs on the GPU and on CPU threads is marked with.
#pragma once

#if defined(__CUDACC__)
#define SIMT_FN __host__ __device__
#define SIMT_INLINE __host__ __device__ __forceinline__
#else
#define SIMT_FN
#define SIMT_INLINE inline
#endif

// For large functions off the hot path: kept out of line, so that they are compiled once and cost the callers no registers.
#if defined(__CUDACC__)
#define SIMT_OUTLINE __host__ __device__ __noinline__
#else
#define SIMT_OUTLINE inline
#endif

// Loops on the GPU: unrolled, where indices must be constants; partly unrolled; kept rolled, where instruction-cache misses
// would cost more than the loop's own branches. The host compiler decides for itself.
#if defined(__CUDA_ARCH__)
#define SIMT_UNROLLED _Pragma("unroll")
#define SIMT_UNROLLED_4 _Pragma("unroll 4")
#define SIMT_ROLLED _Pragma("unroll 1")
#else
#define SIMT_UNROLLED
#define SIMT_UNROLLED_4
#define SIMT_ROLLED
#endif

// Functions of the CPU that exist once for every x86-64 processor and once for those with AVX2 (lanes.hpp); SIMT_CLONED_512 once more
// for those with AVX-512, whose masks and 32 registers help vectors of eight numbers, too. Not under sanitizers, whose runtime is not
// there yet when the program chooses, and not where the linker cannot choose.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIMT_CLONED __attribute__((target_clones("avx2", "default")))
#if __GNUC__ >= 12
#define SIMT_CLONED_512 __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SIMT_CLONED_512 SIMT_CLONED
#endif
#else
#define SIMT_CLONED
#define SIMT_CLONED_512
#endif
