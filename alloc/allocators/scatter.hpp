// SPDX-License-Identifier: MIT
// ScatterAlloc: M. Steinberger, M. Kenzel, B. Kainz, D. Schmalstieg, "ScatterAlloc: Massively Parallel Dynamic Memory
// Allocation for the GPU", InPar 2012; RegEff section 4.3. Half of the pool is pages. A request is hashed to a page by
// its size and by its warp, so that warps do not meet; the page is divided into equal chunks when it is first used.
// Differs from the paper:
// - sizes are rounded to classes (primitives/size_class.hpp); the paper gives a page the size of its first request;
// - bitmaps are in a table, not at the end of each page, and size and count of a page are one word, so that an empty
//   page changes its size in one exchange (primitives/block_pages.hpp). The paper's pages keep theirs by default;
// - where hashing fails, hints lead to a page, exactly. The paper's regions count failed searches, and all pages are
//   searched for every request that cannot be served;
// - requests above a page go to a buddy allocator in the other half; the paper locks runs of pages under one mutex,
//   which "serializes all allocation requests of large memory chunks" (RegEff).
// As in the paper a page has at most 1024 chunks (so a page of 64 MiB serves nothing below 64 KiB), and a chunk of up
// to twice the size serves a request that finds no better one.
// Limits: the largest request is the buddy's largest block. Overhead: 1% at 4 KiB a page.
#pragma once

#include <algorithm>

#include "alloc/primitives/block_pages.hpp"
#include "alloc/primitives/heap_part.hpp"
#include "alloc/primitives/large_part.hpp"

namespace heapwood::alloc {

template <class Large>
struct ScatterOn {
  using WithBuiltin = ScatterOn<HeapPart>;

  static constexpr AllocatorTraits traits{
      .id = "scatter",
      .label = "ScatterAlloc",
      .paper = "Steinberger 2012, RegEff 4.3",
      .note = "pages found by hashing; a buddy (or malloc: stress --large) above a page",
      .smallest_pool = 8192,
      .in_pool = Large::in_pool};

  template <class Device>
  static ScatterOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    const std::size_t half = Large::offset(pool.bytes, pool.bytes / 2);
    std::size_t page = options.page_bytes;
    if (page == 0) page = std::clamp<std::size_t>(simt::bit_floor(half / 64), 256, 4096);
    if (page < 256 || page != simt::bit_floor(page) || page > std::size_t{64} << 20 || page > half / 2) {
      throw Error(Exit::usage,
                  std::string(traits.id) + ": a page of " + std::to_string(page) +
                      " bytes; give a power of two from 256 to 64 MiB that is at most a quarter of the pool");
    }
    const auto page_shift = simt::highest_bit(page);
    ScatterOn a;
    a.wait_ = options.wait_when_full;
    a.pages_ = BlockPages::create(
        pool.base + Large::head_bytes, half - Large::head_bytes,
        {.page_shift = page_shift, .least = size_class::of(page / most_chunks), .top = size_class::of(page)}, device);
    a.large_ = Large::create(pool.base, pool.base + half, pool.bytes - half, page_shift < 16 ? page_shift : 16, device);
    return a;
  }

  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base, device);
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > pages_.page_bytes()) return large_.allocate(thread, bytes);
      const std::uint32_t k = class_of(bytes);
      const std::uint32_t start = hash(thread.worker(), thread.lane(), k);
      BlockPages::Seat seat{start, BlockPages::none, k};
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < probes; ++i) {
        seat.before = pages_.enter(seat.page, k);
        if (seat.before != BlockPages::none) break;
        seat.page = seat.page + 1 == pages_.pages() ? 0 : seat.page + 1;
      }
      if (seat.before == BlockPages::none) seat = search(pages_.self(), k, start);
      if (seat.before == BlockPages::none) return nullptr;
      // As long as nothing is freed, the chunk behind those that are counted is the first one that is free.
      return pages_.take(thread, seat, seat.before);
    });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    pages_.deallocate(block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, Large::head_bytes, Region::State::metadata});
    const std::byte* origin = reinterpret_cast<const std::byte*>(pages_.self()) - Large::head_bytes;
    pages_.walk(host, origin, visit);
    large_.walk(host, origin, visit);
  }

 private:
  static constexpr std::uint32_t most_chunks = 1024;  // in a page
  static constexpr std::uint32_t probes = 4;          // pages that are tried behind the hash

  // Three quarters of a page or of half a page would leave the last quarter unused.
  SIMT_INLINE std::uint32_t class_of(std::size_t bytes) const {
    const std::uint32_t k = size_class::of(bytes) | (bytes > pages_.page_bytes() / 4 ? 1 : 0);
    return k < pages_.least() ? pages_.least() : k;
  }

  // Multiples of the golden ratio spread consecutive numbers evenly, so two warps share a page only when there are more
  // warps than pages. Factors as in the paper, where they separate sizes and multiprocessors; here the second one
  // separates those lanes of a warp whose chunks do not fit into one page.
  SIMT_INLINE std::uint32_t hash(std::uint32_t worker, std::uint32_t lane, std::uint32_t k) const {
    const auto group = static_cast<std::uint32_t>((lane * size_class::bytes(k)) >> pages_.page_shift());
    const std::uint32_t spread = (worker + 38183 * k + 17497 * group) * 2654435769u;
    return static_cast<std::uint32_t>((std::uint64_t{spread} * pages_.pages()) >> 32);
  }

  // Where hashing failed: a page of the right chunks, an empty one, or one of chunks of up to twice the size.
  static SIMT_OUTLINE BlockPages::Seat search(const BlockPages* pages, std::uint32_t k, std::uint32_t start) {
    BlockPages::Seat seat;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < 4 && seat.before == BlockPages::none; ++i) {
      const std::uint32_t larger = i < 2 ? k : k + i - 1;
      if (larger > pages->top()) break;
      seat = BlockPages::search(pages, i == 1 ? pages->empty() : pages->room(larger), larger, start);
    }
    return seat;
  }

  BlockPages pages_;
  Large large_;
  bool wait_ = false;
};

using Scatter = ScatterOn<LargePart>;

}  // namespace heapwood::alloc
