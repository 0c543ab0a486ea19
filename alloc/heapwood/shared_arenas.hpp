// SPDX-License-Identifier: MIT
// Arenas filled by many warps: malloc for any lanes of any kernel.
//
// A slot (slot.hpp) is one word that holds an open arena and how much of it has been allocated. A
// warp adds its request to a slot of its multiprocessor; the old value of the word gives the
// position of its block. Lanes that request together share one fetch_add (group_request.hpp).
//
// Exactly one request crosses the end of an arena. It closes the arena (adds the blocks that did
// fit to the count), claims another one and installs it in the slot. A later request finds the slot
// exhausted, polls briefly for the new arena and then does the same. Of several such requests one
// succeeds; the others release their arena and retry with the new one. No thread therefore depends
// on the progress of another.
//
// Requests of which an arena holds only a few, and those that together exceed an arena, bypass the
// slots: the lanes are packed into arenas that are closed from the start. After a failed search the
// slot itself is put into a refusing state. A request is then refused after one fetch_add and a
// check of a few arenas, until the slot has refused so many that the second word decides whether a
// search is due (Refusals).
//
// Bounds. In a slot's word `blocks` wraps at 2^16 and `granules` at 2^24. A refusing slot starts
// with fewer than 2^17 granules and refuses fewer than max_refusals() blocks, that is 2^12 blocks
// and 2^20 granules. Any other request at an exhausted slot adds to it once, and does not return
// before it has seen the slot with another arena, vacant, or refusing again. Pools in which slots
// refuse have at least 128 slots. With 256 multiprocessors, the lanes of at most 16 share a slot:
// 2^15 lanes, which request at most a quarter of an arena each on average; pools with larger arenas
// have more slots, and those with 16 slots per multiprocessor have 4,096 or more. The total is at
// most 2^12 + 2^15 blocks and 2^17 + 2^20 + 2^22 granules, for pools up to 2 TiB
// (docs/own-allocator.md).
#pragma once

#include <algorithm>

#include "alloc/heapwood/arenas.hpp"
#include "alloc/heapwood/group_claim.hpp"
#include "alloc/heapwood/group_request.hpp"
#include "alloc/heapwood/slot.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

struct SharedArenas {
  // one cache line per slot
  static constexpr std::size_t slot_stride = 128 / sizeof(std::uint64_t);

  Arenas arenas;
  std::uint64_t* slots = nullptr;
  std::uint32_t slot_mask = 0;
  std::uint32_t slots_per_multiprocessor = 8;  // a power of two
  std::uint32_t max_slot_request = 0;          // max granules of a request served by a slot
  // Max persistent warps that may each hold an arena while they wait.
  std::uint32_t max_ample_warps = 0;
  std::uint32_t spare_arenas = 0;  // beyond those that blocks in use need; 0: not known
  // Tickets of the cooperative search for space in other slots.
  std::uint32_t* slot_search_tickets = nullptr;

  // The number of persistent warps that suits the pool: `max`, or where arenas would not be ample
  // as many as have 2.2 spare arenas each, or 1.7 of at most 4 KiB. Host code.
  std::uint32_t preferred_warps(std::uint32_t max) const {
    if (max <= max_ample_warps) return max;
    return std::min(max,
                    arenas.arena_bytes() <= 4096 ? spare_arenas / 5 * 3 : spare_arenas / 11 * 5);
  }

  // The value of a slot without an arena. It is full, so the next request crosses the end.
  HEAPWOOD_INLINE std::uint64_t vacant() const {
    return Slot(Slot::no_arena, 0, arenas.granules()).bits();
  }

  using SlotWord = simt::atomic_ref<std::uint64_t>;
  HEAPWOOD_INLINE SlotWord slot_word(std::uint32_t i) const {
    return SlotWord(slots[(i & slot_mask) * slot_stride]);
  }
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t slot_index(const Thread& thread) const {
    return thread.sm() * slots_per_multiprocessor +
           (thread.worker() & (slots_per_multiprocessor - 1));
  }

  // As Arenas::claim and claim_span; if these find nothing, retries once after retiring the idle
  // arenas of slots. The search is thorough only if slot i has not just refused a request of this
  // size; `searched` returns whether it was.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t claim(const Team& team, std::uint32_t i, std::uint32_t n,
                                      std::uint32_t value, std::uint32_t seed,
                                      bool& searched) const {
    const std::uint32_t refusal = refuse(team, i, n);
    searched = Refusals::search_due(refusal);
    const std::uint32_t a = claim_after_refusal(team, refusal, value, seed + refusal * seed_stride);
    if (a != none && refusal != 0) team.once([&] { return clear_failed_search(i); });
    return a;
  }
  template <class Team>
  HEAPWOOD_INLINE std::byte* claim_span(const Team& team, std::uint32_t i, std::size_t bytes,
                                        std::uint32_t seed) const {
    const std::size_t granules = bytes / granule;
    const std::uint32_t n =
        granules < max_granules ? static_cast<std::uint32_t>(granules) : max_granules;
    const std::uint32_t refusal = refuse(team, i, n);
    const bool thorough = Refusals::search_due(refusal);
    std::byte* const block = claim_span(team, bytes, seed + refusal * seed_stride, thorough);
    if (thorough)
      team.once([&] {
        return block == nullptr ? refusals(i).record_failed_search(n) : refusals(i).clear();
      });
    return block;
  }
  // The same, independent of what slots have refused.
  template <class Team>
  HEAPWOOD_INLINE std::byte* claim_span(const Team& team, std::size_t bytes, std::uint32_t seed,
                                        bool thorough) const {
    std::byte* block = nullptr;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;
         block == nullptr && (turn == 0 || (turn == 1 && thorough && retire(team))); ++turn) {
      block = arenas.claim_span(team, bytes, seed, thorough);
    }
    return block;
  }
  template <class Team>
  HEAPWOOD_INLINE bool retire(const Team& team) const {
    return team.once([&] { return retire_idle_slots(this); }) != 0;
  }
  // Forgets the failed search of slot i: the next request that consults its second word searches.
  HEAPWOOD_INLINE void clear_refusals(std::uint32_t i) const { refusals(i).clear(); }

  // Allocates a block for the calling lane. `self` is the copy of this object in the pool, for
  // calls out of line.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes,
                                 const SharedArenas* self) const {
    if (bytes > arenas.arena_bytes()) return allocate_span(self, thread, bytes);
    return allocate_granules(thread, static_cast<std::uint32_t>(padded(bytes) / granule), self);
  }
  // The same for n granules, at most an arena's.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate_granules(Thread& thread, std::uint32_t n,
                                          const SharedArenas* self) const {
    // The key is an address in the pool: lanes may call with different pools.
    std::uint32_t all = 0;
    const LaneGroup<Thread> group(thread, thread.together(arenas.memory + n, all));
    const std::uint32_t total = n * group.size();
    if (all != group.lanes() && simt::popcount(all) * min_mixed_share >= Thread::width)
      return allocate_mixed_slow(self, thread, n);
    if (n > max_slot_request || total > arenas.granules() / 2)
      return allocate_equal_slow(self, thread, group.lanes(), n);
    const std::uint32_t i = slot_index(thread);
    // acquire: synchronizes with the frees of the arena's last owners, through the claim and the
    // installation in the slot.
    const Slot before(group.once([&] {
      return slot_word(i).fetch_add(Slot(0, group.size(), total).bits(), simt::acquire);
    }));
    group.sync();
    if (before.granules() + total > arenas.granules())
      return allocate_block_slow(self, thread, group.lanes(), n, GroupRequest::of_equal(group, n),
                                 i, before.bits());
    return arenas.place(before.arena(), before.granules() + group.rank() * n);
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block, const SharedArenas* self) const {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    if ((offset & (arenas.arena_bytes() - 1)) == 0) {
      const SpanHead head = arenas.span_at(a);
      if (is_span(head.word)) return free_span_slow(self, thread, a, head);
    }
    const LaneGroup<Thread> group(thread, thread.together(arenas.counts + a));
    group.sync();  // all of its lanes are done with their blocks
    // release: hands the blocks over.
    if (group.rank() == 0) arenas.count(a).fetch_sub(group.size(), simt::release);
  }

  // Allocates a block for one lane of slot i from any slot that has space. Called if there is no
  // free arena.
  static HEAPWOOD_INLINE void* allocate_from_any_slot(const SharedArenas* self, std::uint32_t i,
                                                      std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    void* block = nullptr;
    const auto fits = [&](std::uint64_t bits) {
      return Slot(bits).granules() + n <= arenas.granules();
    };
    self->search_slots(fits, [&](const SlotWord& slot) {
      // acquire: as in allocate_granules()
      const Slot before(slot.fetch_add(Slot(0, 1, n).bits(), simt::acquire));
      if (fits(before.bits())) {
        block = arenas.place(before.arena(), before.granules());
        return true;
      }
      if (!self->is_exhausted(before.bits()) && before.arena() != Slot::no_arena) {
        arenas.close(before.arena(), before.blocks());
      }
      self->vacate(slot);
      return false;
    });
    block == nullptr ? self->refusals(i).record_failed_search(n) : self->refusals(i).clear();
    return block;
  }

 private:
  // Results of renewing a slot, other than its value. full: there is no free arena, so every slot
  // is tried; needs_search: all lanes of the group search.
  static constexpr std::uint64_t full = ~std::uint64_t{0}, refused = full - 1,
                                 needs_search = full - 2;
  static constexpr unsigned max_polls = 6, max_rounds = 8;
  // A quarter of a warp's lanes or more are served together even if their sizes differ, fewer only
  // if they request the same size: for groups of 4 of 32 lanes the votes cost more than they save
  // (docs/experiments.md).
  static constexpr std::uint32_t min_mixed_share = 4;
  static constexpr std::uint32_t max_granules = ~1u;

  HEAPWOOD_INLINE Refusals refusals(std::uint32_t i) const {
    return Refusals(slots[(i & slot_mask) * slot_stride + 1]);
  }
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t refuse(const Team& team, std::uint32_t i, std::uint32_t n,
                                       std::uint32_t requests = 1) const {
    if (arenas.superblocks <= Refusals::small_pool_superblocks) return 0;
    return team.once([&] { return refusals(i).refuse(n, requests, arenas.superblocks); });
  }
  // Blocks that a slot refuses before its second word is consulted again. At most the number of
  // superblocks, so that a single lane is not refused more often than that rule allows, and at most
  // 2^20 granules.
  HEAPWOOD_INLINE std::uint32_t max_refusals() const {
    const std::uint32_t counted = (1u << 26) >> arenas.shift;
    return arenas.superblocks < counted ? arenas.superblocks : counted;
  }
  // Whether the slot refuses `blocks` blocks of n granules without a search. Such a slot is also
  // exhausted.
  HEAPWOOD_INLINE bool refuses(Slot slot, std::uint32_t blocks, std::uint32_t n) const {
    return slot.has_failed_search_for(n) && slot.blocks() + blocks < max_refusals();
  }

  // Clears the failed search of slot i after an arena has been found.
  HEAPWOOD_INLINE std::uint32_t clear_failed_search(std::uint32_t i) const {
    // relaxed: a hint.
    if (Slot(slot_word(i).load(simt::relaxed)).has_failed_search_for(arenas.granules()))
      vacate(slot_word(i));
    return refusals(i).clear();
  }

  // claim() with the verdict of refuse(): one attempt without a search unless a search is due.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t claim_after_refusal(const Team& team, std::uint32_t refusal,
                                                    std::uint32_t value, std::uint32_t seed) const {
    std::uint32_t a = none;
    const bool thorough = Refusals::search_due(refusal);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; a == none && (turn == 0 || (turn == 1 && thorough && retire(team)));
         ++turn) {
      a = arenas.claim(team, 1, value, seed, thorough);
    }
    return a;
  }
  // Where a single lane starts to look. relaxed: any number will do, as long as it changes whenever
  // arenas are scarce. A refused request uses the number of its refusal, not the shared ticket
  // word, which all refused requests would read. Out of line, which saves registers.
  template <class Thread>
  HEAPWOOD_OUTLINE std::uint32_t search_seed(const Thread& thread, std::uint32_t refusal) const {
    const std::uint32_t other = Refusals::search_due(refusal)
                                    ? Arenas::Word(*arenas.search_tickets).load(simt::relaxed)
                                    : refusal * seed_stride;
    return thread.worker() * 32 + thread.lane() + other;
  }
  // Whether there is a free arena in the place where Arenas::claim looks first once the whole pool
  // has been used: a hint.
  HEAPWOOD_INLINE bool sees_free_arena(std::uint32_t seed) const {
    const std::uint32_t all = arenas.arenas;
    const std::uint32_t at =
        Arenas::scaled(Arenas::hashed(seed + all), all) & ~(SingleLane::mask_width - 1);
    return arenas.free_mask(SingleLane(), at) != 0;
  }

  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_span(const SharedArenas* self, Thread thread,
                                              std::size_t bytes) {
    return self->claim_span(SingleLane(), self->slot_index(thread), bytes,
                            self->search_seed(thread, 0));
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE void free_span_slow(const SharedArenas* self, Thread thread,
                                              std::uint32_t a, SpanHead head) {
    self->arenas.free_span(SingleLane(), a, head);
    // What this thread requests next may fit where the block was.
    self->clear_refusals(self->slot_index(thread));
  }

  // Allocates n granules for the calling lane, in one request with all lanes that call it together,
  // which may request other sizes: from a slot if an arena can hold their blocks, else from arenas
  // of their own. If the last of these would be at most half full, its lanes use the slot.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_mixed_slow(const SharedArenas* self, Thread thread,
                                                    std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    LaneGroup<Thread> group(thread, thread.together(arenas.memory));
    auto request = GroupRequest::of(thread, group, n);
    if (request.total > arenas.granules() ||
        request.total > self->max_slot_request * group.size()) {
      const auto place = PackedPlace::of(thread, group, n, request, arenas.granules());
      const bool in_slot = place.is_last && place.granules <= arenas.granules() / 2 &&
                           place.granules <= self->max_slot_request * place.lanes;
      group = group.part(in_slot);
      if (!in_slot) return allocate_packed(self, thread, group.lanes(), n, place);
      request = {place.granules, place.granule};
    }
    const std::uint32_t i = self->slot_index(thread);
    const std::uint64_t before = group.once(
        [&] { return self->add_request(self->slot_word(i), group.size(), request.total); });
    group.sync();
    return allocate_block_slow(self, thread, group.lanes(), n, request, i, before);
  }

  // Allocates n granules for each of `lanes`, which may request different sizes. `seen`: the slot's
  // value before their request was added to it.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_block_slow(const SharedArenas* self, Thread thread,
                                                    std::uint32_t lanes, std::uint32_t n,
                                                    GroupRequest request, std::uint32_t i,
                                                    std::uint64_t seen) {
    const Arenas& arenas = self->arenas;
    LaneGroup<Thread> group(thread, lanes);
    HEAPWOOD_ROLLED
    for (unsigned round = 0;; ++round) {
      const Slot before(seen);
      const std::uint32_t at = before.granules() + request.below;
      if (before.granules() + request.total <= arenas.granules())
        return arenas.place(before.arena(), at);
      const bool crosses = before.granules() <= arenas.granules();
      if (crosses) {
        // Those that fit are the lanes below some lane.
        const bool fits = at + n <= arenas.granules();
        const LaneGroup<Thread> side = group.part(fits);
        if (group.rank() == 0 && before.arena() != Slot::no_arena)
          arenas.close(before.arena(), before.blocks() + (fits ? side.size() : 0));
        if (fits) return arenas.place(before.arena(), at);
        group = side;
        request = request.remaining_for(thread, group);
      }
      const std::uint32_t min_size = min_request(thread, group, n);
      seen = group.once([&] {
        return self->renew_slot(thread, group.size(), request.total, min_size, i, seen, round);
      });
      group.sync();
      HEAPWOOD_ROLLED
      while (seen == needs_search) {
        const std::uint32_t found = arenas.find_free_arena(group);
        if (found == none && group.reduce_or(retire_idle_slots(self)) != 0) {
          group.once([&] { return self->refusals(i).clear(); });
          continue;
        }
        // The same as min_size, computed again: keeping it during the search takes a register.
        const std::uint32_t again = min_request(thread, group, n);
        seen = group.once([&] {
          return self->renew_slot_with(found, group.size(), request.total, again, i, round);
        });
        group.sync();
      }
      if (seen == full) return allocate_from_any_slot(self, i, n);
      if (seen == refused) return nullptr;
    }
  }

  // The part of allocate_block_slow() that one lane executes. Returns the slot's value before its
  // group's request was added, or `refused`, or `needs_search`.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t renew_slot(Thread& thread, std::uint32_t blocks,
                                           std::uint32_t granules, std::uint32_t n, std::uint32_t i,
                                           std::uint64_t seen, unsigned round) const {
    const SlotWord slot = slot_word(i);
    const Slot before(seen);
    // If the slot refuses without consulting its second word: any number that changes with each
    // request.
    std::uint32_t refusal = Refusals::recorded | before.granules();
    std::uint64_t now = seen + Slot(0, blocks, granules).bits();
    if (refuses(before, blocks, n)) {
      if (!sees_free_arena(search_seed(thread, refusal))) return refused;
    } else {
      const bool has_refused = refusals(i).has_failed_search();
      // Whether this request crosses the end of an arena, or the end of the slot's quota of
      // refusals, which may apply to larger requests only.
      const bool crosses =
          before.granules() <= arenas.granules() || refuses(before, 0, arenas.granules());
      now = slot.load(simt::relaxed);  // relaxed, here and below: a hint
      HEAPWOOD_ROLLED
      for (unsigned turn = 0; !crosses && turn < max_polls && needs_renewal(now, blocks, n);
           ++turn) {
        thread.pause(turn < 2 ? turn : 2);
        now = slot.load(simt::relaxed);
      }
      if (!needs_renewal(now, blocks, n)) return add_request(slot, blocks, granules);
      refusal = 0;
      // Includes the requests that the slot has refused on its own.
      if (has_refused) {
        refusal = refuse(SingleLane(), i, n,
                         before.has_failed_search_for(n) ? before.blocks() / blocks + 1 : 1);
      }
    }
    // Without a refusal the slot's old value is different each time.
    const std::uint32_t seed = search_seed(thread, refusal == 0 ? before.granules() | 1 : refusal);
    const std::uint32_t a = arenas.claim_one(open, seed);
    if (a != none) {
      if (refusal != 0) refusals(i).clear();
      return install_arena(slot, now, a, blocks, granules, round);
    }
    // Another request may have recorded a failed search since `has_refused` was read.
    if (refusal == 0 && refusals(i).has_failed_search()) refusal = refuse(SingleLane(), i, n);
    if (Refusals::search_due(refusal)) return needs_search;
    return replace_exhausted(slot, now, refusing_slot(n, refusal), blocks, n)
               ? refused
               : add_request(slot, blocks, granules);
  }
  // Continues renew_slot after all lanes have searched: `found` is a free arena, or `none`. May
  // also return `full`.
  HEAPWOOD_INLINE std::uint64_t renew_slot_with(std::uint32_t found, std::uint32_t blocks,
                                                std::uint32_t granules, std::uint32_t n,
                                                std::uint32_t i, unsigned round) const {
    const SlotWord slot = slot_word(i);
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed: a hint
    if (found == none) {
      // If the slot is refusing other requests by now, it refuses this one too.
      const bool is_full = replace_exhausted(slot, now, vacant(), blocks, n) || is_exhausted(now);
      if (is_full) return full;
      // Another thread has vacated or renewed the slot. If it has not cleared the last failed
      // search, this one takes its place: until then no other search is due.
      if (refusals(i).has_failed_search_for(n)) refusals(i).record_failed_search(n);
      return add_request(slot, blocks, granules);
    }
    if (!arenas.take_arena(found, open)) return needs_search;
    refusals(i).clear();
    return install_arena(slot, now, found, blocks, granules, round);
  }
  // acquire: as in allocate_granules().
  HEAPWOOD_INLINE std::uint64_t add_request(const SlotWord& slot, std::uint32_t blocks,
                                            std::uint32_t granules) const {
    return slot.fetch_add(Slot(0, blocks, granules).bits(), simt::acquire);
  }
  // Installs a claimed arena in an exhausted slot. If the slot is no longer exhausted, the arena is
  // released.
  HEAPWOOD_INLINE std::uint64_t install_arena(const SlotWord& slot, std::uint64_t now,
                                              std::uint32_t a, std::uint32_t blocks,
                                              std::uint32_t granules, unsigned round) const {
    HEAPWOOD_ROLLED
    while (is_exhausted(now)) {
      // release: orders what the claim synchronized with before later requests' accesses.
      if (slot.compare_exchange_strong(now, Slot(a, blocks, granules).bits(), simt::release,
                                       simt::relaxed)) {
        return Slot(a, 0, 0).bits();
      }
    }
    if (round >= max_rounds) {
      arenas.close(a, blocks);  // keeps it, closed, for these blocks alone
      return Slot(a, 0, 0).bits();
    }
    arenas.undo_claim(a, open);
    return add_request(slot, blocks, granules);
  }
  // Replaces the value of an exhausted slot for which no arena was found with `next`. Does nothing
  // if `now` is not exhausted any more or already refuses such requests.
  HEAPWOOD_INLINE bool replace_exhausted(const SlotWord& slot, std::uint64_t& now,
                                         std::uint64_t next, std::uint32_t blocks,
                                         std::uint32_t n) const {
    HEAPWOOD_ROLLED
    while (needs_renewal(now, blocks, n)) {
      // relaxed: publishes nothing.
      if (slot.compare_exchange_strong(now, next, simt::relaxed, simt::relaxed)) return true;
    }
    return false;
  }
  // The value of a slot that refuses n granules. Its initial granule count also determines where
  // refused requests look for a free arena (renew_slot), so that they look in a different place
  // each time.
  HEAPWOOD_INLINE std::uint64_t refusing_slot(std::uint32_t n, std::uint32_t refusal) const {
    return Slot(Slot::no_arena - n, 0, arenas.granules() + 1 + (refusal * seed_stride & 0xffffu))
        .bits();
  }
  // Makes a slot vacant if it is exhausted: there is no arena for it.
  HEAPWOOD_INLINE void vacate(const SlotWord& slot) const {
    // relaxed, here and below: a vacant slot publishes nothing
    std::uint64_t now = slot.load(simt::relaxed);
    HEAPWOOD_ROLLED
    while (is_exhausted(now) &&
           !slot.compare_exchange_strong(now, vacant(), simt::relaxed, simt::relaxed)) {
    }
  }

  // Closes the arenas without live blocks that are open in slots, and releases the reserve. Returns
  // the number of arenas made free.
  static HEAPWOOD_INLINE std::uint32_t retire_idle_slots(const SharedArenas* self) {
    const auto idle = [self](std::uint64_t bits) {
      const Slot slot(bits);
      return slot.granules() <= self->arenas.granules() && slot.arena() != Slot::no_arena &&
             // relaxed: a hint
             self->arenas.count(slot.arena()).load(simt::relaxed) == open - slot.blocks();
    };
    std::uint32_t retired = self->arenas.release_reserve(SingleLane());
    self->search_slots(idle, [&](const SlotWord& slot) {
      std::uint64_t now = slot.load(simt::relaxed);
      // relaxed: the count hands the arena over.
      if (idle(now) &&
          slot.compare_exchange_strong(now, self->vacant(), simt::relaxed, simt::relaxed)) {
        self->arenas.close(Slot(now).arena(), Slot(now).blocks());
        ++retired;
      }
      return false;
    });
    return retired;
  }
  // Calls `use` for the slots for which `fits` holds, until it returns true; cooperative with all
  // threads that are searching at the same time.
  template <class Fits, class Use>
  HEAPWOOD_INLINE void search_slots(Fits fits, Use use) const {
    constexpr std::uint32_t each = SingleLane::mask_width;
    cooperative_search(SingleLane(), *slot_search_tickets, (slot_mask + each) / each,
                       [&](std::uint32_t piece) {
                         HEAPWOOD_ROLLED
                         for (std::uint32_t i = piece * each; i < (piece + 1) * each; ++i) {
                           const SlotWord slot = slot_word(i);
                           // relaxed: a hint; `use` decides.
                           if (fits(slot.load(simt::relaxed)) && use(slot)) return 0u;
                         }
                         return none;
                       });
  }

  HEAPWOOD_INLINE bool is_exhausted(std::uint64_t bits) const {
    return Slot(bits).granules() > arenas.granules();
  }
  // Whether the slot is exhausted and does not already refuse such a request.
  HEAPWOOD_INLINE bool needs_renewal(std::uint64_t bits, std::uint32_t blocks,
                                     std::uint32_t n) const {
    return is_exhausted(bits) && !refuses(Slot(bits), blocks, n);
  }

  // Allocates n granules for each of `lanes`, where an arena holds only a few such blocks.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_equal_slow(const SharedArenas* self, Thread thread,
                                                    std::uint32_t lanes, std::uint32_t n) {
    const LaneGroup<Thread> group(thread, lanes);
    return allocate_packed(self, thread, lanes, n,
                           PackedPlace::of_equal(thread, group, n, self->arenas.granules()));
  }
  // Allocates n granules for each of `lanes`, which may request different sizes, in arenas that are
  // closed from the start. The first lane of each arena claims it.
  template <class Thread>
  HEAPWOOD_INLINE static void* allocate_packed(const SharedArenas* self, Thread thread,
                                               std::uint32_t lanes, std::uint32_t n,
                                               const PackedPlace& place) {
    const Arenas& arenas = self->arenas;
    const LaneGroup<Thread> group(thread, lanes);
    const bool claims = place.first_lane == thread.lane();
    const std::uint32_t i = self->slot_index(thread);
    // Both loads are in flight together. Lanes may see different values: the first lane's is used.
    const std::uint32_t seen = arenas.used_arenas(SingleLane());
    const bool has_refused = thread.ballot(lanes, self->refusals(i).has_failed_search()) != 0;
    const std::uint32_t used = group.once([&] { return seen; });
    std::uint32_t refusal = 0;
    if (has_refused) {
      const std::uint32_t min_size = min_request(thread, group, n);
      // Counts one request for each arena that the group needs.
      refusal = group.once([&] { return self->refuse(SingleLane(), i, min_size, place.arenas); });
    }
    const bool searched = Refusals::search_due(refusal);
    // After a failed search, all lanes first look for an arena to claim.
    const bool is_available =
        refusal == 0 || (searched && (arenas.find_free_arena(group) != none ||
                                      group.reduce_or(retire_idle_slots(self)) != 0));
    std::uint32_t a = none;
    if (refusal == 0) {
      const std::uint32_t seed =
          thread.worker() * 32 + (used < arenas.arenas ? simt::lowest_bit(lanes) : group.once([&] {
            return self->search_seed(thread, 0);
          }));
      a = claim_for_lanes(arenas, thread, group, claims, place.lanes, seed, used);
    }
    if (claims && a == none) {
      const std::uint32_t at = self->search_seed(thread, refusal);
      if (searched ? is_available : self->sees_free_arena(at))
        a = self->claim_after_refusal(SingleLane(), refusal, place.lanes, at);
      if (a != none && refusal != 0) self->clear_failed_search(i);
    }
    if (!group.has_one_lane()) {
      a = thread.shfl(lanes, a, place.first_lane);
      group.sync();
    }
    if (a != none) return arenas.place(a, place.granule);
    return searched ? allocate_from_any_slot(self, i, n) : nullptr;
  }
};

}  // namespace heapwood::alloc::arena
