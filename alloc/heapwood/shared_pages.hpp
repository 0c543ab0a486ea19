// SPDX-License-Identifier: MIT
// Heapwood's general form: malloc and free for any lanes of any kernel, from pages (pages.hpp).
//
// A multiprocessor has a few slots for each class of blocks. A slot has a page whose blocks have
// not been used since the page was free: lanes that ask for the same class add their request to the
// slot's first word, and its old value says where their blocks are. When the page is at its end,
// the request that crosses it looks for another place: free blocks of a page that the slot has
// made before, whose marks go to the slot's second word, where later requests take them by clearing
// them; or a new page. Lanes that together ask for more than half a page take pages of their own.
//
// No thread depends on the progress of another: a request that finds the slot exhausted polls it a
// few times and then does the same.
#pragma once

#include "alloc/heapwood/page_slot.hpp"
#include "alloc/heapwood/pages.hpp"
#include "alloc/heapwood/slot.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

struct SharedPages {
  static constexpr std::uint32_t slots_per_multiprocessor = 8;
  // Groups of at least so many lanes are spread over the slots of their multiprocessor.
  static constexpr std::uint32_t spread_lanes = 8;

  Pages pages;
  std::uint64_t* slots = nullptr;   // [class][slot]: OpenPage, Piece
  std::uint32_t* newest = nullptr;  // [class][slot]: NewestPage
  std::uint32_t* older = nullptr;   // of each page: the one that its slot made before
  std::uint64_t* refusals = nullptr;
  std::uint32_t* slot_search_tickets = nullptr;
  std::uint32_t slot_shift = 0;  // log2 of the number of slots
  std::uint32_t classes = 0;

  using SlotWord = simt::atomic_ref<std::uint64_t>;

  // Allocates a block for the calling lane. `self` is the copy of this object in the pool, for
  // calls out of line.
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes, const SharedPages* self) const {
    if (bytes > pages.arenas.arena_bytes()) return allocate_span(self, thread, bytes);
    const BlockClass c = BlockClass::of(static_cast<std::uint32_t>(padded(bytes) / granule));
    const LaneGroup<Thread> group(
        thread, thread.together(reinterpret_cast<const void*>(std::uintptr_t{c.index()})));
    const std::uint32_t g = c.granules(), total = g * group.size();
    const std::uint32_t i = slot_index(thread, group.size());
    void* block = nullptr;
    if (total > 1u << (pages.arena_shift - 1 + pages.run_for(c, 0))) {
      block = allocate_pages(self, thread, group.lanes(), c.index(), i);
    } else {
      // acquire: synchronizes with the frees of the arena's last owners, through the claim and the
      // installation in the slot.
      const OpenPage before(group.once(
          [&] { return open_page(c, i).fetch_add(OpenPage(0, 0, total).bits(), simt::acquire); }));
      group.sync();
      if (before.position() + total <= limit(before))
        return pages.arenas.place(before.arena(), before.position() + group.rank() * g);
      block = allocate_slow(self, thread, group.lanes(), c.index(), i, before.bits());
    }
    return block != nullptr ? block : allocate_by_search(self, c.index(), i);
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block, const SharedPages* self) const {
    const auto offset =
        static_cast<std::size_t>(static_cast<std::byte*>(block) - pages.arenas.memory);
    if ((offset & (pages.arenas.arena_bytes() - 1)) == 0) {
      const auto a = static_cast<std::uint32_t>(offset >> pages.arenas.shift);
      const SpanHead head = pages.arenas.span_at(a);
      if (is_span(head.word)) return free_span(self, a, head);
    }
    pages.mark_together(thread, offset);
  }

  // Index of the words of slot i for a class.
  SIMT_INLINE std::size_t slot_at(BlockClass c, std::uint32_t i) const {
    return (std::size_t{c.index()} << slot_shift) + (i & ((1u << slot_shift) - 1));
  }
  // Where the slot's part of the page ends, in granules.
  SIMT_INLINE std::uint32_t limit(OpenPage page) const {
    return page.limit() << (pages.arena_shift - 3);
  }

 private:
  static constexpr unsigned max_polls = 24, max_rounds = 8;
  // An exhausted slot's position is reset beyond this, long before it can wrap.
  static constexpr std::uint32_t max_position = 1u << 31;
  // max superblocks of a pool in which every search is thorough
  static constexpr std::uint32_t small_pool_superblocks = 64;

  SIMT_INLINE SlotWord open_page(BlockClass c, std::uint32_t i) const {
    return SlotWord(slots[2 * slot_at(c, i)]);
  }
  SIMT_INLINE SlotWord spare_blocks(BlockClass c, std::uint32_t i) const {
    return SlotWord(slots[2 * slot_at(c, i) + 1]);
  }
  SIMT_INLINE simt::atomic_ref<std::uint32_t> newest_page(BlockClass c, std::uint32_t i) const {
    return simt::atomic_ref<std::uint32_t>(newest[slot_at(c, i)]);
  }
  SIMT_INLINE simt::atomic_ref<std::uint32_t> older_page(std::uint32_t a) const {
    return simt::atomic_ref<std::uint32_t>(older[a]);
  }
  SIMT_INLINE Refusals refusals_of(std::uint32_t i) const {
    return Refusals(refusals[i & ((1u << slot_shift) - 1)]);
  }
  template <class Thread>
  SIMT_INLINE static std::uint32_t slot_index(const Thread& thread, std::uint32_t lanes) {
    const std::uint32_t which =
        lanes < spread_lanes ? 0 : thread.worker() % slots_per_multiprocessor;
    return thread.sm() * slots_per_multiprocessor + which;
  }
  SIMT_INLINE bool is_exhausted(OpenPage page) const { return page.position() >= limit(page); }

  // Takes a piece without a search. `last` is where the slot has taken free blocks last: the next
  // words of that page are tried, and after its last one those of the next page. Without `walks`
  // pages are tried at random instead. `demand` is in granules: so much is wanted soon. relaxed:
  // hints.
  template <class Thread>
  SIMT_INLINE Piece take_piece(const Thread& thread, BlockClass c, std::uint32_t i, Piece& last,
                               bool walks, std::uint32_t demand) const {
    const NewestPage seen(newest_page(c, i).load(simt::relaxed));
    const std::uint32_t used = pages.arenas.used_arenas(SingleLane());
    const bool is_scarce = used >= pages.arenas.arenas;
    Piece piece = Piece::nothing();
    if (walks && seen.has_page() && (is_scarce || !seen.pauses())) {
      SIMT_ROLLED
      for (std::uint32_t turn = seen.has_hints() ? 2 : 4; turn > 0 && !piece.found(); --turn) {
        std::uint32_t a = last.arena(), w = last.word() + pages.step(c);
        if (w >= pages.words() || !last.found()) {
          if (last.found()) a = older_page(a).load(simt::relaxed);
          if (a == Piece::no_arena) a = seen.arena();
          w = 0;
        }
        last = Piece(a, w, 0);
        piece = pages.take_word(a, w, c, false);
      }
      if (piece.found() && seen.has_hints()) newest_page(c, i).fetch_and(~255u, simt::relaxed);
    }
    SIMT_ROLLED
    for (std::uint32_t turn = is_scarce                  ? 4
                              : !walks && !seen.pauses() ? 1
                                                         : 0;
         turn > 0 && !piece.found(); --turn)
      piece = pages.look(c, used, (thread.worker() * 32 + thread.lane()) * 4 + turn + seen.bits());
    if (!piece.found() && !is_scarce) piece = pages.take_unused(thread, c, demand);
    if (piece.found() && piece.is_page()) {
      std::uint32_t a = piece.arena() + (1u << piece.word()) - 1;
      const NewestPage before(
          newest_page(c, i).exchange(seen.followed_by(a).bits(), simt::relaxed));
      SIMT_ROLLED
      for (; a != piece.arena(); --a) older_page(a).store(a - 1, simt::relaxed);
      older_page(a).store(before.arena(), simt::relaxed);
    }
    return piece;
  }
  SIMT_INLINE std::uint32_t refuse(std::uint32_t i, std::uint32_t granules,
                                   std::uint32_t blocks) const {
    if (pages.arenas.superblocks <= small_pool_superblocks) return 0;
    const std::uint32_t counted = (1u << 26) >> pages.arenas.shift;
    return refusals_of(i).refuse(
        granules, blocks, pages.arenas.superblocks < counted ? pages.arenas.superblocks : counted);
  }
  // Allocates a block for the calling lane after a search of the whole pool, if one is due:
  // Refusals. Cooperative with other threads that search. Looks for a free arena or a free block of
  // the class or a larger one, and again after all that slots and pages without a used block can
  // give has been made free.
  static SIMT_OUTLINE void* allocate_by_search(const SharedPages* self, std::uint32_t class_index,
                                               std::uint32_t i) {
    const BlockClass c(class_index);
    const std::uint32_t refusal = self->refuse(i, c.granules(), 1);
    if (!Refusals::search_due(refusal)) return nullptr;
    Piece piece = Piece::nothing();
    SIMT_ROLLED
    for (unsigned turn = 0; turn < 2 && !piece.found(); ++turn) {
      if (turn == 1 && empty_slots(self) + release_free_pages(self) == 0) break;
      piece = search(self, c);
    }
    if (!piece.found()) {
      self->refusals_of(i).record_failed_search(c.granules());
      return nullptr;
    }
    if (refusal != 0) self->refusals_of(i).clear();
    return self->take_first(piece, c, i);
  }
  static SIMT_INLINE Piece search(const SharedPages* self, BlockClass c) {
    Piece piece = Piece::nothing();
    self->search_superblocks([&](std::uint32_t s) {
      piece = self->pages.take_free(c, s);
      if (!piece.found()) piece = self->pages.take_blocks(c, s);
      return piece.found() ? 0 : none;
    });
    return piece;
  }
  // The first block of a piece. Keeps the others for later requests of the slot.
  SIMT_INLINE void* take_first(Piece piece, BlockClass c, std::uint32_t i) const {
    if (!piece.is_page()) {
      const std::uint32_t mine = piece.marks() & (0 - piece.marks());
      keep(Piece(piece.arena(), piece.word(), piece.marks() & ~mine), c, i);
      return pages.place(piece.arena(), piece.word(), simt::lowest_bit(mine));
    }
    keep_page(piece, c, i, c.granules());
    return pages.arenas.place(piece.arena(), 0);
  }
  // Keeps free blocks for later requests of a slot. release: hands them on.
  SIMT_INLINE void keep(Piece blocks, BlockClass c, std::uint32_t i) const {
    if (blocks.marks() == 0) return;
    std::uint64_t now = spare_blocks(c, i).load(simt::relaxed);  // relaxed: a look
    if (Piece(now).marks() != 0 || !spare_blocks(c, i).compare_exchange_strong(
                                       now, blocks.bits(), simt::release, simt::relaxed))
      pages.give_back(blocks.arena(), blocks.word(), blocks.marks());
  }
  // The same for a page from a granule on.
  SIMT_INLINE void keep_page(Piece page, BlockClass c, std::uint32_t i, std::uint32_t from) const {
    const SlotWord slot = open_page(c, i);
    std::uint64_t now = slot.load(simt::relaxed);
    if (from + c.granules() <= limit(OpenPage(page, 0)) &&
        (!is_exhausted(OpenPage(now)) ||
         !slot.compare_exchange_strong(now, OpenPage(page, from).bits(), simt::release,
                                       simt::relaxed)))
      pages.mark_blocks(page.arena(), c, from, limit(OpenPage(page, 0)));
  }
  // Makes the pages without a used block free arenas. Returns their number.
  static SIMT_OUTLINE std::uint32_t release_free_pages(const SharedPages* self) {
    std::uint32_t released = 0;
    self->search_superblocks([&](std::uint32_t s) {
      released += self->pages.release_free_pages(s);
      return none;
    });
    return released;
  }
  template <class Look>
  SIMT_INLINE void search_superblocks(Look look) const {
    cooperative_search(SingleLane(), *pages.arenas.search_tickets, pages.arenas.superblocks, look);
  }
  // Makes all that slots hold free for all. Returns the number of slots that held something.
  static SIMT_OUTLINE std::uint32_t empty_slots(const SharedPages* self) {
    std::uint32_t emptied = 0;
    const std::uint32_t all = self->classes << self->slot_shift;
    constexpr std::uint32_t each = 8;
    cooperative_search(SingleLane(), *self->slot_search_tickets, (all + each - 1) / each,
                       [&](std::uint32_t piece) {
                         SIMT_ROLLED
                         for (std::uint32_t k = piece * each; k < (piece + 1) * each && k < all;
                              ++k)
                           emptied += self->empty_slot(BlockClass(k >> self->slot_shift), k);
                         return none;
                       });
    return emptied;
  }
  SIMT_INLINE std::uint32_t empty_slot(BlockClass c, std::uint32_t i) const {
    std::uint32_t emptied = 0;
    const SlotWord spare = spare_blocks(c, i), slot = open_page(c, i);
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed, here and below: a look
    if (Piece(spare.load(simt::relaxed)).marks() != 0) {
      // acquire: the marks are handed on.
      const Piece was(spare.exchange(Piece::nothing().bits(), simt::acquire));
      pages.give_back(was.arena(), was.word(), was.marks());
      emptied = was.marks() != 0 ? 1 : 0;
    }
    SIMT_ROLLED
    while (!is_exhausted(OpenPage(now))) {
      // acquire: the marks hand on what came with the page.
      if (slot.compare_exchange_strong(now, OpenPage::vacant().bits(), simt::acquire,
                                       simt::relaxed)) {
        const OpenPage was(now);
        pages.mark_blocks(was.arena(), c, was.position(), limit(was));
        return 1;
      }
    }
    return emptied;
  }

  // Allocates for each of `lanes`, after a request that found too little space in the slot.
  template <class Thread>
  static SIMT_OUTLINE void* allocate_slow(const SharedPages* self, Thread thread,
                                          std::uint32_t lanes, std::uint32_t class_index,
                                          std::uint32_t i, std::uint64_t seen) {
    const BlockClass c(class_index);
    const Pages& pages = self->pages;
    LaneGroup<Thread> group(thread, lanes);
    // Whether `seen` is an OpenPage to which the group's request has been added, or else a Piece.
    bool in_page = true;
    SIMT_ROLLED
    for (unsigned round = 0;; ++round) {
      void* block = nullptr;
      bool crosses = false;
      if (in_page) {
        const OpenPage page(seen);
        const std::uint32_t at = page.position() + group.rank() * c.granules();
        crosses = page.position() <= self->limit(page);
        if (crosses && at + c.granules() <= self->limit(page))
          block = pages.arenas.place(page.arena(), at);
      } else {
        const Piece piece(seen);
        if (!piece.found()) return nullptr;
        if (group.rank() < simt::popcount(piece.marks()))
          block = pages.place(piece.arena(), piece.word(), nth_bit(piece.marks(), group.rank()));
      }
      if (crosses || !in_page) group = group.part(block != nullptr);
      if (block != nullptr) return block;
      seen = group.once(
          [&] { return self->renew(self, thread, group.size(), c, i, crosses, round, in_page); });
      in_page = group.once([&] { return in_page ? 1u : 0u; }) != 0;
      group.sync();
    }
  }
  // The part of the above that one lane executes.
  template <class Thread>
  SIMT_INLINE std::uint64_t renew(const SharedPages* self, Thread& thread, std::uint32_t blocks,
                                  BlockClass c, std::uint32_t& i, bool crosses, unsigned round,
                                  bool& in_page) const {
    const SlotWord spare = spare_blocks(c, i), slot = open_page(c, i);
    const std::uint32_t total = blocks * c.granules();
    // relaxed, here and below: a look; the operations on the word decide.
    std::uint64_t now = slot.load(simt::relaxed), spare_seen = spare.load(simt::relaxed);
    // The request that crosses the end of the page, or is the first to find a slot without a page
    // empty, looks for blocks; others wait for them for a short time.
    SIMT_ROLLED
    for (unsigned turn = 0;; ++turn) {
      in_page = false;
      SIMT_ROLLED
      while (Piece(spare_seen).marks() != 0) {
        const std::uint32_t wanted =
            some_bits(Piece(spare_seen).marks(), blocks, thread.worker() * 11 + thread.lane());
        // acquire: synchronizes with the frees, through the thread that filled the word.
        const Piece old(spare.fetch_and(~std::uint64_t{wanted}, simt::acquire));
        const std::uint32_t got = old.marks() & wanted;
        if (got != 0) return Piece(old.arena(), old.word(), got).bits();
        spare_seen = old.bits();
      }
      in_page = true;
      if (crosses || turn == max_polls || !is_exhausted(OpenPage(now))) break;
      if (i % slots_per_multiprocessor == 0 && blocks < spread_lanes &&
          (OpenPage(now).has_page() || Piece(spare_seen).is_awaited())) {
        // The slot is in demand: from now on this request uses another one.
        i += 1 + thread.worker() % (slots_per_multiprocessor - 1);
        return open_page(c, i).fetch_add(OpenPage(0, 0, total).bits(), simt::acquire);
      }
      if (!OpenPage(now).has_page() && !Piece(spare_seen).is_awaited()) {
        const std::uint64_t awaited = Piece(spare_seen).awaited().bits();
        crosses = spare.compare_exchange_strong(spare_seen, awaited, simt::relaxed, simt::relaxed);
        if (crosses) spare_seen = awaited;
        continue;
      }
      thread.pause(turn < 2 ? turn : 2);
      now = slot.load(simt::relaxed);
      spare_seen = spare.load(simt::relaxed);
    }
    // acquire: as in allocate()
    const auto add_request = [&] {
      return slot.fetch_add(OpenPage(0, 0, total).bits(), simt::acquire);
    };
    if (!is_exhausted(OpenPage(now))) return add_request();
    Piece last(Piece(spare_seen).arena(), Piece(spare_seen).word(), 0);
    const OpenPage crossed(now);
    const std::uint32_t demand = crossed.has_page() && crossed.position() > limit(crossed)
                                     ? crossed.position() - limit(crossed)
                                     : total;
    const Piece piece = take_piece(thread, c, i, last, true, demand);
    if (piece.found() && piece.is_page()) {
      SIMT_ROLLED
      while (is_exhausted(OpenPage(now)) && round < max_rounds) {
        // release: orders what the claim synchronized with before later requests' accesses.
        if (slot.compare_exchange_strong(now, OpenPage(piece, total).bits(), simt::release,
                                         simt::relaxed)) {
          if (last.bits() != spare_seen)  // relaxed: a hint
            spare.compare_exchange_strong(spare_seen, last.bits(), simt::relaxed, simt::relaxed);
          return OpenPage(piece, 0).bits();
        }
      }
      // Another page has been installed.
      if (round >= max_rounds || pages.blocks_in(c, piece.word()) <= 64) {
        pages.mark_blocks(piece.arena(), c, total, limit(OpenPage(piece, 0)));
        return OpenPage(piece, 0).bits();
      }
      pages.undo(piece);
      return add_request();
    }
    in_page = false;
    if (OpenPage(now).has_page() || OpenPage(now).position() > max_position) {
      // relaxed: a slot without a page publishes nothing. If it fails another request has renewed
      // the slot.
      slot.compare_exchange_strong(now, OpenPage::vacant().bits(), simt::relaxed, simt::relaxed);
    }
    if (!piece.found()) {
      if (last.bits() != spare_seen)  // relaxed: a hint
        spare.compare_exchange_strong(spare_seen, last.bits(), simt::relaxed, simt::relaxed);
      return piece.bits();
    }
    const std::uint32_t mine = some_bits(piece.marks(), blocks, 0);
    // release: hands the blocks on.
    if (!spare.compare_exchange_strong(
            spare_seen, Piece(piece.arena(), piece.word(), piece.marks() & ~mine).bits(),
            simt::release, simt::relaxed))
      pages.give_back(piece.arena(), piece.word(), piece.marks() & ~mine);
    return Piece(piece.arena(), piece.word(), mine).bits();
  }

  // Allocates blocks for lanes that together need more than half a page. The first lane of each
  // page takes it.
  template <class Thread>
  static SIMT_OUTLINE void* allocate_pages(const SharedPages* self, Thread thread,
                                           std::uint32_t lanes, std::uint32_t class_index,
                                           std::uint32_t i) {
    const BlockClass c(class_index);
    const Pages& pages = self->pages;
    LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t in_a_page = pages.blocks_in(c, pages.run_for(c, 0));
    SIMT_ROLLED
    for (;;) {
      const std::uint32_t rank = group.rank() % in_a_page, first = group.rank() - rank;
      const std::uint32_t behind = group.size() - first;
      std::uint64_t bits = Piece::nothing().bits();
      if (rank == 0)
        bits = self->take_for(self, thread, behind < in_a_page ? behind : in_a_page, c, i);
      if (!group.alone()) {
        bits = thread.shfl(group.lanes(), bits, nth_bit(group.lanes(), first));
        group.sync();
      }
      const Piece piece(bits);
      const bool in_page = piece.is_page();
      const std::uint32_t available = !piece.found() ? 0
                                      : in_page      ? pages.blocks_in(c, piece.word())
                                                     : simt::popcount(piece.marks());
      const bool is_done = rank < available || available == 0;
      const LaneGroup<Thread> rest = group.part(is_done);
      if (available == 0) return nullptr;
      if (is_done)
        return in_page ? pages.arenas.place(piece.arena(), rank * c.granules())
                       : pages.place(piece.arena(), piece.word(), nth_bit(piece.marks(), rank));
      group = rest;
    }
  }
  // A piece with at most `blocks` blocks; keeps others for later.
  template <class Thread>
  SIMT_INLINE std::uint64_t take_for(const SharedPages* self, const Thread& thread,
                                     std::uint32_t blocks, BlockClass c, std::uint32_t i) const {
    const SlotWord spare = spare_blocks(c, i);
    std::uint64_t seen = spare.load(simt::relaxed);  // relaxed, here and below: hints
    Piece last(Piece(seen).arena(), Piece(seen).word(), 0);
    const Piece piece = take_piece(thread, c, i, last, false, 0);
    if (Piece(seen).marks() == 0 && last.bits() != seen)
      spare.compare_exchange_strong(seen, last.bits(), simt::relaxed, simt::relaxed);
    if (!piece.found()) return piece.bits();
    if (!piece.is_page()) {
      const std::uint32_t mine = some_bits(piece.marks(), blocks, 0);
      pages.give_back(piece.arena(), piece.word(), piece.marks() & ~mine);
      return Piece(piece.arena(), piece.word(), mine).bits();
    }
    keep_page(piece, c, i, blocks * c.granules());
    return piece.bits();
  }

  template <class Thread>
  static SIMT_OUTLINE void* allocate_span(const SharedPages* self, Thread thread,
                                          std::size_t bytes) {
    const Arenas& arenas = self->pages.arenas;
    const std::uint32_t i = slot_index(thread, 1);
    const std::size_t granules = bytes / granule;
    const std::uint32_t n = granules < 1u << 30 ? static_cast<std::uint32_t>(granules) : 1u << 30;
    const std::uint32_t refusal = self->refuse(i, n, 1);
    const std::uint32_t seed = thread.worker() * 32 + thread.lane() + refusal * 40503u;
    const bool thorough = Refusals::search_due(refusal);
    std::byte* block = nullptr;
    SIMT_ROLLED
    for (unsigned turn = 0;
         block == nullptr && (turn == 0 || (thorough && turn == 1 &&
                                            empty_slots(self) + release_free_pages(self) != 0));
         ++turn)
      block = arenas.claim_span(SingleLane(), bytes, seed, thorough);
    if (thorough)
      block == nullptr ? self->refusals_of(i).record_failed_search(n)
                       : self->refusals_of(i).clear();
    return block;
  }
  static SIMT_OUTLINE void free_span(const SharedPages* self, std::uint32_t a, SpanHead head) {
    self->pages.arenas.free_span(SingleLane(), a, head);
  }
};

}  // namespace heapwood::alloc::arena
