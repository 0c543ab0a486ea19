// SPDX-License-Identifier: MIT
#include "scenes/polygon.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>

#include "scenes/random.hpp"

namespace heapwood::scenes {
namespace {

using Outcome = Triangulator::Outcome;

// A corner with integer coordinates, so that areas are exact.
struct Corner {
  std::int64_t x = 0, y = 0;
  bool operator==(const Corner&) const = default;
};
using Outline = std::vector<Corner>;

// An outline from pairs of coordinates, as in "0 0 3 0 3 3".
Outline outline_of(const char* numbers) {
  std::istringstream text(numbers);
  Outline outline;
  for (Corner c; text >> c.x >> c.y;) outline.push_back(c);
  return outline;
}

std::int64_t twice_area(Corner a, Corner b, Corner c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

std::int64_t twice_area(const Outline& outline) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const Corner a = outline[i], b = outline[(i + 1) % outline.size()];
    sum += a.x * b.y - a.y * b.x;
  }
  return sum;
}

// Planes in which small integers stay exact.
std::vector<Vec3> in_space(const Outline& outline, unsigned plane) {
  std::vector<Vec3> corners;
  for (const Corner& c : outline) {
    const auto x = static_cast<float>(c.x), y = static_cast<float>(c.y);
    const Vec3 places[] = {
        {x, y, 7}, {7, x, y}, {y, 7, x}, {x, 3 - y, 7}, {x + y, y - 2 * x, x - 3 * y}};
    corners.push_back(places[plane % 5]);
  }
  return corners;
}

// Expects that no triangle has a negative area and that the border of all triangles is the outline,
// so that they cover each point as often as the outline winds around it. Without self-intersections
// that is once inside and never outside.
void expect_triangulated(const Outline& outline, std::span<const Triangle> triangles,
                         std::int64_t zero_areas = 0) {
  ASSERT_EQ(triangles.size() + 2, outline.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  for (std::uint32_t i = 0; i < outline.size(); ++i)
    --edges[{i, i + 1 == outline.size() ? 0 : i + 1}];
  std::int64_t sum = 0, zeros = 0;
  for (const Triangle& t : triangles) {
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_LT(t.v[i], outline.size());
      ++edges[{t.v[i], t.v[(i + 1) % 3]}];
    }
    const std::int64_t area = twice_area(outline[t.v[0]], outline[t.v[1]], outline[t.v[2]]);
    EXPECT_GE(area, 0);
    zeros += area == 0;
    sum += area;
  }
  for (const auto& [edge, count] : edges) {
    const auto back = edges.find({edge.second, edge.first});
    ASSERT_EQ(count, back == edges.end() ? 0 : back->second) << edge.first << " " << edge.second;
  }
  EXPECT_EQ(sum, twice_area(outline));
  EXPECT_LE(zeros, zero_areas);
}

// Triangulates in every plane, starting at every `step`th corner.
void expect_exact(Outline outline, std::int64_t zero_areas = 0, std::size_t step = 1) {
  Triangulator triangulator;
  for (std::size_t first = 0; first < outline.size(); first += step) {
    for (unsigned plane = 0; plane < 5; ++plane) {
      EXPECT_EQ(triangulator.triangulate(in_space(outline, plane)), Outcome::exact);
      expect_triangulated(outline, triangulator.triangles(), zero_areas);
      if (::testing::Test::HasFailure()) return;
    }
    std::rotate(outline.begin(),
                outline.begin() + static_cast<std::ptrdiff_t>(std::min(step, outline.size() - 1)),
                outline.end());
  }
}

const Outline u_shape = {{0, 0}, {3, 0}, {3, 3}, {2, 3}, {2, 1}, {1, 1}, {1, 3}, {0, 3}};
const Outline window = {{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0},
                        {1, 1}, {1, 3}, {3, 3}, {3, 1}, {1, 1}};
const Outline dart = {{0, 20}, {-3, -10}, {0, -8}, {3, -10}};

TEST(Polygon, ConcaveShapesAreCoveredOnce) {
  expect_exact(u_shape);
  expect_exact(dart);
  expect_exact({{0, 0}, {10, 0}, {10, 10}, {5, 1}, {0, 10}});
  expect_exact(
      {{0, 0}, {2, 1}, {4, 0}, {3, 2}, {4, 4}, {2, 3}, {0, 4}, {1, 2}});  // a star of four points
}

TEST(Polygon, HolesByBridgesStayOpen) {
  expect_exact(window);
  EXPECT_EQ(twice_area(window), 24);
  // The bridge continues an edge of the hole, and two bridges end in one corner.
  expect_exact({{0, 0}, {9, 0}, {9, 9}, {0, 9}, {0, 0}, {2, 2}, {2, 4}, {4, 4}, {4, 2}, {2, 2}});
  expect_exact(outline_of("0 0 20 0 20 9 0 9 0 0 1 1 1 3 3 3 3 1 1 1 0 0 5 1 5 3 8 3 8 1 5 1"));
  // Holes in a row, each bridged to the one before: bridges and edges on one line.
  expect_exact(outline_of("0 0 20 0 20 9 0 9 0 0 2 2 2 4 4 4 4 2 6 2 6 4 8 4 8 2 6 2 4 2 2 2"), 2);
}

TEST(Polygon, CornersOnALineLoseNoArea) {
  expect_exact({{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}});
  expect_exact({{0, 0}, {5, 0}, {5, 5}, {0, 5}, {0, 4}, {0, 3}, {0, 2}, {0, 1}});
  expect_exact({{0, 0}, {1, 0}, {2, 0}, {0, 2}});
  expect_exact({{0, 0}, {4, 0}, {8, 0}, {4, 4}, {2, 2}});
}

TEST(Polygon, RepeatedCornersAndSpikesHaveNoArea) {
  expect_exact({{0, 0}, {0, 0}, {3, 0}, {3, 3}, {3, 3}, {3, 3}, {0, 3}}, 3);
  expect_exact({{0, 0}, {3, 0}, {3, 3}, {5, 5}, {3, 3}, {0, 3}}, 2);
  expect_exact({{0, 0}, {0, 0}, {3, 0}, {3, 3}}, 1);
  expect_exact({{2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}}, 3);
  expect_exact({{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}, 3);
}

TEST(Polygon, ConvexIsAFanAndAQuadIsSplitAtTheShorterDiagonal) {
  Triangulator triangulator;
  Outline circle;
  for (unsigned i = 0; i < 300; ++i) {
    const double angle = 2 * std::numbers::pi * i / 300;
    circle.push_back({std::llround(1e6 * std::cos(angle)), std::llround(1e6 * std::sin(angle))});
  }
  for (const std::size_t n : {5u, 17u, 300u}) {
    const Outline arc(circle.begin(), circle.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(triangulator.triangulate(in_space(arc, 0)), Outcome::exact);
    std::uint32_t i = 2;
    for (const Triangle& t : triangulator.triangles()) {
      EXPECT_EQ(t, (Triangle{{0, i - 1, i}}));
      ++i;
    }
    expect_triangulated(arc, triangulator.triangles());
  }
  const std::vector<Triangle> at_0 = {{{0, 1, 2}}, {{0, 2, 3}}}, at_1 = {{{0, 1, 3}}, {{1, 2, 3}}};
  const auto split = [&](const Outline& quad) {
    triangulator.triangulate(in_space(quad, 0));
    return std::vector<Triangle>(triangulator.triangles().begin(), triangulator.triangles().end());
  };
  EXPECT_EQ(split({{0, 0}, {1, 0}, {1, 1}, {0, 1}}), at_0);
  EXPECT_EQ(split({{0, 0}, {1, 0}, {3, 3}, {0, 1}}), at_1);
  EXPECT_EQ(split({{0, 0}, {4, 0}, {1, 1}, {0, 4}}),
            at_0);  // a dart: its other diagonal lies outside
  EXPECT_EQ(split({{4, 0}, {1, 1}, {0, 4}, {0, 0}}), at_1);
}

TEST(Polygon, SelfIntersectionIsNoticed) {
  Triangulator triangulator;
  const auto outcome = [&](const Outline& outline) {
    const Outcome result = triangulator.triangulate(in_space(outline, 0));
    EXPECT_EQ(triangulator.triangles().size() + 2, outline.size());
    return result;
  };
  EXPECT_EQ(outcome({{0, 0}, {4, 4}, {4, 0}, {0, 4}}), Outcome::intersects);  // a bow tie
  EXPECT_EQ(outcome({{0, 100}, {59, -81}, {-95, 31}, {95, 31}, {-59, -81}}),
            Outcome::intersects);  // a pentagram
  EXPECT_EQ(outcome({{0, 0}, {9, 0}, {9, 1}, {1, 1}, {1, 9}, {5, -5}, {4, -5}, {0, 9}}),
            Outcome::intersects);
}

// Corners at increasing angles around the origin, at random distances.
Outline star(Random& random, unsigned n) {
  Outline outline;
  for (unsigned i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * (i + double{random.uniform(0, 0.8f)}) / n,
                 radius = random.uniform(2e3f, 1e5f);
    outline.push_back(
        {std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))});
  }
  return outline;
}

// A spiral band: outwards along a spiral and back beside it.
Outline spiral(unsigned n) {
  Outline outline;
  const auto add_pair = [&](double i, double width) {
    const double angle = 3 + 2 * std::sqrt(i), radius = 1000 * angle + width;
    outline.push_back(
        {std::llround(radius * std::cos(angle)), std::llround(radius * std::sin(angle))});
  };
  for (unsigned i = 0; i < n; ++i) add_pair(i, 0);
  for (unsigned i = n; i-- > 0;) add_pair(i, 3000);
  std::ranges::reverse(outline);
  return outline;
}

// Teeth with collinear tips and collinear roots; `skew` rotates them away from the axes.
Outline comb(unsigned teeth, std::int64_t skew) {
  Outline outline;
  for (std::int64_t i = 0; i < teeth; ++i) {
    outline.push_back({4 * i, skew * i});
    outline.push_back({4 * i + 2, skew * i + 100 + skew});
  }
  outline.push_back({4 * std::int64_t{teeth}, skew * teeth});
  outline.push_back({4 * std::int64_t{teeth} + 7, skew * teeth - 9});
  outline.push_back({-7, -9});
  std::ranges::reverse(outline);
  return outline;
}

// Inserts corners on edges. Scales all coordinates by 4 first, so that these corners are exact.
Outline with_collinear(Outline outline, Random& random) {
  Outline result;
  for (Corner& c : outline) c = {4 * c.x, 4 * c.y};
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const Corner a = outline[i], b = outline[(i + 1) % outline.size()];
    result.push_back(a);
    for (std::int64_t k = 1; k < 4; ++k) {
      if (random.below(2) == 0)
        result.push_back({a.x + k * (b.x - a.x) / 4, a.y + k * (b.y - a.y) / 4});
    }
  }
  return result;
}

// A square with square holes on a grid, each bridged to its left neighbour, in the first column
// downwards.
Outline plate(unsigned columns, unsigned rows) {
  Outline outline = {{-8, -8},
                     {10 * columns + 8, -8},
                     {10 * columns + 8, 10 * rows + 8},
                     {-8, 10 * rows + 8},
                     {-8, -8}};
  const auto hole = [&](auto& self, std::int64_t c, std::int64_t r) -> void {
    const std::int64_t x = 10 * c, y = 10 * r;
    outline.push_back({x, y});
    outline.push_back({x, y + 5});
    if (c == 0 && r + 1 < rows) {
      self(self, c, r + 1);
      outline.push_back({x, y + 5});
    }
    outline.push_back({x + 5, y + 5});
    outline.push_back({x + 5, y});
    if (c + 1 < columns) {
      self(self, c + 1, r);
      outline.push_back({x + 5, y});
    }
    outline.push_back({x, y});
  };
  hole(hole, 0, 0);
  return outline;
}

bool touch(Corner a, Corner b, Corner c, Corner d) {
  const auto sign = [](std::int64_t x) { return (x > 0) - (x < 0); };
  const auto within = [](std::int64_t lo, std::int64_t hi, std::int64_t x) {
    return x >= std::min(lo, hi) && x <= std::max(lo, hi);
  };
  const auto on = [&](Corner p, Corner q, Corner r) {
    return twice_area(p, q, r) == 0 && within(p.x, q.x, r.x) && within(p.y, q.y, r.y);
  };
  if (on(a, b, c) || on(a, b, d) || on(c, d, a) || on(c, d, b)) return true;
  return sign(twice_area(a, b, c)) * sign(twice_area(a, b, d)) < 0 &&
         sign(twice_area(c, d, a)) * sign(twice_area(c, d, b)) < 0;
}

// Random points, untangled by reversing the part between crossing edges; empty if that does not
// terminate.
Outline untangled(Random& random, unsigned n) {
  Outline p;
  for (unsigned i = 0; i < n; ++i) p.push_back({random.below(40), random.below(40)});
  for (unsigned round = 0; round < 500; ++round) {
    bool changed = false;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        if (j == i + 1 || (i == 0 && j + 1 == n)) continue;
        if (!touch(p[i], p[i + 1], p[j], p[(j + 1) % n])) continue;
        std::reverse(p.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     p.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        changed = true;
      }
    }
    if (changed) continue;
    for (std::size_t i = 0; i < n; ++i) {  // no edge turns back on itself
      const Corner a = p[i], b = p[(i + 1) % n], c = p[(i + 2) % n];
      if (twice_area(a, b, c) == 0 && (a.x - b.x) * (c.x - b.x) + (a.y - b.y) * (c.y - b.y) >= 0)
        return {};
    }
    if (twice_area(p) < 0) std::ranges::reverse(p);
    return p;
  }
  return {};
}

TEST(Polygon, RandomOutlinesAreCoveredOnce) {
  Random random(1975);
  unsigned simple = 0;
  for (unsigned i = 0; i < 60; ++i) {
    expect_exact(star(random, 5 + random.below(40)), 0, 11);
    expect_exact(with_collinear(star(random, 3 + random.below(20)), random), 0, 11);
    const Outline outline = untangled(random, 5 + random.below(25));
    if (outline.empty()) continue;
    ++simple;
    expect_exact(outline, 0, 7);
    if (HasFailure()) {
      std::string text;
      for (const Corner& c : outline)
        text += "{" + std::to_string(c.x) + "," + std::to_string(c.y) + "},";
      FAIL() << i << ": " << text;
    }
  }
  EXPECT_GT(simple, 20u);
}

TEST(Polygon, SpiralsCombsAndPlatesAreCoveredOnce) {
  Random random(7);
  for (const unsigned n : {3u, 10u, 60u}) {
    expect_exact(spiral(n), 0, n);
    expect_exact(with_collinear(spiral(n), random), 0, n);
    expect_exact(comb(n, 0), 0, n);
    expect_exact(comb(n, 3), 0, n);
    expect_exact(with_collinear(comb(n, 0), random), 0, n);
  }
  expect_exact(plate(1, 1));
  expect_exact(plate(3, 2));
  expect_exact(plate(6, 5), 0, 50);
}

// The number of steps is bounded, and ordinary outlines stay far below the bound.
TEST(Polygon, LargeOutlinesTakeLittleTime) {
  Triangulator triangulator;
  const auto exact = [&](const Outline& outline) {
    EXPECT_EQ(triangulator.triangulate(in_space(outline, 0)), Outcome::exact);
    EXPECT_EQ(triangulator.triangles().size() + 2, outline.size());
  };
  exact(spiral(3000));
  exact(comb(3000, 0));
  exact(comb(1000, 4));
  exact(plate(20, 30));
}

}  // namespace
}  // namespace heapwood::scenes
