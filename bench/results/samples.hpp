// SPDX-License-Identifier: MIT
// Medians and quartiles of a handful of measurements.
#pragma once

#include <algorithm>
#include <cmath>
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

}  // namespace heapwood::bench
