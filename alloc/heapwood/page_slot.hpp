// SPDX-License-Identifier: MIT
// The words of a slot of pages (shared_pages.hpp). The second one is a Piece (pages.hpp): free
// blocks that belong to the slot; without marks, where it took the last ones.
#pragma once

#include <cstdint>

#include "alloc/heapwood/pages.hpp"

namespace heapwood::alloc::arena {

// The page that a slot allocates from start to end: {arena:24 | limit:8 | position:32}. `limit` is
// where the slot's part of the page ends, in eighths of an arena. `position` is in granules and
// counts all requests since the page was installed; it may pass the limit: the slot is exhausted
// then. The request that begins at or before the limit and ends behind it is the one that renews
// the slot; others wait for it for a short time.
class OpenPage {
 public:
  SIMT_INLINE explicit OpenPage(std::uint64_t bits) : bits_(bits) {}
  SIMT_INLINE OpenPage(std::uint32_t arena, std::uint32_t limit, std::uint32_t position)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{limit} << 32 | position) {}
  // A page as a whole.
  SIMT_INLINE OpenPage(Piece page, std::uint32_t position)
      : OpenPage(page.arena(), 8u << page.word(), position) {}
  // No page; the next request looks for one, and later ones wait for it.
  SIMT_INLINE static OpenPage initial() { return {Piece::no_arena, 0, 0}; }
  // No page, and none is looked for: requests are served from the slot's second word.
  SIMT_INLINE static OpenPage vacant() { return {Piece::no_arena, 0, 1}; }

  SIMT_INLINE std::uint64_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  SIMT_INLINE std::uint32_t limit() const { return static_cast<std::uint32_t>(bits_ >> 32) & 255; }
  SIMT_INLINE std::uint32_t position() const { return static_cast<std::uint32_t>(bits_); }
  SIMT_INLINE bool has_page() const { return arena() != Piece::no_arena; }

 private:
  std::uint64_t bits_;
};

// The newest page that a slot has made: {arena:24 | failures:4 | pauses:4}. The slot looks for free
// blocks in the pages that it has made. Where it has found none a few times it takes new pages
// without a look for as many times, at most 7: a program that only allocates hardly looks.
class NewestPage {
 public:
  SIMT_INLINE explicit NewestPage(std::uint32_t bits) : bits_(bits) {}
  SIMT_INLINE static NewestPage none() { return NewestPage(Piece::no_arena << 8); }

  SIMT_INLINE std::uint32_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return bits_ >> 8; }
  SIMT_INLINE bool has_page() const { return arena() != Piece::no_arena; }
  SIMT_INLINE bool has_hints() const { return (bits_ & 255) != 0; }
  SIMT_INLINE bool pauses() const { return (bits_ & 15) != 0; }
  // The word with a new page after a look that found nothing, or a pause.
  SIMT_INLINE NewestPage followed_by(std::uint32_t arena) const {
    const std::uint32_t failures = bits_ >> 4 & 15, more = failures < 3 ? failures + 1 : 3;
    const std::uint32_t hints = pauses() ? (bits_ & 255) - 1 : more << 4 | ((1u << more) - 1);
    return NewestPage(arena << 8 | hints);
  }

 private:
  std::uint32_t bits_;
};

// n of the bits, or all, from bit `turn` % 32 on. n is not 0.
SIMT_INLINE std::uint32_t some_bits(std::uint32_t bits, std::uint32_t n, std::uint32_t turn) {
  if (simt::popcount(bits) <= n) return bits;
  const std::uint32_t left = turn & 31, right = (32 - left) & 31;
  std::uint32_t turned = bits >> left | bits << right;
  turned &= n == 1 ? 0 - turned : (1u << nth_bit(turned, n)) - 1;
  return turned << left | turned >> right;
}

}  // namespace heapwood::alloc::arena
