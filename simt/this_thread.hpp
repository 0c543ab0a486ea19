// SPDX-License-Identifier: MIT
// ThisThread: the calling thread as a lane of the Warp concept, in kernels of any shape that were
// not started by a launcher of simt/, and in CPU threads of any program. It has no state and no
// control block: aborted() is false, since code that runs without a launcher has no time limit.
//   nvcc          a lane of the hardware warp
//   host compiler a warp of width 1
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/math.hpp"
#if defined(__CUDACC__)
#include "simt/cuda_warp.hpp"
#else
#include <atomic>
#include <optional>

#include "simt/serial_warp.hpp"
#endif

namespace heapwood::simt {

#if defined(__CUDACC__)

class CudaThread : public CudaLanes<32, AnyBlock> {
 public:
#if defined(__CUDA_ARCH__)
  // Index of the warp among all warp slots of the GPU. Unlike an index in the launch, it differs
  // between kernels that run at the same time, and takes two special registers to read. Allocators
  // use it only to spread contention, so it may change while the thread is inside one.
  HEAPWOOD_INLINE unsigned worker() const {
    unsigned warp;
    asm("mov.u32 %0, %%warpid;" : "=r"(warp));
    return sm() * 64 + warp;
  }
  HEAPWOOD_INLINE unsigned workers() const {
    unsigned multiprocessors;
    asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
    return multiprocessors * 64;
  }
  HEAPWOOD_INLINE unsigned sm() const {
    unsigned id;
    asm("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
  }
  HEAPWOOD_INLINE Index3 block_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  HEAPWOOD_INLINE Index3 thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
#else
  HEAPWOOD_FN Index3 block_index() const;
  HEAPWOOD_FN Index3 thread_index() const;
#endif
  HEAPWOOD_INLINE bool aborted() const { return false; }
  HEAPWOOD_INLINE void fail(std::uint32_t, std::uint64_t = 0, std::uint64_t = 0,
                            std::uint64_t = 0) const {}
};
using ThisThread = CudaThread;

#else

// Numbers the threads of the program in the order of their first use.
inline unsigned this_thread_number() {
  static std::atomic<unsigned> count{0};
  // relaxed: the number orders no other memory.
  thread_local const unsigned number = count.fetch_add(1, std::memory_order_relaxed);
  return number;
}

class CpuThread : public SerialWarp {
 public:
  CpuThread() : SerialWarp(this_thread_number(), 1, nullptr) {}
  bool aborted() const { return false; }
  void fail(std::uint32_t, std::uint64_t = 0, std::uint64_t = 0, std::uint64_t = 0) const {}
  Index3 block_index() const { return {}; }
  Index3 thread_index() const { return {loop_index().value_or(worker()), 0, 0}; }

  // The index for which the calling thread of for_each_thread (heapwood/parallel.hpp) executes.
  static std::optional<unsigned>& loop_index() {
    thread_local std::optional<unsigned> index;
    return index;
  }
};
using ThisThread = CpuThread;

#endif

// Whether ThisThread's functions have bodies in this pass of the compiler: not in nvcc's host pass,
// where host-device functions are compiled a second time.
#if defined(__CUDACC__) && !defined(__CUDA_ARCH__)
inline constexpr bool this_thread_runs = false;
#else
inline constexpr bool this_thread_runs = true;
#endif

}  // namespace heapwood::simt
