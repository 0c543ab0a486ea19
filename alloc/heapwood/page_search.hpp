// SPDX-License-Identifier: MIT
// Searches of the whole pool for a request that its slot cannot serve. They are cooperative:
// threads that search at the same time share the pool in parts of 8 arenas (words.hpp).
//
// A search for a class has failed if all parts have been looked at since it began, and no other
// search has found blocks of the class meanwhile. Then the pool is short of the class, and requests
// take blocks of larger classes; if there are none, the pool is full for the class and larger ones,
// and requests are refused. In both cases each first looks at one part, until one finds something.
#pragma once

#include "alloc/heapwood/page_slots.hpp"

namespace heapwood::alloc::arena {

struct PageSearch : PageSlots {
  // Allocates a block for the calling lane: from a free arena, or a free block of the class. If
  // there is none, frees what slots hold, releases pages without a block in use, and searches once
  // more. Only then takes a free block of a larger class, which would stay too large for long.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_block(const PageSearch* self, Thread thread,
                                               std::uint32_t class_index) {
    const BlockClass c(class_index);
    LaneGroup<Thread> group(thread, thread.together(self->tickets + class_index));
    const std::uint32_t i = slot_index(thread, group.size());
    const bool was_full = group.once([&] { return self->is_full_for(c) ? 1u : 0u; }) != 0;
    const bool was_short = group.once([&] { return self->is_short_of(c) ? 1u : 0u; }) != 0;
    const std::uint32_t released = group.once([&] { return self->released_so_far(); });
    OwnedBlocks found = OwnedBlocks::nothing();
    // Look at one part if an earlier search has found nothing.
    if (was_full || was_short) {
      found = self->look_at_one_part(group, c, was_full);
      if (found.found()) was_full ? self->clear_full() : self->set_short_of(c, false);
      group = group.part(found.found());
    }
    // Search for the class, again if that makes space, and for larger classes.
    HEAPWOOD_ROLLED
    for (unsigned turn = was_full ? 3 : was_short ? 2 : 0; turn < 3 && !found.found(); ++turn) {
      if (turn == 1 && !self->make_space(group, released)) continue;
      if (turn == 2 && !was_short && group.rank() == 0) self->set_short_of(c, true);
      const Result result = self->search(group, c, turn == 2, found);
      if (result == Result::given_up) break;
      if (turn == 2 && result == Result::nothing && group.rank() == 0) self->set_full_for(c);
    }
    if (!found.found()) return nullptr;
    self->found_blocks_of(c).fetch_add(1, simt::relaxed);
    return self->hand_out(found, c, i);
  }
  // Allocates a block of arenas of its own.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_span(const PageSearch* self, Thread thread,
                                              std::size_t bytes) {
    const LaneGroup<Thread> own(thread, 1u << thread.lane());
    const std::uint32_t i = slot_index(thread, 1);
    const std::size_t granules = bytes / granule;
    const std::uint32_t n = granules < 1u << 30 ? static_cast<std::uint32_t>(granules) : 1u << 30;
    const std::uint32_t refusal = self->refuse(i, n);
    const std::uint32_t seed = thread.worker() * 32 + thread.lane() + refusal * seed_stride;
    const bool thorough = Refusals::search_due(refusal);
    const std::uint32_t released = self->released_so_far();
    std::byte* block = nullptr;
    // Claim arenas, and once more if a search is due and makes space.
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < 2 && block == nullptr; ++turn) {
      if (turn == 1 && !(thorough && self->make_space(own, released))) break;
      block = self->pages.arenas.claim_span(SingleLane(), bytes, seed, thorough);
    }
    if (thorough) self->record_search(i, n, block != nullptr);
    return block;
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE void free_span(const PageSearch* self, Thread thread, std::uint32_t a,
                                         SpanHead head) {
    self->pages.arenas.free_span(SingleLane(), a, head);
    // What this thread requests next may fit where the block was.
    self->refusals_of(slot_index(thread, 1)).clear();
    self->clear_full();
  }

  // The number of parts of 8 arenas.
  HEAPWOOD_INLINE std::uint32_t parts() const {
    return pages.arenas.superblocks * (Arenas::per_superblock / SingleLane::mask_width);
  }
  // Takes a free arena as a page, or free blocks of class c, with `or_larger` also of a larger one,
  // in 8 arenas from `first_arena` on. relaxed, here and below: hints.
  HEAPWOOD_INLINE OwnedBlocks take_in_arenas(BlockClass c, std::uint32_t first_arena,
                                             bool or_larger) const {
    if (pages.arenas.is_in_span(first_arena)) return OwnedBlocks::nothing();
    std::uint32_t* const counts = pages.arenas.counts + first_arena;
    std::uint32_t* const marks = pages.marks + (std::size_t{first_arena} << pages.word_shift);
    // Look at the counts and the first words of marks of all arenas at once.
    std::uint32_t words[SingleLane::mask_width], free = 0, marked = 0, has_more = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t k = 0; k < SingleLane::mask_width; ++k)
      words[k] = Arenas::Word(counts[k]).load(simt::relaxed);
    HEAPWOOD_UNROLLED
    for (std::uint32_t k = 0; k < SingleLane::mask_width; ++k) {
      const PageWord page(words[k]);
      const std::uint32_t found = page.block_class().index();
      const bool may_serve =
          page.is_page() && (found == c.index() || (or_larger && found > c.index()));
      const std::uint32_t first_marks =
          Arenas::Word(marks[std::size_t{k} << pages.word_shift]).load(simt::relaxed);
      free |= std::uint32_t{page.bits() == 0} << k;
      marked |= std::uint32_t{may_serve && first_marks != 0} << k;
      has_more |= std::uint32_t{may_serve && pages.step(page.block_class()) < pages.words()} << k;
    }
    // Take a free arena, or blocks of a first word, or of another word.
    HEAPWOOD_ROLLED
    for (; free != 0; free &= free - 1) {
      const std::uint32_t a = first_arena + simt::lowest_bit(free);
      if (pages.arenas.take_arena(a, PageWord(c, 0, 0).bits())) return OwnedBlocks::page(a, 0);
    }
    OwnedBlocks found = OwnedBlocks::nothing();
    HEAPWOOD_ROLLED
    for (; marked != 0 && !found.found(); marked &= marked - 1)
      found = pages.take_word(first_arena + simt::lowest_bit(marked), 0, c, or_larger);
    HEAPWOOD_ROLLED
    for (; has_more != 0 && !found.found(); has_more &= has_more - 1)
      found = take_in_page(c, first_arena + simt::lowest_bit(has_more), or_larger);
    return found;
  }
  // Releases the pages without a block in use that begin in 8 arenas from `first_arena` on. Returns
  // their number.
  HEAPWOOD_INLINE std::uint32_t release_free_pages(std::uint32_t first_arena) const {
    if (pages.arenas.is_in_span(first_arena)) return 0;
    std::uint32_t* const counts = pages.arenas.counts + first_arena;
    std::uint32_t released = 0, begins = SingleLane().mask([&](std::uint32_t k) {
      const PageWord page(Arenas::Word(counts[k]).load(simt::relaxed));
      return page.is_page() && page.arena_in_page() == 0;
    });
    HEAPWOOD_ROLLED
    for (; begins != 0; begins &= begins - 1) {
      const std::uint32_t a = first_arena + simt::lowest_bit(begins);
      const PageWord page = pages.page_word(a);
      if (page.is_page()) released += release_if_free(a, page);
    }
    return released;
  }

 private:
  // `undecided`: others found blocks in each round. `given_up`: another search has shown that the
  // pool is full.
  enum class Result { found, nothing, undecided, given_up };

  // Searches the whole pool until this lane has found something, or all parts have been looked at
  // while no other search has found blocks of the class. `group` becomes the group of the lanes
  // with the same result.
  template <class Thread>
  HEAPWOOD_INLINE Result search(LaneGroup<Thread>& group, BlockClass c, bool or_larger,
                                OwnedBlocks& found) const {
    constexpr unsigned max_rounds = 64;  // so that the search ends, whatever others find
    // relaxed, here and below: hints.
    const auto found_blocks = [&] {
      return group.once([&] { return found_blocks_of(c).load(simt::relaxed); });
    };
    std::uint32_t before = found_blocks();
    HEAPWOOD_ROLLED
    for (unsigned round = 0; round < max_rounds; ++round) {
      const bool left =
          search_in_lanes(group, tickets[c.index()], parts(), [&](std::uint32_t part) {
            const bool is_full = is_full_for(c);
            found = take_in_arenas(c, part * SingleLane::mask_width, or_larger);
            return found.found() || is_full;
          });
      if (left) return found.found() ? Result::found : Result::given_up;
      const std::uint32_t now = found_blocks();
      if (now == before) return Result::nothing;
      before = now;
    }
    return Result::undecided;
  }
  // Each lane looks at the next part: takes blocks or a free arena, if need be that of a page
  // without a block in use.
  template <class Thread>
  HEAPWOOD_INLINE OwnedBlocks look_at_one_part(const LaneGroup<Thread>& group, BlockClass c,
                                               bool or_larger) const {
    // relaxed: the tickets are only numbers.
    const std::uint32_t first = group.once(
        [&] { return HintWord(tickets[c.index()]).fetch_add(group.size(), simt::relaxed); });
    const std::uint32_t first_arena = (first + group.rank()) % parts() * SingleLane::mask_width;
    const OwnedBlocks found = take_in_arenas(c, first_arena, or_larger);
    if (found.found() || release_free_pages(first_arena) == 0) return found;
    return take_in_arenas(c, first_arena, or_larger);
  }
  // Takes free blocks of a page's arena, of class c, with `or_larger` also of a larger one.
  HEAPWOOD_INLINE OwnedBlocks take_in_page(BlockClass c, std::uint32_t a, bool or_larger) const {
    const PageWord page = pages.page_word(a);
    if (!page.is_page()) return OwnedBlocks::nothing();
    // Reads 8 words at a time, every fourth one, at constant distances from one address. Blocks
    // whose size is a multiple of 4 granules have all their marks in a quarter of these looks. In
    // small pools the words read include some of the next arenas.
    const std::uint32_t step = pages.step(page.block_class()), words = pages.words();
    HEAPWOOD_ROLLED
    for (std::uint32_t w = 0; w < words; w += w % 4 + step < 4 ? step : 32 - w % 4) {
      std::uint32_t* const marks = pages.marks + (std::size_t{a} << pages.word_shift) + w;
      std::uint32_t marked = SingleLane().mask([&](std::uint32_t k) {
        return Arenas::Word(marks[4 * k]).load(simt::relaxed) != 0;  // relaxed: a hint
      });
      HEAPWOOD_ROLLED
      for (; marked != 0; marked &= marked - 1) {
        const std::uint32_t mine = w + 4 * simt::lowest_bit(marked);
        if (mine >= words) break;
        const OwnedBlocks blocks = pages.take_word(a, mine, c, or_larger);
        if (blocks.found()) return blocks;
      }
    }
    return OwnedBlocks::nothing();
  }
  // Releases the arenas of a page if none of its blocks is in use. `page` is the count of its first
  // arena as read earlier; it may have changed since.
  HEAPWOOD_INLINE std::uint32_t release_if_free(std::uint32_t a, PageWord page) const {
    const BlockClass c = page.block_class();
    const std::uint32_t blocks = pages.blocks_in(c, page.run());
    const std::uint32_t all = pages.words() << page.run(), step = pages.step(c);
    std::uint32_t w = 0;
    // Return early if some block seems to be in use. relaxed: a hint.
    const std::uint32_t first_marks = pages.word(a, 0).load(simt::relaxed);
    if (first_marks == 0 || first_marks != all_marks(c, blocks, 0)) return 0;
    std::uint32_t marked = 0;
    HEAPWOOD_ROLLED
    for (; w < all; w += step) marked += simt::popcount(pages.word(a, w).load(simt::relaxed));
    if (marked != blocks) return 0;
    // Take each word if it has the marks of all its blocks. The first word includes the first
    // block, and while this thread owns that block the page cannot change. So the count can be
    // compared with `page`: another page in these arenas may have the same marks.
    bool is_same = true;
    HEAPWOOD_ROLLED
    for (w = 0; w < all && is_same; w += step) {
      std::uint32_t bits = all_marks(c, blocks, w);
      // acquire: synchronizes with the frees. Releasing the arenas' counts below passes it on to
      // the arenas' next owners.
      if (!pages.word(a, w).compare_exchange_strong(bits, 0, simt::acquire, simt::relaxed)) break;
      is_same = pages.page_word(a).bits() == page.bits();
    }
    // Give the words back if one was missing; otherwise release the arenas.
    if (!is_same || w < all) {
      HEAPWOOD_ROLLED
      while (w > 0) {
        w -= step;
        // release: as in give_back().
        pages.word(a, w).fetch_or(all_marks(c, blocks, w), simt::release);
      }
      return 0;
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 1u << page.run(); i-- > 0;)
      pages.arenas.count(a + i).fetch_sub(page.bits() + i, simt::release);
    return 1;
  }
  // Word w of the marks of a page whose `blocks` blocks are all free.
  HEAPWOOD_INLINE std::uint32_t all_marks(BlockClass c, std::uint32_t blocks,
                                          std::uint32_t w) const {
    const std::uint32_t begin =
        (w >> pages.word_shift << pages.arena_shift) + (w & (pages.words() - 1));
    std::uint32_t bits = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < 1u << (pages.arena_shift - pages.word_shift); ++i) {
      const std::uint32_t g = begin + (i << pages.word_shift), block = g / c.granules();
      if (block * c.granules() == g && block < blocks) bits |= 1u << i;
    }
    return bits;
  }

  // Releases the fresh arenas, frees what all slots hold, then releases the pages without a block
  // in use. Returns whether any thread has freed or released something since `released_before` was
  // read.
  template <class Thread>
  HEAPWOOD_INLINE bool make_space(LaneGroup<Thread> group, std::uint32_t released_before) const {
    constexpr std::uint32_t each = SingleLane::mask_width;
    const std::uint32_t all = classes << slot_shift;
    const auto add_released = [&](std::uint32_t n) {
      // relaxed: a counter; the marks and counts publish.
      if (n != 0) HintWord(tickets[released]).fetch_add(n, simt::relaxed);
    };
    const auto empty_slots = [&](std::uint32_t part) {
      const std::uint32_t first = part * each;
      std::uint32_t bits = SingleLane().mask([&](std::uint32_t k) {
        return first + k < all && holds_blocks(BlockClass((first + k) >> slot_shift), first + k);
      });
      HEAPWOOD_ROLLED
      for (; bits != 0; bits &= bits - 1) {
        const std::uint32_t k = first + simt::lowest_bit(bits);
        add_released(empty_slot(BlockClass(k >> slot_shift), k));
      }
      return false;
    };
    const auto release_pages = [&](std::uint32_t part) {
      add_released(release_free_pages(part * each));
      return false;
    };
    if (group.rank() == 0) add_released(pages.arenas.release_reserve(SingleLane()));
    if (classes != 0) {  // in a pool for persistent warps there are no pages
      search_in_lanes(group, tickets[slot_tickets], (all + each - 1) / each, empty_slots);
      search_in_lanes(group, tickets[release_tickets], parts(), release_pages);
    }
    group.sync();  // all lanes have added what they released
    return group.once([&] { return released_so_far() != released_before ? 1u : 0u; }) != 0;
  }
  // relaxed: a counter.
  HEAPWOOD_INLINE std::uint32_t released_so_far() const {
    return HintWord(tickets[released]).load(simt::relaxed);
  }

  // Refusals::refuse(); max_refusals: the number of superblocks, at most that of arenas in 64 MiB.
  HEAPWOOD_INLINE std::uint32_t refuse(std::uint32_t i, std::uint32_t granules) const {
    const std::uint32_t superblocks = pages.arenas.superblocks,
                        counted = (1u << 26) >> pages.arenas.shift;
    if (superblocks <= Refusals::small_pool_superblocks) return 0;
    return refusals_of(i).refuse(granules, superblocks < counted ? superblocks : counted);
  }
  HEAPWOOD_INLINE void record_search(std::uint32_t i, std::uint32_t granules,
                                     bool has_found) const {
    if (pages.arenas.superblocks <= Refusals::small_pool_superblocks) return;
    has_found ? refusals_of(i).clear() : refusals_of(i).record_failed_search(granules);
  }
  // Returns the first of the blocks found, and keeps the others for later requests of the slot.
  HEAPWOOD_INLINE void* hand_out(OwnedBlocks found, BlockClass c, std::uint32_t i) const {
    if (found.is_page()) {
      keep_page(found, c, i, c.granules());
      return pages.arenas.address(found.arena(), 0);
    }
    const std::uint32_t first = found.marks() & (0 - found.marks());
    keep_blocks(found.with(found.marks() & ~first), c, i);
    return pages.block_at(found.arena(), found.word(), simt::lowest_bit(first));
  }
};

}  // namespace heapwood::alloc::arena
