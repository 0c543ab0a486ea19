// SPDX-License-Identifier: MIT
// ScatterAlloc: M. Steinberger, M. Kenzel, B. Kainz, D. Schmalstieg, "ScatterAlloc: Massively
// Parallel Dynamic Memory Allocation for the GPU", InPar 2012; RegEff section 4.3. Half of the pool
// consists of pages. A request is hashed to a page by its size and its warp, so that warps do not
// contend; the page is divided into equal chunks when it is first used.
//
// Differs from the paper:
//   - sizes are rounded to classes (primitives/size_class.hpp);
//   - bitmaps are in a table, not at the end of each page, and the size and count of a page are one
//     word, so that an empty page changes its size with one exchange (primitives/block_pages.hpp).
//     By default the paper's pages keep their size;
//   - if hashing fails, hints lead to a suitable page if there is one;
//   - requests larger than a page go to a buddy allocator in the other half. As in the paper a page
//     has at most 1024 chunks (so a page of 64 MiB serves nothing below 64 KiB), and a chunk of up
//     to twice the size serves a request that finds no better one.
//
// Limits: the largest request is the buddy's largest block. Overhead: 1% at 4 KiB per page.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>

#include "alloc/primitives/block_pages.hpp"
#include "alloc/primitives/large_part.hpp"

namespace heapwood::alloc {

inline constexpr AllocatorSetting page_setting = setting_of<&AllocatorOptions::page_bytes>(
    {.key = "page",
     .json = "page_bytes",
     .about = "bytes of a page, at most a quarter of the pool",
     .min = 256,
     .max = std::size_t{64} << 20});

template <class Large>
struct ScatterOn {
  using WithBuiltin = ScatterOn<HeapPart>;

  static constexpr AllocatorTraits traits{.id = "scatter",
                                          .label = "ScatterAlloc",
                                          .paper = "Steinberger 2012, RegEff 4.3",
                                          .note = "pages found by hashing; a buddy above a page",
                                          .smallest_pool = 8192,
                                          .in_pool = Large::in_pool};
  static constexpr AllocatorSetting settings[2] = {page_setting, large_setting};

  template <class Device>
  static ScatterOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    const std::size_t area = Large::offset(pool.bytes, pool.bytes / 2);
    std::size_t page = options.page_bytes;
    if (page == 0) page = std::clamp<std::size_t>(simt::bit_floor(area / 64), 256, 4096);
    if (page < 256 || page != simt::bit_floor(page) || page > std::size_t{64} << 20 ||
        page > area / 2) {
      throw Error(Exit::usage, std::string(traits.id) + ": a page of " + std::to_string(page) +
                                   " bytes: expected a power of two from 256 bytes to 64 MiB, at "
                                   "most " +
                                   std::to_string(area / 2) + " in this pool");
    }
    const auto page_shift = simt::highest_bit(page);
    ScatterOn a;
    a.wait_ = options.wait_when_full;
    a.pages_ = BlockPages::create(pool.base + Large::head_bytes, area - Large::head_bytes,
                                  {.page_shift = page_shift,
                                   .least = size_class::of(page / max_chunks),
                                   .top = size_class::of(page)},
                                  device);
    a.large_ = Large::create(pool.base, pool.base + area, pool.bytes - area,
                             page_shift < 16 ? page_shift : 16, device);
    return a;
  }

  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base, device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > pages_.page_bytes()) return large_.allocate(thread, bytes);
      const std::uint32_t k = class_of(bytes);
      const std::uint32_t start = hash(thread.worker(), thread.lane(), k);
      // Lanes that make the same request to the same page act as one. The key is an address in the
      // pool, because lanes may call with different pools: 64 bytes times the page (which has 256
      // or more), plus the class.
      const LaneGroup<Thread> group(
          thread, thread.together(reinterpret_cast<const std::byte*>(pages_.self()) +
                                  (std::size_t{start} << 6 | k)));
      const std::uint32_t n = group.size();
      const std::uint32_t before = group.once([&] { return pages_.enter(start, k, n); });
      const BlockPages::Seats seats{start, before, k};
      const bool has_seat = group.rank() < seats.count(pages_, n);
      const LaneGroup<Thread> part = group.part(has_seat);
      // As long as no chunk is freed, the chunks after the counted ones are the first free ones.
      if (has_seat) return pages_.take(thread, part, seats, before);
      return allocate_slow(pages_.self(), thread, part.lanes(), k, start);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    pages_.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, Large::head_bytes, Region::State::metadata});
    const std::byte* origin = reinterpret_cast<const std::byte*>(pages_.self()) - Large::head_bytes;
    pages_.walk(host, origin, visit);
    large_.walk(host, origin, visit);
  }

 private:
  static constexpr std::uint32_t max_chunks = 1024;  // max chunks per page
  static constexpr std::uint32_t probes = 8;         // pages that are tried, starting at the hash

  // Above a quarter of a page only powers of two: chunks of three eighths or three quarters of a
  // page would leave the last quarter of the page unused.
  HEAPWOOD_INLINE std::uint32_t class_of(std::size_t bytes) const {
    const std::uint32_t k = size_class::of(bytes) | (bytes > pages_.page_bytes() / 4 ? 1 : 0);
    return k < pages_.least() ? pages_.least() : k;
  }

  // Multiples of the golden ratio spread consecutive numbers evenly, so two warps share a page only
  // if there are more warps than pages. The paper's factors separate sizes and multiprocessors;
  // here the second one separates lanes of a warp whose chunks do not fit into one page.
  HEAPWOOD_INLINE std::uint32_t hash(std::uint32_t worker, std::uint32_t lane,
                                     std::uint32_t k) const {
    const auto group =
        static_cast<std::uint32_t>((lane * size_class::bytes(k)) >> pages_.page_shift());
    const std::uint32_t seed = (worker + 38183 * k + 17497 * group) * 2654435769u;
    return scaled(seed, pages_.pages());
  }

  // Allocates a block for each lane that found none in the page that it was hashed to.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const BlockPages* pages, Thread thread,
                                              std::uint32_t lanes, std::uint32_t k,
                                              std::uint32_t start) {
    LaneGroup<Thread> group(thread, lanes);
    HEAPWOOD_ROLLED
    for (;;) {
      BlockPages::Seats seats;
      if (group.rank() == 0) seats = search(pages, k, start, group.size());
      seats = seats.shared_by(group);
      if (seats.before == BlockPages::none) return nullptr;
      const bool has_seat = group.rank() < seats.count(*pages, group.size());
      group = group.part(has_seat);
      if (has_seat) return pages->take(thread, group, seats, seats.before);
    }
  }

  // Reserves blocks in one of the following pages: one with chunks of the class, an empty one, or
  // one with chunks of up to twice the size.
  static HEAPWOOD_INLINE BlockPages::Seats search(const BlockPages* pages, std::uint32_t k,
                                                  std::uint32_t start, std::uint32_t n) {
    const auto page_after = [=](std::uint32_t i) {
      return start + i < pages->pages() ? start + i : start + i - pages->pages();
    };
    // Bit i is set if the i-th page appears to have space. The latencies of all loads overlap.
    std::uint32_t fit = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 1; i < probes; ++i) {
      if (i < pages->pages())
        fit |= std::uint32_t{pages->fits(pages->state(page_after(i)).load(simt::relaxed), k)} << i;
    }
    HEAPWOOD_ROLLED
    for (; fit != 0; fit &= fit - 1) {
      const std::uint32_t page = page_after(simt::lowest_bit(fit));
      const std::uint32_t before = BlockPages::look_and_enter(pages, page, k, n);
      if (before != BlockPages::none) return {page, before, k};
    }
    // Pages hinted as empty have no other hint, so the search for an empty page also finds those
    // with chunks of class k; it takes the first page that fits.
    BlockPages::Seats seats;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < 4 && seats.before == BlockPages::none; ++i) {
      const std::uint32_t larger = i < 2 ? k : k + i - 1;
      if (larger > pages->top()) break;
      seats = BlockPages::search(pages, i == 1 ? pages->empty() : pages->room(larger), larger,
                                 start, n);
    }
    return seats;
  }

  BlockPages pages_;
  Large large_;
  bool wait_ = false;
};

using Scatter = ScatterOn<LargePart>;

// With the platform's malloc for large requests, as the published code has it.
struct ScatterBuiltin : WithHeap<ScatterBuiltin, ScatterOn<HeapPart>> {
  static constexpr AllocatorTraits traits{
      .id = "scatter-builtin",
      .label = "ScatterAlloc (malloc)",
      .paper = "Steinberger 2012, RegEff 4.3",
      .note = "scatter with the platform's malloc above a page, as published",
      .smallest_pool = 8192,
      .in_pool = false};
  static constexpr AllocatorSetting settings[1] = {page_setting};
};

}  // namespace heapwood::alloc
