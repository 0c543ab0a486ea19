// SPDX-License-Identifier: MIT
// A lock-free buddy allocator of pages: the backend for large requests of allocators that have none
// of their own. Own design: levels of bitmaps (run_map.hpp), where a unit of level l is 64^l pages.
// A request of up to 32 units of a level is an aligned run of bits in one word of that level, so a
// block is split at most once per level, into 64 units, and 64 units are merged by one exchange.
//
// Serves n pages from a block of 2^k >= n pages and frees the pages after the first n immediately.
//
// A thread that splits or merges a block hides it: meanwhile no bitmap shows the block. Each level
// counts the threads that hide something of its sizes (Motion). A request fails only if a search
// found nothing and nothing of that size or larger was hidden from it; this is exact and takes a
// few loads, without reading the bits. The only exception: a thread gives up without that proof
// after blocks of its own level or above were split or merged during each of `max_moves` searches.
//
// Limits: fewer than 2^30 pages; the largest request is the largest block, a power of two.
// Overhead: 4.2 bytes per page.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/primitives/run_map.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Executed once, by one thread, on zeroed tables.
template <class Buddy>
struct FreeAllPages {
  Buddy buddy;
  HEAPWOOD_FN void operator()(std::size_t) const { buddy.free_all_pages(); }
};

class Buddy {
 public:
  Buddy() = default;

  // How many pages of 2^page_shift bytes fit into `bytes` together with their tables.
  static std::uint32_t pages_in(std::size_t bytes, unsigned page_shift) {
    std::vector<RunMap::Shape> shapes;
    return plan(nullptr, bytes, page_shift, shapes).pages_;
  }

  // The smallest number of bytes that holds `pages` pages and their tables.
  static std::size_t bytes_for(std::uint32_t pages, unsigned page_shift) {
    std::vector<RunMap::Shape> shapes;
    return lay_out(pages, page_shift, shapes).end();
  }

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages of 2^page_shift bytes. The
  // first `taken` pages belong to the caller, as if it had allocated them.
  template <class Device>
  static Buddy create(std::byte* base, std::size_t bytes, unsigned page_shift, const Device& device,
                      std::uint32_t taken = 0) {
    std::vector<RunMap::Shape> shapes;
    Buddy b = plan(base, bytes, page_shift, shapes);
    b.taken_ = taken;
    if (b.pages_ == 0) {
      b.memory_offset_ = bytes;
      return b;
    }
    simt::device_fill(device.id(), base, 0, b.memory_offset_);
    simt::device_upload(device.id(), base + shapes_at, shapes.data(),
                        shapes.size() * sizeof(shapes[0]));
    device.for_each(1, FreeAllPages<Buddy>{b});
    return b;
  }

  HEAPWOOD_FN void free_all_pages() const {
    HEAPWOOD_ROLLED
    for (std::uint32_t first = taken_, n = 0; first < pages_; first += n) {
      const std::uint32_t aligned = first & (~first + 1), rest = pages_ - first;
      n = first == 0 || aligned > rest ? rest : aligned;
      give_back(first, n);
    }
  }

  HEAPWOOD_INLINE std::uint32_t pages() const { return pages_; }
  // The address of a page.
  HEAPWOOD_INLINE std::byte* page(std::uint32_t p) const {
    return memory() + (std::size_t{p} << page_shift_);
  }

  HEAPWOOD_INLINE bool owns(const void* block) const {
    return static_cast<const std::byte*>(block) >= base_ &&
           static_cast<const std::byte*>(block) < base_ + bytes_;
  }

  template <class Thread>
  HEAPWOOD_OUTLINE void* allocate(Thread& thread, std::size_t bytes) const {
    if (bytes > (std::uint64_t{pages_} << page_shift_)) return nullptr;
    std::uint32_t n =
        static_cast<std::uint32_t>((bytes + (std::uint64_t{1} << page_shift_) - 1) >> page_shift_);
    if (n == 0) n = 1;
    const unsigned k = n == 1 ? 0 : simt::highest_bit(n - 1) + 1;
    if ((pages_ >> k) == 0) return nullptr;
    std::uint32_t seed = seed_of(thread);
    std::uint64_t seen = 1;  // 1: not idle, so the first search is never the reason to fail
    HEAPWOOD_ROLLED
    for (unsigned turn = 0, moves = 0; moves < max_moves; ++turn) {
      // Only a thorough search may be the reason to fail the request. The other searches make a few
      // attempts per level before they split a larger block, twice as many each turn: thousands of
      // threads that want the few visible blocks would otherwise take them one after the other.
      const unsigned attempts = Motion::is_idle(seen) || turn > 10 ? ~0u : 2u << turn;
      const std::uint32_t page = search(k, n, seed, {attempts, turn > 0});
      if (page != RunMap::none) {
        lengths()[page] = n;
        return memory() + (std::uint64_t{page} << page_shift_);
      }
      if (Motion::is_idle(seen) && is_unchanged(k, seen)) return nullptr;
      seed += 0x9e3779b9u;
      const std::uint64_t now = motion_sum(k);
      moves += now != seen;
      seen = now;
      // The threads that hide blocks are running; on the CPU one may have been preempted.
      if (!Motion::is_idle(seen)) thread.pause(turn < 64 ? turn + 60 : simt::long_wait);
      if ((turn & 15) == 15 && thread.aborted()) return nullptr;
    }
    return nullptr;
  }

  HEAPWOOD_OUTLINE void deallocate(void* block) const {
    const auto page =
        static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> page_shift_);
    const std::uint32_t n = lengths()[page];
    lengths()[page] = 0;  // plain: this page belongs to the caller until give_back
    give_back(page, n);
  }

  // The size of a block that is in use, in bytes.
  HEAPWOOD_INLINE std::size_t bytes_of(const void* block) const {
    const auto page = static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory());
    return std::size_t{lengths()[page >> page_shift_]} << page_shift_;
  }

  // Frees n pages (1 to 64, in one aligned group of 64) that were allocated as part of other
  // blocks, or have belonged to the caller from the start.
  HEAPWOOD_INLINE void adopt(std::uint32_t first, std::uint32_t n) const { give_back(first, n); }

  // Reports each free block as a region of its own. Offsets are relative to `origin`.
  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    walk(host, origin, visit, [](std::uint32_t) { return false; });
  }
  // Reports the pages like the other overload, but leaves out each page p for which is_elsewhere(p)
  // is true: it belongs to the caller, which has just reported it.
  template <class Visitor, class IsElsewhere>
  void walk(const HostView& host, const std::byte* origin, Visitor visit,
            IsElsewhere is_elsewhere) const {
    const auto start = static_cast<std::size_t>(base_ - origin);
    visit(Region{start, memory_offset_, Region::State::metadata});
    if (pages_ == 0) return;
    std::vector<std::uint32_t> length = host.read(lengths(), pages_);
    std::vector<bool> free(pages_, false);
    const auto shapes =
        host.read(reinterpret_cast<const RunMap::Shape*>(base_ + shapes_at), levels_);
    for (unsigned level = 0; level < levels_; ++level) {
      const auto bits = host.read(words() + shapes[level].words_at, shapes[level].words());
      // The units lie within one word.
      const auto run = [&](std::uint32_t unit, std::uint32_t units) {
        const std::uint64_t mask = (~std::uint64_t{0} >> (64 - units)) << unit % 64;
        return (bits[unit / 64] & mask) == mask;
      };
      for (std::uint32_t unit = 0, units = 1; unit < shapes[level].units; unit += units) {
        units = 1;
        if (!run(unit, 1)) continue;
        while (units < 32 && unit % (2 * units) == 0 && run(unit, 2 * units)) units *= 2;
        const std::uint32_t page = unit << unit_shift * level;
        length[page] = units << unit_shift * level;
        free[page] = true;
      }
    }
    for (std::uint32_t page = 0; page < pages_; page += length[page]) {
      if (is_elsewhere(page)) {
        length[page] = 1;
        continue;
      }
      if (length[page] == 0)
        throw Error(Exit::failed,
                    "buddy: page " + std::to_string(page) + " is neither used nor free");
      const std::size_t offset = start + memory_offset_ + (std::size_t{page} << page_shift_);
      visit(Region{offset, std::size_t{length[page]} << page_shift_,
                   free[page] ? Region::State::free : Region::State::used});
    }
    if (end() < bytes_) visit(Region{start + end(), bytes_ - end(), Region::State::metadata});
  }

 private:
  static Buddy plan(std::byte* base, std::size_t bytes, unsigned page_shift,
                    std::vector<RunMap::Shape>& shapes) {
    Buddy b;
    std::uint64_t pages = bytes / ((std::uint64_t{1} << page_shift) + sizeof(std::uint32_t)) + 1;
    do {
      b = lay_out(static_cast<std::uint32_t>(--pages), page_shift, shapes);
    } while (pages > 0 && b.end() > bytes);
    b.base_ = base;
    b.bytes_ = bytes;
    return b;
  }
  // Lays out the tables and pages of a buddy with `pages` pages.
  static Buddy lay_out(std::uint32_t pages, unsigned page_shift,
                       std::vector<RunMap::Shape>& shapes) {
    Buddy b;
    b.page_shift_ = page_shift;
    b.pages_ = pages;
    shapes.clear();
    std::uint32_t words = 0;
    for (std::uint32_t n = pages; n > 0; n /= 64) {
      shapes.push_back(RunMap::Shape::plan(n, words));
      words = shapes.back().end();
    }
    b.levels_ = static_cast<unsigned>(shapes.size());
    b.lengths_offset_ = words_at + words * sizeof(std::uint64_t);
    b.memory_offset_ = round_up(b.lengths_offset_ + pages * sizeof(std::uint32_t), 256);
    return b;
  }
  // The offset at which the pages end.
  std::size_t end() const { return memory_offset_ + (std::size_t{pages_} << page_shift_); }

  static constexpr unsigned unit_shift = 6;  // a unit of one level is 64 units of the level below
  static constexpr unsigned max_levels = 5;
  static constexpr unsigned max_moves = 256;
  // Layout from `base_`: one Motion word per level, each in a cache sector of its own, the shapes
  // of the levels, the words of all maps, the lengths, the pages.
  static constexpr std::size_t motion_stride = 64, shapes_at = max_levels * motion_stride;
  static constexpr std::size_t words_at = shapes_at + max_levels * sizeof(RunMap::Shape);
  static_assert(words_at % sizeof(std::uint64_t) == 0);

  HEAPWOOD_INLINE std::uint64_t* motion(unsigned level) const {
    return as<std::uint64_t>(base_ + level * motion_stride);
  }
  HEAPWOOD_INLINE std::uint64_t* words() const { return as<std::uint64_t>(base_ + words_at); }
  HEAPWOOD_INLINE std::uint32_t* lengths() const {
    return as<std::uint32_t>(base_ + lengths_offset_);
  }
  HEAPWOOD_INLINE std::byte* memory() const { return base_ + memory_offset_; }
  HEAPWOOD_INLINE RunMap map(unsigned level) const {
    return {words(), reinterpret_cast<const RunMap::Shape*>(base_ + shapes_at) + level,
            motion(level)};
  }

  // A thread that can hide a block of 2^k pages announces this at the block's level or above. While
  // no thread has announced anything, counts only grow: an unchanged sum means unchanged counts.
  HEAPWOOD_INLINE std::uint64_t motion_sum(unsigned k) const {
    std::uint64_t sum = 0;
    HEAPWOOD_ROLLED
    for (unsigned level = k / unit_shift; level < levels_; ++level)
      sum += Motion::load(motion(level));
    return sum;
  }
  HEAPWOOD_INLINE bool is_unchanged(unsigned k, std::uint64_t seen) const {
    HEAPWOOD_ROLLED
    for (unsigned level = k / unit_shift; level < levels_; ++level)
      seen -= Motion::load_after_search(motion(level));
    return seen == 0;
  }

  // Takes a block of 2^k pages or more and frees all but n pages. Returns the first page or `none`.
  HEAPWOOD_INLINE std::uint32_t search(unsigned k, std::uint32_t n, std::uint32_t seed,
                                       RunMap::SearchMode mode) const {
    const unsigned own = k / unit_shift;
    HEAPWOOD_ROLLED
    for (unsigned level = own; level < levels_; ++level) {
      const unsigned shift = unit_shift * level;
      // The units of lower levels that are freed further below are hidden until then.
      const bool rest = (n & ((1u << shift) - 1)) != 0;
      Motion hiding(rest ? motion(level - 1) : nullptr);
      const std::uint32_t unit = map(level).take(level == own ? k % unit_shift : 0,
                                                 ((n - 1) >> shift) + 1, seed, mode, hiding);
      if (unit == RunMap::none) {
        hiding.end(false);
        continue;
      }
      const std::uint32_t first = unit << shift, last = first + n - 1;
      if (rest) {
        HEAPWOOD_ROLLED
        for (unsigned l = level; l-- > 0;) {
          const std::uint32_t behind = (last >> unit_shift * l) + 1;
          // The Motion above covers this free: the word was empty and does not become full.
          Motion none(nullptr);
          if (behind % 64 != 0) map(l).free(behind, 64 - behind % 64, none);
        }
        hiding.end();
      }
      return first;
    }
    return RunMap::none;
  }

  // Frees pages [first, first + n); `first` is where a block of n pages or more may start.
  HEAPWOOD_INLINE void give_back(std::uint32_t first, std::uint32_t n) const {
    HEAPWOOD_ROLLED
    for (unsigned level = levels_; level-- > 0;) {
      const unsigned shift = unit_shift * level;
      if (const std::uint32_t units = n >> shift; units > 0) {
        free_units(level, first >> shift, units);
        first += units << shift;
        n -= units << shift;
      }
    }
  }

  HEAPWOOD_INLINE void free_units(unsigned level, std::uint32_t unit, std::uint32_t n) const {
    Motion below(nullptr);
    HEAPWOOD_ROLLED
    for (bool full = true; full; n = 1, unit /= 64, ++level) {
      // Units that are merged are hidden until they are free at this level.
      Motion here(motion(level));
      full = map(level).free(unit, n, here);
      below.end();
      below = here;
    }
    below.end();
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t lengths_offset_ = 0, memory_offset_ = 0;
  std::uint32_t pages_ = 0, taken_ = 0;
  unsigned levels_ = 0;
  unsigned page_shift_ = 12;
};

}  // namespace heapwood::alloc
