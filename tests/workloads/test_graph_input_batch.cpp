// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workloads/graph/generate.hpp"

namespace heapwood::workloads::graph {
namespace {

TEST(GraphBatch, IsTheSameForTheSameSeedOnly) {
  const auto batch = make_batch(1000, 500, UpdatePattern::random, 3);
  ASSERT_EQ(batch.size(), 500u);
  EXPECT_EQ(batch, make_batch(1000, 500, UpdatePattern::random, 3));
  EXPECT_NE(batch, make_batch(1000, 500, UpdatePattern::random, 4));
  // On every machine: published results name the seed only.
  EXPECT_EQ(batch[0], (Edge{736, 138}));
  EXPECT_EQ(batch[499], (Edge{422, 517}));
}

TEST(GraphBatch, RandomSourcesAndDestinationsAreUniform) {
  constexpr std::uint32_t vertices = 16;
  std::vector<unsigned> sources(vertices), destinations(vertices);
  for (const Edge& edge : make_batch(vertices, 160'000, UpdatePattern::random, 1)) {
    ASSERT_LT(edge.source, vertices);
    ASSERT_LT(edge.destination, vertices);
    ASSERT_NE(edge.source, edge.destination);
    ++sources[edge.source];
    ++destinations[edge.destination];
  }
  for (std::uint32_t v = 0; v < vertices; ++v) {  // 10,000 +- 5 sigma
    EXPECT_NEAR(sources[v], 10'000, 500);
    EXPECT_NEAR(destinations[v], 10'000, 500);
  }
}

TEST(GraphBatch, PressureKeepsSourcesWithinTheRange) {
  std::set<std::uint32_t> starts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto batch = make_batch(1'000'000, 10'000, UpdatePattern::pressure, seed);
    const auto less = [](const Edge& a, const Edge& b) { return a.source < b.source; };
    const auto [low, high] = std::minmax_element(batch.begin(), batch.end(), less);
    EXPECT_LT(high->source, 1'000'000u);
    EXPECT_LT(high->source - low->source, pressure_range);
    EXPECT_GT(high->source - low->source, pressure_range - 20);
    starts.insert(low->source);
  }
  EXPECT_EQ(starts.size(), 20u);
}

TEST(GraphBatch, OfSmallGraphs) {
  EXPECT_TRUE(make_batch(0, 10, UpdatePattern::random, 1).empty());
  EXPECT_TRUE(make_batch(1, 10, UpdatePattern::pressure, 1).empty());
  for (const Edge& edge : make_batch(2, 100, UpdatePattern::pressure, 1))
    EXPECT_EQ(edge.source + edge.destination, 1u);
}

}  // namespace
}  // namespace heapwood::workloads::graph
