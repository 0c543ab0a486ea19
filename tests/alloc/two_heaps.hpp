// SPDX-License-Identifier: MIT
// TwoHeaps<A>: two heaps, one in each half of the pool. Even lanes of a warp allocate from the
// first and odd lanes from the second in the same call, as a kernel does that has several heaps.
// For tests.
//
// Each block has a granule in front with the number of its heap. A block outside of its heap's half
// counts as refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"

namespace heapwood::workloads {

template <class A>
struct TwoHeaps : alloc::AdaptorTraits<A> {
  A heaps[2];
  alloc::Pool pools[2];

  template <class Device>
  static TwoHeaps create(alloc::Pool pool, const alloc::AllocatorOptions& options,
                         const Device& device) {
    const alloc::Pool first = half(pool, 0), second = half(pool, 1);
    return {{},
            {A::create(first, options, device), A::create(second, options, device)},
            {first, second}};
  }
  template <class Device>
  requires requires(const Device& device) { device.id(); }
  static void release(alloc::Pool pool, const Device& device) {
    for (const unsigned i : {0u, 1u}) alloc::release_pool<A>(half(pool, i), device);
  }
  bool in_pool() const { return alloc::is_in_pool(heaps[0]); }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint32_t i = thread.lane() & 1;
    const std::size_t all = alloc::padded(bytes) + alloc::granule;
    auto* const block = static_cast<std::byte*>(heaps[i].allocate(thread, all));
    if (block == nullptr) return nullptr;
    if (alloc::is_in_pool(heaps[0])) {
      const auto at = static_cast<std::size_t>(block - pools[i].base);
      if (at >= pools[i].bytes || all > pools[i].bytes - at) return nullptr;
    }
    *reinterpret_cast<std::uint32_t*>(block) = i;
    return block + alloc::granule;
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return;
    std::byte* const block = static_cast<std::byte*>(pointer) - alloc::granule;
    heaps[*reinterpret_cast<const std::uint32_t*>(block) & 1].deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const alloc::HostView& host, Visitor visit) const {
    heaps[0].walk(host, visit);
    heaps[1].walk(host, [&](const alloc::Region& region) {
      visit(alloc::Region{pools[0].bytes + region.offset, region.bytes, region.state});
    });
  }

 private:
  static alloc::Pool half(alloc::Pool pool, unsigned i) {
    const std::size_t bytes = pool.bytes / 2 / 256 * 256;
    return {pool.base + i * bytes, i == 0 ? bytes : pool.bytes - bytes};
  }
};

}  // namespace heapwood::workloads
