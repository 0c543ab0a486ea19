// SPDX-License-Identifier: MIT
// The reference builder: splits compared with brute force, trees checked by validate(), degenerate
// scenes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
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

// The tree is valid and costs no more than a single leaf.
TreeStats check(const Soup& soup, const std::string& what, double tolerance = 1e-9) {
  const SahCosts costs{1, 1, 0.1f};
  const Tree tree = build_reference(soup.view(), costs);
  ValidateOptions options;
  options.tolerance = tolerance;
  options.samples = 20;
  for (const std::string& line : validate(tree, soup.view(), options))
    ADD_FAILURE() << what << ": " << line;
  const TreeStats stats = measure(tree, costs);
  EXPECT_TRUE(std::isfinite(stats.sah_cost)) << what;
  EXPECT_EQ(stats.leaves, stats.inner + 1) << what;
  EXPECT_GE(stats.refs, soup.triangles.size()) << what;
  EXPECT_FALSE(tree.incomplete);
  return stats;
}

TEST(Reference, RandomSoupsAreValid) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    check(random_soup(3000, seed), "random");
    check(random_soup(200, seed, 0.5f), "large");
    check(grid_soup(3000, seed), "grid");
    check(grid_soup(1000, seed, 3), "coarse grid");
    check(slivers(200, seed), "slivers");
    check(cluster(3000, seed), "cluster");
  }
}

TEST(Reference, TreesAreMuchCheaperThanALeaf) {
  EXPECT_LT(check(random_soup(5000, 1, 0.02f), "random").sah_cost, 0.02 * 5000);
  EXPECT_LT(check(cluster(5000, 1, 1e-4f), "cluster").sah_cost, 0.1 * 5000);
}

TEST(Reference, FewTriangles) {
  const Tree none = build_reference({}, {});
  EXPECT_TRUE(none.bounds.empty());
  ASSERT_GE(none.nodes.size(), 1u);
  EXPECT_TRUE(none.nodes[0].leaf());
  EXPECT_EQ(none.nodes[0].count(), 0u);
  EXPECT_TRUE(validate(none, {}).empty());
  EXPECT_EQ(measure(none, {}).sah_cost, 0);

  Soup soup;
  soup.add({0, 0, 0}, {1, 0, 0}, {0, 1, 1});
  EXPECT_EQ(check(soup, "one").inner, 0u);
  soup.add({9, 9, 9}, {10, 9, 9}, {9, 10, 10});
  EXPECT_EQ(check(soup, "two").inner, 0u);  // no split costs less than two intersections
  const SahCosts dear{1, 20, 0.1f};
  const Tree two = build_reference(soup.view(), dear);
  EXPECT_TRUE(validate(two, soup.view()).empty());
  EXPECT_EQ(measure(two, dear).largest_leaf, 1u);
  EXPECT_LT(measure(two, dear).sah_cost, 40);
}

TEST(Reference, DegenerateScenes) {
  check(identical(1000), "identical");
  check(degenerate(1000, 1), "no area");
  for (unsigned axis = 0; axis < 3; ++axis) {
    const TreeStats stats = check(flat_soup(1000, axis, axis, 0.25f), "flat");
    EXPECT_LT(stats.sah_cost, 100);
    check(flat_soup(1000, axis, axis, 0), "flat at zero");
  }
  Soup point;
  for (int i = 0; i < 100; ++i) point.add({1, 2, 3}, {1, 2, 3}, {1, 2, 3});
  EXPECT_EQ(check(point, "a point").inner, 0u);
  Soup line = degenerate(100, 2);
  for (Vec3& v : line.vertices) v.y = v.z = 1;
  EXPECT_EQ(check(line, "a line").inner, 0u);
  Soup walls;  // many copies of an axis-aligned wall, and triangles on both sides
  for (int i = 0; i < 200; ++i) walls.add({0.5f, 0, 0}, {0.5f, 1, 0}, {0.5f, 0, 1});
  walls.add(random_soup(200, 3));
  check(walls, "walls");
}

// Areas neither overflow nor underflow: the tree is the same at every power of two.
TEST(Reference, HugeAndTinyCoordinates) {
  const Soup soup = random_soup(2000, 9);
  const TreeStats expected = check(soup, "unit");
  for (const float scale : {0x1p66f, 0x1p-66f, 0x1p100f, 0x1p-90f}) {
    const TreeStats stats = check(transformed(soup, scale), std::to_string(std::log2(scale)));
    EXPECT_EQ(stats.inner, expected.inner) << scale;
    EXPECT_EQ(stats.refs, expected.refs) << scale;
    EXPECT_NEAR(stats.sah_cost, expected.sah_cost, 1e-9 * expected.sah_cost) << scale;
  }
  check(transformed(soup, 1e20f), "1e20");
  check(transformed(soup, 1e-20f), "1e-20");
  check(transformed(soup, 1e-40f), "subnormal");
  check(transformed(soup, 1, {1e5f, -1e6f, 1e4f}), "far from the origin");
  Soup mixed = transformed(soup, 1e-20f);
  mixed.add(transformed(soup, 1e20f));
  check(mixed, "1e-20 inside 1e20");
}

// Mirrored and rotated scenes cost the same: no axis and no side is preferred.
TEST(Reference, CostDoesNotDependOnTheAxes) {
  const Soup soup = random_soup(2000, 10);
  const double cost = check(soup, "as it is").sah_cost;
  Soup turned = soup;
  for (Vec3& v : turned.vertices) v = {v.y, v.z, v.x};
  EXPECT_NEAR(check(turned, "turned").sah_cost, cost, 0.01 * cost);
  EXPECT_NEAR(check(transformed(soup, -1), "mirrored").sah_cost, cost, 0.01 * cost);
}

TEST(Reference, DoesNotDependOnThreads) {
  const unsigned n = sanitized ? 3000 : 20000;
  for (const Soup& soup : {random_soup(n, 11), grid_soup(n, 11, 64), cluster(n, 11)}) {
    const Tree one = build_reference(soup.view(), {}, 1);
    for (const unsigned threads : {2u, 3u, 8u}) {
      const Tree many = build_reference(soup.view(), {}, threads);
      ASSERT_EQ(one.nodes.size(), many.nodes.size());
      EXPECT_EQ(one.refs, many.refs);
      EXPECT_EQ(std::memcmp(one.nodes.data() + 2, many.nodes.data() + 2,
                            (one.nodes.size() - 2) * sizeof(Node)),
                0);
      EXPECT_EQ(measure(one, {}).hash, measure(many, {}).hash);
    }
  }
}

TEST(Reference, IsNeverDeeperThanTheLimit) {
  // Triangles nested around a corner, each half as large as the previous one: every split removes
  // one.
  Soup soup;
  for (int i = 0; i < 100; ++i) {
    const float s = std::ldexp(1.0f, -i);
    soup.add({s, 0, 0}, {0, s, 0}, {0, 0, s});
  }
  EXPECT_LE(check(soup, "nested").depth, max_depth);
}

}  // namespace
}  // namespace heapwood::kdtree
