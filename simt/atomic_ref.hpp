// SPDX-License-Identifier: MIT
// Atomic access to a plain word, in device scope on the GPU and between threads on the CPU (where ThreadSanitizer sees
// it). Allocators and builders use this and nothing else to touch a word that two threads may touch at once.
#pragma once

#include <cuda/atomic>

#include "simt/config.hpp"

namespace heapwood::simt {

template <class T>
using atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_device>;

// For words shared between host and GPU while a kernel runs (the abort flag).
template <class T>
using system_atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;

inline constexpr auto relaxed = cuda::memory_order_relaxed;
inline constexpr auto acquire = cuda::memory_order_acquire;
inline constexpr auto release = cuda::memory_order_release;
inline constexpr auto acq_rel = cuda::memory_order_acq_rel;

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
