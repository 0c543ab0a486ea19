// SPDX-License-Identifier: MIT
// Words that describe pages (pages.hpp) and the blocks of them that one thread or slot owns.
#pragma once

#include <cstdint>

#include "alloc/heapwood/block_class.hpp"
#include "alloc/heapwood/words.hpp"

namespace heapwood::alloc::arena {

// The count of an arena that is part of a page:
// {open:1 | 0 | log2 of the page's arenas:2 | class:6 | place in the page:3}.
class PageWord {
 public:
  static constexpr std::uint32_t max_run = 3;  // max log2 of a page's arenas

  SIMT_INLINE explicit PageWord(std::uint32_t bits) : bits_(bits) {}
  SIMT_INLINE PageWord(BlockClass c, std::uint32_t run, std::uint32_t place)
      : bits_(open | run << 9 | c.index() << 3 | place) {}

  SIMT_INLINE std::uint32_t bits() const { return bits_; }
  SIMT_INLINE bool is_page() const { return bits_ - open < span - open; }
  SIMT_INLINE BlockClass block_class() const { return BlockClass(bits_ >> 3 & 63); }
  SIMT_INLINE std::uint32_t run() const { return bits_ >> 9 & 3; }
  SIMT_INLINE std::uint32_t place() const { return bits_ & 7; }
  SIMT_INLINE bool has_class(BlockClass c) const {
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

  SIMT_INLINE explicit OwnedBlocks(std::uint64_t bits) : bits_(bits) {}
  SIMT_INLINE OwnedBlocks(std::uint32_t arena, std::uint32_t word, std::uint32_t marks)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{word} << 32 | marks) {}
  SIMT_INLINE static OwnedBlocks nothing() { return {no_arena, 0, 0}; }
  SIMT_INLINE static OwnedBlocks page(std::uint32_t arena, std::uint32_t run) {
    return {arena, run, 0};
  }

  SIMT_INLINE std::uint64_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  SIMT_INLINE std::uint32_t word() const { return static_cast<std::uint32_t>(bits_ >> 32) & 127; }
  SIMT_INLINE std::uint32_t marks() const { return static_cast<std::uint32_t>(bits_); }
  SIMT_INLINE bool found() const { return arena() != no_arena; }
  SIMT_INLINE bool is_page() const { return marks() == 0; }
  SIMT_INLINE std::uint32_t run() const { return word(); }
  // The same word with other marks.
  SIMT_INLINE OwnedBlocks with(std::uint32_t marks) const { return {arena(), word(), marks}; }
  // Whether a thread is about to replace a slot's word that has no marks: a hint.
  SIMT_INLINE bool is_awaited() const { return (bits_ >> 39 & 1) != 0; }
  SIMT_INLINE OwnedBlocks awaited() const { return OwnedBlocks(bits_ | std::uint64_t{1} << 39); }

 private:
  std::uint64_t bits_;
};

}  // namespace heapwood::alloc::arena
