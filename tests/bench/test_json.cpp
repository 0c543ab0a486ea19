// SPDX-License-Identifier: MIT
// Numbers in JSON that may have been edited.
#include <gtest/gtest.h>

#include "bench/results/json.hpp"

namespace heapwood::bench {
namespace {

TEST(Json, IntegersAreReadOnlyFromIntegersThatFit) {
  const Json json = Json::parse(R"({"huge": 1.25e72, "large": 5000000000, "negative": -1,
                                    "fraction": 1.5, "text": "1", "good": 7})");
  EXPECT_EQ(json.at("good").get<std::uint64_t>(), 7u);
  EXPECT_EQ(json.at("good").get<int>(), 7);
  EXPECT_EQ(json.at("large").get<std::uint64_t>(), 5'000'000'000u);
  EXPECT_EQ(json.at("negative").get<int>(), -1);
  EXPECT_EQ(json.value("absent", 3u), 3u);
  EXPECT_THROW(json.at("large").get<std::uint32_t>(), std::out_of_range);
  EXPECT_THROW(json.value("large", 3u), std::out_of_range);
  EXPECT_THROW(json.at("negative").get<std::uint64_t>(), std::out_of_range);
  for (const char* key : {"huge", "fraction", "text"})
    EXPECT_THROW(json.at(key).get<std::uint64_t>(), std::out_of_range) << key;
}
TEST(Json, OtherNumbersAreReadFromAny) {
  const Json json = Json::parse(R"([7, 1.25e72, true, [1, 2.5]])");
  EXPECT_EQ(json.at(0).get<double>(), 7);
  EXPECT_EQ(json.at(1).get<double>(), 1.25e72);
  EXPECT_TRUE(json.at(2).get<bool>());
  EXPECT_EQ(json.at(3).get<std::vector<double>>(), (std::vector<double>{1, 2.5}));
}

}  // namespace
}  // namespace heapwood::bench
