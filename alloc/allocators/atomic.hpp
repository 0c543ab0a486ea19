// SPDX-License-Identifier: MIT
// Allocators of one atomic offset, which never free. The offset has 64 bits. In the papers it has
// 32, which overflow after enough failed requests, or while many threads have passed the end.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

class OneOffset {
 public:
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread&, void*) {}

  // Bytes before the offset count as used, bytes after it as free.
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const std::uint64_t seen = host.read(next);
    const std::uint64_t used = seen < capacity ? seen : capacity;
    visit(Region{0, header, Region::State::metadata});
    if (used > 0) visit(Region{header, used, Region::State::used});
    if (used < capacity) visit(Region{header + used, capacity - used, Region::State::free});
    if (slack > 0) visit(Region{header + capacity, slack, Region::State::metadata});
  }

 protected:
  // The offset has its own cache line, apart from the data.
  static constexpr std::size_t header = 256;

  template <class Device>
  void lay_out(const AllocatorTraits& traits, Pool pool, const AllocatorOptions&,
               const Device& device) {
    check_pool(traits, pool);
    next = as<std::uint64_t>(pool.base);
    memory = pool.base + header;
    capacity = (pool.bytes - header) / granule * granule;
    slack = (pool.bytes - header) % granule;
    simt::device_fill(device.id(), pool.base, 0, header);
  }

  std::byte* memory = nullptr;    // after the header
  std::uint64_t capacity = 0;     // bytes
  std::uint64_t* next = nullptr;  // the offset in bytes; above capacity if requests have failed
  std::size_t slack = 0;          // bytes after the last whole granule
};

// AtomicMalloc (RegEff section 4.1): one fetch_add on one offset. The papers' lower bound.
//
// Differs from the paper: nullptr instead of a pointer outside the pool. A request that fails still
// moves the offset.
//
// Limits: the largest request is what is left of the pool.
struct Atomic : LaidOut<Atomic, OneOffset> {
  static constexpr AllocatorTraits traits{.id = "atomic",
                                          .label = "AtomicMalloc",
                                          .paper = "RegEff 4.1",
                                          .note = "one atomic add; never frees: the lower bound",
                                          .frees = Frees::never,
                                          .lower_bound = true};

  // relaxed: every byte is handed out once, so there is no earlier owner to synchronize with.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread&, std::size_t bytes) {
    if (bytes > capacity) return nullptr;  // could overflow the offset
    const std::uint64_t size = padded(bytes);
    const std::uint64_t offset = Word64(*next).fetch_add(size, simt::relaxed);
    return offset + size <= capacity ? memory + offset : nullptr;
  }
};

// AWMalloc, AtomicWrapMalloc (RegEff section 5.1): AtomicMalloc's one atomic add, which returns to
// the start of the pool when it reaches the end. As published it hands out memory that may still be
// in use after a wrap; awmalloc_safe.hpp does not.
//
// Differs from the paper: a request larger than the pool gets nullptr (the published loop never
// ends for it).
//
// Limits: never reports exhaustion. A build gets correct results only if it allocates less than the
// pool in total, or frees in about the order in which it allocates. walk() reports only the
// position of the offset.
struct AwMalloc : LaidOut<AwMalloc, OneOffset> {
  static constexpr AllocatorTraits traits{
      .id = "awmalloc",
      .label = "AWMalloc",
      .paper = "RegEff 5.1",
      .note = "wraps around the pool and may overwrite live memory, as published",
      .frees = Frees::never,
      .lower_bound = true,
      .keeps_live_memory = false};

  // relaxed throughout: no order could make the reuse of live memory safe.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread&, std::size_t bytes) {
    if (bytes > capacity) return nullptr;
    const std::uint64_t size = padded(bytes);
    Word64 offset(*next);
    std::uint64_t begin = offset.fetch_add(size, simt::relaxed);
    HEAPWOOD_ROLLED
    while (begin + size > capacity) {
      std::uint64_t seen = begin + size;
      while (seen + size > capacity) {
        // This thread has wrapped the offset.
        if (offset.compare_exchange_strong(seen, size, simt::relaxed, simt::relaxed)) return memory;
      }
      begin = offset.fetch_add(size, simt::relaxed);  // another thread has wrapped
    }
    return memory + begin;
  }
};

}  // namespace heapwood::alloc
