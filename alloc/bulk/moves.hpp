// SPDX-License-Identifier: MIT
// Moves: counts moves of a resource between places, so that an observer of several places can tell whether it missed
// something. A thread that takes the resource out of one place and puts it into another begins a move before it takes,
// and ends it after it has put. One word holds both the moves in progress and the number of moves that have ended.
//
// An observer reads the count, looks at all places, and reads the count again. If no move was in progress and none has
// ended meanwhile, no move overlaps its looks: every resource that was not in use was in one of the places.
// What the memory orders guarantee: an observer that sees a place without what was taken (take with release, look with
// acquire) sees in its second reading that the move began; one that sees a move ended in its first reading also sees
// what that move put.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

class Moves {
 public:
  static constexpr bool counted = true;

  SIMT_INLINE explicit Moves(std::uint64_t* word) : word_(word) {}

  // relaxed: the release of the operation that takes orders this before it.
  SIMT_INLINE void begin() const { word().fetch_add(1, simt::relaxed); }
  // release: what was put comes before.
  SIMT_INLINE void end() const { word().fetch_add(one_ended - 1, simt::release); }
  // Nothing was moved. release: what was taken by mistake is back before.
  SIMT_INLINE void cancel() const { word().fetch_sub(1, simt::release); }

  // acquire: see end() and cancel(). Readings of several counts may be added up: each of them only grows when moves end,
  // and is compared while none is in progress.
  SIMT_INLINE std::uint64_t read() const { return word().load(simt::acquire); }
  // The second reading. relaxed: the looks before it are acquires.
  SIMT_INLINE std::uint64_t read_again() const { return word().load(simt::relaxed); }
  static SIMT_INLINE std::uint32_t in_progress(std::uint64_t reading) {
    return static_cast<std::uint32_t>(reading);
  }

 private:
  static constexpr std::uint64_t one_ended = std::uint64_t{1} << 32;

  SIMT_INLINE simt::atomic_ref<std::uint64_t> word() const {
    return simt::atomic_ref<std::uint64_t>(*word_);
  }

  std::uint64_t* word_;
};

}  // namespace heapwood::alloc
