// SPDX-License-Identifier: MIT
// A lock-free buddy allocator of pages: the backend for large requests of the allocators that have none of their own.
// The published ones call the device's malloc, which does not exist on the CPU, cannot be walked, and is slow. Own
// design, after the split and merge protocol of TBuddy (bulk, section 4.2) with one bitmap an order (sum_map.hpp) in
// place of tree nodes. Serves n pages from a block of 2^k >= n and gives the pages behind n back at once. Splitting and
// merging hold blocks that no bitmap shows; `inflight` counts the threads that do, so that "nothing that large" is only
// said when nobody does. Limits: up to 2^26 pages; the largest request is the largest block, a power of two. Overhead:
// 4.25 bytes a page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/primitives/sum_map.hpp"

namespace heapwood::alloc {

// Run once, by one thread, on zeroed tables.
template <class Buddy>
struct FreeAllPages {
  Buddy buddy;
  SIMT_FN void operator()(std::size_t) const { buddy.free_all_pages(); }
};

class Buddy {
 public:
  Buddy() = default;

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages of 2^page_shift bytes.
  template <class Device>
  static Buddy create(std::byte* base, std::size_t bytes, unsigned page_shift, const Device& device) {
    Buddy b;
    b.page_shift_ = page_shift;
    b.base_ = base;
    b.bytes_ = bytes;
    std::vector<std::uint32_t> tables;
    std::uint64_t pages = (bytes >> page_shift) + 1;
    std::uint32_t words = 0;
    do {
      --pages;
      tables.assign(SumMap::table_entries * std::size_t{most_orders}, 0);
      words = 0;
      for (std::uint64_t n = pages, k = 0; n > 0; n /= 2, ++k) {
        std::uint32_t table[SumMap::table_entries] = {};
        words += SumMap::plan(static_cast<std::uint32_t>(n), words, table);
        std::copy(std::begin(table), std::end(table), tables.data() + k * SumMap::table_entries);
      }
      b.words_offset_ = words_at;
      b.lengths_offset_ = b.words_offset_ + words * sizeof(std::uint64_t);
      b.memory_offset_ = round_up(b.lengths_offset_ + pages * sizeof(std::uint32_t), 256);
    } while (pages > 0 && b.memory_offset_ + (pages << page_shift) > bytes);
    b.pages_ = static_cast<std::uint32_t>(pages);
    if (pages == 0) {
      b.memory_offset_ = bytes;
      return b;
    }
    simt::device_fill(device.id(), base, 0, b.memory_offset_);
    simt::device_upload(device.id(), base + tables_at, tables.data(), tables.size() * sizeof(std::uint32_t));
    device.for_each(1, FreeAllPages<Buddy>{b});
    return b;
  }

  SIMT_INLINE void free_all_pages() const { give_back(0, pages_); }

  SIMT_INLINE bool owns(const void* block) const {
    return static_cast<const std::byte*>(block) >= base_ && static_cast<const std::byte*>(block) < base_ + bytes_;
  }

  template <class Thread>
  SIMT_OUTLINE void* allocate(Thread& thread, std::size_t bytes) const {
    if (bytes > (std::uint64_t{pages_} << page_shift_)) return nullptr;
    std::uint32_t n = static_cast<std::uint32_t>((bytes + (std::uint64_t{1} << page_shift_) - 1) >> page_shift_);
    if (n == 0) n = 1;
    std::uint32_t k = 0;
    while ((1u << k) < n) ++k;
    if ((pages_ >> k) == 0) return nullptr;
    const std::uint32_t spread = (thread.worker() * 32 + thread.lane() + 1) * 2654435769u;
    SIMT_ROLLED
    for (unsigned turn = 0; turn < most_turns; ++turn) {
      // acquire: an unchanged epoch afterwards says that nobody finished splitting or merging during the search.
      const std::uint32_t before = counter(epoch_at).load(simt::acquire);
      const std::uint32_t page = search(k, n, spread);
      if (page != SumMap::none) {
        lengths()[page] = n;
        return memory() + (std::uint64_t{page} << page_shift_);
      }
      // acquire on both: what threads that left before did to the bitmaps is visible to the last look below.
      if (counter(inflight_at).load(simt::acquire) == 0 && counter(epoch_at).load(simt::acquire) == before &&
          !anything(k)) {
        return nullptr;
      }
      if ((turn & 15) == 15 && thread.aborted()) return nullptr;
      thread.pause(turn + 60);
    }
    return nullptr;
  }

  SIMT_OUTLINE void deallocate(void* block) const {
    const auto page = static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> page_shift_);
    const std::uint32_t n = lengths()[page];
    lengths()[page] = 0;  // plain: this page is the caller's until give_back
    give_back(page, n);
  }

  // Offsets are from `origin`. A free block is a region of its own, as it can be served.
  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    const auto start = static_cast<std::size_t>(base_ - origin);
    visit(Region{start, memory_offset_, Region::State::metadata});
    if (pages_ == 0) return;
    std::vector<std::uint32_t> length = host.read(lengths(), pages_);
    std::vector<bool> free(pages_, false);
    const auto tables = host.read(reinterpret_cast<const std::uint32_t*>(base_ + tables_at),
                                  SumMap::table_entries * std::size_t{most_orders});
    for (unsigned k = 0; (pages_ >> k) > 0; ++k) {
      const std::uint32_t bits = pages_ >> k;
      const auto map = host.read(words() + tables[k * SumMap::table_entries], (bits + 63) / 64);
      for (std::uint32_t b = 0; b < bits; ++b) {
        if ((map[b / 64] >> (b % 64) & 1) == 0) continue;
        length[b << k] = 1u << k;
        free[b << k] = true;
      }
    }
    for (std::uint32_t page = 0; page < pages_; page += length[page]) {
      if (length[page] == 0)
        throw Error(Exit::failed, "buddy: page " + std::to_string(page) + " is neither used nor free");
      const std::size_t at = start + memory_offset_ + (std::size_t{page} << page_shift_);
      visit(
          Region{at, std::size_t{length[page]} << page_shift_, free[page] ? Region::State::free : Region::State::used});
    }
    const std::size_t end = memory_offset_ + (std::size_t{pages_} << page_shift_);
    if (end < bytes_) visit(Region{start + end, bytes_ - end, Region::State::metadata});
  }

 private:
  static constexpr unsigned most_orders = 27;
  static constexpr unsigned most_turns = 256;
  // At the base: the two counters, each in a sector of its own, the tables, the words of all maps, the lengths, the
  // pages.
  static constexpr std::size_t inflight_at = 0, epoch_at = 64, tables_at = 128;
  static constexpr std::size_t words_at = 128 + 32 * most_orders;

  SIMT_INLINE simt::atomic_ref<std::uint32_t> counter(std::size_t at) const {
    return simt::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(base_ + at));
  }
  SIMT_INLINE std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(base_ + words_offset_); }
  SIMT_INLINE std::uint32_t* lengths() const { return reinterpret_cast<std::uint32_t*>(base_ + lengths_offset_); }
  SIMT_INLINE std::byte* memory() const { return base_ + memory_offset_; }
  SIMT_INLINE SumMap map(std::uint32_t order) const {
    const auto* tables = reinterpret_cast<const std::uint32_t*>(base_ + tables_at);
    return {words(), tables + order * SumMap::table_entries, pages_ >> order};
  }
  // acq_rel on both counters: entering comes before the first block is taken out of sight, leaving after the last one
  // is back.
  SIMT_INLINE void enter() const { counter(inflight_at).fetch_add(1, simt::acq_rel); }
  SIMT_INLINE void leave() const {
    counter(epoch_at).fetch_add(1, simt::acq_rel);
    counter(inflight_at).fetch_sub(1, simt::acq_rel);
  }

  SIMT_INLINE bool anything(std::uint32_t order) const {
    SIMT_ROLLED
    for (; (pages_ >> order) > 0; ++order) {
      if (map(order).any_bit()) return true;
    }
    return false;
  }

  // Takes a block of 2^k pages or more and gives all but n pages back. Returns the first page or none.
  SIMT_INLINE std::uint32_t search(std::uint32_t k, std::uint32_t n, std::uint32_t spread) const {
    bool entered = false;
    SIMT_ROLLED
    for (std::uint32_t order = k; (pages_ >> order) > 0; ++order) {
      const SumMap m = map(order);
      std::uint32_t start = static_cast<std::uint32_t>((std::uint64_t{spread} * m.bits()) >> 32);
      SIMT_ROLLED
      for (std::uint32_t b; (b = m.find(start)) != SumMap::none; start = b) {
        const bool whole = n == (1u << order);
        if (!whole && !entered) {
          enter();
          entered = true;
        }
        if (m.take(b) == 0) continue;  // somebody else was faster
        const std::uint32_t first = b << order;
        if (!whole) give_back(first + n, (1u << order) - n);
        if (entered) leave();
        return first;
      }
    }
    // Took nothing, so the epoch stays: threads that find nothing must not keep each other searching.
    if (entered) counter(inflight_at).fetch_sub(1, simt::release);
    return SumMap::none;
  }

  // Frees pages [first, first + n) as maximal aligned blocks.
  SIMT_INLINE void give_back(std::uint32_t first, std::uint32_t n) const {
    SIMT_ROLLED
    while (n > 0) {
      std::uint32_t k = 0;
      SIMT_ROLLED
      while ((first >> k & 1) == 0 && (2u << k) <= n) ++k;
      free_block(k, first >> k);
      first += 1u << k;
      n -= 1u << k;
    }
  }

  // Of two threads that free buddies, the later set() sees the earlier one's bit and merges: no merge is lost.
  SIMT_INLINE void free_block(std::uint32_t k, std::uint32_t b) const {
    bool entered = false;
    SIMT_ROLLED
    for (;;) {
      const SumMap m = map(k);
      std::uint64_t old = m.set(b);
      const std::uint32_t left = b & ~1u;
      bool merged = false;
      if ((pages_ >> k) > 1) {
        // While both halves are free: take both, or put back what was got and look again.
        SIMT_ROLLED
        while ((old >> ((b ^ 1) % 64) & 1) != 0) {
          if (!entered) {
            enter();
            entered = true;
          }
          const std::uint64_t got = m.take(left, 3);
          merged = got == 3;
          if (merged || got == 0) break;
          old = m.raise(left, got);  // somebody took one half meanwhile
          b = left + (got == 2 ? 1 : 0);
        }
      }
      if (!merged) break;
      ++k;
      b /= 2;
    }
    if (entered) leave();
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t words_offset_ = 0, lengths_offset_ = 0, memory_offset_ = 0;
  std::uint32_t pages_ = 0;
  unsigned page_shift_ = 12;
};

}  // namespace heapwood::alloc
