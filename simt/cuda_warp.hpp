// SPDX-License-Identifier: MIT
// The Warp concept on the GPU: `Width` consecutive lanes of a hardware warp (32; 8 or 16 for
// tiles). Collectives are the *_sync intrinsics with the tile's mask, which are correct under
// independent thread scheduling (Volta and later). The bodies exist in the device pass only; the
// functions are host-device so that templates over Warp compile for both.
//   CudaLanes   lanes and collectives, without state
//   CudaWarp    adds the control block of a launch
// `Position` tells where a thread is: AnyBlock in grids and blocks of any shape, LinearBlock in
// one-dimensional ones, with fewer special registers to read.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/control.hpp"
#include "simt/math.hpp"

namespace heapwood::simt {

#if defined(__CUDA_ARCH__)
struct AnyBlock {
  // A block's threads fill warps in the order of their linear index, so threadIdx.x alone is the
  // lane of several threads of a warp if the block has rows of fewer than 32 threads.
  static HEAPWOOD_INLINE unsigned lane() {
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
  }
  static HEAPWOOD_INLINE unsigned warps_per_block() {
    return (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  }
  static HEAPWOOD_INLINE unsigned warp() {
    const unsigned thread =
        linear_index({threadIdx.x, threadIdx.y, threadIdx.z}, {blockDim.x, blockDim.y, blockDim.z});
    const unsigned block =
        linear_index({blockIdx.x, blockIdx.y, blockIdx.z}, {gridDim.x, gridDim.y, gridDim.z});
    return block * warps_per_block() + thread / 32;
  }
  static HEAPWOOD_INLINE unsigned warps() {
    return gridDim.x * gridDim.y * gridDim.z * warps_per_block();
  }
};

struct LinearBlock {
  static HEAPWOOD_INLINE unsigned lane() { return threadIdx.x & 31u; }
  // The product is not computed in threads, of which there may be more than 2^32.
  static HEAPWOOD_INLINE unsigned warp() {
    return blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  }
  static HEAPWOOD_INLINE unsigned warps() { return gridDim.x * (blockDim.x / 32); }
};
#else
struct AnyBlock {};
struct LinearBlock {};
#endif

template <unsigned Width = 32, class Position = AnyBlock>
class CudaLanes {
  static_assert(Width == 8 || Width == 16 || Width == 32);

 public:
  static constexpr unsigned width = Width;

#if defined(__CUDA_ARCH__)
  HEAPWOOD_INLINE unsigned lane() const { return Position::lane() & (Width - 1); }
  HEAPWOOD_INLINE unsigned worker() const {
    return Position::warp() * (32 / Width) + Position::lane() / Width;
  }
  HEAPWOOD_INLINE unsigned workers() const { return Position::warps() * (32 / Width); }
  HEAPWOOD_INLINE unsigned sm() const {
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
  }

  HEAPWOOD_INLINE void sync() const { __syncwarp(mask()); }
  HEAPWOOD_INLINE std::uint32_t ballot(bool predicate) const {
    return (__ballot_sync(mask(), predicate) & mask()) >> first();
  }
  HEAPWOOD_INLINE bool any(bool predicate) const { return __any_sync(mask(), predicate) != 0; }
  template <class T>
  HEAPWOOD_INLINE T shfl(T value, unsigned source) const {
    return __shfl_sync(mask(), value, static_cast<int>(source), Width);
  }
  template <class T>
  HEAPWOOD_INLINE T* shfl(T* pointer, unsigned source) const {
    return reinterpret_cast<T*>(__shfl_sync(mask(), reinterpret_cast<unsigned long long>(pointer),
                                            static_cast<int>(source), Width));
  }
  HEAPWOOD_INLINE std::uint32_t reduce_add(std::uint32_t value) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(mask(), value);
#else
    for (unsigned d = Width / 2; d > 0; d /= 2) value += __shfl_xor_sync(mask(), value, d, Width);
    return value;
#endif
  }
  HEAPWOOD_INLINE std::uint32_t reduce_min(std::uint32_t value) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(mask(), value);
#else
    for (unsigned d = Width / 2; d > 0; d /= 2)
      value = min(value, __shfl_xor_sync(mask(), value, d, Width));
    return value;
#endif
  }
  HEAPWOOD_INLINE std::uint32_t reduce_max(std::uint32_t value) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(mask(), value);
#else
    for (unsigned d = Width / 2; d > 0; d /= 2)
      value = max(value, __shfl_xor_sync(mask(), value, d, Width));
    return value;
#endif
  }
  HEAPWOOD_INLINE std::uint32_t inclusive_add(std::uint32_t value) const {
    for (unsigned d = 1; d < Width; d *= 2) {
      const std::uint32_t other = __shfl_up_sync(mask(), value, d, Width);
      if (lane() >= d) value += other;
    }
    return value;
  }

  // All lanes of an active mask have read the same mask, so each of them reaches the *_sync
  // operations that take it; those wait for lanes that diverge in between. The calling lane's own
  // bit is set again because ptxas 13.0 takes a mask that comes from activemask alone for uniform:
  // shuffles with such a mask did not wait for the first lane of a group
  // (tests/library/gpu/measure_reuse.cu).
  HEAPWOOD_INLINE std::uint32_t together() const { return with_own_lane(__activemask() & mask()); }
  HEAPWOOD_INLINE std::uint32_t together(const void* key) const {
    const unsigned active = __activemask() & mask();
    const std::uint32_t all = with_own_lane(active);
    if ((active & (active - 1)) == 0) return all;  // a single lane
    return with_own_lane(__match_any_sync(active, reinterpret_cast<unsigned long long>(key)));
  }
  HEAPWOOD_INLINE void sync(std::uint32_t lanes) const { __syncwarp(lanes << first()); }
  // Masked, because ptxas 13.0 votes over all active lanes, which may belong to several groups.
  HEAPWOOD_INLINE std::uint32_t ballot(std::uint32_t lanes, bool predicate) const {
    return (__ballot_sync(lanes << first(), predicate) >> first()) & lanes;
  }
  template <class T>
  HEAPWOOD_INLINE T shfl(std::uint32_t lanes, T value, unsigned source) const {
    return __shfl_sync(lanes << first(), value, static_cast<int>(source), Width);
  }
  HEAPWOOD_INLINE std::uint64_t reduce_or(std::uint32_t lanes, std::uint64_t value) const {
#if __CUDA_ARCH__ >= 800
    const std::uint64_t high =
        __reduce_or_sync(lanes << first(), static_cast<std::uint32_t>(value >> 32));
    return high << 32 | __reduce_or_sync(lanes << first(), static_cast<std::uint32_t>(value));
#else
    std::uint64_t all = 0;
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      all |= shfl(lanes, value, __ffs(rest) - 1);
    return all;
#endif
  }

  HEAPWOOD_INLINE void scratch_add(std::uint32_t& word, std::uint32_t value) const {
    atomicAdd(&word, value);
  }

  HEAPWOOD_INLINE void pause(unsigned turn) const { __nanosleep(turn < 4 ? 20u << turn : 200u); }

 private:
  HEAPWOOD_INLINE unsigned first() const { return Position::lane() & ~(Width - 1); }
  HEAPWOOD_INLINE std::uint32_t with_own_lane(unsigned lanes) const {
    return (lanes | 1u << Position::lane()) >> first();
  }
  HEAPWOOD_INLINE unsigned mask() const {
    return Width == 32 ? 0xffffffffu : ((1u << Width) - 1) << first();
  }
#else
  // Host pass: declarations only, never called.
  HEAPWOOD_FN unsigned lane() const;
  HEAPWOOD_FN unsigned worker() const;
  HEAPWOOD_FN unsigned workers() const;
  HEAPWOOD_FN unsigned sm() const;
  HEAPWOOD_FN void sync() const;
  HEAPWOOD_FN std::uint32_t ballot(bool) const;
  HEAPWOOD_FN bool any(bool) const;
  template <class T>
  HEAPWOOD_FN T shfl(T, unsigned) const;
  HEAPWOOD_FN std::uint32_t reduce_add(std::uint32_t) const;
  HEAPWOOD_FN std::uint32_t reduce_min(std::uint32_t) const;
  HEAPWOOD_FN std::uint32_t reduce_max(std::uint32_t) const;
  HEAPWOOD_FN std::uint32_t inclusive_add(std::uint32_t) const;
  HEAPWOOD_FN std::uint32_t together() const;
  HEAPWOOD_FN std::uint32_t together(const void*) const;
  HEAPWOOD_FN void sync(std::uint32_t) const;
  HEAPWOOD_FN std::uint32_t ballot(std::uint32_t, bool) const;
  template <class T>
  HEAPWOOD_FN T shfl(std::uint32_t, T, unsigned) const;
  HEAPWOOD_FN std::uint64_t reduce_or(std::uint32_t, std::uint64_t) const;
  HEAPWOOD_FN void scratch_add(std::uint32_t&, std::uint32_t) const;
  HEAPWOOD_FN void pause(unsigned) const;
#endif
};

template <unsigned Width = 32, class Position = AnyBlock>
class CudaWarp : public CudaLanes<Width, Position> {
 public:
  HEAPWOOD_INLINE explicit CudaWarp(Control* control) : control_(control) {}

#if defined(__CUDA_ARCH__)
  HEAPWOOD_INLINE bool aborted() const { return control_->aborted(); }
  HEAPWOOD_INLINE void fail(std::uint32_t code, std::uint64_t a = 0, std::uint64_t b = 0,
                            std::uint64_t c = 0) const {
    control_->fail(code, a, b, c);
  }
#else
  HEAPWOOD_FN bool aborted() const;
  HEAPWOOD_FN void fail(std::uint32_t, std::uint64_t = 0, std::uint64_t = 0,
                        std::uint64_t = 0) const;
#endif

 private:
  Control* control_;
};

}  // namespace heapwood::simt
