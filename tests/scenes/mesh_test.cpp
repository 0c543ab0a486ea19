// SPDX-License-Identifier: MIT
#include "scenes/mesh.hpp"

#include <cmath>
#include <limits>

#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::expect_error;

Mesh square() {
  Mesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 2}}, {{0, 2, 3}}};
  return mesh;
}

TEST(Mesh, CheckPassesWhatIsSound) {
  EXPECT_NO_THROW(check(square(), "square"));
  EXPECT_NO_THROW(check({}, "empty"));
}

TEST(Mesh, CheckNamesTheFirstVertexThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -INFINITY}) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      Mesh mesh = square();
      mesh.vertices[2][axis] = bad;
      mesh.vertices[3][axis] = bad;
      expect_error(Exit::scene, {"a.ply: vertex 2 is not finite"}, [&] { check(mesh, "a.ply"); });
    }
  }
}

TEST(Mesh, CheckNamesTheFirstIndexOutOfRange) {
  Mesh mesh = square();
  mesh.triangles[1].v[2] = 4;
  expect_error(Exit::scene, {"a.ply: triangle 1 refers to vertex 4, but there are 4"}, [&] { check(mesh, "a.ply"); });
}

TEST(Mesh, DropsZeroAreaAndKeepsTheOrderOfTheRest) {
  Mesh mesh = square();
  mesh.vertices.push_back({2, 2, 0});  // on the line through 0 and 2
  mesh.vertices.push_back({1, 1, 0});  // where 2 is
  mesh.triangles = {{{0, 1, 2}}, {{0, 2, 4}}, {{1, 1, 2}}, {{0, 2, 3}}, {{3, 2, 5}}, {{3, 3, 3}}};
  EXPECT_EQ(drop_degenerate(mesh), 4u);
  EXPECT_EQ(mesh.triangles, (std::vector<Triangle>{{{0, 1, 2}}, {{0, 2, 3}}}));
  EXPECT_EQ(drop_degenerate(mesh), 0u);
}

// In single precision these products underflow to 0, or overflow to infinity minus infinity.
TEST(Mesh, SizeAloneDoesNotMakeATriangleDegenerate) {
  for (const float size : {1e-38f, 1e-20f, 1e20f, 1e38f}) {
    Mesh mesh = square();
    for (Vec3& p : mesh.vertices) p = p * size;
    EXPECT_EQ(drop_degenerate(mesh), 0u) << size;
  }
}

TEST(Mesh, SlimTrianglesStay) {
  Mesh mesh;
  const float next = std::nextafter(1.0f, 2.0f);
  mesh.vertices = {{0, 0, 0}, {1, 1, 0}, {2, 2 * next, 0}};
  mesh.triangles = {{{0, 1, 2}}};
  EXPECT_EQ(drop_degenerate(mesh), 0u);
}

TEST(Mesh, BoundsHoldEveryVertex) {
  EXPECT_TRUE(bounds(Mesh{}).empty());
  Mesh mesh = square();
  mesh.vertices.push_back({-3, 5, 7});
  EXPECT_EQ(bounds(mesh), (Box{{-3, 0, 0}, {1, 5, 7}}));
}

}  // namespace
}  // namespace heapwood::scenes
