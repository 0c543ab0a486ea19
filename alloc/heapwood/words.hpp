// SPDX-License-Identifier: MIT
// The values of the words of arenas (arenas.hpp) and pages (pages.hpp), the size classes of blocks
// in pages, and the search that threads share.
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

// The size classes of blocks in pages: multiples of the granule up to 8, then four per doubling. Up
// to 2 KiB these are equally spaced. Above, 7, 6, 5 or 4 blocks fill a page of 2^k arenas, all but
// a few granules: sizes are multiples of 8 granules, so the marks of a page are in few words.
class BlockClass {
 public:
  HEAPWOOD_INLINE explicit constexpr BlockClass(std::uint32_t index) : index_(index) {}

  // The smallest class whose blocks have at least n granules; n is not 0.
  HEAPWOOD_INLINE static BlockClass of(std::uint32_t n) {
    const unsigned top = simt::highest_bit((n - 1) | 4);
    if (n <= max_spaced) return BlockClass(((n - 1) >> (top - 2)) + 4 * (top - 2));
    const std::uint32_t parts = (n - 1) >> (top - 4);
    const auto exceeds = [&](std::uint32_t k) { return std::uint32_t{parts >= thirty_seconds(k)}; };
    return BlockClass(4 * (top - 1) + exceeds(0) + exceeds(1) + exceeds(2));
  }
  HEAPWOOD_INLINE std::uint32_t index() const { return index_; }
  HEAPWOOD_INLINE std::uint32_t granules() const {
    return index_ < 4             ? index_ + 1
           : index_ < first_above ? ((index_ & 3) + 5) << shift()
                                  : thirty_seconds(index_ & 3) << (shift() - 2);
  }
  // Log2 of the arenas in the smallest page of the class; Pages::run_for() may choose a larger one.
  // An arena has 2^arena_shift granules, and the class is no larger, so this is at most 2. Blocks
  // whose size is a power of two fill one arena. A page of another class has at least 4 blocks, and
  // at most 1/8 of it is unused, above 2 KiB 1/40.
  HEAPWOOD_INLINE std::uint32_t run_shift(std::uint32_t arena_shift) const {
    const std::uint32_t wanted = shift() + 5;
    const bool is_power_of_two = index_ < 4 || (index_ & 3) == 3;
    return is_power_of_two || wanted < arena_shift ? 0 : wanted - arena_shift;
  }

 private:
  // The largest equally spaced class, 2 KiB, in granules, and the index of the next one.
  static constexpr std::uint32_t max_spaced = 128, first_above = 24;
  // Class k of a doubling above max_spaced, in 32nds of its largest class: 18, 21, 25, 32.
  HEAPWOOD_INLINE static constexpr std::uint32_t thirty_seconds(std::uint32_t k) {
    return 0x20191512u >> (8 * k) & 255;
  }
  HEAPWOOD_INLINE std::uint32_t shift() const { return index_ < 4 ? 0 : (index_ >> 2) - 1; }

  std::uint32_t index_;
};

// The count of an arena that is part of a page:
// {open:1 | 0 | log2 of the page's arenas:2 | class:6 | index of the arena in the page:3}.
class PageWord {
 public:
  static constexpr std::uint32_t max_run = 3;  // max log2 of a page's arenas

  HEAPWOOD_INLINE explicit PageWord(std::uint32_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE PageWord(BlockClass c, std::uint32_t run, std::uint32_t arena_in_page)
      : bits_(open | run << 9 | c.index() << 3 | arena_in_page) {}
  HEAPWOOD_INLINE std::uint32_t bits() const { return bits_; }
  HEAPWOOD_INLINE bool is_page() const { return bits_ - open < span - open; }
  HEAPWOOD_INLINE BlockClass block_class() const { return BlockClass(bits_ >> 3 & 63); }
  HEAPWOOD_INLINE std::uint32_t run() const { return bits_ >> 9 & 3; }
  HEAPWOOD_INLINE std::uint32_t arena_in_page() const { return bits_ & 7; }
  HEAPWOOD_INLINE bool has_class(BlockClass c) const {
    return ((bits_ ^ PageWord(c, 0, 0).bits_) & ~(3u << 9 | 7)) == 0;
  }

 private:
  std::uint32_t bits_;
};

// Free blocks owned by one thread or slot: {arena:24 | is awaited:1 | word:7 | marks:32}. If
// `marks` is not 0, they are the marked blocks of one word. If it is 0, a thread owns a whole page,
// and `word` is log2 of its arenas; a slot owns no block, and arena and word say where it last
// looked.
class OwnedBlocks {
 public:
  static constexpr std::uint32_t no_arena = (1u << 24) - 1;
  static constexpr std::uint32_t max_words = 128;

  HEAPWOOD_INLINE explicit OwnedBlocks(std::uint64_t bits) : bits_(bits) {}
  HEAPWOOD_INLINE OwnedBlocks(std::uint32_t arena, std::uint32_t word, std::uint32_t marks)
      : bits_(std::uint64_t{arena} << 40 | std::uint64_t{word} << 32 | marks) {}
  HEAPWOOD_INLINE static OwnedBlocks nothing() { return {no_arena, 0, 0}; }
  HEAPWOOD_INLINE static OwnedBlocks page(std::uint32_t arena, std::uint32_t run) {
    return {arena, run, 0};
  }
  HEAPWOOD_INLINE std::uint64_t bits() const { return bits_; }
  HEAPWOOD_INLINE std::uint32_t arena() const { return static_cast<std::uint32_t>(bits_ >> 40); }
  HEAPWOOD_INLINE std::uint32_t word() const {
    return static_cast<std::uint32_t>(bits_ >> 32) & 127;
  }
  HEAPWOOD_INLINE std::uint32_t marks() const { return static_cast<std::uint32_t>(bits_); }
  HEAPWOOD_INLINE bool found() const { return arena() != no_arena; }
  HEAPWOOD_INLINE bool is_page() const { return marks() == 0; }
  HEAPWOOD_INLINE std::uint32_t run() const { return word(); }
  HEAPWOOD_INLINE OwnedBlocks with(std::uint32_t marks) const { return {arena(), word(), marks}; }
  // Whether a thread is about to replace a slot's word that has no marks: a hint.
  HEAPWOOD_INLINE bool is_awaited() const { return (bits_ >> 39 & 1) != 0; }
  HEAPWOOD_INLINE OwnedBlocks awaited() const {
    return OwnedBlocks(bits_ | std::uint64_t{1} << 39);
  }

 private:
  std::uint64_t bits_;
};

// Execution policies for operations on the arenas' tables: a single lane, or all lanes of a
// converged warp. A warp reads a cache line of words at a time, a single lane a quarter of one; a
// warp takes the words of a span in parallel. The results of `mask`, `all` and `once` are the same
// in every member.
struct SingleLane {
  // Words that `mask` reads, and exchanges of a member for a span, in flight together.
  static constexpr std::uint32_t mask_width = 8, exchanges = 4;

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
  static constexpr std::uint32_t mask_width = 32, exchanges = 1;
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

// Whether every piece was taken between the ticket `begin`, which a search has read at its start,
// and `ticket`. Tickets wrap at 2^32, where ticket % pieces jumps unless `pieces` is a power of
// two, so `pieces` consecutive tickets across the wrap may miss a piece. Of 2 * pieces consecutive
// tickets at least `pieces` are on one side of it, and these include every piece.
HEAPWOOD_INLINE bool is_search_over(std::uint32_t begin, std::uint32_t ticket,
                                    std::uint32_t pieces) {
  return ticket - begin >= (ticket < begin ? 2 * pieces : pieces);
}

// Searches `pieces` pieces cooperatively with all threads that are searching at the same time: each
// takes tickets for pieces from a shared counter. A thread stops once every piece has been taken by
// some thread since it started; other threads may still be scanning theirs. A thread that searches
// alone scans every piece itself.
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

// cooperative_search() by the lanes of a group, each of which looks at another piece: one atomic
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
