// SPDX-License-Identifier: MIT
// validate() accepts valid trees and finds each planted fault; the clips that it uses.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kdtree/check/validate.hpp"
#include "tests/kdtree/exact_tree.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
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

}  // namespace
}  // namespace heapwood::kdtree
