// SPDX-License-Identifier: MIT
// Words that describe pages (pages.hpp), the size classes of their blocks, and the blocks that one
// thread or slot owns.
#pragma once

#include <cstdint>

#include "alloc/heapwood/words.hpp"
#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

// The size classes of blocks in pages (pages.hpp): multiples of the granule up to 8, then four per
// doubling. Up to 2 KiB these are equally spaced. Above, 7, 6, 5 or 4 blocks fill a page of 2^k
// arenas, all but a few granules: sizes are multiples of 8 granules, so the marks of a page are in
// few words.
class BlockClass {
 public:
  HEAPWOOD_INLINE explicit constexpr BlockClass(std::uint32_t index) : index_(index) {}

  // The smallest class whose blocks have at least n granules; n is not 0.
  HEAPWOOD_INLINE static BlockClass of(std::uint32_t n) {
    const unsigned top = simt::highest_bit((n - 1) | 4);
    if (n <= max_spaced) return BlockClass(((n - 1) >> (top - 2)) + 4 * (top - 2));
    const std::uint32_t parts = (n - 1) >> (top - 4);
    const auto exceeds = [&](std::uint32_t k) { return std::uint32_t{parts >= thirty_seconds(k)}; };
    return BlockClass(4 * (top - 1) + exceeds(0) + exceeds(1) + exceeds(2));
  }
  HEAPWOOD_INLINE std::uint32_t index() const { return index_; }
  HEAPWOOD_INLINE std::uint32_t granules() const {
    return index_ < 4             ? index_ + 1
           : index_ < first_above ? ((index_ & 3) + 5) << shift()
                                  : thirty_seconds(index_ & 3) << (shift() - 2);
  }
  // Log2 of the arenas in the smallest page of the class; Pages::run_for() may choose a larger one.
  // An arena has 2^arena_shift granules, and the class is no larger, so this is at most 2. Blocks
  // whose size is a power of two fill one arena. A page of another class has at least 4 blocks, and
  // at most 1/8 of it is unused, above 2 KiB 1/40.
  HEAPWOOD_INLINE std::uint32_t run_shift(std::uint32_t arena_shift) const {
    const std::uint32_t wanted = shift() + 5;
    const bool is_power_of_two = index_ < 4 || (index_ & 3) == 3;
    return is_power_of_two || wanted < arena_shift ? 0 : wanted - arena_shift;
  }

 private:
  // The largest equally spaced class, 2 KiB, in granules, and the index of the next one.
  static constexpr std::uint32_t max_spaced = 128, first_above = 24;
  // Class k of a doubling above max_spaced, in 32nds of its largest class: 18, 21, 25, 32.
  HEAPWOOD_INLINE static constexpr std::uint32_t thirty_seconds(std::uint32_t k) {
    return 0x20191512u >> (8 * k) & 255;
  }
  HEAPWOOD_INLINE std::uint32_t shift() const { return index_ < 4 ? 0 : (index_ >> 2) - 1; }

  std::uint32_t index_;
};

// The count of an arena that is part of a page:
// {open:1 | 0 | log2 of the page's arenas:2 | class:6 | index of the arena in the page:3}.
class PageWord {
 public:
  static constexpr std::uint32_t max_run = 3;  // max log2 of a page's arenas

  HEAPWOOD_INLINE explicit PageWord(std::uint32_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE PageWord(BlockClass c, std::uint32_t run, std::uint32_t arena_in_page)
      : bits_(open | run << 9 | c.index() << 3 | arena_in_page) {}

  HEAPWOOD_INLINE std::uint32_t bits() const { return bits_; }
  HEAPWOOD_INLINE bool is_page() const { return bits_ - open < span - open; }
  HEAPWOOD_INLINE BlockClass block_class() const { return BlockClass(bits_ >> 3 & 63); }
  HEAPWOOD_INLINE std::uint32_t run() const { return bits_ >> 9 & 3; }
  HEAPWOOD_INLINE std::uint32_t arena_in_page() const { return bits_ & 7; }
  HEAPWOOD_INLINE bool has_class(BlockClass c) const {
    return ((bits_ ^ PageWord(c, 0, 0).bits_) & ~(3u << 9 | 7)) == 0;
  }

 private:
  std::uint32_t bits_;
};

// Free blocks owned by one thread or slot: {arena:24 | is awaited:1 | word:7 | marks:32}. If
// `marks` is not 0, they are the marked blocks of one word. If it is 0, a thread owns a whole page,
// and `word` is log2 of its arenas; a slot owns no block, and arena and word say where it last
// looked.
class OwnedBlocks {
 public:
  static constexpr std::uint32_t no_arena = (1u << 24) - 1;
  static constexpr std::uint32_t max_words = 128;

  HEAPWOOD_INLINE explicit OwnedBlocks(std::uint64_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE OwnedBlocks(std::uint32_t arena, std::uint32_t word, std::uint32_t marks)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{word} << 32 | marks) {}
  HEAPWOOD_INLINE static OwnedBlocks nothing() { return {no_arena, 0, 0}; }
  HEAPWOOD_INLINE static OwnedBlocks page(std::uint32_t arena, std::uint32_t run) {
    return {arena, run, 0};
  }

  HEAPWOOD_INLINE std::uint64_t bits() const { return bits_; }
  HEAPWOOD_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  HEAPWOOD_INLINE std::uint32_t word() const {
    return static_cast<std::uint32_t>(bits_ >> 32) & 127;
  }
  HEAPWOOD_INLINE std::uint32_t marks() const { return static_cast<std::uint32_t>(bits_); }
  HEAPWOOD_INLINE bool found() const { return arena() != no_arena; }
  HEAPWOOD_INLINE bool is_page() const { return marks() == 0; }
  HEAPWOOD_INLINE std::uint32_t run() const { return word(); }
  // Other marks of this word.
  HEAPWOOD_INLINE OwnedBlocks with(std::uint32_t marks) const { return {arena(), word(), marks}; }
  // Whether a thread is about to replace a slot's word that has no marks: a hint.
  HEAPWOOD_INLINE bool is_awaited() const { return (bits_ >> 39 & 1) != 0; }
  HEAPWOOD_INLINE OwnedBlocks awaited() const {
    return OwnedBlocks(bits_ | std::uint64_t{1} << 39);
  }

 private:
  std::uint64_t bits_;
};

}  // namespace heapwood::alloc::arena
