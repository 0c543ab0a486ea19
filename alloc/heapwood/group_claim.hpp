// SPDX-License-Identifier: MIT
// Claiming arenas by several lanes together, without a search: one for a whole warp, or one for
// each of some lanes of a group.
#pragma once

#include <cstdint>

#include "alloc/heapwood/arenas.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

// Claims an arena for each lane that `claims`, without a search; on success its count is `value`.
// The lanes read the counts of one superblock together and share the free arenas there; those that
// get none take fresh arenas with one add. `seed` selects the superblock, `used` is the result of
// used_arenas(); both are the same in all lanes. Returns the arena, or `none`.
template <class Thread>
HEAPWOOD_INLINE std::uint32_t claim_for_lanes(const Arenas& arenas, const Thread& thread,
                                              const LaneGroup<Thread>& group, bool claims,
                                              std::uint32_t value, std::uint32_t seed,
                                              std::uint32_t used) {
  constexpr std::uint32_t per_superblock = Arenas::per_superblock;
  const std::uint32_t s = Arenas::scaled(Arenas::hashed(seed + used), used) / per_superblock;
  // Fewer than four lanes read a part of the superblock: the loads of one lane wait for each other.
  const std::uint32_t width = group.size() < 4 ? SingleLane::mask_width : per_superblock;
  // relaxed, here and in the loop: only a candidate; the exchange decides.
  const bool in_span = is_span(arenas.superblock(s).load(simt::relaxed));
  std::uint32_t bits = 0;
  HEAPWOOD_ROLLED
  for (std::uint32_t i = group.rank(); i < width; i += group.size()) {
    const bool is_free = arenas.count(s * per_superblock + i).load(simt::relaxed) == 0;
    bits |= std::uint32_t{is_free} << i;
  }
  bits = static_cast<std::uint32_t>(group.reduce_or(in_span ? 0 : bits));

  const auto lanes_with = [&](bool has) {
    return group.has_one_lane() ? (has ? group.lanes() : 0) : thread.ballot(group.lanes(), has);
  };
  const std::uint32_t lower_lanes = (1u << thread.lane()) - 1;
  std::uint32_t a = none;
  const std::uint32_t rank = simt::popcount(lanes_with(claims) & lower_lanes);
  if (claims && rank < simt::popcount(bits)) {
    a = s * per_superblock + nth_bit(bits, rank);
    if (!arenas.take_arena(a, value)) a = none;
  }
  if (used == arenas.arenas) return a;
  const bool is_left = claims && a == none;
  const std::uint32_t left = lanes_with(is_left);
  if (left == 0) return a;
  // relaxed: as in Arenas::take_unused().
  const std::uint32_t first = group.once([&] {
    return Arenas::Word(*arenas.high_water).fetch_add(simt::popcount(left), simt::relaxed);
  });
  const std::uint32_t next = first + simt::popcount(left & lower_lanes);
  return is_left && next < arenas.arenas && arenas.take_fresh(next, value) ? next : a;
}

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
      return a < arenas.arenas && arenas.take_fresh(a, value, bits == 0) ? a : none;
    });
  }
  return taken;
}

}  // namespace heapwood::alloc::arena
