// SPDX-License-Identifier: MIT
// Numbers in JSON that may have been edited; lack of memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <new>

#include "bench/program/out_of_memory.hpp"
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

TEST(Json, EqualityIgnoresTheOrderOfKeysAndTheKindOfNumbers) {
  const Json a = Json::parse(R"({"x": 1, "y": [true, null, -2.0]})"),
             b{{"y", {true, nullptr, -2}}, {"x", 1.0}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(sorted_text(Json::parse(R"({"b": 1, "a": 2})")), R"({"a":2,"b":1})");
  EXPECT_NE(a, Json::parse(R"({"x": 1, "y": [true, null, -3]})"));
  EXPECT_NE(a, Json::parse(R"({"x": 1})"));
}

TEST(Json, TextSurvives) {
  const std::string text =
      "{\"a\":1.5,\"big\":18446744073709551615,\"n\":-3,\"s\":\"\\u00fc\\\"\"}";
  EXPECT_EQ(Json::parse(text).dump(), text);
  EXPECT_EQ(Json("\xff").dump(), "\"\\ufffd\"");
  EXPECT_THROW(Json::parse(std::string(101, '[') + std::string(101, ']')), std::runtime_error);
  for (const char* wrong : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1e999"})
    EXPECT_THROW(Json::parse(wrong), std::runtime_error) << wrong;
}

// In a process that has used up all memory but what the allocator has left over.
TEST(Json, LackOfMemoryEndsTheProcessWithOneLine) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::size_t used = pages * 4096;
  if (used > std::size_t{1} << 40) GTEST_SKIP() << "a sanitizer reserves the address space";
  const auto insert = [&] {
    prepare_for_lack_of_memory();
    const rlimit limit{used + (std::size_t{16} << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    for (std::size_t bytes = 1 << 20; bytes >= 16; bytes /= 2) {
      while (new (std::nothrow) char[bytes] != nullptr) {
      }
    }
    Json::parse(R"({"key": [1]})");
    _exit(0);
  };
  EXPECT_EXIT(insert(), testing::ExitedWithCode(1), "out of host memory");
}

}  // namespace
}  // namespace heapwood::bench
