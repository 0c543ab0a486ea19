// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free all the time: blocks are cut off, and usually given back,
// with no access to memory that others see. The context of an allocator (alloc/allocator.hpp). Its state is in the warp's fast
// memory: such kernels are short of registers. They are short of the instruction cache, too, so that what is inlined is what
// happens nearly always; the rest is called.
//
// There are two, where the pool has enough: the present one, which blocks are cut from, and the one before, which is full.
// What the warp frees of them stays its own affair, and an arena whose blocks are all free begins anew. Why it may: `live`
// counts the blocks that were handed out and not freed by this warp; where that is 0 all have been freed here, so that nobody
// else has changed the count or will.
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
  // Handed over side by side, with the two arenas: a GPU's warp has 32 lanes.
  static constexpr std::uint32_t most_pending = 30;

  WarpArena own[2];          // the present one, the one before
  std::uint32_t window = 0;  // arenas that have been in use, as far as this warp knows
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
      state_.window = state_.pending_count = 0;
    }
    warp.sync();
  }

  // Two blocks, or none if one is refused; nullptr for 0 bytes.
  SIMT_INLINE BlockPair allocate_two(Warp& warp, std::size_t first, std::size_t second) {
    const std::uint32_t n = granules_of(first), both = n + granules_of(second);
    const unsigned blocks = (first != 0) + (second != 0);
    WarpArena from = cut(arenas_, warp, state_, both, blocks);
    if (from.arena == none) {
      if (!renew(self_, warp, state_, both)) return apart(self_, warp, state_, first, second);
      from = cut(arenas_, warp, state_, both, blocks);
    }
    std::byte* const at = arenas_.place(from.arena, from.used);
    return {first != 0 ? at : nullptr, second != 0 ? at + std::size_t{n} * granule : nullptr};
  }
  // One; of 0 bytes it is one of 1.
  SIMT_INLINE void* allocate(Warp& warp, std::size_t bytes) { return one(self_, warp, state_, bytes == 0 ? 1 : bytes); }
  // `bytes` as asked for. All lanes are done with the block, and have said so by a sync.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::size_t bytes) {
    if (bytes > arenas_.arena_bytes()) return free_span(self_, warp, block);
    give(arenas_, warp, state_, block);
  }

  // At the end of the kernel. A warp that stops without it keeps its arenas until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) { hand_over(self_->arenas, warp, state_, 2); }

 private:
  // The place of n granules, with `blocks` blocks in them, of the present arena; `arena` is none where it has no room, or the
  // list is full. Only lane 0 looks at the state, so that nobody has to wait for the others to read.
  SIMT_INLINE static WarpArena cut(const Arenas& arenas, Warp& warp, WarpState& state, std::uint32_t n,
                                   unsigned blocks) {
    WarpArena from;
    if (warp.lane() == 0) {
      from = state.own[0];
      if (from.used + n <= arenas.granules() && state.pending_count < WarpState::most_pending) {
        state.own[0].used = from.used + n;
        state.own[0].live = from.live + blocks;
      } else {
        from.arena = none;
      }
    }
    from.arena = warp.shfl(from.arena, 0);
    from.used = warp.shfl(from.used, 0);
    return from;
  }

  static constexpr std::uint32_t too_many = 1u << 20;  // granules, of which no arena has as many

  SIMT_INLINE static std::uint32_t granules_of(std::size_t bytes) {
    return bytes > std::size_t{too_many} * granule ? too_many
                                                   : static_cast<std::uint32_t>((bytes + granule - 1) / granule);
  }

  // No block: there is another present arena, with room for what was asked for.
  SIMT_INLINE static void* try_again() { return reinterpret_cast<void*>(std::uintptr_t{1}); }

  // Sees to room in the list, and to a present arena with room for n more granules. False: that would need a search, or the
  // present arena has more room than a new one would have left.
  static SIMT_OUTLINE bool renew(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    warp.sync();  // lane 0 has written
    const WarpArena now = state.own[0], before = state.own[1];
    const bool full = state.pending_count == WarpState::most_pending;
    warp.sync();  // all have read
    if (full) hand_over(arenas, warp, state, 0);
    if (now.used + n <= arenas.granules()) return true;
    if (n > arenas.granules() || n >= now.used) return false;
    WarpArena next = before;
    if (before.live != 0) {
      if (fewer_than(arenas, warp, 1)) return false;
      hand_over(arenas, warp, state, fewer_than(arenas, warp, 3) ? 2 : 1);
      next = {.arena = arenas.claim_quickly(warp, open, spread_of(warp, now), state.window), .used = 0, .live = 0};
    }
    if (next.arena != none) change_to(warp, state, next);
    warp.sync();  // passes the claim's acquire on
    return next.arena != none;
  }
  static SIMT_OUTLINE BlockPair apart(const SharedArenas* self, Warp warp, WarpState& state, std::size_t first,
                                      std::size_t second) {
    if (first > self->arenas.arena_bytes() && second > self->arenas.arena_bytes()) {
      const BlockPair blocks = runs(self, warp, first, second);
      if (blocks.first != nullptr) return blocks;
    }
    void* const block = first != 0 ? one(self, warp, state, first) : nullptr;
    if (second == 0 || (first != 0 && block == nullptr)) return {block, nullptr};
    void* const other = one(self, warp, state, second);
    if (other != nullptr || block == nullptr) return {block, other};
    if (first > self->arenas.arena_bytes()) {
      free_span(self, warp, block);
    } else {
      give(self->arenas, warp, state, block);
    }
    return {};
  }
  static SIMT_OUTLINE void* one(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    const Arenas& arenas = self->arenas;
    const std::uint32_t n = granules_of(bytes);
    SIMT_ROLLED
    for (;;) {
      if (n > arenas.granules()) {
        void* const block = runs(self, warp, bytes, 0).first;
        return block != nullptr ? block : span_slowly(self, warp, state, bytes);
      }
      const WarpArena from = cut(arenas, warp, state, n, 1);
      if (from.arena != none) return arenas.place(from.arena, from.used);
      if (fewer_than(arenas, warp, 1)) return shared(self, warp, state, bytes);
      if (renew(self, warp, state, n)) continue;
      void* const block = alone(self, warp, state, n);
      if (block != try_again()) return block;
    }
  }
  // Whether the pool has fewer arenas than that for each warp: two of its own, and some for large blocks. With fewer than 3 a warp
  // has only the present one, with fewer than 1 none.
  SIMT_INLINE static bool fewer_than(const Arenas& arenas, Warp& warp, std::uint32_t each) {
    return arenas.arenas / each < warp.workers();
  }
  static SIMT_OUTLINE void* shared(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    hand_over(self->arenas, warp, state, 0);
    void* const block = reinterpret_cast<void*>(
        Whole<Warp>(warp).once([&] { return reinterpret_cast<std::uintptr_t>(self->allocate(warp, bytes, self)); }));
    warp.sync();  // passes the acquire on
    return block;
  }
  // A block of n granules in an arena of its own, or, where none is found, in a slot's; or a new present arena: of that and the
  // present one, that with more room is kept open.
  static SIMT_OUTLINE void* alone(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t n) {
    const Arenas& arenas = self->arenas;
    warp.sync();  // lane 0 has written
    const WarpArena now = state.own[0];
    const std::uint32_t spread = spread_of(warp, now);
    const bool change = n < now.used;
    hand_over(arenas, warp, state, change ? 1 : 0);
    const std::uint32_t a = change ? none : arenas.claim_quickly(warp, 1, spread, state.window);
    void* const block = a != none ? arenas.place(a, 0) : claim_slowly(self, warp, state, n, spread, change);
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  SIMT_INLINE static std::uint32_t spread_of(Warp& warp, const WarpArena& now) {
    return warp.worker() + now.arena * 40503u;
  }
  // One or two blocks of more than an arena, as far as no search is needed.
  static SIMT_OUTLINE BlockPair runs(const SharedArenas* self, Warp warp, std::size_t first, std::size_t second) {
    warp.sync();  // lane 0 has written
    const BlockPair blocks = self->arenas.claim_spans_quickly(warp, first, second);
    warp.sync();  // passes the claim's acquire on
    return blocks;
  }
  // With a search; where there is none, a block of n granules from a slot.
  static SIMT_OUTLINE void* claim_slowly(const SharedArenas* self, Warp warp, WarpState& state, std::uint32_t n,
                                         std::uint32_t spread, bool change) {
    const Whole<Warp> team(warp);
    const std::uint32_t slot = SharedArenas::slot_of(warp);
    bool searched = false;
    const std::uint32_t a = self->claim(team, slot, n, change ? open : 1, spread, searched);
    if (a != none && !change) return self->arenas.place(a, 0);
    if (a != none) {
      change_to(warp, state, {.arena = a, .used = 0, .live = 0});
      return try_again();
    }
    return reinterpret_cast<void*>(team.once([&] {
      return searched ? reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(self, slot, n)) : std::uintptr_t{0};
    }));
  }
  static SIMT_OUTLINE void* span_slowly(const SharedArenas* self, Warp warp, WarpState& state, std::size_t bytes) {
    void* const block =
        self->claim_span(Whole<Warp>(warp), SharedArenas::slot_of(warp), bytes, spread_of(warp, state.own[0]));
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  // The present arena becomes the one before.
  SIMT_INLINE static void change_to(Warp& warp, WarpState& state, WarpArena next) {
    warp.sync();  // all have read
    if (warp.lane() != 0) return;
    state.own[1] = state.own[0];
    state.own[0] = next;
  }

  // Of not more than an arena. As in cut() only lane 0 looks at the state; what the list has no room for is counted off at once.
  SIMT_INLINE static void give(const Arenas& arenas, Warp& warp, WarpState& state, void* block) {
    if (warp.lane() != 0) return;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas.shift);
    const bool in_present = a == state.own[0].arena;
    if (in_present || a == state.own[1].arena) {
      WarpArena& own = state.own[in_present ? 0 : 1];
      if (--own.live == 0) own.used = 0;
    } else if (state.pending_count < WarpState::most_pending) {
      state.pending[state.pending_count++] = a;
    } else {
      arenas.count(a).fetch_sub(1, simt::release);  // release: hands the block over
    }
  }
  static SIMT_OUTLINE void free_span(const SharedArenas* self, Warp warp, void* block) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - self->arenas.memory);
    self->arenas.give_span(Whole<Warp>(warp), static_cast<std::uint32_t>(offset >> self->arenas.shift));
    warp.sync();
  }
  // What is pending, and with `closing` the arena before, with 2 the present one, too.
  SIMT_INLINE static void hand_over(const Arenas& arenas, Warp& warp, WarpState& state, std::uint32_t closing) {
    warp.sync();  // all lanes are done with the blocks, and lane 0 has written
    const std::uint32_t pending = state.pending_count;
    constexpr std::uint32_t most = WarpState::most_pending;
    SIMT_ROLLED
    for (std::uint32_t i = warp.lane(); i < most + 2; i += Warp::width) {
      std::uint32_t a = none, blocks = ~0u;
      if (i < pending) a = state.pending[i];
      if (i >= most && i - most < closing) {
        const WarpArena own = state.own[most + 1 - i];
        a = own.arena;
        blocks = own.live - open;
      }
      // release: hands the blocks over that this warp has freed.
      if (a != none) arenas.count(a).fetch_add(blocks, simt::release);
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
