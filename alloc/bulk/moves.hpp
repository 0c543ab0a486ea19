// SPDX-License-Identifier: MIT
// Moves: counts moves of a resource between places, so that an observer of several places can tell
// whether it missed something. A thread that takes the resource out of one place and puts it into
// another begins a move before it takes, and ends it after it has put. One word holds both the
// number of moves in progress and the number of moves that have ended.
//
// An observer reads the count, reads the state of all places, and reads the count again. If no move
// was in progress and none has ended meanwhile, no move overlaps its reads: every resource that was
// not in use was in one of the places.
//
// Memory orders: an observer that reads a place from which a resource has been taken (take with
// release, read with acquire) sees in its second reading of the count that the move began. An
// observer whose first reading shows that a move has ended also sees what that move put.
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

class Moves {
 public:
  static constexpr bool counted = true;

  HEAPWOOD_INLINE explicit Moves(std::uint64_t* word) : word_(word) {}

  // relaxed: the release of the operation that takes orders this increment before it.
  HEAPWOOD_INLINE void begin() const { word().fetch_add(1, simt::relaxed); }
  // release: orders the put before the end of the move.
  HEAPWOOD_INLINE void end() const { word().fetch_add(one_ended - 1, simt::release); }
  // Ends a move that moved nothing. release: orders the return of units taken by mistake before it.
  HEAPWOOD_INLINE void cancel() const { word().fetch_sub(1, simt::release); }

  // acquire: see end() and cancel(). Readings of several counts may be added up: each count grows
  // only when moves end, and sums are compared only if no move is in progress.
  HEAPWOOD_INLINE std::uint64_t read() const { return word().load(simt::acquire); }
  // The second reading. relaxed: the reads of the places before it are acquires.
  HEAPWOOD_INLINE std::uint64_t read_again() const { return word().load(simt::relaxed); }
  static HEAPWOOD_INLINE std::uint32_t in_progress(std::uint64_t reading) { return low(reading); }

 private:
  static constexpr std::uint64_t one_ended = std::uint64_t{1} << 32;

  HEAPWOOD_INLINE Word64 word() const { return Word64(*word_); }

  std::uint64_t* word_;
};

}  // namespace heapwood::alloc
