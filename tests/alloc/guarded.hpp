// SPDX-License-Identifier: MIT
// Guarded<Base>: checks the allocator and its caller. Every block gets 16 guard bytes before it and
// 16 to 31 after it that must not change. Two bits per granule of the pool, stored outside it,
// record which granules are in use and where blocks begin. Detected errors:
//   overlap       the allocator handed out a granule that is in use
//   misaligned    ... a block that is not aligned to 16 bytes
//   outside       ... a block that is not wholly in the pool
//   underrun, overrun   bytes before or after a block were changed (detected when it is freed)
//   double_free   no block begins there, or it has been freed already
//   foreign       the pointer lies outside the pool, or is misaligned
// Errors are counted and the run continues. A block that may not be freed is not passed on to Base.
//
// Limits: if Base's blocks lie outside the pool (traits.in_pool), only underrun and overrun are
// detected. Freeing everything at once is not supported. If two threads free the same block
// concurrently, exactly one of them is reported.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "tests/alloc/exercise.hpp"

namespace heapwood::workloads {

struct GuardWords {
  std::uint64_t count[8];  // by GuardErrors::Kind
  std::uint32_t first;     // a Kind; the operands below belong to it
  std::uint32_t unused;
  std::uint64_t first_offset;
  std::uint64_t first_bytes;
};

// Host side: error counters and the two bitmaps, in device memory. Outlives the adaptor.
class GuardedMemory {
 public:
  GuardedMemory(const simt::DeviceId& device, std::size_t pool_bytes)
      : words_(device, 1),
        in_use_(device, pool_bytes / alloc::granule / 32 + 1),
        begins_(device, pool_bytes / alloc::granule / 32 + 1) {
    reset();
  }
  void reset() {
    words_.fill(0);
    in_use_.fill(0);
    begins_.fill(0);
  }
  GuardErrors result() const {
    const GuardWords words = words_.download().front();
    GuardErrors errors;
    for (unsigned i = 0; i < 8; ++i) errors.count[i] = words.count[i];
    errors.first = static_cast<GuardErrors::Kind>(words.first);
    errors.first_offset = words.first_offset;
    errors.first_bytes = words.first_bytes;
    return errors;
  }
  GuardWords* words() const { return words_.data(); }
  std::uint32_t* in_use() const { return in_use_.data(); }
  std::uint32_t* begins() const { return begins_.data(); }

 private:
  simt::Buffer<GuardWords> words_;
  simt::Buffer<std::uint32_t> in_use_;
  simt::Buffer<std::uint32_t> begins_;
};

template <class Base>
struct Guarded : alloc::AdaptorTraits<Base> {
  static constexpr std::size_t overhead = 3 * alloc::granule;  // max, for a block

  Base base;
  alloc::Pool pool;
  GuardWords* words = nullptr;
  std::uint32_t* in_use = nullptr;
  std::uint32_t* begins = nullptr;

  static Guarded create(const Base& base, alloc::Pool pool, const GuardedMemory& memory) {
    return {{}, base, pool, memory.words(), memory.in_use(), memory.begins()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    // Too large for the guards to be added.
    if (bytes > ~std::size_t{0} - 256) return nullptr;
    const std::size_t total = alloc::padded(bytes) + 2 * alloc::granule;
    auto* block = static_cast<std::byte*>(base.allocate(thread, total));
    if (block == nullptr) return nullptr;
    const auto offset = static_cast<std::uint64_t>(block - pool.base);
    if (reinterpret_cast<std::uintptr_t>(block) % alloc::granule != 0)
      report(GuardErrors::Kind::misaligned, offset, bytes);
    if (alloc::is_in_pool(base)) {
      if (offset >= pool.bytes || total > pool.bytes - offset) {
        report(GuardErrors::Kind::outside, offset, bytes);
      } else {
        if (change(offset, total, true) != 0) report(GuardErrors::Kind::overlap, offset, bytes);
        // relaxed: the allocator orders this block's owners, and their marks with them.
        bit(begins, offset / alloc::granule).fetch_or(mask(offset / alloc::granule), simt::relaxed);
      }
    }
    auto* front = reinterpret_cast<std::uint64_t*>(block);
    front[0] = bytes;
    front[1] = check_word(block, bytes);
    for (std::size_t i = alloc::granule + bytes; i < total; ++i) block[i] = tail;
    return block + alloc::granule;
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return base.deallocate(thread, pointer);
    std::byte* block = static_cast<std::byte*>(pointer) - alloc::granule;
    const auto offset = static_cast<std::uint64_t>(block - pool.base);
    if (alloc::is_in_pool(base)) {
      if (offset >= pool.bytes || offset % alloc::granule != 0)
        return report(GuardErrors::Kind::foreign, offset, 0);
      // relaxed: this word alone decides which of two threads that free the same block is reported.
      const std::uint32_t was = bit(begins, offset / alloc::granule)
                                    .fetch_and(~mask(offset / alloc::granule), simt::relaxed);
      if ((was & mask(offset / alloc::granule)) == 0)
        return report(GuardErrors::Kind::double_free, offset, 0);
    }
    const auto* front = reinterpret_cast<const std::uint64_t*>(block);
    const std::uint64_t bytes = front[0];
    if (front[1] != check_word(block, bytes)) {
      // Its size is unknown, so it is not freed.
      return report(GuardErrors::Kind::underrun, offset, 0);
    }
    const std::size_t total = alloc::padded(bytes) + 2 * alloc::granule;
    bool intact = true;
    for (std::size_t i = alloc::granule + bytes; i < total; ++i) intact &= block[i] == tail;
    if (!intact) report(GuardErrors::Kind::overrun, offset, bytes);
    if (alloc::is_in_pool(base)) change(offset, total, false);
    base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const alloc::HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  static constexpr std::byte tail{0xa5};

  HEAPWOOD_INLINE static std::uint64_t check_word(const std::byte* block, std::uint64_t bytes) {
    return (reinterpret_cast<std::uintptr_t>(block) ^ (bytes * 0x9e3779b97f4a7c15u)) +
           0x6a09e667f3bcc909u;
  }
  HEAPWOOD_INLINE static std::uint32_t mask(std::uint64_t index) { return 1u << (index % 32); }
  HEAPWOOD_INLINE static simt::atomic_ref<std::uint32_t> bit(std::uint32_t* map,
                                                             std::uint64_t index) {
    return simt::atomic_ref<std::uint32_t>(map[index / 32]);
  }

  // Marks the granules of a block as in use, or not; returns a word that is not 0 if some were
  // already.
  HEAPWOOD_INLINE std::uint32_t change(std::uint64_t offset, std::size_t bytes, bool use) {
    std::uint64_t first = offset / alloc::granule;
    const std::uint64_t end = first + bytes / alloc::granule;
    std::uint32_t already = 0;
    HEAPWOOD_ROLLED
    while (first < end) {
      const std::uint64_t count = end - first < 32 - first % 32 ? end - first : 32 - first % 32;
      const std::uint32_t bits = (count == 32 ? ~0u : (1u << count) - 1) << (first % 32);
      // relaxed: as above. Clearing comes before the release with which the allocator takes the
      // block back.
      if (use) {
        already |= bit(in_use, first).fetch_or(bits, simt::relaxed) & bits;
      } else {
        bit(in_use, first).fetch_and(~bits, simt::relaxed);
      }
      first += count;
    }
    return already;
  }

  HEAPWOOD_INLINE void report(GuardErrors::Kind kind, std::uint64_t offset, std::uint64_t bytes) {
    const auto code = static_cast<std::uint32_t>(kind);
    simt::atomic_ref<std::uint64_t>(words->count[code]).fetch_add(1, simt::relaxed);
    std::uint32_t none = 0;
    // relaxed: the host reads the operands after the launch.
    if (simt::atomic_ref<std::uint32_t>(words->first)
            .compare_exchange_strong(none, code, simt::relaxed, simt::relaxed)) {
      words->first_offset = offset;
      words->first_bytes = bytes;
    }
  }
};

}  // namespace heapwood::workloads
