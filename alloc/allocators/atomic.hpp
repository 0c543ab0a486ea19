// SPDX-License-Identifier: MIT
// AtomicMalloc (RegEff section 4.1): one fetch_add on one offset; memory is never freed. The
// papers' lower bound.
//
// Differs from the paper: a 64-bit offset (a 32-bit one wraps after enough failed requests and
// hands out live memory again), and nullptr instead of a pointer outside the pool. A request that
// fails still moves the offset: undoing the add could make a later request overlap one that was
// served in between.
//
// Limits: the largest request is what is left of the pool.
#pragma once

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

struct Atomic {
  static constexpr AllocatorTraits traits{.id = "atomic",
                                          .label = "AtomicMalloc",
                                          .paper = "RegEff 4.1",
                                          .note = "one atomic add; never frees: the lower bound",
                                          .frees = Frees::never,
                                          .lower_bound = true};

  std::byte* memory = nullptr;    // after the header
  std::uint64_t capacity = 0;     // bytes
  std::uint64_t* next = nullptr;  // bytes requested so far, failed requests included
  std::size_t slack = 0;          // bytes after the last whole granule

  // The offset has its own cache line, apart from the data.
  static constexpr std::size_t header = 256;

  template <class Device>
  static Atomic create(Pool pool, const AllocatorOptions&, const Device& device) {
    check_pool(traits, pool);
    Atomic a;
    a.next = reinterpret_cast<std::uint64_t*>(pool.base);
    a.memory = pool.base + header;
    a.capacity = (pool.bytes - header) / granule * granule;
    a.slack = (pool.bytes - header) % granule;
    simt::device_fill(device.id(), pool.base, 0, header);
    return a;
  }

  // relaxed: every byte is handed out once, so there is no earlier owner to synchronize with.
  template <class Thread>
  SIMT_INLINE void* allocate(Thread&, std::size_t bytes) {
    if (bytes > capacity) return nullptr;  // could overflow the offset
    const std::uint64_t size = padded(bytes);
    const std::uint64_t at = simt::atomic_ref<std::uint64_t>(*next).fetch_add(size, simt::relaxed);
    return at + size <= capacity ? memory + at : nullptr;
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread&, void*) {}

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const std::uint64_t used = host.read(next) < capacity ? host.read(next) : capacity;
    visit(Region{0, header, Region::State::metadata});
    if (used > 0) visit(Region{header, used, Region::State::used});
    if (used < capacity) visit(Region{header + used, capacity - used, Region::State::free});
    if (slack > 0) visit(Region{header + capacity, slack, Region::State::metadata});
  }
};

}  // namespace heapwood::alloc
