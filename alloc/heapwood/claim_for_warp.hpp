// SPDX-License-Identifier: MIT
// How a warp with a context claims its next arena (private_arena.hpp).
#pragma once

#include "alloc/heapwood/arenas.hpp"

namespace heapwood::alloc::arena {

// Claims one arena for a whole warp without a search.
//
// Reads 32 counts at a random place among the first `known` arenas and tries to take a free one.
// If none is free there, takes the next fresh arena and updates `known`, which the warp
// keeps in its fast memory. Once 3/8 of the pool has been used it first tries three more places:
// single used arenas spread all over the pool would leave no space for large blocks.
//
// Kept short because it is called from kernels that fill the instruction cache, where a rarely
// run function costs more by the code that it evicts than by its own execution.
template <class Warp>
HEAPWOOD_INLINE std::uint32_t claim_for_warp(const Arenas& arenas, Warp& warp, std::uint32_t value,
                                             std::uint32_t seed, std::uint32_t& known) {
  constexpr std::uint32_t per_superblock = Arenas::per_superblock;
  const Arenas::Word high_water(*arenas.high_water);
  const WholeWarp<Warp> team(warp);
  const std::uint32_t used = known;
  team.sync();  // all lanes have read `known`
  std::uint32_t taken = none;
  HEAPWOOD_ROLLED
  for (std::uint32_t attempt = 0; attempt < Arenas::attempts && taken == none; ++attempt) {
    const std::uint32_t hash = Arenas::hashed(seed + used + attempt);
    std::uint32_t a = Arenas::scaled(hash, used) & ~(per_superblock - 1);
    std::uint32_t* const words = arenas.counts + a;
    // relaxed: only a candidate; the exchange decides.
    const std::uint32_t bits =
        team.mask([&](std::uint32_t i) { return Arenas::Word(words[i]).load(simt::relaxed) == 0; });
    const std::uint32_t behind = bits & ~0u << (hash >> 8) % per_superblock;
    a += simt::lowest_bit(behind != 0 ? behind : bits);
    taken = team.once([&] {
      if (bits == 0) {
        if (used > arenas.arenas / 8 * 3 && attempt + 1 < Arenas::attempts) return none;
        // relaxed: the counts decide.
        a = used < arenas.arenas ? high_water.fetch_add(1, simt::relaxed) : none;
        if (a - arenas.run_first < arenas.reserve)
          high_water.fetch_max(arenas.run_first + arenas.reserve, simt::relaxed);
        known = a < arenas.arenas ? a + 1 : arenas.arenas;
      }
      if (a >= arenas.arenas) return none;
      if (bits == 0 && a < arenas.fresh_end) {
        arenas.count(a).store(value, simt::relaxed);  // relaxed: as in Arenas::take_unused()
        return a;
      }
      return arenas.take_arena(a, value) ? a : none;
    });
  }
  return taken;
}

}  // namespace heapwood::alloc::arena
