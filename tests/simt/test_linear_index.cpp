// SPDX-License-Identifier: MIT
// In a block of any shape, a warp's lanes are 32 threads with different lane numbers. (16 x 16
// threads have the same threadIdx.x & 31 in pairs.) The GPU suite checks it for blocks.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "simt/math.hpp"

namespace heapwood::simt {
namespace {

TEST(LinearIndex, ThreadsOfABlockHaveDifferentWarpsOrLanes) {
  for (const Index3 block : {Index3{256, 1, 1}, {16, 16, 1}, {5, 7, 3}, {1, 1, 64}, {33, 2, 2}}) {
    std::set<std::pair<unsigned, unsigned>> seen;
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x) {
          const unsigned index = linear_index({x, y, z}, block);
          EXPECT_LT(index, block.x * block.y * block.z);
          EXPECT_TRUE(seen.emplace(index / 32, index % 32).second) << x << ' ' << y << ' ' << z;
        }
      }
    }
  }
}

TEST(LinearIndex, XVariesFastest) {
  EXPECT_EQ(linear_index({1, 0, 0}, {16, 16, 2}), 1u);
  EXPECT_EQ(linear_index({0, 1, 0}, {16, 16, 2}), 16u);
  EXPECT_EQ(linear_index({0, 0, 1}, {16, 16, 2}), 256u);
}

}  // namespace
}  // namespace heapwood::simt
