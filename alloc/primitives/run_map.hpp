// SPDX-License-Identifier: MIT
// A bitmap of free units, 64 per word, from which many threads concurrently take and free aligned
// runs of 1 to 32 units. Own design; a level of the buddy allocator in buddy.hpp. Binary buddies
// within a word need no splitting or merging: two free halves are simply two sets of bits.
//
// The rank of a word is k if 2^k is its largest aligned free run. For each rank a SumMap
// (sum_map.hpp) holds the words of that rank as hints. So a run is found with a few loads, and in a
// word without a larger run if there is one. A thread that changes a word's rank drops the old
// hint, sets the new one and reads the word again. Of two threads that change a word, the one that
// updates its hints later sees the other's change to the word, so in the end the hints agree with
// it.
//
// A hint that is being updated briefly hides units that others have freed. Each such update is
// therefore announced as a Motion, which begins before a word's rank rises and before a hint is
// dropped. If a rank has fallen, the old hint stays until then, and still leads to the word.
#pragma once

#include <cstdint>

#include "alloc/primitives/sum_map.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

// Announces that a thread hides something that was free before it came: a hint, or the rest of a
// block that it splits or merges. The word is {completed moves:40, threads inside:24}. If a thread
// reads the same value, with no thread inside, before and after a search that found nothing, then
// nothing was hidden from it.
class Motion {
 public:
  // `word` may be nullptr, if there is nothing to announce.
  HEAPWOOD_INLINE explicit Motion(std::uint64_t* word) : word_(word) {}

  HEAPWOOD_INLINE void begin() {
    if (word_ == nullptr || inside_) return;
    inside_ = true;
    // acquire: nothing is hidden before this. With the release in load_after_search(), the hiding
    // comes after the search of every thread that reads the count without this thread.
    Word64(*word_).fetch_add(1, simt::acquire);
  }
  // `moved` is false if nothing was changed. The count then returns to its previous value, so that
  // threads that find nothing do not make each other search again.
  HEAPWOOD_INLINE void end(bool moved = true) {
    if (!inside_) return;
    inside_ = false;
    // release: a thread that sees that this thread has left also sees its changes.
    Word64(*word_).fetch_add((moved ? one_move : 0) - 1, simt::release);
  }

  static HEAPWOOD_INLINE std::uint64_t load(std::uint64_t* word) {
    // acquire: makes the changes of the threads that have left visible.
    return Word64(*word).load(simt::acquire);
  }
  static HEAPWOOD_INLINE bool is_idle(std::uint64_t seen) { return (seen & (one_move - 1)) == 0; }
  // Called after a search. release: orders the search before what begins after this load.
  static HEAPWOOD_INLINE std::uint64_t load_after_search(std::uint64_t* word) {
    return Word64(*word).fetch_add(0, simt::release);
  }

 private:
  static constexpr std::uint64_t one_move = 1u << 24;
  std::uint64_t* word_;
  bool inside_ = false;
};

class RunMap {
 public:
  static constexpr std::uint32_t none = SumMap::none;
  static constexpr unsigned ranks = 6;  // plus one for words without a free unit

  // Where a map lies in an array of words that it shares with other maps.
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
    HEAPWOOD_INLINE std::uint32_t words() const { return (units + 63) / 64; }
    std::uint32_t end() const { return hints_at + ranks * hint_words; }
  };

  // How to search while other threads may be searching too.
  struct SearchMode {
    unsigned attempts = ~0u;  // failed attempts before the search is given up
    bool scatter = false;     // take any run, not the best fit
  };

  // `motion` is the Motion word that searches of this map check.
  HEAPWOOD_INLINE RunMap(std::uint64_t* words, const Shape* shape, std::uint64_t* motion)
      : words_(words), shape_(shape), motion_(motion) {}

  // Takes the first n units of an aligned run of 2^k free units, n <= 2^k <= 32, and returns the
  // first one. Returns `none` if no hint led to such a run, or if other threads were faster in as
  // many attempts as `mode` permits. `motion_of_search` begins before the first attempt.
  HEAPWOOD_INLINE std::uint32_t take(unsigned k, std::uint32_t n, std::uint32_t seed,
                                     SearchMode mode, Motion& motion_of_search) const {
    const std::uint32_t words = shape_->words();
    const std::uint32_t start = scaled(seed, words);
    // The latencies of all loads overlap, so an empty map costs only one of them.
    std::uint32_t nonempty_ranks = 0;
    HEAPWOOD_UNROLLED
    for (unsigned rank = 0; rank < ranks; ++rank)
      nonempty_ranks |= (hints(rank).hinted() ? 1u : 0u) << rank;
    HEAPWOOD_ROLLED
    for (nonempty_ranks &= ~0u << k; nonempty_ranks != 0; nonempty_ranks &= nonempty_ranks - 1) {
      const SumMap map = hints(simt::lowest_bit(nonempty_ranks));
      // Visits every hint once, also wrong ones: from `start` to the end, then from the beginning.
      bool wrapped = start == 0;
      std::uint32_t next = start, end = words;
      HEAPWOOD_ROLLED
      for (;;) {
        const std::uint32_t i = map.next(next);
        if (i < end) {
          const std::uint32_t unit = take_in(i, k, n, seed, mode, motion_of_search);
          if (unit != none || mode.attempts == 0) return unit;
          next = i + 1;
        } else if (!wrapped) {
          wrapped = true;
          next = 0;
          end = start;
        } else {
          break;
        }
      }
    }
    return none;
  }

  // Frees n units of one word. If that makes all 64 of its units free, takes them out again and
  // returns true: they are one unit of the map above, and `motion` has begun. A word with fewer
  // than 64 units never becomes full.
  HEAPWOOD_INLINE bool free(std::uint32_t unit, std::uint32_t n, Motion& motion) const {
    const std::uint32_t i = unit / 64;
    Word64 word(words_[shape_->words_at + i]);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - n)) << unit % 64,
                        full = ~std::uint64_t{0};
    // Begin a motion before the units are freed, unless the rank stays the same: a thread that then
    // frees more units of the same rank relies on this thread to set the hint. release, here and
    // below: hands the units over. acquire: their next owner also sees the motions of threads
    // that freed units of this word earlier.
    std::uint64_t before = word.load(simt::relaxed);
    if (rank_of(before) != rank_of(before | mask) || (before | mask) == full ||
        !word.compare_exchange_strong(before, before | mask, simt::acq_rel, simt::relaxed)) {
      motion.begin();
      before = word.fetch_or(mask, simt::acq_rel);
    }
    std::uint64_t after = before | mask;
    // acquire: synchronizes with all threads that freed units of this word. Fails if another thread
    // took a unit; then the last thread to free a unit empties the word.
    if (after == full && word.compare_exchange_strong(after, 0, simt::acquire, simt::relaxed)) {
      after = 0;
    } else {
      after = before | mask;
    }
    update_hints(i, before, after, motion);
    return after == 0;
  }

  // The rank of a word whose free units are the bits of w; `ranks` if there are none.
  static HEAPWOOD_INLINE unsigned rank_of(std::uint64_t w) {
    if (w == 0) return ranks;
    unsigned rank = 0;
    HEAPWOOD_ROLLED
    for (; rank + 1 < ranks; ++rank) {
      w &= (w >> (1u << rank)) & aligned(rank + 1);
      if (w == 0) break;
    }
    return rank;
  }

  HEAPWOOD_INLINE SumMap hints(unsigned rank) const {
    return {words_ + shape_->hints_at + rank * shape_->hint_words, shape_->table, shape_->words()};
  }

 private:
  // A mask whose set bits are the multiples of 2^k.
  static HEAPWOOD_INLINE std::uint64_t aligned(unsigned k) {
    return k == 0   ? ~std::uint64_t{0}
           : k == 1 ? 0x5555555555555555u
           : k == 2 ? 0x1111111111111111u
           : k == 3 ? 0x0101010101010101u
           : k == 4 ? 0x0001000100010001u
                    : 0x0000000100000001u;
  }
  // Mask of the first bits of the aligned runs of 2^k set bits.
  static HEAPWOOD_INLINE std::uint64_t starts(std::uint64_t w, unsigned k) {
    HEAPWOOD_ROLLED
    for (unsigned i = 0; i < k; ++i) w &= (w >> (1u << i)) & aligned(i + 1);
    return w;
  }
  // Best fit: the first run whose enclosing free run is smallest, given starts(w, k).
  static HEAPWOOD_INLINE unsigned best_fit(std::uint64_t runs, unsigned k) {
    HEAPWOOD_ROLLED
    for (; k + 1 < ranks; ++k) {
      const std::uint64_t pairs = runs & (runs >> (1u << k)) & aligned(k + 1);
      const std::uint64_t unpaired = runs & ~(pairs | pairs << (1u << k));
      if (unpaired != 0) return simt::lowest_bit(unpaired);
      runs = pairs;
    }
    return simt::lowest_bit(runs);
  }
  static HEAPWOOD_INLINE unsigned pick_from(std::uint64_t runs, std::uint32_t seed) {
    const std::uint64_t behind = runs & (~std::uint64_t{0} << (seed >> 8 & 63));
    return simt::lowest_bit(behind != 0 ? behind : runs);
  }

  HEAPWOOD_INLINE std::uint32_t take_in(std::uint32_t i, unsigned k, std::uint32_t n,
                                        std::uint32_t seed, SearchMode& mode,
                                        Motion& motion_of_search) const {
    Word64 word(words_[shape_->words_at + i]);
    std::uint64_t seen = word.load(simt::relaxed);
    std::uint64_t runs = starts(seen, k);
    if (runs == 0) --mode.attempts;
    HEAPWOOD_ROLLED
    for (; runs != 0 && mode.attempts > 0; runs = starts(seen, k), --mode.attempts) {
      motion_of_search.begin();
      // Best fit first, then any run, so that thousands of threads do not contend for one.
      const unsigned bit = mode.scatter ? pick_from(runs, seed) : best_fit(runs, k);
      mode.scatter = true;
      const std::uint64_t mask = (~std::uint64_t{0} >> (64 - n)) << bit;
      // acquire: synchronizes with the last owners. Taking a single unit succeeds or fails
      // independently of other changes to the word.
      bool mine = false;
      if (n == 1) {
        seen = word.fetch_and(~mask, simt::acquire);
        mine = (seen & mask) != 0;
      } else {
        mine = word.compare_exchange_strong(seen, seen & ~mask, simt::acquire, simt::relaxed);
      }
      if (mine) {
        Motion motion(motion_);
        update_hints(i, seen, seen & ~mask, motion);
        motion.end();
        return i * 64 + bit;
      }
    }
    return none;
  }

  // Updates the hints of word i after a change. The last thread to set a hint of the word does not
  // drop it again, and has read the rank afterwards. Since then the rank can only have fallen, and
  // this hint still leads to the word.
  HEAPWOOD_INLINE void update_hints(std::uint32_t i, std::uint64_t before, std::uint64_t after,
                                    Motion& motion) const {
    unsigned rank = rank_of(after), seen = rank_of(before);
    if (rank == seen) return;
    motion.begin();
    std::uint32_t set = 1u << seen;  // hints that are set, as far as this thread knows
    HEAPWOOD_ROLLED
    while (rank != seen) {
      seen = rank;
      HEAPWOOD_ROLLED
      for (std::uint32_t drop = set & ~(1u << ranks | 1u << rank); drop != 0; drop &= drop - 1) {
        hints(simt::lowest_bit(drop)).take(i);
      }
      if (rank != ranks) hints(rank).set(i);
      set |= 1u << rank;
      // relaxed: a thread that updated these hints earlier changed the word before that, and take()
      // and set() synchronize with it.
      rank = rank_of(Word64(words_[shape_->words_at + i]).load(simt::relaxed));
    }
  }

  std::uint64_t* words_;
  const Shape* shape_;
  std::uint64_t* motion_;
};

}  // namespace heapwood::alloc
