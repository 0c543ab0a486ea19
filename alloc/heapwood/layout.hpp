// SPDX-License-Identifier: MIT
// The layout of a pool, its initial state, and a walk over its regions at quiescence. Host code.
//   head (a copy of SharedPages) | hints, one line each | tickets | refusals | slots,
//   newest pages | previous pages | superblock words | counts | marks | arenas | unused remainder
// A pool for persistent warps has no slots and no marks. Overhead: one bit per granule, 8.1 bytes
// per arena and 20 bytes per slot and class: 1% of a pool of 256 MiB to 2 GiB. With persistent
// warps: 4 bytes per arena.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "alloc/heapwood/shared_pages.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::arena {

// Writes word i of each table. In large pools the slots of small blocks start with a page or a part
// of one, so that the first requests of a kernel are served without a search.
struct InitialWords {
  SharedPages shared;
  std::uint32_t table_superblocks;  // for which the tables have space
  std::uint32_t opened;             // pages in slots

  // Pages that eight slots start with: 1, 1, 2, 4 and 8 of classes of 1, 2, 4, 8 and 16 granules.
  static constexpr std::uint32_t opened_together = 16;

  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    const Arenas& a = shared.pages.arenas;
    const std::uint32_t slots = 1u << shared.slot_shift;
    const bool is_free = i >= a.fresh_end && i < a.arenas && i - a.run_first >= a.reserve;
    if (i < table_superblocks * Arenas::per_superblock)
      a.counts[i] = i < opened ? PageWord(opened_class(i % opened_together), 0, 0).bits()
                    : is_free  ? 0
                               : body;
    // Superblocks are split from the start where slots have their first pages, where high_water
    // gives arenas away, and where runs are allocated if arenas have 16 KiB or more: smaller pools
    // need whole superblocks just as often.
    const std::uint32_t first = i * Arenas::per_superblock;
    const bool is_for_runs = a.shift >= 14 && first - a.run_first < a.run_capacity;
    const bool is_split = first < opened || first < a.fresh_end || is_for_runs;
    if (i < Arenas::padded(table_superblocks))
      a.superblock_words[i] = i >= a.superblocks ? body : is_split ? split : 0;
    if (i < slots) shared.refusals[i] = Refusals::none;
    if (i < slots * shared.classes) {
      shared.slots[2 * std::size_t{i}] = first_page(i >> shared.slot_shift, i & (slots - 1)).bits();
      shared.slots[2 * std::size_t{i} + 1] = OwnedBlocks::nothing().bits();
      shared.newest[i] = NewestPage::none().bits();
    }
    if (i < a.arenas && shared.max_in_page != 0) shared.previous[i] = OwnedBlocks::no_arena;
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

class Layout {
 public:
  // Chooses the arena size and lays out the tables. `initial_bytes`: of AllocatorOptions; the slots
  // of a pool that grows are those of a smaller pool, because they hold memory.
  static SharedPages plan(Pool pool, bool has_persistent_warps = false,
                          std::size_t spare_bytes_for_warps = 0, std::size_t initial_bytes = 0) {
    SharedPages shared;
    Pages& pages = shared.pages;
    Arenas& a = pages.arenas;
    a.shift = has_persistent_warps ? arena_shift_for_warps(pool.bytes, spare_bytes_for_warps)
                                   : arena_shift(pool.bytes, 48);
    // OwnedBlocks has 24 bits for an arena and 7 for a word of its marks. Pools of pages above
    // 1 TiB have an unused remainder.
    while ((has_persistent_warps || a.shift < max_page_shift) &&
           pool.bytes >> a.shift >= OwnedBlocks::no_arena)
      ++a.shift;
    a.granules = 1u << (a.shift - 4);
    pages.arena_shift = a.shift - 4;
    pages.word_shift = pages.arena_shift > 5 ? pages.arena_shift - 5 : 0;
    if (!has_persistent_warps) {
      shared.classes = BlockClass::of(a.granules).index() + 1;
      shared.max_in_page = a.arena_bytes();
    }
    auto n = std::min<std::uint64_t>(pool.bytes >> a.shift, OwnedBlocks::no_arena - 1);
    for (;; --n) {
      a.arenas = static_cast<std::uint32_t>(n);
      a.superblocks = (a.arenas + Arenas::per_superblock - 1) / Arenas::per_superblock;
      pages.has_runs = a.superblocks >= 64;
      const std::uint64_t small = std::max<std::uint64_t>(initial_bytes >> a.shift, n / 64);
      shared.slot_shift = simt::highest_bit(std::clamp<std::uint64_t>(
          (initial_bytes == 0 ? n : std::min(small, n)) / 32, 1, max_slots));
      if (lay_out(pool, shared) + (std::size_t{a.arenas} << a.shift) > pool.bytes) continue;
      plan_runs(shared, has_persistent_warps, spare_bytes_for_warps);
      return shared;
    }
  }

  // Where runs are allocated, the reserve, and how many warps may hold an arena.
  static void plan_runs(SharedPages& shared, bool has_persistent_warps = false,
                        std::size_t spare_bytes_for_warps = 0) {
    Arenas& a = shared.pages.arenas;
    // Runs are placed away from the arenas that persistent warps claim first, and end where the
    // last quarter begins: spans of superblocks are taken from the pool's end, and need superblocks
    // that are not split.
    const std::uint32_t quarter = std::max(a.arenas / 4, 1u);
    a.run_capacity = static_cast<std::uint32_t>(simt::bit_floor(quarter));
    a.run_first = 3 * quarter - a.run_capacity;
    // The reserve (Arenas::take_reserved) is at most half of the spare memory.
    const bool has_spare_memory = spare_bytes_for_warps / 2 >= std::size_t{a.run_capacity}
                                                                   << a.shift;
    a.reserve = a.shift >= max_shift && has_spare_memory ? a.run_capacity : 0;
    // Half of the arenas, in whole superblocks, which start out split. Large blocks find the other
    // half whole.
    a.fresh_end =
        has_persistent_warps ? 0 : a.arenas / 2 / Arenas::per_superblock * Arenas::per_superblock;
    shared.spare_arenas = static_cast<std::uint32_t>(spare_bytes_for_warps >> a.shift);
    // Each warp needs its own arena, and a share of some for large blocks and for blocks that are
    // live when their arena is closed: in all 1.4 spare arenas per warp (1.6 if they have at most
    // 4 KiB), or four of any kind if the spare memory is not known.
    const std::uint32_t spare = shared.spare_arenas;
    shared.max_ample_warps = !has_persistent_warps         ? a.arenas / 4
                             : a.shift <= small_pool_shift ? spare / 8 * 5
                                                           : spare / 10 * 7;
  }

  // Words of marks of the first superblocks, and those that a search reads beyond them.
  static std::size_t mark_words(const SharedPages& shared, std::uint32_t superblocks) {
    return (std::size_t{superblocks} * Arenas::per_superblock << shared.pages.word_shift) +
           4 * SingleLane::mask_width;
  }
  // Two words for results of Growth (growth.hpp).
  static std::uint32_t* results(Pool pool) {
    return as<std::uint32_t>(pool.base + head_bytes + line + 24);
  }

  // `table_superblocks`: those that plan() has found.
  template <class Device>
  static void initialize(Pool pool, const SharedPages& shared, std::uint32_t table_superblocks,
                         const Device& device) {
    const Arenas& a = shared.pages.arenas;
    auto* const marks = reinterpret_cast<std::byte*>(shared.pages.marks);
    auto* const refusals = reinterpret_cast<std::byte*>(shared.refusals);
    simt::device_fill(device.id(), pool.base, 0, static_cast<std::size_t>(refusals - pool.base));
    simt::device_fill(device.id(), marks, 0,
                      std::min(mark_words(shared, a.superblocks) * sizeof(std::uint32_t),
                               static_cast<std::size_t>(a.memory - marks)));
    simt::device_upload(device.id(), pool.base, &shared, sizeof(shared));
    const std::uint32_t opened = opened_pages(shared, device.multiprocessors());
    simt::device_upload(device.id(), a.high_water, &opened, sizeof(opened));
    const std::size_t slot_words = std::max<std::size_t>(shared.classes, 1) << shared.slot_shift;
    device.for_each(std::max(slot_words, std::size_t{Arenas::padded(table_superblocks)} *
                                             Arenas::per_superblock),
                    InitialWords{shared, table_superblocks, opened});
  }

  // Visits the regions of the pool in order of offset. Free regions are runs of free arenas within
  // one superblock, runs of superblocks without a used arena, and blocks of pages: each is a region
  // of its own, because neighbours are not served as one block. A page without a block in use is
  // free as a whole, because a search releases it. A span is one used region.
  template <class Visitor>
  static void walk(Pool pool, const SharedPages& shared, const HostView& host, Visitor visit) {
    SharedPages copy = shared;  // its marks and slots are copies, too
    Pages& pages = copy.pages;
    const Arenas& a = pages.arenas;
    const std::uint32_t slots = copy.classes << copy.slot_shift;
    const std::size_t padded = std::size_t{a.superblocks} * Arenas::per_superblock;
    const bool has_pages = shared.max_in_page != 0;
    auto counts = host.read(a.counts, padded);
    auto marks = host.read(pages.marks, has_pages ? padded << pages.word_shift : 0);
    auto slot_words = host.read(copy.slots, std::size_t{2} * slots);
    const auto superblocks = host.read(a.superblock_words, a.superblocks);
    pages.marks = marks.data();
    copy.slots = slot_words.data();
    // Arenas that were never handed out are free.
    for (std::uint64_t i = host.read(a.run_tickets); i < a.reserve; ++i)
      counts[a.run_first + i] = 0;
    for (std::uint32_t i = host.read(a.high_water); i < a.fresh_end; ++i) counts[i] = 0;
    // Mark the blocks that slots hold.
    for (std::uint32_t i = 0; i < slots; ++i) copy.empty_slot(BlockClass(i >> copy.slot_shift), i);
    // Free the arenas of pages with all blocks marked.
    for (std::uint32_t i = 0, n = 1; i < a.arenas; i += n) {
      const PageWord page(counts[i]);
      n = 1;
      if (!has_pages || !page.is_page() || is_span(superblocks[i / Arenas::per_superblock]))
        continue;
      n <<= page.run();
      std::uint32_t free = 0;
      for (std::size_t w = 0; w < std::size_t{n} << pages.word_shift; ++w)
        free += simt::popcount(marks[(std::size_t{i} << pages.word_shift) + w]);
      if (free == pages.blocks_in(page.block_class(), page.run()))
        std::fill_n(counts.begin() + i, n, 0u);
    }
    visit_arenas(pool, copy, counts, superblocks, visit);
  }

 private:
  static constexpr unsigned min_shift = 8, small_pool_shift = 12, max_shift = 14,
                            max_page_shift = 16, max_persistent_shift = 18;
  static constexpr std::size_t min_arenas_for_warps = 12288, min_spare_arenas = 3800;
  static constexpr std::uint32_t max_slots = 2048;
  static_assert(1u << (max_page_shift - 4 - 5) <= OwnedBlocks::max_words);
  static constexpr std::size_t head_bytes = 512, line = 128, hints = 2;
  static_assert(sizeof(SharedPages) <= head_bytes);

  // Log2 of an arena's bytes: about 1/2000 of the pool and at most 4 KiB, or 8 or 16 KiB if that
  // leaves at least 6,144 arenas.
  static unsigned arena_shift(std::size_t pool_bytes, std::size_t mebibytes_for_8k) {
    const unsigned shift =
        std::clamp(simt::highest_bit(pool_bytes / 2048 + 1), min_shift, small_pool_shift);
    return shift + (pool_bytes >> 20 >= mebibytes_for_8k ? 1 : 0) +
           (pool_bytes >> 20 >= 96 ? 1 : 0);
  }
  // Log2 of an arena's bytes for persistent warps: 2 KiB in pools of 8 to 10 MiB and 8 KiB from 24
  // MiB on, because builders launch fewer warps where memory is scarce; 32 KiB if the pool then has
  // 12,288 arenas; 16 to 256 KiB if 3,800 of them, ample for 2,640 warps, fit into the spare
  // memory. The limits are measured (docs/experiments.md).
  static unsigned arena_shift_for_warps(std::size_t pool_bytes, std::size_t spare_bytes) {
    unsigned shift = simt::highest_bit(spare_bytes / min_spare_arenas | 1);
    if (pool_bytes / min_arenas_for_warps >> (max_shift + 1) > 0)
      shift = std::max(shift, max_shift + 1);
    shift = std::max(arena_shift(pool_bytes, 24), std::min(shift, max_persistent_shift));
    return pool_bytes >> 20 >= 8 && pool_bytes >> 20 < 10 ? shift - 1 : shift;
  }
  // Places the tables. Returns the bytes before the arenas.
  static std::size_t lay_out(Pool pool, SharedPages& shared) {
    Pages& pages = shared.pages;
    Arenas& a = pages.arenas;
    const bool has_pages = shared.max_in_page != 0;
    const std::size_t slots = std::size_t{1} << shared.slot_shift;
    std::size_t offset = head_bytes + hints * line;
    const auto place = [&](auto*& table, std::size_t entries, std::size_t alignment = 8) {
      offset = round_up(offset, alignment);
      table = reinterpret_cast<std::decay_t<decltype(table)>>(pool.base + offset);
      offset += entries * sizeof(*table);
    };
    place(shared.tickets, SharedPages::ticket_words);
    place(shared.refusals, slots);
    place(shared.slots, slots * shared.classes * 2);
    place(shared.newest, slots * shared.classes);
    place(shared.previous, has_pages ? a.arenas : 0);
    place(a.superblock_words, Arenas::padded(a.superblocks), line);
    place(a.counts, std::size_t{a.superblocks} * Arenas::per_superblock, line);
    place(pages.marks, has_pages ? mark_words(shared, a.superblocks) : 0, line);
    place(a.memory, 0, 256);
    a.high_water = as<std::uint32_t>(pool.base + head_bytes);
    a.run_tickets = as<std::uint64_t>(pool.base + head_bytes + line);
    a.collects = as<std::uint32_t>(pool.base + head_bytes + line + 16);
    a.search_tickets = shared.tickets + SharedPages::arena_tickets;
    return offset;
  }
  // Visits the arenas, and in pages each free block and the used blocks between them. The marks of
  // `shared` are on the host, `counts` is padded to whole superblocks.
  template <class Visitor>
  static void visit_arenas(Pool pool, const SharedPages& shared,
                           const std::vector<std::uint32_t>& counts,
                           const std::vector<std::uint32_t>& superblocks, Visitor visit) {
    const Pages& pages = shared.pages;
    const Arenas& a = pages.arenas;
    const auto empty = [&](std::uint32_t s) {
      if (s >= a.superblocks || is_span(superblocks[s])) return false;
      const auto first = counts.begin() + s * Arenas::per_superblock;
      return std::all_of(first, first + a.arenas_in(s), [](std::uint32_t c) { return c == 0; });
    };
    std::size_t offset = 0;
    const auto add_up_to = [&](std::size_t end, Region::State state) {
      if (end > offset) visit(Region{offset, end - offset, state});
      offset = end;
    };
    add_up_to(static_cast<std::size_t>(a.memory - pool.base), Region::State::metadata);
    for (std::uint32_t i = 0, n = 0; i < a.arenas; i += n) {
      const std::uint32_t s = i / Arenas::per_superblock, word = counts[i];
      const std::size_t begin = offset;
      const PageWord page(word);
      n = 1;
      Region::State state = Region::State::used;
      if (i % Arenas::per_superblock == 0 && is_span(superblocks[s])) {
        n = std::min((superblocks[s] - span) * Arenas::per_superblock, a.arenas - i);
      } else if (i % Arenas::per_superblock == 0 && empty(s)) {
        state = Region::State::free;
        n = a.arenas_in(s);
        for (std::uint32_t next = s + 1; empty(next); ++next) n += a.arenas_in(next);
      } else if (word == 0) {
        state = Region::State::free;
        while ((i + n) % Arenas::per_superblock != 0 && i + n < a.arenas && counts[i + n] == 0) ++n;
      } else if (is_span(word)) {
        n = word - span;
      } else if (shared.max_in_page != 0 && page.is_page()) {
        n = 1u << page.run();
        const std::size_t block_bytes = page.block_class().granules() * granule;
        for (std::uint32_t b = 0; b < pages.blocks_in(page.block_class(), page.run()); ++b) {
          const std::size_t block = b * block_bytes;
          const Pages::Mark mark = pages.mark_at((std::size_t{i} << a.shift) + block);
          if ((*mark.word & mark.bit) == 0) continue;
          add_up_to(begin + block, Region::State::used);
          add_up_to(begin + block + block_bytes, Region::State::free);
        }
      }
      if (n == 0 || n > a.arenas - i)
        throw Error(Exit::failed, "heapwood: arena " + std::to_string(i) + " is within no block");
      add_up_to(begin + (std::size_t{n} << a.shift), state);
    }
    add_up_to(pool.bytes, Region::State::metadata);
  }
  // Pages that are in slots from the start: none in pools where they would be more than 1/32.
  static std::uint32_t opened_pages(const SharedPages& shared, unsigned multiprocessors) {
    const std::uint32_t of_each =
        std::min(multiprocessors, std::max((1u << shared.slot_shift) / 8, 1u));
    const std::uint32_t n = of_each * InitialWords::opened_together;
    const bool fits = shared.max_in_page != 0 && shared.slot_shift >= 3 &&
                      shared.pages.arena_shift >= 7 && n <= shared.pages.arenas.arenas / 32;
    return fits ? n : 0;
  }
};

}  // namespace heapwood::alloc::arena
