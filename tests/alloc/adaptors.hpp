// SPDX-License-Identifier: MIT
// Adaptors for the conformance tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "tests/alloc/exercise.hpp"

namespace heapwood::workloads {

// Host side: error counters and the words of the granules, in device memory. Outlives the adaptor.
class GuardedMemory {
 public:
  GuardedMemory(const simt::DeviceId& device, std::size_t pool_bytes)
      : errors_(device, 1), granules_(device, pool_bytes / alloc::granule + 1) {
    reset();
  }
  void reset() {
    errors_.fill(0);
    granules_.fill(0);
  }
  GuardErrors result() const { return errors_.download().front(); }
  GuardErrors* errors() const { return errors_.data(); }
  std::uint32_t* granules() const { return granules_.data(); }

 private:
  simt::Buffer<GuardErrors> errors_;
  simt::Buffer<std::uint32_t> granules_;
};

// Guarded<Base>: checks that the blocks of an allocator whose blocks lie in the pool
// (traits.in_pool) are aligned, lie wholly in the pool and do not overlap blocks in use. A word per
// granule of the pool, stored outside it, says whether the granule is in use. Errors are counted
// and the run continues; the free of a block that was already reported is not passed on to Base.
template <class Base>
struct Guarded : alloc::AdaptorTraits<Base> {
  static constexpr std::uint32_t inside = ~0u;  // a granule of a block after its first

  Base base;
  alloc::Pool pool;
  GuardErrors* errors = nullptr;
  std::uint32_t* granules = nullptr;  // 0: free; first granule of a block: the block's granules

  static Guarded create(const Base& base, alloc::Pool pool, const GuardedMemory& memory) {
    return {{}, base, pool, memory.errors(), memory.granules()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(base.allocate(thread, bytes));
    if (block == nullptr || !alloc::is_in_pool(base)) return block;
    if (reinterpret_cast<std::uintptr_t>(block) % alloc::granule != 0) count(errors->misaligned);
    const auto offset = static_cast<std::uint64_t>(block - pool.base);
    if (offset >= pool.bytes || alloc::padded(bytes) > pool.bytes - offset) {
      count(errors->outside);
      return block;
    }
    const auto n = static_cast<std::uint32_t>(alloc::padded(bytes) / alloc::granule);
    std::uint32_t used = 0;
    // relaxed: the allocator orders the owners of a block, and their marks with them.
    for (std::uint32_t i = 0; i < n; ++i)
      used |= word(offset, i).exchange(i == 0 ? n : inside, simt::relaxed);
    if (used != 0) count(errors->overlaps);
    return block;
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr && alloc::is_in_pool(base)) {
      const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(block) - pool.base);
      if (offset >= pool.bytes) return;
      const std::uint32_t n = word(offset, 0).exchange(0, simt::relaxed);
      if (n == 0 || n == inside) return;
      for (std::uint32_t i = 1; i < n; ++i) word(offset, i).store(0, simt::relaxed);
    }
    base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const alloc::HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  HEAPWOOD_INLINE simt::atomic_ref<std::uint32_t> word(std::uint64_t offset,
                                                       std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(granules[offset / alloc::granule + i]);
  }
  HEAPWOOD_INLINE static void count(std::uint64_t& word) {
    simt::atomic_ref<std::uint64_t>(word).fetch_add(1, simt::relaxed);
  }
};

// TwoHeaps<A>: two heaps, one in each half of the pool. Even lanes of a warp allocate from the
// first and odd lanes from the second in the same call, as a kernel does that has several heaps.
// Each block has a granule in front with the number of its heap. A block outside of its heap's half
// counts as refused.
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
      const auto offset = static_cast<std::size_t>(block - pools[i].base);
      if (offset >= pools[i].bytes || all > pools[i].bytes - offset) return nullptr;
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
