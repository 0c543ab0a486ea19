// SPDX-License-Identifier: MIT
// Compares the fast test's records and arithmetic with double precision, one triangle at a time.
#include <gtest/gtest.h>

#include "kdtree/traverse/triangle_records.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/render/double_reference.hpp"

namespace heapwood::render {
namespace {

using kdtree::Random;
using kdtree::Ray;
using kdtree::Soup;

// The length that rounding errors are relative to, for coordinates up to `reach`.
double rounding_length(const Meeting& meeting, double reach) {
  return meeting.ray_length + 4 * reach;
}

TEST(PlaneTest, AgreeWithDoublePrecision) {
  const kdtree::PlaneTest test;
  unsigned certain = 0, outside = 0;
  for (const float scale : {1e-6f, 1.0f, 1e6f}) {
    for (const float offset : {0.0f, 1.0f, 1e3f, 1e5f}) {
      Random random(1);
      Soup soup = kdtree::random_soup(200, 2, 0.3f);
      const Soup needles = kdtree::slivers(100, 3, 1e-3f);
      for (const Triangle& t : needles.triangles)
        soup.add(needles.vertices[t.v[0]], needles.vertices[t.v[1]], needles.vertices[t.v[2]]);
      const Vec3 shift = Vec3{offset, -offset, offset / 2} * scale;
      soup = kdtree::transformed(soup, scale, shift);
      const double reach = (offset + 2) * scale;
      for (std::uint32_t i = 0; i < soup.triangles.size(); ++i) {
        const Corners c = kdtree::corners(soup.view(), i);
        kdtree::PlaneRecord record;
        kdtree::make_record(c, static_cast<float>(reach), record);
        for (int k = 0; k < 20; ++k) {
          const float u = random.uniform(-0.2f, 1), v = random.uniform(-0.2f, 1 - u);
          const Vec3 origin = random.point(-1, 2) * scale + shift,
                     way = c.a + (c.b - c.a) * u + (c.c - c.a) * v - origin;
          if (!(length(way) > 0)) continue;
          const Ray ray{origin, 0, normalize(way), 1e30f};
          const auto meeting = meet(ray, c);
          if (!meeting || meeting->cosine < 1e-3) continue;
          const double error = 0x1p-21 * rounding_length(*meeting, reach) / meeting->cosine;
          const double weight_error = error / meeting->min_height;
          float t = 0;
          const bool hit = test.test(&record, ray, 0, 1e30f, t);
          if (meeting->min_weight() > weight_error && meeting->t > error) {
            ++certain;
            ASSERT_TRUE(hit) << scale << ", " << offset;
          }
          // The tolerance is at most 1/32 of the triangle.
          if (meeting->min_weight() < -4 * weight_error ||
              meeting->min_weight() < -0x1p-5 - weight_error) {
            ++outside;
            ASSERT_FALSE(hit) << scale << ", " << offset << ", outside by "
                              << meeting->min_weight();
          }
          if (!hit) continue;
          float hit_u = 0, hit_v = 0;
          test.coordinates(&record, ray, t, hit_u, hit_v);
          ASSERT_NEAR(t, meeting->t, error) << scale << ", " << offset;
          ASSERT_NEAR(hit_u, meeting->u, 2 * weight_error + 1e-6) << scale << ", " << offset;
          ASSERT_NEAR(hit_v, meeting->v, 2 * weight_error + 1e-6) << scale << ", " << offset;
        }
      }
    }
  }
  EXPECT_GT(certain, 10000u);
  EXPECT_GT(outside, 10000u);
}

// A ray through or close to a shared edge hits at least one of its two triangles.
TEST(PlaneTest, LeaveNoGapAtSharedEdges) {
  const kdtree::PlaneTest test;
  for (const float offset : {0.0f, 100.0f, 1e4f}) {
    Random random(4);
    unsigned gaps = 0;
    for (int i = 0; i < 20000; ++i) {
      const Vec3 shift{offset, offset / 3, -offset};
      const Vec3 a = random.point(0, 1) + shift, b = random.point(0, 1) + shift;
      const Vec3 left = random.point(0, 1) + Vec3{-1, 0, 0} + shift,
                 right = random.point(0, 1) + Vec3{1, 0, 0} + shift;
      const Vec3 origin = random.point(0, 1) + Vec3{0, 0, 3} + shift;
      const Vec3 at = a + (b - a) * random.uniform(0.1f, 0.9f);
      const Ray ray{origin, 0, normalize(at - origin + random.point(-1e-7f, 1e-7f)), 1e30f};
      const auto first = meet(ray, {a, b, left}), second = meet(ray, {b, a, right});
      // Skips cases with a triangle seen nearly edge-on, and edges on the silhouette.
      if (!first || !second || first->cosine < 0.2 || second->cosine < 0.2) continue;
      if (dot(cross(in_double(b - a), in_double(left - a)), in_double(ray.direction)) *
              dot(cross(in_double(b - a), in_double(right - a)), in_double(ray.direction)) >=
          0) {
        continue;
      }
      kdtree::PlaneRecord one, other;
      kdtree::make_record({a, b, left}, offset + 4, one);
      kdtree::make_record({b, a, right}, offset + 4, other);
      float t = 0;
      if (!test.test(&one, ray, 0, 1e30f, t) && !test.test(&other, ray, 0, 1e30f, t)) ++gaps;
    }
    EXPECT_EQ(gaps, 0u) << offset;
  }
}

TEST(PlaneTest, UnhittableTrianglesAreNotHit) {
  const kdtree::PlaneTest test;
  kdtree::PlaneRecord record;
  Random random(5);
  for (const bool point : {true, false}) {
    const Vec3 a{0.5f, 0.5f, 0.5f}, b{0.25f, 0.5f, 1};
    kdtree::make_record({a, point ? a : b, a}, 1, record);
    for (int i = 0; i < 1000; ++i) {
      const Vec3 origin = random.point(-1, 2);
      const Vec3 direction = i % 2 == 0 ? a - origin : set({}, random.below(3), 1);
      float t = 0;
      EXPECT_FALSE(test.test(&record, {origin, 0, direction, 1e30f}, -1e30f, 1e30f, t));
      EXPECT_FALSE(test.test(&record, {a, 0, direction, 1e30f}, 0, HUGE_VALF, t));
    }
  }
}

// Rays parallel to the triangle, in its plane and off it.
TEST(PlaneTest, ParallelRaysMiss) {
  const kdtree::PlaneTest test;
  kdtree::PlaneRecord record;
  kdtree::make_record({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, 1, record);
  float t = 0;
  for (const float z : {0.0f, 1.0f, -1.0f}) {
    EXPECT_FALSE(test.test(&record, {{-1, 0.25f, z}, 0, {1, 0, 0}, 1e30f}, 0, HUGE_VALF, t)) << z;
  }
}

}  // namespace
}  // namespace heapwood::render
