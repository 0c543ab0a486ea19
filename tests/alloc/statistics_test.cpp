// SPDX-License-Identifier: MIT
#include "alloc/statistics.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heapwood::alloc {

using State = Region::State;

TEST(Fragmentation, IsThePapersDefinition) {
  const std::vector<Region> regions = {{0, 64, State::metadata}, {64, 32, State::used},  {96, 64, State::used},
                                       {160, 48, State::free},   {208, 16, State::held}, {224, 16, State::free}};
  std::vector<std::uint32_t> requested(15, 0);
  requested[4] = 8;   // 8 of 32: 0.75 lost
  requested[6] = 16;  // two blocks in one region of 64: 0.5 lost
  requested[8] = 16;
  const Fragmentation f = fragmentation(regions, requested);
  EXPECT_TRUE(f.measured);
  ASSERT_TRUE(f.internal.has_value());
  EXPECT_DOUBLE_EQ(*f.internal, (0.75 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(f.external, 1 - 48.0 / 64);
  EXPECT_EQ(f.free_bytes, 64u);
  EXPECT_EQ(f.largest_free_bytes, 48u);
  EXPECT_EQ(f.used_bytes, 96u);
  EXPECT_EQ(f.metadata_bytes, 64u);
}

TEST(Fragmentation, WhatIsUnknownIsAbsent) {
  EXPECT_FALSE(fragmentation({}, {}).measured);
  const std::vector<Region> regions = {{0, 64, State::used}};
  const Fragmentation f = fragmentation(regions, {});
  EXPECT_TRUE(f.measured);
  EXPECT_FALSE(f.internal.has_value());
  EXPECT_EQ(f.external, 0);
}

TEST(RequestStats, SumsOfSquaresBeyond64Bits) {
  CounterWords words{};
  EXPECT_EQ(request_stats(words).mean_bytes, 0);
  // Two requests, of 2^40 and 3 * 2^40 bytes: mean 2^41, sigma 2^40.
  const double unit = 1099511627776.0;
  words.allocations = 2;
  words.sum = std::uint64_t{4} << 40;
  words.square_high = (std::uint64_t{1} << 48) + (std::uint64_t{9} << 48);
  const RequestStats stats = request_stats(words);
  EXPECT_DOUBLE_EQ(stats.mean_bytes, 2 * unit);
  EXPECT_DOUBLE_EQ(stats.sigma_bytes, unit);
}

}  // namespace heapwood::alloc
