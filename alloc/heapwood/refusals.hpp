// SPDX-License-Identifier: MIT
// How requests are refused quickly in a full pool.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc::arena {

// A slot's last failed search: its size and the number of requests refused since then.
//
// A failed search has read every count, and an immediate second search would most likely fail too.
// Requests of that size or larger are therefore refused without a search until as many have been
// refused as there are superblocks, or until an arena is found.
//
// Layout: {refused since:32 | granules searched for:32}. The counter is in the upper half, where it
// can wrap without corrupting the size, so a request reads the word and counts itself in one
// fetch_add, whatever the word's state.
class Refusals {
 public:
  static constexpr std::uint64_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t recorded = 1u << 31;
  // Max superblocks of a pool in which no request is refused without a search.
  static constexpr std::uint32_t small_pool_superblocks = 64;
  using Word = simt::atomic_ref<std::uint64_t>;

  HEAPWOOD_INLINE explicit Refusals(std::uint64_t& word) : word_(word) {}

  // Counts `requests` requests and returns whether they are refused.
  //
  // Returns 0 if no search has failed. Otherwise returns `recorded`, plus the number of this
  // refusal (from 1) if it is refused. A number of 0 means that a search is due: the request is
  // smaller than the failed search, or it is the first one beyond `max_refusals`. That request
  // searches, then calls record_failed_search() or clear(); the other requests are refused in the
  // meantime.
  //
  // relaxed, here and below: the word is only a counter and publishes nothing.
  HEAPWOOD_INLINE std::uint32_t refuse(std::uint32_t granules, std::uint32_t requests,
                                       std::uint32_t max_refusals) const {
    const std::uint64_t before = word_.fetch_add(std::uint64_t{requests} << 32, simt::relaxed);
    const auto searched_for = static_cast<std::uint32_t>(before);
    if (searched_for == none) return 0;
    if (granules < searched_for) return recorded;
    const auto since = static_cast<std::uint32_t>(before >> 32);
    return recorded | (since > max_refusals              ? since
                       : since + requests > max_refusals ? 0
                                                         : since + requests);
  }
  // Whether a search for `granules` granules or fewer has failed. relaxed: a hint.
  HEAPWOOD_INLINE bool has_failed_search_for(std::uint32_t granules) const {
    return granules >= static_cast<std::uint32_t>(word_.load(simt::relaxed));
  }
  HEAPWOOD_INLINE static bool search_due(std::uint32_t refusal) {
    return (refusal & ~recorded) == 0;
  }

  // Both return 0, so that a team can call them through once().
  HEAPWOOD_INLINE std::uint32_t record_failed_search(std::uint32_t granules) const {
    word_.store(granules, simt::relaxed);
    return 0;
  }
  HEAPWOOD_INLINE std::uint32_t clear() const {
    word_.store(none, simt::relaxed);
    return 0;
  }

 private:
  Word word_;
};

}  // namespace heapwood::alloc::arena
