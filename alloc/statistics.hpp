// SPDX-License-Identifier: MIT
// What allocations cost in memory: counts and sizes of requests, and fragmentation as RegEff section 8 defines it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

struct RequestStats {
  std::uint64_t allocations = 0;  // that succeeded
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  // allocate returned nullptr
  double mean_bytes = 0;
  double sigma_bytes = 0;
  std::uint64_t high_water_bytes = 0;          // most bytes requested and not yet freed, at any time
  std::uint64_t address_high_water_bytes = 0;  // from the pool's base to the end of the highest block ever; 0 = unknown
  std::array<std::uint64_t, 48> histogram{};   // [k]: requests of 2^(k-1) < bytes <= 2^k
};

struct Fragmentation {
  bool measured = false;  // false: there were no regions (the allocator cannot be walked); the rest means nothing
  // Mean over used regions of (size - requested) / size. Absent if none is used, and where blocks share memory.
  std::optional<double> internal;
  double external = 0;         // 1 - largest free region / all free bytes; 0 if nothing is free
  double external_merged = 0;  // the same, had adjacent free regions been joined
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t metadata_bytes = 0;
};

// What the Counted adaptor keeps in device memory. Every word is updated with relaxed atomic adds (the high-water mark
// with a maximum) and read by the host between launches.
struct CounterWords {
  std::uint64_t allocations, deallocations, failures;
  std::uint64_t sum;         // of requested bytes
  std::uint64_t square_low;  // sum of squares = square_low + 2^32 square_high: neither half can overflow in practice
  std::uint64_t square_high;
  std::uint64_t live, high_water;
  std::uint64_t address_high_water;
  std::uint64_t histogram[48];
};

RequestStats request_stats(const CounterWords& words);

// `requested_by_granule[i]`: bytes asked for by the block that starts at granule i of the pool, 0 where none does. A
// used region's requested bytes are the sum over its granules (a region may hold several blocks); used regions without
// any known request do not count towards the internal fragmentation. Held and metadata regions are neither used nor
// free.
Fragmentation fragmentation(std::span<const Region> regions, std::span<const std::uint32_t> requested_by_granule);
// The same from the bytes asked for in each region.
Fragmentation fragmentation_by_region(std::span<const Region> regions, std::span<const std::uint64_t> requested);

// A block in use: bytes from the pool's base (any number where blocks lie elsewhere), and bytes asked for.
struct LiveBlock {
  std::uint64_t offset = 0, bytes = 0;
};
// The same from the blocks, in order of offset.
Fragmentation fragmentation_of_blocks(std::span<const Region> regions, std::span<const LiveBlock> blocks);
// Blocks that begin before an earlier one ends, padded to the granule; blocks in order of offset.
std::uint64_t count_overlaps(std::span<const LiveBlock> blocks);

}  // namespace heapwood::alloc
