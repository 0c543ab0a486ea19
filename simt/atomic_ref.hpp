// SPDX-License-Identifier: MIT
// Atomic access to a plain word: device scope on the GPU, between threads on the CPU, where
// ThreadSanitizer observes it. Allocators and builders access every word that several threads may
// access concurrently through these types only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/atomic>

#include "simt/config.hpp"

namespace heapwood::simt {

template <class T>
using atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;

inline constexpr auto relaxed = cuda::memory_order_relaxed;
inline constexpr auto acquire = cuda::memory_order_acquire;
inline constexpr auto release = cuda::memory_order_release;
inline constexpr auto acq_rel = cuda::memory_order_acq_rel;

// The memory order of an atomic write to memory that is later freed and reused, if another thread
// overwrites this word before the free.
// In C++ only a release orders the write before the stores of the memory's next owner. On a GPU it
// may be relaxed: PTX orders accesses to one location by coherence, and the overwriting access
// comes before those stores. A release would wait for all of the thread's own stores.
HEAPWOOD_FN constexpr auto order_by_coherence() {
#if defined(__CUDA_ARCH__)
  return relaxed;
#else
  return release;
#endif
}

// atomic_ref of a 64-bit word that is known to be in global memory. For a generic address the
// compiler emits a test for shared memory at each 64-bit addition, and the warp waits for the
// answer from L2 even if it does not use the result.
class global_ref : public cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> {
 public:
  HEAPWOOD_INLINE explicit global_ref(std::uint64_t& word)
      : cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(word) {
#if defined(__CUDA_ARCH__)
    global_ = __cvta_generic_to_global(&word);
#endif
  }
  // Stores 0, relaxed, as a read-modify-write: it continues the release sequence, so a thread that
  // acquires the 0 sees everything that was released with the preceding value.
  HEAPWOOD_INLINE void clear() const {
#if defined(__CUDA_ARCH__)
    [[maybe_unused]] std::uint64_t old;
    asm volatile("atom.relaxed.gpu.global.and.b64 %0, [%1], 0;"
                 : "=l"(old)
                 : "l"(global_)
                 : "memory");
#else
    fetch_and(0, relaxed);
#endif
  }

#if defined(__CUDA_ARCH__)
  HEAPWOOD_INLINE std::uint64_t fetch_add(std::uint64_t value, cuda::memory_order order) const {
    std::uint64_t old;
    if (order == relaxed) {
      asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                   : "=l"(old)
                   : "l"(global_), "l"(value)
                   : "memory");
    } else {  // for the other orders; no caller needs acquire or release alone
      asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;"
                   : "=l"(old)
                   : "l"(global_), "l"(value)
                   : "memory");
    }
    return old;
  }
  HEAPWOOD_INLINE std::uint64_t fetch_sub(std::uint64_t value, cuda::memory_order order) const {
    return fetch_add(0 - value, order);
  }

 private:
  std::size_t global_;
#endif
};

// For words that host and GPU access while a kernel runs (the abort flag).
template <class T>
using system_atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;

// fence_acq_rel() orders all of a thread's preceding accesses before all subsequent ones, in device
// scope: one fence for many words, if `has_device_fence`. CPU threads do not use it, since
// ThreadSanitizer does not support fences: there each operation states its own order.
#if defined(__CUDA_ARCH__)
inline constexpr bool has_device_fence = true;
#else
inline constexpr bool has_device_fence = false;
#endif
HEAPWOOD_INLINE void fence_acq_rel() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
#endif
}

}  // namespace heapwood::simt
