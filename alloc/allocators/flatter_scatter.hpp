// SPDX-License-Identifier: MIT
// FlatterScatter: the allocator of mallocMC 3 (alpaka group, 2024), a successor of ScatterAlloc.
// The heap consists of access blocks, each a number of pages and a table. The first request in an
// empty page sets the size of its chunks by compare-and-swap. The page's entry in the table has
// that size and the number of chunks in use; a bitmap of two levels at the page's end shows which
// chunks they are. A hash of multiprocessor and size chooses the page where a request begins to
// search; the search continues in the pages after it, first of the same access block. A request
// above a page takes contiguous pages of one access block.
//
// Differs from the published code:
//   - size and number of chunks are one word, so an empty page changes its size by one atomic
//     operation; the same thread then clears the bitmap. A page that becomes empty keeps both;
//   - lanes that call at the same time for one size make one request;
//   - the tables of all access blocks are at the beginning of the pool, and an access block is a
//     quarter of the pool, at least 32 pages: this limits the size of requests;
//   - pages have 128 KiB, in small pools less;
//   - a request waits for the thread that clears the bitmap of a page that suits it.
//
// Limits: a page serves requests of half its chunk size and more. A request is refused after a
// search of all pages, or because other threads change pages meanwhile.
// Overhead: 8 bytes per page, one bit per chunk.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>

#include "alloc/allocator.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

class FlatterScatter {
 public:
  static constexpr AllocatorTraits traits{
      .id = "flatter-scatter",
      .label = "FlatterScatter",
      .paper = "mallocMC 3, 2024",
      .note = "pages of one chunk size in access blocks, found by hashing",
      .smallest_pool = 8192};

  template <class Device>
  static FlatterScatter create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    FlatterScatter f;
    f.base_ = pool.base;
    f.bytes_ = pool.bytes;
    f.wait_ = options.wait_when_full;
    f.page_shift_ = std::clamp(simt::highest_bit(pool.bytes / 512), 8u, 17u);
    std::size_t pages = (pool.bytes - states_at) >> f.page_shift_;
    while (f.pages_at(pages) + (pages << f.page_shift_) > pool.bytes) --pages;
    f.memory_ = pool.base + f.pages_at(pages);
    f.pages_ = static_cast<std::uint32_t>(pages);
    f.block_pages_ = std::min(f.pages_, std::max(32u, (f.pages_ + 3) / 4));
    static_assert(sizeof(FlatterScatter) <= states_at);
    simt::device_fill(device.id(), pool.base, 0, f.pages_at(pages));
    simt::device_upload(device.id(), pool.base, &f, sizeof(f));
    return f;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > largest_chunk()) return allocate_pages(self(), thread, bytes);
      const auto size = static_cast<std::uint32_t>(padded(bytes));
      // Lanes that request the same size from the same pool make one request.
      const LaneGroup<Thread> group(thread, thread.together(base_ + size / granule));
      const std::uint32_t page = scaled(hash(thread.sm(), size), pages_);
      const std::uint64_t counted = group.once([&] {
        // relaxed: a hint; count() decides.
        return count(page, chunk_in(state(page).load(simt::relaxed), size), group.size());
      });
      if (low(counted) < group.size())
        return allocate_slow(self(), thread, group.lanes(), page, counted, size);
      return take(self(), thread, group.lanes(), page, high(counted));
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* chunk) const {
    if (chunk == nullptr) return;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(chunk) - memory_);
    const auto page = static_cast<std::uint32_t>(offset >> page_shift_);
    // relaxed: a page keeps its chunk size while a chunk is in use.
    const std::uint32_t size = size_of(state(page).load(simt::relaxed));
    if ((size & run) != 0) return free_pages(page, size & ~run);
    const auto i = static_cast<std::uint32_t>(offset & (page_bytes() - 1)) / size;
    const LaneGroup<Thread> word_mates(thread, thread.together(&bits_of(page, i / 64)));
    word_mates.sync();  // orders these lanes' accesses to their chunks before both releases
    const std::uint64_t bits = word_mates.reduce_or(std::uint64_t{1} << i % 64);
    if (word_mates.rank() == 0) {
      // release: hands the chunks over to the threads that take these bits. acquire: the word's
      // mark is set before it is cleared below.
      if (Word64(bits_of(page, i / 64)).fetch_and(~bits, simt::acq_rel) == ~std::uint64_t{0})
        Word64(full_words(page, i / 4096))
            .fetch_and(~(std::uint64_t{1} << i / 64 % 64), simt::acq_rel);
      // release: hands the chunks over to the thread that gives the page another size. The count is
      // reduced after the bits, so a page never has more bits set than chunks counted.
      state(page).fetch_sub(word_mates.size(), simt::release);
    }
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const;

 private:
  static constexpr std::size_t states_at = 256;
  // A page's state is {size of its chunks:32, chunks in use:32}. While a thread clears the bitmap,
  // the number in use is increased by `locked`, so the page looks full.
  static constexpr std::uint64_t one_size = std::uint64_t{1} << 32;
  static constexpr std::uint32_t locked = 1u << 30;
  // The size field of pages of a large request; in the first page the number of pages is added.
  static constexpr std::uint32_t run = 1u << 31;

  static HEAPWOOD_INLINE std::uint32_t size_of(std::uint64_t state) { return high(state); }
  static HEAPWOOD_INLINE std::uint32_t count_of(std::uint64_t state) { return low(state); }

  HEAPWOOD_INLINE const FlatterScatter* self() const { return as<const FlatterScatter>(base_); }
  HEAPWOOD_INLINE std::size_t page_bytes() const { return std::size_t{1} << page_shift_; }
  static std::size_t pages_at(std::size_t pages) {
    return round_up(states_at + pages * sizeof(std::uint64_t), 256);
  }
  HEAPWOOD_INLINE Word64 state(std::uint32_t page) const {
    return Word64(as<std::uint64_t>(base_ + states_at)[page]);
  }

  // A page ends with its bitmap, whose words are stored backwards from the end. The upper level has
  // a mark for each full word of the lower level; it has as many words as the smallest chunks need.
  HEAPWOOD_INLINE std::uint32_t upper_words() const {
    return page_shift_ <= 16 ? 1 : 1u << (page_shift_ - 16);
  }
  HEAPWOOD_INLINE std::uint64_t& full_words(std::uint32_t page, std::uint32_t i) const {
    return as<std::uint64_t>(memory_ +
                             (std::size_t{page + 1} << page_shift_))[-1 - std::ptrdiff_t{i}];
  }
  HEAPWOOD_INLINE std::uint64_t& bits_of(std::uint32_t page, std::uint32_t i) const {
    return full_words(page, upper_words() + i);
  }
  // The number of chunks of a page, at least two.
  HEAPWOOD_INLINE std::uint32_t chunks(std::uint32_t size) const {
    const std::uint32_t bits = ((1u << page_shift_) - 8 * upper_words() - 8) * 8;
    return bits / (8 * size + 1);
  }
  HEAPWOOD_INLINE std::size_t largest_chunk() const { return page_bytes() / 2 - 32; }

  // Multiples of the golden ratio are evenly spread, so different multiprocessors and sizes get
  // different pages if there are enough pages.
  static HEAPWOOD_INLINE std::uint32_t hash(std::uint32_t sm, std::uint32_t size) {
    return (sm + size / granule * 38183u) * 2654435769u;
  }

  // The chunk size that a request gets in a page with this state: the page's if it suits the
  // request.
  static HEAPWOOD_INLINE std::uint32_t chunk_in(std::uint64_t state, std::uint32_t size) {
    const std::uint32_t there = size_of(state);
    return there >= size && there <= 2 * size ? there : size;
  }
  // Counts up to n chunks as used, if the page has this chunk size. Returns {size, how many}.
  HEAPWOOD_INLINE std::uint64_t count(std::uint32_t page, std::uint32_t size,
                                      std::uint32_t n) const {
    const std::uint32_t all = chunks(size);
    const Word64 word = state(page);
    std::uint64_t seen = word.load(simt::relaxed);
    if (size_of(seen) != size || count_of(seen) >= all) return size * one_size;
    // acquire: synchronizes with the thread that cleared the bitmap.
    seen = word.fetch_add(n, simt::acquire);
    std::uint32_t counted = 0;
    if (size_of(seen) == size && count_of(seen) < all)
      counted = all - count_of(seen) < n ? all - count_of(seen) : n;
    // relaxed: no thread has used these chunks.
    if (counted < n) word.fetch_sub(n - counted, simt::relaxed);
    return size * one_size + counted;
  }
  // count() for any page that suits the request or is empty. Waits for a thread that prepares the
  // page: otherwise all warps of a multiprocessor would prepare pages at the same time.
  template <class Thread>
  static HEAPWOOD_OUTLINE std::uint64_t enter(const FlatterScatter* self, Thread thread,
                                              std::uint32_t page, std::uint32_t size,
                                              std::uint32_t n) {
    const Word64 word = self->state(page);
    std::uint64_t seen = word.load(simt::relaxed);
    if (size_of(seen) == chunk_in(seen, size) && count_of(seen) >= locked) {
      simt::wait_until(thread, [&] {
        seen = word.load(simt::relaxed);  // relaxed: count() acquires
        return count_of(seen) < locked;
      });
    }
    const std::uint32_t chunk = chunk_in(seen, size), all = self->chunks(chunk);
    if (size_of(seen) == chunk || count_of(seen) != 0) return self->count(page, chunk, n);
    if (n > all) n = all;
    // The page is empty: sets its size. acquire: synchronizes with the last users of its chunks.
    if (!word.compare_exchange_strong(seen, size * one_size + locked + n, simt::acquire,
                                      simt::relaxed))
      return 0;
    const std::uint32_t words = (all + 63) / 64;
    HEAPWOOD_UNROLLED_4
    for (std::uint32_t i = 0; i < words + self->upper_words(); ++i)
      Word64(self->full_words(page, i)).store(0, simt::relaxed);  // relaxed: the page is locked
    // Bits of the last word that belong to no chunk are set, as if used.
    if (all % 64 != 0)
      Word64(self->bits_of(page, words - 1)).store(~std::uint64_t{0} << all % 64, simt::relaxed);
    // release: publishes the bitmap.
    word.fetch_sub(locked, simt::release);
    return size * one_size + n;
  }

  // Returns a chunk to each lane of a group for which chunks have been counted. Returns nullptr
  // only if the launch is aborted.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* take(const FlatterScatter* self, Thread thread, std::uint32_t lanes,
                                     std::uint32_t page, std::uint32_t size) {
    LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t words = (self->chunks(size) + 63) / 64;
    std::uint32_t w = scaled((thread.worker() + 1) * 2654435769u, words);
    HEAPWOOD_ROLLED
    for (std::uint32_t tries = 0;; ++tries) {
      const std::uint64_t clear = group.once([&] {
        w = self->next_open(page, w, words);
        return ~Word64(self->bits_of(page, w)).load(simt::relaxed);  // relaxed: a hint
      });
      w = group.once([&] { return w; });
      if (clear != 0) {
        const bool picks = group.rank() < simt::popcount(clear);
        const unsigned bit = picks ? nth_bit(clear, group.rank()) : 0;
        const std::uint64_t wanted = group.reduce_or(std::uint64_t{picks} << bit);
        const std::uint64_t taken = group.once([&] { return self->set_bits(page, w, wanted); });
        group.sync();  // makes the acquire visible to all lanes
        const bool has_chunk = picks && (taken >> bit & 1) == 0;
        group = group.part(has_chunk);
        if (has_chunk)
          return self->memory_ + (std::size_t{page} << self->page_shift_) +
                 (std::size_t{w} * 64 + bit) * size;
      }
      // Continues: a bit is clear for each counted chunk, or will be when other threads are done.
      w = w + 1 == words ? 0 : w + 1;
      if (tries >= words) {
        if (group.once([&] { return std::uint32_t{thread.aborted()}; }) != 0) return nullptr;
        thread.pause(tries - words);
      }
    }
  }
  // The first word from w on, and then from 0, that is not marked as full; w if all are marked.
  HEAPWOOD_INLINE std::uint32_t next_open(std::uint32_t page, std::uint32_t w,
                                          std::uint32_t words) const {
    std::uint32_t from = w;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i <= upper_words(); ++i) {
      // relaxed: a hint.
      const std::uint64_t open = ~Word64(full_words(page, from / 64)).load(simt::relaxed) &
                                 (~std::uint64_t{0} << from % 64);
      const std::uint32_t found = from / 64 * 64 + simt::lowest_bit(open);
      if (open != 0 && found < words) return found;
      from = (from / 64 + 1) * 64 < words ? (from / 64 + 1) * 64 : 0;
    }
    return w;
  }
  // Sets bits of a word and returns its previous value. Marks the word if it is full. If a chunk of
  // the word is freed meanwhile, either this thread sees it after setting the mark and clears the
  // mark, or the freeing thread clears the mark afterwards.
  HEAPWOOD_INLINE std::uint64_t set_bits(std::uint32_t page, std::uint32_t w,
                                         std::uint64_t wanted) const {
    Word64 word(bits_of(page, w));
    // acquire: synchronizes with the last users of the chunks. release: a thread that frees a chunk
    // of a full word clears the mark after it has been set.
    const std::uint64_t taken = word.fetch_or(wanted, simt::acq_rel);
    if ((taken | wanted) == ~std::uint64_t{0} && taken != ~std::uint64_t{0}) {
      Word64 marks(full_words(page, w / 64));
      const std::uint64_t mark = std::uint64_t{1} << w % 64;
      // acq_rel: ordered with the changes of `word`, see above.
      marks.fetch_or(mark, simt::acq_rel);
      if (word.load(simt::acquire) != ~std::uint64_t{0}) marks.fetch_and(~mark, simt::acq_rel);
    }
    return taken;
  }

  // Slow path of allocate(), whose count() in `page` has returned `counted`: searches for the lanes
  // that have no chunk.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const FlatterScatter* self, Thread thread,
                                              std::uint32_t lanes, std::uint32_t page,
                                              std::uint64_t counted, std::uint32_t size) {
    LaneGroup<Thread> group(thread, lanes);
    HEAPWOOD_ROLLED
    for (std::uint32_t visited = 0;;) {
      const bool has_chunk = group.rank() < low(counted);
      group = group.part(has_chunk);
      if (has_chunk) return take(self, thread, group.lanes(), page, high(counted));
      if (group.rank() == 0) counted = find_page(self, thread, page, visited, size, group.size());
      counted = group.once([=] { return counted; });
      visited = group.once([=] { return visited; });
      page = group.once([=] { return page; });
      if (counted == 0) return nullptr;
    }
  }
  // Searches the pages from `page` on, of which `visited` have been searched, and counts chunks in
  // the first one that fits.
  template <class Thread>
  static HEAPWOOD_INLINE std::uint64_t find_page(const FlatterScatter* self, Thread& thread,
                                                 std::uint32_t& page, std::uint32_t& visited,
                                                 std::uint32_t size, std::uint32_t n) {
    constexpr std::uint32_t batch = 8;
    const std::uint32_t all = self->chunks(size);
    HEAPWOOD_ROLLED
    for (std::uint32_t first = page; visited < self->pages_;
         first = self->page_after(first, batch)) {
      // Bit i: the i-th page seems to fit. The loads are in flight together.
      std::uint32_t fit = 0;
      HEAPWOOD_UNROLLED
      for (std::uint32_t i = 0; i < batch; ++i) {
        // relaxed: a hint; enter() decides.
        const std::uint64_t seen = self->state(self->page_after(first, i)).load(simt::relaxed);
        const bool has_space = count_of(seen) < all || count_of(seen) >= locked;
        const bool fits = size_of(seen) == chunk_in(seen, size) && has_space;
        fit |= std::uint32_t{fits || count_of(seen) == 0} << i;
      }
      HEAPWOOD_ROLLED
      for (; fit != 0; fit &= fit - 1) {
        page = self->page_after(first, simt::lowest_bit(fit));
        const std::uint64_t counted = enter(self, thread, page, size, n);
        if (low(counted) == 0) continue;
        visited += simt::lowest_bit(fit);  // a page that is not full yet is tried again
        return counted;
      }
      visited += batch;
    }
    return 0;
  }
  HEAPWOOD_INLINE std::uint32_t page_after(std::uint32_t page, std::uint32_t n) const {
    return page + n < pages_ ? page + n : page + n - pages_;
  }

  // Takes contiguous empty pages of one access block.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_pages(const FlatterScatter* self, Thread thread,
                                               std::size_t bytes) {
    if ((bytes - 1) >> self->page_shift_ >= self->block_pages_) return nullptr;
    const auto n = static_cast<std::uint32_t>(((bytes - 1) >> self->page_shift_) + 1);
    const std::uint32_t blocks = (self->pages_ + self->block_pages_ - 1) / self->block_pages_;
    std::uint32_t block = scaled(hash(thread.sm(), n * granule), blocks);
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < blocks; ++i, block = block + 1 == blocks ? 0 : block + 1) {
      const std::uint32_t begin = block * self->block_pages_, next = begin + self->block_pages_,
                          end = next < self->pages_ ? next : self->pages_;
      HEAPWOOD_ROLLED
      for (std::uint32_t page = begin, empty = 0; page < end; ++page) {
        // relaxed: a hint; take_page() decides.
        empty = count_of(self->state(page).load(simt::relaxed)) == 0 ? empty + 1 : 0;
        if (empty < n) continue;
        const std::uint32_t first = page + 1 - n;
        std::uint32_t taken = 0;
        HEAPWOOD_ROLLED
        while (taken < n && self->take_page(first + taken)) ++taken;
        if (taken == n) {
          // relaxed: the pages belong to this thread. A read-modify-write, because other threads
          // may add chunks to the word and subtract them again.
          self->state(first).fetch_add(n * one_size, simt::relaxed);
          return self->memory_ + (std::size_t{first} << self->page_shift_);
        }
        HEAPWOOD_ROLLED
        for (std::uint32_t k = 0; k < taken; ++k)
          self->state(first + k).fetch_sub(1, simt::relaxed);  // relaxed: the pages had no user
        page = first + taken;                                  // another thread has taken that page
        empty = 0;
      }
    }
    return nullptr;
  }
  HEAPWOOD_INLINE bool take_page(std::uint32_t page) const {
    std::uint64_t seen = state(page).load(simt::relaxed);
    // acquire: synchronizes with the last users of the page.
    return count_of(seen) == 0 && state(page).compare_exchange_strong(seen, run * one_size + 1,
                                                                      simt::acquire, simt::relaxed);
  }
  HEAPWOOD_INLINE void free_pages(std::uint32_t first, std::uint32_t n) const {
    // release: hands the pages over to the threads that give them a size. The first page comes
    // last, because its state has the number of pages.
    HEAPWOOD_ROLLED
    for (std::uint32_t i = n; i-- > 0;) state(first + i).fetch_sub(1, simt::release);
  }

  std::byte* base_ = nullptr;
  std::byte* memory_ = nullptr;  // the start of page 0
  std::size_t bytes_ = 0;
  unsigned page_shift_ = 17;
  std::uint32_t pages_ = 0, block_pages_ = 0;  // pages of the pool; pages of an access block
  bool wait_ = false;
};

// Adjacent empty pages of an access block are one region.
template <class Visitor>
void FlatterScatter::walk(const HostView& host, Visitor visit) const {
  using State = Region::State;
  const auto memory_at = static_cast<std::size_t>(memory_ - base_);
  visit(Region{0, memory_at, State::metadata});
  const auto states = host.read(as<const std::uint64_t>(base_ + states_at), pages_);
  const auto at = [&](std::uint32_t page) {
    return memory_at + (std::size_t{page} << page_shift_);
  };
  for (std::uint32_t page = 0, n = 1; page < pages_; page += n) {
    const std::uint32_t size = size_of(states[page]), count = count_of(states[page]);
    n = 1;
    if (count == 0) {
      while ((page + n) % block_pages_ != 0 && page + n < pages_ && count_of(states[page + n]) == 0)
        ++n;
      visit(Region{at(page), at(page + n) - at(page), State::free});
    } else if ((size & run) != 0) {
      n = size & ~run;
      visit(Region{at(page), at(page + n) - at(page), State::used});
    } else {
      const std::uint32_t all = chunks(size), words = (all + 63) / 64;
      const auto bits = host.read(&bits_of(page, words - 1), words);  // the last word first
      std::uint32_t used = 0;
      for (std::uint32_t i = 0; i < all; ++i) {
        const bool is_used = (bits[words - 1 - i / 64] >> i % 64 & 1) != 0;
        used += is_used;
        visit(Region{at(page) + std::size_t{i} * size, size, is_used ? State::used : State::free});
      }
      if (used != count)
        throw Error(Exit::failed, "page " + std::to_string(page) + " counts " +
                                      std::to_string(count) + " chunks in use, its bitmap has " +
                                      std::to_string(used));
      const std::size_t end = at(page) + std::size_t{all} * size;
      visit(Region{end, at(page + 1) - end, State::metadata});
    }
  }
  if (at(pages_) < bytes_) visit(Region{at(pages_), bytes_ - at(pages_), State::metadata});
}

}  // namespace heapwood::alloc
