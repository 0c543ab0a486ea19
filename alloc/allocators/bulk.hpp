// SPDX-License-Identifier: MIT
// The throughput-oriented allocator of I. Gelado and M. Garland, "Throughput-Oriented GPU Memory
// Allocation", PPoPP 2019: TBuddy for pages (bulk/tbuddy.hpp), UAlloc for blocks of up to a quarter
// of a page (bulk/ualloc.hpp). Requests are rounded up to powers of two. These two headers list the
// differences from the paper. Limits: the largest request is the largest block of a buddy system, a
// power of two; at most 64 GiB of a larger pool are used. Overhead: 3.1% for headers of bins, 4.25
// bytes per page.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>

#include "alloc/bulk/ualloc.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc {

struct Bulk {
  static constexpr AllocatorTraits traits{
      .id = "bulk",
      .label = "Bulk",
      .paper = "Gelado 2019",
      .note = "bulk semaphores; arenas of bins, each of one size; a buddy tree for pages",
      .smallest_pool = 8192};

  template <class Device>
  static Bulk create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    // Pages of 4 KiB in pools of 1 MiB and more. There are so few arenas that one chunk for each
    // takes at most a sixteenth of the pool.
    const std::size_t page = std::clamp<std::size_t>(simt::bit_floor(pool.bytes / 256), 512, 4096);
    const auto page_shift = simt::highest_bit(page);
    const std::size_t chunk = page * (page / 128);
    const auto arenas = static_cast<std::uint32_t>(std::clamp<std::size_t>(
        pool.bytes / 16 / chunk, 1, std::max(1u, device.multiprocessors())));
    const std::size_t head = round_up(UAlloc::head_bytes(arenas), 256);
    const TBuddy pages = TBuddy::create(pool.base + head, pool.bytes - head, page_shift, device);
    if (pages.pages() == 0)
      throw Error(Exit::usage, std::string(traits.id) +
                                   ": the pool is too small for a page; give a larger pool");
    Bulk b;
    b.small_ = UAlloc::create(pool.base, pages, arenas, device);
    b.wait_ = options.wait_when_full;
    return b;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      return bytes <= small_.max_bytes() ? small_.allocate(thread, bytes)
                                         : large(small_.self(), thread, bytes);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (small_.is_page(block)) return small_.pages().deallocate(block);
    small_.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const auto* base = reinterpret_cast<const std::byte*>(small_.self());
    const TBuddy pages = host.read(&small_.pages());
    const auto head = static_cast<std::size_t>(pages.base() - base);
    visit(Region{0, head, Region::State::metadata});
    pages.walk(host, base, [&](const Region& region, std::uint32_t first, bool marked) {
      if (!marked) return visit(region);
      const auto copy = host.read(pages.page(first), region.bytes);
      small_.walk_chunk(copy.data(), region.offset, visit);
    });
  }

 private:
  // `thread` is passed by value: the address of a thread that lives in registers must not escape.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* large(const UAlloc* small, Thread thread, std::size_t bytes) {
    const TBuddy& pages = small->pages();
    void* block = together(pages, thread, bytes);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;
         block == nullptr && (block = pages.allocate(thread, bytes)) == nullptr && turn < 4;
         ++turn) {
      if (thread.aborted() || !UAlloc::collect(small)) break;
    }
    return block;
  }
  // Lanes that request the same number of pages together allocate one run of pages, if there is
  // one: a single request takes dozens of memory round trips, and separate requests of a warp's
  // lanes would be serialized. Returns nullptr if each lane has to allocate separately.
  template <class Thread>
  static HEAPWOOD_INLINE void* together(const TBuddy& pages, Thread& thread, std::size_t bytes) {
    if (bytes > max_shared) return nullptr;
    const std::uint32_t n = pages.pages_for(bytes);
    const LaneGroup<Thread> group(thread, thread.together(pages.base() + n));
    if (group.has_one_lane()) return nullptr;
    const std::uint32_t first = group.once([&] { return pages.take_run(thread, n, group.size()); });
    group.sync();  // also makes the acquire and the blocks' lengths visible to all lanes
    return first == TBuddy::none ? nullptr : pages.page(first + group.rank() * n);
  }
  static constexpr std::size_t max_shared = 64 << 10;

  UAlloc small_;
  bool wait_ = false;
};

}  // namespace heapwood::alloc
