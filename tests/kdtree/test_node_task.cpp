// SPDX-License-Identifier: MIT
// What a node inherits from the path from the root: the path's word and the allowance of refs.
#include <gtest/gtest.h>

#include "kdtree/split/choose.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

TEST(NodeTaskPath, CountsLevelsAndPoorSplits) {
  NodePath path(0.25f);
  EXPECT_EQ(path.scale(), 0.25f);
  EXPECT_EQ(path.depth(), 0u);
  for (unsigned depth = 1; depth <= max_poor_splits; ++depth) {
    path = path.with_poor_splits(path.poor_splits() + 1).next_level();
    EXPECT_EQ(path.depth(), depth);
    EXPECT_EQ(path.poor_splits(), depth);
    EXPECT_TRUE(path.may_choose());
  }
  EXPECT_EQ(path.with_poor_splits(0).poor_splits(), 0u);
  EXPECT_EQ(path.with_poor_splits(0).depth(), max_poor_splits);
  EXPECT_EQ(path.with_poor_splits(0).scale(), 0.25f);
}

TEST(NodeTaskPath, ChoosesNoSplitOnTheLastLevelOrWhereThereIsOne) {
  NodePath path(1.0f);
  const NodePath chosen = path.with_chosen_split();
  EXPECT_TRUE(chosen.has_chosen_split());
  EXPECT_FALSE(chosen.may_choose());
  EXPECT_EQ(chosen.depth(), 0u);
  EXPECT_FALSE(chosen.without_chosen_split().has_chosen_split());
  for (unsigned depth = 0; depth < max_depth; ++depth) {
    EXPECT_TRUE(path.may_choose());
    path = path.next_level();
  }
  EXPECT_FALSE(path.may_choose());
  EXPECT_FALSE(path.has_chosen_split());
}

// The refs allowed to the two children together never exceed those of their parent, and are hardly
// fewer.
TEST(NodeTaskAllowance, IsDividedAmongTheChildren) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t n = 1 + random.below(1u << random.below(28)), added = random.below(n + 1);
    const float allowance = random.uniform(1, 16);
    const double limit = static_cast<double>(allowance) * n,
                 children = static_cast<double>(allowance_below(allowance, n, added)) *
                            (double(n) + added);
    ASSERT_LE(children, limit * (1 + 1e-6));  // rounding of floats
    ASSERT_GE(children, limit * (1 - 3e-4));
  }
  EXPECT_EQ(allowance_below(7, 100, 0), 7.0f);
}

}  // namespace
}  // namespace heapwood::kdtree
