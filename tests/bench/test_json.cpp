// SPDX-License-Identifier: MIT
// Numbers in JSON that may have been edited; lack of memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <new>

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
    {
      Json json;
      json["key"] = 1;
    }
    _exit(0);
  };
  EXPECT_EXIT(insert(), testing::ExitedWithCode(1), "out of host memory");
}

}  // namespace
}  // namespace heapwood::bench
