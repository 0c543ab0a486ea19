// SPDX-License-Identifier: MIT
// Searches of the whole pool for a request that its slot cannot serve. They are cooperative:
// threads that search at the same time share the superblocks (cooperative_search in words.hpp).
// Slots limit their number (Refusals).
#pragma once

#include "alloc/heapwood/page_slots.hpp"

namespace heapwood::alloc::arena {

class PageSearch {
 public:
  // Allocates a block for the calling lane after a search, if one is due. Takes a free arena, or a
  // free block of the class or a larger one. If there is none, frees what slots hold, releases
  // pages without a block in use, and searches once more.
  //
  // Lanes that call it together count as one request for as many blocks, and each of them searches.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_block(const PageSlots* slots, Thread thread,
                                               std::uint32_t class_index) {
    // Count the request in its slot, which says whether a search is due.
    const BlockClass c(class_index);
    const LaneGroup<Thread> group(thread, thread.together(slots->tickets + class_index));
    const std::uint32_t i = PageSlots::slot_index(thread, group.size());
    const std::uint32_t refusal =
        group.once([&] { return refuse(*slots, i, c.granules(), group.size()); });
    const bool thorough = Refusals::search_due(refusal);
    const std::uint32_t released = released_so_far(*slots);
    // Without a search, try one page at random.
    OwnedBlocks found = OwnedBlocks::nothing();
    if (!thorough) {
      found = take_free_page(slots->pages, c,
                             (thread.worker() * 32 + thread.lane()) + refusal * seed_stride);
      if (!found.found()) return nullptr;
    }
    // Search all arenas, and once more if that makes space.
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < 2 && !found.found(); ++turn) {
      if (turn == 1 && !make_space(*slots, released)) break;
      cooperative_search(
          SingleLane(), slots->tickets[class_index],
          slots->pages.arenas.superblocks * (Arenas::per_superblock / SingleLane::mask_width),
          [&](std::uint32_t part) {
            found = take_in_arenas(slots->pages, c, part * SingleLane::mask_width);
            return found.found() ? 0 : none;
          });
    }
    return settle(*slots, found, c, i);
  }
  // Allocates a block of arenas of its own.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_span(const PageSlots* slots, Thread thread,
                                              std::size_t bytes) {
    const std::uint32_t i = PageSlots::slot_index(thread, 1);
    const std::size_t granules = bytes / granule;
    const std::uint32_t n = granules < 1u << 30 ? static_cast<std::uint32_t>(granules) : 1u << 30;
    const std::uint32_t refusal = refuse(*slots, i, n, 1);
    const std::uint32_t seed = thread.worker() * 32 + thread.lane() + refusal * seed_stride;
    const bool thorough = Refusals::search_due(refusal);
    const std::uint32_t released = released_so_far(*slots);
    std::byte* block = nullptr;
    // Claim arenas, and once more if a search is due and makes space.
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < 2 && block == nullptr; ++turn) {
      if (turn == 1 && !(thorough && make_space(*slots, released))) break;
      block = slots->pages.arenas.claim_span(SingleLane(), bytes, seed, thorough);
    }
    if (thorough) record_search(*slots, i, n, block != nullptr);
    return block;
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE void free_span(const PageSlots* slots, Thread thread, std::uint32_t a,
                                         SpanHead head) {
    slots->pages.arenas.free_span(SingleLane(), a, head);
    // What this thread requests next may fit where the block was.
    slots->refusals_of(PageSlots::slot_index(thread, 1)).clear();
  }

  // Takes a free arena as a page, or free blocks of class c or larger, in 8 arenas from
  // `first_arena` on.
  static HEAPWOOD_INLINE OwnedBlocks take_in_arenas(const Pages& pages, BlockClass c,
                                                    std::uint32_t first_arena) {
    // relaxed, here and below: a hint.
    if (is_span(pages.arenas.superblock(first_arena / Arenas::per_superblock).load(simt::relaxed)))
      return OwnedBlocks::nothing();
    std::uint32_t* const counts = pages.arenas.counts + first_arena;
    std::uint32_t candidates = SingleLane().mask([&](std::uint32_t k) {
      return may_serve(PageWord(Arenas::Word(counts[k]).load(simt::relaxed)), c);
    });
    HEAPWOOD_ROLLED
    for (; candidates != 0; candidates &= candidates - 1) {
      const OwnedBlocks found = take_in_arena(pages, c, first_arena + simt::lowest_bit(candidates));
      if (found.found()) return found;
    }
    return OwnedBlocks::nothing();
  }
  // Releases the pages of superblock s that have no block in use. Returns their number.
  static HEAPWOOD_INLINE std::uint32_t release_free_pages(const Pages& pages, std::uint32_t s) {
    if (is_span(pages.arenas.superblock(s).load(simt::relaxed))) return 0;  // relaxed: a hint
    std::uint32_t released = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < Arenas::per_superblock; i += SingleLane::mask_width) {
      const std::uint32_t first = s * Arenas::per_superblock + i;
      std::uint32_t* const counts = pages.arenas.counts + first;
      std::uint32_t at = SingleLane().mask([&](std::uint32_t k) {  // relaxed: a hint
        const PageWord page(Arenas::Word(counts[k]).load(simt::relaxed));
        return page.is_page() && page.arena_in_page() == 0;
      });
      HEAPWOOD_ROLLED
      for (; at != 0; at &= at - 1) {
        const std::uint32_t a = first + simt::lowest_bit(at);
        const PageWord page = pages.page_word(a);
        if (page.is_page()) released += release_if_free(pages, a, page);
      }
    }
    return released;
  }

 private:
  static HEAPWOOD_INLINE bool may_serve(PageWord page, BlockClass c) {
    return page.bits() == 0 || (page.is_page() && page.block_class().index() >= c.index());
  }
  static HEAPWOOD_INLINE OwnedBlocks take_in_arena(const Pages& pages, BlockClass c,
                                                   std::uint32_t a) {
    const PageWord page = pages.page_word(a);
    if (page.bits() == 0)
      return pages.arenas.take_arena(a, PageWord(c, 0, 0).bits()) ? OwnedBlocks::page(a, 0)
                                                                  : OwnedBlocks::nothing();
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
        const OwnedBlocks blocks = pages.take_word(a, mine, c, true);
        if (blocks.found()) return blocks;
      }
    }
    return OwnedBlocks::nothing();
  }
  // If the page at an arena chosen by `seed` has no block in use, releases it and takes its first
  // arena as a page of class c.
  static HEAPWOOD_INLINE OwnedBlocks take_free_page(const Pages& pages, BlockClass c,
                                                    std::uint32_t seed) {
    const std::uint32_t a = Arenas::scaled(Arenas::hashed(seed), pages.arenas.arenas);
    const PageWord page = pages.page_word(a);
    const bool is_mine = page.is_page() && page.arena_in_page() == 0 &&
                         release_if_free(pages, a, page) != 0 &&
                         pages.arenas.take_arena(a, PageWord(c, 0, 0).bits());
    return is_mine ? OwnedBlocks::page(a, 0) : OwnedBlocks::nothing();
  }
  // Releases the arenas of a page if none of its blocks is in use. `page` is the count of its first
  // arena as read earlier; it may have changed since.
  static HEAPWOOD_INLINE std::uint32_t release_if_free(const Pages& pages, std::uint32_t a,
                                                       PageWord page) {
    const BlockClass c = page.block_class();
    const std::uint32_t blocks = pages.blocks_in(c, page.run());
    const std::uint32_t all = pages.words() << page.run(), step = pages.step(c);
    std::uint32_t w = 0;
    // Return early if some block seems to be in use. relaxed: a hint.
    if (pages.word(a, 0).load(simt::relaxed) != all_marks(pages, c, blocks, 0)) return 0;
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
      std::uint32_t bits = all_marks(pages, c, blocks, w);
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
        pages.word(a, w).fetch_or(all_marks(pages, c, blocks, w), simt::release);
      }
      return 0;
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 1u << page.run(); i-- > 0;)
      pages.arenas.count(a + i).fetch_sub(page.bits() + i, simt::release);
    return 1;
  }
  // Word w of the marks of a page whose `blocks` blocks are all free.
  static HEAPWOOD_INLINE std::uint32_t all_marks(const Pages& pages, BlockClass c,
                                                 std::uint32_t blocks, std::uint32_t w) {
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
  // in use. Returns whether any thread has freed or released something since `released` was read.
  static HEAPWOOD_INLINE bool make_space(const PageSlots& slots, std::uint32_t released) {
    constexpr std::uint32_t each = SingleLane::mask_width;
    const std::uint32_t all = slots.classes << slots.slot_shift;
    const auto add_released = [&](std::uint32_t n) {
      // relaxed: a counter; the marks and counts publish.
      if (n != 0)
        PageSlots::HintWord(slots.tickets[PageSlots::released]).fetch_add(n, simt::relaxed);
      return none;
    };
    // First the fresh arenas, then the blocks in slots, then the pages that are now free.
    add_released(slots.pages.arenas.release_reserve(SingleLane()));
    cooperative_search(SingleLane(), slots.tickets[PageSlots::slot_tickets],
                       (all + each - 1) / each, [&](std::uint32_t part) {
                         const std::uint32_t first = part * each;
                         std::uint32_t bits = SingleLane().mask([&](std::uint32_t k) {
                           return first + k < all &&
                                  slots.holds_blocks(BlockClass((first + k) >> slots.slot_shift),
                                                     first + k);
                         });
                         HEAPWOOD_ROLLED
                         for (; bits != 0; bits &= bits - 1) {
                           const std::uint32_t k = first + simt::lowest_bit(bits);
                           add_released(slots.empty_slot(BlockClass(k >> slots.slot_shift), k));
                         }
                         return none;
                       });
    cooperative_search(
        SingleLane(), slots.tickets[PageSlots::release_tickets], slots.pages.arenas.superblocks,
        [&](std::uint32_t s) { return add_released(release_free_pages(slots.pages, s)); });
    return released_so_far(slots) != released;
  }
  // relaxed: a counter.
  static HEAPWOOD_INLINE std::uint32_t released_so_far(const PageSlots& slots) {
    return PageSlots::HintWord(slots.tickets[PageSlots::released]).load(simt::relaxed);
  }

  // Counts a failing request: Refusals::refuse().
  static HEAPWOOD_INLINE std::uint32_t refuse(const PageSlots& slots, std::uint32_t i,
                                              std::uint32_t granules, std::uint32_t blocks) {
    const Arenas& arenas = slots.pages.arenas;
    if (arenas.superblocks <= Refusals::small_pool_superblocks) return 0;
    const std::uint32_t counted = (1u << 26) >> arenas.shift;
    return slots.refusals_of(i).refuse(granules, blocks,
                                       arenas.superblocks < counted ? arenas.superblocks : counted);
  }
  static HEAPWOOD_INLINE void record_search(const PageSlots& slots, std::uint32_t i,
                                            std::uint32_t granules, bool has_found) {
    if (slots.pages.arenas.superblocks <= Refusals::small_pool_superblocks) return;
    has_found ? slots.refusals_of(i).clear() : slots.refusals_of(i).record_failed_search(granules);
  }
  // Ends a search: returns the first of the blocks found, or nullptr, and keeps the others for
  // later requests of the slot.
  static HEAPWOOD_INLINE void* settle(const PageSlots& slots, OwnedBlocks found, BlockClass c,
                                      std::uint32_t i) {
    record_search(slots, i, c.granules(), found.found());
    if (!found.found()) return nullptr;
    if (found.is_page()) {
      slots.keep_page(found, c, i, c.granules());
      return slots.pages.arenas.address(found.arena(), 0);
    }
    const std::uint32_t first = found.marks() & (0 - found.marks());
    slots.keep_blocks(found.with(found.marks() & ~first), c, i);
    return slots.pages.block_at(found.arena(), found.word(), simt::lowest_bit(first));
  }
};

}  // namespace heapwood::alloc::arena
