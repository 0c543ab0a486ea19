// SPDX-License-Identifier: MIT
// Serves a large block when enough arenas are free, but nowhere enough of them side by side: one
// warp takes adjacent arenas one by one, as each becomes free, and keeps them until it has all.
#pragma once

#include "alloc/heapwood/arenas.hpp"

namespace heapwood::alloc::arena {

// Collects r adjacent arenas as one block, in the range with the most free arenas. A range is
// r / 32 superblocks (rounded up). collect() returns the first arena, or `none` if another warp
// of the pool is collecting, no range has a free arena, a superblock of the range belongs to a
// span, or some arena did not become free in max_rounds looks. Only one warp of a pool collects at
// a time, so no two wait for each other's arenas, and `collected` marks this warp's.
template <class Warp>
class RunCollector {
 public:
  HEAPWOOD_INLINE RunCollector(const Arenas& arenas, Warp& warp, std::uint32_t r)
      : arenas_(arenas), warp_(warp), team_(warp), r_(r) {}

  HEAPWOOD_INLINE std::uint32_t collect() {
    const Arenas::Word busy(*arenas_.collects);
    // acquire: the last collector has replaced all of its `collected` counts.
    if (team_.once([&] { return busy.exchange(1, simt::acquire); }) != 0) return none;
    first_ = best_range();
    const bool done = first_ != none && are_split() && take_all();
    if (first_ != none) replace_collected(done);
    team_.sync();  // makes the claims' acquires visible to all lanes
    // release: for that acquire of the next collector.
    team_.once([&] { return busy.fetch_sub(1, simt::release); });
    return done ? first_ : none;
  }

 private:
  static constexpr std::uint32_t per_superblock = Arenas::per_superblock, collected = body - 1,
                                 max_rounds = 128;
  static constexpr unsigned max_pause = 2;  // of Warp::pause()

  // The first arena of the range with most free arenas, the last one of several, or `none`.
  HEAPWOOD_INLINE std::uint32_t best_range() const {
    const std::uint32_t size = superblocks_ * per_superblock, ranges = arenas_.arenas / size;
    std::uint32_t max_free = 0, best = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t p = team_.first(); p < ranges; p += team_.stride()) {
      std::uint32_t free = 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < size; i += SingleLane::mask_width)
        free += simt::popcount(arenas_.free_mask(SingleLane(), p * size + i));
      if (free >= max_free) {
        max_free = free;
        best = p;
      }
    }
    const std::uint32_t highest = warp_.reduce_max(max_free);
    best = warp_.reduce_max(max_free == highest ? best : 0);
    return highest == 0 ? none : best * size;
  }
  HEAPWOOD_INLINE bool are_split() const {
    return arenas_.ensure_all_split(team_, first_ / per_superblock, superblocks_);
  }
  HEAPWOOD_INLINE bool take_all() const {
    HEAPWOOD_ROLLED
    for (unsigned round = 0; round < max_rounds; ++round) {
      bool has_all = true;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = team_.first(); i < r_; i += team_.stride()) {
        const Arenas::Word count = arenas_.count(first_ + i);
        std::uint32_t seen = count.load(simt::relaxed);  // relaxed: the exchange decides
        // acquire: synchronizes with the frees of the last owner.
        if (seen == 0 &&
            count.compare_exchange_strong(seen, collected, simt::acquire, simt::relaxed))
          seen = collected;
        has_all = has_all && seen == collected;
      }
      // Invariant 3 of Arenas: the superblocks are checked after the counts were taken.
      if (team_.all(has_all)) return are_split();
      warp_.pause(max_pause);
    }
    return false;
  }
  // Makes the collected arenas one block, or free again. relaxed: they belong to this warp, and
  // nothing was written there.
  HEAPWOOD_INLINE void replace_collected(bool with_block) const {
    HEAPWOOD_ROLLED
    for (std::uint32_t i = team_.first(); i < r_; i += team_.stride()) {
      const Arenas::Word count = arenas_.count(first_ + i);
      const std::uint32_t value = !with_block ? 0 : i == 0 ? Arenas::head_word(r_) : body;
      if (count.load(simt::relaxed) == collected) count.fetch_add(value - collected, simt::relaxed);
    }
  }

  const Arenas& arenas_;
  Warp& warp_;
  WholeWarp<Warp> team_;
  std::uint32_t r_, superblocks_ = Arenas::superblocks_for(r_), first_ = none;
};

}  // namespace heapwood::alloc::arena
