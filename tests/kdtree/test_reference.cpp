// SPDX-License-Identifier: MIT
// The reference builder: splits compared with brute force, trees checked by validate().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "tests/kdtree/exact_tree.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

double half_area(const Box& box) {
  const double x = static_cast<double>(box.hi.x) - box.lo.x;
  const double y = static_cast<double>(box.hi.y) - box.lo.y;
  const double z = static_cast<double>(box.hi.z) - box.lo.z;
  return x * y + y * z + z * x;
}

// The cost by definition, for one plane and one side of the flat triangles.
double cost_at(std::span<const Box> triangles, const Box& node, const SahCosts& costs,
               const ReferenceSplit& split) {
  Box below = node;
  Box above = node;
  below.hi[split.axis] = above.lo[split.axis] = split.plane;
  double left = 0;
  double right = 0;
  for (const Box& t : triangles) {
    const bool flat = t.lo[split.axis] == split.plane && t.hi[split.axis] == split.plane;
    left += t.lo[split.axis] < split.plane || (flat && split.flats_below);
    right += t.hi[split.axis] > split.plane || (flat && !split.flats_below);
  }
  const double hit = (half_area(below) * left + half_area(above) * right) / half_area(node);
  const double cost = costs.traversal + costs.intersection * hit;
  return left == 0 || right == 0 ? cost * (1 - static_cast<double>(costs.empty_bonus)) : cost;
}

double brute_force_cost(std::span<const Box> triangles, const Box& node, const SahCosts& costs) {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned axis = 0; axis < 3; ++axis) {
    for (const Box& t : triangles) {
      for (const float plane : {t.lo[axis], t.hi[axis]}) {
        if (!(plane > node.lo[axis] && plane < node.hi[axis])) continue;
        for (const bool flats_below : {true, false}) {
          best =
              std::min(best, cost_at(triangles, node, costs, {0, axis, plane, flats_below, true}));
        }
      }
    }
  }
  return best;
}

std::vector<Box> all_bounds(const Soup& soup) {
  std::vector<Box> boxes;
  for (std::uint32_t i = 0; i < soup.triangles.size(); ++i)
    boxes.push_back(bounds(corners(soup.view(), i)));
  return boxes;
}

TEST(ReferenceSplit, IsTheCheapestOfAllPlanes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t n = 1 + seed % 40;
    const Soup soups[] = {random_soup(n, seed, 0.2f), grid_soup(n, seed, 4), slivers(n, seed),
                          cluster(n, seed)};
    for (const Soup& soup : soups) {
      const auto boxes = all_bounds(soup);
      Box node = bounds(soup.view());
      if (seed % 2 == 1) {  // adds empty space around the triangles
        node.lo = node.lo - Vec3{0.1f, 0.2f, 0};
        node.hi = node.hi + Vec3{0, 0.1f, 0.3f};
      }
      for (const SahCosts& costs :
           {SahCosts{1, 1, 0}, SahCosts{1, 1, 0.15f}, SahCosts{0.3f, 2, 0.5f}}) {
        const ReferenceSplit split = best_split(boxes, node, costs);
        const double expected = brute_force_cost(boxes, node, costs);
        ASSERT_EQ(split.found, std::isfinite(expected));
        if (!split.found) continue;
        EXPECT_NEAR(split.cost, expected, 1e-12 * expected) << seed;
        EXPECT_NEAR(cost_at(boxes, node, costs, split), expected, 1e-12 * expected) << seed;
        EXPECT_GT(split.plane, node.lo[split.axis]);
        EXPECT_LT(split.plane, node.hi[split.axis]);
        for (const Box& t : boxes) EXPECT_TRUE(split.goes_below(t) || split.goes_above(t));
      }
    }
  }
}

TEST(ReferenceSplit, FlatsGoWhereItIsCheaper) {
  // Four copies of a wall: the thinner side gets them.
  const Box node{{0, 0, 0}, {1, 1, 1}};
  const Box wall{{0.25f, 0, 0}, {0.25f, 1, 1}};
  const std::vector<Box> boxes{wall, wall, wall, wall};
  const ReferenceSplit split = best_split(boxes, node, {1, 1, 0});
  ASSERT_TRUE(split.found);
  EXPECT_EQ(split.axis, 0u);
  EXPECT_EQ(split.plane, 0.25f);
  EXPECT_TRUE(split.flats_below);
  EXPECT_TRUE(split.goes_below(wall));
  EXPECT_FALSE(split.goes_above(wall));
}

TEST(Reference, TreesAreValidAndMuchCheaperThanALeaf) {
  const SahCosts costs{1, 1, 0.1f};
  const Soup scaled = transformed(random_soup(2000, 9), 0x1p100f);
  Soup nested;  // around a corner, each half as large as the previous one: every split removes one
  for (int i = 0; i < 100; ++i) {
    const float s = std::ldexp(1.0f, -i);
    nested.add({s, 0, 0}, {0, s, 0}, {0, 0, s});
  }
  for (const Soup& soup : {random_soup(3000, 1, 0.02f), grid_soup(1000, 2, 3), slivers(200, 3),
                           cluster(3000, 4, 1e-4f), flat_soup(1000, 5, 1, 0.25f), scaled, nested}) {
    const Tree tree = build_reference(soup.view(), costs);
    const ValidateOptions strict{.tolerance = 1e-9, .samples = 20};
    EXPECT_EQ(validate(tree, soup.view(), strict), std::vector<std::string>{});
    const TreeStats stats = measure(tree, costs);
    EXPECT_LT(stats.sah_cost, 0.5 * static_cast<double>(soup.triangles.size()));
    EXPECT_EQ(stats.leaves, stats.inner + 1);
    EXPECT_LE(stats.depth, max_depth);
  }
}

TEST(Reference, WhatCannotBeSplitIsALeaf) {
  Soup one, point, line = degenerate(100, 2);
  one.add({0, 0, 0}, {1, 0, 0}, {0, 1, 1});
  for (int i = 0; i < 100; ++i) point.add({1, 2, 3}, {1, 2, 3}, {1, 2, 3});
  for (Vec3& v : line.vertices) v.y = v.z = 1;
  for (const Soup& soup : {Soup{}, one, point, line, identical(1000)}) {
    const Tree tree = build_reference(soup.view(), {});
    EXPECT_EQ(validate(tree, soup.view()), std::vector<std::string>{});
    EXPECT_EQ(measure(tree, {}).refs % std::max<std::size_t>(soup.triangles.size(), 1), 0u);
  }
}

}  // namespace
}  // namespace heapwood::kdtree
