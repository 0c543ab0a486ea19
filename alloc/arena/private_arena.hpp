// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free all the time: blocks are cut off, and usually given back,
// with no access to memory that others see. The context of an allocator (alloc/allocator.hpp). Its state is in the warp's fast
// memory: such kernels are short of registers. They are short of the instruction cache, too, so that what is inlined is what
// happens nearly always; the rest is called.
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
  static constexpr std::uint32_t most_pending = 32;  // handed over side by side: as many as a GPU's warp has lanes

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

  // Two blocks, or none if one is refused; nullptr for 0 bytes.
  SIMT_INLINE BlockPair allocate_two(Warp& warp, std::size_t first, std::size_t second) {
    const WarpArena now = state_.own[0];
    const std::uint32_t n = granules_of(first), used = now.used + n + granules_of(second);
    if (used > arenas_.granules()) return both(self_, warp, state_, first, second);
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      state_.own[0].used = used;
      state_.own[0].live = now.live + (first != 0) + (second != 0);
    }
    warp.sync();
    std::byte* const at = arenas_.place(now.arena, now.used);
    return {first != 0 ? at : nullptr, second != 0 ? at + std::size_t{n} * granule : nullptr};
  }
  // One; of 0 bytes it is one of 1.
  SIMT_INLINE void* allocate(Warp& warp, std::size_t bytes) { return one(self_, warp, state_, bytes == 0 ? 1 : bytes); }
  // `bytes` as asked for. All lanes are done with the block, and have said so by a sync.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::size_t bytes) {
    give(self_, arenas_, warp, state_, block, bytes);
  }

  // At the end of the kernel. A warp that stops without it keeps its arenas until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) { hand_over(self_->arenas, warp, state_, 2); }

 private:
  static constexpr std::uint32_t too_many = 1u << 20;  // granules, of which no arena has as many

  SIMT_INLINE static std::uint32_t granules_of(std::size_t bytes) {
    return bytes > std::size_t{too_many} * granule ? too_many
                                                   : static_cast<std::uint32_t>((bytes + granule - 1) / granule);
  }

  // No block: there is another present arena, with room for what was asked for.
  SIMT_INLINE static void* try_again() { return reinterpret_cast<void*>(std::uintptr_t{1}); }

  static SIMT_OUTLINE BlockPair both(const SharedArenas* self, Warp warp, WarpState& state, std::size_t first,
                                     std::size_t second) {
    void* const block = first != 0 ? one(self, warp, state, first) : nullptr;
    if (second == 0 || (first != 0 && block == nullptr)) return {block, nullptr};
    void* const other = one(self, warp, state, second);
    if (other != nullptr || block == nullptr) return {block, other};
    give(self, self->arenas, warp, state, block, first);
    return {};
  }
  static SIMT_OUTLINE void* one(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    const std::uint32_t n = granules_of(bytes);
    SIMT_ROLLED
    for (;;) {
      const WarpArena now = state.own[0];
      warp.sync();  // all have read
      if (now.used + n > self->arenas.granules()) {
        void* const served = beyond(self, warp, state, bytes);
        if (served != try_again()) return served;
        continue;
      }
      if (warp.lane() == 0) {
        state.own[0].used = now.used + n;
        state.own[0].live = now.live + 1;
      }
      warp.sync();
      return self->arenas.place(now.arena, now.used);
    }
  }
  // A block that the present arena has no room for.
  static SIMT_INLINE void* beyond(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    const Arenas& arenas = self->arenas;
    const WarpArena now = state.own[0], before = state.own[1];
    const std::uint32_t spread = warp.worker() + now.arena * 40503u;
    void* block = try_again();
    if (bytes > arenas.arena_bytes()) {
      const std::size_t r = (bytes + arenas.arena_bytes() - 1) >> arenas.shift;
      const auto n = static_cast<std::uint32_t>(r);
      const std::uint32_t a = r <= Arenas::group ? arenas.claim_run_quickly(warp, n, span + n) : none;
      block = a != none ? arenas.place(a, 0) : span_slowly(self, warp, bytes, spread);
    } else if (before.live == 0) {
      change_to(warp, state, before, now);
    } else {
      // Of the present arena and a new one, that with more room is kept open.
      const std::uint32_t n = granules_of(bytes);
      const bool change = n < now.used;
      hand_over(arenas, warp, state, change ? 1 : 0);
      const std::uint32_t a = arenas.claim_quickly(warp, change ? open : 1, spread);
      block = a != none ? use(arenas, warp, state, a, change) : claim_slowly(self, warp, state, n, spread, change);
    }
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  // An arena that was claimed: as the present one, or for one block.
  static SIMT_INLINE void* use(const Arenas& arenas, Warp& warp, WarpState& state, std::uint32_t a, bool change) {
    if (!change) return arenas.place(a, 0);
    change_to(warp, state, {.arena = a, .used = 0, .live = 0}, state.own[0]);
    return try_again();
  }
  // With a search; where there is none, a block of n granules from a slot.
  static SIMT_OUTLINE void* claim_slowly(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t n,
                                         std::uint32_t spread, bool change) {
    const Whole<Warp> team(warp);
    const std::uint32_t slot = SharedArenas::slot_of(warp);
    bool searched = false;
    const std::uint32_t a = self->claim(team, slot, n, change ? open : 1, spread, searched);
    if (a != none) return use(self->arenas, warp, state, a, change);
    return reinterpret_cast<void*>(team.once([&] {
      return searched ? reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(self, slot, n)) : std::uintptr_t{0};
    }));
  }
  static SIMT_OUTLINE void* span_slowly(const SharedArenas* self, Warp warp, std::size_t bytes, std::uint32_t spread) {
    return self->claim_span(Whole<Warp>(warp), SharedArenas::slot_of(warp), bytes, spread);
  }
  SIMT_INLINE static void change_to(Warp& warp, WarpState& state, WarpArena next, WarpArena now) {
    warp.sync();  // all have read
    if (warp.lane() != 0) return;
    state.own[0] = next;
    state.own[1] = now;
  }

  SIMT_INLINE static void give(const SharedArenas* self, const Arenas& arenas, Warp& warp, WarpState& state,
                               void* block, std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    const std::uint32_t pending = state.pending_count;
    const bool in_present = a == state.own[0].arena, mine = in_present || a == state.own[1].arena;
    if (!mine && (bytes > arenas.arena_bytes() || pending == WarpState::most_pending)) {
      return free_elsewhere(self, warp, state, a, bytes > arenas.arena_bytes());
    }
    warp.sync();  // all have read
    if (warp.lane() == 0) {
      if (mine) {
        WarpArena& own = state.own[in_present ? 0 : 1];
        if (--own.live == 0) own.used = 0;
      } else {
        state.pending[pending] = a;
        state.pending_count = pending + 1;
      }
    }
    warp.sync();
  }
  // A span, or one more than can be put down.
  static SIMT_OUTLINE void free_elsewhere(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t a,
                                          bool is_span) {
    if (is_span) {
      self->arenas.give_span(Whole<Warp>(warp), a);
    } else {
      hand_over(self->arenas, warp, state, 0);
      if (warp.lane() == 0) {
        state.pending[0] = a;
        state.pending_count = 1;
      }
    }
    warp.sync();
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
