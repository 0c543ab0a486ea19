// SPDX-License-Identifier: MIT
// The layout of a pool of arenas, its initial state, and a walk over its regions at quiescence.
// Host code.
//   head (a copy of SharedArenas) | hints, one line each | slots | superblock words | counts |
//   arenas | unused remainder
// Overhead: 4.1 bytes per arena and 128 bytes per slot.
#pragma once

#include <algorithm>
#include <map>

#include "alloc/heapwood/arena_walk.hpp"
#include "alloc/heapwood/shared_arenas.hpp"

namespace heapwood::alloc::arena {

// Writes word i of each table. Each slot starts with an open arena installed, so the first requests
// of a kernel are served without a claim.
struct InitialWords {
  SharedArenas shared;
  std::uint32_t padded_superblocks;
  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    const Arenas& a = shared.arenas;
    const std::uint32_t slots = shared.slot_mask + 1;
    const bool is_free = i >= a.fresh_end && i < a.arenas && i - a.run_first >= a.reserve;
    a.counts[i] = i < slots ? open : is_free ? 0 : body;
    // Superblocks are split from the start where slots have their first arenas, where high_water
    // gives arenas away, and where runs are allocated.
    const std::uint32_t first = i * Arenas::per_superblock;
    const std::uint32_t offset_in_runs =
        a.runs_begin_split() ? first - a.run_first : a.run_capacity;
    const bool is_split = first < slots || first < a.fresh_end || offset_in_runs < a.run_capacity;
    if (i < padded_superblocks)
      a.superblock_words[i] = i >= a.superblocks ? body : is_split ? split : 0;
    if (i < slots) {
      shared.slots[i * SharedArenas::slot_stride] = Slot(i, 0, 0).bits();
      shared.slots[i * SharedArenas::slot_stride + 1] = Refusals::none;
    }
  }
};

class Layout {
 public:
  static constexpr std::size_t smallest_pool = 4096;

  // Chooses the arena size and lays out the tables.
  //
  // An arena is about 1/2000 of the pool and at most 4 KiB, or 8 or 16 KiB if that leaves at least
  // 6,144 arenas. Larger arenas are claimed less often, but each of 2,048 warps needs three: one
  // that it fills and two for blocks that outlive it and for blocks of several arenas.
  //
  // With persistent warps an arena is 2 KiB from 8 to 10 MiB and 8 KiB from 24 MiB on, because
  // builders launch fewer warps where memory is scarce, 32 KiB if that leaves at least 12,288
  // arenas, and 16 to 256 KiB if the memory that is spare for warps holds 3,800 arenas, enough to
  // be ample for 2,640 warps. Larger arenas let a warp claim less often; the cost is that with
  // mixed lifetimes one long-lived block pins a whole arena. The limits are measured
  // (docs/experiments.md).
  //
  // About 1/16 of the arenas are open in slots, and there are at most as many slots as the
  // multiprocessors of a large GPU use: 8 each, or 16 each if there are 4,096, so that the first
  // requests of all resident warps find space in the slots' first arenas. With fewer, several
  // multiprocessors would share each slot, and a pool would take longer to become full
  // (docs/experiments.md).
  static SharedArenas plan(Pool pool, bool has_persistent_warps = false,
                           std::size_t spare_bytes_for_warps = 0) {
    SharedArenas shared;
    Arenas& a = shared.arenas;
    a.shift = std::clamp(simt::highest_bit(pool.bytes / 2048 + 1), min_shift, small_pool_shift);
    for (const std::size_t mebibytes :
         {std::size_t{has_persistent_warps ? 24u : 48u}, std::size_t{96}})
      a.shift += pool.bytes >> 20 >= mebibytes ? 1 : 0;
    if (has_persistent_warps) {
      unsigned shift = simt::highest_bit(spare_bytes_for_warps / min_spare_arenas | 1);
      if (pool.bytes / min_arenas_for_warps >> (max_shift + 1) > 0)
        shift = std::max(shift, max_shift + 1);
      a.shift = std::max(a.shift, std::min(shift, max_persistent_shift));
    }
    if (has_persistent_warps && pool.bytes >> 20 >= 8 && pool.bytes >> 20 < 10) --a.shift;
    // Arena ids at the top of the range encode slots without an arena (Slot), so they must stay
    // unused.
    const auto ids_overflow = [&] {
      a.granules_per_arena = 1u << (a.shift - 4);
      shared.max_slot_request = std::min(a.granules_per_arena / 4, slot_request_limit);
      return (pool.bytes >> a.shift) + a.granules_per_arena >= Slot::no_arena;
    };
    while (ids_overflow()) ++a.shift;
    for (std::uint64_t n = pool.bytes >> a.shift;; --n) {
      a.arenas = static_cast<std::uint32_t>(n);
      a.superblocks = (a.arenas + Arenas::per_superblock - 1) / Arenas::per_superblock;
      shared.slot_mask =
          std::min(max_slots, static_cast<std::uint32_t>(simt::bit_floor(n / 16 + 1))) - 1;
      shared.slots_per_multiprocessor = shared.slot_mask + 1 == max_slots ? 16 : 8;
      const std::size_t slots_at = head_bytes + hints * line;
      const std::size_t superblocks_at = slots_at + (shared.slot_mask + 1) * line;
      const std::size_t counts_at =
          superblocks_at + round_up(a.padded_superblocks() * sizeof(std::uint32_t), line);
      const std::size_t memory_at = round_up(counts_at + a.superblocks * line, 256);
      if (memory_at + (std::size_t{a.arenas} << a.shift) > pool.bytes) continue;
      // Runs are placed away from the arenas that persistent warps claim first
      // (PrivateArena::claim_initial_arena), and end where the last quarter begins: spans of
      // superblocks are taken from the pool's end, and need superblocks that are not split.
      const std::uint64_t quarter = std::max<std::uint64_t>(n / 4, 1);
      const bool has_large_arenas = a.shift >= max_shift;
      a.run_capacity = static_cast<std::uint32_t>(simt::bit_floor(quarter));
      a.run_first = static_cast<std::uint32_t>(3 * quarter) - a.run_capacity;
      // The reserve is hidden from all other allocations until a search fails. It is at most half
      // of the spare memory, so that no request has to wait for memory held in it.
      const bool has_spare_memory = spare_bytes_for_warps / 2 >= std::size_t{a.run_capacity}
                                                                     << a.shift;
      a.reserve = has_large_arenas && has_spare_memory ? a.run_capacity : 0;
      // Half of the arenas, in whole superblocks, which start out split. Large blocks find the
      // other half whole.
      const std::uint32_t half = a.arenas / 2 / Arenas::per_superblock * Arenas::per_superblock;
      a.fresh_end = has_persistent_warps ? 0 : half;
      shared.spare_arenas = static_cast<std::uint32_t>(spare_bytes_for_warps >> a.shift);
      // One for each warp, and some for large blocks and for blocks that outlive their warp's
      // arena: 1.4 spare ones, or 1.6 of at most 4 KiB; where it is not known what is spare, four
      // of any kind.
      const std::uint32_t spare = shared.spare_arenas;
      shared.max_ample_warps = !has_persistent_warps         ? a.arenas / 4
                               : a.shift <= small_pool_shift ? spare / 8 * 5
                                                             : spare / 10 * 7;
      a.high_water = word(pool, head_bytes);
      a.search_tickets = word(pool, head_bytes + line);
      shared.slot_search_tickets = word(pool, head_bytes + 2 * line);
      a.collects = shared.slot_search_tickets + 1;
      a.run_tickets = reinterpret_cast<std::uint64_t*>(pool.base + head_bytes + 3 * line);
      shared.slots = reinterpret_cast<std::uint64_t*>(pool.base + slots_at);
      a.superblock_words = word(pool, superblocks_at);
      a.counts = word(pool, counts_at);
      a.memory = pool.base + memory_at;
      return shared;
    }
  }

  template <class Device>
  static void initialize(Pool pool, const SharedArenas& shared, const Device& device) {
    const Arenas& a = shared.arenas;
    simt::device_fill(device.id(), pool.base, 0, head_bytes + hints * line);
    simt::device_upload(device.id(), pool.base, &shared, sizeof(shared));
    const std::uint32_t used = shared.slot_mask + 1;
    simt::device_upload(device.id(), a.high_water, &used, sizeof(used));
    device.for_each(std::size_t{a.superblocks} * Arenas::per_superblock,
                    InitialWords{shared, a.padded_superblocks()});
  }

  // Visits the regions of the pool in order of offset.
  //
  // In an open arena of a slot the part handed out is used and the rest is free. If all of its
  // blocks have been freed, the whole arena is free, because a failed claim retires it. A closed
  // arena with a live block is used as a whole, and so is a warp's own arena. The rest is as
  // walk_arenas() says.
  template <class Visitor>
  static void walk(Pool pool, const SharedArenas& shared, const HostView& host, Visitor visit) {
    const Arenas& a = shared.arenas;
    auto counts = host.read(a.counts, std::size_t{a.superblocks} * Arenas::per_superblock);
    const auto superblocks = host.read(a.superblock_words, a.superblocks);
    const auto slots = host.read(shared.slots, (shared.slot_mask + 1) * SharedArenas::slot_stride);
    for (std::uint64_t i = host.read(a.run_tickets); i < a.reserve; ++i)
      counts[a.run_first + i] = 0;
    for (std::uint32_t i = host.read(a.high_water); i < a.fresh_end; ++i) counts[i] = 0;
    std::map<std::uint32_t, Slot> in_slot;
    for (std::uint32_t i = 0; i <= shared.slot_mask; ++i) {
      const Slot slot(slots[i * SharedArenas::slot_stride]);
      if (slot.granules() > a.granules() || slot.arena() == Slot::no_arena) continue;
      if (counts[slot.arena()] == open - slot.blocks()) {
        counts[slot.arena()] = 0;
      } else {
        in_slot.emplace(slot.arena(), slot);
      }
    }
    walk_arenas(pool, a, counts, superblocks, visit, [&](std::uint32_t i, auto add) {
      const auto slot = in_slot.find(i);
      if (slot == in_slot.end()) return 0u;
      const std::size_t filled = std::size_t{slot->second.granules()} * granule;
      add(filled, Region::State::used);
      add(a.arena_bytes() - filled, Region::State::free);
      return 1u;
    });
  }

 private:
  static constexpr unsigned min_shift = 8, small_pool_shift = 12, max_shift = 14,
                            max_persistent_shift = 18;
  static constexpr std::size_t min_arenas_for_warps = 12288, min_spare_arenas = 3800;
  static constexpr std::uint32_t max_slots = 4096;
  // Limits what the lanes that share a slot can add to its 24-bit granule counter
  // (shared_arenas.hpp).
  static constexpr std::uint32_t slot_request_limit = 512;
  static constexpr std::size_t head_bytes = 256, line = 128, hints = 4;
  static_assert(sizeof(SharedArenas) <= head_bytes);
  static_assert(Arenas::per_superblock * sizeof(std::uint32_t) == line);

  static std::uint32_t* word(Pool pool, std::size_t at) {
    return reinterpret_cast<std::uint32_t*>(pool.base + at);
  }
};

}  // namespace heapwood::alloc::arena
