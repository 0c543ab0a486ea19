// SPDX-License-Identifier: MIT
// Arenas that many warps fill: malloc for any lanes of any kernel. A slot (slot.hpp) holds an open arena and how much of it
// has been handed out, in one word; a warp adds its request to the slot of its multiprocessor, and what the word was before
// is where its block is. Lanes that ask for the same size together add once.
//
// Exactly one request crosses the end of an arena: it closes it (adds the blocks that did fit to the count), claims another
// one and puts that into the slot. Who comes later and finds the slot exhausted waits a little for that and then does the
// same; of several only one succeeds, and the others give their arena back and go to the new one. So nobody depends on
// somebody else's progress.
// Requests of which an arena holds few go past the slots: the lanes are packed into arenas that are closed from the start.
// Where a search has been in vain the slot says so itself: then a request is refused by the one add and a look at a few
// arenas, until the slot has refused so many that it must be asked again whether a search is due (Refusals).
//
// Bounds: of a slot's word `blocks` wraps at 2^16, `granules` at 2^24. A refusing slot begins with fewer than 2^17 granules,
// and refuses fewer than refuses_at_most() blocks, that is 2^12 and 2^20 granules. Any other request at an exhausted slot
// adds to it once, and does not return before it has seen the slot with another arena, vacant, or refusing anew. Pools in
// which slots refuse have 128 of them or more: of 256 multiprocessors the lanes of at most 16 share one, 2^15 lanes, each
// with at most a quarter of an arena, and larger arenas come with more slots. Together that is 2^12 + 2^15 blocks and 2^17 +
// 2^20 + 2^22 granules at most, up to pools of 2 TiB (docs/own-allocator.md).
#pragma once

#include "alloc/arena/arenas.hpp"
#include "alloc/arena/slot.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

struct SharedArenas {
  static constexpr std::size_t slot_stride = 128 / sizeof(std::uint64_t);  // a line of the cache each
  static constexpr unsigned slots_a_multiprocessor = 8;

  Arenas arenas;
  std::uint64_t* slots = nullptr;
  std::uint32_t slot_mask = 0;
  std::uint32_t most_in_slot = 0;         // granules of a request that slots serve
  std::uint32_t* slot_tickets = nullptr;  // of the search for room in other slots

  // Before the first arena, and where there is none: full, so that the next request finds that it crosses the end.
  SIMT_INLINE std::uint64_t vacant() const { return Slot(Slot::no_arena, 0, arenas.granules()).bits(); }

  using SlotWord = simt::atomic_ref<std::uint64_t>;
  SIMT_INLINE SlotWord word(std::uint32_t i) const { return SlotWord(slots[(i & slot_mask) * slot_stride]); }
  template <class Thread>
  SIMT_INLINE static std::uint32_t slot_of(const Thread& thread) {
    return thread.sm() * slots_a_multiprocessor + thread.worker() % slots_a_multiprocessor;
  }

  // Arenas::claim and claim_span; where these find nothing, again without the arenas that lie idle in slots. Thorough only
  // where slot i has not just refused as much; then *searched is set.
  template <class Team>
  SIMT_INLINE std::uint32_t claim(const Team& team, std::uint32_t i, std::uint32_t n, std::uint32_t value,
                                  std::uint32_t spread, bool& searched) const {
    const std::uint32_t refusal = refuse(team, i, n);
    searched = Refusals::search_due(refusal);
    const std::uint32_t a = claim_after(team, refusal, value, spread + refusal * 40503u);
    if (a != none && refusal != 0) team.once([&] { return found(i); });
    return a;
  }
  template <class Team>
  SIMT_INLINE std::byte* claim_span(const Team& team, std::uint32_t i, std::size_t bytes, std::uint32_t spread) const {
    const std::size_t granules = bytes / granule;
    const std::uint32_t n = granules < most_granules ? static_cast<std::uint32_t>(granules) : most_granules;
    const std::uint32_t refusal = refuse(team, i, n);
    const bool thorough = Refusals::search_due(refusal);
    std::byte* const block = claim_span(team, bytes, spread + refusal * 40503u, thorough);
    if (thorough) team.once([&] { return block == nullptr ? refusals(i).begin(n) : refusals(i).end(); });
    return block;
  }
  // The same whatever slots have refused.
  template <class Team>
  SIMT_INLINE std::byte* claim_span(const Team& team, std::size_t bytes, std::uint32_t spread, bool thorough) const {
    std::byte* block = nullptr;
    SIMT_ROLLED
    for (unsigned turn = 0; block == nullptr && (turn == 0 || (turn == 1 && thorough && retire(team))); ++turn) {
      block = arenas.claim_span(team, bytes, spread, thorough);
    }
    return block;
  }
  template <class Team>
  SIMT_INLINE bool retire(const Team& team) const {
    return team.once([&] { return retire_idle(this); }) != 0;
  }
  // The next request at slot i is searched for.
  SIMT_INLINE void forget(std::uint32_t i) const { refusals(i).end(); }

  // A block for the calling lane. `self` is a copy of this object in the pool, for calls out of line.
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes, const SharedArenas* self) const {
    if (bytes > arenas.arena_bytes()) return span_alone(self, thread, bytes);
    return allocate_granules(thread, static_cast<std::uint32_t>(padded(bytes) / granule), self);
  }
  // The same for n granules, no more than an arena has.
  template <class Thread>
  SIMT_INLINE void* allocate_granules(Thread& thread, std::uint32_t n, const SharedArenas* self) const {
    const LaneGroup<Thread> group(thread, thread.together(reinterpret_cast<const void*>(std::uintptr_t{n})));
    const std::uint32_t total = n * group.size();
    if (n > most_in_slot || total > arenas.granules() / 2) {
      return packed(self, thread, group.lanes(), n);
    }
    const std::uint32_t i = slot_of(thread);
    // acquire: waits for the last owners of the arena, through the claim and the renewal of the slot.
    const Slot before(
        group.once([&] { return word(i).fetch_add(Slot(0, group.size(), total).bits(), simt::acquire); }));
    group.sync();
    if (before.granules() + total > arenas.granules()) return renew(self, thread, group.lanes(), n, i, before.bits());
    return arenas.place(before.arena(), before.granules() + group.rank() * n);
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block, const SharedArenas* self) const {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    if ((offset & (arenas.arena_bytes() - 1)) == 0) {
      const SpanWord head = arenas.span_at(a);
      if (is_span(head.word)) return give_span_alone(&self->arenas, a, head);
    }
    const LaneGroup<Thread> group(thread, thread.together(arenas.counts + a));
    group.sync();  // all of its lanes are done with their blocks
    // release: hands the blocks over.
    if (group.rank() == 0) arenas.count(a).fetch_sub(group.size(), simt::release);
  }

  // There is no free arena. A block for one lane, of slot i, from any slot that has room.
  static SIMT_INLINE void* elsewhere(const SharedArenas* self, std::uint32_t i, std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    void* block = nullptr;
    const auto fits = [&](std::uint64_t bits) { return Slot(bits).granules() + n <= arenas.granules(); };
    self->search_slots(fits, [&](const SlotWord& slot) {
      const Slot before(slot.fetch_add(Slot(0, 1, n).bits(), simt::acquire));  // acquire: as in allocate()
      if (fits(before.bits())) {
        block = arenas.place(before.arena(), before.granules());
        return true;
      }
      if (!self->exhausted(before.bits()) && before.arena() != Slot::no_arena) {
        arenas.close(before.arena(), before.blocks());
      }
      self->vacate(slot);
      return false;
    });
    block == nullptr ? self->refusals(i).begin(n) : self->refusals(i).end();
    return block;
  }

 private:
  static constexpr std::uint64_t full = ~std::uint64_t{0}, refused = full - 1, to_search = full - 2;
  static constexpr unsigned most_polls = 6, most_rounds = 8;
  static constexpr std::uint32_t most_granules = ~1u;
  static constexpr std::uint32_t small_pool = 64;  // superblocks: there each search is a thorough one

  SIMT_INLINE Refusals refusals(std::uint32_t i) const { return Refusals(slots[(i & slot_mask) * slot_stride + 1]); }
  template <class Team>
  SIMT_INLINE std::uint32_t refuse(const Team& team, std::uint32_t i, std::uint32_t n,
                                   std::uint32_t requests = 1) const {
    if (arenas.groups <= small_pool) return 0;
    return team.once([&] { return refusals(i).refuse(n, requests, arenas.groups); });
  }
  // Blocks that a slot refuses before the word beside it is asked again: no more than superblocks, so that a lane alone is
  // refused no more often than that allows, and no more than 2^20 granules.
  SIMT_INLINE std::uint32_t refuses_at_most() const {
    const std::uint32_t counted = (1u << 26) >> arenas.shift;
    return arenas.groups < counted ? arenas.groups : counted;
  }
  // A slot that refuses so many blocks of n granules without a search. Then it is exhausted, too.
  SIMT_INLINE bool refuses(Slot slot, std::uint32_t blocks, std::uint32_t n) const {
    return slot.in_vain_for(n) && slot.blocks() + blocks < refuses_at_most();
  }

  // Somebody has found an arena at slot i: what was in vain need not be any more.
  SIMT_INLINE std::uint32_t found(std::uint32_t i) const {
    // relaxed: a look.
    if (Slot(word(i).load(simt::relaxed)).in_vain_for(most_in_slot)) vacate(word(i));
    return refusals(i).end();
  }

  // claim() after refuse(): only one look, where that says so.
  template <class Team>
  SIMT_INLINE std::uint32_t claim_after(const Team& team, std::uint32_t refusal, std::uint32_t value,
                                        std::uint32_t spread) const {
    std::uint32_t a = none;
    const bool thorough = Refusals::search_due(refusal);
    SIMT_ROLLED
    for (unsigned turn = 0; a == none && (turn == 0 || (turn == 1 && thorough && retire(team))); ++turn) {
      a = arenas.claim(team, 1, value, spread, thorough);
    }
    return a;
  }
  // Where one lane looks then. relaxed: any number will do, but another one each time that arenas are short. Who is refused
  // takes the number of that, not a word that all would look at.
  template <class Thread>
  SIMT_INLINE std::uint32_t place_for(const Thread& thread, std::uint32_t refusal) const {
    const std::uint32_t other =
        Refusals::search_due(refusal) ? Arenas::Word(*arenas.tickets).load(simt::relaxed) : refusal * 40503u;
    return thread.worker() * 32 + thread.lane() + other;
  }
  // Whether there is a free arena where Arenas::claim looks first in a pool all of which has been used. relaxed: a look.
  SIMT_INLINE bool sights(std::uint32_t spread) const {
    const std::uint32_t all = arenas.arenas;
    const std::uint32_t at = Arenas::scaled(Arenas::hashed(spread + all), all) & ~(Alone::reach - 1);
    const bool whole_span = is_span(arenas.super(at / Arenas::group).load(simt::relaxed));
    return Alone().mask([&](std::uint32_t k) {
      return static_cast<bool>((arenas.count(at + k).load(simt::relaxed) == 0) & !whole_span);
    }) != 0;
  }

  template <class Thread>
  static SIMT_OUTLINE void* span_alone(const SharedArenas* self, Thread thread, std::size_t bytes) {
    return self->claim_span(Alone(), slot_of(thread), bytes, self->place_for(thread, 0));
  }
  static SIMT_OUTLINE void give_span_alone(const Arenas* arenas, std::uint32_t a, SpanWord head) {
    arenas->give_span(Alone(), a, head);
  }

  // Blocks for lanes that ask for n granules each and found the slot without room for all of them.
  template <class Thread>
  static SIMT_OUTLINE void* renew(const SharedArenas* self, Thread thread, std::uint32_t lanes, std::uint32_t n,
                                  std::uint32_t i, std::uint64_t seen) {
    const Arenas& arenas = self->arenas;
    LaneGroup<Thread> group(thread, lanes);
    SIMT_ROLLED
    for (unsigned round = 0;; ++round) {
      const Slot before(seen);
      if (before.granules() + n * group.size() <= arenas.granules()) {
        return arenas.place(before.arena(), before.granules() + group.rank() * n);
      }
      const bool crosses = before.granules() <= arenas.granules();
      if (crosses) {
        const std::uint32_t fit = (arenas.granules() - before.granules()) / n;
        const bool fits = group.rank() < fit;
        if (group.rank() == 0 && before.arena() != Slot::no_arena) arenas.close(before.arena(), before.blocks() + fit);
        const std::uint32_t rank = group.rank();
        group = group.part(fits);
        if (fits) return arenas.place(before.arena(), before.granules() + rank * n);
      }
      seen = group.once([&] { return self->renewed(thread, group.size(), n, i, seen, round); });
      group.sync();
      SIMT_ROLLED
      while (seen == to_search) {
        const std::uint32_t sighted = arenas.sight(group);
        if (sighted == none && group.join(retire_idle(self)) != 0) {
          group.once([&] { return self->refusals(i).end(); });
          continue;
        }
        seen = group.once([&] { return self->renewed_by(sighted, group.size(), n, i, round); });
        group.sync();
      }
      if (seen == full) return elsewhere(self, i, n);
      if (seen == refused) return nullptr;
    }
  }

  // One lane's part in that: what the slot was before its group's request was in it, `refused`, or `to_search`.
  template <class Thread>
  SIMT_INLINE std::uint64_t renewed(Thread& thread, std::uint32_t blocks, std::uint32_t n, std::uint32_t i,
                                    std::uint64_t seen, unsigned round) const {
    const SlotWord slot = word(i);
    const Slot before(seen);
    std::uint32_t refusal = Refusals::some | before.granules();  // in place of a number
    std::uint64_t now = seen + Slot(0, blocks, blocks * n).bits();
    if (refuses(before, blocks, n)) {
      if (!sights(place_for(thread, refusal))) return refused;
    } else {
      // The end of an arena, or of what the slot may refuse: of a number, or of larger ones only.
      const bool crosses = before.granules() <= arenas.granules() || refuses(before, 0, most_in_slot);
      now = slot.load(simt::relaxed);  // relaxed, here and below: a look
      SIMT_ROLLED
      for (unsigned turn = 0; !crosses && turn < most_polls && to_renew(now, blocks, n); ++turn) {
        thread.pause(turn < 2 ? turn : 2);
        now = slot.load(simt::relaxed);
      }
      if (!to_renew(now, blocks, n)) return with_request(slot, blocks, n);
      // With those that the slot has refused by itself.
      refusal = refuse(Alone(), i, n, before.in_vain_for(n) ? before.blocks() / blocks + 1 : 1);
    }
    const std::uint32_t a = arenas.claim(Alone(), 1, open, place_for(thread, refusal), false);
    if (a != none) {
      if (refusal != 0) refusals(i).end();
      return with_arena(slot, now, a, blocks, n, round);
    }
    if (Refusals::search_due(refusal)) return to_search;
    return without_arena(slot, now, to_refuse(n, refusal), blocks, n) ? refused : with_request(slot, blocks, n);
  }
  // The same when all lanes have searched, and one has sighted an arena, or none has; then it may be `full`, too.
  SIMT_INLINE std::uint64_t renewed_by(std::uint32_t sighted, std::uint32_t blocks, std::uint32_t n, std::uint32_t i,
                                       unsigned round) const {
    const SlotWord slot = word(i);
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed: a look
    if (sighted == none) {
      // Where it refuses others meanwhile, so it does this one.
      const bool is_full = without_arena(slot, now, vacant(), blocks, n) || exhausted(now);
      return is_full ? full : with_request(slot, blocks, n);
    }
    if (!arenas.take_one(sighted, open)) return to_search;
    refusals(i).end();
    return with_arena(slot, now, sighted, blocks, n, round);
  }
  // acquire: as in allocate().
  SIMT_INLINE std::uint64_t with_request(const SlotWord& slot, std::uint32_t blocks, std::uint32_t n) const {
    return slot.fetch_add(Slot(0, blocks, blocks * n).bits(), simt::acquire);
  }
  // An exhausted slot gets the arena that has been claimed. Where it is not any more, the arena is not needed.
  SIMT_INLINE std::uint64_t with_arena(const SlotWord& slot, std::uint64_t now, std::uint32_t a, std::uint32_t blocks,
                                       std::uint32_t n, unsigned round) const {
    SIMT_ROLLED
    while (exhausted(now)) {
      // release: what the claim waited for comes before whatever later requests do.
      if (slot.compare_exchange_strong(now, Slot(a, blocks, blocks * n).bits(), simt::release, simt::relaxed)) {
        return Slot(a, 0, 0).bits();
      }
    }
    if (round >= most_rounds) {
      arenas.close(a, blocks);  // for these blocks alone
      return Slot(a, 0, 0).bits();
    }
    arenas.give_up(a, open);
    return with_request(slot, blocks, n);
  }
  // An exhausted slot for which there is no arena becomes `next`, unless `now` says that it is not, or refuses such requests already.
  SIMT_INLINE bool without_arena(const SlotWord& slot, std::uint64_t& now, std::uint64_t next, std::uint32_t blocks,
                                 std::uint32_t n) const {
    SIMT_ROLLED
    while (to_renew(now, blocks, n)) {
      // relaxed: hands nothing over.
      if (slot.compare_exchange_strong(now, next, simt::relaxed, simt::relaxed)) return true;
    }
    return false;
  }
  // A slot after a refusal of n granules. What it begins with says, too, where those look whom it refuses (renewed): each
  // time elsewhere.
  SIMT_INLINE std::uint64_t to_refuse(std::uint32_t n, std::uint32_t refusal) const {
    return Slot(Slot::no_arena - n, 0, arenas.granules() + 1 + (refusal * 40503u & 0xffffu)).bits();
  }
  // An exhausted slot for which there is no arena.
  SIMT_INLINE void vacate(const SlotWord& slot) const {
    std::uint64_t now = slot.load(simt::relaxed);  // relaxed, here and below: a vacant slot hands nothing over
    SIMT_ROLLED
    while (exhausted(now) && !slot.compare_exchange_strong(now, vacant(), simt::relaxed, simt::relaxed)) {
    }
  }

  // Takes arenas without a block in use out of their slots and closes them, and gives up the reserve. How many there were.
  static SIMT_INLINE std::uint32_t retire_idle(const SharedArenas* self) {
    const auto idle = [self](std::uint64_t bits) {
      const Slot slot(bits);
      return slot.granules() <= self->arenas.granules() && slot.arena() != Slot::no_arena &&
             self->arenas.count(slot.arena()).load(simt::relaxed) == open - slot.blocks();  // relaxed: a look
    };
    std::uint32_t retired = self->arenas.give_up_reserve(Alone());
    self->search_slots(idle, [&](const SlotWord& slot) {
      std::uint64_t now = slot.load(simt::relaxed);
      // relaxed: the count hands the arena over.
      if (idle(now) && slot.compare_exchange_strong(now, self->vacant(), simt::relaxed, simt::relaxed)) {
        self->arenas.close(Slot(now).arena(), Slot(now).blocks());
        ++retired;
      }
      return false;
    });
    return retired;
  }
  // The slots for which `fits` holds, until `use` says true; together with all who search at the same time.
  template <class Fits, class Use>
  SIMT_INLINE void search_slots(Fits fits, Use use) const {
    constexpr std::uint32_t each = Alone::reach;
    shared_search(Alone(), *slot_tickets, (slot_mask + each) / each, [&](std::uint32_t piece) {
      SIMT_ROLLED
      for (std::uint32_t i = piece * each; i < (piece + 1) * each; ++i) {
        const SlotWord slot = word(i);
        if (fits(slot.load(simt::relaxed)) && use(slot)) return 0u;  // relaxed: a look
      }
      return none;
    });
  }

  SIMT_INLINE bool exhausted(std::uint64_t bits) const { return Slot(bits).granules() > arenas.granules(); }
  // Exhausted, and of no use for such a request either as one that refuses it.
  SIMT_INLINE bool to_renew(std::uint64_t bits, std::uint32_t blocks, std::uint32_t n) const {
    return exhausted(bits) && !refuses(Slot(bits), blocks, n);
  }

  // Blocks for lanes that ask for n granules each, of which few fit into an arena: the first lane of each arena takes it.
  template <class Thread>
  static SIMT_OUTLINE void* packed(const SharedArenas* self, Thread thread, std::uint32_t lanes, std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    const LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t each = arenas.granules() / n, in_arena = group.rank() % each, first = group.rank() - in_arena,
                        left = group.size() - first;
    const std::uint32_t i = slot_of(thread);
    // In the name of all arenas that the group asks for.
    const std::uint32_t refusal =
        group.once([&] { return self->refuse(Alone(), i, n, (group.size() + each - 1) / each); });
    const bool searched = Refusals::search_due(refusal);
    // Where a search has been in vain before, all lanes look for something to claim first.
    const bool is_somewhere =
        refusal == 0 || (searched && (arenas.sight(group) != none || group.join(retire_idle(self)) != 0));
    const std::uint32_t at = self->place_for(thread, refusal), value = left < each ? left : each;
    std::uint32_t a = none;
    if (refusal == 0 && in_arena == 0) a = arenas.claim_beside(thread, value, at);
    if (in_arena == 0 && a == none) {
      if (searched ? is_somewhere : self->sights(at)) a = self->claim_after(Alone(), refusal, value, at);
      if (a != none && refusal != 0) self->found(i);
    }
    if (!group.alone()) {
      a = thread.shfl(lanes, a, nth_bit(lanes, first));
      group.sync();
    }
    if (a != none) return arenas.place(a, in_arena * n);
    return searched ? elsewhere(self, i, n) : nullptr;
  }
};

}  // namespace heapwood::alloc::arena
