// SPDX-License-Identifier: MIT
// Where the parts of a pool of arenas lie, how they begin, and what there is in them at quiescence. Host code.
//   head (a copy of SharedArenas) | hints, a line each | slots | supers | counts | arenas | a rest
// Overhead: 4.1 bytes an arena, 128 a slot.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "alloc/arena/shared_arenas.hpp"

namespace heapwood::alloc::arena {

// Word i of each table. Every slot begins with an open arena, so that the first requests of a kernel find one.
struct BeginWords {
  SharedArenas shared;
  std::uint32_t supers;  // with padding
  SIMT_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    const Arenas& a = shared.arenas;
    const std::uint32_t slots = shared.slot_mask + 1;
    a.counts[i] = i < slots ? open : i < a.arenas && i - a.run_first >= a.reserve ? 0 : body;
    // Split where slots begin, and where runs of arenas are handed out.
    const std::uint32_t from_run = a.runs_begin_split() ? i * Arenas::group - a.run_first : a.run_room;
    const bool is_split = i * Arenas::group < slots || from_run < a.run_room;
    if (i < supers) a.supers[i] = i >= a.groups ? body : is_split ? split : 0;
    if (i < slots) {
      shared.slots[i * SharedArenas::slot_stride] = Slot(i, 0, 0).bits();
      shared.slots[i * SharedArenas::slot_stride + 1] = Refusals::none;
    }
  }
};

class Layout {
 public:
  static constexpr std::size_t smallest_pool = 4096;

  // An arena is about a 2,000th of the pool, and of 4 KiB at most, or of 8 or 16 where that leaves 6,144: larger ones are claimed
  // less often, but where each of 2,048 warps keeps two, a third for each must be left, for others and for blocks of more than one.
  // Warps that stay get 32 KiB where that leaves 12,288, and up to 256 where the room for warps has as many: the larger, the less often
  // a warp needs another one. Where lifetimes are mixed, a block that lives on would hold as much.
  // A sixteenth of the arenas may be open in slots, of which there are at most as many as the multiprocessors of a large GPU make
  // use of.
  static SharedArenas plan(Pool pool, bool warps_stay = false, std::size_t room_for_warps = 0) {
    SharedArenas shared;
    Arenas& a = shared.arenas;
    a.shift = std::clamp(simt::highest_bit(pool.bytes / 2048 + 1), least_shift, small_pool_shift);
    for (const std::size_t mebibytes : {48, 96}) a.shift += pool.bytes >> 20 >= mebibytes ? 1 : 0;
    if (warps_stay && pool.bytes / arenas_for_warps >> (most_shift + 1) > 0) {
      const unsigned roomy_shift = simt::highest_bit(room_for_warps / arenas_for_warps | 1);
      a.shift = std::clamp(roomy_shift, most_shift + 1, roomy_most_shift);
    }
    if (warps_stay && pool.bytes >> 20 >= 8 && pool.bytes >> 20 < 16) --a.shift;
    // The ids above are those of slots without an arena.
    const auto too_many = [&] {
      a.granules_each = 1u << (a.shift - 4);
      shared.most_in_slot = std::min(a.granules_each / 4, most_granules_in_slot);
      return (pool.bytes >> a.shift) + shared.most_in_slot >= Slot::no_arena;
    };
    while (too_many()) ++a.shift;
    for (std::uint64_t n = pool.bytes >> a.shift;; --n) {
      a.arenas = static_cast<std::uint32_t>(n);
      a.groups = (a.arenas + Arenas::group - 1) / Arenas::group;
      shared.slot_mask = std::min(most_slots, static_cast<std::uint32_t>(simt::bit_floor(n / 16 + 1))) - 1;
      const std::size_t slots_at = head_bytes + hints * line;
      const std::size_t supers_at = slots_at + (shared.slot_mask + 1) * line;
      const std::size_t counts_at = supers_at + round_up(supers(a) * sizeof(std::uint32_t), line);
      const std::size_t memory_at = round_up(counts_at + a.groups * line, 256);
      if (memory_at + (std::size_t{a.arenas} << a.shift) > pool.bytes) continue;
      // Runs of arenas lie where warps that stay do not begin (PrivateArena::claim), and not among superblocks, or few of them.
      const std::uint64_t quarter = std::max<std::uint64_t>(n / 4, 1);
      const bool roomy = a.shift > most_shift;
      a.run_room = static_cast<std::uint32_t>(simt::bit_floor(quarter));
      a.run_first = static_cast<std::uint32_t>(3 * quarter) - (roomy ? a.run_room : 0);
      // Kept from everybody else until a search is in vain: at most half of what is spare, so that none waits for it.
      const bool spare = room_for_warps / 2 >= std::size_t{a.run_room} << a.shift;
      a.reserve = roomy && spare ? a.run_room : 0;
      a.fresh = word(pool, head_bytes);
      a.tickets = word(pool, head_bytes + line);
      shared.slot_tickets = word(pool, head_bytes + 2 * line);
      a.runs = reinterpret_cast<std::uint64_t*>(pool.base + head_bytes + 3 * line);
      shared.slots = reinterpret_cast<std::uint64_t*>(pool.base + slots_at);
      a.supers = word(pool, supers_at);
      a.counts = word(pool, counts_at);
      a.memory = pool.base + memory_at;
      return shared;
    }
  }

  template <class Device>
  static void begin(Pool pool, const SharedArenas& shared, const Device& device) {
    const Arenas& a = shared.arenas;
    simt::device_fill(device.id(), pool.base, 0, head_bytes + hints * line);
    simt::device_upload(device.id(), pool.base, &shared, sizeof(shared));
    const std::uint32_t used = shared.slot_mask + 1;
    simt::device_upload(device.id(), a.fresh, &used, sizeof(used));
    device.for_each(std::size_t{a.groups} * Arenas::group, BeginWords{shared, supers(a)});
  }

  // Of an open arena in a slot, what has been handed out is used and the rest is free; if all blocks have been freed it is
  // free as a whole, as whoever finds no free arena takes it. Closed arenas with a block in use are used as a whole, and
  // so are those of warps. Free are runs of arenas in one superblock, and of superblocks without a used arena.
  template <class Visitor>
  static void walk(Pool pool, const SharedArenas& shared, const HostView& host, Visitor visit) {
    const Arenas& a = shared.arenas;
    auto counts = host.read(a.counts, std::size_t{a.groups} * Arenas::group);
    const auto supers = host.read(a.supers, a.groups);
    const auto slots = host.read(shared.slots, (shared.slot_mask + 1) * SharedArenas::slot_stride);
    for (std::uint64_t i = host.read(a.runs); i < a.reserve; ++i) counts[a.run_first + i] = 0;
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
    const auto empty = [&](std::uint32_t s) {
      if (s >= a.groups || is_span(supers[s])) return false;
      const auto first = counts.begin() + s * Arenas::group;
      return std::all_of(first, first + a.members(s), [](std::uint32_t c) { return c == 0; });
    };
    std::size_t at = 0;
    const auto add = [&](std::size_t bytes, Region::State state) {
      if (bytes > 0) visit(Region{at, bytes, state});
      at += bytes;
    };
    add(static_cast<std::size_t>(a.memory - pool.base), Region::State::metadata);
    for (std::uint32_t i = 0, n = 0; i < a.arenas; i += n) {
      const std::uint32_t s = i / Arenas::group, word = counts[i];
      n = 1;
      Region::State state = Region::State::used;
      if (i % Arenas::group == 0 && is_span(supers[s])) {
        n = std::min((supers[s] - span) * Arenas::group, a.arenas - i);
      } else if (i % Arenas::group == 0 && empty(s)) {
        state = Region::State::free;
        n = a.members(s);
        for (std::uint32_t next = s + 1; empty(next); ++next) n += a.members(next);
      } else if (word == 0) {
        state = Region::State::free;
        while ((i + n) % Arenas::group != 0 && i + n < a.arenas && counts[i + n] == 0) ++n;
      } else if (is_span(word)) {
        n = word - span;
      } else if (const auto slot = in_slot.find(i); slot != in_slot.end()) {
        const std::size_t filled = std::size_t{slot->second.granules()} * granule;
        add(filled, Region::State::used);
        add(a.arena_bytes() - filled, Region::State::free);
        continue;
      }
      if (n == 0 || n > a.arenas - i)
        throw Error(Exit::failed, "heapwood: arena " + std::to_string(i) + " is within no block");
      add(std::size_t{n} << a.shift, state);
    }
    add(pool.bytes - at, Region::State::metadata);
  }

 private:
  static constexpr unsigned least_shift = 8, small_pool_shift = 12, most_shift = 14, roomy_most_shift = 18;
  static constexpr std::size_t arenas_for_warps = 12288;
  static constexpr std::uint32_t most_slots = 2048;
  // Else all lanes that share a slot could make its 24 bits wrap.
  static constexpr std::uint32_t most_granules_in_slot = 512;
  static constexpr std::size_t head_bytes = 256, line = 128, hints = 4;
  static_assert(sizeof(SharedArenas) <= head_bytes);
  static_assert(Arenas::group * sizeof(std::uint32_t) == line);

  static std::uint32_t* word(Pool pool, std::size_t at) { return reinterpret_cast<std::uint32_t*>(pool.base + at); }
  // Words of the superblocks' table: padded to what a search looks at together.
  static std::uint32_t supers(const Arenas& a) { return (a.groups + 31) / 32 * 32; }
};

}  // namespace heapwood::alloc::arena
