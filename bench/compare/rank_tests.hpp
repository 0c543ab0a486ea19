// SPDX-License-Identifier: MIT
// Rank tests of two sets of times: Mann and Whitney's U, Wilcoxon's signed ranks for pairs. They
// assume nothing about the distribution of times, which has a long tail.
#pragma once

#include <cstddef>
#include <vector>

namespace heapwood::bench {

// P(a > b) + P(a = b) / 2 for one time of each set: 1/2 if they are alike, 1 if each time of `a` is
// above all of `b`.
double exceedance(std::vector<double> a, std::vector<double> b);
// Of the pairs' differences a[i] - b[i]: the share of the rank sum that is positive; 1 if all are.
double positive_rank_share(const std::vector<double>& differences);

// One-sided p values: the probability of at least such an exceedance of a over b, or of such a
// share, if the sets are alike. Exact up to 40 samples.
double p_of_exceedance(double exceedance, std::size_t a, std::size_t b);
double p_of_share(double share, std::size_t pairs);

// Samples per set that reach the p value: at full separation, and with this exceedance or share.
std::size_t samples_needed(double p, double exceedance, bool paired);

}  // namespace heapwood::bench
