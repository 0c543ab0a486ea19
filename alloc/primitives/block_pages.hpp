// SPDX-License-Identifier: MIT
// Pages that are divided into equal blocks, as ScatterAlloc's pages and Halloc's slabs are: a state word and a bitmap a
// page, both in tables outside of the pages. Which page a request is tried in is the caller's affair.
//
// The state is {size class, mark, count} in one word. A block is allocated by counting it (`reserve`) and then setting
// a clear bit (`take`), and freed by clearing the bit and then counting it off. So a page never has more bits set than
// it counts: who was counted finds a clear bit. And all bits of a page that counts 0 are clear, whatever its class, so
// that one compare-and-swap of the state gives an empty page to another class: nothing is cleared or locked for it.
// Counting is by fetch_add even though a page may turn out to be full or of another class; who was wrong counts itself
// off. Meanwhile others may find the page full, or not empty, a moment too long.
//
// Hints (sum_map.hpp) say which pages can serve: for each class the pages with `room`, and for all classes the `empty`
// ones; optionally for each class the `roomy` ones, less than five eighths full. A hint may stand too long, and is then
// dropped by who finds out. That it is never missing, except while a thread is inside, is refresh()'s part: every
// change that lets a page serve more ends with it. So "nothing left" is known after a few loads, without a look at the
// pages. Limits: 2^24 blocks a page with those that are wrong. Overhead: one bit a smallest block, 4 bytes and about
// two bits a class for each page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/primitives/size_class.hpp"
#include "alloc/primitives/sum_map.hpp"

namespace heapwood::alloc {

class BlockPages {
 public:
  static constexpr std::uint32_t none = ~0u;
  static constexpr std::uint32_t mark = 1u << 24;  // of a state; means what the caller says

  struct Shape {
    unsigned page_shift = 12;
    std::uint32_t least = 0, top = 0;  // smallest and largest class
    bool roomy = false;                // with hints for roomy pages
  };

  // A reserved block: where it is becomes known with take().
  struct Seat {
    std::uint32_t page = none;
    std::uint32_t before = none;  // blocks that were counted before; none: nothing is reserved
    std::uint32_t k = 0;          // the page's class
  };

  BlockPages() = default;

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages; a copy of the handle is at `base`, for functions
  // that are out of line.
  template <class Device>
  static BlockPages create(std::byte* base, std::size_t bytes, const Shape& shape, const Device& device) {
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
      b.memory_at_ = round_up(b.maps_at_ + std::size_t{b.map_count()} * b.map_words_ * sizeof(std::uint64_t), 256);
    } while (pages > 0 && b.memory_at_ + (pages << shape.page_shift) > bytes);
    if (pages == 0) throw Error(Exit::usage, "the pool is too small for pages of " + std::to_string(page) + " bytes");
    simt::device_fill(device.id(), base, 0, b.memory_at_);
    simt::device_upload(device.id(), base, &b, sizeof(b));
    simt::device_upload(device.id(), base + table_at, table, sizeof(table));
    // All pages begin empty and of the smallest class.
    std::vector<std::uint32_t> states(b.pages_, shape.least * one_class);
    simt::device_upload(device.id(), base + states_at, states.data(), states.size() * sizeof(states[0]));
    std::vector<std::uint64_t> all(b.map_words_);
    for (std::uint32_t level = 0, n = b.pages_; level <= table[SumMap::table_entries - 1]; ++level, n = (n + 63) / 64) {
      for (std::uint32_t i = 0; i < n; ++i) all[table[level] + i / 64] |= std::uint64_t{1} << i % 64;
    }
    for (const std::uint32_t map : {b.room(shape.least), b.empty()}) {
      simt::device_upload(device.id(), b.map_words(map), all.data(), all.size() * sizeof(all[0]));
    }
    return b;
  }

  SIMT_INLINE std::uint32_t pages() const { return pages_; }
  SIMT_INLINE unsigned page_shift() const { return shape_.page_shift; }
  SIMT_INLINE std::size_t page_bytes() const { return std::size_t{1} << shape_.page_shift; }
  SIMT_INLINE std::uint32_t least() const { return shape_.least; }
  SIMT_INLINE std::uint32_t top() const { return shape_.top; }
  // Blocks of class k in a page.
  SIMT_INLINE std::uint32_t blocks(std::uint32_t k) const {
    return size_class::divide((1u << shape_.page_shift) / granule, k);
  }
  SIMT_INLINE std::uint32_t roomy_blocks(std::uint32_t k) const { return (blocks(k) * 5 + 7) / 8; }

  // Maps of hints.
  SIMT_INLINE std::uint32_t room(std::uint32_t k) const { return k; }
  SIMT_INLINE std::uint32_t empty() const { return shape_.top + 1; }
  SIMT_INLINE std::uint32_t roomy(std::uint32_t k) const { return shape_.top + 2 + k; }

  SIMT_INLINE simt::atomic_ref<std::uint32_t> state(std::uint32_t page) const {
    return simt::atomic_ref<std::uint32_t>(reinterpret_cast<std::uint32_t*>(base_ + states_at)[page]);
  }

  // Counts a block of class k in the page. Returns how many were counted before, or none if the page is full or of
  // another class.
  SIMT_INLINE std::uint32_t reserve(std::uint32_t page, std::uint32_t k) const {
    // acquire: the page may have been of another class before; waits for the last users of its blocks.
    const std::uint32_t old = state(page).fetch_add(1, simt::acquire);
    const std::uint32_t before = count_of(old), most = blocks(k);
    if (class_of(old) != k || before >= most) {
      count_off(page);
      return none;
    }
    if (before + 1 == most && most > 1) refresh(self(), page, room(k));
    return before;
  }

  // The same, and an empty page of another class changes to k. For pages that are not known to be of class k.
  SIMT_INLINE std::uint32_t enter(std::uint32_t page, std::uint32_t k) const {
    // relaxed: what is seen decides only what is tried.
    std::uint32_t seen = state(page).load(simt::relaxed);
    SIMT_ROLLED
    for (;;) {
      if (class_of(seen) == k) return count_of(seen) < blocks(k) ? reserve(page, k) : none;
      if (count_of(seen) != 0) return none;
      // acquire: as in reserve(); also, the bits of those users are seen to be clear.
      if (state(page).compare_exchange_weak(seen, k * one_class + 1, simt::acquire, simt::relaxed)) {
        refresh(self(), page, empty());
        if (blocks(k) > 1) refresh(self(), page, room(k));
        return 0;
      }
    }
  }

  // The block of a seat: the first clear bit from block `start` on, cyclically. nullptr only if the launch is aborted.
  template <class Thread>
  SIMT_INLINE void* take(Thread& thread, const Seat& seat, std::uint32_t start) const {
    const std::uint32_t most = blocks(seat.k), words = (most + 63) / 64;
    std::uint32_t w = start / 64 < words ? start / 64 : 0;
    std::uint32_t bit = start % 64;
    std::uint64_t taken = 0;
    SIMT_ROLLED
    for (std::uint32_t turn = 0;;) {
      if (w + 1 == words && most % 64 != 0) taken |= ~std::uint64_t{0} << most % 64;  // there are no such blocks
      if (~taken != 0) {
        const std::uint64_t behind = ~taken >> bit;
        bit = behind != 0 ? bit + simt::lowest_bit(behind) : simt::lowest_bit(~taken);
        const std::uint64_t mine = std::uint64_t{1} << bit;
        // acquire: waits for the last user of the block.
        taken = mask(seat.page, w).fetch_or(mine, simt::acquire);
        if ((taken & mine) == 0) {
          return memory() + (std::size_t{seat.page} << shape_.page_shift) + (w * 64 + bit) * size_class::bytes(seat.k);
        }
      } else {
        // All others in the page are faster only as long as they take and free: pause after each lap.
        w = w + 1 == words ? 0 : w + 1;
        bit = 0;
        taken = mask(seat.page, w).load(simt::relaxed);
        if (++turn % words == 0) {
          if (thread.aborted()) return nullptr;  // the block stays counted: the pool ends with the launch
          thread.pause(turn / words);
        }
      }
    }
  }

  SIMT_INLINE void deallocate(void* block) const {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - memory());
    const auto page = static_cast<std::uint32_t>(offset >> shape_.page_shift);
    const auto granules = static_cast<std::uint32_t>((offset & (page_bytes() - 1)) / granule);
    // relaxed: the class is constant while a block is in use.
    const std::uint32_t i = size_class::divide(granules, class_of(state(page).load(simt::relaxed)));
    // release: hands the block over to who takes this bit.
    mask(page, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
    count_off(page);
  }

  // A seat in a page of class k that the hints of `map` name, the search beginning at page `start`.
  static SIMT_INLINE Seat search(const BlockPages* self, std::uint32_t map, std::uint32_t k, std::uint32_t start) {
    const SumMap hints = self->hints(map);
    SIMT_ROLLED
    for (std::uint32_t page; (page = hints.find(start)) != SumMap::none; start = page) {
      // A turn without success drops a hint, or another thread was faster.
      if (self->serves(map, self->state(page).load(simt::relaxed))) {
        const std::uint32_t before = self->enter(page, k);
        if (before != none) return {page, before, k};
      }
      refresh(self, page, map);
    }
    return {};
  }

  SIMT_INLINE SumMap hints(std::uint32_t map) const {
    return {map_words(map), reinterpret_cast<const std::uint32_t*>(base_ + table_at), pages_};
  }
  // Can a page in this state do what the hints of `map` promise?
  SIMT_INLINE bool serves(std::uint32_t map, std::uint32_t state) const {
    const std::uint32_t n = count_of(state), k = class_of(state);
    if (map == empty()) return n == 0;
    if (map < empty()) return k == map && n < blocks(k);
    return roomy(k) == map && (state & mark) == 0 && n < roomy_blocks(k);
  }
  // Makes a page's hint agree with its state. Of a thread that raises a hint and one that drops it, each having changed
  // the state before, the later one sees the other's change (both are read-modify-writes of the same word of hints),
  // and the one that drops looks again.
  static SIMT_OUTLINE void refresh(const BlockPages* self, std::uint32_t page, std::uint32_t map) {
    const SumMap hints = self->hints(map);
    const auto serves = [&] { return self->serves(map, self->state(page).load(simt::relaxed)); };
    if (!serves()) {
      hints.take(page);
      if (!serves()) return;
    }
    hints.set(page);
  }
  SIMT_INLINE const BlockPages* self() const { return reinterpret_cast<const BlockPages*>(base_); }

  // Counts a block off.
  SIMT_INLINE void count_off(std::uint32_t page) const {
    // release: hands the block over to who gives the page to another class, or is counted after that.
    const std::uint32_t old = state(page).fetch_sub(1, simt::release);
    const std::uint32_t n = count_of(old), k = class_of(old);
    if (n == 1 || n == blocks(k)) refresh(self(), page, n == 1 ? empty() : room(k));
    if (shape_.roomy && n == roomy_blocks(k)) refresh(self(), page, roomy(k));
  }

  // Free blocks are regions of their own, and an empty page is blocks of the largest class.
  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    using State = Region::State;
    std::size_t at = static_cast<std::size_t>(base_ - origin);
    visit(Region{at, memory_at_, State::metadata});
    at += memory_at_;
    const auto states = host.read(reinterpret_cast<const std::uint32_t*>(base_ + states_at), pages_);
    const auto masks = host.read(masks_of(0), std::size_t{pages_} * mask_words_);
    for (std::uint32_t page = 0; page < pages_; ++page, at += page_bytes()) {
      const std::uint64_t* bits = masks.data() + std::size_t{page} * mask_words_;
      const std::uint32_t used = count_of(states[page]), k = used == 0 ? shape_.top : class_of(states[page]);
      const std::size_t size = size_class::bytes(k);
      std::uint32_t found = 0;
      for (std::uint32_t i = 0; i < blocks(k); ++i) {
        const bool set = (bits[i / 64] >> i % 64 & 1) != 0;
        found += set;
        visit(Region{at + i * size, size, set ? State::used : State::free});
      }
      if (found != used) {
        throw Error(Exit::failed, "page " + std::to_string(page) + " counts " + std::to_string(used) + " blocks, not " +
                                      std::to_string(found));
      }
      const std::size_t filled = blocks(k) * size;
      if (filled < page_bytes()) visit(Region{at + filled, page_bytes() - filled, State::metadata});
    }
    const std::size_t end = memory_at_ + std::size_t{pages_} * page_bytes();
    if (end < bytes_) visit(Region{at, bytes_ - end, State::metadata});
  }

  static SIMT_INLINE std::uint32_t class_of(std::uint32_t state) { return state >> 25; }
  static SIMT_INLINE std::uint32_t count_of(std::uint32_t state) { return state & (mark - 1); }

 private:
  static constexpr std::uint32_t one_class = 1u << 25;
  // At the base: a copy of this handle, the levels of the maps, states, bitmaps, maps, pages.
  static constexpr std::size_t table_at = 128;
  static constexpr std::size_t states_at = table_at + sizeof(std::uint32_t) * SumMap::table_entries;

  SIMT_INLINE std::uint32_t map_count() const { return (shape_.roomy ? 2 : 1) * (shape_.top + 1) + 1; }
  SIMT_INLINE std::uint64_t* map_words(std::uint32_t map) const {
    return reinterpret_cast<std::uint64_t*>(base_ + maps_at_) + std::size_t{map} * map_words_;
  }
  SIMT_INLINE std::uint64_t* masks_of(std::uint32_t page) const {
    return reinterpret_cast<std::uint64_t*>(base_ + masks_at_) + std::size_t{page} * mask_words_;
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> mask(std::uint32_t page, std::uint32_t w) const {
    return simt::atomic_ref<std::uint64_t>(masks_of(page)[w]);
  }
  SIMT_INLINE std::byte* memory() const { return base_ + memory_at_; }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t masks_at_ = 0, maps_at_ = 0, memory_at_ = 0;
  std::uint32_t pages_ = 0, mask_words_ = 0, map_words_ = 0;
  Shape shape_;
};

}  // namespace heapwood::alloc
