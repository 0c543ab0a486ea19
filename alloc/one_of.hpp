// SPDX-License-Identifier: MIT
// OneOf<A...>: one of these allocators, chosen at run time. Kernels that are not timed are compiled
// once for all of them, where type erasure by function pointers (erased.hpp) cannot be used: on a
// GPU.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

// A device and the allocator that OneOf::create() creates.
template <class Device>
struct OneOfDevice : Device {
  const AllocatorTraits* traits;
  unsigned which;  // OneOf::index_of

  OneOfDevice(const Device& device, const AllocatorTraits& allocator, unsigned index)
      : Device(device), traits(&allocator), which(index) {}
  const AllocatorTraits& allocator_traits() const { return *traits; }
};

template <class... As>
class OneOf {
 public:
  template <class A>
  static constexpr unsigned index_of() {
    unsigned i = 0;
    (void)((std::is_same_v<A, As> || (++i, false)) || ...);
    return i;
  }

  template <class Device>
  static OneOf create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OneOf one;
    one.which_ = device.which;
    one.in_pool_ = device.traits->in_pool;
    one.frees_individually_ = device.traits->frees == Frees::individually;
    one.visit([&]<class A>() { new (one.handle_) A(A::create(pool, options, device)); });
    return one;
  }
  template <class Device>
  requires requires(const Device& device) { device.which; }
  static void release(Pool pool, const Device& device) {
    OneOf one;
    one.which_ = device.which;
    one.visit([&]<class A>() { release_pool<A>(pool, device); });
  }

  template <class Thread>
  HEAPWOOD_OUTLINE void* allocate(Thread& thread, std::size_t bytes) const {
    void* block = nullptr;
    visit([&]<class A>() { block = allocate_in<A>(handle_, thread, bytes); });
    return block;
  }
  template <class Thread>
  HEAPWOOD_OUTLINE void deallocate(Thread& thread, void* block) const {
    visit([&]<class A>() { deallocate_in<A>(handle_, thread, block); });
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visitor) const {
    visit([&]<class A>() { reinterpret_cast<const A*>(handle_)->walk(host, visitor); });
  }
  HEAPWOOD_INLINE bool in_pool() const { return in_pool_; }
  HEAPWOOD_INLINE bool frees_individually() const { return frees_individually_; }

 private:
  // Calls f.operator()<A>() for the allocator.
  template <class F>
  HEAPWOOD_INLINE void visit(F f) const {
    unsigned i = 0;
    (void)((which_ == i++ && (f.template operator()<As>(), true)) || ...);
  }
  // Each call copies the handle; a kernel for one allocator has a copy per thread.
  template <class A, class Thread>
  static HEAPWOOD_OUTLINE void* allocate_in(const void* handle, Thread& thread, std::size_t bytes) {
    A a = *static_cast<const A*>(handle);
    return a.allocate(thread, bytes);
  }
  template <class A, class Thread>
  static HEAPWOOD_OUTLINE void deallocate_in(const void* handle, Thread& thread, void* block) {
    A a = *static_cast<const A*>(handle);
    a.deallocate(thread, block);
  }

  static constexpr std::size_t handle_bytes = 512;
  static_assert(((std::is_trivially_copyable_v<As> && sizeof(As) <= handle_bytes) && ...));

  unsigned which_ = 0;
  bool in_pool_ = true, frees_individually_ = true;
  alignas(16) std::byte handle_[handle_bytes];
};

}  // namespace heapwood::alloc
