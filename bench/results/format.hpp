// SPDX-License-Identifier: MIT
// Numbers as text, for readers and for CSV; medians and quartiles of a handful of measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "scenes/file.hpp"

namespace heapwood::bench {

inline constexpr const char* missing = "–";  // a figure that was not measured

std::string count_text(std::uint64_t n);                            // 1,234,567
std::string plural_text(std::uint64_t n, const std::string& what);  // 1 run, 1,234 runs
std::string compact_text(std::uint64_t n);                          // 262K, 1.09M
std::string bytes_text(std::uint64_t bytes);                        // 512 B, 1.50 MiB
std::string size_text(std::uint64_t bytes);                         // of a setting: 4 KiB, 1.50 MiB
std::string mib_text(std::uint64_t bytes);                          // 1.50, 123, 4,096 (MiB)
std::string figure_text(double value);                              // about four significant digits
std::string figure_text(std::optional<double> value);
std::string ratio_text(std::optional<double> value);  // 1.04, 12.3, 1,234

using scenes::joined;

// A figure in CSV: six significant digits, or empty if there is none.
std::string csv_text(const std::optional<double>& value);
std::string csv_text(bool have, std::uint64_t value);

inline double sum(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

// A quantile by linear interpolation between order statistics; absent if there is no sample.
inline std::optional<double> quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return std::nullopt;
  std::ranges::sort(samples);
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] +
         (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

inline std::optional<double> median(const std::vector<double>& samples) {
  return quantile(samples, 0.5);
}

// The clear winner of a comparison: the index of the times with the lowest median, if their upper
// quartile is below the lower quartile of all others. None if there are fewer than two, or if
// one has fewer than three samples: these say nothing about the spread.
inline std::optional<std::size_t> clearly_fastest(
    const std::vector<const std::vector<double>*>& times) {
  if (times.size() < 2) return std::nullopt;
  const auto fastest = static_cast<std::size_t>(
      std::ranges::min_element(times, {}, [](const auto* one) { return median(*one); }) -
      times.begin());
  const std::optional<double> upper = quantile(*times[fastest], 0.75);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i]->size() < 3) return std::nullopt;
    if (i != fastest && quantile(*times[i], 0.25) <= upper) return std::nullopt;
  }
  return fastest;
}

}  // namespace heapwood::bench
