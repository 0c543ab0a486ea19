// SPDX-License-Identifier: MIT
// Arenas divided into blocks of one class (words.hpp): pages of 1 to 8 adjacent arenas. Each
// granule has a mark, a bit that is set while the granule is the first one of a free block. A free
// sets one bit.
//
// The marks of an arena are words of 32: granule g has bit g / words of word g % words. The starts
// of blocks are multiples of their size, so their marks are densely in few words: one word has
// those of all 512-byte blocks of an arena of 16 KiB.
//
// A thread that takes the marks of a word with an exchange owns these blocks. Only then does it
// read the count of the arena to see their class: while a block of a page is in use, or owned by a
// thread or a slot, the page stays as it is. A thread that has taken the marks of all blocks of a
// page owns the page and may make its arenas free. So a free arena has no marks.
#pragma once

#include "alloc/heapwood/arenas.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

struct Pages {
  using Word = Arenas::Word;
  // The word of marks that a block's mark is in, and its bit there.
  struct Mark {
    std::uint32_t* word;
    std::uint32_t bit;
  };

  // The shape is set by Layout (layout.hpp).
  Arenas arenas;
  std::uint32_t* marks = nullptr;
  std::uint32_t word_shift = 0;   // log2 of an arena's words of marks
  std::uint32_t arena_shift = 0;  // log2 of an arena's granules
  bool has_runs = false;          // whether pages may have several arenas

  HEAPWOOD_INLINE std::uint32_t words() const { return 1u << word_shift; }
  HEAPWOOD_INLINE Word word(std::uint32_t a, std::uint32_t w) const {
    return Word(marks[(std::size_t{a} << word_shift) + w]);
  }
  // Blocks of a class have their marks in every step-th word of an arena.
  HEAPWOOD_INLINE std::uint32_t step(BlockClass c) const {
    const std::uint32_t low = 1u << simt::lowest_bit(c.granules());
    return low < words() ? low : words();
  }
  // The block with a mark, of a word of arena a.
  HEAPWOOD_INLINE std::byte* block_at(std::uint32_t a, std::uint32_t w, std::uint32_t bit) const {
    return arenas.address(a, (bit << word_shift) + w);
  }
  // Pages of fewer blocks than this are as small as the class allows, whatever the demand, and
  // only some of the slots have one: most memory that slots hold is in such pages.
  static constexpr std::uint32_t few_blocks = 64;
  HEAPWOOD_INLINE bool has_few_blocks(BlockClass c) const {
    return blocks_in(c, c.run_shift(arena_shift)) < few_blocks;
  }
  // Log2 of the arenas of a new page, if `demand` granules are requested at the moment and the slot
  // has taken pages in a row without finding a free block (NewestPage::growth).
  HEAPWOOD_INLINE std::uint32_t run_for(BlockClass c, std::uint32_t demand,
                                        std::uint32_t growth = 0) const {
    if (!has_runs) return 0;
    const std::uint32_t smallest = c.run_shift(arena_shift);
    const std::uint32_t min = smallest + (blocks_in(c, smallest) >= few_blocks ? growth : 0);
    const std::uint32_t wanted =
        has_few_blocks(c) ? 0 : simt::highest_bit(demand >> arena_shift | 1);
    const std::uint32_t run = wanted < min ? min : wanted;
    return run < PageWord::max_run ? run : PageWord::max_run;
  }
  HEAPWOOD_INLINE std::uint32_t blocks_in(BlockClass c, std::uint32_t run) const {
    return (1u << (run + arena_shift)) / c.granules();
  }
  // relaxed: the caller owns a block of the page, or only looks.
  HEAPWOOD_INLINE PageWord page_word(std::uint32_t a) const {
    return PageWord(arenas.count(a).load(simt::relaxed));
  }

  // The mark of the block that starts `offset` bytes after the start of the first arena.
  HEAPWOOD_INLINE Mark mark_at(std::size_t offset) const {
    const std::size_t a = offset >> arenas.shift;
    const std::uint32_t g =
        static_cast<std::uint32_t>(offset / granule) & ((1u << arena_shift) - 1);
    return {marks + (a << word_shift) + (g & (words() - 1)), 1u << (g >> word_shift)};
  }
  // Frees the blocks of all lanes that call together. release: hands them to the next owner.
  template <class Thread>
  HEAPWOOD_INLINE void mark(const Thread& thread, std::size_t offset) const {
    Mark mine = mark_at(offset);
    const LaneGroup<Thread> all(thread, thread.together());
    all.sync();  // all lanes are done with their blocks
    if (!all.has_one_lane()) {
      // One operation for the lanes whose marks are in the first lane's word, if there are enough
      // of them to pay for the collectives.
      const auto first = thread.shfl(all.lanes(), reinterpret_cast<std::uintptr_t>(mine.word),
                                     simt::lowest_bit(all.lanes()));
      const bool is_first = reinterpret_cast<std::uintptr_t>(mine.word) == first;
      const LaneGroup<Thread> same(thread, thread.ballot(all.lanes(), is_first));
      if (same.size() >= 8 && is_first) {
        mine.bit = static_cast<std::uint32_t>(same.reduce_or(mine.bit));
        if (same.rank() != 0) return;
      }
    }
    Word(*mine.word).fetch_or(mine.bit, simt::release);
  }
  // Frees the blocks of a class that start at granules [from, to) of the page at arena a.
  HEAPWOOD_INLINE void mark_blocks(std::uint32_t a, BlockClass c, std::uint32_t from,
                                   std::uint32_t to) const {
    HEAPWOOD_ROLLED
    for (; from + c.granules() <= to; from += c.granules()) {
      const Mark next = mark_at((std::size_t{a} << arenas.shift) + std::size_t{from} * granule);
      // release: what came with the page is handed on.
      Word(*next.word).fetch_or(next.bit, simt::release);
    }
  }
  // Takes the free blocks of a word of marks if their class is c, or with `or_larger` not smaller.
  HEAPWOOD_INLINE OwnedBlocks take_word(std::uint32_t a, std::uint32_t w, BlockClass c,
                                        bool or_larger) const {
    // acquire: synchronizes with the frees.
    const std::uint32_t bits = word(a, w).exchange(0, simt::acquire);
    if (bits == 0) return OwnedBlocks::nothing();
    const OwnedBlocks blocks(a, w, bits);
    // The class is read after the blocks are owned, so it is theirs.
    const std::uint32_t found = page_word(a).block_class().index();
    if (found == c.index() || (or_larger && found > c.index())) return blocks;
    give_back(blocks);
    return OwnedBlocks::nothing();
  }
  // release: what was acquired is handed on.
  HEAPWOOD_INLINE void give_back(OwnedBlocks blocks) const {
    if (blocks.marks() != 0)
      word(blocks.arena(), blocks.word()).fetch_or(blocks.marks(), simt::release);
  }

  // Looks at 8 adjacent arenas, chosen by `seed` among the first `used`: takes free blocks of the
  // class, or a free arena as a page.
  HEAPWOOD_INLINE OwnedBlocks take_nearby(BlockClass c, std::uint32_t used,
                                          std::uint32_t seed) const {
    const std::uint32_t hash = Arenas::hashed(seed);
    const std::uint32_t first = Arenas::scaled(hash, used) & ~(SingleLane::mask_width - 1);
    std::uint32_t* const counts = arenas.counts + first;
    std::uint32_t same = 0, free = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 0; i < SingleLane::mask_width; ++i) {
      const std::uint32_t count = Word(counts[i]).load(simt::relaxed);  // relaxed: a hint
      same |= std::uint32_t{PageWord(count).has_class(c)} << i;
      free |= std::uint32_t{count == 0} << i;
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t bits = same != 0 ? same : free, turn = 0; bits != 0 && turn < 2; ++turn) {
      const std::uint32_t behind = bits & ~0u << (hash & 7);
      const std::uint32_t i = simt::lowest_bit(behind != 0 ? behind : bits);
      if (same == 0) {
        if (arenas.take_arena(first + i, PageWord(c, 0, 0).bits()))
          return OwnedBlocks::page(first + i, 0);
      } else {
        const OwnedBlocks blocks =
            take_word(first + i, (hash >> 3) * step(c) & (words() - 1), c, false);
        if (blocks.found()) return blocks;
      }
      bits &= ~(1u << i);
    }
    return OwnedBlocks::nothing();
  }
  // Takes arenas that have probably never been used as a page, one for each lane that calls it.
  template <class Thread>
  HEAPWOOD_INLINE OwnedBlocks take_unused(const Thread& thread, BlockClass c, std::uint32_t demand,
                                          std::uint32_t growth) const {
    const std::uint32_t run = run_for(c, demand, growth), n = 1u << run,
                        first_count = PageWord(c, run, 0).bits();
    HEAPWOOD_ROLLED
    for (std::uint32_t attempt = 0; attempt < Arenas::attempts; ++attempt) {
      // Lanes that take pages of one size act together. The key is an address in the pool.
      const LaneGroup<Thread> takers(thread, thread.together(arenas.high_water + run));
      // relaxed: below fresh_end each index is given away once; above, the counts decide.
      const std::uint32_t a = takers.once([&] {
        return Word(*arenas.high_water).fetch_add(takers.size() << run, simt::relaxed);
      }) + (takers.rank() << run);
      if (a >= arenas.arenas || (a >= arenas.fresh_end && arenas.arenas - a < n)) break;
      if (a < arenas.fresh_end) {
        if (arenas.fresh_end - a < n) {
          arenas.release_fresh_from(a);
          continue;
        }
        HEAPWOOD_ROLLED
        for (std::uint32_t i = 0; i < n; ++i)  // relaxed: blocks are handed out by this thread
          arenas.count(a + i).store(first_count + i, simt::relaxed);
        return OwnedBlocks::page(a, run);
      }
      const auto count_of = [=](std::uint32_t i) { return first_count + i; };
      if (run == 0 ? arenas.take_arena(a, first_count)
                   : arenas.take_run_at(SingleLane(), a, n, count_of))
        return OwnedBlocks::page(a, run);
      arenas.advance_past_span(a);
    }
    return OwnedBlocks::nothing();
  }
  // Releases a page of which no block was handed out or marked. relaxed: nothing was written there.
  HEAPWOOD_INLINE void undo_take(OwnedBlocks page) const {
    const std::uint32_t first = page_word(page.arena()).bits();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 1u << page.run(); i-- > 0;)
      arenas.undo_claim(page.arena() + i, first + i);
  }
};

}  // namespace heapwood::alloc::arena
