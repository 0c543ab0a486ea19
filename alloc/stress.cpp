// SPDX-License-Identifier: MIT
#include "alloc/stress.hpp"

#include <cmath>
#include <vector>

namespace heapwood::alloc {

// The distribution itself: of having a block or not, and of the number of allocations so far. Every second call is a free.
ExpectedCounts expected_counts(unsigned launches) {
  constexpr double chance = chance_of_call / 4294967296.0;
  std::vector<double> calls(launches + 1, 0.0);  // [k]: k calls so far; a block is held where k is odd
  calls[0] = 1;
  for (unsigned launch = 0; launch < launches; ++launch) {
    for (unsigned k = launch + 1; k > 0; --k) calls[k] = calls[k] * (1 - chance) + calls[k - 1] * chance;
    calls[0] *= 1 - chance;
  }
  double sum[2] = {}, squares[2] = {};  // allocations, deallocations
  for (unsigned k = 0; k <= launches; ++k) {
    const double count[2] = {static_cast<double>((k + 1) / 2), static_cast<double>(k / 2)};
    for (int i = 0; i < 2; ++i) {
      sum[i] += calls[k] * count[i];
      squares[i] += calls[k] * count[i] * count[i];
    }
  }
  const auto sigma = [&](int i) { return std::sqrt(std::fmax(0.0, squares[i] - sum[i] * sum[i])); };
  return {sum[0], sigma(0), sum[1], sigma(1)};
}

}  // namespace heapwood::alloc
