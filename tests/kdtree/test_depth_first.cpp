// SPDX-License-Identifier: MIT
// Trees in depth-first order: the same tree, laid out in the order of a walk.
#include "kdtree/traverse/depth_first.hpp"

#include <gtest/gtest.h>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/shuffled.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

// Walks the lower child first: each node pair must be the next one, and so must the refs of each
// leaf, in ascending order.
void expect_in_order(const Tree& tree) {
  std::uint32_t pairs = 1, refs = 0;
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const Node node = tree.nodes[stack.back()];
    stack.pop_back();
    if (node.leaf()) {
      ASSERT_EQ(node.first, refs);
      refs += node.count();
      EXPECT_TRUE(std::is_sorted(tree.refs.begin() + node.first, tree.refs.begin() + refs));
    } else {
      ASSERT_EQ(node.child(0), 2 * pairs++);
      stack.push_back(node.child(1));
      stack.push_back(node.child(0));
    }
  }
  EXPECT_EQ(tree.nodes.size(), 2u * pairs);
  EXPECT_EQ(tree.refs.size(), refs);
}

TEST(DepthFirst, TheSameTreeAsItIsWalked) {
  const Soup soup = random_soup(2000, 21);
  const Tree tree = build_reference(soup.view(), {});
  Tree mixed = shuffled(tree);
  mixed.incomplete = true;
  const Tree out = depth_first(mixed);
  expect_in_order(out);
  EXPECT_EQ(measure(out, {}).hash, measure(tree, {}).hash);
  EXPECT_EQ(validate(out, soup.view()), std::vector<std::string>{});
  EXPECT_TRUE(out.incomplete);
  EXPECT_EQ(out.bounds, tree.bounds);
}

// Pairs that no node refers to may contain anything, including links into the tree and cycles.
TEST(DepthFirst, UnusedEntriesAreNotFollowed) {
  Tree tree;
  tree.nodes = {
      Node::make_inner(0.5f, 1, 2),        Node::make_inner(0, 0, 0), Node::make_leaf(~0u, 7),
      Node::make_inner(0, 0, 0x3fffffffu), Node::make_leaf(3, 2),     Node::make_leaf(1, 1),
      Node::make_leaf(~0u, 0x3fffffffu),   Node::make_inner(0, 2, 1)};
  tree.refs = {99, 4, 99, 6, 5};
  const Tree out = depth_first(tree);
  expect_in_order(out);
  EXPECT_EQ(out.refs, (std::vector<std::uint32_t>{5, 6, 4}));
  EXPECT_EQ(out.nodes[0].split, 0.5f);
  EXPECT_EQ(out.nodes[0].axis(), 1u);
}

TEST(DepthFirst, NothingAndSingleLeaves) {
  Tree leaf;
  leaf.nodes = {Node::make_leaf(1, 2)};
  leaf.refs = {9, 5, 3};
  const Tree out = depth_first(leaf);
  expect_in_order(out);
  EXPECT_EQ(out.refs, (std::vector<std::uint32_t>{3, 5}));
  const Tree nothing = depth_first({});
  ASSERT_EQ(nothing.nodes.size(), 1u);
  EXPECT_TRUE(nothing.nodes[0].leaf() && nothing.refs.empty());
}

}  // namespace
}  // namespace heapwood::kdtree
