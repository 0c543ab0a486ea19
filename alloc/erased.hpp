// SPDX-License-Identifier: MIT
// Type erasure: Erased<Device> is any allocator on Device, called through pointers, so that the
// builder, the workloads and the conformance suite are compiled once for all allocators on CPU
// threads instead of once per allocator. ErasedDevice names the allocator that Erased::create
// creates.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

// The functions of one allocator on Device; `handle` is the allocator's handle.
template <class Device>
struct ErasedFunctions {
  using Warp = typename Device::Warp;
  const AllocatorTraits* traits;
  std::size_t max_used_bytes;  // of the pool
  void (*create)(void* handle, Pool, const AllocatorOptions&, const Device&);
  void (*release)(Pool, const simt::DeviceId&);  // nullptr: the allocator has none
  void* (*allocate)(const void* handle, Warp&, std::size_t bytes);
  void (*deallocate)(const void* handle, Warp&, void* block);
  void (*walk)(const void* handle, const HostView&, const std::function<void(const Region&)>&);
  const ErasedFunctions* with_builtin;  // A::WithBuiltin, if A has one

  const ErasedFunctions& variant(LargeBackend large) const {
    return large == LargeBackend::builtin && with_builtin != nullptr ? *with_builtin : *this;
  }
};

template <class Device>
struct ErasedDevice : Device {
  const ErasedFunctions<Device>* functions;

  ErasedDevice(const Device& device, const ErasedFunctions<Device>& allocator)
      : Device(device), functions(&allocator) {}
  const AllocatorTraits& allocator_traits() const { return *functions->traits; }
};

template <class Device>
class Erased {
 public:
  using Warp = typename Device::Warp;
  using Functions = ErasedFunctions<Device>;

  template <class Any>
  static Erased create(Pool pool, const AllocatorOptions& options, const Any& device) {
    Erased erased;
    erased.functions_ = device.functions;
    device.functions->create(erased.handle_, pool, options, device);
    return erased;
  }
  template <class Any>
  requires requires(const Any& device) { device.functions; }
  static void release(Pool pool, const Any& device) {
    if (device.functions->release != nullptr) device.functions->release(pool, device.id());
  }

  void* allocate(Warp& warp, std::size_t bytes) const {
    return functions_->allocate(handle_, warp, bytes);
  }
  void deallocate(Warp& warp, void* block) const { functions_->deallocate(handle_, warp, block); }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    functions_->walk(handle_, host, visit);
  }

  const Functions* functions() const { return functions_; }
  bool in_pool() const { return functions_->traits->in_pool; }
  bool frees_individually() const { return functions_->traits->frees == Frees::individually; }

 private:
  const Functions* functions_ = nullptr;
  alignas(16) std::byte handle_[512];
};

// Bytes of a pool that A uses: all, or its head if all blocks lie outside the pool.
template <class A>
constexpr std::size_t max_used_bytes() {
  if (A::traits.in_pool || requires { typename A::WithBuiltin; }) return ~std::size_t{0};
  if constexpr (requires { A::head_bytes; }) return A::head_bytes;
  return A::traits.smallest_pool;
}

// The functions of allocator A on Device.
template <class A, class Device>
struct ErasedAllocator {
  using Warp = typename Device::Warp;
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 512);

  static void create(void* handle, Pool pool, const AllocatorOptions& options,
                     const Device& device) {
    new (handle) A(A::create(pool, options, device));
  }
  // Works on a copy of the handle, as each thread of a kernel does.
  static void* allocate(const void* handle, Warp& warp, std::size_t bytes) {
    A a = *static_cast<const A*>(handle);
    return a.allocate(warp, bytes);
  }
  static void deallocate(const void* handle, Warp& warp, void* block) {
    A a = *static_cast<const A*>(handle);
    a.deallocate(warp, block);
  }
  static void walk(const void* handle, const HostView& host,
                   const std::function<void(const Region&)>& visit) {
    static_cast<const A*>(handle)->walk(host, visit);
  }
  static constexpr void (*release())(Pool, const simt::DeviceId&) {
    if constexpr (requires(Pool pool, const simt::DeviceId& id) { A::release(pool, id); }) {
      return A::release;
    } else {
      return nullptr;
    }
  }
  static constexpr const ErasedFunctions<Device>* with_builtin() {
    if constexpr (requires { typename A::WithBuiltin; }) {
      return &ErasedAllocator<typename A::WithBuiltin, Device>::functions;
    } else {
      return nullptr;
    }
  }

  static constexpr ErasedFunctions<Device> functions{
      &A::traits, max_used_bytes<A>(), create, release(),
      allocate,   deallocate,          walk,   with_builtin()};
};

}  // namespace heapwood::alloc
