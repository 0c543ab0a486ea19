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
  std::copy(std::begin(words.histogram), std::end(words.histogram), stats.histogram.begin());
  if (words.allocations > 0) {
    const long double count = static_cast<long double>(words.allocations);
    const long double mean = static_cast<long double>(words.sum) / count;
    const long double squares =
        static_cast<long double>(words.square_low) + 4294967296.0L * static_cast<long double>(words.square_high);
    stats.mean_bytes = static_cast<double>(mean);
    stats.sigma_bytes = static_cast<double>(std::sqrt(std::max(0.0L, squares / count - mean * mean)));
  }
  return stats;
}

Fragmentation fragmentation(std::span<const Region> regions, std::span<const std::uint32_t> requested_by_granule) {
  Fragmentation f;
  f.measured = !regions.empty();
  double waste = 0;
  std::uint64_t known = 0;
  for (const Region& region : regions) {
    switch (region.state) {
      case Region::State::free:
        f.free_bytes += region.bytes;
        f.largest_free_bytes = std::max<std::uint64_t>(f.largest_free_bytes, region.bytes);
        break;
      case Region::State::used: {
        f.used_bytes += region.bytes;
        const std::size_t first = std::min(region.offset / granule, requested_by_granule.size());
        const std::size_t last = std::min((region.offset + region.bytes) / granule, requested_by_granule.size());
        std::uint64_t requested = 0;
        for (std::size_t i = first; i < last; ++i) requested += requested_by_granule[i];
        if (requested > 0) {
          const double size = static_cast<double>(region.bytes);
          waste += (size - static_cast<double>(requested)) / size;
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
  if (known > 0) f.internal = waste / static_cast<double>(known);
  if (f.free_bytes > 0) {
    f.external = 1.0 - static_cast<double>(f.largest_free_bytes) / static_cast<double>(f.free_bytes);
  }
  return f;
}

}  // namespace heapwood::alloc
