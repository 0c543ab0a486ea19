// SPDX-License-Identifier: MIT
// The builder's clips in float, compared with exact ones in double: they contain the clipped part
// up to a few ulps, are not much larger, are never empty and never outside the box.
#include "kdtree/split/clip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kdtree/refs.hpp"
#include "kdtree/sah.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

double largest(const Corners& t) {
  const Box b = bounds(t);
  double most = 0;
  for (unsigned axis = 0; axis < 3; ++axis)
    most = std::max({most, std::abs(double(b.lo[axis])), std::abs(double(b.hi[axis]))});
  return most;
}

void expect_inside(const Box& part, const Box& box) {
  for (unsigned axis = 0; axis < 3; ++axis) {
    ASSERT_LE(part.lo[axis], part.hi[axis]);
    ASSERT_GE(part.lo[axis], box.lo[axis]);
    ASSERT_LE(part.hi[axis], box.hi[axis]);
  }
}

void expect_contains(const Box& part, const Polygon& exact, double tolerance) {
  for (unsigned axis = 0; axis < 3 && !exact.empty(); ++axis) {
    ASSERT_LE(part.lo[axis], exact.lowest(axis) + tolerance) << "axis " << axis;
    ASSERT_GE(part.hi[axis], exact.highest(axis) - tolerance) << "axis " << axis;
  }
}

void expect_tight(const Box& part, const Polygon& exact, double tolerance) {
  for (unsigned axis = 0; axis < 3 && !exact.empty(); ++axis) {
    ASSERT_GE(part.lo[axis], exact.lowest(axis) - tolerance) << "axis " << axis;
    ASSERT_LE(part.hi[axis], exact.highest(axis) + tolerance) << "axis " << axis;
  }
}

// Calls f(triangle) for each triangle of four soups, until one fails.
template <class F>
void for_triangles(float scale, Vec3 offset, F f) {
  const std::pair<const char*, Soup> families[] = {{"random", random_soup(1500, 51, 0.4f)},
                                                   {"grid", grid_soup(1500, 52, 8)},
                                                   {"degenerate", degenerate(500, 53)},
                                                   {"flat", flat_soup(500, 54, 1, 0.375f, 0.4f)}};
  for (const auto& [name, plain] : families) {
    SCOPED_TRACE(name);
    const Soup soup = transformed(plain, scale, offset);
    for (std::uint32_t id = 0; id < soup.triangles.size(); ++id) {
      f(corners(soup.view(), id));
      if (::testing::Test::HasFailure()) FAIL() << "triangle " << id;
    }
  }
}

constexpr double ulps = 0x1p-24;

// Planes through the triangle's bounds, some of them through corners.
void check_splits(float scale, Vec3 offset) {
  Random random(61);
  for_triangles(scale, offset, [&](const Corners& t) {
    const Box whole = bounds(t);
    const unsigned axis = random.below(3);
    const float p =
        random.below(4) == 0 ? t.b[axis] : random.uniform(whole.lo[axis], whole.hi[axis]);
    if (!(p > whole.lo[axis] && p < whole.hi[axis])) return;
    const Sides sides = split_bounds(t, whole, axis, p);
    const Box below{whole.lo, set(whole.hi, axis, p)}, above{set(whole.lo, axis, p), whole.hi};
    expect_inside(sides.left, below);
    expect_inside(sides.right, above);
    // Distances to the plane lose at most an ulp of the coordinates; the slope of the edge
    // magnifies that.
    const float steep = whole.hi[axis] - whole.lo[axis];
    const Vec3 e = whole.extent();
    const double grow =
        std::max({1.0, double(e.x) / steep, double(e.y) / steep, double(e.z) / steep});
    const double tolerance = 16 * ulps * largest(t) * grow;
    const Polygon left = part(Polygon(t), axis, p, true), right = part(Polygon(t), axis, p, false);
    expect_contains(sides.left, left, tolerance);
    expect_contains(sides.right, right, tolerance);
    expect_tight(sides.left, left, tolerance);
    expect_tight(sides.right, right, tolerance);
  });
}

TEST(ClipSplitBounds, AreTheExactOnes) { check_splits(1, {0, 0, 0}); }
TEST(ClipSplitBounds, AreTheExactOnesFarFromTheOrigin) { check_splits(10, {1e4f, -1e4f, 1e4f}); }
TEST(ClipSplitBounds, AreTheExactOnesOfTinyAndHugeTriangles) {
  check_splits(1e-20f, {0, 0, 0});
  check_splits(1e20f, {0, 0, 0});
}

// Repeated splits along a path of a tree: the bounds never leave their node and never lose the
// clipped part.
TEST(ClipSplitBounds, LoseNothingDownATree) {
  Random random(62);
  const Soup soup = random_soup(1500, 63, 0.4f);
  for (std::uint32_t id = 0; id < soup.triangles.size(); ++id) {
    const Corners t = corners(soup.view(), id);
    Box node{{-1, -1, -1}, {2, 2, 2}};
    Box box = bounds(t);
    for (int depth = 0; depth < 12; ++depth) {
      const unsigned axis = random.below(3);
      const float p = random.uniform(box.lo[axis], box.hi[axis]);
      if (!(p > box.lo[axis] && p < box.hi[axis])) break;
      const Sides sides = split_bounds(t, box, axis, p);
      const bool right = random.below(2) != 0;
      (right ? node.lo : node.hi)[axis] = p;
      box = right ? sides.right : sides.left;
      expect_inside(box, node);
      expect_contains(box, clip(t, node), 1e-5);
      if (HasFatalFailure()) FAIL() << "triangle " << id << ", depth " << depth;
    }
  }
}

// A random box that overlaps the triangle's bounds, sometimes with planes of these bounds.
Box random_box(const Corners& t, float margin, Random& random) {
  const Box whole = bounds(t);
  Box box;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const float a = random.uniform(whole.lo[axis] - margin, whole.hi[axis] + margin);
    const float b = random.below(4) == 0
                        ? t.a[axis]
                        : random.uniform(whole.lo[axis] - margin, whole.hi[axis] + margin);
    box.lo[axis] = std::min(a, b);
    box.hi[axis] = std::max(a, b);
  }
  return box;
}

void check_clips(float scale, Vec3 offset, double forgiven) {
  Random random(64);
  std::size_t parts = 0;
  for_triangles(scale, offset, [&](const Corners& t) {
    const Box box = random_box(t, 0.25f * scale, random);
    const Box part = clip_bounds(t, box);
    expect_inside(part, box);
    const Polygon exact = clip(t, box);
    parts += exact.empty() ? 0 : 1;
    const double size = std::max(largest(t), double(length(box.lo)) + double(length(box.hi)));
    expect_contains(part, exact, forgiven * size);
    // The bounds are not much larger than the part, if the part is large compared with rounding
    // errors.
    if (exact.area() > 1e-3 * scale * scale) expect_tight(part, exact, 4 * forgiven * size);
  });
  EXPECT_GT(parts, 1000u);
}

TEST(ClipBounds, AreTheExactOnes) { check_clips(1, {0, 0, 0}, 4e-6); }
TEST(ClipBounds, AreTheExactOnesFarFromTheOrigin) { check_clips(10, {1e3f, -1e3f, 1e3f}, 4e-6); }
TEST(ClipBounds, AreTheExactOnesOfTinyAndHugeTriangles) {
  check_clips(1e-20f, {0, 0, 0}, 4e-6);
  check_clips(1e20f, {0, 0, 0}, 4e-6);
}

// A box whose planes meet where edges of the triangle cross one of them: builders choose planes
// where the bounds of parts end.
TEST(ClipBounds, HoldWhereEdgesOfTheBoxMeetThoseOfTheTriangle) {
  Random random(65);
  std::size_t parts = 0;
  for_triangles(1, {0, 0, 0}, [&](const Corners& t) {
    const Box whole = bounds(t);
    const unsigned axis = random.below(3);
    const float p = random.uniform(whole.lo[axis], whole.hi[axis]);
    Box box;
    for (const auto& [a, b] : {std::pair(t.a, t.b), std::pair(t.b, t.c), std::pair(t.c, t.a)}) {
      const float da = a[axis] - p, db = b[axis] - p;
      if ((da < 0) != (db < 0)) box.grow(crossing(a, b, da, db));
    }
    if (box.empty()) return;
    (random.below(2) != 0 ? box.lo : box.hi)[axis] = p;
    (box.lo[axis] == p ? box.hi : box.lo)[axis] = (box.lo[axis] == p ? whole.hi : whole.lo)[axis];
    for (unsigned other = 0; other < 3; ++other) {  // moved inwards by up to two ulps
      if (other == axis || box.lo[other] == box.hi[other]) continue;
      for (unsigned i = random.below(3); i > 0; --i) {
        box.lo[other] = std::nextafter(box.lo[other], box.hi[other]);
        box.hi[other] = std::nextafter(box.hi[other], box.lo[other]);
      }
    }
    const Polygon exact = clip(t, box);
    parts += exact.empty() ? 0 : 1;
    expect_contains(clip_bounds(t, box), exact, 4e-6 * largest(t));
  });
  EXPECT_GT(parts, 500u);
}
TEST(ClipBounds, HoldWhereAnEdgeMeetsTheEdgeOfABox) {
  // An input found by tests/fuzz/fuzz_build.cpp, for which the bounds were those of one of the
  // part's three corners.
  const Corners t{{0, 0.5f, 0.5f}, {2, 0.5f, -1}, {2, -0.375f, 0.5f}};
  const Box box{{1.9968847f, -0.373636633f, 0.497662723f}, {2, -0.36826992f, 0.5f}};
  expect_contains(clip_bounds(t, box), clip(t, box), 4e-6);
}

TEST(ClipBounds, HoldForABoxInsideATriangle) {
  // The box's edges through the interior of the triangle bound the part, not the triangle's edges.
  const Corners t{{-10, -10, -10}, {20, -10, -10}, {-10, 20, 20}};
  const Box box{{0, 0, -1}, {1, 1, 4}};
  const Box part = clip_bounds(t, box);
  const Polygon exact = clip(t, box);
  ASSERT_FALSE(exact.empty());
  expect_contains(part, exact, 1e-5);
  expect_tight(part, exact, 3e-5);  // 16 ulps of 20: the padding, and the rounding of the normal
}

TEST(ClipBounds, WithoutAPartTheBoxesOverlap) {
  // The triangle's bounds reach into this corner, the triangle does not. Since the ref has been
  // counted, it gets bounds inside the node.
  const Corners t{{0, 0, 0}, {4, 0, 0}, {0, 4, 2}};
  const Box box{{3, 3, 0}, {4, 4, 2}};
  EXPECT_EQ(clip_bounds(t, box), intersect(bounds(t), box));
  // A box entirely outside: the bounds are still inside the node.
  const Box away{{5, 5, 5}, {6, 6, 6}};
  expect_inside(clip_bounds(t, away), away);
}

// Builders use the bounds in a node for a child that the triangle does not leave. They must be
// those that the child computes, to the bit: otherwise the counts of a choice and a move differ.
TEST(ClipBounds, PlanesBesideTheTriangleDoNotMatter) {
  Random random(66);
  std::size_t cuts = 0;
  for_triangles(1, {0, 0, 0}, [&](const Corners& t) {
    const Box box = random_box(t, 0.25f, random), part = clip_bounds(t, box), whole = bounds(t);
    for (unsigned axis = 0; axis < 3; ++axis) {
      const float above = random.below(2) == 0 ? whole.hi[axis] : whole.hi[axis] + 0.01f,
                  below = random.below(2) == 0 ? whole.lo[axis] : whole.lo[axis] - 0.01f;
      if (above >= box.lo[axis] && above <= box.hi[axis]) {
        EXPECT_EQ(clip_bounds(t, {box.lo, set(box.hi, axis, above)}), part);
        ++cuts;
      }
      if (below >= box.lo[axis] && below <= box.hi[axis]) {
        EXPECT_EQ(clip_bounds(t, {set(box.lo, axis, below), box.hi}), part);
        ++cuts;
      }
    }
  });
  EXPECT_GT(cuts, 1000u);
}

// The bounds on one axis of a 4-byte ref need not be exact away from a plane, but they send the ref
// to the same sides.
TEST(ClipBounds, BoundsOnAnAxisDecideLikeTheClip) {
  Random random(67);
  std::size_t unclipped = 0;
  for_triangles(1, {0, 0, 0}, [&](const Corners& t) {
    const PackedCorners packed[] = {PackedCorners::pack(t, false)};
    const std::uint32_t ref = 0;
    const Box box = random_box(t, 0.25f, random), part = clip_bounds(t, box);
    const unsigned axis = random.below(3);
    const float p =
        random.below(4) == 0 ? part.hi[axis] : random.uniform(box.lo[axis], box.hi[axis]);
    float lo = 0, hi = 0;
    RefArray<RefKind::ids>::load_bounds(reinterpret_cast<const std::byte*>(&ref), 0, box, packed,
                                        axis, p, p, lo, hi);
    for (const bool flats_right : {false, true}) {
      EXPECT_EQ(goes_left(lo, hi, p, flats_right),
                goes_left(part.lo[axis], part.hi[axis], p, flats_right));
      EXPECT_EQ(goes_right(lo, hi, p, flats_right),
                goes_right(part.lo[axis], part.hi[axis], p, flats_right));
    }
    unclipped += lo != part.lo[axis] || hi != part.hi[axis] ? 1 : 0;
  });
  EXPECT_GT(unclipped, 100u);
}

}  // namespace
}  // namespace heapwood::kdtree
