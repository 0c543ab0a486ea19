// SPDX-License-Identifier: MIT
// A bitmap of free units, 64 to a word, in which many threads take and give back aligned runs of 1 to 32 units at once;
// own design, a level of the buddy allocator in buddy.hpp. Binary buddies inside a word need no splitting and no
// merging: that two halves are free is the same as that their bits are set.
//
// A word's rank is k where 2^k is its largest aligned free run. For each rank a SumMap (sum_map.hpp) has the words of
// that rank as hints, so that a run is found with a few loads, in a word that has nothing larger if there is one. Who
// changes a word's rank drops its old hint, sets the new one and looks at the word again: of two threads that change a
// word, the later one to touch its hints sees what the other did to the word, so that in the end they agree with it.
//
// A hint on its way hides for a moment what others have given back, so this is done in Motion, which begins before a
// word's rank rises and before a hint is dropped. Where a rank has fallen, the old hint stands until then, and leads to
// the word all the same.
#pragma once

#include <cstdint>

#include "alloc/primitives/sum_map.hpp"

namespace heapwood::alloc {

// Announces that a thread takes something out of sight which was free before it came: a hint, or the rest of a block
// that it splits or merges. The word is {moves that were made:40, threads inside:24}. Who finds nothing between two
// looks that see the same value and nobody inside knows that nothing was hidden from it.
class Motion {
 public:
  // nullptr: there is nothing to announce.
  SIMT_INLINE explicit Motion(std::uint64_t* word) : word_(word) {}

  SIMT_INLINE void begin() {
    if (word_ == nullptr || inside_) return;
    inside_ = true;
    // acquire: nothing is hidden before this; with the release in look_again() it comes after the search of those that
    // see the count without this thread.
    simt::atomic_ref<std::uint64_t>(*word_).fetch_add(1, simt::acquire);
  }
  // `moved`: false where nothing was changed after all. The count then is as before: threads that find nothing must not
  // keep each other searching.
  SIMT_INLINE void end(bool moved = true) {
    if (!inside_) return;
    inside_ = false;
    // release: who sees this thread gone sees what it did.
    simt::atomic_ref<std::uint64_t>(*word_).fetch_add((moved ? one_move : 0) - 1, simt::release);
  }

  static SIMT_INLINE std::uint64_t look(std::uint64_t* word) {
    return simt::atomic_ref<std::uint64_t>(*word).load(simt::acquire);  // acquire: what those that left have done
  }
  static SIMT_INLINE bool nobody(std::uint64_t seen) { return (seen & (one_move - 1)) == 0; }
  // After a search. release: the search comes before all that begins after this look.
  static SIMT_INLINE std::uint64_t look_again(std::uint64_t* word) {
    return simt::atomic_ref<std::uint64_t>(*word).fetch_add(0, simt::release);
  }

 private:
  static constexpr std::uint64_t one_move = 1u << 24;
  std::uint64_t* word_;
  bool inside_ = false;
};

class RunMap {
 public:
  static constexpr std::uint32_t none = SumMap::none;
  static constexpr unsigned ranks = 6;  // and the rank of a word without a free unit

  // How a map lies in an array of words that it shares with others.
  struct Shape {
    std::uint32_t units = 0;
    std::uint32_t words_at = 0, hints_at = 0, hint_words = 0;
    std::uint32_t table[SumMap::table_entries] = {};

    static Shape plan(std::uint32_t units, std::uint32_t first_word) {
      Shape s;
      s.units = units;
      s.words_at = first_word;
      s.hints_at = first_word + s.words();
      s.hint_words = SumMap::plan(s.words(), 0, s.table);
      return s;
    }
    SIMT_INLINE std::uint32_t words() const { return (units + 63) / 64; }
    std::uint32_t end() const { return hints_at + ranks * hint_words; }
  };

  // How to go about a search that others may be at, too.
  struct Haste {
    unsigned attempts = ~0u;  // that fail before it is given up
    bool scatter = false;     // anywhere, instead of where it fits best
  };

  // `motion`: the word of Motion that whoever searches this map looks at.
  SIMT_INLINE RunMap(std::uint64_t* words, const Shape* shape, std::uint64_t* motion)
      : words_(words), shape_(shape), motion_(motion) {}

  // Takes the first n units of some aligned run of 2^k free ones, n <= 2^k <= 32, and returns the first; none if no hint
  // led to any, or if others were faster as often as `haste` permits. `hiding` begins before the first attempt.
  SIMT_INLINE std::uint32_t take(unsigned k, std::uint32_t n, std::uint32_t spread, Haste haste, Motion& hiding) const {
    const std::uint32_t words = shape_->words();
    const auto start = static_cast<std::uint32_t>((std::uint64_t{spread} * words) >> 32);
    // All at once, so that an empty map costs one trip to memory.
    std::uint32_t some = 0;
    SIMT_UNROLLED
    for (unsigned rank = 0; rank < ranks; ++rank) some |= (hints(rank).hinted() ? 1u : 0u) << rank;
    SIMT_ROLLED
    for (some &= ~0u << k; some != 0; some &= some - 1) {
      const SumMap map = hints(simt::lowest_bit(some));
      // From `start` to the end, then from the beginning: every hint once, also those that are wrong.
      bool wrapped = start == 0;
      std::uint32_t at = start, end = words;
      SIMT_ROLLED
      for (;;) {
        const std::uint32_t i = map.next(at);
        if (i < end) {
          const std::uint32_t unit = take_in(i, k, n, spread, haste, hiding);
          if (unit != none || haste.attempts == 0) return unit;
          at = i + 1;
        } else if (!wrapped) {
          wrapped = true;
          at = 0;
          end = start;
        } else {
          break;
        }
      }
    }
    return none;
  }

  // Gives n units of one word back. Where that makes all 64 of its units free, takes them out again and returns true:
  // they are one unit of the map above, and `motion` has begun. A word with fewer than 64 units is never full.
  SIMT_INLINE bool give(std::uint32_t unit, std::uint32_t n, Motion& motion) const {
    const std::uint32_t i = unit / 64;
    simt::atomic_ref<std::uint64_t> word(words_[shape_->words_at + i]);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - n)) << unit % 64, full = ~std::uint64_t{0};
    // Announced before it is done, unless the rank stays: who then gives back more of the same rank relies on this
    // thread for the hint. release, here and below: hands the units over; acquire: and passes on that those that have
    // given units of this word back before have announced it.
    std::uint64_t before = word.load(simt::relaxed);
    if (rank_of(before) != rank_of(before | mask) || (before | mask) == full ||
        !word.compare_exchange_strong(before, before | mask, simt::acq_rel, simt::relaxed)) {
      motion.begin();
      before = word.fetch_or(mask, simt::acq_rel);
    }
    std::uint64_t after = before | mask;
    // acquire: waits for all that gave units of this word back. Fails if somebody took one: then the last to give them
    // back does this.
    if (after == full && word.compare_exchange_strong(after, 0, simt::acquire, simt::relaxed)) {
      after = 0;
    } else {
      after = before | mask;
    }
    moved(i, before, after, motion);
    return after == 0;
  }

  // The rank of a word; `ranks` if it has no free unit.
  static SIMT_INLINE unsigned rank_of(std::uint64_t w) {
    if (w == 0) return ranks;
    unsigned rank = 0;
    SIMT_ROLLED
    for (; rank + 1 < ranks; ++rank) {
      w &= (w >> (1u << rank)) & aligned(rank + 1);
      if (w == 0) break;
    }
    return rank;
  }

  SIMT_INLINE SumMap hints(unsigned rank) const {
    return {words_ + shape_->hints_at + rank * shape_->hint_words, shape_->table, shape_->words()};
  }

 private:
  // A bit in every 2^k.
  static SIMT_INLINE std::uint64_t aligned(unsigned k) {
    return k == 0   ? ~std::uint64_t{0}
           : k == 1 ? 0x5555555555555555u
           : k == 2 ? 0x1111111111111111u
           : k == 3 ? 0x0101010101010101u
           : k == 4 ? 0x0001000100010001u
                    : 0x0000000100000001u;
  }
  // Where the aligned runs of 2^k set bits begin.
  static SIMT_INLINE std::uint64_t starts(std::uint64_t w, unsigned k) {
    SIMT_ROLLED
    for (unsigned i = 0; i < k; ++i) w &= (w >> (1u << i)) & aligned(i + 1);
    return w;
  }
  // The first run in the smallest one that must be divided for it, given starts(w, k).
  static SIMT_INLINE unsigned best(std::uint64_t runs, unsigned k) {
    SIMT_ROLLED
    for (; k + 1 < ranks; ++k) {
      const std::uint64_t pairs = runs & (runs >> (1u << k)) & aligned(k + 1);
      const std::uint64_t alone = runs & ~(pairs | pairs << (1u << k));
      if (alone != 0) return simt::lowest_bit(alone);
      runs = pairs;
    }
    return simt::lowest_bit(runs);
  }
  static SIMT_INLINE unsigned some_of(std::uint64_t runs, std::uint32_t spread) {
    const std::uint64_t behind = runs & (~std::uint64_t{0} << (spread >> 8 & 63));
    return simt::lowest_bit(behind != 0 ? behind : runs);
  }

  SIMT_INLINE std::uint32_t take_in(std::uint32_t i, unsigned k, std::uint32_t n, std::uint32_t spread, Haste& haste,
                                    Motion& hiding) const {
    simt::atomic_ref<std::uint64_t> word(words_[shape_->words_at + i]);
    std::uint64_t seen = word.load(simt::relaxed);
    std::uint64_t runs = starts(seen, k);
    if (runs == 0) --haste.attempts;
    SIMT_ROLLED
    for (; runs != 0 && haste.attempts > 0; runs = starts(seen, k), --haste.attempts) {
      hiding.begin();
      // Best fit, until somebody else was faster: thousands that want the same one need not lose one after the other.
      const unsigned at = haste.scatter ? some_of(runs, spread) : best(runs, k);
      haste.scatter = true;
      const std::uint64_t mask = (~std::uint64_t{0} >> (64 - n)) << at;
      // acquire: waits for the last owners. A single unit is taken or not whatever else happens to the word.
      bool mine = false;
      if (n == 1) {
        seen = word.fetch_and(~mask, simt::acquire);
        mine = (seen & mask) != 0;
      } else {
        mine = word.compare_exchange_strong(seen, seen & ~mask, simt::acquire, simt::relaxed);
      }
      if (mine) {
        Motion motion(motion_);
        moved(i, seen, seen & ~mask, motion);
        motion.end();
        return i * 64 + at;
      }
    }
    return none;
  }

  // Word i has changed: so must its hints. The last to set a hint of the word does not drop it again, and has seen the
  // rank afterwards; since then the rank has fallen, if anything, and this hint leads to the word all the same.
  SIMT_INLINE void moved(std::uint32_t i, std::uint64_t before, std::uint64_t after, Motion& motion) const {
    unsigned rank = rank_of(after), seen = rank_of(before);
    if (rank == seen) return;
    motion.begin();
    std::uint32_t set = 1u << seen;  // that are, as far as this thread knows
    SIMT_ROLLED
    while (rank != seen) {
      seen = rank;
      SIMT_ROLLED
      for (std::uint32_t drop = set & ~(1u << ranks | 1u << rank); drop != 0; drop &= drop - 1) {
        hints(simt::lowest_bit(drop)).take(i);
      }
      if (rank != ranks) hints(rank).set(i);
      set |= 1u << rank;
      // relaxed: who touched these hints before has changed the word before that, and take() and set() wait for it.
      rank = rank_of(simt::atomic_ref<std::uint64_t>(words_[shape_->words_at + i]).load(simt::relaxed));
    }
  }

  std::uint64_t* words_;
  const Shape* shape_;
  std::uint64_t* motion_;
};

}  // namespace heapwood::alloc
