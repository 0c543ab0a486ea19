// SPDX-License-Identifier: MIT
// A bitmap with 64-ary summaries, in which many threads set, take and find bits concurrently. Level
// 0 holds the bits; bit j of level i+1 is a hint that word j of level i is not zero.
//
// A hint may be wrong in either direction while a thread is inside set() or take(), but not longer.
// A thread that takes the last bit of a word clears the hint and reads the word again. Clearing the
// hint and set() are read-modify-writes of one summary word, so one is first: if it is set(), the
// second read sees the new bit and the hint is set again; otherwise set() sets the hint last. Only
// if a bit is taken while it is being set may the hint of an empty word remain, until that word is
// used again. find() never relies on a hint.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

class SumMap {
 public:
  static constexpr std::uint32_t none = ~0u;
  // Entries 0 to 5: first word of that level; 6: unused; 7: index of the top level.
  static constexpr unsigned table_entries = 8;

  // Returns the number of words of a map of `bits` bits, and fills in where its levels begin in the
  // shared array of words. Host code.
  static std::uint32_t plan(std::uint32_t bits, std::uint32_t first_word,
                            std::uint32_t (&table)[table_entries]) {
    std::uint32_t level = 0, words = 0;
    for (std::uint32_t n = bits;; ++level) {
      n = (n + 63) / 64;
      table[level] = first_word + words;
      words += n;
      if (n <= 1) break;
    }
    table[table_entries - 1] = level;
    return words;
  }

  HEAPWOOD_INLINE SumMap(std::uint64_t* words, const std::uint32_t* table, std::uint32_t bits)
      : words_(words), table_(table), bits_(bits) {}
  HEAPWOOD_INLINE std::uint32_t bits() const { return bits_; }

  // Sets a bit; returns the previous value of its word.
  HEAPWOOD_INLINE std::uint64_t set(std::uint32_t bit) const { return raise(bit, 1); }

  // Sets the bits `mask` << (bit % 64), at least one, and returns the word's previous value.
  HEAPWOOD_INLINE std::uint64_t raise(std::uint32_t bit, std::uint64_t mask) const {
    // acq_rel, here and below. release: hands over what the bits represent. acquire: orders this
    // thread's next operation on the summary after that of the thread that emptied the word.
    const std::uint64_t old = word(0, bit / 64).fetch_or(mask << (bit % 64), simt::acq_rel);
    if (old == 0) set_hint(1, bit / 64);
    return old;
  }

  // Takes those of the bits `mask` << (bit % 64) that are set and returns them, shifted back. 0 if
  // other threads have taken all of them.
  HEAPWOOD_INLINE std::uint64_t take(std::uint32_t bit, std::uint64_t mask = 1) const {
    const std::uint64_t wanted = mask << (bit % 64);
    // acquire: synchronizes with set(), which handed over what the bits represent. release:
    // preserves that order for the next thread.
    const std::uint64_t old = word(0, bit / 64).fetch_and(~wanted, simt::acq_rel);
    if ((old & wanted) != 0 && (old & ~wanted) == 0) clear_hint(bit / 64);
    return (old & wanted) >> (bit % 64);
  }

  // Returns a bit that was set recently, cyclically from `start`; `none` if no hint led to one.
  HEAPWOOD_INLINE std::uint32_t find(std::uint32_t start) const {
    const std::uint32_t found = next(start);
    return found != none || start == 0 ? found : next(0);
  }

  // Returns the first set bit at or after `index`, without wrapping around, or `none`. Moves up a
  // level if a word is empty and down if a hint is set, always to the right.
  HEAPWOOD_INLINE std::uint32_t next(std::uint32_t index) const {
    std::uint32_t level = 0, size = bits_;  // number of words of this level
    const std::uint32_t highest = top();
    HEAPWOOD_ROLLED
    for (;;) {
      if (index >= size) return none;
      // relaxed: what is found is only a candidate.
      const std::uint64_t w =
          word(level, index / 64).load(simt::relaxed) & (~std::uint64_t{0} << (index % 64));
      if (w != 0) {
        index = index / 64 * 64 + simt::lowest_bit(w);
        if (level == 0) return index;
        --level;
        index *= 64;
        size = level == 0 ? bits_ : level_size(level);
      } else {
        if (level == highest) return none;
        ++level;
        index = index / 64 + 1;
        size = (size + 63) / 64;
      }
    }
  }

  // Returns the word of a bit. relaxed: its bits are only candidates.
  HEAPWOOD_INLINE std::uint64_t look(std::uint32_t bit) const {
    return word(0, bit / 64).load(simt::relaxed);
  }

  // Whether there is a hint that leads to a set bit.
  HEAPWOOD_INLINE bool hinted() const { return word(top(), 0).load(simt::relaxed) != 0; }

 private:
  HEAPWOOD_INLINE std::uint32_t top() const { return table_[table_entries - 1]; }
  HEAPWOOD_INLINE Word64 word(std::uint32_t level, std::uint32_t index) const {
    return Word64(words_[table_[level] + index]);
  }

  HEAPWOOD_INLINE void set_hint(std::uint32_t level, std::uint32_t child) const {
    HEAPWOOD_ROLLED
    for (; level <= top(); ++level, child /= 64) {
      if (word(level, child / 64).fetch_or(std::uint64_t{1} << (child % 64), simt::acq_rel) != 0)
        return;
    }
  }

  HEAPWOOD_INLINE void clear_hint(std::uint32_t child) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t level = 1; level <= top(); ++level, child /= 64) {
      const std::uint64_t bit = std::uint64_t{1} << (child % 64);
      const std::uint64_t old = word(level, child / 64).fetch_and(~bit, simt::acq_rel);
      // acquire: synchronizes with bits that were set before the hint was cleared.
      if (word(level - 1, child).load(simt::acquire) != 0) return set_hint(level, child);
      if ((old & ~bit) != 0) return;
    }
  }

  HEAPWOOD_INLINE std::uint32_t level_size(std::uint32_t level) const {
    std::uint32_t size = bits_;
    HEAPWOOD_ROLLED
    for (; level > 0; --level) size = (size + 63) / 64;
    return size;
  }

  std::uint64_t* words_;
  const std::uint32_t* table_;
  std::uint32_t bits_;
};

}  // namespace heapwood::alloc
