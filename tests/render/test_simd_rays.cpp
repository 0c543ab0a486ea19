// SPDX-License-Identifier: MIT
// Rays that a CPU thread traces in packets: each has bit for bit the hit that it has when traced
// alone.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "kdtree/traverse/simd_rays.hpp"
#include "render/scene.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::render {
namespace {

using kdtree::Hit;
using kdtree::Ray;

// Rays from in and around the unit cube: in all directions, in nearly equal directions, in planes
// of triangles and of the tree, with intervals that end among the triangles, and with zeros of both
// signs.
std::vector<Ray> rays_of_all_kinds(std::size_t n) {
  Random random(7);
  std::vector<Ray> rays;
  Vec3 way{1, 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 40 == 0) way = random.point(-1, 1);
    const Vec3 origin = random.point(-0.7f, 1.7f);
    Vec3 direction = i % 3 == 0 ? random.point(-1, 1) : way + random.point(-0.05f, 0.05f);
    if (i % 7 == 0)
      direction = {random.below(2) != 0 ? 0.0f : -0.0f, random.below(2) != 0 ? 1.0f : -1.0f, 0.0f};
    if (i % 11 == 0) direction.z = 1e-30f;
    rays.push_back({origin, i % 5 == 0 ? 0.2f : 0.0f, direction, i % 4 == 0 ? 0.6f : 1e30f});
    if (i % 13 == 0) rays.back().origin = {0.5f, 0.25f, 0};
  }
  return rays;
}

template <class Intersection>
void compare_with(const Soup& soup, const Tree& tree, const std::vector<Ray>& all, unsigned least) {
  const auto records = records_of<Intersection>(soup, tree);
  const auto view = tree_view<Intersection>(soup, tree, records);
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{100}, all.size()}) {
    std::vector<Hit> hits(n + 1);
    hits.back().t = -5;
    kdtree::closest_hits(view, all.data(), hits.data(), n);
    EXPECT_EQ(hits.back().t, -5) << "written behind the end";
    std::vector<std::uint8_t> blocked(n + 1, 7), sorted = blocked;
    kdtree::any_hits(view, all.data(), blocked.data(), n);
    kdtree::any_hits(view, all.data(), sorted.data(), n, true);
    EXPECT_EQ(blocked.back(), 7) << "written behind the end";
    EXPECT_EQ(sorted, blocked);
    unsigned found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(blocked[i], kdtree::any_hit(view, all[i]) ? 1 : 0) << i;
      const Hit alone = kdtree::closest_hit(view, all[i]);
      ASSERT_EQ(hits[i].triangle, alone.triangle) << i;
      ASSERT_EQ(simt::bits(hits[i].t), simt::bits(alone.t)) << i;
      ASSERT_EQ(simt::bits(hits[i].u), simt::bits(alone.u)) << i;
      ASSERT_EQ(simt::bits(hits[i].v), simt::bits(alone.v)) << i;
      found += alone.found() ? 1 : 0;
    }
    if (n == all.size()) {
      EXPECT_GT(found, least);
    }
  }
}

void compare(const Soup& soup, const Tree& tree, const std::vector<Ray>& all, unsigned least) {
  compare_with<kdtree::FastIntersection>(soup, tree, all, least);
  compare_with<kdtree::WatertightIntersection>(soup, tree, all, least);
}

TEST(SimdRays, HitWhatEachHitsAlone) {
  const std::vector<Ray> rays = rays_of_all_kinds(9001);
  for (const Soup& soup : {kdtree::random_soup(3000, 1), kdtree::grid_soup(500, 2),
                           kdtree::flat_soup(500, 3, 1, 0.5f, 0.3f)}) {
    SCOPED_TRACE(soup.triangles.size());
    compare(soup, MedianBuilder::build(soup.view()), rays, 300);
    compare(soup, MedianBuilder::build(soup.view(), 21), rays, 300);  // leaves of 8 + 8 + 5
    compare(soup, kdtree::build_reference(soup.view(), {}), rays, 300);
  }
}

TEST(SimdRays, AreBlockedWithEitherChildFirst) {
  const Soup soup = kdtree::random_soup(3000, 1);
  const Tree tree = MedianBuilder::build(soup.view());
  const auto records = records_of<kdtree::FastIntersection>(soup, tree);
  const auto view = tree_view<kdtree::FastIntersection>(soup, tree, records);
  for (const Ray& ray : rays_of_all_kinds(9001)) {
    const kdtree::FastIntersection test(ray, view.slack);
    ASSERT_EQ(kdtree::any_hit<true>(view, test, ray), kdtree::any_hit(view, ray));
  }
}

// Several spans that are sorted, and an incomplete last one.
TEST(SimdRays, HitTheSameInManySpans) {
  const Soup soup = kdtree::random_soup(300, 4);
  compare(soup, MedianBuilder::build(soup.view()), rays_of_all_kinds(2 * kdtree::ray_span + 5000),
          2000);
}

TEST(SimdRays, HitTheSameFromOnePoint) {
  const Soup soup = kdtree::random_soup(3000, 1);
  std::vector<Ray> rays = rays_of_all_kinds(9001);
  for (Ray& ray : rays) ray.origin = {0.5f, 0.4f, -0.2f};
  compare(soup, MedianBuilder::build(soup.view()), rays, 300);
}

// Coordinates so large that a plane's distance overflows for a direction near zero: inf - inf is
// NaN, and the ray visits both children.
TEST(SimdRays, HitTheSameWhereDistancesOverflow) {
  constexpr float large = 1e19f;
  Soup soup = kdtree::grid_soup(500, 2);
  for (Vec3& vertex : soup.vertices) vertex = vertex * large;
  std::vector<Ray> rays = rays_of_all_kinds(9001);
  for (std::size_t i = 0; i < rays.size(); ++i) {
    rays[i].origin = rays[i].origin * large;
    rays[i].tmin *= large;
    rays[i].tmax = i % 4 == 0 ? rays[i].tmax * large : 1e38f;
  }
  compare(soup, MedianBuilder::build(soup.view()), rays, 300);
}

// All hits: those of each triangle tested alone.
void compare_all_hits(const Soup& soup, const Tree& tree, const std::vector<Ray>& rays,
                      std::size_t least) {
  using Hits = std::set<std::pair<std::uint32_t, std::uint32_t>>;  // {bits of t, triangle}
  struct Sink : kdtree::HitSink {
    std::vector<std::vector<kdtree::FoundHit>> of_rays;
    std::size_t calls = 0, last_call = ~std::size_t{0};
    void take(std::uint32_t i, std::vector<kdtree::FoundHit>& hits) override {
      of_rays[i] = hits;
      ++calls;
    }
    bool is_stopped() const override { return calls >= last_call; }
  } sink;
  const auto records = records_of<kdtree::WatertightIntersection>(soup, tree);
  const auto view = tree_view<kdtree::WatertightIntersection>(soup, tree, records);
  sink.of_rays.resize(rays.size());
  kdtree::all_hits(view, rays, sink);
  EXPECT_EQ(sink.calls, rays.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    Hits hits, expected;
    for (const auto& hit : sink.of_rays[i]) hits.insert({simt::bits(hit.t), tree.refs[hit.record]});
    const kdtree::WatertightIntersection test(rays[i]);
    for (std::uint32_t k = 0; k < soup.triangles.size(); ++k) {
      float t, u, v;
      if (test.solve(kdtree::corners(soup.view(), k), rays[i], rays[i].tmin, rays[i].tmax, t, u, v))
        expected.insert({simt::bits(t), k});
    }
    ASSERT_EQ(hits, expected) << i;
    found += sink.of_rays[i].size();
  }
  EXPECT_GT(found, least);
  sink.calls = 0;
  sink.last_call = 1;
  kdtree::all_hits(view, rays, sink);
  EXPECT_LE(sink.calls, 8u);  // a packet
}

TEST(SimdRays, FindAllHits) {
  const Soup soup = kdtree::random_soup(300, 1, 0.15f);
  compare_all_hits(soup, MedianBuilder::build(soup.view(), 21), rays_of_all_kinds(2001), 300);
}

// More hits than lists keep of a group of rays.
TEST(SimdRays, FindManyHitsOfEachRay) {
  const Soup soup = kdtree::random_soup(2000, 1, 0.8f);
  std::vector<Ray> rays = rays_of_all_kinds(8192);
  for (Ray& ray : rays) ray.direction = max(ray.direction, -ray.direction);
  compare_all_hits(soup, kdtree::build_reference(soup.view(), {}), rays, 320000);
}

TEST(SimdRaysOrder, IsOneOfAllAndKeepsWhatStartsTogether) {
  kdtree::RayOrder order;
  EXPECT_TRUE(order.of({}).empty());
  std::vector<Ray> rays = rays_of_all_kinds(5000);
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass == 0 ? "scattered" : "from one point");
    const std::span<const kdtree::RayPlace> places = order.of(rays);
    ASSERT_EQ(places.size(), rays.size());
    std::vector<unsigned> seen(rays.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint32_t index = places[i].index;
      ASSERT_LT(index, rays.size());
      ++seen[index];
      const Vec3 d = rays[index].direction;
      EXPECT_EQ(places[i].signs, (std::signbit(d.x) ? 1u : 0u) | (std::signbit(d.y) ? 2u : 0u) |
                                     (std::signbit(d.z) ? 4u : 0u));
      if (pass == 1) {
        EXPECT_EQ(index, i);
      } else if (i > 0 && rays[index].origin == rays[places[i - 1].index].origin) {
        EXPECT_GT(index, places[i - 1].index);
      }
    }
    EXPECT_EQ(seen, std::vector<unsigned>(rays.size(), 1));
    for (Ray& ray : rays) ray.origin = {1, 2, 3};
  }
}

}  // namespace
}  // namespace heapwood::render
