// SPDX-License-Identifier: MIT
// A bitmap with 64-ary summaries, in which many threads set, take and look for bits at once. Level 0 are the bits; bit
// j of level i+1 is a hint that word j of level i is not zero.
// A hint may be wrong for as long as a thread is inside set() or take(), in either direction, and never for longer: who
// takes the last bit of a word clears the hint and reads the word again. If a set() came before that clearing, the
// second read sees its bit (both are read-modify-writes of the summary word, so one orders the other) and the hint is
// raised again; if it came after, the hint ends raised. Only where a bit is taken while it is being set may a hint stay
// for an empty word, until the word is next used. find() never trusts a hint.
#pragma once

#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc {

class SumMap {
 public:
  static constexpr std::uint32_t none = ~0u;
  static constexpr unsigned table_entries = 8;  // first word of level 0..5, -, index of the top level

  // Words of a map of `bits`, and where its levels begin in the shared array of words (host).
  static std::uint32_t plan(std::uint32_t bits, std::uint32_t first_word, std::uint32_t (&table)[table_entries]) {
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

  SIMT_INLINE SumMap(std::uint64_t* words, const std::uint32_t* table, std::uint32_t bits)
      : words_(words), table_(table), bits_(bits) {}
  SIMT_INLINE std::uint32_t bits() const { return bits_; }

  // Sets a bit; returns its word as it was.
  SIMT_INLINE std::uint64_t set(std::uint32_t bit) const { return raise(bit, 1); }

  // Sets the bits `mask` << (bit % 64) of the bit's word (one at least); returns the word as it was.
  SIMT_INLINE std::uint64_t raise(std::uint32_t bit, std::uint64_t mask) const {
    // acq_rel, here and below: release hands over what the bits stand for; acquire orders this thread's next summary
    // operation behind that of whoever emptied the word (see above).
    const std::uint64_t old = word(0, bit / 64).fetch_or(mask << (bit % 64), simt::acq_rel);
    if (old == 0) hint(1, bit / 64);
    return old;
  }

  // Takes those of the bits `mask` << (bit % 64) that are set; returns them, shifted back. 0: somebody else has them.
  SIMT_INLINE std::uint64_t take(std::uint32_t bit, std::uint64_t mask = 1) const {
    const std::uint64_t wanted = mask << (bit % 64);
    // acquire: what the bits stand for was handed over by set(). release: keeps that chain for the next one.
    const std::uint64_t old = word(0, bit / 64).fetch_and(~wanted, simt::acq_rel);
    if ((old & wanted) != 0 && (old & ~wanted) == 0) emptied(bit / 64);
    return (old & wanted) >> (bit % 64);
  }

  // Some bit that was set a moment ago, searched cyclically from `start`; none if no hint led to one.
  SIMT_INLINE std::uint32_t find(std::uint32_t start) const {
    const std::uint32_t found = next(start);
    return found != none || start == 0 ? found : next(0);
  }

  // The same without going round: the first set bit at or behind `at`, or none. Up where a word is empty, down where a
  // hint is set, always to the right.
  SIMT_INLINE std::uint32_t next(std::uint32_t at) const {
    std::uint32_t level = 0, size = bits_;  // of this level
    const std::uint32_t highest = top();
    SIMT_ROLLED
    for (;;) {
      if (at >= size) return none;
      // relaxed: only a place to try.
      const std::uint64_t w = word(level, at / 64).load(simt::relaxed) & (~std::uint64_t{0} << (at % 64));
      if (w != 0) {
        at = at / 64 * 64 + simt::lowest_bit(w);
        if (level == 0) return at;
        --level;
        at *= 64;
        size = level == 0 ? bits_ : level_size(level);
      } else {
        if (level == highest) return none;
        ++level;
        at = at / 64 + 1;
        size = (size + 63) / 64;
      }
    }
  }

  // A bit's word. relaxed: only what to try.
  SIMT_INLINE std::uint64_t look(std::uint32_t bit) const { return word(0, bit / 64).load(simt::relaxed); }

  // Is there a hint that leads to a bit?
  SIMT_INLINE bool hinted() const { return word(top(), 0).load(simt::relaxed) != 0; }

 private:
  SIMT_INLINE std::uint32_t top() const { return table_[table_entries - 1]; }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> word(std::uint32_t level, std::uint32_t index) const {
    return simt::atomic_ref<std::uint64_t>(words_[table_[level] + index]);
  }

  SIMT_INLINE void hint(std::uint32_t level, std::uint32_t child) const {
    SIMT_ROLLED
    for (; level <= top(); ++level, child /= 64) {
      if (word(level, child / 64).fetch_or(std::uint64_t{1} << (child % 64), simt::acq_rel) != 0) return;
    }
  }

  SIMT_INLINE void emptied(std::uint32_t child) const {
    SIMT_ROLLED
    for (std::uint32_t level = 1; level <= top(); ++level, child /= 64) {
      const std::uint64_t bit = std::uint64_t{1} << (child % 64);
      const std::uint64_t old = word(level, child / 64).fetch_and(~bit, simt::acq_rel);
      // acquire: see the bits that were set before the hint was cleared.
      if (word(level - 1, child).load(simt::acquire) != 0) return hint(level, child);
      if ((old & ~bit) != 0) return;
    }
  }

  SIMT_INLINE std::uint32_t level_size(std::uint32_t level) const {
    std::uint32_t size = bits_;
    SIMT_ROLLED
    for (; level > 0; --level) size = (size + 63) / 64;
    return size;
  }

  std::uint64_t* words_;
  const std::uint32_t* table_;
  std::uint32_t bits_;
};

}  // namespace heapwood::alloc
