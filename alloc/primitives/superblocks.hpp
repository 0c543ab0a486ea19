// SPDX-License-Identifier: MIT
// What both forms of FDGMalloc have in common: the size of superblocks, the number of slots, and
// one request for the lanes of a warp that call together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

struct SuperblockShape {
  std::uint32_t granules = 512;  // per superblock
  std::uint32_t slots = 1;       // warps share slots if there are more warps

  // 8 KiB as published, less where `bytes` would hold few of them; one slot per warp that can be
  // resident.
  static SuperblockShape choose(std::size_t bytes, unsigned multiprocessors) {
    SuperblockShape s;
    while (s.granules > 32 && bytes / s.bytes() < 256) s.granules /= 2;
    s.slots = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(bytes / (4 * s.bytes()), 1, 64 * std::size_t{multiprocessors}));
    return s;
  }
  std::size_t bytes() const { return granules * granule; }
};

// Calls take(total, blocks) in one lane for all lanes that call together with the same `owner`, an
// address in the pool, and want at most `max` granules; a lane that wants more makes a request of
// its own. `take` returns the first of `total` granules, which hold `blocks` blocks, or nullptr if
// it refuses all of them. Returns this lane's block. max < 1024.
template <class Thread, class Take>
HEAPWOOD_INLINE std::byte* take_together(Thread& thread, const void* owner, std::size_t granules,
                                         std::uint32_t max, Take take) {
  const bool joins = granules <= max;
  const std::uint32_t lanes = thread.together(owner);
  std::uint32_t group = thread.ballot(lanes, joins);
  const simt::LaneSum sum =
      simt::sum_over<10>(thread, lanes, joins ? static_cast<std::uint32_t>(granules) : 0);
  if (!joins) group = 1u << thread.lane();
  const unsigned leader = simt::lowest_bit(group);
  std::byte* first = nullptr;
  if (thread.lane() == leader) first = take(joins ? sum.total : granules, simt::popcount(group));
  if (!joins) return first;
  first = reinterpret_cast<std::byte*>(
      thread.shfl(group, reinterpret_cast<std::uintptr_t>(first), leader));
  return first == nullptr ? nullptr : first + std::size_t{sum.before} * granule;
}

}  // namespace heapwood::alloc
