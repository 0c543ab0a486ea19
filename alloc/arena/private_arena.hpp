// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free all the time: blocks are cut off, and usually given back,
// with no access to memory that others see. The context of an allocator (alloc/allocator.hpp). All lanes of the warp call it
// together, each for itself. Its state is in the warp's fast memory: such kernels are short of registers. They are short
// of the instruction cache, too, so that what is inlined is what happens nearly always; the rest is called.
//
// There are two: the present one, which blocks are cut from, and the one before, which is full. What the warp frees of them
// stays its own affair, and an arena whose blocks are all free begins anew. Why it may: `live` counts the blocks that were
// handed out and not freed by this warp; where that is 0 all have been freed here, so that nobody else has changed the
// count or will.
// Frees elsewhere are put down, and handed over when the warp needs another arena: a free's release waits for the warp's
// own stores, and one wait does for as many words as there are lanes.
#pragma once

#include "alloc/arena/shared_arenas.hpp"

namespace heapwood::alloc::arena {

// No arena, until there is one: it has no room, and is never empty.
struct WarpArena {
  std::uint32_t arena = none;
  std::uint32_t used = 1u << 26;  // granules handed out
  std::uint32_t live = 1;         // blocks handed out and not freed by this warp
};

struct WarpState {
  static constexpr std::uint32_t most_pending = 32;  // no fewer than a warp's lanes

  WarpArena own[2];  // the present one, the one before
  std::uint32_t pending_count = 0;
  std::uint32_t pending[most_pending];  // arenas of blocks that this warp has freed, one entry a block
};

template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  SIMT_INLINE PrivateArena(const SharedArenas& shared, const SharedArenas* self, Warp& warp, WarpState& state)
      : arenas_(shared.arenas), self_(self), state_(state) {
    if (warp.lane() == 0) {
      state_.own[0] = state_.own[1] = {};
      state_.pending_count = 0;
    }
    warp.sync();
  }

  // A block for each lane that asks for some bytes; nullptr for one that asks for none, or is refused.
  SIMT_INLINE void* allocate_each(Warp& warp, std::size_t bytes) {
    // {granules:26 | blocks:6}, so that one sum over the lanes is both. What no arena has room for is 2^20 granules.
    std::uint32_t wanted = bytes == 0 ? 0 : granules_of(bytes) << 6 | 1;
    void* result = nullptr;
    SIMT_ROLLED
    for (;;) {
      const WarpArena now = state_.own[0];
      const std::uint32_t sum = warp.inclusive_add(wanted);
      const bool fits = now.used + granules_in(sum) <= arenas_.granules();
      const std::uint32_t taken = warp.reduce_max(fits ? sum : 0);
      if (fits && wanted != 0) {
        result = arenas_.place(now.arena, now.used + granules_in(sum - wanted));
        wanted = 0;
      }
      warp.sync();  // all have read
      if (warp.lane() == 0) {
        state_.own[0].used = now.used + granules_in(taken);
        state_.own[0].live = now.live + blocks_in(taken);
      }
      warp.sync();
      const std::uint32_t left = warp.ballot(wanted != 0);
      if (left == 0) return result;
      const unsigned first = simt::lowest_bit(left);
      void* const served = beyond(self_, warp, state_, warp.shfl(bytes, first));
      if (served != try_again() && warp.lane() == first) {
        result = served;
        wanted = 0;
      }
    }
  }
  // The opposite. `bytes` as asked for. All lanes are done with all of the blocks, and have said so by a sync.
  SIMT_INLINE void deallocate_each(Warp& warp, void* block, std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas_.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas_.shift);
    const std::uint32_t pending = state_.pending_count, blocks = warp.ballot(block != nullptr);
    const std::uint32_t in_now = blocks & warp.ballot(a == state_.own[0].arena);
    const std::uint32_t in_before = blocks & warp.ballot(a == state_.own[1].arena);
    const std::uint32_t others = blocks & ~(in_now | in_before);
    warp.sync();  // all have read
    SIMT_UNROLLED
    for (std::uint32_t i = warp.lane(); i < 2; i += Warp::width) {
      const std::uint32_t live = state_.own[i].live - simt::popcount(i == 0 ? in_now : in_before);
      state_.own[i].live = live;
      if (live == 0) state_.own[i].used = 0;
    }
    if (others != 0) {
      const bool mine = (others >> warp.lane() & 1) != 0, is_span = mine && bytes > arenas_.arena_bytes();
      if (warp.any(is_span || pending + simt::popcount(others) > WarpState::most_pending)) {
        free_elsewhere(self_, warp, state_, a, mine, is_span);
      } else {
        put_down(warp, state_, pending, a, mine, others);
      }
    }
    warp.sync();
  }

  // One block for the warp: all lanes with the same arguments.
  SIMT_INLINE void* allocate(Warp& warp, std::size_t bytes) {
    void* const block = allocate_each(warp, warp.lane() != 0 ? 0 : bytes == 0 ? 1 : bytes);
    return reinterpret_cast<void*>(warp.shfl(reinterpret_cast<std::uintptr_t>(block), 0));
  }
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::size_t bytes) {
    deallocate_each(warp, warp.lane() == 0 ? block : nullptr, bytes);
  }

  // At the end of the kernel. A warp that stops without it keeps its arenas until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) { hand_over(self_->arenas, warp, state_, 2); }

 private:
  static constexpr std::uint32_t too_many = 1u << 20;  // granules, of which no arena has as many

  SIMT_INLINE static std::uint32_t granules_of(std::size_t bytes) {
    return bytes > std::size_t{too_many} * granule ? too_many : static_cast<std::uint32_t>(padded(bytes) / granule);
  }
  SIMT_INLINE static std::uint32_t granules_in(std::uint32_t sum) { return sum >> 6; }
  SIMT_INLINE static std::uint32_t blocks_in(std::uint32_t sum) { return sum & 63; }

  // No block: there is another present arena, with room for what was asked for.
  SIMT_INLINE static void* try_again() { return reinterpret_cast<void*>(std::uintptr_t{1}); }

  // A block that the present arena has no room for; the same for all lanes.
  static SIMT_OUTLINE void* beyond(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    const Arenas& arenas = self->arenas;
    const Whole<Warp> team(warp);
    const WarpArena now = state.own[0], before = state.own[1];
    const std::uint32_t spread = warp.worker() + now.arena * 40503u;
    const std::uint32_t slot = SharedArenas::slot_of(warp);
    void* block = try_again();
    if (bytes > arenas.arena_bytes()) {
      block = self->claim_span(team, slot, bytes, spread);
    } else if (before.live == 0) {
      change_to(warp, state, before, now);
    } else {
      // Of the present arena and a new one, that with more room is kept open.
      const std::uint32_t n = granules_of(bytes);
      const bool change = n < now.used;
      hand_over(arenas, warp, state, change ? 1 : 0);
      bool searched = false;
      const std::uint32_t a = self->claim(team, slot, n, change ? open : 1, spread, searched);
      if (a == none) {
        block = reinterpret_cast<void*>(team.once([&] {
          return searched ? reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(self, slot, n))
                          : std::uintptr_t{0};
        }));
      } else if (change) {
        change_to(warp, state, {.arena = a, .used = 0, .live = 0}, now);
      } else {
        block = arenas.place(a, 0);
      }
    }
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  SIMT_INLINE static void change_to(Warp& warp, WarpState& state, WarpArena next, WarpArena now) {
    warp.sync();  // all have read
    if (warp.lane() != 0) return;
    state.own[0] = next;
    state.own[1] = now;
  }

  SIMT_INLINE static void put_down(Warp& warp, WarpState& state, std::uint32_t pending, std::uint32_t a, bool mine,
                                   std::uint32_t lanes) {
    if (mine) state.pending[pending + simt::popcount(lanes & ((1u << warp.lane()) - 1))] = a;
    if (warp.lane() == 0) state.pending_count = pending + simt::popcount(lanes);
  }
  // Spans, or more than can be put down.
  static SIMT_OUTLINE void free_elsewhere(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t a,
                                          bool mine, bool is_span) {
    SIMT_ROLLED
    for (std::uint32_t spans = warp.ballot(is_span); spans != 0; spans &= spans - 1) {
      self->arenas.give_span(Whole<Warp>(warp), warp.shfl(a, simt::lowest_bit(spans)));
    }
    hand_over(self->arenas, warp, state, 0);
    put_down(warp, state, 0, a, mine && !is_span, warp.ballot(mine && !is_span));
  }
  // What is pending, and with `closing` the arena before, with 2 the present one, too.
  SIMT_INLINE static void hand_over(const Arenas& arenas, Warp& warp, WarpState& state, std::uint32_t closing) {
    const std::uint32_t pending = state.pending_count;
    warp.sync();  // all lanes are done with the blocks
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < pending + closing; i += Warp::width) {
      const WarpArena& own = state.own[i == pending ? 1 : 0];
      const std::uint32_t a = i < pending ? state.pending[i] : own.arena;
      // release: hands the blocks over that this warp has freed.
      if (a != none) arenas.count(a).fetch_add(i < pending ? ~0u : own.live - open, simt::release);
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state.pending_count = 0;
      if (closing > 0) state.own[1] = {};
      if (closing > 1) state.own[0] = {};
    }
    warp.sync();
  }

  const Arenas& arenas_;
  const SharedArenas* self_;
  WarpState& state_;
};

}  // namespace heapwood::alloc::arena
