// SPDX-License-Identifier: MIT
// The layout of a pool of pages, its initial state, and a walk over its regions at quiescence. Host
// code.
//   head (a copy of SharedPages) | high-water mark | tickets | refusals | slots, newest pages |
//   previous pages | superblock words | counts | marks | arenas | unused remainder
// Overhead: one bit per granule, 8.1 bytes per arena and 20 bytes per slot and class: 1% of a pool
// of 256 MiB to 2 GiB.
#pragma once

#include <algorithm>
#include <utility>

#include "alloc/heapwood/arena_walk.hpp"
#include "alloc/heapwood/shared_pages.hpp"

namespace heapwood::alloc::arena {

// Writes word i of each table. In large pools the slots of small blocks start with a page or a part
// of one, so that the first requests of a kernel are served without a search.
struct InitialPages {
  SharedPages shared;
  std::uint32_t padded_superblocks;
  std::uint32_t opened;  // pages in slots

  // Pages that eight slots start with: 1, 1, 2, 4, and 8 pages of the classes of 1, 2, 4, 8, and 16
  // granules.
  static constexpr std::uint32_t opened_together = 16;

  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    const Arenas& a = shared.pages.arenas;
    const std::uint32_t slots = 1u << shared.slot_shift;
    if (i < a.superblocks * Arenas::per_superblock)
      a.counts[i] = i < opened     ? PageWord(opened_class(i % opened_together), 0, 0).bits()
                    : i < a.arenas ? 0
                                   : body;
    if (i < padded_superblocks)
      a.superblock_words[i] = i >= a.superblocks                    ? body
                              : i * Arenas::per_superblock < opened ? split
                                                                    : 0;
    if (i < slots) shared.refusals[i] = Refusals::none;
    if (i < slots * shared.classes) {
      shared.slots[2 * std::size_t{i}] = first_page(i >> shared.slot_shift, i & (slots - 1)).bits();
      shared.slots[2 * std::size_t{i} + 1] = OwnedBlocks::nothing().bits();
      shared.newest[i] = NewestPage::none().bits();
    }
    if (i < a.arenas) shared.previous[i] = OwnedBlocks::no_arena;
  }

 private:
  HEAPWOOD_FN static BlockClass opened_class(std::uint32_t page) {
    return BlockClass::of(page < 1 ? 1 : 2u << simt::highest_bit(page));
  }
  HEAPWOOD_FN OpenPage first_page(std::uint32_t class_index, std::uint32_t slot) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t k = 0; k < 5; ++k) {
      const std::uint32_t pages = k == 0 ? 1 : 1u << (k - 1), sharing = 8 / pages;
      const std::uint32_t arena =
          slot / 8 * opened_together + (k == 0 ? 0 : pages) + slot % 8 / sharing;
      if (arena >= opened || BlockClass::of(1u << k).index() != class_index) continue;
      const std::uint32_t part = slot % 8 % sharing;
      return {arena, (part + 1) * pages, part * pages << (shared.pages.arena_shift - 3)};
    }
    return OpenPage::initial();
  }
};

class PageLayout {
 public:
  static constexpr std::size_t smallest_pool = 4096;

  // Chooses the arena size and lays out the tables. An arena is about 1/2000 of the pool and at
  // most 4 KiB, or 8 or 16 KiB if that leaves at least 6,144 arenas.
  static SharedPages plan(Pool pool) {
    SharedPages shared;
    Pages& pages = shared.pages;
    Arenas& a = pages.arenas;
    a.shift = std::clamp(simt::highest_bit(pool.bytes / 2048 + 1), 8u, 12u);
    for (const std::size_t mebibytes : {std::size_t{48}, std::size_t{96}})
      a.shift += pool.bytes >> 20 >= mebibytes ? 1 : 0;
    // OwnedBlocks has 24 bits for an arena and 7 for a word of its marks. Pools above 1 TiB have an
    // unused remainder.
    while (a.shift < max_shift && pool.bytes >> a.shift >= OwnedBlocks::no_arena) ++a.shift;
    a.granules_per_arena = 1u << (a.shift - 4);
    pages.arena_shift = a.shift - 4;
    pages.word_shift = pages.arena_shift > 5 ? pages.arena_shift - 5 : 0;
    shared.classes = BlockClass::of(a.granules()).index() + 1;
    for (std::uint64_t n =
             std::min<std::uint64_t>(pool.bytes >> a.shift, OwnedBlocks::no_arena - 1);
         ; --n) {
      a.arenas = static_cast<std::uint32_t>(n);
      a.superblocks = (a.arenas + Arenas::per_superblock - 1) / Arenas::per_superblock;
      pages.has_runs = a.superblocks >= 64;
      shared.slot_shift = simt::highest_bit(std::clamp<std::uint64_t>(n / 32, 1, max_slots));
      const std::size_t slots = std::size_t{1} << shared.slot_shift;
      const std::size_t tickets_at = head_bytes + line;
      const std::size_t refusals_at =
          tickets_at + SharedPages::ticket_words * sizeof(std::uint32_t);
      const std::size_t slots_at = refusals_at + slots * sizeof(std::uint64_t);
      const std::size_t newest_at = slots_at + slots * shared.classes * 2 * sizeof(std::uint64_t);
      const std::size_t previous_at = newest_at + slots * shared.classes * sizeof(std::uint32_t);
      const std::size_t superblocks_at =
          round_up(previous_at + a.arenas * sizeof(std::uint32_t), line);
      const std::size_t counts_at =
          superblocks_at + round_up(a.padded_superblocks() * sizeof(std::uint32_t), line);
      const std::size_t marks_at = counts_at + a.superblocks * line;
      const std::size_t mark_bytes =
          (std::size_t{a.superblocks} * Arenas::per_superblock << pages.word_shift) *
              sizeof(std::uint32_t) +
          SingleLane::mask_width * sizeof(std::uint32_t);  // a search reads 8 words at a time
      const std::size_t memory_at = round_up(marks_at + mark_bytes, 256);
      if (memory_at + (std::size_t{a.arenas} << a.shift) > pool.bytes) continue;
      a.high_water = word(pool, head_bytes);
      shared.tickets = word(pool, tickets_at);
      a.search_tickets = shared.tickets + SharedPages::arena_tickets;
      shared.refusals = reinterpret_cast<std::uint64_t*>(pool.base + refusals_at);
      shared.slots = reinterpret_cast<std::uint64_t*>(pool.base + slots_at);
      shared.newest = word(pool, newest_at);
      shared.previous = word(pool, previous_at);
      a.superblock_words = word(pool, superblocks_at);
      a.counts = word(pool, counts_at);
      pages.marks = word(pool, marks_at);
      a.memory = pool.base + memory_at;
      return shared;
    }
  }

  template <class Device>
  static void initialize(Pool pool, const SharedPages& shared, const Device& device) {
    const Arenas& a = shared.pages.arenas;
    auto* const marks = reinterpret_cast<std::byte*>(shared.pages.marks);
    auto* const refusals = reinterpret_cast<std::byte*>(shared.refusals);
    simt::device_fill(device.id(), pool.base, 0, static_cast<std::size_t>(refusals - pool.base));
    simt::device_fill(device.id(), marks, 0, static_cast<std::size_t>(a.memory - marks));
    simt::device_upload(device.id(), pool.base, &shared, sizeof(shared));
    const std::uint32_t opened = opened_pages(shared, device.multiprocessors());
    simt::device_upload(device.id(), a.high_water, &opened, sizeof(opened));
    const std::size_t slot_words = std::size_t{shared.classes} << shared.slot_shift;
    device.for_each(
        std::max(slot_words, std::size_t{a.padded_superblocks()} * Arenas::per_superblock),
        InitialPages{shared, a.padded_superblocks(), opened});
  }

  // Visits the regions of the pool in order of offset. Each free block is a region of its own,
  // because neighbours are not served as one block. A page without a block in use is free as a
  // whole, because a search releases it. The rest is as walk_arenas() says.
  template <class Visitor>
  static void walk(Pool pool, const SharedPages& shared, const HostView& host, Visitor visit) {
    const Pages& pages = shared.pages;
    const Arenas& a = pages.arenas;
    const std::size_t padded = std::size_t{a.superblocks} * Arenas::per_superblock;
    auto counts = host.read(a.counts, padded);
    auto marks = host.read(pages.marks, padded << pages.word_shift);
    const auto superblocks = host.read(a.superblock_words, a.superblocks);
    const auto slots =
        host.read(shared.slots, 2 * (std::size_t{shared.classes} << shared.slot_shift));
    // The word and the bit of the block at granule g of a page.
    const auto mark_of = [&](std::uint32_t arena, std::uint32_t g) {
      arena += g >> pages.arena_shift;
      g &= (1u << pages.arena_shift) - 1;
      return std::pair<std::uint32_t&, std::uint32_t>(
          marks[(std::size_t{arena} << pages.word_shift) + (g & (pages.words() - 1))],
          1u << (g >> pages.word_shift));
    };
    for (std::size_t i = 0; i < slots.size() / 2; ++i) {
      const OpenPage page(slots[2 * i]);
      const std::uint32_t g =
          BlockClass(static_cast<std::uint32_t>(i >> shared.slot_shift)).granules();
      for (std::uint64_t at = page.position(); at + g <= shared.limit(page); at += g) {
        const auto [word, bit] = mark_of(page.arena(), static_cast<std::uint32_t>(at));
        word |= bit;
      }
      const OwnedBlocks spare(slots[2 * i + 1]);
      if (spare.marks() != 0)
        marks[(std::size_t{spare.arena()} << pages.word_shift) + spare.word()] |= spare.marks();
    }
    const auto free_blocks = [&](std::uint32_t first, PageWord page) {
      const std::uint32_t run = page.run();
      std::uint32_t n = 0;
      for (std::size_t w = 0; w < std::size_t{pages.words()} << run; ++w)
        n += simt::popcount(marks[(std::size_t{first} << pages.word_shift) + w]);
      return n;
    };
    for (std::uint32_t i = 0; i < a.arenas; ++i) {
      const PageWord page(counts[i]);
      if (!page.is_page() || is_span(superblocks[i / Arenas::per_superblock])) continue;
      const std::uint32_t run = page.run();
      if (free_blocks(i, page) == pages.blocks_in(page.block_class(), run))
        for (std::uint32_t k = 0; k < 1u << run; ++k) counts[i + k] = 0;
      i += (1u << run) - 1;
    }
    walk_arenas(pool, a, counts, superblocks, visit, [&](std::uint32_t i, auto add) {
      const PageWord page(counts[i]);
      if (!page.is_page()) return 0u;
      const std::uint32_t n = 1u << page.run(), g = page.block_class().granules();
      std::size_t used = 0, left = std::size_t{n} << a.shift;
      for (std::uint32_t b = 0; b < pages.blocks_in(page.block_class(), page.run()); ++b) {
        const auto [word, bit] = mark_of(i, b * g);
        if ((word & bit) == 0) {
          used += g * granule;
          continue;
        }
        left -= used + g * granule;
        add(used, Region::State::used);
        add(g * granule, Region::State::free);
        used = 0;
      }
      add(left, Region::State::used);
      return n;
    });
  }

 private:
  static constexpr std::uint32_t max_slots = 2048, max_shift = 16;
  static_assert(1u << (max_shift - 4 - 5) <= OwnedBlocks::max_words);
  static constexpr std::size_t head_bytes = 256, line = 128;
  static_assert(sizeof(SharedPages) <= head_bytes);

  static std::uint32_t* word(Pool pool, std::size_t at) {
    return reinterpret_cast<std::uint32_t*>(pool.base + at);
  }
  // Pages that are in slots from the start: none in pools where they would be more than 1/32.
  static std::uint32_t opened_pages(const SharedPages& shared, unsigned multiprocessors) {
    const std::uint32_t of_each =
        std::min(multiprocessors, std::max((1u << shared.slot_shift) / 8, 1u));
    const std::uint32_t n = of_each * InitialPages::opened_together;
    const bool fits = shared.slot_shift >= 3 && shared.pages.arena_shift >= 7 &&
                      n <= shared.pages.arenas.arenas / 32;
    return fits ? n : 0;
  }
};

}  // namespace heapwood::alloc::arena
