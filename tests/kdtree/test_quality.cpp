// SPDX-License-Identifier: MIT
// measure(), compared with trees worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "simt/error.hpp"
#include "tests/errors.hpp"
#include "tests/kdtree/layouts.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {

// validate() accepts valid trees and finds each planted fault; the clips that it uses.

namespace {

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

  Soup soup;
  Tree tree;
};

// Each change of the tree, and the fault that is reported; none if the tree is still valid.
TEST_F(ValidateFaults, AreFoundEach) {
  using Change = void (*)(Tree&);
  const std::pair<Change, std::vector<const char*>> changes[] = {
      {[](Tree&) {}, {}},
      // The flat triangle is on the other side, or 1e-5 below the plane in the leaf that lists it:
      // no fault.
      {[](Tree& t) { t.nodes[2] = Node::make_leaf(0, 2), t.nodes[3] = Node::make_leaf(2, 3); }, {}},
      {[](Tree& t) { t.nodes[0].split = 0.50001f; }, {}},
      {[](Tree& t) { t.nodes[0].split = 0.49999f; }, {"triangle 3 is not in leaf 3"}},
      {[](Tree& t) { t.nodes[0].split = 0.2f; }, {"triangle 0 is not in leaf 3"}},
      {[](Tree& t) { t.nodes[2] = Node::make_leaf(1, 2); }, {"triangle 0 is in no leaf"}},
      {[](Tree& t) {
         t.refs = {0, 3, 1, 2, 1};
       },
       {"triangle 2 is not in leaf 2"}},
      {[](Tree& t) {
         t.refs = {0, 2, 3, 1, 3};
       },
       {"triangle 2 is not in leaf 3"}},
      {[](Tree& t) {
         t.refs = {1, 2, 3, 2, 0};
       },
       {"triangle 0 is not in leaf 2", "triangle 0 is in no leaf around its point",
        "triangle 1 is not in leaf 3"}},
      {[](Tree& t) { t.nodes[0].split = 0; }, {"is not inside its box"}},
      {[](Tree& t) { t.nodes[0].split = 1; }, {"is not inside its box"}},
      {[](Tree& t) { t.nodes[0].split = 2; }, {"is not inside its box"}},
      {[](Tree& t) { t.nodes[0].split = NAN; }, {"is not inside its box"}},
      {[](Tree& t) { t.refs[1] = 4; }, {"leaf 2: triangle 4 of 4"}},
      {[](Tree& t) { t.nodes[3] = Node::make_leaf(3, 3); }, {"refs 3 to 6 of 5"}},
      {[](Tree& t) { t.nodes[0] = Node::make_inner(0.5f, 0, 2); }, {"children at 4 of 4"}},
      {[](Tree& t) { t.refs.push_back(2), t.nodes[3] = Node::make_leaf(3, 3); },
       {"leaf 3: triangle 2 twice"}},
      {[](Tree& t) { t.nodes[3] = Node::make_leaf(2, 3); }, {"overlap"}},
      {[](Tree& t) { t.nodes[3] = Node::make_inner(0.7f, 0, 1); }, {"belong to another node"}},
      {[](Tree& t) { t.nodes[3] = Node::make_inner(0.7f, 0, 0); }, {"belong to another node"}},
      {[](Tree& t) { t.nodes.clear(); }, {"no root"}},
      {[](Tree& t) { t.bounds.hi.z = 0.75f; }, {"not inside the root's box"}},
  };
  for (const auto& [change, faults] : changes) {
    SCOPED_TRACE(faults.empty() ? "valid" : faults.front());
    Tree changed = tree;
    change(changed);
    const std::string found = joined(validate(changed, soup.view()));
    EXPECT_EQ(found.empty(), faults.empty()) << found;
    for (const char* fault : faults) EXPECT_NE(found.find(fault), std::string::npos) << found;
  }
}

// Removes each ref of a valid tree in turn.
TEST(Validate, FindsEveryMissingRef) {
  const Soup soup = random_soup(60, 5, 0.3f);
  const Tree tree = build_reference(soup.view(), {});
  ASSERT_EQ(joined(validate(tree, soup.view())), "");
  for (std::uint32_t index = 0; index < tree.nodes.size(); ++index) {
    if (index == 1 || !tree.nodes[index].leaf()) continue;
    const Node leaf = tree.nodes[index];
    for (std::uint32_t k = 0; k < leaf.count(); ++k) {
      Tree broken = tree;
      std::swap(broken.refs[leaf.first + k], broken.refs[leaf.first + leaf.count() - 1]);
      broken.nodes[index] = Node::make_leaf(leaf.first, leaf.count() - 1);
      EXPECT_NE(joined(validate(broken, soup.view())), "") << "leaf " << index << " ref " << k;
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

constexpr SahCosts unit{1, 1, 0};

// A box of 2 x 1 x 1, halved in x; the upper half cut in y at 0.25. Leaves: {0, 1}, {}, {1, 2, 3}.
Tree three_leaves() {
  Tree tree;
  tree.bounds = {{0, 0, 0}, {2, 1, 1}};
  tree.nodes.resize(6);
  tree.nodes[0] = Node::make_inner(1, 0, 1);
  tree.nodes[2] = Node::make_leaf(0, 2);
  tree.nodes[3] = Node::make_inner(0.25f, 1, 2);
  tree.nodes[4] = Node::make_leaf(2, 0);
  tree.nodes[5] = Node::make_leaf(2, 3);
  tree.refs = {0, 1, 1, 2, 3};
  return tree;
}

TEST(QualityMeasure, CountsAndCostsOfAHandMadeTree) {
  const TreeStats stats = measure(three_leaves(), {2, 3, 0});
  EXPECT_EQ(stats.inner, 2u);
  EXPECT_EQ(stats.leaves, 3u);
  EXPECT_EQ(stats.empty_leaves, 1u);
  EXPECT_EQ(stats.refs, 5u);
  EXPECT_EQ(stats.largest_leaf, 3u);
  EXPECT_EQ(stats.depth, 2u);
  // Half areas: root 5, unit cube 3, upper leaf 1 x 0.75 x 1: 0.75 + 0.75 + 1 = 2.5.
  EXPECT_DOUBLE_EQ(stats.sah_cost_1_1, (5 + 3 + 2 * 3 + 3 * 2.5) / 5);
  EXPECT_DOUBLE_EQ(stats.sah_cost, (2 * (5 + 3) + 3 * (2 * 3 + 3 * 2.5)) / 5);
}

TEST(QualityMeasure, MeasuresALeafAsRoot) {
  Tree tree;
  tree.bounds = {{0, 0, 0}, {1, 1, 1}};
  tree.nodes = {Node::make_leaf(0, 2), Node::make_leaf(0, 0)};
  tree.refs = {5, 3};
  const TreeStats stats = measure(tree, unit);
  EXPECT_EQ(stats.inner, 0u);
  EXPECT_EQ(stats.leaves, 1u);
  EXPECT_EQ(stats.depth, 0u);
  EXPECT_DOUBLE_EQ(stats.sah_cost, 2);
  tree.bounds = {};
  tree.nodes[0] = Node::make_leaf(0, 0);
  EXPECT_DOUBLE_EQ(measure(tree, unit).sah_cost, 0);
}

TEST(QualityMeasure, CostsDoNotDependOnScale) {
  const double cost = measure(three_leaves(), unit).sah_cost;
  for (const float scale : {1e20f, 1e-20f, 1e37f, 1e-37f}) {
    Tree tree = three_leaves();
    tree.bounds.hi = tree.bounds.hi * scale;
    tree.nodes[0].split *= scale;
    tree.nodes[3].split *= scale;
    EXPECT_NEAR(measure(tree, unit).sah_cost, cost, 1e-6 * cost) << scale;
  }
}

TEST(QualityMeasure, GivesNoNanWithoutArea) {
  Tree tree = three_leaves();
  tree.bounds.hi = {2, 0, 0};
  tree.nodes[3] = Node::make_inner(1.5f, 0, 2);
  EXPECT_TRUE(std::isfinite(measure(tree, unit).sah_cost));
}

TEST(QualityHash, IgnoresTheLayout) {
  const Soup soup = random_soup(2000, 1);
  const Tree tree = build_reference(soup.view(), {});
  const TreeStats a = measure(tree, unit);
  const TreeStats b = measure(shuffled(tree), unit);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.sah_cost, b.sah_cost);
}

TEST(QualityHash, SeesEveryChange) {
  std::vector<std::uint64_t> hashes{measure(three_leaves(), unit).hash};
  const auto vary = [&](auto change) {
    Tree tree = three_leaves();
    change(tree);
    hashes.push_back(measure(tree, unit).hash);
  };
  vary([](Tree& t) { t.nodes[0].split = std::nextafter(1.0f, 2.0f); });
  vary([](Tree& t) { t.nodes[3].split = 0; });
  vary([](Tree& t) { t.nodes[3] = Node::make_inner(0.25f, 2, 2); });
  vary([](Tree& t) { std::swap(t.nodes[4], t.nodes[5]); });
  vary([](Tree& t) { t.refs[4] = 4; });
  vary([](Tree& t) { t.nodes[5] = Node::make_leaf(2, 2); });
  vary([](Tree& t) { t.nodes[4] = Node::make_leaf(2, 1), t.nodes[5] = Node::make_leaf(3, 2); });
  vary([](Tree& t) { t.nodes[3] = Node::make_leaf(2, 3); });
  std::ranges::sort(hashes);
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(QualityHash, ZeroHasNoSign) {
  Tree plus = three_leaves();
  Tree minus = three_leaves();
  plus.bounds.lo = minus.bounds.lo = {-1, -1, -1};
  plus.nodes[3].split = 0.0f;
  minus.nodes[3].split = -0.0f;
  EXPECT_EQ(measure(plus, unit).hash, measure(minus, unit).hash);
}

TEST(QualityMeasure, RefusesBrokenTrees) {
  const auto expect_refused = [](auto breakage) {
    Tree tree = three_leaves();
    breakage(tree);
    tests::expect_error(Exit::failed, {}, [&] { measure(tree, unit); });
  };
  EXPECT_NO_THROW(measure(three_leaves(), unit));
  expect_refused([](Tree& t) { t.nodes.clear(); });
  expect_refused([](Tree& t) { t.nodes[3] = Node::make_inner(0.25f, 1, 3); });
  expect_refused([](Tree& t) { t.nodes[3] = Node::make_inner(0.25f, 1, (1u << 30) - 1); });
  expect_refused([](Tree& t) { t.nodes[3] = Node::make_inner(0.25f, 1, 0); });
  expect_refused([](Tree& t) { t.nodes[3] = Node::make_inner(0.25f, 1, 1); });
  // No cycle, but two parents.
  expect_refused([](Tree& t) { t.nodes[2] = Node::make_inner(0.5f, 1, 2); });
  expect_refused([](Tree& t) { t.nodes[3].split = std::numeric_limits<float>::quiet_NaN(); });
  expect_refused([](Tree& t) { t.refs.pop_back(); });
  expect_refused([](Tree& t) { t.nodes[2] = Node::make_leaf(0xffffffffu, 2); });
}

// A chain that repeatedly halves the lower child, with its deepest leaves at `depth`.
Tree chain(unsigned depth) {
  Tree tree;
  tree.bounds = {{0, 0, 0}, {1, 1, 1}};
  tree.nodes.assign(2 * depth + 2, Node::make_leaf(0, 0));
  std::uint32_t node = 0;
  for (std::uint32_t i = 1; i <= depth; ++i) {
    tree.nodes[node] = Node::make_inner(std::ldexp(1.0f, -static_cast<int>(i)), 0, i);
    node = 2 * i;
  }
  return tree;
}

TEST(QualityMeasure, DepthIsLimited) {
  EXPECT_EQ(measure(chain(max_depth), unit).depth, max_depth);
  EXPECT_THROW(measure(chain(max_depth + 1), unit), Error);
}

}  // namespace

}  // namespace heapwood::kdtree
