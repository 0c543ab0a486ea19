// SPDX-License-Identifier: MIT
// basic_heap_handle<A>: the heap as kernels use it. Trivially copyable; pass it by value. Any
// threads may call the functions at the same time, unless a comment says otherwise. NVRTC can
// compile this header, malloc.hpp and device_heap.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "heapwood/handle_operations.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/this_thread.hpp"

namespace heapwood {

namespace detail {

// Counts of a heap, before the pool in device memory.
struct HeapState {
  std::uint64_t full = 0, too_large = 0;  // numbers of refused requests
  std::uint64_t first_refused = 0;        // size in bytes, at least 1; 0 = none was refused
  HeapState* on_host = nullptr;           // a copy in host memory (heap_options::report_full)
};

}  // namespace detail

inline namespace HEAPWOOD_TARGET {

template <class A>
class basic_heap_handle : public handle_operations<basic_heap_handle<A>> {
 public:
  using allocator_type = A;

  // A handle of no heap, which can be assigned to.
  basic_heap_handle() = default;
  HEAPWOOD_FN basic_heap_handle(const A& allocator, alloc::Pool pool, detail::HeapState* state,
                                std::size_t max_request)
      : allocator_(allocator), pool_(pool), state_(state), max_request_(max_request) {}

  HEAPWOOD_INLINE void* allocate(std::size_t bytes) const {
    void* const block = try_allocate(bytes);
    if (block == nullptr) count_refusal(bytes);
    return block;
  }
  HEAPWOOD_INLINE void deallocate([[maybe_unused]] void* block) const {
    if constexpr (simt::this_thread_runs) {
      simt::ThisThread thread;
      A allocator = allocator_;
      allocator.deallocate(thread, block);
    } else {
      detail::called_on_host("free");
    }
  }

  // Whether the address lies in the heap's memory, allocated or not.
  HEAPWOOD_INLINE bool owns(const void* address) const {
    static_assert(A::traits.in_pool, "the allocator's blocks lie outside the pool");
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - pool_.base) <
           pool_.bytes;
  }
  // Larger requests are never served, not even by an empty heap. Tells a request that is too large
  // from a heap that is full.
  HEAPWOOD_INLINE std::size_t max_request() const { return max_request_; }
  // The bytes that the block's owner may use. Only for allocators that know the size of a block.
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    return allocator_.usable_size(block);
  }

  HEAPWOOD_INLINE const A& allocator() const { return allocator_; }
  HEAPWOOD_INLINE alloc::Pool pool() const { return pool_; }

  // The two parts of malloc, for heaps built on this one: a request that is not counted if it is
  // refused, and counting a refusal.
  HEAPWOOD_INLINE void* try_allocate(std::size_t bytes) const {
    if constexpr (simt::this_thread_runs) {
      simt::ThisThread thread;
      A allocator = allocator_;
      return allocator.allocate(thread, bytes);
    } else {
      detail::called_on_host("malloc");
    }
  }
  HEAPWOOD_INLINE void count_refusal(std::size_t bytes) const {
    count_refusal_slow(state_, bytes, max_request_);
  }
  // Counts a refusal, for heaps that add bytes to a request, such as checked_heap. may_fit: an
  // empty heap could serve the request with what was added.
  HEAPWOOD_INLINE void count_refusal(std::size_t bytes, bool may_fit) const {
    count_refusal_slow(state_, bytes == 0 ? 1 : bytes, may_fit ? max_request_ : 0);
  }

 private:
  // Not inlined, because it would cost the caller registers.
  static HEAPWOOD_OUTLINE void count_refusal_slow(detail::HeapState* state, std::size_t bytes,
                                                  std::size_t max_request) {
    const bool is_full = bytes <= max_request;
    const simt::atomic_ref<std::uint64_t> count(is_full ? state->full : state->too_large),
        first(state->first_refused);
    std::uint64_t none = 0, seen = count.fetch_add(1, simt::relaxed) + 1;
    // relaxed: read when no kernel runs. Only the first request of a kind can be the first of all.
    if (seen == 1)
      first.compare_exchange_strong(none, bytes == 0 ? 1 : bytes, simt::relaxed, simt::relaxed);
    detail::HeapState* const copy = state->on_host;
    if (copy == nullptr) return;
    // Stores, because a GPU has no atomic additions to host memory. A thread whose store may have
    // overtaken that of a higher number stores again.
    using OnHost = simt::system_atomic_ref<std::uint64_t>;
    if (seen == 1) OnHost(copy->first_refused).store(first.load(simt::relaxed), simt::relaxed);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < 2; ++turn) {
      OnHost(is_full ? copy->full : copy->too_large).store(seen, simt::relaxed);
      const std::uint64_t now = count.load(simt::relaxed);
      if (now == seen) break;
      seen = now;
    }
  }

  A allocator_{};
  alloc::Pool pool_{};
  detail::HeapState* state_ = nullptr;
  std::size_t max_request_ = 0;
};

// The address of a handle in device memory (basic_heap::ref()). Containers store it in place of a
// handle, which has some 200 bytes. Each call loads from there what it needs.
template <class A>
class basic_heap_ref : public handle_operations<basic_heap_ref<A>> {
 public:
  // A reference to no heap, which can be assigned to.
  basic_heap_ref() = default;
  HEAPWOOD_FN explicit basic_heap_ref(const basic_heap_handle<A>* handle) : handle_(handle) {}

  HEAPWOOD_INLINE void* allocate(std::size_t bytes) const { return handle_->allocate(bytes); }
  HEAPWOOD_INLINE void deallocate(void* block) const { handle_->deallocate(block); }
  HEAPWOOD_INLINE bool owns(const void* address) const { return handle_->owns(address); }
  HEAPWOOD_INLINE std::size_t max_request() const { return handle_->max_request(); }
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    return handle_->usable_size(block);
  }

 private:
  const basic_heap_handle<A>* handle_ = nullptr;
};

using heap_handle = basic_heap_handle<alloc::Heapwood>;
using heap_ref = basic_heap_ref<alloc::Heapwood>;

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
