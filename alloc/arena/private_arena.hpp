// SPDX-License-Identifier: MIT
// A warp's own arena, for kernels whose warps allocate and free all the time: a block is cut off with no access to memory
// at all. The state is three numbers, the same in all lanes. The context of an allocator (alloc/allocator.hpp).
//
// What the warp frees of its open arena stays its own affair: the block handed out last is taken back, and when all are
// free the arena begins anew. Blocks of other arenas are counted off there, like everybody's.
// Why an arena with no block in use may begin anew: `live` counts the blocks that were handed out and not freed by this
// warp; where that is 0 all have been freed here, so that nobody else has changed the count or will.
#pragma once

#include "alloc/arena/shared_arenas.hpp"

namespace heapwood::alloc::arena {

template <class Warp>
class PrivateArena {
 public:
  // `self` is the copy of `shared` in the pool.
  SIMT_INLINE PrivateArena(const SharedArenas& shared, const SharedArenas* self)
      : arenas_(shared.arenas), self_(self), state_(shared.arenas.granules()) {}

  SIMT_INLINE void* allocate(Warp& warp, std::size_t bytes) {
    if (bytes > arenas_.arena_bytes()) return claim_span(self_, warp, bytes, spread(warp));
    const auto n = static_cast<std::uint32_t>(padded(bytes) / granule);
    if (used() + n > arenas_.granules()) return from_new_arena(warp, n);
    void* const block = arenas_.place(arena_, used());
    state_ += one_block + n;
    return block;
  }

  // `bytes` as asked for. All lanes are done with the block, and have said so by a sync.
  SIMT_INLINE void deallocate(Warp& warp, void* block, std::size_t bytes) {
    if (block == nullptr) return;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - arenas_.memory);
    const auto a = static_cast<std::uint32_t>(offset >> arenas_.shift);
    if (a == arena_) {
      const auto at = static_cast<std::uint32_t>(offset & (arenas_.arena_bytes() - 1)) / granule;
      state_ = (state_ - one_block) | freed;
      if (live() == 0) {
        state_ = freed;
      } else if (at + padded(bytes) / granule == used()) {
        state_ -= used() - at;
      }
    } else if (bytes > arenas_.arena_bytes()) {
      give_span(&self_->arenas, warp, a);
    } else if (warp.lane() == 0) {
      arenas_.count(a).fetch_sub(1, simt::release);  // release: hands the block over
    }
  }

  // At the end of the kernel. A warp that stops without it keeps its arena until the pool is laid out anew.
  SIMT_INLINE void end(Warp& warp) {
    if (arena_ == none || warp.lane() != 0) return;
    if ((state_ & freed) != 0) {
      // release: hands the blocks that were freed here over.
      arenas_.count(arena_).fetch_add(live() - open, simt::release);
    } else {
      arenas_.close(arena_, live());
    }
  }

 private:
  SIMT_INLINE std::uint32_t spread(const Warp& warp) const { return (warp.worker() + arena_ * 40503u) * 2654435769u; }

  // Of the open arena and a new one, that with more room is kept open.
  SIMT_INLINE void* from_new_arena(Warp& warp, std::uint32_t n) {
    const bool change = n < used();
    const std::uint32_t a = claim(self_, warp, change ? open : 1, spread(warp));
    if (a == none) return elsewhere(self_, warp, n);
    if (change) {
      end(warp);
      arena_ = a;
      state_ = one_block + n;
    }
    return arenas_.place(a, 0);
  }

  // Out of line, and the warp by value: the address of what lives in registers must not escape. The sync passes the
  // claim's acquire on to all lanes, and orders all lanes' accesses before the release.
  static SIMT_INLINE std::uint32_t claim(const SharedArenas* self, Warp warp, std::uint32_t value,
                                         std::uint32_t spread) {
    const std::uint32_t a = self->claim(Whole<Warp>(warp), value, spread);
    warp.sync();
    return a;
  }
  static SIMT_INLINE void* claim_span(const SharedArenas* self, Warp warp, std::size_t bytes, std::uint32_t spread) {
    void* const block = self->claim_span(Whole<Warp>(warp), bytes, spread);
    warp.sync();
    return block;
  }
  static SIMT_INLINE void give_span(const Arenas* arenas, Warp warp, std::uint32_t a) {
    warp.sync();
    arenas->give_span(Whole<Warp>(warp), a);
  }
  static SIMT_INLINE void* elsewhere(const SharedArenas* self, Warp warp, std::uint32_t n) {
    const Whole<Warp> team(warp);
    void* const block = reinterpret_cast<void*>(
        team.once([&] { return reinterpret_cast<std::uintptr_t>(SharedArenas::elsewhere(self, n)); }));
    warp.sync();
    return block;
  }

  const Arenas& arenas_;
  const SharedArenas* self_;
  // {this warp has freed blocks of the arena:1 | blocks handed out and not freed by this warp:15 | granules handed out:16}:
  // registers are what the kernels that this is for are short of.
  static constexpr std::uint32_t one_block = 1u << 16, freed = 1u << 31;
  SIMT_INLINE std::uint32_t used() const { return state_ & 0xffffu; }
  SIMT_INLINE std::uint32_t live() const { return state_ >> 16 & 0x7fffu; }

  std::uint32_t arena_ = none;
  std::uint32_t state_;
};

}  // namespace heapwood::alloc::arena
