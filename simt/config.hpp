// SPDX-License-Identifier: MIT
// The project's macros: attributes of functions that run on the GPU and on CPU threads. The library
// has one more, HEAPWOOD_HERE (include/heapwood/handle_operations.hpp).
#pragma once

#if defined(__CUDACC__)
#define SIMT_FN __host__ __device__
#define SIMT_INLINE __host__ __device__ __forceinline__
#else
#define SIMT_FN
#define SIMT_INLINE inline
#endif

// The inline namespace of types that mean the GPU under nvcc and CPU threads elsewhere. A program
// that passes one of them between two such translation units does not link.
#if defined(__CUDACC__)
#define SIMT_TARGET on_gpu
#else
#define SIMT_TARGET on_cpu_threads
#endif

// For large functions on slow paths, or called at many places: not inlined, so that they are
// compiled once and cost their callers no registers.
#if defined(__CUDACC__)
#define SIMT_OUTLINE inline __host__ __device__ __noinline__
#else
#define SIMT_OUTLINE inline
#endif

// Loops on the GPU: unrolled, if indices must be constants; unrolled by 4; kept rolled, if
// instruction-cache misses would cost more than the loop's branches. The host compiler decides
// itself.
#if defined(__CUDA_ARCH__)
#define SIMT_UNROLLED _Pragma("unroll")
#define SIMT_UNROLLED_4 _Pragma("unroll 4")
#define SIMT_ROLLED _Pragma("unroll 1")
#else
#define SIMT_UNROLLED
#define SIMT_UNROLLED_4
#define SIMT_ROLLED
#endif

// CPU functions that are compiled for every x86-64 processor and again for AVX2 (lanes.hpp);
// SIMT_CLONED_512 again for AVX-512, whose masks and 32 registers also help vectors of 8. The
// dynamic linker selects a version at program start. Disabled under sanitizers, whose runtime is
// not initialized at that time, and where the linker cannot select.
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

// For users of the library: a function that threads of the heap's device call.
#define HEAPWOOD_DEVICE SIMT_FN
