// SPDX-License-Identifier: MIT
// Medians and quartiles of a handful of measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace heapwood::bench {

inline double sum(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

// Linear interpolation between order statistics; absent if there is no sample.
inline std::optional<double> quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return std::nullopt;
  std::sort(samples.begin(), samples.end());
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
      std::min_element(times.begin(), times.end(),
                       [](const auto* a, const auto* b) { return median(*a) < median(*b); }) -
      times.begin());
  const std::optional<double> upper = quantile(*times[fastest], 0.75);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i]->size() < 3) return std::nullopt;
    if (i != fastest && quantile(*times[i], 0.25) <= upper) return std::nullopt;
  }
  return fastest;
}

}  // namespace heapwood::bench
