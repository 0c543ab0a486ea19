// SPDX-License-Identifier: MIT
// The two words of a slot (shared_arenas.hpp): where its requests get their blocks, and what was last searched for in vain.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc::arena {

//   slot   {arena:24 | blocks:16 | granules:24}: what has been asked for since the arena was put there, in blocks and in
//          granules. More granules than an arena has: exhausted.
// In place of an arena there may be
//   no_arena        nobody knows of one: the next request searches
//   no_arena - n    refusing: a search for n granules has been in vain; `blocks` have been refused since. Exhausted from
//                   the start, so that who adds to it is told so by the same test as at an arena's end.
class Slot {
 public:
  static constexpr std::uint32_t no_arena = (1u << 24) - 1;

  SIMT_INLINE explicit Slot(std::uint64_t bits) : bits_(bits) {}
  SIMT_INLINE Slot(std::uint32_t arena, std::uint32_t blocks, std::uint32_t granules)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{blocks} << 24 | granules) {}

  SIMT_INLINE std::uint64_t bits() const { return bits_; }
  SIMT_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  SIMT_INLINE std::uint32_t blocks() const { return static_cast<std::uint32_t>(bits_ >> 24) & 0xffffu; }
  SIMT_INLINE std::uint32_t granules() const { return static_cast<std::uint32_t>(bits_) & 0xffffffu; }
  // Refusing, after a search for n granules or fewer.
  SIMT_INLINE bool in_vain_for(std::uint32_t n) const { return no_arena - arena() - 1 < n; }

 private:
  std::uint64_t bits_;
};

// Beside a slot: what was last searched for in vain, and how many requests have been refused since. Who finds nothing has
// looked at every count, and so would the next one; that is spared for as many requests as there are superblocks, or until
// somebody finds something.
//   refusals   {refused since:32 | granules searched for:32}: the number is above, where it wraps without harm, so that who
//              asks adds to it whatever it is, in one access
class Refusals {
 public:
  static constexpr std::uint64_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t some = 1u << 31;
  using Word = simt::atomic_ref<std::uint64_t>;

  SIMT_INLINE explicit Refusals(std::uint64_t& word) : word_(word) {}

  // For a request that stands for so many. `some` where the word is not `none`, and the number of this refusal, from 1; without that a
  // search is due. Of those who are too many the first searches, and then begins anew or ends this; others are refused meanwhile.
  // relaxed, here and below: only numbers.
  SIMT_INLINE std::uint32_t refuse(std::uint32_t granules, std::uint32_t requests, std::uint32_t most) const {
    const std::uint64_t before = word_.fetch_add(std::uint64_t{requests} << 32, simt::relaxed);
    const auto searched_for = static_cast<std::uint32_t>(before);
    if (searched_for == none) return 0;
    if (granules < searched_for) return some;
    const auto since = static_cast<std::uint32_t>(before >> 32);
    return some | (since > most ? since : since + requests > most ? 0 : since + requests);
  }
  SIMT_INLINE static bool search_due(std::uint32_t refusal) { return (refusal & ~some) == 0; }

  SIMT_INLINE std::uint32_t begin(std::uint32_t granules) const {
    word_.store(granules, simt::relaxed);
    return 0;
  }
  SIMT_INLINE std::uint32_t end() const {
    word_.store(none, simt::relaxed);
    return 0;
  }

 private:
  Word word_;
};

}  // namespace heapwood::alloc::arena
