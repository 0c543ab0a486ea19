// SPDX-License-Identifier: MIT
// malloc and free for any lanes of any kernel, from pages (pages.hpp).
//
// A slot has an open page, whose blocks it hands out in order. Lanes that request the same class
// add their request to the slot's first word; the old value gives the position of their blocks. The
// request that crosses the end of the page renews the slot. It looks for free blocks in pages that
// the slot has taken before, and puts the marks of the word that it finds into the slot's second
// word, where later requests take blocks by clearing marks. If it finds none it takes a new page.
// Lanes that together request more than half a page take pages of their own.
//
// No thread depends on the progress of another: a request that finds the slot exhausted polls it a
// few times and then renews it itself.
#pragma once

#include "alloc/heapwood/page_search.hpp"

namespace heapwood::alloc::arena {

struct SharedPages : PageSearch {
  // Blocks of more bytes, in a pool for persistent warps all blocks, have arenas of their own.
  std::uint32_t max_in_page = 0;
  // Max persistent warps that may each hold an arena while they wait.
  std::uint32_t max_ample_warps = 0;
  std::uint32_t spare_arenas = 0;  // beyond those that blocks in use need; 0: not known

  // The number of persistent warps that suits the pool: `max`, or where arenas would not be ample
  // as many as have 2.2 spare arenas each, or 1.7 of at most 4 KiB.
  HEAPWOOD_INLINE std::uint32_t preferred_warps(std::uint32_t max) const {
    const bool is_small = pages.arenas.arena_bytes() <= 4096;
    const std::uint32_t n = is_small ? spare_arenas / 5 * 3 : spare_arenas / 11 * 5;
    return max <= max_ample_warps || max < n ? max : n;
  }

  // Allocates a block for the calling lane. `self` is the copy of this object in the pool, for
  // calls out of line.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes, const SharedPages* self) const {
    if (bytes > max_in_page) return allocate_span(self, thread, bytes);
    const BlockClass c = BlockClass::of(static_cast<std::uint32_t>(padded(bytes) / granule));
    // The key is an address in the pool: lanes may call with different pools.
    const LaneGroup<Thread> group(thread, thread.together(pages.arenas.memory + c.index()));
    const std::uint32_t g = c.granules(), total = g * group.size();
    const std::uint32_t i = slot_index(thread, group.size());
    void* block = nullptr;
    if (total > 1u << (pages.arena_shift - 1 + pages.run_for(c, 0))) {
      block = allocate_pages(self, thread, group.lanes(), c.index(), i);
    } else {
      // acquire: synchronizes with the frees of the arena's last owners, through the claim and the
      // installation in the slot.
      const OpenPage before(
          group.once([&] { return open_page(c, i).fetch_add(total, simt::acquire); }));
      group.sync();
      if (before.position() + total <= limit(before))
        return pages.arenas.address(before.arena(), before.position() + group.rank() * g);
      block = allocate_slow(self, thread, group.lanes(), c.index(), i, before.bits());
    }
    return block != nullptr ? block : allocate_block(self, thread, c.index());
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block, const SharedPages* self) const {
    const auto offset =
        static_cast<std::size_t>(static_cast<std::byte*>(block) - pages.arenas.memory);
    if ((offset & (pages.arenas.arena_bytes() - 1)) == 0) {
      const auto a = static_cast<std::uint32_t>(offset >> pages.arenas.shift);
      const SpanHead head = pages.arenas.span_at(a);
      if (is_span(head.word)) return free_span(self, thread, a, head);
    }
    if (max_in_page == 0) return free_counted(thread, offset);
    pages.mark(thread, offset);
  }

  // Bytes of a block of allocate(), in a pool that has pages. The caller owns it, so the words stay
  // as they are.
  HEAPWOOD_INLINE std::size_t usable_size(const void* block) const {
    const Arenas& arenas = pages.arenas;
    const std::uint32_t a = arenas.index(block);
    const SpanHead head = arenas.span_at(a);
    if (!is_span(head.word)) return pages.page_word(a).block_class().granules() * granule;
    const std::uint32_t rest = arenas.arenas - a;  // the last superblock may have fewer arenas
    const std::uint32_t n = (head.word - span) * (head.in_superblocks ? Arenas::per_superblock : 1);
    return std::size_t{n < rest ? n : rest} << arenas.shift;
  }

 private:
  // Frees blocks of arenas that count their blocks, as all do in a pool for persistent warps.
  template <class Thread>
  HEAPWOOD_INLINE void free_counted(const Thread& thread, std::size_t offset) const {
    const auto a = static_cast<std::uint32_t>(offset >> pages.arenas.shift);
    const LaneGroup<Thread> group(thread, thread.together(pages.arenas.counts + a));
    group.sync();  // all of its lanes are done with their blocks
    // release: hands the blocks over.
    if (group.rank() == 0) pages.arenas.count(a).fetch_sub(group.size(), simt::release);
  }

  static constexpr unsigned max_polls = 24, max_rounds = 8;
  // Slots of a multiprocessor that have pages of few blocks (docs/experiments.md).
  static constexpr std::uint32_t slots_of_few_blocks = 4;
  // The position of an exhausted slot is reset above this, long before it can wrap: renew().
  static constexpr std::uint32_t max_position = 1u << 30;

  // Allocates for each of `lanes`, after a request that found too little space in the slot, whose
  // word was `seen`.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const SharedPages* self, Thread thread,
                                              std::uint32_t lanes, std::uint32_t class_index,
                                              std::uint32_t i, std::uint64_t seen) {
    const BlockClass c(class_index);
    const Pages& pages = self->pages;
    LaneGroup<Thread> group(thread, lanes);
    // Whether `seen` is an OpenPage to which the group's request has been added, or else an
    // OwnedBlocks with at most as many blocks as the group has lanes.
    bool in_page = true;
    HEAPWOOD_ROLLED
    for (unsigned round = 0;; ++round) {
      // Hand out what the group got: the lanes whose blocks fit into the page, or the marked
      // blocks.
      void* block = nullptr;
      bool crosses = false;
      if (in_page) {
        const OpenPage page(seen);
        const std::uint32_t position = page.position() + group.rank() * c.granules();
        crosses = page.position() <= self->limit(page);
        if (crosses && position + c.granules() <= self->limit(page))
          block = pages.arenas.address(page.arena(), position);
      } else {
        const OwnedBlocks blocks(seen);
        if (!blocks.found()) return nullptr;
        if (group.rank() < simt::popcount(blocks.marks()))
          block =
              pages.block_at(blocks.arena(), blocks.word(), nth_bit(blocks.marks(), group.rank()));
      }
      if (crosses || !in_page) group = group.part(block != nullptr);
      if (block != nullptr) return block;
      // Get more for the lanes that are left.
      seen = group.once(
          [&] { return self->renew(thread, group.size(), c, i, crosses, round, in_page); });
      in_page = group.once([&] { return in_page ? 1u : 0u; }) != 0;
      group.sync();
    }
  }
  // The part of allocate_slow() that one lane executes, for `blocks` blocks. Returns blocks or, and
  // then sets `in_page`, the slot's word before their request was added. May select another slot,
  // `i`.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t renew(const Thread& thread, std::uint32_t blocks, BlockClass c,
                                      std::uint32_t& i, bool crosses, unsigned round,
                                      bool& in_page) const {
    const SlotWord spare = spare_blocks(c, i), slot = open_page(c, i);
    const std::uint32_t total = blocks * c.granules();
    // relaxed, here and below: a hint; the operations on the words decide.
    std::uint64_t now = slot.load(simt::relaxed), spare_seen = spare.load(simt::relaxed);
    const Hints seen = hints(c, i);
    // Reset a position that could wrap. Each request passes here before it adds to a slot again, so
    // the position exceeds max_position by at most one request per thread.
    HEAPWOOD_ROLLED
    while (OpenPage(now).position() > max_position) {
      if (slot.compare_exchange_strong(now, OpenPage::vacant().bits(), simt::relaxed,
                                       simt::relaxed))
        now = OpenPage::vacant().bits();
    }
    // Take blocks of the slot's spare word, or wait a short time for the request that renews the
    // slot: the one that crosses the end of the page, or the first to find neither a page nor free
    // blocks. In a full pool there is nothing to wait for.
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;; ++turn) {
      in_page = false;
      HEAPWOOD_ROLLED
      while (OwnedBlocks(spare_seen).marks() != 0) {
        const std::uint32_t wanted = some_bits(OwnedBlocks(spare_seen).marks(), blocks,
                                               thread.worker() * 11 + thread.lane());
        // acquire: synchronizes with the frees, through the thread that filled the word.
        const OwnedBlocks old(spare.fetch_and(~std::uint64_t{wanted}, simt::acquire));
        const std::uint32_t got = old.marks() & wanted;
        if (got != 0) return old.with(got).bits();
        spare_seen = old.bits();
      }
      in_page = true;
      if (crosses || seen.is_full || turn == max_polls || !is_exhausted(OpenPage(now))) break;
      const bool is_awaited = OpenPage(now).has_page() || OwnedBlocks(spare_seen).is_awaited();
      if (is_awaited && i % slots_per_multiprocessor == 0 && blocks < spread_lanes) {
        // The slot is in demand: use another one from now on.
        const std::uint32_t others =
            pages.has_few_blocks(c) ? slots_of_few_blocks - 1 : slots_per_multiprocessor - 1;
        i += 1 + thread.worker() % others;
        // acquire: as in allocate()
        return open_page(c, i).fetch_add(total, simt::acquire);
      }
      if (!is_awaited) {
        const std::uint64_t awaited = OwnedBlocks(spare_seen).awaited().bits();
        crosses = spare.compare_exchange_strong(spare_seen, awaited, simt::relaxed, simt::relaxed);
        if (crosses) spare_seen = awaited;
        continue;
      }
      thread.pause(turn < 2 ? turn : 2);
      now = slot.load(simt::relaxed);
      spare_seen = spare.load(simt::relaxed);
    }
    // Add the request to the slot, if another thread has installed a page. acquire: as in
    // allocate().
    const auto add_request = [&] { return slot.fetch_add(total, simt::acquire); };
    if (!is_exhausted(OpenPage(now))) return add_request();
    // Renew the slot: find free blocks or a page.
    OwnedBlocks last = OwnedBlocks(spare_seen).with(0);
    const OpenPage old(now);
    const std::uint32_t demand =
        old.has_page() && old.position() > limit(old) ? old.position() - limit(old) : total;
    const OwnedBlocks found =
        take_blocks(thread, c, i, seen, last, true, demand, crosses ? seen.newest.growth() : 0);
    if (found.found() && found.is_page()) {
      // Install the page, unless another one has been installed.
      const bool is_last_round = round >= max_rounds;
      HEAPWOOD_ROLLED
      while (is_exhausted(OpenPage(now)) && !is_last_round) {
        // release: orders what the claim synchronized with before later requests' accesses.
        if (slot.compare_exchange_strong(now, OpenPage(found, total).bits(), simt::release,
                                         simt::relaxed)) {
          set_last(spare, spare_seen, last);
          follow_with(found, c, i, seen);
          return OpenPage(found, 0).bits();
        }
      }
      if (is_last_round || pages.blocks_in(c, found.run()) < Pages::few_blocks) {
        follow_with(found, c, i, seen);
        pages.mark_blocks(found.arena(), c, total, limit(OpenPage(found, 0)));
        return OpenPage(found, 0).bits();
      }
      pages.undo_take(found);
      return add_request();
    }
    in_page = false;
    // relaxed: a slot without a page publishes nothing. On failure another request has added to the
    // slot, and will find it exhausted, or has renewed it.
    if (OpenPage(now).has_page())
      slot.compare_exchange_strong(now, OpenPage::vacant().bits(), simt::relaxed, simt::relaxed);
    if (!found.found()) {
      set_last(spare, spare_seen, last);
      return found.bits();
    }
    const std::uint32_t mine = some_bits(found.marks(), blocks, 0);
    const OwnedBlocks rest = found.with(found.marks() & ~mine);
    // release: hands the blocks on.
    if (!spare.compare_exchange_strong(spare_seen, rest.bits(), simt::release, simt::relaxed))
      pages.give_back(rest);
    return found.with(mine).bits();
  }
  // Allocates blocks for lanes that together need more than half a page. The first lane of each
  // page takes it.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_pages(const SharedPages* self, Thread thread,
                                               std::uint32_t lanes, std::uint32_t class_index,
                                               std::uint32_t i) {
    const BlockClass c(class_index);
    const Pages& pages = self->pages;
    LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t in_a_page = pages.blocks_in(c, pages.run_for(c, 0));
    HEAPWOOD_ROLLED
    for (;;) {
      const std::uint32_t rank = group.rank() % in_a_page, first = group.rank() - rank;
      const std::uint32_t behind = group.size() - first;
      std::uint64_t bits = OwnedBlocks::nothing().bits();
      if (rank == 0) bits = self->take_for(thread, behind < in_a_page ? behind : in_a_page, c, i);
      if (!group.has_one_lane()) {
        bits = thread.shfl(group.lanes(), bits, nth_bit(group.lanes(), first));
        group.sync();
      }
      const OwnedBlocks taken(bits);
      const bool in_page = taken.is_page();
      const std::uint32_t available = !taken.found() ? 0
                                      : in_page      ? pages.blocks_in(c, taken.run())
                                                     : simt::popcount(taken.marks());
      const bool is_done = rank < available || available == 0;
      const LaneGroup<Thread> rest = group.part(is_done);
      if (available == 0) return nullptr;
      if (is_done)
        return in_page ? pages.arenas.address(taken.arena(), rank * c.granules())
                       : pages.block_at(taken.arena(), taken.word(), nth_bit(taken.marks(), rank));
      group = rest;
    }
  }
  // Takes a page, or at most `blocks` blocks of a word. Keeps what is left of a page.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t take_for(const Thread& thread, std::uint32_t blocks, BlockClass c,
                                         std::uint32_t i) const {
    const Hints seen = hints(c, i);
    OwnedBlocks last = OwnedBlocks::nothing();
    const OwnedBlocks found = take_blocks(thread, c, i, seen, last, false, 0, 0);
    if (!found.found()) return found.bits();
    if (found.is_page()) {
      follow_with(found, c, i, seen);
      keep_page(found, c, i, blocks * c.granules());
      return found.bits();
    }
    const std::uint32_t mine = some_bits(found.marks(), blocks, 0);
    pages.give_back(found.with(found.marks() & ~mine));
    return found.with(mine).bits();
  }
};

}  // namespace heapwood::alloc::arena
