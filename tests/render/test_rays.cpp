// SPDX-License-Identifier: MIT
// Rays that are hard for the intersection tests or the traversal. test_differential.cpp compares
// hits of random rays with those of brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "render/scene.hpp"
#include "scenes/scene.hpp"
#include "tests/kdtree/layouts.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/double_reference.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

using kdtree::Hit;
using kdtree::Ray;

// The parameter: whether the test is watertight.
class Rays : public testing::TestWithParam<bool> {};

std::string describe(const Ray& r) {
  std::string text = "; ray";
  for (const float x : {r.origin.x, r.origin.y, r.origin.z, r.direction.x, r.direction.y,
                        r.direction.z, r.tmin, r.tmax}) {
    text += " " + std::to_string(x);
  }
  return text;
}

// Rays from points in and around the unit cube, in all directions.
std::vector<Ray> mixed_rays(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<Ray> rays;
  for (std::size_t i = 0; i < n; ++i)
    rays.push_back({random.point(-0.7f, 1.7f), 0, unit_direction(random), 1e30f});
  return rays;
}

// Rays at small angles to a mesh in one plane. A leaf's cell has no thickness, so its interval is
// one distance; that distance and the hit's have errors of the rounding divided by the angle.
TEST_P(Rays, GrazeAFlatMesh) {
  const unsigned n = 4;
  Random random(39);
  for (unsigned axis = 0; axis < 3; ++axis) {
    const unsigned across = (axis + 1) % 3, up = (axis + 2) % 3;
    const auto point = [&](float x, float y) {
      return set(set(set({}, axis, -1), across, x), up, y);
    };
    Soup soup;
    for (unsigned i = 0; i < n * n; ++i) {
      const float d = 1.0f / n, x = static_cast<float>(i % n) * d,
                  y = static_cast<float>(i / n) * d;
      add_quad(soup, point(x, y), point(x + d, y), point(x + d, y + d), point(x, y + d));
    }
    const Scene scene = scene_of(soup, GetParam());
    std::vector<Ray> rays;
    for (int i = 0; i < 20000; ++i) {
      const float angle = std::pow(10.0f, random.uniform(-4, -1)), turn = random.uniform(0, 6.28f);
      const Vec3 flat = point(std::cos(turn), std::sin(turn)),
                 direction = normalize(set(flat, axis, random.below(2) != 0 ? angle : -angle));
      const Vec3 target = point(random.uniform(0.1f, 0.9f), random.uniform(0.1f, 0.9f));
      rays.push_back({target - direction * random.uniform(0.2f, 2), 0, direction, 1e30f});
    }
    const std::vector<Hit> hits = scene.closest(rays);
    unsigned expected = 0;
    for (std::size_t i = 0; i < rays.size(); ++i) {
      const Ray& ray = rays[i];
      // In double, since the ray's numbers are rounded. The hit's place errs as its distance does;
      // it must be inside one triangle.
      const double t = (-1.0 - ray.origin[axis]) / ray.direction[axis];
      const double error = 0x1p-21 / std::fabs(ray.direction[axis]);
      const double x = n * (ray.origin[across] + t * ray.direction[across]),
                   y = n * (ray.origin[up] + t * ray.direction[up]);
      const double in_x = x - std::floor(x), in_y = y - std::floor(y);
      const double inside = std::min({in_x, 1 - in_x, in_y, 1 - in_y, std::fabs(in_x - in_y) / 2});
      if (x < 0 || x > n || y < 0 || y > n || inside < n * error || t < error) continue;
      ++expected;
      ASSERT_TRUE(hits[i].found())
          << "axis " << axis << ", ray " << i << " at " << t << describe(ray);
      ASSERT_NEAR(hits[i].t, t, error) << "axis " << axis << ", ray " << i;
    }
    EXPECT_GT(expected, 10000u);
  }
}

TEST_P(Rays, HitNothingInAnEmptyTree) {
  const Scene scene(test_device(), Tree{}, MeshView{}, GetParam());
  for (const Hit& hit : scene.closest(mixed_rays(50, 29))) EXPECT_FALSE(hit.found());
  for (const Hit& hit : scene.occluded(mixed_rays(50, 29))) EXPECT_FALSE(hit.found());
  EXPECT_TRUE(scene.closest({}).empty());
}

TEST_P(Rays, HitATriangleFromBothSides) {
  Soup soup;
  soup.add({0, 0, 0}, {1, 0, 0}, {0, 1, 0});
  const Scene scene = scene_of(soup, GetParam());
  const std::vector<Ray> rays{{{0.25f, 0.5f, 2}, 0, {0, 0, -1}, 1e30f},
                              {{0.25f, 0.5f, -2}, 0, {0, 0, 2}, 1e30f},
                              {{0.75f, 0.5f, 2}, 0, {0, 0, -1}, 1e30f},
                              {{-1, 0.5f, 0}, 0, {1, 0, 0}, 1e30f}};
  const std::vector<Hit> hits = scene.closest(rays);
  ASSERT_TRUE(hits[0].found());
  EXPECT_FLOAT_EQ(hits[0].t, 2);
  EXPECT_NEAR(hits[0].u, 0.25, 1e-6);
  EXPECT_NEAR(hits[0].v, 0.5, 1e-6);
  ASSERT_TRUE(hits[1].found());
  EXPECT_FLOAT_EQ(hits[1].t, 1);
  EXPECT_FALSE(hits[2].found());
  EXPECT_FALSE(hits[3].found()) << "a ray in the triangle's plane";
}

TEST_P(Rays, DegenerateTrianglesAreNeverHit) {
  const Soup soup = kdtree::degenerate(200, 30);
  std::vector<Ray> rays = mixed_rays(500, 31);
  Random random(32);
  for (int i = 0; i < 500; ++i) {  // rays aimed at these triangles
    const Vec3 origin = random.point(-1, 2);
    rays.push_back(
        {origin, 0,
         soup.vertices[random.below(static_cast<std::uint32_t>(soup.vertices.size()))] - origin,
         1e30f});
  }
  for (const Hit& hit : scene_of(soup, GetParam()).closest(rays)) {
    EXPECT_FALSE(hit.found());
    EXPECT_FALSE(std::isnan(hit.t));
  }
}

// Each triangle twice: of two hits at the same distance the one with the lower number is found,
// whatever the layout of the tree and the order of a leaf's refs. Pictures of equal trees depend on
// it.
TEST_P(Rays, DoNotDependOnTheTreesLayout) {
  Soup soup = kdtree::random_soup(300, 35, 0.2f);
  const auto once = static_cast<std::uint32_t>(soup.triangles.size());
  append(soup, soup);
  const std::vector<Ray> rays = mixed_rays(2000, 36);
  for (const Tree& tree :
       {MedianBuilder::build(soup.view(), 6), kdtree::build_reference(soup.view(), {})}) {
    const Tree shuffled = kdtree::shuffled(tree);
    const Scene scene(test_device(), tree, soup.view(), GetParam());
    const Scene mixed(test_device(), shuffled, soup.view(), GetParam());
    const Scene ordered(test_device(), kdtree::depth_first(shuffled), soup.view(), GetParam());
    const std::vector<Hit> hits = scene.closest(rays);
    unsigned found = 0;
    for (const std::vector<Hit>& others : {mixed.closest(rays), ordered.closest(rays)}) {
      for (std::size_t i = 0; i < rays.size(); ++i) {
        ASSERT_EQ(hits[i].triangle, others[i].triangle) << i;
        if (!hits[i].found()) continue;
        ++found;
        ASSERT_EQ(hits[i].t, others[i].t) << i;
        ASSERT_LT(hits[i].triangle, once) << i;
      }
    }
    EXPECT_GT(found, 400u);
    EXPECT_EQ(mixed.order_ms().has_value(), test_device().kind != simt::DeviceKind::cpu);
  }
}

Soup ground(float size) {
  Soup soup;
  add_quad(soup, {-size, 0, -size}, {-size, 0, size}, {size, 0, size}, {size, 0, -size});
  return soup;
}

// A cable of 100 units over ground of 1,000: rays that pass its end hit the ground, from near by
// and from far above.
TEST_P(Rays, PassTheEndsOfThinTriangles) {
  for (const float width : {1e-3f, 2e-3f, 1e-2f, 1e-1f}) {
    Soup soup = ground(500);
    const float w = width / 2;
    const Vec3 from{-50, 10, 0}, to{50, 10, 0};
    const Vec3 corners[] = {{0, -w, w}, {0, w, w}, {0, w, -w}, {0, -w, -w}};
    for (unsigned i = 0; i < 4; ++i) {
      const Vec3 a = corners[i], b = corners[(i + 1) % 4];
      add_quad(soup, from + a, to + a, to + b, from + b);
    }
    soup.add({-50, 20, 0}, {50, 20, -w}, {50, 20, w});  // a needle
    for (const Tree& tree :
         {MedianBuilder::build(soup.view()), kdtree::build_reference(soup.view(), {})}) {
      std::vector<Ray> rays;
      Random random(71);
      for (unsigned i = 0; i < 4000; ++i) {
        const float side = i % 2 == 0 ? 1.0f : -1.0f, beyond = random.uniform(1e-3f, 3);
        const Vec3 at{side * (50 + beyond), 10.0f + 10.0f * static_cast<float>(i % 4 / 2),
                      random.uniform(-w, w)};
        const float height = i % 8 < 4 ? 5.0f : 400.0f;
        rays.push_back({at + Vec3{0, height, 0}, 0, {0, -1, 0}, 1e30f});
        if (i % 3 == 0) rays.back().direction = {1e-7f, -1, 2e-7f};
      }
      const Scene scene(test_device(), tree, soup.view(), GetParam());
      const std::vector<Hit> hits = scene.closest(rays);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < rays.size(); ++i)
        wrong += !hits[i].found() || hits[i].triangle >= 2;
      EXPECT_EQ(wrong, 0u) << width;
    }
  }
}

// A small closed model on ground 10,000 times as large, seen from near by.
TEST_P(Rays, HitSmallTrianglesInALargeSceneWhereTheyAre) {
  Soup soup = ground(1);
  append(soup, closed_surface(12, 1, {0.3f, 1.2e-4f, 0.4f}, 1e-4f));
  const Tree tree = kdtree::build_reference(soup.view(), {});
  const DoubleReference reference(soup.view());
  Random random(72);
  std::vector<Ray> rays;
  for (unsigned i = 0; i < 20000; ++i) {
    const Vec3 at = Vec3{0.3f, 1.2e-4f, 0.4f} + unit_direction(random) * 0.9e-4f;
    Ray ray{at + unit_direction(random) * 2e-3f, 0, {}, 1e30f};
    ray.origin.y = std::fabs(ray.origin.y);
    ray.direction = normalize(at - ray.origin);
    rays.push_back(ray);
  }
  const Scene scene(test_device(), tree, soup.view(), GetParam());
  const std::vector<Hit> hits = scene.closest(rays);
  std::size_t wrong = 0, certain = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const auto expected = reference.hits(rays[i], 0);
    if (expected.empty() || expected[0].meeting.min_weight() < 1e-4) continue;
    ++certain;
    wrong += !hits[i].found() ||
             std::fabs(hits[i].t - expected[0].meeting.t) > (GetParam() ? 3e-7 : 2e-6);
    ASSERT_TRUE(hits[i].u >= 0 && hits[i].v >= 0 && double{hits[i].u} + hits[i].v <= 1);
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(certain, 15000u);
}

// Rays along the edges of a box and through its corners hit it, also from far away.
TEST_P(Rays, HitTheSilhouetteOfABox) {
  const Soup soup = closed_surface(1, 0, {0.5f, 0.5f, 0.5f}, 0.5f);
  const Tree trees[] = {MedianBuilder::build(soup.view()),
                        kdtree::build_reference(soup.view(), {})};
  for (const Tree& tree : trees) {
    const Scene scene(test_device(), tree, soup.view(), GetParam());
    for (const float far : {5.0f, 5e3f, 5e6f}) {
      for (unsigned axis = 0; axis < 3; ++axis) {
        for (const float side : {1.0f, -1.0f}) {
          std::vector<Ray> rays;
          for (unsigned i = 0; i < 9; ++i) {
            if (i == 4) continue;  // the middle
            const unsigned u = (axis + 1) % 3, v = (axis + 2) % 3;
            const float zero = i % 2 == 0 ? 0.0f : -0.0f;
            const Vec3 from =
                set(set(set({}, axis, side * far), u, 0.5f * static_cast<float>(i % 3)), v,
                    0.5f * static_cast<float>(i / 3));
            rays.push_back({from, 0, set(Vec3{zero, zero, zero}, axis, -side), 1e30f});
          }
          const std::vector<Hit> hits = scene.closest(rays), any = scene.occluded(rays);
          for (std::size_t i = 0; i < rays.size(); ++i) {
            EXPECT_TRUE(hits[i].found() && any[i].found())
                << i << " from " << far << " on " << axis;
            EXPECT_FLOAT_EQ(hits[i].t, side > 0 ? far - 1 : far);
          }
        }
      }
    }
  }
}

#ifdef HEAPWOOD_LONG_TESTS
constexpr std::size_t far_rays = 200'000;
#else
constexpr std::size_t far_rays = 20'000;
#endif
// The watertight test does not move rays: from far away all cells overlap, and each ray tests all
// triangles.
constexpr std::size_t far_watertight_rays = 500;

// No ray passes through a closed surface, from however far away it starts. Rays from far away are
// traced with the watertight test, so none passes at an edge either.
TEST_P(Rays, FromFarAwayHitClosedSurfaces) {
  const Soup soup = closed_surface(40, 1);
  const Scene scene = scene_of(soup, GetParam());
  const std::size_t count = GetParam() ? far_watertight_rays : far_rays;
  for (const float sizes : {1.0f, 10.0f, 100.0f, 1e3f, 1e4f, 1e5f, 1e6f}) {
    Random random(73);
    std::vector<Ray> rays;
    for (std::size_t i = 0; i < count; ++i) {
      const Vec3 from = unit_direction(random) * (2 * sizes);
      Vec3 target = random.point(-0.3f, 0.3f);
      // Aim some of the rays from far away at edges.
      const Triangle t = soup.triangles[random.below(static_cast<unsigned>(soup.triangles.size()))];
      const Vec3 edge = (soup.vertices[t.v[0]] + soup.vertices[t.v[1]]) * 0.5f;
      if (sizes > 1 && dot(edge, from) > 0.6f * length(from)) target = edge;
      rays.push_back({from, 0, normalize(target - from), 1e30f});
    }
    const std::vector<Hit> hits = scene.closest(rays);
    std::size_t passed = 0;
    // A far origin and its direction are rounded, so that the ray passes the centre elsewhere.
    const float nearest = 2 * sizes - 1.01f, limit = 2 * sizes - 0.3f;
    for (const Hit& hit : hits)
      passed += !hit.found() || hit.t < nearest * (1 - 1e-6f) || hit.t > limit * (1 + 1e-6f);
    EXPECT_EQ(passed, 0u) << sizes;
  }
}

INSTANTIATE_TEST_SUITE_P(Intersection, Rays, testing::Bool(),
                         [](const auto& info) { return info.param ? "Watertight" : "Fast"; });

// Rays from inside a closed surface, aimed exactly at its vertices and at points of its edges.
class RaysClosedSurface : public testing::TestWithParam<float> {};

TEST_P(RaysClosedSurface, WatertightHasNoLeaks) {
  const Soup soup = closed_surface(12, GetParam(), {0.3f, -0.2f, 0.1f}, 1.7f);
  Random random(40);
  std::vector<Ray> rays;
  const auto aim = [&](Vec3 target) {
    for (const Vec3 origin : {Vec3{0.3f, -0.2f, 0.1f}, random.point(-0.4f, 0.6f),
                              Vec3{0.3f, target.y, 0.1f}, Vec3{target.x, target.y, 0.1f}}) {
      if (length(target - origin) > 0.1f && length(origin - Vec3{0.3f, -0.2f, 0.1f}) < 1.5f) {
        rays.push_back({origin, 0, target - origin, 1e30f});
        rays.push_back({origin, 0, normalize(target - origin), 1e30f});
      }
    }
  };
  for (const Vec3& v : soup.vertices) aim(v);
  for (const Triangle& t : soup.triangles) {
    for (unsigned k = 0; k < 3; ++k) {
      const Vec3 a = soup.vertices[t.v[k]], b = soup.vertices[t.v[(k + 1) % 3]];
      const float s = random.uniform();
      aim(a * 0.5f + b * 0.5f);
      aim(a * s + b * (1 - s));
    }
  }
  ASSERT_GT(rays.size(), 10000u);
  for (const bool median : {true, false}) {
    const Tree tree =
        median ? MedianBuilder::build(soup.view()) : kdtree::build_reference(soup.view(), {});
    const Scene scene(test_device(), tree, soup.view(), true);
    const std::vector<Hit> hits = scene.closest(rays);
    const std::vector<Hit> any = scene.occluded(rays);
    unsigned leaks = 0;
    for (std::size_t i = 0; i < rays.size(); ++i) leaks += !hits[i].found() || !any[i].found();
    EXPECT_EQ(leaks, 0u) << "of " << rays.size()
                         << (median ? ", tree of medians" : ", reference tree");
  }
}

INSTANTIATE_TEST_SUITE_P(Shape, RaysClosedSurface, testing::Values(0.0f, 0.3f, 1.0f),
                         [](const auto& info) {
                           return "Round" + std::to_string(static_cast<int>(info.param * 10));
                         });

#ifdef HEAPWOOD_LONG_TESTS
constexpr const char* halls[] = {"atrium:20k", "atrium:50k", "atrium:60k"};
#else
constexpr const char* halls[] = {"atrium:60k"};
#endif

// The demo scene's hall has no gaps where its parts meet: along the feet of its walls, and in the
// apse.
TEST(RaysAtrium, HasNoSlits) {
  for (const char* name : halls) {
    const scenes::Mesh mesh = scenes::load(name);
    const MeshView view{mesh.vertices, mesh.triangles};
    const Tree tree = MedianBuilder::build(view);
    std::vector<Ray> rays;
    const auto aim = [&](Vec3 eye, Vec3 target) { rays.push_back({eye, 0, target - eye, 1e30f}); };
    // The apse's arch is 5 wide and 6 high below its half circle, and ends slightly more than 2.5
    // before the deepest point.
    const float arch = tree.bounds.hi.x - 2.6f, across = 4.6f / 100, up = 0.01f;
    for (float z = -2.3f; z < 2.3f; z += across) {
      for (float y = 0.2f; y < 6 || (y - 6) * (y - 6) + z * z < 2.3f * 2.3f; y += up)
        aim({arch - 11, 4, 0}, {arch, y, z});
    }
    const float length = 2 * (arch - 1), wall = 7.6f;  // from the middle to the aisles' walls
    for (float x = -0.49f * length; x < 0.49f * length; x += 0.05f) {
      for (const float side : {-1.0f, 1.0f}) {
        // Aimed at the edges of the floor's tiles, and so low that a ray through a gap also misses
        // the floor behind the wall.
        for (float y = -0.02f; y < 0.004f; y += 0.001f)
          aim({x, 0.3f, side * (wall - 3)}, {x, y, side * wall});
      }
    }
    const Scene scene(test_device(), tree, view, true);
    const std::vector<Hit> hits = scene.closest(rays);
    const auto out =
        std::count_if(hits.begin(), hits.end(), [](const Hit& hit) { return !hit.found(); });
    EXPECT_EQ(out, 0) << name << ", of " << rays.size();
  }
}

TEST(RaysTriangleRecords, AreFiniteForAnyTriangle) {
  for (const float scale : {1e-38f, 1e-20f, 1.0f, 1e15f, 1e37f}) {
    for (const Soup& soup : {kdtree::random_soup(50, 50), kdtree::degenerate(50, 51),
                             kdtree::slivers(50, 52, 1e-7f)}) {
      const Soup scaled = kdtree::transformed(soup, scale);
      for (std::uint32_t i = 0; i < scaled.triangles.size(); ++i) {
        const Corners corners = kdtree::corners(scaled.view(), i);
        kdtree::PlaneRecord plane;
        kdtree::CornerRecord corner;
        kdtree::make_record(corners, scale, plane);
        kdtree::make_record(corners, scale, corner);
        for (const auto& words : {std::bit_cast<std::array<float, 12>>(plane),
                                  std::bit_cast<std::array<float, 12>>(corner)}) {
          for (const float x : words) ASSERT_TRUE(std::isfinite(x)) << scale;
        }
      }
    }
  }
}

}  // namespace
}  // namespace heapwood::render
