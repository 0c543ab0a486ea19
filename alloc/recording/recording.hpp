// SPDX-License-Identifier: MIT
// The events written by the Recorded adaptor. workloads/replay.hpp reconstructs the life of every
// block from them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

// An event of a recording; its index is its time.
struct RecordedEvent {
  enum class Kind : std::uint8_t {
    allocate,
    free,
    inner,  // an event of the program: a node of the tree was split ...
    leaf,   // ... or became a leaf
  };
  static constexpr std::uint64_t written = std::uint64_t{1} << 63;
  // written | place << 24 | warp << 8 | depth << 2 | kind: never 0, so that an observer can
  // recognize a written event.
  std::uint64_t word = 0;
  std::uint64_t bytes = 0;  // as requested; for a node, its refs

  static SIMT_INLINE RecordedEvent make(Kind kind, unsigned depth, unsigned warp,
                                        std::uint64_t place, std::uint64_t bytes) {
    return {written | place << 24 | std::uint64_t{warp & 0xffffu} << 8 |
                std::uint64_t{depth & 63u} << 2 | static_cast<std::uint64_t>(kind),
            bytes};
  }
  Kind kind() const { return static_cast<Kind>(word & 3u); }
  unsigned depth() const { return static_cast<unsigned>(word >> 2 & 63u); }
  // The last 16 bits of its number.
  unsigned warp() const { return static_cast<unsigned>(word >> 8 & 0xffffu); }
  // From the pool's base.
  std::uint64_t offset() const { return ((word & ~written) >> 24) * granule; }
};
static_assert(sizeof(RecordedEvent) == 16);

}  // namespace heapwood::alloc
