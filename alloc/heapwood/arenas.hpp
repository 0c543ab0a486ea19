// SPDX-License-Identifier: MIT
// A pool divided into arenas of equal size, grouped into superblocks of 32. The state of an arena
// is one word, its count of live blocks. An arena whose count is 0 is free, whichever operation
// brought it to 0. Own design. The values of the words are in words.hpp.
//
// Invariants, each maintained by one atomic operation or by the order of two (proofs in
// docs/own-allocator.md):
//   1. A word belongs to the thread that changed it from 0. All other threads may only subtract
//      from a count what was added on their behalf.
//   2. While another thread holds a count of a superblock (it is not 0), the superblock stays
//      `split` or `locked`: unsplit() makes it free only after it has taken all of its counts.
//   3. A thread that takes a count checks the superblock afterwards, and undoes the claim if the
//      superblock belongs to a span.
// All changes are read-modify-writes, which extend release sequences, so an acquire of a word
// synchronizes with every earlier release on it. The exception is the first count of a fresh or
// reserved arena, a plain store: no owner precedes it, so there is no release to pass on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloc/allocator.hpp"
#include "alloc/heapwood/words.hpp"

namespace heapwood::alloc::arena {

class Arenas {
 public:
  static constexpr std::uint32_t per_superblock = 32;
  static constexpr std::uint32_t attempts = 4;  // of a claim without a search

  using Word = simt::atomic_ref<std::uint32_t>;

  // The shape is set by Layout (layout.hpp).
  std::byte* memory = nullptr;
  std::uint32_t* counts = nullptr;            // padded to whole superblocks with `body`
  std::uint32_t* superblock_words = nullptr;  // padded to a multiple of 32 with `body`
  // Arenas from this one on have probably never been used. Below fresh_end, the thread whose add
  // returns an index owns that arena; above, the value is only a hint.
  std::uint32_t* high_water = nullptr;
  // Tickets: arenas of the reserve, and superblocks for claim_superblock_runs, handed out so far.
  // 64 bits, so they never wrap.
  std::uint64_t* run_tickets = nullptr;
  // Tickets of the cooperative searches for r free arenas side by side, r = 1 to 32.
  std::uint32_t* search_tickets = nullptr;
  std::uint32_t* collects = nullptr;  // 1 while a warp collects a run (run_collector.hpp)
  std::uint32_t arenas = 0;
  std::uint32_t superblocks = 0;  // the last one may have fewer arenas
  std::uint32_t shift = 0;        // log2 of an arena's bytes
  // The range of arenas in which runs are allocated; the capacity is a power of two.
  std::uint32_t run_first = 0, run_capacity = 0;
  // Arenas of that range that start out as taken: all of them, or none (take_reserved).
  std::uint32_t reserve = 0;
  // Arenas from the initial `high_water` up to this one start with the count `body`: no search
  // finds them, and the thread that high_water gives one to owns it immediately. 0 with persistent
  // warps.
  std::uint32_t fresh_end = 0;
  // Per arena. Stored, not derived from `shift`: each allocation from a warp's own arena reads it.
  std::uint32_t granules = 0;

  HEAPWOOD_INLINE std::uint32_t arena_bytes() const { return 1u << shift; }
  HEAPWOOD_INLINE std::byte* address(std::uint32_t arena, std::uint32_t granule_in_it) const {
    return memory + (std::size_t{arena} << shift) + std::size_t{granule_in_it} * granule;
  }
  // Returns the index of the arena that contains a block.
  HEAPWOOD_INLINE std::uint32_t index(const void* block) const {
    return static_cast<std::uint32_t>(
        static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory) >> shift);
  }
  HEAPWOOD_INLINE Word count(std::uint32_t a) const { return Word(counts[a]); }
  HEAPWOOD_INLINE Word superblock(std::uint32_t s) const { return Word(superblock_words[s]); }
  // Whether arena a is in a span of superblocks. relaxed: a hint.
  HEAPWOOD_INLINE bool is_in_span(std::uint32_t a) const {
    return is_span(superblock(a / per_superblock).load(simt::relaxed));
  }
  // Advances high_water past the span of superblocks that arena a is in, if any. relaxed: a hint.
  HEAPWOOD_INLINE void advance_past_span(std::uint32_t a) const {
    if (is_in_span(a))
      Word(*high_water).fetch_max((a / per_superblock + 1) * per_superblock, simt::relaxed);
  }
  // Number of superblock words, padded to the width of one look by a search.
  HEAPWOOD_INLINE static std::uint32_t padded(std::uint32_t superblocks) {
    return (superblocks + 31) / 32 * 32;
  }
  HEAPWOOD_INLINE std::uint32_t arenas_in(std::uint32_t s) const {
    return s + 1 < superblocks ? per_superblock : arenas - (superblocks - 1) * per_superblock;
  }

  // Hashes a seed to the start of a search.
  HEAPWOOD_INLINE static std::uint32_t hashed(std::uint32_t number) {
    return number * 2654435769u;  // multiples of the golden ratio are spread evenly
  }
  HEAPWOOD_INLINE static std::uint32_t scaled(std::uint32_t hash, std::uint32_t below) {
    return static_cast<std::uint32_t>((std::uint64_t{hash} * below) >> 32);
  }

  // Number of arenas that have been used so far; searches start below it.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t used_arenas(const Team& team) const {
    // relaxed: a hint.
    const std::uint32_t seen = team.once([&] { return Word(*high_water).load(simt::relaxed); });
    return seen < arenas ? seen : arenas;
  }
  // The number of superblocks that r arenas fill.
  HEAPWOOD_INLINE static std::uint32_t superblocks_for(std::uint32_t r) {
    return (r + per_superblock - 1) / per_superblock;
  }
  // Claims arena a for the calling lane; on success its count is `value`.
  HEAPWOOD_INLINE bool take_arena(std::uint32_t a, std::uint32_t value) const {
    std::uint32_t expected = 0;
    // acquire: synchronizes with the frees of the last owner.
    if (!count(a).compare_exchange_strong(expected, value, simt::acquire, simt::relaxed))
      return false;
    if (ensure_split(a / per_superblock)) return true;
    undo_claim(a, value);
    return false;
  }
  // Makes the arenas from a to fresh_end, which high_water gave to the calling lane, available to
  // all allocations. Returns their number.
  HEAPWOOD_INLINE std::uint32_t release_fresh_from(std::uint32_t a) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = a; i < fresh_end; ++i) undo_claim(i, body);
    return a < fresh_end ? fresh_end - a : 0;
  }
  // Takes one of the free arenas at `first`; `turn` selects which one is tried first.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t take_any_at(const Team& team, std::uint32_t first,
                                            std::uint32_t value, std::uint32_t turn) const {
    std::uint32_t bits = free_mask(team, first);
    HEAPWOOD_ROLLED
    while (bits != 0) {
      const std::uint32_t behind = bits & ~0u << turn % Team::mask_width;
      const std::uint32_t i = simt::lowest_bit(behind != 0 ? behind : bits);
      if (team.once([&] { return take_arena(first + i, value) ? 1u : 0u; }) != 0) return first + i;
      bits &= ~(1u << i);
    }
    return none;
  }
  // Claims r adjacent arenas (at most 32) and sets the first one's count to `value`. `seed` selects
  // where the search starts and should differ between callers. Searches the whole pool only if
  // `thorough`, which reads every count.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t claim(const Team& team, std::uint32_t r, std::uint32_t value,
                                      std::uint32_t seed, bool thorough) const {
    const std::uint32_t used = used_arenas(team), hash = hashed(seed + used);
    const std::uint32_t first = scaled(hash, used);
    std::uint32_t a = r == 1 ? take_any_at(team, first & ~(Team::mask_width - 1), value, hash >> 8)
                             : take_run(team, first / per_superblock, r, value);
    if (a == none && used < arenas) a = take_unused(team, r, value);
    if (a != none || !thorough) return a;
    if (r > 1) return search_run(team, r, value);
    return cooperative_search(team, *search_tickets, superblocks, [&](std::uint32_t s) {
      std::uint32_t found = none;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < per_superblock && found == none; i += Team::mask_width)
        found = take_any_at(team, s * per_superblock + i, value, 0);
      return found;
    });
  }
  // Claims arenas side by side for one block of `first` granules, or for two (`second` may be 0),
  // without a search: looks at a few superblocks of the range chosen by Layout. Fails if the blocks
  // together need more than 32 arenas. Single arenas are claimed from the start of the pool.
  template <class Warp>
  HEAPWOOD_INLINE BlockPair claim_runs(Warp& warp, std::uint32_t first, std::uint32_t second,
                                       std::uint32_t seed) const {
    const WholeWarp<Warp> team(warp);
    const std::uint32_t n = arenas_for(first), more = arenas_for(second), all = n + more;
    std::uint32_t a = none;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < attempts && all <= per_superblock && a == none; ++i) {
      const std::uint32_t s = scaled(hashed(seed + i), run_capacity / per_superblock);
      a = take_run(team, run_first / per_superblock + s, all, head_word(all));
    }
    if (a == none) return {};
    if (n != 0 && more != 0 && team.first() == 0) {
      // relaxed: the thread that frees a block received it from this thread.
      count(a).fetch_add(head_word(n) - head_word(all), simt::relaxed);
      count(a + n).fetch_add(head_word(more) - body, simt::relaxed);
    }
    team.sync();  // makes the acquires visible to all lanes
    return {address(a, 0), address(a + n, 0)};
  }
  // Claims one or two blocks of more than 32 arenas each, in superblocks, which a ticket hands out
  // in turn: those of the pool's last quarter, from its end. Fails if the blocks together need more
  // than 1/8 of the pool's arenas, or one of them 1 to 32 arenas.
  template <class Warp>
  HEAPWOOD_INLINE BlockPair claim_superblock_runs(Warp& warp, std::uint32_t first,
                                                  std::uint32_t second) const {
    const WholeWarp<Warp> team(warp);
    const std::uint32_t r0 = arenas_for(first), r1 = arenas_for(second);
    if (r0 + r1 > arenas / 8 || r0 - 1 < per_superblock || r1 - 1 < per_superblock) return {};
    const std::uint32_t n = superblocks_for(r0), more = superblocks_for(r1), all = n + more;
    const auto value = [&](std::uint32_t i) {
      return i == n ? span + more : i == 0 ? span + n : body;  // n may be 0
    };
    // The last superblock may have fewer arenas, so it is excluded. A power of two, so that a mask
    // maps tickets to places.
    const auto capacity = static_cast<std::uint32_t>(simt::bit_floor((superblocks - 1) / 4));
    HEAPWOOD_ROLLED
    for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
      // relaxed: only a hint; the superblocks decide.
      const std::uint64_t ticket =
          team.once([&] { return simt::global_ref(run_tickets[1]).fetch_add(all, simt::relaxed); });
      const std::uint32_t below = static_cast<std::uint32_t>(ticket) & (capacity - 1);
      if (all > capacity - below) continue;
      const std::uint32_t s = superblocks - 1 - below - all;
      if (!take_words(team, superblock_words + s, all, value)) continue;
      team.sync();  // makes the acquires visible to all lanes
      return {address(s * per_superblock, 0), address((s + n) * per_superblock, 0)};
    }
    return {};
  }
  // Takes n and then `more` arenas of the reserve, from offset `below`. Returns false if the
  // reserve does not contain all of them; then releases the part that it does contain.
  //
  // The reserve is the range for runs where memory is spare. Its counts start out as `body`, so no
  // search finds an arena there. Tickets of run_tickets[0] hand out each part once, without reading
  // the counts; only the first count of each block is written. A thread whose search fails releases
  // the rest of the reserve: these arenas are then like all others.
  template <class Team>
  HEAPWOOD_INLINE bool take_reserved(const Team& team, std::uint32_t below, std::uint32_t n,
                                     std::uint32_t more) const {
    const bool fits = n + more <= reserve - below;
    if (!fits) {
      release_reserved_from(team, below);
    } else if (team.first() == 0) {
      // relaxed: a thread that frees the block received it from this thread.
      if (n != 0) count(run_first + below).store(head_word(n), simt::relaxed);
      if (more != 0) count(run_first + below + n).store(head_word(more), simt::relaxed);
    }
    return fits;
  }
  // Makes the rest of the reserve, and the fresh arenas that no thread has been given, available to
  // all allocations. Returns the number of arenas released.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t release_reserve(const Team& team) const {
    if (fresh_end != 0) {
      return team.once([&] {
        const Word word(*high_water);
        // Read first: all lanes of all warps that search come here. relaxed: only a number.
        if (word.load(simt::relaxed) >= fresh_end) return std::uint32_t{0};
        return release_fresh_from(word.fetch_max(fresh_end, simt::relaxed));
      });
    }
    if (reserve == 0) return 0;
    const std::uint64_t ticket = team.once(
        [&] { return simt::global_ref(run_tickets[0]).fetch_add(reserve, simt::relaxed); });
    if (ticket >= reserve) return 0;
    release_reserved_from(team, static_cast<std::uint32_t>(ticket));
    return reserve - static_cast<std::uint32_t>(ticket);
  }
  // The first word of n arenas that form one block; the other words are `body`.
  HEAPWOOD_INLINE static std::uint32_t head_word(std::uint32_t n) { return n == 1 ? 1 : span + n; }
  // Ensures that superblock s is split, so that its arenas may be claimed individually. Returns
  // false if it belongs to a span.
  HEAPWOOD_INLINE bool ensure_split(std::uint32_t s) const {
    // acquire: synchronizes with the free of a previous span.
    std::uint32_t seen = superblock(s).load(simt::acquire);
    if (seen == 0 &&
        superblock(s).compare_exchange_strong(seen, split, simt::acquire, simt::acquire))
      return true;
    return !is_span(seen);
  }
  // Ensures that n superblocks from s on are split. Returns false if one belongs to a span.
  template <class Team>
  HEAPWOOD_INLINE bool ensure_all_split(const Team& team, std::uint32_t s, std::uint32_t n) const {
    bool split_all = true;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = team.first(); i < n; i += team.stride())
      split_all = ensure_split(s + i) && split_all;
    return team.all(split_all);
  }
  // Releases an arena claimed with `value` and not used. relaxed: nothing was written there.
  HEAPWOOD_INLINE void undo_claim(std::uint32_t a, std::uint32_t value) const {
    count(a).fetch_sub(value, simt::relaxed);
  }
  // Takes arenas [a, a + r), all or none: changes their counts to value(i), i < r, and establishes
  // invariant 3 for them.
  template <class Team, class Value>
  HEAPWOOD_INLINE bool take_run_at(const Team& team, std::uint32_t a, std::uint32_t r,
                                   Value value) const {
    if (!take_words(team, counts + a, r, value)) return false;
    const std::uint32_t s = a / per_superblock, last = (a + r - 1) / per_superblock;
    if (ensure_all_split(team, s, last - s + 1)) return true;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = team.first(); i < r; i += team.stride()) undo_claim(a + i, value(i));
    return false;
  }
  // Number of arenas in a block of n granules.
  HEAPWOOD_INLINE std::uint32_t arenas_for(std::uint32_t n) const {
    return (n + granules - 1) >> (shift - 4);
  }
  // Claims one block of arenas of its own.
  template <class Team>
  HEAPWOOD_INLINE std::byte* claim_span(const Team& team, std::size_t bytes, std::uint32_t seed,
                                        bool thorough) const {
    const std::size_t r = ((bytes - 1) >> shift) + 1;
    if (r > arenas) return nullptr;
    if (r <= per_superblock) {
      const auto n = static_cast<std::uint32_t>(r);
      const std::uint32_t a = claim(team, n, head_word(n), seed, thorough);
      return a == none ? nullptr : address(a, 0);
    }
    if (!thorough) return nullptr;
    const std::uint32_t s = claim_superblocks(team, static_cast<std::uint32_t>(r));
    return s == none ? nullptr : address(s * per_superblock, 0);
  }
  // Returns the first word of the block that starts at arena a. If the superblock belongs to a
  // span, its counts mean nothing, so the superblock word takes precedence; both loads are in
  // flight together. relaxed: the word has belonged to the block's owner since the claim.
  HEAPWOOD_INLINE SpanHead span_at(std::uint32_t a) const {
    const bool may_be_span = a % per_superblock == 0;
    const std::uint32_t s = may_be_span ? superblock(a / per_superblock).load(simt::relaxed) : 0,
                        c = count(a).load(simt::relaxed);
    return {is_span(s) ? s : c, is_span(s)};
  }
  // Frees such a block.
  template <class Team>
  HEAPWOOD_INLINE void free_span(const Team& team, std::uint32_t a, SpanHead head) const {
    release_words(team, head.in_superblocks ? superblock_words + a / per_superblock : counts + a,
                  head.word - span, head.word);
  }
  // Frees a block that is known to consist of r > 1 arenas.
  template <class Team>
  HEAPWOOD_INLINE void free_run(const Team& team, std::uint32_t a, std::uint32_t r) const {
    // More than a superblock: either a run from the reserve or a span of superblocks.
    const bool in_superblocks =
        r > per_superblock && team.once([&] { return span_at(a).in_superblocks ? 1u : 0u; }) != 0;
    free_span(team, a, {span + (in_superblocks ? superblocks_for(r) : r), in_superblocks});
  }
  // Mask of the free arenas among the mask_width arenas at `first`, which is a multiple of
  // mask_width. relaxed: only a candidate; the exchange decides.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t free_mask(const Team& team, std::uint32_t first) const {
    const bool in_span = is_in_span(first);
    std::uint32_t* const words = counts + first;  // one base address with small offsets
    return team.mask([&](std::uint32_t i) {
      return static_cast<bool>((Word(words[i]).load(simt::relaxed) == 0) & !in_span);
    });
  }

 private:
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t free_mask_of_superblock(const Team& team, std::uint32_t s) const {
    std::uint32_t bits = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < per_superblock; i += Team::mask_width)
      bits |= free_mask(team, s * per_superblock + i) << i;
    return bits;
  }
  template <class Team>
  HEAPWOOD_INLINE void release_reserved_from(const Team& team, std::uint32_t below) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = below + team.first(); i < reserve; i += team.stride())
      undo_claim(run_first + i, body);
  }
  // Changes words[i] from 0 to value(i) for all i < r; all of them or none.
  template <class Team, class Value>
  HEAPWOOD_INLINE bool take_words(const Team& team, std::uint32_t* words, std::uint32_t r,
                                  Value value) const {
    constexpr std::uint32_t batch = Team::exchanges;
    const std::uint32_t first = team.first(), stride = team.stride();
    // This member has taken all of its words before `next`, and from `next` on those in `taken`.
    std::uint32_t next = first, taken = 0;
    bool mine = true;
    HEAPWOOD_ROLLED
    for (; mine && next < r; next += mine ? batch * stride : 0) {
      taken = 0;
      HEAPWOOD_UNROLLED
      for (std::uint32_t k = 0; k < batch; ++k) {
        const std::uint32_t i = next + k * stride;
        std::uint32_t expected = 0;
        if (i >= r) continue;
        // acquire: synchronizes with the frees of the last owners.
        const bool took = Word(words[i]).compare_exchange_strong(expected, value(i), simt::acquire,
                                                                 simt::relaxed);
        taken |= std::uint32_t{took} << k;
        mine = mine && took;
      }
    }
    if (team.all(mine)) return true;
    // relaxed, here and below: nothing was written there.
    for (taken = mine ? 0 : taken; taken != 0; taken &= taken - 1) {
      const std::uint32_t i = next + simt::lowest_bit(taken) * stride;
      Word(words[i]).fetch_sub(value(i), simt::relaxed);
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t i = first; i < next && i < r; i += stride)
      Word(words[i]).fetch_sub(value(i), simt::relaxed);
    return false;
  }
  // The words of a span: the first is `value`, the others are `body`.
  static HEAPWOOD_INLINE auto span_words(std::uint32_t value) {
    return [value](std::uint32_t i) { return i == 0 ? value : body; };
  }
  // Undoes take_words with span_words. release: hands the memory to the next owner.
  template <class Team>
  HEAPWOOD_INLINE void release_words(const Team& team, std::uint32_t* words, std::uint32_t r,
                                     std::uint32_t value) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = team.first(); i < r; i += team.stride())
      Word(words[i]).fetch_sub(i == 0 ? value : body, simt::release);
  }
  // Takes r adjacent arenas whose first is in superblock s.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t take_run(const Team& team, std::uint32_t s, std::uint32_t r,
                                         std::uint32_t value) const {
    std::uint64_t bits = free_mask_of_superblock(team, s);
    if (s + 1 < superblocks) bits |= std::uint64_t{free_mask_of_superblock(team, s + 1)} << 32;
    HEAPWOOD_ROLLED
    for (std::uint32_t have = 1; have < r;) {
      const std::uint32_t more = have < r - have ? have : r - have;
      bits &= bits >> more;
      have += more;
    }
    auto starts = static_cast<std::uint32_t>(bits);
    HEAPWOOD_ROLLED
    while (starts != 0) {
      const std::uint32_t i = simt::lowest_bit(starts);
      if (take_run_at(team, s * per_superblock + i, r, span_words(value)))
        return s * per_superblock + i;
      starts = r < per_superblock - i ? starts & ~0u << (i + r) : 0;
    }
    return none;
  }
  // Searches the whole pool for r adjacent arenas: a warp alone, single lanes cooperatively.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t search_run(const Team& team, std::uint32_t r,
                                           std::uint32_t value) const {
    const auto look = [&](std::uint32_t s) { return take_run(team, s, r, value); };
    if constexpr (std::is_same_v<Team, SingleLane>) {
      return cooperative_search(team, search_tickets[r - 1], superblocks, look);
    } else {
      HEAPWOOD_ROLLED
      for (std::uint32_t s = 0; s < superblocks; ++s) {
        const std::uint32_t a = look(s);
        if (a != none) return a;
      }
      return none;
    }
  }
  // Takes r adjacent arenas that have probably never been used.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t take_unused(const Team& team, std::uint32_t r,
                                            std::uint32_t value) const {
    HEAPWOOD_ROLLED
    for (;;) {
      // relaxed: below fresh_end each index is given away once, and its arena had no owner before;
      // above, the counts decide.
      const std::uint32_t a =
          team.once([&] { return Word(*high_water).fetch_add(r, simt::relaxed); });
      if (a >= arenas || (a >= fresh_end && r > arenas - a)) return none;
      if (a < fresh_end) {
        const bool fits = a + r <= fresh_end;
        team.once([&] {
          // relaxed: a thread that frees the block received it from this thread.
          fits ? count(a).store(value, simt::relaxed) : void(release_fresh_from(a));
          return 0u;
        });
        if (fits) return a;  // the other counts are `body` already
        continue;
      }
      if (take_run_at(team, a, r, span_words(value))) return a;
      // Advances past the superblocks of a span and past the reserve.
      team.once([&] {
        const std::uint32_t last = a + r - 1;
        advance_past_span(last);
        if (last - run_first < reserve)
          Word(*high_water).fetch_max(run_first + reserve, simt::relaxed);
        return 0u;
      });
    }
  }
  // Claims adjacent free superblocks for r arenas. Scans from the end of the pool, because arenas
  // are claimed from its start. A second pass also tries split superblocks without a used arena.
  template <class Team>
  HEAPWOOD_INLINE std::uint32_t claim_superblocks(const Team& team, std::uint32_t r) const {
    constexpr std::uint32_t width = Team::mask_width;
    const std::uint32_t k = superblocks_for(r);
    HEAPWOOD_ROLLED
    for (unsigned pass = 0; pass < 2; ++pass) {
      std::uint32_t run = 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t first = (superblocks - 1) / width * width + width; first > 0;) {
        first -= width;
        // relaxed: only a candidate; the exchange decides.
        std::uint32_t* const words = superblock_words + first;
        std::uint32_t bits =
            team.mask([&](std::uint32_t i) { return Word(words[i]).load(simt::relaxed) == 0; });
        HEAPWOOD_ROLLED
        for (std::uint32_t i = width; i-- > 0;) {
          const bool free = (bits >> i & 1) != 0 ||
                            (pass > 0 && first + i < superblocks && unsplit(team, first + i));
          run = free ? run + 1 : 0;
          // The last superblock may be too small.
          if (run < k || r > arenas - (first + i) * per_superblock) continue;
          if (take_words(team, superblock_words + first + i, k, span_words(span + k)))
            return first + i;
          run = 0;
        }
      }
    }
    return none;
  }
  // Makes a split superblock free if none of its arenas is used.
  template <class Team>
  HEAPWOOD_INLINE bool unsplit(const Team& team, std::uint32_t s) const {
    const std::uint32_t n = arenas_in(s);
    if (free_mask_of_superblock(team, s) != ~0u >> (per_superblock - n)) return false;
    const std::uint32_t seen = team.once([&] {
      std::uint32_t expected = split;
      // acquire: synchronizes with the free of a previous span; the next owner synchronizes with
      // that through the release below.
      superblock(s).compare_exchange_strong(expected, locked, simt::acquire, simt::relaxed);
      return expected;
    });
    if (seen != split) return false;
    const bool empty = take_words(team, counts + s * per_superblock, n, span_words(body));
    team.sync();
    // release: hands all of its arenas to the next owner.
    team.once(
        [&] { return superblock(s).fetch_sub(empty ? locked : locked - split, simt::release); });
    team.sync();
    // Must come after the superblock word has changed: a thread that takes a count from 0 again
    // then sees that the superblock has left `split` (invariant 3).
    if (empty) release_words(team, counts + s * per_superblock, n, body);
    return empty;
  }
};

}  // namespace heapwood::alloc::arena
