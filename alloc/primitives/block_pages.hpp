// SPDX-License-Identifier: MIT
// Pages divided into equal blocks, such as ScatterAlloc's pages and Halloc's slabs. Each page has a
// state word and a bitmap, both in tables outside of the pages. The caller chooses the page in
// which a request is tried.
//
// The state is one word, {size class, hints, mark, count}. A block is allocated by adding it to the
// count (`reserve`) and then setting a clear bit (`take`). It is freed by subtracting it from the
// count, which also returns the class, and then clearing its bit. Hence a page has no more bits set
// than its count, except for bits of threads inside deallocate(): a thread that was counted finds a
// clear bit, or waits for such a thread at most. A page with count 0 has no block in use, so one
// compare-and-swap of the state gives it to another class. A thread that counts a block in a page
// that is full or of another class subtracts it again; until then the page may look full or used.
// Lanes that call together with one page form a LaneGroup: one add counts all their blocks, one
// fetch_or takes them.
//
// Hints (sum_map.hpp) tell which pages can serve requests: for each class the pages with free
// blocks (`room`), and for all classes the `empty` pages; optionally for each class the `roomy`
// pages, less than five eighths full. A hint persists after the page has filled up or changed its
// class, until a thread follows it and clears it. For each kind of hint the state has a flag,
// "hinted", so that a thread whose change enables a page to serve more requests sets a hint
// (`list`) only if there is none. A page that is hinted as empty needs no other hint: the thread
// that clears that one sets those that the page needs.
//
// Flag and hint are two words. A thread that clears a hint clears the hint, then the flag, and then
// reads the state again; a thread that sets one sets the flag, and if it was clear, the hint. So a
// set flag means that the hint is set or about to be set.
//
// Limits: 2^22 counted blocks per page, including those that are subtracted again. Overhead: one
// bit per smallest block, and per page 4 bytes and about two bits per class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/size_class.hpp"
#include "alloc/primitives/sum_map.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

class BlockPages {
 public:
  static constexpr std::uint32_t none = ~0u;
  // A bit of the state that has a meaning for the caller only.
  static constexpr std::uint32_t mark = 1u << 22;

  struct Shape {
    unsigned page_shift = 12;
    std::uint32_t least = 0, top = 0;  // smallest and largest class
    bool roomy = false;                // whether there are hints for roomy pages
  };

  // A reservation: blocks of class k that are counted in a page. take() chooses the blocks.
  struct Seats {
    std::uint32_t page = none;
    // The page's count before the reservation; none: nothing is reserved.
    std::uint32_t before = none;
    std::uint32_t k = 0;

    // How many of the `n` requested blocks have been reserved.
    HEAPWOOD_INLINE std::uint32_t count(const BlockPages& pages, std::uint32_t n) const {
      return before == none ? 0 : pages.fitting(before, k, n);
    }
    // Broadcasts the reservation of the group's first lane to all its lanes.
    template <class Thread>
    HEAPWOOD_INLINE Seats shared_by(const LaneGroup<Thread>& group) const {
      const auto tell = [&](std::uint32_t value) { return group.once([=] { return value; }); };
      return {tell(page), tell(before), tell(k)};
    }
  };

  BlockPages() = default;

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages. A copy of the handle is stored
  // at `base`, for functions that are not inlined. All pages are initially empty and of the
  // smallest class, except that a page whose entry in `marked` is not none is marked and of that
  // class.
  template <class Device>
  static BlockPages create(std::byte* base, std::size_t bytes, const Shape& shape,
                           const Device& device, const std::vector<std::uint32_t>& marked = {}) {
    static_assert(sizeof(BlockPages) <= table_at);
    BlockPages b;
    b.base_ = base;
    b.bytes_ = bytes;
    b.shape_ = shape;
    b.mask_words_ = (b.blocks(shape.least) + 63) / 64;
    std::uint32_t table[SumMap::table_entries] = {};
    const std::uint64_t page = std::uint64_t{1} << shape.page_shift;
    const std::uint64_t tables = sizeof(std::uint32_t) + b.mask_words_ * sizeof(std::uint64_t);
    std::uint64_t pages = bytes * 8 / (8 * (page + tables) + b.map_count()) + 1;
    do {
      b.pages_ = static_cast<std::uint32_t>(--pages);
      b.map_words_ = SumMap::plan(b.pages_, 0, table);
      b.masks_at_ = round_up(states_at + pages * sizeof(std::uint32_t), sizeof(std::uint64_t));
      b.maps_at_ = b.masks_at_ + pages * b.mask_words_ * sizeof(std::uint64_t);
      b.memory_at_ = round_up(
          b.maps_at_ + std::size_t{b.map_count()} * b.map_words_ * sizeof(std::uint64_t), 256);
    } while (pages > 0 && b.memory_at_ + (pages << shape.page_shift) > bytes);
    if (pages == 0)
      throw Error(Exit::usage, "the pool is too small for pages of " + std::to_string(page) +
                                   " bytes; give a larger pool");
    simt::device_fill(device.id(), base, 0, b.memory_at_);
    simt::device_upload(device.id(), base, &b, sizeof(b));
    simt::device_upload(device.id(), base + table_at, table, sizeof(table));
    std::vector<std::uint32_t> states(b.pages_, shape.least * one_class | in_empty);
    for (std::size_t i = 0; i < std::min(states.size(), marked.size()); ++i) {
      if (marked[i] != none) states[i] = marked[i] * one_class | in_empty | mark;
    }
    simt::device_upload(device.id(), base + states_at, states.data(),
                        states.size() * sizeof(states[0]));
    std::vector<std::uint64_t> all(b.map_words_);
    for (std::uint32_t level = 0, n = b.pages_; level <= table[SumMap::table_entries - 1];
         ++level, n = (n + 63) / 64) {
      for (std::uint32_t i = 0; i < n; ++i)
        all[table[level] + i / 64] |= std::uint64_t{1} << i % 64;
    }
    simt::device_upload(device.id(), b.map_words(b.empty()), all.data(),
                        all.size() * sizeof(all[0]));
    return b;
  }

  HEAPWOOD_INLINE std::uint32_t pages() const { return pages_; }
  HEAPWOOD_INLINE unsigned page_shift() const { return shape_.page_shift; }
  HEAPWOOD_INLINE std::size_t page_bytes() const { return std::size_t{1} << shape_.page_shift; }
  // The first page; the others follow it.
  HEAPWOOD_INLINE std::byte* memory() const { return base_ + memory_at_; }
  HEAPWOOD_INLINE std::uint32_t least() const { return shape_.least; }
  HEAPWOOD_INLINE std::uint32_t top() const { return shape_.top; }
  // Blocks of class k per page.
  HEAPWOOD_INLINE std::uint32_t blocks(std::uint32_t k) const {
    return size_class::divide((1u << shape_.page_shift) / granule, k);
  }
  HEAPWOOD_INLINE std::uint32_t roomy_blocks(std::uint32_t k) const {
    return (blocks(k) * 5 + 7) / 8;
  }

  // Maps of hints.
  HEAPWOOD_INLINE std::uint32_t room(std::uint32_t k) const { return k; }
  HEAPWOOD_INLINE std::uint32_t empty() const { return shape_.top + 1; }
  HEAPWOOD_INLINE std::uint32_t roomy(std::uint32_t k) const { return shape_.top + 2 + k; }

  HEAPWOOD_INLINE Word32 state(std::uint32_t page) const { return Word32(states()[page]); }

  // Counts up to n blocks of class k in the page. Returns the previous count, or none if the page
  // is full or of another class.
  HEAPWOOD_INLINE std::uint32_t reserve(std::uint32_t page, std::uint32_t k,
                                        std::uint32_t n) const {
    // acquire: synchronizes with the last users of the blocks, possibly of another class.
    const std::uint32_t old = state(page).fetch_add(n, simt::acquire);
    const std::uint32_t got = class_of(old) == k ? fitting(count_of(old), k, n) : 0;
    if (got < n) count_off(page, n - got);
    return got > 0 ? count_of(old) : none;
  }

  // Reserves a block, and changes an empty page of another class to k. May also fail because
  // another thread uses the page.
  HEAPWOOD_INLINE std::uint32_t enter(std::uint32_t page, std::uint32_t k, std::uint32_t n) const {
    // acquire: synchronizes with the last users of the blocks, possibly of another class.
    const std::uint32_t old = state(page).fetch_add(n, simt::acquire);
    if (class_of(old) == k && count_of(old) + n <= blocks(k)) return count_of(old);
    return settle(self(), page, k, n, old);
  }

  // Like enter(), but reads the state first: for pages that probably cannot serve the request.
  static HEAPWOOD_OUTLINE std::uint32_t look_and_enter(const BlockPages* self, std::uint32_t page,
                                                       std::uint32_t k, std::uint32_t n) {
    // relaxed: decides only whether to try.
    std::uint32_t seen = self->state(page).load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (;;) {
      if (!self->fits(seen, k)) return none;
      if (class_of(seen) == k) return self->reserve(page, k, n);
      if (self->change(page, seen, k, n)) return 0;
    }
  }
  // Whether a page in this state can serve class k.
  HEAPWOOD_INLINE bool fits(std::uint32_t state, std::uint32_t k) const {
    return count_of(state) < (class_of(state) == k ? blocks(k) : 1);
  }

  // Returns a block to each lane of the group, from the blocks that its first lane has reserved.
  // The blocks from `start` on are tried first. nullptr only if the launch is aborted.
  template <class Thread>
  HEAPWOOD_INLINE void* take(const Thread& thread, const LaneGroup<Thread>& group,
                             const Seats& seats, std::uint32_t start) const {
    const std::uint32_t w = start / 64, bit = start % 64 + group.rank();
    const bool there = bit < in_word(w, seats.k);
    const std::uint64_t row = ((std::uint64_t{1} << group.size()) - 1) << start % 64,
                        wanted = row & places(w, seats.k);
    // acquire: synchronizes with the last users of the blocks.
    const std::uint64_t taken =
        group.once([&] { return mask(seats.page, w).fetch_or(wanted, simt::acquire); });
    group.sync();  // makes the acquire visible to all lanes
    const bool won = there && (taken >> bit & 1) == 0;
    const LaneGroup<Thread> part = group.part(won);
    if (won) return block(seats.page, w * 64 + bit, seats.k);
    return take_any(self(), thread, part.lanes(), seats.page, seats.k, w, taken | wanted);
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - memory());
    const auto page = static_cast<std::uint32_t>(offset >> shape_.page_shift);
    const auto granules = static_cast<std::uint32_t>((offset & (page_bytes() - 1)) / granule);
    const LaneGroup<Thread> page_mates(thread, thread.together(states() + page));
    page_mates.sync();  // orders these lanes' accesses to their blocks before both releases
    const std::uint32_t n = page_mates.size();
    // release: hands the blocks to threads that are counted later or change the page's class.
    const std::uint32_t old =
        page_mates.once([&] { return state(page).fetch_sub(n, simt::release); });
    const std::uint32_t i = size_class::divide(granules, class_of(old));
    const LaneGroup<Thread> word_mates(thread, thread.together(masks_of(page) + i / 64));
    const std::uint64_t bits = word_mates.reduce_or(std::uint64_t{1} << i % 64);
    // release: hands the blocks over to the threads that take these bits.
    if (word_mates.rank() == 0) mask(page, i / 64).fetch_and(~bits, simt::release);
    if (page_mates.rank() == 0 && unlisted(old - n) != 0) list(self(), page, old - n);
  }

  // Reserves blocks in a page of class k, or in an empty page, among the pages hinted at by `map`.
  // The search begins at page `start`.
  static HEAPWOOD_INLINE Seats search(const BlockPages* self, std::uint32_t map, std::uint32_t k,
                                      std::uint32_t start, std::uint32_t n,
                                      bool empty_only = false) {
    HEAPWOOD_ROLLED
    for (std::uint32_t page; (page = find(self, map, start)) != SumMap::none; start = page) {
      const std::uint32_t seen = self->state(page).load(simt::relaxed);
      if (self->fits(seen, k) && (!empty_only || count_of(seen) == 0)) {
        const std::uint32_t before = look_and_enter(self, page, k, n);
        if (before != none) return {page, before, k};
        // Another thread has taken the last blocks meanwhile: tries the next page.
      } else {
        drop(self, page, map);
      }
    }
    return {};
  }
  static HEAPWOOD_OUTLINE std::uint32_t find(const BlockPages* self, std::uint32_t map,
                                             std::uint32_t start) {
    return self->hints(map).find(start);
  }

  HEAPWOOD_INLINE SumMap hints(std::uint32_t map) const {
    return {map_words(map), as<const std::uint32_t>(base_ + table_at), pages_};
  }
  // Whether a page in this state meets the condition of the hints of `map`.
  HEAPWOOD_INLINE bool serves(std::uint32_t map, std::uint32_t state) const {
    const std::uint32_t n = count_of(state), k = class_of(state);
    if (map == empty()) return n == 0;
    if (map < empty()) return k == map && n < blocks(k);
    return roomy(k) == map && (state & mark) == 0 && n < roomy_blocks(k);
  }
  // Clears a hint that led to an unsuitable page, and sets it again if the page suits after all.
  static HEAPWOOD_OUTLINE void drop(const BlockPages* self, std::uint32_t page, std::uint32_t map) {
    const std::uint32_t flag = map < self->empty()    ? in_room
                               : map == self->empty() ? in_empty
                                                      : in_roomy;
    self->hints(map).take(page);
    // release: the hint is cleared before a thread that finds the flag clear sets both again.
    const std::uint32_t old = self->state(page).fetch_and(~flag, simt::release);
    list(self, page, old & ~flag);
  }
  // Sets the hints that a page in this state needs and for which it has no flag.
  static HEAPWOOD_OUTLINE void list(const BlockPages* self, std::uint32_t page,
                                    std::uint32_t seen) {
    HEAPWOOD_ROLLED
    for (std::uint32_t flag; (flag = self->unlisted(seen)) != 0; seen |= flag) {
      // acquire: sets the hint after the thread that cleared the flag has cleared the hint.
      seen = self->state(page).fetch_or(flag, simt::acquire);
      const std::uint32_t k = class_of(seen);
      const std::uint32_t map = flag == in_empty  ? self->empty()
                                : flag == in_room ? self->room(k)
                                                  : self->roomy(k);
      if ((seen & flag) == 0) self->hints(map).set(page);
    }
  }
  // The flag of a hint that a page in this state needs and does not have, or 0.
  HEAPWOOD_INLINE std::uint32_t unlisted(std::uint32_t state) const {
    const std::uint32_t n = count_of(state), k = class_of(state);
    if ((state & in_empty) != 0) return 0;
    if (n == 0) return in_empty;
    if ((state & in_room) == 0 && n < blocks(k)) return in_room;
    return shape_.roomy && (state & (in_roomy | mark)) == 0 && n < roomy_blocks(k) ? in_roomy : 0;
  }
  HEAPWOOD_INLINE const BlockPages* self() const {
    return reinterpret_cast<const BlockPages*>(base_);
  }

  // Subtracts blocks that were counted but cannot be allocated.
  HEAPWOOD_INLINE void count_off(std::uint32_t page, std::uint32_t n) const {
    // relaxed: these blocks had no user. Continues the release sequence of blocks that had.
    const std::uint32_t left = state(page).fetch_sub(n, simt::relaxed) - n;
    if (unlisted(left) != 0) list(self(), page, left);
  }

  // Each free block is a region; an empty page is reported as blocks of the largest class.
  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    using State = Region::State;
    std::size_t offset = static_cast<std::size_t>(base_ - origin);
    visit(Region{offset, memory_at_, State::metadata});
    offset += memory_at_;
    const auto states = host.read(as<const std::uint32_t>(base_ + states_at), pages_);
    const auto masks = host.read(masks_of(0), std::size_t{pages_} * mask_words_);
    for (std::uint32_t page = 0; page < pages_; ++page, offset += page_bytes()) {
      const std::uint64_t* bits = masks.data() + std::size_t{page} * mask_words_;
      const std::uint32_t used = count_of(states[page]),
                          k = used == 0 ? shape_.top : class_of(states[page]);
      const std::size_t size = size_class::bytes(k);
      std::uint32_t found = 0;
      for (std::uint32_t i = 0; i < blocks(k); ++i) {
        const bool set = (bits[i / 64] >> i % 64 & 1) != 0;
        found += set;
        visit(Region{offset + i * size, size, set ? State::used : State::free});
      }
      if (found != used) {
        throw Error(Exit::failed, "page " + std::to_string(page) + " counts " +
                                      std::to_string(used) + " blocks in use, its bitmap has " +
                                      std::to_string(found));
      }
      const std::size_t filled = blocks(k) * size;
      if (filled < page_bytes())
        visit(Region{offset + filled, page_bytes() - filled, State::metadata});
    }
    const std::size_t end = memory_at_ + std::size_t{pages_} * page_bytes();
    if (end < bytes_) visit(Region{offset, bytes_ - end, State::metadata});
  }

  static HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t state) { return state / one_class; }
  static HEAPWOOD_INLINE std::uint32_t count_of(std::uint32_t state) { return state & (mark - 1); }

 private:
  // Flags of a state: the kinds of hints that the page has.
  static constexpr std::uint32_t in_empty = 1u << 23, in_room = 1u << 24, in_roomy = 1u << 25;
  static constexpr std::uint32_t one_class = 1u << 26;
  // Layout at `base_`: a copy of this handle, the maps' levels, states, bitmaps, maps, pages.
  static constexpr std::size_t table_at = 128;
  static constexpr std::size_t states_at = table_at + sizeof(std::uint32_t) * SumMap::table_entries;

  // How many of n blocks of class k fit in a page whose count is `before`.
  HEAPWOOD_INLINE std::uint32_t fitting(std::uint32_t before, std::uint32_t k,
                                        std::uint32_t n) const {
    const std::uint32_t capacity = blocks(k);
    return before >= capacity ? 0 : capacity - before < n ? capacity - before : n;
  }

  // Slow path of enter(), after its add found the state `old`.
  static HEAPWOOD_OUTLINE std::uint32_t settle(const BlockPages* self, std::uint32_t page,
                                               std::uint32_t k, std::uint32_t n,
                                               std::uint32_t old) {
    const std::uint32_t got = class_of(old) == k ? self->fitting(count_of(old), k, n) : 0;
    if (class_of(old) != k && count_of(old) == 0) {
      // The page has only the blocks just counted, which are counted again in the new class.
      std::uint32_t seen = old + n;
      if (self->change(page, seen, k, n)) return 0;
    }
    if (got < n) self->count_off(page, n - got);
    return got > 0 ? count_of(old) : none;
  }

  // Word w of the bitmap describes in_word() blocks of class k; places() are their bits.
  HEAPWOOD_INLINE std::uint32_t in_word(std::uint32_t w, std::uint32_t k) const {
    const std::uint32_t rest = blocks(k) - w * 64;
    return rest < 64 ? rest : 64;
  }
  HEAPWOOD_INLINE std::uint64_t places(std::uint32_t w, std::uint32_t k) const {
    return ~std::uint64_t{0} >> (64 - in_word(w, k));
  }
  HEAPWOOD_INLINE void* block(std::uint32_t page, std::uint32_t i, std::uint32_t k) const {
    return memory() + (std::size_t{page} << shape_.page_shift) + i * size_class::bytes(k);
  }

  // take() for lanes whose first choice was taken, from word w on; `taken`: its bits as last read.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* take_any(const BlockPages* self, Thread thread, std::uint32_t lanes,
                                         std::uint32_t page, std::uint32_t k, std::uint32_t w,
                                         std::uint64_t taken) {
    LaneGroup<Thread> group(thread, lanes);
    HEAPWOOD_ROLLED
    for (std::uint32_t turn = 0;;) {
      const std::uint64_t clear = ~taken & self->places(w, k);
      if (clear != 0) {
        const bool picks = group.rank() < simt::popcount(clear);
        const unsigned bit = picks ? nth_bit(clear, group.rank()) : 0;
        const std::uint64_t wanted = group.reduce_or(std::uint64_t{picks} << bit);
        // acquire: synchronizes with the last users of the blocks.
        taken = group.once([&] { return self->mask(page, w).fetch_or(wanted, simt::acquire); });
        group.sync();
        const bool won = picks && (taken >> bit & 1) == 0;
        group = group.part(won);
        if (won) return self->block(page, w * 64 + bit, k);
        taken |= wanted;
      } else {
        // Fails only while other threads allocate and free here. Pauses after all words have been
        // read.
        w = (w + 1) * 64 >= self->blocks(k) ? 0 : w + 1;
        taken = group.once([&] { return self->mask(page, w).load(simt::relaxed); });
        if (w == 0) {
          // The blocks stay counted: the pool is not used after an aborted launch.
          if (group.once([&] { return std::uint32_t{thread.aborted()}; }) != 0) return nullptr;
          thread.pause(turn++);
        }
      }
    }
  }

  // Gives a page without blocks in use, in the state `seen`, to class k, and counts n blocks of it.
  // Returns false if the page is in another state, which is stored in `seen`.
  HEAPWOOD_INLINE bool change(std::uint32_t page, std::uint32_t& seen, std::uint32_t k,
                              std::uint32_t n) const {
    // From here on hints of the old class are outdated. A hint as an empty page remains set.
    const std::uint32_t next = (k * one_class | (seen & in_empty)) + fitting(0, k, n);
    // acquire: synchronizes with the last users of the page's blocks.
    if (!state(page).compare_exchange_strong(seen, next, simt::acquire, simt::relaxed))
      return false;
    if (unlisted(next) != 0) list(self(), page, next);
    return true;
  }

  HEAPWOOD_INLINE std::uint32_t map_count() const {
    return (shape_.roomy ? 2 : 1) * (shape_.top + 1) + 1;
  }
  HEAPWOOD_INLINE std::uint64_t* map_words(std::uint32_t map) const {
    return as<std::uint64_t>(base_ + maps_at_) + std::size_t{map} * map_words_;
  }
  HEAPWOOD_INLINE std::uint32_t* states() const { return as<std::uint32_t>(base_ + states_at); }
  HEAPWOOD_INLINE std::uint64_t* masks_of(std::uint32_t page) const {
    return as<std::uint64_t>(base_ + masks_at_) + std::size_t{page} * mask_words_;
  }
  HEAPWOOD_INLINE Word64 mask(std::uint32_t page, std::uint32_t w) const {
    return Word64(masks_of(page)[w]);
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t masks_at_ = 0, maps_at_ = 0, memory_at_ = 0;
  std::uint32_t pages_ = 0, mask_words_ = 0, map_words_ = 0;
  Shape shape_;
};

}  // namespace heapwood::alloc
