// SPDX-License-Identifier: MIT
// Arenas divided into blocks of one class (block_class.hpp): pages. Each granule has a mark, set
// while it is the first granule of a free block. A free sets one bit and needs to know neither the
// class nor the page's state, and no thread waits for its result.
//
// The marks of an arena are words of 32. Granule g has bit g / words of word g % words, so that the
// starts of blocks, which are multiples of their size, are dense in few words: one word has the
// marks of all blocks of 512 bytes of an arena of 16 KiB. Words of a run's arenas are counted
// through.
//
// Who takes a word of marks with an exchange owns its blocks. Only then the count of the arena is
// read to see their class: while one block of a page is in use, in a slot, or owned by such a
// thread, the page stays as it is. A page whose marks are all taken by one thread, as many as it
// has blocks, is that thread's, who makes its arenas free. A free arena has no marks.
#pragma once

#include "alloc/heapwood/arenas.hpp"
#include "alloc/heapwood/block_class.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

// Free blocks that belong to one thread or slot, {arena:24 | awaited:1 | word:7 | marks:32}: those of a word of
// marks of a page; or, without marks, a whole page, whose log2 of arenas is in `word`.
class Piece {
 public:
  static constexpr std::uint32_t no_arena = (1u << 24) - 1;

  SIMT_INLINE explicit Piece(std::uint64_t bits) : bits_(bits) {}
  SIMT_INLINE Piece(std::uint32_t arena, std::uint32_t word, std::uint32_t marks)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{word} << 32 | marks) {}
  SIMT_INLINE static Piece nothing() { return {no_arena, 0, 0}; }

  SIMT_INLINE std::uint64_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  SIMT_INLINE std::uint32_t word() const { return static_cast<std::uint32_t>(bits_ >> 32) & 127; }
  // Whether a thread is about to put other blocks in this one's place.
  SIMT_INLINE bool is_awaited() const { return (bits_ >> 39 & 1) != 0; }
  SIMT_INLINE Piece awaited() const { return Piece(bits_ | std::uint64_t{1} << 39); }
  SIMT_INLINE std::uint32_t marks() const { return static_cast<std::uint32_t>(bits_); }
  SIMT_INLINE bool found() const { return arena() != no_arena; }
  SIMT_INLINE bool is_page() const { return marks() == 0; }

 private:
  std::uint64_t bits_;
};

struct Pages {
  Arenas arenas;
  std::uint32_t* marks = nullptr;
  std::uint32_t word_shift = 0;   // log2 of an arena's words of marks
  std::uint32_t arena_shift = 0;  // log2 of an arena's granules
  bool has_runs = false;          // whether pages of more than one arena are made

  static constexpr std::uint32_t max_run = 3;

  using Word = Arenas::Word;

  SIMT_INLINE std::uint32_t words() const { return 1u << word_shift; }
  SIMT_INLINE Word word(std::uint32_t a, std::uint32_t w) const {
    return Word(marks[(std::size_t{a} << word_shift) + w]);
  }
  // Blocks of a class have their marks in every step-th word.
  SIMT_INLINE std::uint32_t step(BlockClass c) const {
    const std::uint32_t low = 1u << simt::lowest_bit(c.granules());
    return low < words() ? low : words();
  }
  SIMT_INLINE std::byte* place(std::uint32_t a, std::uint32_t w, std::uint32_t bit) const {
    return arenas.place(a + (w >> word_shift), (bit << word_shift) + (w & (words() - 1)));
  }
  // Log2 of the arenas of a page of which `demand` granules are wanted soon.
  SIMT_INLINE std::uint32_t run_for(BlockClass c, std::uint32_t demand) const {
    const std::uint32_t wanted = demand >> arena_shift, least = c.run_shift(arena_shift);
    const std::uint32_t run = wanted == 0 ? 0 : simt::highest_bit(wanted);
    return !has_runs ? 0 : run < least ? least : run < max_run ? run : max_run;
  }
  SIMT_INLINE std::uint32_t blocks_in(BlockClass c, std::uint32_t run) const {
    return (1u << (run + arena_shift)) / c.granules();
  }
  SIMT_INLINE PageWord page_word(std::uint32_t a) const {
    // relaxed: the caller owns a block of the page, or only looks.
    return PageWord(arenas.count(a).load(simt::relaxed));
  }

  // ---- blocks -----------------------------------------------------------------------------------

  // Marks the block that starts `offset` bytes behind the first arena as free. release: to the next
  // owner.
  SIMT_INLINE void mark(std::size_t offset) const {
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    const std::uint32_t g =
        static_cast<std::uint32_t>(offset / granule) & ((1u << arena_shift) - 1);
    word(a, g & (words() - 1)).fetch_or(1u << (g >> word_shift), simt::release);
  }
  // The same for the blocks of lanes that call it together: one operation for each word.
  template <class Thread>
  SIMT_INLINE void mark_together(const Thread& thread, std::size_t offset) const {
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    const std::uint32_t g =
        static_cast<std::uint32_t>(offset / granule) & ((1u << arena_shift) - 1);
    std::uint32_t* const at = marks + (std::size_t{a} << word_shift) + (g & (words() - 1));
    std::uint32_t bits = 1u << (g >> word_shift);
    const LaneGroup<Thread> all(thread, thread.together());
    all.sync();  // all lanes are done with their blocks
    if (!all.alone()) {
      // Only where a word has many marks to set.
      const auto first = thread.shfl(all.lanes(), reinterpret_cast<std::uintptr_t>(at),
                                     simt::lowest_bit(all.lanes()));
      const bool is_first = reinterpret_cast<std::uintptr_t>(at) == first;
      const LaneGroup<Thread> same(thread, thread.ballot(all.lanes(), is_first));
      if (same.size() >= 8 && is_first) {
        bits = static_cast<std::uint32_t>(same.join(bits));
        if (same.rank() != 0) return;
      }
    }
    Word(*at).fetch_or(bits, simt::release);
  }
  // Marks the blocks of a class that start at granules [from, to) of the page at arena a.
  SIMT_INLINE void mark_blocks(std::uint32_t a, BlockClass c, std::uint32_t from,
                               std::uint32_t to) const {
    SIMT_ROLLED
    for (; from + c.granules() <= to; from += c.granules())
      mark((std::size_t{a} << arenas.shift) + std::size_t{from} * granule);
  }
  // Takes the free blocks of a word of marks if their class is c, or with `or_larger` not smaller.
  SIMT_INLINE Piece take_word(std::uint32_t a, std::uint32_t w, BlockClass c,
                              bool or_larger) const {
    // acquire: synchronizes with the frees.
    const std::uint32_t bits = word(a, w).exchange(0, simt::acquire);
    if (bits == 0) return Piece::nothing();
    const PageWord page = page_word(a + (w >> word_shift));
    if (page.is_page() && (page.block_class().index() == c.index() ||
                           (or_larger && page.block_class().index() > c.index())))
      return {a, w, bits};
    give_back(a, w, bits);
    return Piece::nothing();
  }
  // release: what was acquired is handed on.
  SIMT_INLINE void give_back(std::uint32_t a, std::uint32_t w, std::uint32_t bits) const {
    if (bits != 0) word(a, w).fetch_or(bits, simt::release);
  }

  // ---- pages ------------------------------------------------------------------------------------

  // Looks at 8 of the first `used` arenas: takes free blocks of the class, or a free arena.
  SIMT_INLINE Piece look(BlockClass c, std::uint32_t used, std::uint32_t seed) const {
    const std::uint32_t hash = Arenas::hashed(seed), wanted = PageWord(c, 0, 0).bits();
    const std::uint32_t at = Arenas::scaled(hash, used) & ~(SingleLane::mask_width - 1);
    std::uint32_t* const counts = arenas.counts + at;
    std::uint32_t same = 0, free = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < SingleLane::mask_width; ++i) {
      const std::uint32_t count = Word(counts[i]).load(simt::relaxed);  // relaxed: a look
      same |= std::uint32_t{((count ^ wanted) & ~(3u << 9 | 7)) == 0} << i;
      free |= std::uint32_t{count == 0} << i;
    }
    SIMT_ROLLED
    for (std::uint32_t bits = same != 0 ? same : free, turn = 0; bits != 0 && turn < 2; ++turn) {
      const std::uint32_t behind = bits & ~0u << (hash & 7);
      const std::uint32_t i = simt::lowest_bit(behind != 0 ? behind : bits);
      if (same == 0) {
        if (arenas.take_arena(at + i, wanted)) return {at + i, 0, 0};
      } else {
        const Piece piece = take_word(at + i, (hash >> 3) * step(c) & (words() - 1), c, false);
        if (piece.found()) return piece;
      }
      bits &= ~(1u << i);
    }
    return Piece::nothing();
  }
  // Takes arenas that have probably never been used.
  template <class Thread>
  SIMT_INLINE Piece take_unused(const Thread& thread, BlockClass c, std::uint32_t demand) const {
    const std::uint32_t run = run_for(c, demand);
    SIMT_ROLLED
    for (std::uint32_t attempt = 0; attempt < Arenas::attempts; ++attempt) {
      const LaneGroup<Thread> takers(thread, thread.together());
      const std::uint32_t arenas_each = 1u << run;
      // relaxed: a hint; the counts decide.
      const std::uint32_t a = takers.once([&] {
        return Word(*arenas.high_water).fetch_add(takers.size() << run, simt::relaxed);
      }) + (takers.rank() << run);
      if (a >= arenas.arenas || arenas.arenas - a < arenas_each) break;
      if (run == 0 ? arenas.take_arena(a, PageWord(c, 0, 0).bits()) : take_run(a, c, run))
        return {a, run, 0};
    }
    return Piece::nothing();
  }
  // Takes a free arena in superblock s.
  SIMT_INLINE Piece take_free(BlockClass c, std::uint32_t s) const {
    std::uint32_t a = none;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < Arenas::per_superblock && a == none; i += SingleLane::mask_width)
      a = arenas.take_any_at(SingleLane(), s * Arenas::per_superblock + i, PageWord(c, 0, 0).bits(),
                             0);
    return single(a);
  }
  // Takes free blocks of the class or a larger one in superblock s.
  SIMT_INLINE Piece take_blocks(BlockClass c, std::uint32_t s) const {
    // relaxed, here and below: a look.
    if (is_span(arenas.superblock(s).load(simt::relaxed))) return Piece::nothing();
    Piece piece = Piece::nothing();
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < Arenas::per_superblock && !piece.found(); ++i) {
      const std::uint32_t a = s * Arenas::per_superblock + i;
      const PageWord page = page_word(a);
      if (!page.is_page() || page.block_class().index() < c.index()) continue;
      const std::uint32_t stride = step(page.block_class());
      SIMT_ROLLED
      for (std::uint32_t w = 0; w < words() && !piece.found(); w += 4 * stride) {
        std::uint32_t at = none;
        SIMT_UNROLLED
        for (std::uint32_t k = 0; k < 4 * stride; k += stride)
          if (w + k < words() && word(a, w + k).load(simt::relaxed) != 0) at = w + k;
        if (at != none) piece = take_word(a, at, c, true);
      }
    }
    return piece;
  }
  // Makes the pages of superblock s without a block in use free arenas; returns their number.
  SIMT_INLINE std::uint32_t release_free_pages(std::uint32_t s) const {
    if (is_span(arenas.superblock(s).load(simt::relaxed))) return 0;
    std::uint32_t released = 0;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < arenas.arenas_in(s); ++i) {
      const std::uint32_t a = s * Arenas::per_superblock + i;
      const PageWord page = page_word(a);
      if (page.is_page() && page.place() == 0) released += release_if_free(a, page) ? 1 : 0;
    }
    return released;
  }
  // Undoes the taking of a page. relaxed: nothing was written there.
  SIMT_INLINE void undo(Piece page) const {
    const std::uint32_t first = page_word(page.arena()).bits();
    SIMT_ROLLED
    for (std::uint32_t i = 1u << page.word(); i-- > 0;)
      arenas.undo_claim(page.arena() + i, first + i);
  }

 private:
  SIMT_INLINE static Piece single(std::uint32_t a) {
    return a == none ? Piece::nothing() : Piece{a, 0, 0};
  }
  // Takes 2^run adjacent arenas, all or none. The exchanges are in flight together.
  SIMT_INLINE bool take_run(std::uint32_t a, BlockClass c, std::uint32_t run) const {
    std::uint32_t taken = 0;
    SIMT_UNROLLED
    for (std::uint32_t i = 0; i < 1u << max_run; ++i) {
      std::uint32_t expected = 0;
      // acquire: synchronizes with the frees of the last owners.
      if (i < 1u << run && arenas.count(a + i).compare_exchange_strong(
                               expected, PageWord(c, run, i).bits(), simt::acquire, simt::relaxed))
        taken |= 1u << i;
    }
    const std::uint32_t last = a + (1u << run) - 1;
    if (taken == (1u << (1u << run)) - 1 && arenas.ensure_split(a / Arenas::per_superblock) &&
        arenas.ensure_split(last / Arenas::per_superblock))
      return true;
    SIMT_ROLLED
    for (; taken != 0; taken &= taken - 1) {
      const std::uint32_t i = simt::lowest_bit(taken);
      arenas.undo_claim(a + i, PageWord(c, run, i).bits());
    }
    return false;
  }
  // Makes the arenas of the page at arena a free if none of its blocks is in use.
  SIMT_INLINE bool release_if_free(std::uint32_t a, PageWord page) const {
    const std::uint32_t run = page.run();
    const std::uint32_t blocks = blocks_in(page.block_class(), run);
    const std::uint32_t all = words() << run, stride = step(page.block_class());
    std::uint32_t marked = 0, w = 0;
    SIMT_ROLLED
    for (; w < all; w += stride)
      marked += simt::popcount(word(a, w).load(simt::relaxed));  // relaxed: a look
    if (marked != blocks) return false;
    // Takes each word if it has the marks of all its blocks.
    SIMT_ROLLED
    for (w = 0; w < all; w += stride) {
      std::uint32_t bits = all_marks(page.block_class(), blocks, w);
      // acquire: synchronizes with the frees; the counts hand on what was acquired.
      if (!word(a, w).compare_exchange_strong(bits, 0, simt::acquire, simt::relaxed)) break;
    }
    const bool is_free = w >= all;
    SIMT_ROLLED
    while (!is_free && w > 0) {
      w -= stride;
      give_back(a, w, all_marks(page.block_class(), blocks, w));
    }
    SIMT_ROLLED
    for (std::uint32_t i = 1u << run; is_free && i-- > 0;)
      arenas.count(a + i).fetch_sub(page.bits() + i, simt::release);
    return is_free;
  }
  // Word w of the marks of a page of which all `blocks` blocks are free.
  SIMT_INLINE std::uint32_t all_marks(BlockClass c, std::uint32_t blocks, std::uint32_t w) const {
    const std::uint32_t begin = (w >> word_shift << arena_shift) + (w & (words() - 1));
    std::uint32_t bits = 0;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < 1u << (arena_shift - word_shift); ++i) {
      const std::uint32_t g = begin + (i << word_shift), block = g / c.granules();
      if (block * c.granules() == g && block < blocks) bits |= 1u << i;
    }
    return bits;
  }
};

}  // namespace heapwood::alloc::arena
