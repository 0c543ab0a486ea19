// SPDX-License-Identifier: MIT
#include "alloc/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::alloc {

RequestStats request_stats(const CounterWords& words) {
  RequestStats stats;
  stats.allocations = words.allocations;
  stats.deallocations = words.deallocations;
  stats.failures = words.failures;
  stats.high_water_bytes = words.high_water;
  stats.address_high_water_bytes = words.address_high_water;
  std::copy(std::begin(words.histogram), std::end(words.histogram), stats.histogram.begin());
  if (words.allocations > 0) {
    const long double count = static_cast<long double>(words.allocations);
    const long double mean = static_cast<long double>(words.sum) / count;
    const long double squares = static_cast<long double>(words.square_low) +
                                4294967296.0L * static_cast<long double>(words.square_high);
    stats.mean_bytes = static_cast<double>(mean);
    stats.sigma_bytes =
        static_cast<double>(std::sqrt(std::max(0.0L, squares / count - mean * mean)));
  }
  return stats;
}

namespace {

// requested(region): bytes requested by a used region's blocks; called in order of offset.
template <class Requested>
Fragmentation fragmentation_of(std::span<const Region> regions, Requested requested) {
  Fragmentation f;
  f.measured = !regions.empty();
  double waste = 0;
  // Blocks share memory if a region has fewer bytes than are requested; the waste is unknown.
  bool shared = false;
  // `run`: free bytes since the last region that is not free.
  std::uint64_t known = 0, run = 0, longest_run = 0;
  for (const Region& region : regions) {
    run = region.state == Region::State::free ? run + region.bytes : 0;
    longest_run = std::max(longest_run, run);
    switch (region.state) {
      case Region::State::free:
        f.free_bytes += region.bytes;
        f.largest_free_bytes = std::max<std::uint64_t>(f.largest_free_bytes, region.bytes);
        break;
      case Region::State::used: {
        f.used_bytes += region.bytes;
        const std::uint64_t bytes = requested(region);
        shared |= bytes > region.bytes;
        if (bytes > 0) {
          const double size = static_cast<double>(region.bytes);
          waste += (size - static_cast<double>(bytes)) / size;
          ++known;
        }
        break;
      }
      case Region::State::metadata:
        f.metadata_bytes += region.bytes;
        break;
      case Region::State::held:
        break;
    }
  }
  if (known > 0 && !shared) f.internal = waste / static_cast<double>(known);
  if (f.free_bytes > 0) {
    f.external =
        1.0 - static_cast<double>(f.largest_free_bytes) / static_cast<double>(f.free_bytes);
    f.external_merged = 1.0 - static_cast<double>(longest_run) / static_cast<double>(f.free_bytes);
  }
  return f;
}

}  // namespace

Fragmentation fragmentation_by_region(std::span<const Region> regions,
                                      std::span<const std::uint64_t> requested) {
  // fragmentation_of() asks for each used region once, in order, so one index suffices.
  std::size_t next = 0;
  return fragmentation_of(regions, [&](const Region& region) {
    while (&regions[next] != &region) ++next;
    return requested[next];
  });
}

Fragmentation fragmentation_of_blocks(std::span<const Region> regions,
                                      std::span<const LiveBlock> blocks) {
  auto block = blocks.begin();
  Fragmentation f = fragmentation_of(regions, [&](const Region& region) {
    std::uint64_t bytes = 0;
    while (block != blocks.end() && block->offset < region.offset) ++block;
    for (; block != blocks.end() && block->offset < region.offset + region.bytes; ++block)
      bytes += block->bytes;
    return bytes;
  });
  if (count_overlaps(blocks) > 0) f.internal.reset();
  return f;
}

std::uint64_t count_overlaps(std::span<const LiveBlock> blocks) {
  std::uint64_t count = 0, end = 0;
  for (const LiveBlock& block : blocks) {
    count += block.offset < end;
    end = std::max(end, block.offset + padded(block.bytes));
  }
  return count;
}

}  // namespace heapwood::alloc
