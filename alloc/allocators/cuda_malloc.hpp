// SPDX-License-Identifier: MIT
// CudaMalloc (RegEff section 4.2): the platform's own allocator, as the baseline. On the GPU it is
// malloc() and free() in device code, on the CPU the C library's (primitives/builtin_heap.hpp).
// Blocks do not lie in the pool: its size determines the heap's size, and only its first words are
// used. A pool smaller than an earlier one is served from the larger heap. The heap cannot be
// walked: walk() reports nothing, and its fragmentation is unknown.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/primitives/builtin_heap.hpp"

namespace heapwood::alloc {

struct CudaMalloc {
  static constexpr AllocatorTraits traits{
      .id = "cuda",
      .label = "CudaMalloc",
      .paper = "RegEff 4.2",
      .note =
          "device malloc on the GPU, the system's on the CPU; its heap cannot be inspected, so "
          "fragmentation is unknown",
      .in_pool = false};

  using Head = BuiltinHeap::Head<32>;
  static_assert(sizeof(Head) <= traits.smallest_pool);

  BuiltinHeap heap;
  bool wait = false;

  template <class Device>
  static CudaMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    CudaMalloc a;
    a.heap = BuiltinHeap::create(reinterpret_cast<Head*>(pool.base), pool.bytes, device);
    a.wait = options.wait_when_full;
    return a;
  }
  static void release(Pool pool, const simt::DeviceId& device) {
    BuiltinHeap::release(reinterpret_cast<Head*>(pool.base), device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    return attempt_until(thread, wait, [&] { return heap.allocate(thread, bytes); });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr) heap.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView&, Visitor) const {}
};

}  // namespace heapwood::alloc
