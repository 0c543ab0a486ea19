// SPDX-License-Identifier: MIT
// A pool cut into arenas of equal size, 32 of them a superblock. An arena's state is one word, its count of live blocks;
// 0 is free, whoever brought it there, so that who frees a block has one add to do and waits for nothing, and there is no
// list of free arenas to keep in order. Own design.
//
//   counts[a]   0               free
//               open - f        open: blocks are being handed out, f of them are freed already (below 2^31)
//               n               closed: n blocks are in use; it comes to 0 by itself
//               span + r        first of r arenas that are one block (at most 32, but from the reserve); the others are `body`
//   supers[s]   0               free: as one, or for whoever wants an arena of it
//               split           its arenas are taken one by one
//               locked          split, and somebody looks whether it can be made free
//               span + k        first of k superblocks that are one block; the others are `body`
//
// Invariants, each kept by one atomic operation or one order of two (docs/own-allocator.md has the proofs):
//   1. A word belongs to whoever took it from 0. All others may only subtract from a count what was added for them.
//   2. While counts[a] is not 0, or taken for `claim` or `unsplit`, the superblock does not leave `split`: unsplit() first
//      takes all 32 counts from 0.
//   3. Who takes a count looks at the superblock afterwards, and gives the count back where that is a span's.
// All changes are read-modify-writes, so each release is seen through later changes by whoever acquires the word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/arena/team.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc::arena {

inline constexpr std::uint32_t none = ~0u;
inline constexpr std::uint32_t open = 1u << 31, span = 3u << 30, body = ~0u;
inline constexpr std::uint32_t split = 1, locked = 2;

SIMT_INLINE bool is_span(std::uint32_t word) { return word >= span; }
// The first word of a span: of arenas, or of whole superblocks.
struct SpanWord {
  std::uint32_t word;
  bool whole;
};

// Pieces of a search that is shared by all who have to make it at the same time: each takes a ticket for the next piece,
// and has seen all of them, with the others' eyes, when as many have been taken as there are. Alone one looks at all.
template <class Team, class Look>
SIMT_INLINE std::uint32_t shared_search(const Team& team, std::uint32_t& tickets, std::uint32_t pieces, Look look) {
  simt::atomic_ref<std::uint32_t> word(tickets);
  // relaxed, here and below: only numbers.
  const std::uint32_t begin = team.once([&] { return word.load(simt::relaxed); });
  std::uint32_t ticket = 0;
  SIMT_ROLLED
  do {
    ticket = team.once([&] { return word.fetch_add(1, simt::relaxed); });
    const std::uint32_t found = look(ticket % pieces);
    if (found != none) return found;
  } while (ticket - begin < pieces);
  return none;
}

class Arenas {
 public:
  static constexpr std::uint32_t group = 32;    // arenas a superblock
  static constexpr std::uint32_t attempts = 4;  // of a claim that does not search

  using Word = simt::atomic_ref<std::uint32_t>;

  // ---- shape; set by Layout (layout.hpp) ---------------------------------------------------------------------------

  std::byte* memory = nullptr;
  std::uint32_t* counts = nullptr;  // padded to whole superblocks by `body`
  std::uint32_t* supers = nullptr;  // padded to 32 by `body`
  std::uint32_t* fresh = nullptr;   // arenas from here on have probably never been used
  // Arenas that runs have taken in turn, and superblocks (claim_runs). Of 64 bits, so that they never wrap.
  std::uint64_t* runs = nullptr;
  std::uint32_t* tickets = nullptr;  // of the search for a free arena
  std::uint32_t arenas = 0;
  std::uint32_t groups = 0;                   // superblocks; the last one may have fewer arenas
  std::uint32_t shift = 0;                    // log2 of an arena's bytes
  std::uint32_t run_first = 0, run_room = 0;  // where runs of arenas are handed out: a power of two of them
  std::uint32_t reserve = 0;                  // the first of these that begin as taken: all, or none (take_reserved)
  std::uint32_t granules_each = 0;  // of an arena: by itself, because a warp that allocates needs it every time

  SIMT_INLINE std::uint32_t arena_bytes() const { return 1u << shift; }
  SIMT_INLINE std::uint32_t granules() const { return granules_each; }
  SIMT_INLINE std::byte* place(std::uint32_t arena, std::uint32_t granule_in_it) const {
    return memory + (std::size_t{arena} << shift) + std::size_t{granule_in_it} * granule;
  }
  // Whether superblocks of which runs are handed out are split from the beginning: where arenas have 16 KiB or more. In smaller pools
  // whole superblocks are wanted as much.
  SIMT_INLINE bool runs_begin_split() const { return shift >= 14; }
  // The arena that a block lies in.
  SIMT_INLINE std::uint32_t index(const void* block) const {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory) >> shift);
  }
  SIMT_INLINE Word count(std::uint32_t a) const { return Word(counts[a]); }
  SIMT_INLINE Word super(std::uint32_t s) const { return Word(supers[s]); }
  SIMT_INLINE std::uint32_t members(std::uint32_t s) const {
    return s + 1 < groups ? group : arenas - (groups - 1) * group;
  }

  // Where a search begins: a hash, and the same as a number below another.
  SIMT_INLINE static std::uint32_t hashed(std::uint32_t number) {
    return number * 2654435769u;  // multiples of the golden ratio lie evenly
  }
  SIMT_INLINE static std::uint32_t scaled(std::uint32_t hash, std::uint32_t below) {
    return static_cast<std::uint32_t>((std::uint64_t{hash} * below) >> 32);
  }

  // ---- arenas --------------------------------------------------------------------------------------------------------

  // One arena, by one lane.
  SIMT_INLINE bool take_one(std::uint32_t a, std::uint32_t value) const {
    std::uint32_t expected = 0;
    // acquire: waits for the last owner.
    if (!count(a).compare_exchange_strong(expected, value, simt::acquire, simt::relaxed)) return false;
    if (enter(a / group)) return true;
    give_up(a, value);
    return false;
  }

  // The same; false also where the superblock is not split yet. Less code, for where all warps may wait for it.
  SIMT_INLINE bool take_in_split(std::uint32_t a, std::uint32_t value) const {
    std::uint32_t expected = 0;
    // acquire: waits for the last owner.
    if (!count(a).compare_exchange_strong(expected, value, simt::acquire, simt::relaxed)) return false;
    // acquire, behind the count: invariant 3.
    if (super(a / group).load(simt::acquire) == split) return true;
    give_up(a, value);
    return false;
  }

  // Takes r arenas in a row, at most 32; `value` goes to the first one's count. `spread` says where to look: another
  // number for each caller. Everywhere only if `thorough`, which costs a look at every count.
  template <class Team>
  SIMT_INLINE std::uint32_t claim(const Team& team, std::uint32_t r, std::uint32_t value, std::uint32_t spread,
                                  bool thorough) const {
    const std::uint32_t used = window(team), hash = hashed(spread + used);
    const std::uint32_t at = scaled(hash, used);
    std::uint32_t a =
        r == 1 ? take_near(team, at & ~(Team::reach - 1), value, hash >> 8) : take_run(team, at / group, r, value);
    if (a == none && used < arenas) a = take_fresh(team, r, value);
    if (a != none || !thorough) return a;
    if (r > 1) return search_run(team, r, value);
    return shared_search(team, *tickets, groups, [&](std::uint32_t s) {
      std::uint32_t found = none;
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < group && found == none; i += Team::reach) {
        found = take_near(team, s * group + i, value, 0);
      }
      return found;
    });
  }

  // The same for one arena and a lane beside which others claim, as far as no search is needed: of arenas that nobody has had, one
  // add gives one to each.
  template <class Thread>
  SIMT_INLINE std::uint32_t claim_beside(const Thread& thread, std::uint32_t value, std::uint32_t spread) const {
    const std::uint32_t used = window(Alone()), hash = hashed(spread + used);
    std::uint32_t a = take_near(Alone(), scaled(hash, used) & ~(Alone::reach - 1), value, hash >> 8);
    if (a == none && used < arenas) {
      const LaneGroup<Thread> claimers(thread, thread.together());
      // relaxed: a hint; the counts decide.
      a = claimers.once([&] { return Word(*fresh).fetch_add(claimers.size(), simt::relaxed); }) + claimers.rank();
      if (a >= arenas || !take_one(a, value)) a = none;
    }
    return a;
  }

  // An arena that was free when a lane of the group looked, or none: everywhere, each lane at another superblock, together with all who
  // search at the same time (shared_search).
  template <class Group>
  SIMT_INLINE std::uint32_t sight(const Group& searchers) const {
    const Word word(*tickets);
    // relaxed, here and below: only numbers.
    const std::uint32_t begin = searchers.once([&] { return word.load(simt::relaxed); });
    std::uint32_t ticket = 0;
    SIMT_ROLLED
    do {
      ticket = searchers.once([&] { return word.fetch_add(searchers.size(), simt::relaxed); });
      const std::uint32_t s = (ticket + searchers.rank()) % groups, bits = free_group(Alone(), s);
      const std::uint32_t found = searchers.first_of(bits != 0, s * group + simt::lowest_bit(bits), none);
      if (found != none) return found;
    } while (ticket - begin < groups);
    return none;
  }

  // The same for one arena and a whole warp, as far as no search is needed: a look among the first `known` arenas, and an attempt;
  // where nothing is free there, an attempt behind all that were ever used, and then more of them are known (a word in the warp's
  // fast memory). With three eighths of the pool in use it looks elsewhere first: single arenas all over leave no room for large
  // blocks. Short, because it is called from kernels that fill the instruction cache: there, code that is run seldom costs
  // more by what it pushes out than by what it does.
  template <class Warp>
  SIMT_INLINE std::uint32_t claim_quickly(Warp& warp, std::uint32_t value, std::uint32_t spread,
                                          std::uint32_t& known) const {
    const Whole<Warp> team(warp);
    const std::uint32_t used = known;
    team.sync();  // all have read
    std::uint32_t taken = none;
    SIMT_ROLLED
    for (std::uint32_t attempt = 0; attempt < attempts && taken == none; ++attempt) {
      const std::uint32_t hash = hashed(spread + used + attempt);
      std::uint32_t a = scaled(hash, used) & ~(group - 1);
      std::uint32_t* const words = counts + a;
      // relaxed: a look.
      const std::uint32_t bits = team.mask([&](std::uint32_t i) { return Word(words[i]).load(simt::relaxed) == 0; });
      const std::uint32_t behind = bits & ~0u << (hash >> 8) % group;
      a += simt::lowest_bit(behind != 0 ? behind : bits);
      taken = team.once([&] {
        if (bits == 0) {
          if (used > arenas / 8 * 3 && attempt + 1 < attempts) return none;
          a = used < arenas ? Word(*fresh).fetch_add(1, simt::relaxed) : none;  // relaxed: the counts decide
          if (a - run_first < reserve) Word(*fresh).fetch_max(run_first + reserve, simt::relaxed);
          known = a < arenas ? a + 1 : arenas;
        }
        return a < arenas && take_one(a, value) ? a : none;
      });
    }
    return taken;
  }
  // One block of so many granules, or two (`second` may be 0), side by side, each with arenas or superblocks of its own, from
  // where such runs are handed out in turn: arenas in what Layout says, superblocks in the last quarter, from its end. Single
  // arenas begin at the pool's start. None where one needs superblocks and the other does not.
  template <class Warp>
  SIMT_INLINE BlockPair claim_runs(Warp& warp, std::uint32_t first, std::uint32_t second) const {
    const Whole<Warp> team(warp);
    const std::uint32_t r0 = run_of(first), r1 = run_of(second);
    const bool whole = r0 > group || r1 > group;
    if (r0 + r1 > arenas / 8 || (whole && (r0 - 1 < group || r1 - 1 < group))) return {};
    const std::uint32_t up = whole ? group - 1 : 0, down = whole ? 5 : 0;
    const std::uint32_t n = (r0 + up) >> down, more = (r1 + up) >> down, all = n + more;
    const std::uint32_t head = headed_by(n, whole), second_head = headed_by(more, whole);
    const auto value = [&](std::uint32_t i) { return i == n ? second_head : i == 0 ? head : body; };
    // The last superblock may have fewer arenas. Powers of two, so that the hint may wrap.
    const std::uint32_t room = whole ? static_cast<std::uint32_t>(simt::bit_floor((groups - 1) / 4)) : run_room;
    std::uint32_t* const words = whole ? supers : counts;
    SIMT_ROLLED
    for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
      // relaxed: behind the reserve a hint; the counts decide.
      const std::uint64_t ticket =
          team.once([&] { return simt::global_ref(runs[whole ? 1 : 0]).fetch_add(all, simt::relaxed); });
      const std::uint32_t below = static_cast<std::uint32_t>(ticket) & (room - 1);
      const std::uint32_t a = whole ? groups - 1 - below - all : run_first + below;
      if (!whole && ticket < reserve) {
        if (!take_reserved(team, below, n, more)) continue;
      } else if (all > room - below || !seize(team, words + a, all, value) ||
                 (!whole && !entered(team, a, all, value))) {
        continue;
      }
      team.sync();  // passes the acquires on
      return {place(a << down, 0), place((a + n) << down, 0)};
    }
    return {};
  }
  // The reserve: where memory is spare the room for runs begins as taken, so that nobody looks for an arena there. Tickets of runs[0] hand
  // it out, each part of it once and without a look at the counts, of which only a block's first is written. Who searches in vain gives up
  // what is left; from then on these arenas are like others. A ticket that is only partly within it gives that part up.
  // For n and `more` arenas, at `below`, which is within the reserve. False: not all of them are.
  template <class Team>
  SIMT_INLINE bool take_reserved(const Team& team, std::uint32_t below, std::uint32_t n, std::uint32_t more) const {
    const bool fits = n + more <= reserve - below;
    if (!fits) {
      give_up_reserved(team, below);
    } else if (team.first() == 0) {
      // relaxed: whoever frees the block has got it from here.
      if (n != 0) count(run_first + below).store(headed_by(n, false), simt::relaxed);
      if (more != 0) count(run_first + below + n).store(headed_by(more, false), simt::relaxed);
    }
    return fits;
  }
  // How many arenas that were.
  template <class Team>
  SIMT_INLINE std::uint32_t give_up_reserve(const Team& team) const {
    if (reserve == 0) return 0;
    const std::uint64_t ticket = team.once([&] { return simt::global_ref(runs[0]).fetch_add(reserve, simt::relaxed); });
    if (ticket >= reserve) return 0;
    give_up_reserved(team, static_cast<std::uint32_t>(ticket));
    return reserve - static_cast<std::uint32_t>(ticket);
  }
  // What the first word of n arenas or superblocks becomes that are one block; the others are `body`.
  SIMT_INLINE static std::uint32_t headed_by(std::uint32_t n, bool whole) { return n == 1 && !whole ? 1 : span + n; }

  // An open arena gets no more blocks; it has got `blocks`. relaxed: passes the earlier releases on.
  SIMT_INLINE void close(std::uint32_t a, std::uint32_t blocks) const {
    count(a).fetch_add(blocks - open, simt::relaxed);
  }
  // An arena just claimed for `value` is not needed. relaxed: nothing was written there.
  SIMT_INLINE void give_up(std::uint32_t a, std::uint32_t value) const { count(a).fetch_sub(value, simt::relaxed); }

  // Arenas of a block of so many granules.
  SIMT_INLINE std::uint32_t run_of(std::uint32_t n) const { return (n + granules() - 1) >> (shift - 4); }

  // ---- spans ---------------------------------------------------------------------------------------------------------

  // One block of more than an arena.
  template <class Team>
  SIMT_INLINE std::byte* claim_span(const Team& team, std::size_t bytes, std::uint32_t spread, bool thorough) const {
    const std::size_t r = ((bytes - 1) >> shift) + 1;
    if (r > arenas) return nullptr;
    if (r <= group) {
      const auto n = static_cast<std::uint32_t>(r);
      const std::uint32_t a = claim(team, n, span + n, spread, thorough);
      return a == none ? nullptr : place(a, 0);
    }
    const std::uint32_t s = thorough ? claim_supers(team, static_cast<std::uint32_t>(r)) : none;
    return s == none ? nullptr : place(s * group, 0);
  }
  // What begins at an arena's first byte. relaxed: its owner's since the claim. A superblock's word comes first: of a span's
  // superblocks, the counts mean nothing. Both are on their way at once.
  SIMT_INLINE SpanWord span_at(std::uint32_t a) const {
    const std::uint32_t s = a % group == 0 ? super(a / group).load(simt::relaxed) : 0, c = count(a).load(simt::relaxed);
    return {is_span(s) ? s : c, is_span(s)};
  }
  // Gives such a span back.
  template <class Team>
  SIMT_INLINE void give_span(const Team& team, std::uint32_t a, SpanWord head) const {
    give(team, head.whole ? supers + a / group : counts + a, head.word - span, head.word);
  }
  // The same for a block of which it is known that it has r arenas, more than one.
  template <class Team>
  SIMT_INLINE void give_run(const Team& team, std::uint32_t a, std::uint32_t r) const {
    // Of more than a superblock it may be a run from the reserve, or superblocks.
    const bool whole = r > group && team.once([&] { return span_at(a).whole ? 1u : 0u; }) != 0;
    const std::uint32_t n = whole ? (r + group - 1) / group : r;
    give_span(team, a, {span + n, whole});
  }

 private:
  // How far arenas have been handed out.
  template <class Team>
  SIMT_INLINE std::uint32_t window(const Team& team) const {
    const std::uint32_t seen = team.once([&] { return Word(*fresh).load(simt::relaxed); });  // relaxed: a hint
    return seen < arenas ? seen : arenas;
  }

  // Which of the words at `at`, a multiple of Team::reach, are free arenas. relaxed: a look.
  template <class Team>
  SIMT_INLINE std::uint32_t free_words(const Team& team, std::uint32_t at) const {
    const bool whole_span = is_span(super(at / group).load(simt::relaxed));
    std::uint32_t* const words = counts + at;  // one address, small offsets
    return team.mask(
        [&](std::uint32_t i) { return static_cast<bool>((Word(words[i]).load(simt::relaxed) == 0) & !whole_span); });
  }
  template <class Team>
  SIMT_INLINE std::uint32_t free_group(const Team& team, std::uint32_t s) const {
    std::uint32_t bits = 0;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < group; i += Team::reach) bits |= free_words(team, s * group + i) << i;
    return bits;
  }

  template <class Team>
  SIMT_INLINE void give_up_reserved(const Team& team, std::uint32_t below) const {
    SIMT_ROLLED
    for (std::uint32_t i = below + team.first(); i < reserve; i += team.step()) give_up(run_first + i, body);
  }

  // Takes words[0, r) from 0: word i becomes value(i). All or none.
  template <class Team, class Value>
  SIMT_INLINE bool seize(const Team& team, std::uint32_t* words, std::uint32_t r, Value value) const {
    std::uint32_t taken = 0;
    bool mine = true;
    SIMT_ROLLED
    for (std::uint32_t i = team.first(); mine && i < r; i += team.step()) {
      std::uint32_t expected = 0;
      // acquire: waits for the last owners.
      mine = Word(words[i]).compare_exchange_strong(expected, value(i), simt::acquire, simt::relaxed);
      taken += mine;
    }
    if (team.all(mine)) return true;
    SIMT_ROLLED
    for (std::uint32_t i = team.first(); taken > 0; --taken, i += team.step()) {
      Word(words[i]).fetch_sub(value(i), simt::relaxed);  // relaxed: nothing was written there
    }
    return false;
  }
  // The first word `value`, the others `body`.
  static SIMT_INLINE auto headed(std::uint32_t value) {
    return [value](std::uint32_t i) { return i == 0 ? value : body; };
  }
  // The opposite. release: hands them over.
  template <class Team>
  SIMT_INLINE void give(const Team& team, std::uint32_t* words, std::uint32_t r, std::uint32_t value) const {
    SIMT_ROLLED
    for (std::uint32_t i = team.first(); i < r; i += team.step()) {
      Word(words[i]).fetch_sub(i == 0 ? value : body, simt::release);
    }
  }

  // Makes sure that a superblock's arenas are taken one by one; false: it is a span's.
  SIMT_INLINE bool enter(std::uint32_t s) const {
    // acquire: waits for the owner of a span that was there.
    std::uint32_t seen = super(s).load(simt::acquire);
    if (seen == 0 && super(s).compare_exchange_strong(seen, split, simt::acquire, simt::acquire)) return true;
    return !is_span(seen);
  }

  // Invariant 3 for arenas [a, a + r).
  template <class Team>
  SIMT_INLINE bool take(const Team& team, std::uint32_t a, std::uint32_t r, std::uint32_t value) const {
    return seize(team, counts + a, r, headed(value)) && entered(team, a, r, headed(value));
  }
  // The same for arenas whose counts are taken already; if a superblock is a span's they are given back.
  template <class Team, class Value>
  SIMT_INLINE bool entered(const Team& team, std::uint32_t a, std::uint32_t r, Value value) const {
    bool split_all = true;
    SIMT_ROLLED
    for (std::uint32_t s = a / group + team.first(); s <= (a + r - 1) / group; s += team.step()) {
      split_all = enter(s) && split_all;
    }
    if (team.all(split_all)) return true;
    SIMT_ROLLED
    for (std::uint32_t i = team.first(); i < r; i += team.step()) {
      count(a + i).fetch_sub(value(i), simt::relaxed);  // relaxed: nothing was written there
    }
    return false;
  }

  // One of the arenas at `at`; `turn` says which first.
  template <class Team>
  SIMT_INLINE std::uint32_t take_near(const Team& team, std::uint32_t at, std::uint32_t value,
                                      std::uint32_t turn) const {
    std::uint32_t bits = free_words(team, at);
    SIMT_ROLLED
    while (bits != 0) {
      const std::uint32_t behind = bits & ~0u << turn % Team::reach;
      const std::uint32_t i = simt::lowest_bit(behind != 0 ? behind : bits);
      // One member takes it: the count of one arena is one word.
      const bool mine = team.once([&] { return take_one(at + i, value) ? 1u : 0u; }) != 0;
      if (mine) return at + i;
      bits &= ~(1u << i);
    }
    return none;
  }

  // r arenas in a row, of which the first is in superblock s.
  template <class Team>
  SIMT_INLINE std::uint32_t take_run(const Team& team, std::uint32_t s, std::uint32_t r, std::uint32_t value) const {
    std::uint64_t bits = free_group(team, s);
    if (s + 1 < groups) bits |= std::uint64_t{free_group(team, s + 1)} << 32;
    SIMT_ROLLED
    for (std::uint32_t have = 1; have < r;) {
      const std::uint32_t more = have < r - have ? have : r - have;
      bits &= bits >> more;
      have += more;
    }
    auto starts = static_cast<std::uint32_t>(bits);
    SIMT_ROLLED
    while (starts != 0) {
      const std::uint32_t i = simt::lowest_bit(starts);
      if (take(team, s * group + i, r, value)) return s * group + i;
      starts = r < group - i ? starts & ~0u << (i + r) : 0;
    }
    return none;
  }
  template <class Team>
  SIMT_INLINE std::uint32_t search_run(const Team& team, std::uint32_t r, std::uint32_t value) const {
    SIMT_ROLLED
    for (std::uint32_t s = 0; s < groups; ++s) {
      const std::uint32_t a = take_run(team, s, r, value);
      if (a != none) return a;
    }
    return none;
  }

  // r arenas where probably nobody has been yet.
  template <class Team>
  SIMT_INLINE std::uint32_t take_fresh(const Team& team, std::uint32_t r, std::uint32_t value) const {
    SIMT_ROLLED
    for (;;) {
      // relaxed: a hint; the counts decide.
      const std::uint32_t a = team.once([&] { return Word(*fresh).fetch_add(r, simt::relaxed); });
      if (a >= arenas || r > arenas - a) return none;
      if (take(team, a, r, value)) return a;
      // Over the superblocks of a span, and over the reserve.
      team.once([&] {
        const std::uint32_t last = a + r - 1, s = last / group;
        if (is_span(super(s).load(simt::relaxed))) Word(*fresh).fetch_max((s + 1) * group, simt::relaxed);
        if (last - run_first < reserve) Word(*fresh).fetch_max(run_first + reserve, simt::relaxed);
        return 0u;
      });
    }
  }

  // ---- superblocks ---------------------------------------------------------------------------------------------------

  // Free superblocks in a row, of r arenas together; from the end of the pool, since arenas begin at its start. A second
  // time with those that have been split and have no used arena any more.
  template <class Team>
  SIMT_INLINE std::uint32_t claim_supers(const Team& team, std::uint32_t r) const {
    const std::uint32_t k = (r + group - 1) / group;
    SIMT_ROLLED
    for (unsigned pass = 0; pass < 2; ++pass) {
      std::uint32_t run = 0;
      SIMT_ROLLED
      for (std::uint32_t at = (groups - 1) / Team::reach * Team::reach + Team::reach; at > 0;) {
        at -= Team::reach;
        // relaxed: a look.
        std::uint32_t* const words = supers + at;
        std::uint32_t bits = team.mask([&](std::uint32_t i) { return Word(words[i]).load(simt::relaxed) == 0; });
        SIMT_ROLLED
        for (std::uint32_t i = Team::reach; i-- > 0;) {
          const bool free = (bits >> i & 1) != 0 || (pass > 0 && at + i < groups && unsplit(team, at + i));
          run = free ? run + 1 : 0;
          if (run < k || r > arenas - (at + i) * group) continue;  // the last superblock may be too small
          if (seize(team, supers + at + i, k, headed(span + k))) return at + i;
          run = 0;
        }
      }
    }
    return none;
  }

  // Makes a split superblock without used arenas free.
  template <class Team>
  SIMT_INLINE bool unsplit(const Team& team, std::uint32_t s) const {
    const std::uint32_t n = members(s);
    if (free_group(team, s) != ~0u >> (group - n)) return false;
    const bool mine = team.once([&] {
      std::uint32_t expected = split;
      // acquire: of a span's owner before; whoever takes it next sees that through the release below.
      return super(s).compare_exchange_strong(expected, locked, simt::acquire, simt::relaxed) ? 1u : 0u;
    }) != 0;
    if (!mine) return false;
    const bool empty = seize(team, counts + s * group, n, headed(body));
    team.sync();
    // release: hands all arenas over.
    team.once([&] { return super(s).fetch_sub(empty ? locked : locked - split, simt::release); });
    team.sync();
    // Behind that: who takes a count from 0 again sees that the superblock has left `split` (invariant 3).
    if (empty) give(team, counts + s * group, n, body);
    return empty;
  }
};

}  // namespace heapwood::alloc::arena
