// SPDX-License-Identifier: MIT
// The host's part of a build: the number of warps, and the message of a build with a bug.
#include <gtest/gtest.h>

#include "alloc/allocators/atomic.hpp"
#include "kdtree/build/driver.hpp"

namespace heapwood::kdtree {
namespace {

struct Prefers {
  unsigned warps;
  unsigned preferred_warps(unsigned max) const { return std::min(max, warps); }
};

constexpr unsigned resident = 2000;
constexpr std::size_t small = 100'000, large = 1'000'000;  // triangles

TEST(WarpsFor, AllThatAreResidentWithoutAPreference) {
  EXPECT_EQ(warps_for(alloc::Atomic{}, small, resident), resident);
}
TEST(WarpsFor, WhatTheAllocatorPrefersInASmallScene) {
  EXPECT_EQ(warps_for(Prefers{1500}, small, resident), 1500u);
  EXPECT_EQ(warps_for(Prefers{5000}, small, resident), resident);
}
TEST(WarpsFor, AtLeastTwoFifths) {
  EXPECT_EQ(warps_for(Prefers{0}, small, resident), 800u);
  EXPECT_EQ(warps_for(Prefers{0}, 1, 1), 1u);
  EXPECT_EQ(warps_for(Prefers{0}, 1, 2), 1u);
}
// Each warp has work most of the time there.
TEST(WarpsFor, AllThatAreResidentInALargeScene) {
  EXPECT_EQ(warps_for(Prefers{1500}, large, resident), resident);
}

TEST(Driver, NamesTheCountsOfBothSides) {
  const SidePair chosen{5, 7}, moved{6, 1};
  EXPECT_EQ(count_mismatch_message({10, chosen.word(), moved.word()}),
            "internal error: partitioning 10 refs moved 6 and 1 to the children, but the split was "
            "chosen for 5 and 7; please report the scene");
}

}  // namespace
}  // namespace heapwood::kdtree
