// SPDX-License-Identifier: MIT
// Atomic access to a plain word, in device scope on the GPU and between threads on the CPU (where ThreadSanitizer sees
// it). Allocators and builders use this and nothing else to touch a word that two threads may touch at once.
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

// The same for 64 bits that are known to be in global memory. What libcu++ takes is a generic address, and behind each addition of 64
// bits at one the compiler asks whether it was shared memory after all: then no warp goes on before the answer has come from L2, be
// the result of any use or not, and twenty instructions lie in the cache that nobody executes.
class global_ref : public cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> {
 public:
  SIMT_INLINE explicit global_ref(std::uint64_t& word)
      : cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(word) {
#if defined(__CUDA_ARCH__)
    global_ = __cvta_generic_to_global(&word);
#endif
  }
  // Sets it to 0, relaxed, by a read-modify-write: whoever acquires the 0 sees what was released with the value before.
  SIMT_INLINE void clear() const {
#if defined(__CUDA_ARCH__)
    [[maybe_unused]] std::uint64_t old;
    asm volatile("atom.relaxed.gpu.global.and.b64 %0, [%1], 0;" : "=l"(old) : "l"(global_) : "memory");
#else
    fetch_and(0, relaxed);
#endif
  }

#if defined(__CUDA_ARCH__)
  SIMT_INLINE std::uint64_t fetch_add(std::uint64_t value, cuda::memory_order order) const {
    std::uint64_t old;
    if (order == relaxed) {
      asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(global_), "l"(value) : "memory");
    } else {  // nobody needs one half of it alone
      asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(global_), "l"(value) : "memory");
    }
    return old;
  }
  SIMT_INLINE std::uint64_t fetch_sub(std::uint64_t value, cuda::memory_order order) const {
    return fetch_add(0 - value, order);
  }

 private:
  std::size_t global_;
#endif
};

// For words shared between host and GPU while a kernel runs (the abort flag).
template <class T>
using system_atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;

// Orders all of a thread's accesses before it against all behind it, in device scope: for many words at once, where
// `one_fence_for_many`. Not on CPU threads, for ThreadSanitizer does not know fences: there each operation has its order.
#if defined(__CUDA_ARCH__)
inline constexpr bool one_fence_for_many = true;
#else
inline constexpr bool one_fence_for_many = false;
#endif
SIMT_INLINE void fence_acq_rel() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
#endif
}

}  // namespace heapwood::simt
