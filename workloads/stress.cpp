// SPDX-License-Identifier: MIT
#include "workloads/stress.hpp"

#include <algorithm>
#include <cmath>

namespace heapwood::workloads {

// Let k, the number of a thread's calls in n launches, be binomially distributed. Then (k + odd) /
// 2 calls allocate and (k - odd) / 2 free, where `odd` is 1 if k is odd, since the thread then
// holds a block. E[(-1)^k] = q^n and E[k (-1)^k] = -n p q^(n-1) with q = 1 - 2p, from the
// generating function (1 - p + p x)^n at -1.
ExpectedCounts expected_counts(unsigned launches, double p) {
  const double q = 1 - 2 * p;
  const double n = launches, mean = n * p, odd = (1 - std::pow(q, n)) / 2;
  const double variance = mean * (1 - p) + odd * (1 - odd);
  const double covariance = mean * (1 + std::pow(q, n - 1)) / 2 - mean * odd;
  const auto sigma = [&](double sign) {
    return std::sqrt(std::fmax(0.0, variance + sign * 2 * covariance)) / 2;
  };
  return {(mean + odd) / 2, sigma(1), (mean - odd) / 2, sigma(-1)};
}

std::uint32_t chance_of(double probability) {
  return static_cast<std::uint32_t>(std::clamp(probability * 4294967296.0, 0.0, 4294967295.0));
}

}  // namespace heapwood::workloads
