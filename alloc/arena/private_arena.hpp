// SPDX-License-Identifier: MIT
// A warp's own arenas, for kernels whose warps allocate and free all the time: a block is cut off, and usually given back,
// with no access to memory that others see. The context of an allocator (alloc/allocator.hpp). Its state is in the warp's
// fast memory and is lane 0's: such kernels are short of registers.
//
// There are two: the one that blocks are cut from, and the one before, which is full. What the warp frees of them stays its
// own affair: the block handed out last is taken back, and an arena whose blocks are all free begins anew. Other frees are
// gathered while they belong to one arena, since what a free costs is waiting for the warp's own stores, once an add.
// Why an arena with no block in use may begin anew: `live` counts the blocks that were handed out and not freed by this
// warp; where that is 0 all have been freed here, so that nobody else has changed the count or will.
#pragma once

#include "alloc/arena/shared_arenas.hpp"

namespace heapwood::alloc::arena {

struct WarpArena {
  std::uint32_t arena = none;
  std::uint16_t used = 0;   // granules handed out
  std::uint16_t live = 0;   // blocks handed out and not freed by this warp
  std::uint32_t freed = 0;  // not 0: this warp has freed blocks of it
};

struct WarpState {
  WarpArena now, before;
  std::uint32_t others = none;      // an arena that this warp has freed blocks of, ...
  std::uint32_t others_blocks = 0;  // ... and how many that are not counted off yet
};

template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  SIMT_INLINE PrivateArena(const SharedArenas& shared, const SharedArenas* self, Warp& warp, WarpState& state)
      : arenas_(shared.arenas), self_(self), state_(state) {
    if (warp.lane() == 0) state_ = {};
  }

  SIMT_INLINE void* allocate(Warp& warp, std::size_t bytes) {
    if (bytes > arenas_.arena_bytes()) return claim_span(warp, bytes);
    const auto n = static_cast<std::uint32_t>(padded(bytes) / granule);
    std::uintptr_t block = 0;
    if (warp.lane() == 0 && has_room(n)) block = cut(n);
    block = warp.shfl(block, 0);
    return block != 0 ? reinterpret_cast<void*>(block) : from_new_arena(warp, n);
  }

  // `bytes` as asked for. All lanes are done with the block, and have said so by a sync.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::size_t bytes) {
    if (block == nullptr) return;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas_.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas_.shift);
    if (bytes > arenas_.arena_bytes()) {
      arenas_.give_span(Whole<Warp>(warp), a);
    } else if (warp.lane() != 0) {
    } else if (a == state_.now.arena) {
      const auto at = static_cast<std::uint32_t>(offset & (arenas_.arena_bytes() - 1)) / granule;
      take_back(state_.now);
      if (state_.now.live != 0 && at + padded(bytes) / granule == state_.now.used) {
        state_.now.used = static_cast<std::uint16_t>(at);
      }
    } else if (a == state_.before.arena) {
      take_back(state_.before);
    } else {
      if (a != state_.others) {
        count_off();
        state_.others = a;
      }
      state_.others_blocks += 1;
    }
  }

  // At the end of the kernel. A warp that stops without it keeps its arenas until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) {
    if (warp.lane() != 0) return;
    close(state_.now);
    close(state_.before);
    count_off();
  }

 private:
  SIMT_INLINE bool has_room(std::uint32_t n) const {
    return state_.now.arena != none && state_.now.used + n <= arenas_.granules();
  }
  SIMT_INLINE std::uintptr_t cut(std::uint32_t n) {
    std::byte* const block = arenas_.place(state_.now.arena, state_.now.used);
    state_.now.used = static_cast<std::uint16_t>(state_.now.used + n);
    state_.now.live = static_cast<std::uint16_t>(state_.now.live + 1);
    return reinterpret_cast<std::uintptr_t>(block);
  }
  SIMT_INLINE static void take_back(WarpArena& own) {
    own.live = static_cast<std::uint16_t>(own.live - 1);
    own.freed = 1;
    if (own.live == 0) own.used = 0;
  }
  SIMT_INLINE void close(const WarpArena& own) const {
    if (own.arena == none) return;
    if (own.freed != 0) {
      // release: hands the blocks that were freed here over.
      arenas_.count(own.arena).fetch_add(own.live - open, simt::release);
    } else {
      arenas_.close(own.arena, own.live);
    }
  }
  SIMT_INLINE void count_off() {
    // release: hands the blocks over.
    if (state_.others_blocks != 0) arenas_.count(state_.others).fetch_sub(state_.others_blocks, simt::release);
    state_.others_blocks = 0;
  }

  // Lanes other than the first take part in the search only.
  SIMT_INLINE void* from_new_arena(Warp& warp, std::uint32_t n) {
    const Whole<Warp> team(warp);
    const auto again = team.once([&] {
      if (state_.before.arena == none || state_.before.live != 0) return std::uintptr_t{0};
      const WarpArena full = state_.now;
      state_.now = state_.before;
      state_.before = full;
      return cut(n);
    });
    if (again != 0) return reinterpret_cast<void*>(again);
    // Of the present arena and a new one, that with more room is kept open.
    const std::uint32_t change = team.once([&] {
      count_off();
      return state_.now.arena == none || n < state_.now.used ? 1u : 0u;
    });
    const std::uint32_t a = self_->claim(team, change != 0 ? open : 1, spread(warp));
    const auto block = team.once([&] {
      if (a == none) return reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(self_, n));
      if (change == 0) return reinterpret_cast<std::uintptr_t>(arenas_.place(a, 0));
      close(state_.before);
      state_.before = state_.now;
      state_.now = {.arena = a};
      return cut(n);
    });
    warp.sync();  // passes the claim's acquire on
    return reinterpret_cast<void*>(block);
  }

  SIMT_INLINE void* claim_span(Warp& warp, std::size_t bytes) {
    void* const block = self_->claim_span(Whole<Warp>(warp), bytes, spread(warp));
    warp.sync();  // passes the claim's acquire on
    return block;
  }
  SIMT_INLINE std::uint32_t spread(Warp& warp) const {
    const std::uint32_t arena = Whole<Warp>(warp).once([&] { return state_.now.arena; });
    return warp.worker() + arena * 40503u;
  }

  const Arenas& arenas_;
  const SharedArenas* self_;
  WarpState& state_;
};

}  // namespace heapwood::alloc::arena
