// SPDX-License-Identifier: MIT
// What the Recorded adaptor writes down, and what a recording tells afterwards: the life of every block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

// One line of a recording; its number is its place in time.
struct RecordedEvent {
  enum class Kind : std::uint8_t {
    allocate,
    free,
    inner,  // the program's own: a node of the tree was split ...
    leaf,   // ... or became a leaf
  };
  std::uint64_t word = 0;   // place << 24 | warp << 8 | depth << 2 | kind
  std::uint64_t bytes = 0;  // as requested; of a node, its refs

  static SIMT_INLINE RecordedEvent make(Kind kind, unsigned depth, unsigned warp, std::uint64_t place,
                                        std::uint64_t bytes) {
    return {place << 24 | std::uint64_t{warp & 0xffffu} << 8 | std::uint64_t{depth & 63u} << 2 |
                static_cast<std::uint64_t>(kind),
            bytes};
  }
  Kind kind() const { return static_cast<Kind>(word & 3u); }
  unsigned depth() const { return static_cast<unsigned>(word >> 2 & 63u); }
  unsigned warp() const { return static_cast<unsigned>(word >> 8 & 0xffffu); }  // the last 16 bits of its number
  std::uint64_t offset() const { return (word >> 24) * granule; }               // from the pool's base
};
static_assert(sizeof(RecordedEvent) == 16);

inline constexpr std::uint32_t never = ~0u;

// Times are numbers of events. A block is in use from `born` up to, and not including, `released`; its memory can be
// handed out again from `died` on, which is the same time where the allocator frees.
struct Block {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t born = 0, released = never, died = never;
  std::uint32_t warp = 0;
  bool in_use(std::uint32_t time) const { return born < time && time <= released; }
  bool occupies(std::uint32_t time) const { return born < time && time <= died; }
};

struct Replay {
  std::vector<Block> blocks;          // by birth
  std::uint64_t unmatched_frees = 0;  // of addresses where no block was: 0 unless the recording was cut off
  std::uint64_t overlaps = 0;         // blocks born over memory in use: 0 for an allocator that keeps live memory
};
// `frees`: with an allocator that never frees, released blocks keep their memory.
Replay replay(std::span<const RecordedEvent> events, Frees frees);

// The pool at a time, from the recording alone: what blocks were asked for counts as used, everything between as a gap.
struct Gaps {
  std::uint64_t used_bytes = 0, blocks = 0, gap_bytes = 0, largest_gap_bytes = 0;
  double external() const {
    return gap_bytes ? 1 - static_cast<double>(largest_gap_bytes) / static_cast<double>(gap_bytes) : 0;
  }
};
// At each of `times`, ascending.
std::vector<Gaps> gaps(const Replay& replay, std::uint64_t pool_bytes, std::span<const std::uint32_t> times);

}  // namespace heapwood::alloc
