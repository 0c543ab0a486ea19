// SPDX-License-Identifier: MIT
// Memory statistics: counts and sizes of requests, and fragmentation as in RegEff section 8.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "alloc/allocator.hpp"

namespace heapwood::alloc {

struct RequestStats {
  std::uint64_t allocations = 0;  // successful ones
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  // allocate returned nullptr
  double mean_bytes = 0;
  double sigma_bytes = 0;
  std::uint64_t high_water_bytes = 0;  // max bytes requested and not yet freed, at any time
  // From the pool's base to the end of the highest block so far; 0 = unknown.
  std::uint64_t address_high_water_bytes = 0;
  std::array<std::uint64_t, 48> histogram{};  // [k]: requests of 2^(k-1) < bytes <= 2^k
};

struct Fragmentation {
  // False if the allocator cannot be walked; then the other members are meaningless.
  bool measured = false;
  // Mean over used regions of (size - requested) / size. Absent if none, or if blocks share memory.
  std::optional<double> internal;
  double external = 0;         // 1 - largest free region / all free bytes; 0 if nothing is free
  double external_merged = 0;  // the same with adjacent free regions merged
  std::uint64_t free_bytes = 0;
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t metadata_bytes = 0;
};

// The counters of the Counted adaptor in device memory. Every word is updated with relaxed atomic
// adds (the high-water marks with a maximum) and read by the host between launches.
struct CounterWords {
  std::uint64_t allocations, deallocations, failures;
  std::uint64_t sum;  // of requested bytes
  // Sum of squares = square_low + 2^32 square_high: neither half can overflow in practice.
  std::uint64_t square_low;
  std::uint64_t square_high;
  std::uint64_t live, high_water;
  std::uint64_t address_high_water;
  std::uint64_t histogram[48];
};

RequestStats request_stats(const CounterWords& words);

// `requested`: the bytes requested by the blocks in each region. Used regions without a known
// request do not count towards internal fragmentation; held ones and metadata are not free.
Fragmentation fragmentation_by_region(std::span<const Region> regions,
                                      std::span<const std::uint64_t> requested);

// A block in use: its offset from the pool's base (arbitrary outside it) and requested bytes.
struct LiveBlock {
  std::uint64_t offset = 0, bytes = 0;
};
// Fragmentation from the regions of a pool and its live blocks, both in order of offset.
Fragmentation fragmentation_of_blocks(std::span<const Region> regions,
                                      std::span<const LiveBlock> blocks);
// The number of blocks, padded to the granule, that begin before an earlier block ends. `blocks`
// must be in order of offset.
std::uint64_t count_overlaps(std::span<const LiveBlock> blocks);

}  // namespace heapwood::alloc
