// SPDX-License-Identifier: MIT
// The words of a slot of pages (page_slots.hpp). The second word of a slot is an OwnedBlocks
// (page_words.hpp): free blocks that later requests take.
#pragma once

#include <cstdint>

#include "alloc/heapwood/page_words.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

// The page that a slot allocates from start to end: {arena:24 | limit:8 | position:32}. `limit` is
// where the slot's part of the page ends, in eighths of an arena. `position` is in granules and
// counts all requests since the page was installed. The slot is exhausted once the position has
// reached the limit. The one request that begins at or before the limit and ends beyond it renews
// the slot; others wait for it for a short time.
class OpenPage {
 public:
  SIMT_INLINE explicit OpenPage(std::uint64_t bits) : bits_(bits) {}
  SIMT_INLINE OpenPage(std::uint32_t arena, std::uint32_t limit, std::uint32_t position)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{limit} << 32 | position) {}
  // A whole page.
  SIMT_INLINE OpenPage(OwnedBlocks page, std::uint32_t position)
      : OpenPage(page.arena(), 8u << page.run(), position) {}
  // No page. The next request renews the slot, and later ones wait for it.
  SIMT_INLINE static OpenPage initial() { return {OwnedBlocks::no_arena, 0, 0}; }
  // No page. Requests are served from the slot's second word, whose awaited flag elects the request
  // that renews the slot.
  SIMT_INLINE static OpenPage vacant() { return {OwnedBlocks::no_arena, 0, 1}; }
  // What a request adds to the word.
  SIMT_INLINE static std::uint64_t request(std::uint32_t granules) { return granules; }

  SIMT_INLINE std::uint64_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  SIMT_INLINE std::uint32_t limit() const { return static_cast<std::uint32_t>(bits_ >> 32) & 255; }
  SIMT_INLINE std::uint32_t position() const { return static_cast<std::uint32_t>(bits_); }
  SIMT_INLINE bool has_page() const { return arena() != OwnedBlocks::no_arena; }

 private:
  std::uint64_t bits_;
};

// The newest page that a slot has taken: {arena:24 | failures:4 | pauses:4}. A slot looks for free
// blocks in the pages that it has taken. Each time it finds none it takes the next pages without a
// look, 1, 3 and then 7 of them, so a program that only allocates hardly looks.
class NewestPage {
 public:
  SIMT_INLINE explicit NewestPage(std::uint32_t bits) : bits_(bits) {}
  SIMT_INLINE static NewestPage none() { return NewestPage(OwnedBlocks::no_arena << 8); }

  SIMT_INLINE std::uint32_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return bits_ >> 8; }
  SIMT_INLINE bool has_page() const { return arena() != OwnedBlocks::no_arena; }
  SIMT_INLINE bool has_failed() const { return (bits_ & 255) != 0; }
  SIMT_INLINE bool pauses() const { return (bits_ & 15) != 0; }
  // The word after the slot has taken another page: during a pause, or because a look found
  // nothing.
  SIMT_INLINE NewestPage followed_by(std::uint32_t arena) const {
    const std::uint32_t failures = bits_ >> 4 & 15, more = failures < 3 ? failures + 1 : 3;
    const std::uint32_t counters = pauses() ? (bits_ & 255) - 1 : more << 4 | ((1u << more) - 1);
    return NewestPage(arena << 8 | counters);
  }
  // Clears the counters of a word after a successful look, by a bitwise AND.
  static constexpr std::uint32_t without_failures = ~255u;

 private:
  std::uint32_t bits_;
};

// Up to n of the set bits, in circular order from bit `turn` % 32 on. n is not 0.
SIMT_INLINE std::uint32_t some_bits(std::uint32_t bits, std::uint32_t n, std::uint32_t turn) {
  if (simt::popcount(bits) <= n) return bits;
  const std::uint32_t left = turn & 31, right = (32 - left) & 31;
  std::uint32_t turned = bits >> left | bits << right;
  turned &= n == 1 ? 0 - turned : (1u << nth_bit(turned, n)) - 1;
  return turned << left | turned >> right;
}

}  // namespace heapwood::alloc::arena
