// SPDX-License-Identifier: MIT
// Degenerate scenes: no triangles, points and lines, all triangles in one place or one plane, very
// small, very large and far from the origin. The build always ends with a valid tree, the same as
// on one CPU thread.
#include <cmath>

#include "tests/kdtree/build_support.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

// Builds with all kinds of refs and checks the trees; returns the statistics of the tree with
// clipped refs. Equal hashes mean equal trees, so only the expected tree is validated.
TreeStats check(const Soup& soup) {
  TreeStats stats;
  for (const RefKind kind : all_ref_kinds) {
    SCOPED_TRACE(kdtree::name(kind));
    const Expected want = expected(soup.view(), kind);
    expect_sound(want.built, soup.view(), tolerant(kind));
    EXPECT_TRUE(std::isfinite(want.built.stats.sah_cost));
    for (const Node& node : want.built.tree.nodes)
      EXPECT_TRUE(node.leaf() || std::isfinite(node.split));
    for_usable(few_subjects(), [&](const Subject& subject) {
      Bench bench(subject, soup, kind, want);
      if (kind == RefKind::clipped) return bench.expect_all_freed();
      EXPECT_EQ(bench.build().tree.bounds, want.built.tree.bounds);
    });
    if (kind == RefKind::clipped) stats = want.built.stats;
  }
  return stats;
}

TEST(BuildDegenerate, NoTrianglesGiveOneLeaf) {
  const Soup none;
  for_usable(few_subjects(), [&](const Subject& subject) {
    const DeviceMesh mesh(subject.device, none.view());
    for (const RefKind kind : all_ref_kinds) {
      Workspace workspace(mesh, kind, ample_pool(subject, {}));
      const Built built = build(subject, workspace);
      EXPECT_FALSE(built.run.incomplete);
      EXPECT_EQ(built.stats.leaves, 1u);
      EXPECT_EQ(built.stats.refs, 0u);
      EXPECT_TRUE(built.tree.bounds.empty());
      EXPECT_TRUE(validate(built.tree, none.view()).empty());
      EXPECT_EQ(subject.compiled->build_instrumented(workspace, {}).requests.allocations, 0u);
    }
  });
}

TEST(BuildDegenerate, OneAndTwoTrianglesHaveOneRefEach) {
  Soup soup;
  soup.add({0, 0, 0}, {1, 0, 0}, {0, 1, 0.5f});
  EXPECT_EQ(check(soup).refs, 1u);
  soup.add({5, 5, 5}, {6, 5, 5}, {5, 6, 5.5f});
  EXPECT_EQ(check(soup).refs, 2u);
  // A point, a line, and a triangle in an axis-aligned plane.
  for (const Vec3& corner : {Vec3{1, 2, 3}, Vec3{1, 2, 4}, Vec3{1, 4, 3}}) {
    Soup one;
    one.add({1, 2, 3}, {1, 2, 3}, corner);
    EXPECT_EQ(check(one).refs, 1u);
  }
  Soup flat;
  flat.add({1, 2, 3}, {1, 2, 4}, {1, 4, 3});
  EXPECT_EQ(check(flat).refs, 1u);
}

TEST(BuildDegenerate, IdenticalTrianglesStayTogether) {
  const TreeStats stats = check(identical(1000));
  // The refs cannot be separated: empty space may be cut off, but every leaf with refs has all of
  // them.
  EXPECT_EQ(stats.refs % 1000, 0u);
  EXPECT_EQ(stats.largest_leaf, 1000u);
}

TEST(BuildDegenerate, TrianglesWithoutAreaGiveAValidTree) { check(degenerate(1500, 21)); }

TEST(BuildDegenerate, OnePointIsOneLeaf) {
  Soup soup;
  for (int i = 0; i < 3000; ++i) soup.add({0.25f, -3, 7}, {0.25f, -3, 7}, {0.25f, -3, 7});
  const TreeStats stats = check(soup);
  EXPECT_EQ(stats.leaves, 1u);
  EXPECT_EQ(stats.refs, 3000u);
}

// The original Conference scene has such triangles.
TEST(BuildDegenerate, ThousandsInOnePlaceAreInFewLeaves) {
  constexpr unsigned count = sanitized ? 5000 : 53627;
  Soup soup = random_soup(2000, 22);
  for (unsigned i = 0; i < count; ++i)
    soup.add({0.5f, 0.25f, 0.75f}, {0.5f, 0.25f, 0.75f}, {0.5f, 0.25f, 0.75f});
  const TreeStats stats = check(soup);
  EXPECT_GE(stats.largest_leaf, count);
  // Each triangle is in one or two leaves, not in all.
  EXPECT_LE(stats.refs, 4u * count + 16000);
}

TEST(BuildDegenerate, FlatMeshesAreSplit) {
  for (unsigned axis = 0; axis < 3; ++axis) {
    SCOPED_TRACE(axis);
    EXPECT_GE(check(flat_soup(1200, 23, axis, axis == 1 ? -7.3f : 0.0f)).inner, 100u);
  }
}

// Coordinates of 1e-20 and 1e20, whose areas would underflow or overflow.
TEST(BuildDegenerate, TinyAndHugeMeshesCostTheSame) {
  const Soup soup = random_soup(1300, 24);
  const TreeStats plain = check(soup);
  for (const float scale : {1e-20f, 1e20f}) {
    SCOPED_TRACE(scale);
    const Soup scaled = transformed(soup, scale);
    const Expected want = expected(scaled.view(), RefKind::clipped);
    check(scaled);
    EXPECT_NEAR(want.built.stats.sah_cost / plain.sah_cost, 1, 0.01);
    EXPECT_NEAR(static_cast<double>(want.built.stats.refs) / static_cast<double>(plain.refs), 1,
                0.01);
  }
}

TEST(BuildDegenerate, ScaledByAPowerOfTwoIsTheSame) {
  const Soup soup = random_soup(1300, 25);
  const TreeStats plain = check(soup);
  for (const float scale : {0x1p-60f, 0x1p60f}) {
    SCOPED_TRACE(scale);
    const TreeStats stats = check(transformed(soup, scale));
    EXPECT_EQ(stats.inner, plain.inner);
    EXPECT_EQ(stats.refs, plain.refs);
    EXPECT_NEAR(stats.sah_cost, plain.sah_cost, 1e-6 * plain.sah_cost);
  }
}

// At 1e6 an ulp is 1/16: there are few distinct coordinates, and bins are no wider than rounding
// errors.
TEST(BuildDegenerate, MeshesFarFromTheOriginGiveValidTrees) {
  check(transformed(random_soup(1300, 26), 10, {1e6f, 1e6f, 1e6f}));
  check(transformed(random_soup(1300, 27), 10, {-1e6f, 0, 1e6f}));
  check(transformed(grid_soup(1300, 28), 0.5f, {1e6f, -1e6f, 1e6f}));
}

TEST(BuildDegenerate, OneHugeTriangleAmongTinyOnesCostsLittle) {
  Soup soup = random_soup(1300, 29, 1e-3f);
  soup.add({-1e4f, -1e4f, -1e4f}, {1e4f, -1e4f, 2e4f}, {0, 2e4f, 1e4f});
  const TreeStats stats = check(soup);
  EXPECT_LT(stats.sah_cost, 20);
}

// Vertices may be shared, and unused vertices may be anywhere.
TEST(BuildDegenerate, SharedAndUnusedVerticesGiveAValidTree) {
  Soup soup;
  soup.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1e30f, -1e30f, 1e30f}};
  soup.triangles = {{{0, 1, 2}}, {{0, 2, 3}}, {{0, 3, 1}}, {{3, 2, 1}}, {{0, 0, 1}}};
  check(soup);
}

// -0 and +0 are the same coordinate.
TEST(BuildDegenerate, NegativeZeroIsZero) {
  Soup soup = random_soup(1200, 30);
  for (Vec3& v : soup.vertices) {
    if (v.x < 0.3f) v.x = 0.0f;
  }
  Soup negative = soup;
  for (std::size_t i = 0; i < negative.vertices.size(); i += 2) {
    if (negative.vertices[i].x == 0.0f) negative.vertices[i].x = -0.0f;
  }
  EXPECT_EQ(check(soup).hash, check(negative).hash);
}

}  // namespace
}  // namespace heapwood::kdtree
