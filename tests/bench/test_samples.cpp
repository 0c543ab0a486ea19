// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "bench/results/samples.hpp"

namespace heapwood::bench {
namespace {

TEST(ClearlyFastest, NeedsQuartilesThatDoNotOverlap) {
  const std::vector<double> fast{10, 11, 12, 13, 14};         // quartiles 11 and 13
  const std::vector<double> slow{12, 13.5, 15, 16, 17};       // from 13.5
  const std::vector<double> overlapping{12, 13, 15, 16, 17};  // from 13
  EXPECT_EQ(clearly_fastest({&slow, &fast}), 1u);
  EXPECT_EQ(clearly_fastest({&fast, &slow}), 0u);
  EXPECT_FALSE(clearly_fastest({&fast, &slow, &overlapping}));
}

TEST(ClearlyFastest, NeedsTwo) {
  const std::vector<double> one{1, 1, 1};
  EXPECT_FALSE(clearly_fastest({}));
  EXPECT_FALSE(clearly_fastest({&one}));
}

TEST(ClearlyFastest, NeedsThreeSamplesOfEach) {
  const std::vector<double> three{1, 1, 1}, slower{3, 3, 3}, two{3, 3};
  EXPECT_EQ(clearly_fastest({&three, &slower}), 0u);
  EXPECT_FALSE(clearly_fastest({&three, &two}));
  EXPECT_FALSE(clearly_fastest({&two, &slower}));
}

}  // namespace
}  // namespace heapwood::bench
