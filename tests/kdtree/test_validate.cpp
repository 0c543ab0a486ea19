// SPDX-License-Identifier: MIT
// validate() accepts valid trees and finds each planted fault; the clips that it uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kdtree/check/validate.hpp"
#include "tests/kdtree/exact_tree.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

bool mentions(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const auto& l) { return l.find(words) != std::string::npos; });
}

std::string joined(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string(),
                         [](auto a, const auto& b) { return a + b + "\n"; });
}

TEST(ValidateClip, HalvesShareTheirCutAndTheirArea) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const Polygon whole(Corners{random.point(-1, 1), random.point(-1, 1), random.point(-1, 1)});
    const unsigned axis = random.below(3);
    const double plane = random.uniform(-1, 1);
    const Polygon below = part(whole, axis, plane, true);
    const Polygon above = part(whole, axis, plane, false);
    EXPECT_NEAR(below.area() + above.area(), whole.area(), 1e-12);
    if (below.empty() || above.empty()) continue;
    EXPECT_EQ(below.highest(axis), plane);
    EXPECT_EQ(above.lowest(axis), plane);
  }
}

TEST(ValidateClip, KnownBounds) {
  const Corners triangle{{0, 0, 0}, {4, 0, 0}, {0, 4, 2}};
  EXPECT_EQ(clipped_bounds(triangle, {{-9, -9, -9}, {9, 9, 9}}), bounds(triangle));
  EXPECT_EQ(clipped_bounds(triangle, {{1, 0, 0}, {2, 4, 4}}), (Box{{1, 0, 0}, {2, 3, 1.5f}}));
  // The triangle's bounds reach into this box, the triangle does not.
  EXPECT_TRUE(clipped_bounds(triangle, {{3, 3, 0}, {4, 4, 2}}).empty());
  // A corner of the triangle touches the box.
  EXPECT_EQ(clipped_bounds(triangle, {{4, -1, -1}, {5, 1, 1}}), (Box{{4, 0, 0}, {4, 0, 0}}));
}

TEST(ValidateClip, BoundsContainThePartAndLittleMore) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    const Corners triangle{random.point(-1, 1), random.point(-1, 1), random.point(-1, 1)};
    Box box;
    box.grow(random.point(-1, 1));
    box.grow(random.point(-1, 1));
    const Polygon inside = clip(triangle, box);
    const Box tight = clipped_bounds(triangle, box);
    EXPECT_EQ(inside.empty(), tight.empty());
    for (unsigned axis = 0; axis < 3 && !inside.empty(); ++axis) {
      EXPECT_LE(tight.lo[axis], inside.lowest(axis));
      EXPECT_GE(tight.hi[axis], inside.highest(axis));
      EXPECT_NEAR(tight.lo[axis], inside.lowest(axis), 1.2e-7);
      EXPECT_NEAR(tight.hi[axis], inside.highest(axis), 1.2e-7);
    }
  }
}

// The unit cube cut at x = 0.5. Triangle 0 is below, 1 above, 2 on both sides, 3 in the plane.
struct ValidateFaults : ::testing::Test {
  ValidateFaults() {
    soup.add({0, 0, 0}, {0.25f, 0, 0}, {0, 0.5f, 0});
    soup.add({1, 1, 1}, {0.75f, 1, 1}, {1, 0.5f, 1});
    soup.add({0, 0, 1}, {1, 0, 1}, {0.5f, 1, 0});
    soup.add({0.5f, 0, 0}, {0.5f, 1, 0}, {0.5f, 0, 1});
    tree.bounds = {{0, 0, 0}, {1, 1, 1}};
    tree.nodes = {Node::make_inner(0.5f, 0, 1), Node::make_leaf(0, 0), Node::make_leaf(0, 3),
                  Node::make_leaf(3, 2)};
    tree.refs = {0, 2, 3, 2, 1};
  }
  std::vector<std::string> faults() const { return validate(tree, soup.view()); }

  Soup soup;
  Tree tree;
};

TEST_F(ValidateFaults, ValidAsItIs) { EXPECT_EQ(joined(faults()), ""); }

TEST_F(ValidateFaults, FlatTriangleOnTheOtherSideIsValid) {
  tree.nodes[2] = Node::make_leaf(0, 2);
  tree.nodes[3] = Node::make_leaf(2, 3);
  EXPECT_EQ(joined(faults()), "");
}

TEST_F(ValidateFaults, MissingOnOneSide) {
  tree.nodes[2] = Node::make_leaf(1, 2);
  EXPECT_TRUE(mentions(faults(), "triangle 0 is in no leaf"));
  tree.nodes[2] = Node::make_leaf(0, 3);
  tree.refs = {0, 3, 1, 2, 1};
  EXPECT_TRUE(mentions(faults(), "triangle 2 is not in leaf 2"));
  tree.refs = {0, 2, 3, 1, 3};
  EXPECT_TRUE(mentions(faults(), "triangle 2 is not in leaf 3"));
}

TEST_F(ValidateFaults, InAWrongLeafOnly) {
  tree.refs = {1, 2, 3, 2, 0};
  const auto lines = faults();
  EXPECT_TRUE(mentions(lines, "triangle 0 is not in leaf 2"));
  EXPECT_TRUE(mentions(lines, "triangle 0 is in no leaf around its point"));
  EXPECT_TRUE(mentions(lines, "triangle 1 is not in leaf 3"));
}

TEST_F(ValidateFaults, MovedPlane) {
  tree.nodes[0].split = 0.2f;
  EXPECT_TRUE(mentions(faults(), "triangle 0 is not in leaf 3"));
  // The flat triangle is now 1e-5 below the plane, in the leaf that lists it: still valid.
  tree.nodes[0].split = 0.50001f;
  EXPECT_EQ(joined(faults()), "");
  tree.nodes[0].split = 0.49999f;
  EXPECT_TRUE(mentions(faults(), "triangle 3 is not in leaf 3"));
}

TEST_F(ValidateFaults, PlaneOutside) {
  for (const float plane : {0.0f, 1.0f, -1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    tree.nodes[0].split = plane;
    EXPECT_TRUE(mentions(faults(), "is not inside its box")) << plane;
  }
}

TEST_F(ValidateFaults, OutOfRange) {
  tree.refs[1] = 4;
  EXPECT_TRUE(mentions(faults(), "leaf 2: triangle 4 of 4"));
  tree.nodes[3] = Node::make_leaf(3, 3);
  EXPECT_TRUE(mentions(faults(), "refs 3 to 6 of 5"));
  tree.nodes[0] = Node::make_inner(0.5f, 0, 2);
  EXPECT_TRUE(mentions(faults(), "children at 4 of 4"));
}

TEST_F(ValidateFaults, DuplicateAndOverlap) {
  tree.refs = {0, 2, 3, 2, 1, 2};
  tree.nodes[3] = Node::make_leaf(3, 3);
  EXPECT_TRUE(mentions(faults(), "leaf 3: triangle 2 twice"));
  tree.nodes[3] = Node::make_leaf(2, 3);
  EXPECT_TRUE(mentions(faults(), "overlap"));
}

TEST_F(ValidateFaults, Cycle) {
  tree.nodes[3] = Node::make_inner(0.7f, 0, 1);
  EXPECT_TRUE(mentions(faults(), "belong to another node"));
  tree.nodes[3] = Node::make_inner(0.7f, 0, 0);
  EXPECT_TRUE(mentions(faults(), "belong to another node"));
  tree.nodes.clear();
  EXPECT_TRUE(mentions(faults(), "no root"));
}

TEST_F(ValidateFaults, BoxTooSmall) {
  tree.bounds.hi.z = 0.75f;
  EXPECT_TRUE(mentions(faults(), "not inside the root's box"));
}

// Removes each ref of a valid tree in turn.
TEST(Validate, FindsEveryMissingRef) {
  const Soup soup = random_soup(60, 5, 0.3f);
  const Tree tree = build_reference(soup.view(), {});
  ASSERT_EQ(joined(validate(tree, soup.view())), "");
  for (std::uint32_t at = 0; at < tree.nodes.size(); ++at) {
    if (at == 1 || !tree.nodes[at].leaf()) continue;
    const Node leaf = tree.nodes[at];
    for (std::uint32_t k = 0; k < leaf.count(); ++k) {
      Tree broken = tree;
      std::swap(broken.refs[leaf.first + k], broken.refs[leaf.first + leaf.count() - 1]);
      broken.nodes[at] = Node::make_leaf(leaf.first, leaf.count() - 1);
      EXPECT_NE(joined(validate(broken, soup.view())), "") << "leaf " << at << " ref " << k;
    }
  }
}

TEST(Validate, StopsAtTheLimit) {
  const Soup soup = random_soup(100, 6);
  Tree tree;
  tree.bounds = bounds(soup.view());
  tree.nodes = {Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
  EXPECT_EQ(validate(tree, soup.view(), {.reports = 7}).size(), 7u);
}

TEST(Validate, LeavesTileTheRoot) {
  const Soup soup = grid_soup(500, 7);
  const Tree tree = build_reference(soup.view(), {});
  double volume = 0;
  for (const Leaf& leaf : leaves(tree)) {
    const Vec3 e = leaf.box.extent();
    volume += static_cast<double>(e.x) * e.y * e.z;
    // The clip by brute force may add triangles that touch the leaf from outside, and must not miss
    // any.
    const auto inside = triangles_in(soup.view(), leaf.box);
    EXPECT_TRUE(
        std::includes(inside.begin(), inside.end(), leaf.triangles.begin(), leaf.triangles.end()));
  }
  const Vec3 e = tree.bounds.extent();
  EXPECT_NEAR(volume, static_cast<double>(e.x) * e.y * e.z, 1e-5);
}

}  // namespace
}  // namespace heapwood::kdtree
