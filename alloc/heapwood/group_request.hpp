// SPDX-License-Identifier: MIT
// One request for all lanes of a group, which may need different sizes. Sizes are in granules.
#pragma once

#include <cstdint>

#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::arena {

struct GroupRequest {
  std::uint32_t total;  // of all lanes
  std::uint32_t below;  // of the lanes below this one

  // For lanes that request n granules each.
  template <class Thread>
  static HEAPWOOD_INLINE GroupRequest of_equal(const LaneGroup<Thread>& group, std::uint32_t n) {
    return {n * group.size(), n * group.rank()};
  }
  // For lanes that request different sizes, this one n granules. One vote per bit of the sizes.
  template <class Thread>
  static HEAPWOOD_INLINE GroupRequest of(const Thread& thread, const LaneGroup<Thread>& group,
                                         std::uint32_t n) {
    if (group.has_one_lane()) return {n, 0};
    GroupRequest sum{0, 0};
    const std::uint32_t lower = group.lanes() & ((1u << thread.lane()) - 1);
    HEAPWOOD_ROLLED
    for (std::uint64_t bits = group.reduce_or(n); bits != 0; bits &= bits - 1) {
      const unsigned b = simt::lowest_bit(bits);
      const std::uint32_t set = thread.ballot(group.lanes(), (n >> b & 1) != 0);
      sum.total += simt::popcount(set) << b;
      sum.below += simt::popcount(set & lower) << b;
    }
    return sum;
  }
  // The request of `rest`, the group's lanes from some lane on, after those below it are served.
  template <class Thread>
  HEAPWOOD_INLINE GroupRequest remaining_for(const Thread& thread,
                                             const LaneGroup<Thread>& rest) const {
    if (rest.has_one_lane()) return {total - below, 0};
    const std::uint32_t served = thread.shfl(rest.lanes(), below, simt::lowest_bit(rest.lanes()));
    return {total - served, below - served};
  }
};

// The smallest request of a group. One vote per bit of the sizes.
template <class Thread>
HEAPWOOD_INLINE std::uint32_t min_request(const Thread& thread, const LaneGroup<Thread>& group,
                                          std::uint32_t n) {
  if (group.has_one_lane()) return n;
  std::uint32_t candidates = group.lanes(), min = 0;
  HEAPWOOD_ROLLED
  for (auto bits = static_cast<std::uint32_t>(group.reduce_or(n)); bits != 0;) {
    const unsigned b = simt::highest_bit(bits);
    bits &= ~(1u << b);
    const std::uint32_t set = thread.ballot(group.lanes(), (n >> b & 1) != 0);
    if ((candidates & ~set) != 0)
      candidates &= ~set;
    else
      min |= 1u << b;
  }
  return min;
}

// A lane's place where the requests of a group are packed into arenas, and what the lanes in the
// same arena request together.
struct PackedPlace {
  std::uint32_t first_lane;  // of those in the same arena
  std::uint32_t lanes;       // in the same arena
  std::uint32_t granule;     // where the block begins
  std::uint32_t granules;    // used in the same arena
  std::uint32_t arenas;      // for the whole group
  bool is_last;              // whether this is the last arena

  // For lanes that request the same size. `capacity`: granules of an arena; no request is larger.
  template <class Thread>
  static HEAPWOOD_INLINE PackedPlace of_equal(const Thread& thread, const LaneGroup<Thread>& group,
                                              std::uint32_t n, std::uint32_t capacity) {
    const std::uint32_t each = capacity / n, in_arena = group.rank() % each,
                        first = group.rank() - in_arena, behind = group.size() - first,
                        lanes = behind < each ? behind : each;
    return {group.has_one_lane() ? thread.lane() : nth_bit(group.lanes(), first),
            lanes,
            in_arena * n,
            lanes * n,
            (group.size() + each - 1) / each,
            behind <= each};
  }
  // For any sizes: fills an arena with the next lanes, then with later ones that still fit.
  template <class Thread>
  static HEAPWOOD_INLINE PackedPlace of(const Thread& thread, const LaneGroup<Thread>& group,
                                        std::uint32_t n, const GroupRequest& request,
                                        std::uint32_t capacity) {
    PackedPlace place{};
    // Lanes without a place, and the sum of those requests below this lane that were not taken out
    // of turn.
    std::uint32_t left = group.lanes(), below = request.below, arenas = 0, rest = request.total;
    const auto from_first = [&](std::uint32_t value, std::uint32_t mask) {
      return thread.shfl(group.lanes(), value, simt::lowest_bit(mask));
    };
    const std::uint32_t me = 1u << thread.lane();
    HEAPWOOD_ROLLED
    do {
      std::uint32_t granule = below - from_first(below, left);
      std::uint32_t here =
          thread.ballot(group.lanes(), (left & me) != 0 && granule + n <= capacity);
      left &= ~here;
      std::uint32_t used = left != 0 ? from_first(granule, left) : rest;
      HEAPWOOD_ROLLED
      for (;;) {
        const std::uint32_t fitting =
            thread.ballot(group.lanes(), (left & me) != 0 && used + n <= capacity);
        if (fitting == 0) break;
        const std::uint32_t taken = fitting & (0 - fitting), size = from_first(n, taken);
        if (me == taken) granule = used;
        if (me > taken) below -= size;
        used += size;
        here |= taken;
        left &= ~taken;
      }
      if ((here & me) != 0) {
        place = {simt::lowest_bit(here), simt::popcount(here), granule, used, 0, left == 0};
      }
      rest -= used;
      ++arenas;
    } while (left != 0);
    place.arenas = arenas;
    return place;
  }
};

}  // namespace heapwood::alloc::arena
