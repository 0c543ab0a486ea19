// SPDX-License-Identifier: MIT
// The values of the arenas' words (arenas.hpp), and the search that threads share.
//
//   counts[a]            0         free
//                        open - f  open: blocks are being allocated, f of them are freed (< 2^31)
//                        n         closed: n blocks are live; frees bring it to 0
//                        span + r  first of r arenas that form one block; the rest are `body`
//                                  (r <= 32, except from the reserve and collected runs)
//                        body - 1  being collected for a run (run_collector.hpp)
//   superblock_words[s]  0         free: usable as a whole, or split on the first claim of an arena
//                        split     its arenas are claimed individually
//                        locked    split, and a thread is checking whether it can be made free
//                        span + k  first of k superblocks that form one block; the rest are `body`
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::arena {

inline constexpr std::uint32_t none = ~0u;
inline constexpr std::uint32_t open = 1u << 31, span = 3u << 30, body = ~0u;
inline constexpr std::uint32_t split = 1, locked = 2;

// 2^16 over the golden ratio: multiples of it are spread evenly, as starts of searches.
inline constexpr std::uint32_t seed_stride = 40503;

HEAPWOOD_INLINE bool is_span(std::uint32_t word) { return word >= span; }
// The first word of a span, and whether the span consists of arenas or of whole superblocks.
struct SpanHead {
  std::uint32_t word;
  bool in_superblocks;
};

// Execution policies for operations on the arenas' tables: a single lane, or all lanes of a
// converged warp. A warp reads a cache line of words at a time, a single lane a quarter of one; a
// warp takes the words of a span in parallel. The results of `mask`, `all` and `once` are the same
// in every member.
struct SingleLane {
  // Words that `mask` reads. The loads are independent, so they are in flight together.
  static constexpr std::uint32_t mask_width = 8;

  HEAPWOOD_INLINE std::uint32_t first() const { return 0; }
  HEAPWOOD_INLINE std::uint32_t stride() const { return 1; }
  // Returns a mask whose bit i is f(i), for i < mask_width.
  template <class F>
  HEAPWOOD_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; ++i) bits |= std::uint32_t{f(i)} << i;
    return bits;
  }
  HEAPWOOD_INLINE bool all(bool mine) const { return mine; }
  // Calls f in the first member only and returns its result to every member.
  template <class F>
  HEAPWOOD_INLINE auto once(F f) const {
    return f();
  }
  // Orders the members' memory accesses.
  HEAPWOOD_INLINE void sync() const {}
};

template <class Warp>
class WholeWarp {
 public:
  static constexpr std::uint32_t mask_width = 32;
  static_assert(mask_width % Warp::width == 0);

  HEAPWOOD_INLINE explicit WholeWarp(Warp& warp) : warp_(warp) {}

  HEAPWOOD_INLINE std::uint32_t first() const { return warp_.lane(); }
  HEAPWOOD_INLINE std::uint32_t stride() const { return Warp::width; }
  template <class F>
  HEAPWOOD_INLINE std::uint32_t mask(F f) const {
    std::uint32_t bits = 0;
    HEAPWOOD_UNROLLED
    for (std::uint32_t i = 0; i < mask_width; i += Warp::width)
      bits |= warp_.ballot(f(i + warp_.lane())) << i;
    return bits;
  }
  HEAPWOOD_INLINE bool all(bool mine) const { return !warp_.any(!mine); }
  template <class F>
  HEAPWOOD_INLINE auto once(F f) const {
    decltype(f()) result{};
    if (warp_.lane() == 0) result = f();
    return warp_.shfl(result, 0);
  }
  HEAPWOOD_INLINE void sync() const { warp_.sync(); }

 private:
  Warp& warp_;
};

// Whether the search that read the ticket `begin` when it started has seen that every piece was
// taken before `ticket`.
//
// Tickets wrap at 2^32, where ticket % pieces jumps unless `pieces` is a power of two, so `pieces`
// consecutive tickets across the wrap may miss a piece. Of 2 * pieces consecutive tickets at least
// `pieces` are on one side of it, and these include every piece.
HEAPWOOD_INLINE bool is_search_over(std::uint32_t begin, std::uint32_t ticket,
                                    std::uint32_t pieces) {
  return ticket - begin >= (ticket < begin ? 2 * pieces : pieces);
}

// Searches `pieces` pieces cooperatively with all threads that are searching at the same time.
//
// Each thread takes tickets for pieces from a shared counter. A thread stops once every piece has
// been taken by some thread since it started; other threads may still be scanning theirs. A thread
// that searches alone scans every piece itself.
template <class Team, class Look>
HEAPWOOD_INLINE std::uint32_t cooperative_search(const Team& team, std::uint32_t& search_tickets,
                                                 std::uint32_t pieces, Look look) {
  simt::atomic_ref<std::uint32_t> word(search_tickets);
  // relaxed, here and below: the tickets are only numbers.
  const std::uint32_t begin = team.once([&] { return word.load(simt::relaxed); });
  std::uint32_t ticket = 0;
  HEAPWOOD_ROLLED
  do {
    ticket = team.once([&] { return word.fetch_add(1, simt::relaxed); });
    const std::uint32_t found = look(ticket % pieces);
    if (found != none) return found;
  } while (!is_search_over(begin, ticket, pieces));
  return none;
}

// Searches `pieces` pieces cooperatively. Each lane of the group looks at another piece: one atomic
// operation takes the tickets of all lanes. A lane whose look returns true leaves: for it the
// result is true. `group` becomes the group of the lanes with the same result.
template <class Group, class Look>
HEAPWOOD_INLINE bool search_in_lanes(Group& group, std::uint32_t& search_tickets,
                                     std::uint32_t pieces, Look look) {
  simt::atomic_ref<std::uint32_t> word(search_tickets);
  // relaxed, here and below: the tickets are only numbers.
  const std::uint32_t begin = group.once([&] { return word.load(simt::relaxed); });
  std::uint32_t last = 0;
  HEAPWOOD_ROLLED
  do {
    const std::uint32_t first =
        group.once([&] { return word.fetch_add(group.size(), simt::relaxed); });
    last = first + group.size() - 1;
    const bool leaves = look((first + group.rank()) % pieces);
    group = group.part(leaves);
    if (leaves) return true;
  } while (!is_search_over(begin, last, pieces));
  return false;
}

}  // namespace heapwood::alloc::arena
