// SPDX-License-Identifier: MIT
// The slots that hold pages and free blocks between requests, and what the slots of a pool share. A
// multiprocessor has a few slots for each class of blocks.
#pragma once

#include "alloc/heapwood/pages.hpp"

namespace heapwood::alloc::arena {

// The page that a slot allocates from start to end: {arena:24 | limit:8 | position:32}. `limit` is
// where the slot's part of the page ends, in eighths of an arena. `position` is in granules and
// counts all requests since the page was installed. The slot is exhausted once the position has
// reached the limit. The one request that begins at or before the limit and ends beyond it renews
// the slot; others wait for it for a short time.
class OpenPage {
 public:
  HEAPWOOD_INLINE explicit OpenPage(std::uint64_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE OpenPage(std::uint32_t arena, std::uint32_t limit, std::uint32_t position)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{limit} << 32 | position) {}
  // A whole page.
  HEAPWOOD_INLINE OpenPage(OwnedBlocks page, std::uint32_t position)
      : OpenPage(page.arena(), 8u << page.run(), position) {}
  // No page. The next request renews the slot, and later ones wait for it.
  HEAPWOOD_INLINE static OpenPage initial() { return {OwnedBlocks::no_arena, 0, 0}; }
  // No page. Requests are served from the slot's second word, whose awaited flag elects the request
  // that renews the slot.
  HEAPWOOD_INLINE static OpenPage vacant() { return {OwnedBlocks::no_arena, 0, 1}; }
  HEAPWOOD_INLINE std::uint64_t bits() const { return bits_; }
  HEAPWOOD_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  HEAPWOOD_INLINE std::uint32_t limit() const {
    return static_cast<std::uint32_t>(bits_ >> 32) & 255;
  }
  HEAPWOOD_INLINE std::uint32_t position() const { return static_cast<std::uint32_t>(bits_); }
  HEAPWOOD_INLINE bool has_page() const { return arena() != OwnedBlocks::no_arena; }

 private:
  std::uint64_t bits_;
};

// The newest page that a slot has taken: {arena:24 | failures:4 | pauses:4}. A slot looks for free
// blocks in the pages that it has taken. Each time it finds none it takes the next pages without a
// look, 1, 3 and then 7 of them, so a program that only allocates hardly looks.
class NewestPage {
 public:
  HEAPWOOD_INLINE explicit NewestPage(std::uint32_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE static NewestPage none() { return NewestPage(OwnedBlocks::no_arena << 8); }
  HEAPWOOD_INLINE std::uint32_t bits() const { return bits_; }
  HEAPWOOD_INLINE std::uint32_t arena() const { return bits_ >> 8; }
  HEAPWOOD_INLINE bool has_page() const { return arena() != OwnedBlocks::no_arena; }
  HEAPWOOD_INLINE bool has_failed() const { return (bits_ & 255) != 0; }
  HEAPWOOD_INLINE bool pauses() const { return (bits_ & 15) != 0; }
  // Log2 of how many times larger the next page should be: 2, 4 or 8 times after 15, 23 or 31 pages
  // in a row. So a larger page has an eighth of the arenas that the slot has taken before.
  HEAPWOOD_INLINE std::uint32_t growth() const {
    const std::uint32_t failures = bits_ >> 4 & 15;
    return failures < 4 ? 0 : failures - 3;
  }
  // The word after the slot has taken a page that begins at `arena`, either during a pause or after
  // a look found no free blocks.
  HEAPWOOD_INLINE NewestPage followed_by(std::uint32_t arena) const {
    const std::uint32_t failures = bits_ >> 4 & 15, more = failures < 6 ? failures + 1 : 6;
    const std::uint32_t next_pauses = more < 3 ? (1u << more) - 1 : 7;
    const std::uint32_t counters = pauses() ? (bits_ & 255) - 1 : more << 4 | next_pauses;
    return NewestPage(arena << 8 | counters);
  }
  // Clears the counters of a word after a successful look, by a bitwise AND.
  static constexpr std::uint32_t without_failures = ~255u;

 private:
  std::uint32_t bits_;
};

// Refuses requests for large blocks, and for arenas of warps, quickly in a full pool. A failed
// search has read every count, and an immediate second search would most likely fail too: requests
// of its size or larger are refused without a search until as many have been refused as there are
// superblocks, or until an arena is found.
//
// A slot's word: {refused since the last failed search:32 | granules searched for:32}. The counter
// can wrap in the upper half without corrupting the size, so a request reads the word and counts
// itself in one fetch_add, whatever the word's state.
class Refusals {
 public:
  static constexpr std::uint64_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t recorded = 1u << 31;
  // Max superblocks of a pool in which no request is refused without a search.
  static constexpr std::uint32_t small_pool_superblocks = 64;

  HEAPWOOD_INLINE explicit Refusals(std::uint64_t& word) : word_(word) {}

  // Counts a request. Returns 0 if no search has failed; otherwise `recorded`, plus the number of
  // this refusal (from 1) if it is refused. A number of 0 means that a search is due: the request
  // is smaller than the failed search, or it is the first one beyond `max_refusals`. That request
  // searches, then calls record_failed_search() or clear(); the other requests are refused in the
  // meantime. relaxed, here and below: the word is only a counter and publishes nothing.
  HEAPWOOD_INLINE std::uint32_t refuse(std::uint32_t granules, std::uint32_t max_refusals) const {
    const std::uint64_t before = word_.fetch_add(std::uint64_t{1} << 32, simt::relaxed);
    const auto searched_for = static_cast<std::uint32_t>(before);
    if (searched_for == none) return 0;
    if (granules < searched_for) return recorded;
    const auto since = static_cast<std::uint32_t>(before >> 32);
    return recorded | (since > max_refusals ? since : since == max_refusals ? 0 : since + 1);
  }
  HEAPWOOD_INLINE static bool search_due(std::uint32_t refusal) {
    return (refusal & ~recorded) == 0;
  }
  HEAPWOOD_INLINE void record_failed_search(std::uint32_t granules) const {
    word_.store(granules, simt::relaxed);
  }
  HEAPWOOD_INLINE void clear() const { word_.store(none, simt::relaxed); }

 private:
  simt::atomic_ref<std::uint64_t> word_;
};

// Up to n of the set bits, in circular order from bit `turn` % 32 on. n is not 0.
HEAPWOOD_INLINE std::uint32_t some_bits(std::uint32_t bits, std::uint32_t n, std::uint32_t turn) {
  if (simt::popcount(bits) <= n) return bits;
  const std::uint32_t left = turn & 31, right = (32 - left) & 31;
  std::uint32_t turned = bits >> left | bits << right;
  turned &= n == 1 ? 0 - turned : (1u << nth_bit(turned, n)) - 1;
  return turned << left | turned >> right;
}

struct PageSlots {
  static constexpr std::uint32_t slots_per_multiprocessor = 8;
  // Groups of at least this many lanes are spread over the slots of their multiprocessor.
  static constexpr std::uint32_t spread_lanes = 8;
  // Words of `tickets`: tickets of searches, one word per class, one for slots, one for pages to
  // release; the number of slots emptied and pages released; tickets of searches for runs of
  // arenas, one word per length; per class how many searches found blocks; the word of
  // is_full_for(); those of is_short_of().
  static constexpr std::uint32_t max_classes = 61, slot_tickets = 61, release_tickets = 62,
                                 released = 63, arena_tickets = 64,
                                 found_blocks = arena_tickets + Arenas::per_superblock,
                                 full_from = found_blocks + max_classes, short_of = full_from + 1,
                                 ticket_words = short_of + max_classes;

  Pages pages;
  std::uint64_t* slots = nullptr;     // [class][slot]: OpenPage, OwnedBlocks
  std::uint32_t* newest = nullptr;    // [class][slot]: NewestPage
  std::uint32_t* previous = nullptr;  // [arena]: the page that its slot took before; a hint
  std::uint64_t* refusals = nullptr;  // [slot]: Refusals, of all classes
  std::uint32_t* tickets = nullptr;   // of cooperative searches
  std::uint32_t slot_shift = 0;       // log2 of the number of slots
  std::uint32_t classes = 0;

  using SlotWord = simt::atomic_ref<std::uint64_t>;
  using HintWord = simt::atomic_ref<std::uint32_t>;

  template <class Thread>
  HEAPWOOD_INLINE static std::uint32_t slot_index(const Thread& thread, std::uint32_t lanes) {
    const std::uint32_t which =
        lanes < spread_lanes ? 0 : thread.worker() % slots_per_multiprocessor;
    return thread.sm() * slots_per_multiprocessor + which;
  }
  // The words of slot i for a class.
  HEAPWOOD_INLINE SlotWord open_page(BlockClass c, std::uint32_t i) const {
    return SlotWord(slots[2 * index(c, i)]);
  }
  HEAPWOOD_INLINE SlotWord spare_blocks(BlockClass c, std::uint32_t i) const {
    return SlotWord(slots[2 * index(c, i) + 1]);
  }
  HEAPWOOD_INLINE HintWord newest_page(BlockClass c, std::uint32_t i) const {
    return HintWord(newest[index(c, i)]);
  }
  HEAPWOOD_INLINE HintWord previous_page(std::uint32_t a) const { return HintWord(previous[a]); }
  HEAPWOOD_INLINE Refusals refusals_of(std::uint32_t i) const {
    return Refusals(refusals[i & ((1u << slot_shift) - 1)]);
  }

  // Whether the pool is full for the class (page_search.hpp). relaxed, here and below: hints.
  HEAPWOOD_INLINE bool is_full_for(BlockClass c) const {
    return c.index() + HintWord(tickets[full_from]).load(simt::relaxed) >= max_classes;
  }
  HEAPWOOD_INLINE void set_full_for(BlockClass c) const {
    if (pages.arenas.superblocks > Refusals::small_pool_superblocks)
      HintWord(tickets[full_from]).fetch_max(max_classes - c.index(), simt::relaxed);
  }
  HEAPWOOD_INLINE void clear_full() const { HintWord(tickets[full_from]).store(0, simt::relaxed); }
  // Whether the pool is short of the class: only larger classes may serve.
  HEAPWOOD_INLINE bool is_short_of(BlockClass c) const {
    return HintWord(tickets[short_of + c.index()]).load(simt::relaxed) != 0;
  }
  HEAPWOOD_INLINE void set_short_of(BlockClass c, bool is_short) const {
    if (!is_short || pages.arenas.superblocks > Refusals::small_pool_superblocks)
      HintWord(tickets[short_of + c.index()]).store(is_short ? 1 : 0, simt::relaxed);
  }
  // The number of searches for the class that have found blocks.
  HEAPWOOD_INLINE HintWord found_blocks_of(BlockClass c) const {
    return HintWord(tickets[found_blocks + c.index()]);
  }

  // Where the slot's part of a page ends, in granules.
  HEAPWOOD_INLINE std::uint32_t limit(OpenPage page) const {
    return page.limit() << (pages.arena_shift - 3);
  }
  HEAPWOOD_INLINE bool is_exhausted(OpenPage page) const { return page.position() >= limit(page); }

  // Hints that take_blocks() needs. Callers load them early, so that these loads and others are in
  // flight together.
  struct Hints {
    NewestPage newest;
    std::uint32_t used;  // Arenas::used_arenas()
    bool is_full;        // is_full_for()
  };
  HEAPWOOD_INLINE Hints hints(BlockClass c, std::uint32_t i) const {
    return {NewestPage(newest_page(c, i).load(simt::relaxed)),
            pages.arenas.used_arenas(SingleLane()), is_full_for(c)};
  }
  // Takes free blocks or a page without a search. With `walks`, tries the words after `last`, where
  // the slot last looked for free blocks, and after the last word of a page those of the page that
  // the slot took before it. Other callers, and all slots once arenas are scarce, try pages at
  // random. `demand`: granules requested at the moment. relaxed: hints.
  template <class Thread>
  HEAPWOOD_INLINE OwnedBlocks take_blocks(const Thread& thread, BlockClass c, std::uint32_t i,
                                          const Hints& hints, OwnedBlocks& last, bool walks,
                                          std::uint32_t demand, std::uint32_t growth) const {
    const auto [seen, used, is_full] = hints;
    const bool is_scarce = used >= pages.arenas.arenas;
    OwnedBlocks found = OwnedBlocks::nothing();
    if (walks && !is_full && seen.has_page() && (is_scarce || !seen.pauses())) {
      HEAPWOOD_ROLLED
      for (std::uint32_t turn = seen.has_failed() ? 2 : 4; turn > 0 && !found.found(); --turn) {
        std::uint32_t a = last.arena(), w = last.word() + pages.step(c);
        if (w >= pages.words() || !last.found()) {
          if (last.found()) a = previous_page(a).load(simt::relaxed);
          if (a == OwnedBlocks::no_arena) a = seen.arena();
          w = 0;
        }
        last = OwnedBlocks(a, w, 0);
        found = pages.take_word(a, w, c, false);
      }
      if (found.found() && seen.has_failed())
        newest_page(c, i).fetch_and(NewestPage::without_failures, simt::relaxed);
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t turn = is_scarce                  ? (is_full ? 1 : 4)
                              : !walks && !seen.pauses() ? 1
                                                         : 0;
         turn > 0 && !found.found(); --turn)
      found = pages.take_nearby(c, used,
                                (thread.worker() * 32 + thread.lane()) * 4 + turn + seen.bits());
    if (!found.found() && !is_scarce) found = pages.take_unused(thread, c, demand, growth);
    if (found.found() && is_full) clear_full();
    return found;
  }

  // Adds a page that take_blocks() has found to the pages of the slot. relaxed: hints.
  HEAPWOOD_INLINE void follow_with(OwnedBlocks page, BlockClass c, std::uint32_t i,
                                   const Hints& hints) const {
    std::uint32_t a = page.arena() + (1u << page.run()) - 1;
    const NewestPage before(
        newest_page(c, i).exchange(hints.newest.followed_by(a).bits(), simt::relaxed));
    HEAPWOOD_ROLLED
    for (; a != page.arena(); --a) previous_page(a).store(a - 1, simt::relaxed);
    previous_page(a).store(before.arena(), simt::relaxed);
  }

  // Records where the slot last looked for free blocks; clears the awaited flag. relaxed: a hint.
  HEAPWOOD_INLINE static void set_last(const SlotWord& spare, std::uint64_t seen,
                                       OwnedBlocks last) {
    if (last.bits() != seen)
      spare.compare_exchange_strong(seen, last.bits(), simt::relaxed, simt::relaxed);
  }

  // Puts free blocks into slot i; if that has some, marks them as free. release: hands them on.
  HEAPWOOD_INLINE void keep_blocks(OwnedBlocks blocks, BlockClass c, std::uint32_t i) const {
    if (blocks.marks() == 0) return;
    const SlotWord spare = spare_blocks(c, i);
    std::uint64_t now = spare.load(simt::relaxed);  // relaxed: a hint
    if (OwnedBlocks(now).marks() != 0 ||
        !spare.compare_exchange_strong(now, blocks.bits(), simt::release, simt::relaxed))
      pages.give_back(blocks);
  }
  // Puts the page from granule `from` on into slot i; if that has a page, marks the blocks as free.
  HEAPWOOD_INLINE void keep_page(OwnedBlocks page, BlockClass c, std::uint32_t i,
                                 std::uint32_t from) const {
    const SlotWord slot = open_page(c, i);
    const OpenPage rest(page, from);
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed: a hint
    if (from + c.granules() <= limit(rest) &&
        (!is_exhausted(OpenPage(now)) ||
         !slot.compare_exchange_strong(now, rest.bits(), simt::release, simt::relaxed)))
      pages.mark_blocks(page.arena(), c, from, limit(rest));
  }
  // Marks all blocks that the slot holds as free. Returns whether there were any.
  HEAPWOOD_INLINE bool empty_slot(BlockClass c, std::uint32_t i) const {
    const SlotWord spare = spare_blocks(c, i), slot = open_page(c, i);
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed, here and below: a hint
    bool had_any = false;
    if (OwnedBlocks(spare.load(simt::relaxed)).marks() != 0) {
      // acquire: the marks hand on what came with the blocks.
      const OwnedBlocks blocks(spare.exchange(OwnedBlocks::nothing().bits(), simt::acquire));
      pages.give_back(blocks);
      had_any = blocks.marks() != 0;
    }
    HEAPWOOD_ROLLED
    while (!is_exhausted(OpenPage(now))) {
      // acquire: the position hands on what came with the blocks. On failure another request has
      // been served, or the page was replaced.
      if (slot.compare_exchange_strong(now, OpenPage::vacant().bits(), simt::acquire,
                                       simt::relaxed)) {
        const OpenPage page(now);
        pages.mark_blocks(page.arena(), c, page.position(), limit(page));
        return true;
      }
    }
    return had_any;
  }
  // Whether slot i of class c holds a block. relaxed: a hint.
  HEAPWOOD_INLINE bool holds_blocks(BlockClass c, std::uint32_t i) const {
    const OpenPage page(open_page(c, i).load(simt::relaxed));
    return OwnedBlocks(spare_blocks(c, i).load(simt::relaxed)).marks() != 0 || !is_exhausted(page);
  }

 private:
  HEAPWOOD_INLINE std::size_t index(BlockClass c, std::uint32_t i) const {
    return (std::size_t{c.index()} << slot_shift) + (i & ((1u << slot_shift) - 1));
  }
};

}  // namespace heapwood::alloc::arena
