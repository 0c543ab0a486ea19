// SPDX-License-Identifier: MIT
// What the Recorded adaptor writes down: a line an event. replay.hpp makes the life of every block from it.
#pragma once

#include <cstddef>
#include <cstdint>

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
  static constexpr std::uint64_t written = std::uint64_t{1} << 63;
  // written | place << 24 | warp << 8 | depth << 2 | kind: never 0, so that whoever watches knows a line that is there.
  std::uint64_t word = 0;
  std::uint64_t bytes = 0;  // as requested; of a node, its refs

  static SIMT_INLINE RecordedEvent make(Kind kind, unsigned depth, unsigned warp, std::uint64_t place,
                                        std::uint64_t bytes) {
    return {written | place << 24 | std::uint64_t{warp & 0xffffu} << 8 | std::uint64_t{depth & 63u} << 2 |
                static_cast<std::uint64_t>(kind),
            bytes};
  }
  Kind kind() const { return static_cast<Kind>(word & 3u); }
  unsigned depth() const { return static_cast<unsigned>(word >> 2 & 63u); }
  unsigned warp() const { return static_cast<unsigned>(word >> 8 & 0xffffu); }  // the last 16 bits of its number
  std::uint64_t offset() const { return ((word & ~written) >> 24) * granule; }  // from the pool's base
};
static_assert(sizeof(RecordedEvent) == 16);

}  // namespace heapwood::alloc
