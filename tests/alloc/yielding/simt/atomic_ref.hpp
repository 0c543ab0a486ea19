// SPDX-License-Identifier: MIT
// Replaces simt/atomic_ref.hpp if this folder comes first in the include path. The interface is the
// same, but a thread occasionally yields before an atomic operation. With few cores this widens
// race windows of a few instructions. A thread that has lost a second to other programs this way
// yields no more. All sources of an executable must be compiled with it.
// A test can also run code before the atomic operations of its thread: interrupt() in
// test_direct_ouroboros.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <cuda/atomic>
#include <thread>

namespace heapwood::simt {

struct BeforeAtomic {
  virtual void operation() = 0;

 protected:
  ~BeforeAtomic() = default;
};
inline thread_local BeforeAtomic* before_atomic = nullptr;

inline void maybe_yield() {
  if (before_atomic != nullptr) before_atomic->operation();
  thread_local std::uint32_t state =
      static_cast<std::uint32_t>(std::hash<std::thread::id>{}(std::this_thread::get_id())) | 1;
  state = state * 1664525u + 1013904223u;
  if (state >> 27 != 0) return;
  using Clock = std::chrono::steady_clock;
  thread_local Clock::duration lost{};
  if (lost > std::chrono::seconds(1)) return;
  const Clock::time_point start = Clock::now();
  std::this_thread::yield();
  lost += Clock::now() - start;
}

template <class T>
class atomic_ref {
  using Order = cuda::memory_order;
  using Ref = cuda::atomic_ref<T, cuda::thread_scope_device>;

 public:
  explicit atomic_ref(T& word) : ref_(word) {}
  T load(Order order) const { return yielded().load(order); }
  void store(T value, Order order) const { yielded().store(value, order); }
  T exchange(T value, Order order) const { return yielded().exchange(value, order); }
  bool compare_exchange_strong(T& expected, T value, Order done, Order failed) const {
    return yielded().compare_exchange_strong(expected, value, done, failed);
  }
  bool compare_exchange_weak(T& expected, T value, Order done, Order failed) const {
    return yielded().compare_exchange_weak(expected, value, done, failed);
  }
  T fetch_add(T value, Order order) const { return yielded().fetch_add(value, order); }
  T fetch_sub(T value, Order order) const { return yielded().fetch_sub(value, order); }
  T fetch_or(T value, Order order) const { return yielded().fetch_or(value, order); }
  T fetch_and(T value, Order order) const { return yielded().fetch_and(value, order); }
  T fetch_max(T value, Order order) const { return yielded().fetch_max(value, order); }
  T fetch_min(T value, Order order) const { return yielded().fetch_min(value, order); }

 private:
  const Ref& yielded() const { return maybe_yield(), ref_; }

  Ref ref_;
};

template <class T>
using system_atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;

using global_ref = atomic_ref<std::uint64_t>;

inline constexpr auto relaxed = cuda::memory_order_relaxed;
inline constexpr auto acquire = cuda::memory_order_acquire;
inline constexpr auto release = cuda::memory_order_release;
inline constexpr auto acq_rel = cuda::memory_order_acq_rel;
constexpr auto order_by_coherence() { return release; }  // never on a GPU
inline constexpr bool has_device_fence = false;
inline void fence_acq_rel() {}

}  // namespace heapwood::simt
