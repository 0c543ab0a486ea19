// SPDX-License-Identifier: MIT
// The state of a warp's own arena (private_arena.hpp), kept in the warp's fast memory.
#pragma once

#include "alloc/heapwood/shared_arenas.hpp"

namespace heapwood::alloc::arena {

// An arena owned by a warp. The initial state stands for no arena: it has no space, contains no
// block, and is never empty.
struct alignas(16) WarpArena {
  std::uint32_t used = 1u << 26;  // granules allocated
  std::uint32_t live = 1;         // blocks allocated and not freed by this warp
  std::byte* base = nullptr;

  SIMT_INLINE bool contains(const void* block, const Arenas& arenas) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - base) <
           std::size_t{arenas.granules()} * granule;
  }
  SIMT_INLINE std::uint32_t index(const Arenas& arenas) const { return arenas.index(base); }
};

struct WarpState {
  // With the warp's own arena, the counts to change are as many as a GPU's warp has lanes, and a
  // flush changes all of them in one step.
  static constexpr std::uint32_t max_deferred = 31;

  WarpArena own;
  std::uint32_t known_used = 0;  // arenas that have been in use, as far as this warp knows
  std::uint32_t deferred_count = 0;
  // Arenas are ample (SharedArenas::max_ample_warps), so a warp may hold its own while it waits.
  bool has_ample_arenas = false;
  // There are at least as many arenas as warps, so a warp may hold one while it has work.
  bool keeps_arena = false;
  // Arenas are ample and the reserve is not used up, as far as this warp knows.
  bool has_reserve = false;
  std::byte* deferred[max_deferred];   // frees of other arenas' blocks, not applied yet
  const SharedArenas* self = nullptr;  // the copy in the pool
  // A copy of its arenas, which saves an access to L2 after each acquire.
  Arenas arenas;
};

}  // namespace heapwood::alloc::arena
