// SPDX-License-Identifier: MIT
// depth_first(): the same tree, laid out as it is walked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kdtree/quality.hpp"
#include "kdtree/reference.hpp"
#include "kdtree/tree_order.hpp"
#include "kdtree/validate.hpp"
#include "tests/kdtree/shuffled.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

bool same_bits(const Tree& a, const Tree& b) {
  return a.nodes.size() == b.nodes.size() && a.refs == b.refs &&
         std::memcmp(a.nodes.data(), b.nodes.data(), a.nodes.size() * sizeof(Node)) == 0;
}

// Walks as a ray that takes every turn below first: each pair must be the next one, and so must each leaf's refs.
void expect_in_order(const Tree& tree) {
  std::uint32_t pairs = 1, refs = 0;
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const Node node = tree.nodes[stack.back()];
    stack.pop_back();
    if (node.leaf()) {
      ASSERT_EQ(node.first, refs);
      refs += node.count();
    } else {
      ASSERT_EQ(node.child(0), 2 * pairs++);
      stack.push_back(node.child(1));
      stack.push_back(node.child(0));
    }
  }
  EXPECT_EQ(tree.nodes.size(), 2u * pairs);
  EXPECT_EQ(tree.refs.size(), refs);
}

TEST(TreeOrder, TheSameTreeAsItIsWalked) {
  const Soup soup = random_soup(2000, 21);
  const Tree tree = build_reference(soup.view(), {});
  Tree mixed = shuffled(tree);
  mixed.incomplete = true;
  const Tree ordered = depth_first(mixed);
  expect_in_order(ordered);
  EXPECT_EQ(measure(ordered, {}).hash, measure(tree, {}).hash);
  EXPECT_EQ(validate(ordered, soup.view()), std::vector<std::string>{});
  EXPECT_TRUE(ordered.incomplete);
  EXPECT_EQ(ordered.bounds.lo, tree.bounds.lo);
  EXPECT_EQ(ordered.bounds.hi, tree.bounds.hi);
}

TEST(TreeOrder, RefsAreAPermutation) {
  const Soup soup = random_soup(500, 22);
  Tree tree = build_reference(soup.view(), {});
  Tree ordered = depth_first(tree);
  std::sort(tree.refs.begin(), tree.refs.end());
  std::sort(ordered.refs.begin(), ordered.refs.end());
  EXPECT_EQ(ordered.refs, tree.refs);
}

TEST(TreeOrder, LeavesKeepTheirOrderWithin) {
  Tree tree;
  tree.nodes = {Node::make_inner(0.5f, 1, 2), Node::make_leaf(0, 0), Node::make_leaf(7, 7),
                Node::make_leaf(8, 8),        Node::make_leaf(3, 2), Node::make_leaf(1, 1)};
  tree.refs = {99, 4, 99, 6, 5};
  const Tree ordered = depth_first(tree);
  expect_in_order(ordered);
  EXPECT_EQ(ordered.refs, (std::vector<std::uint32_t>{6, 5, 4}));
  EXPECT_EQ(ordered.nodes[0].split, 0.5f);
  EXPECT_EQ(ordered.nodes[0].axis(), 1u);
}

TEST(TreeOrder, OnceIsEnough) {
  const Tree once = depth_first(shuffled(build_reference(random_soup(500, 23).view(), {})));
  EXPECT_TRUE(same_bits(depth_first(once), once));
}

TEST(TreeOrder, NothingAndSingleLeaves) {
  EXPECT_TRUE(depth_first({}).nodes.empty());
  Tree leaf;
  leaf.nodes = {Node::make_leaf(1, 2), Node::make_leaf(0, 0)};
  leaf.refs = {9, 5, 3};
  const Tree ordered = depth_first(leaf);
  expect_in_order(ordered);
  EXPECT_EQ(ordered.refs, (std::vector<std::uint32_t>{5, 3}));
  leaf.nodes.resize(1);  // nobody looks at the root's neighbour
  EXPECT_EQ(depth_first(leaf).nodes.size(), 1u);
}

}  // namespace
}  // namespace heapwood::kdtree
