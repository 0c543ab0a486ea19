// SPDX-License-Identifier: MIT
#include "scenes/mesh.hpp"

#include <cmath>
#include <limits>

#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::expect_error;

Mesh unit_square() {
  Mesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 2}}, {{0, 2, 3}}};
  return mesh;
}

TEST(Mesh, CheckNamesTheFirstVertexThatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -INFINITY}) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      Mesh mesh = unit_square();
      mesh.vertices[2][axis] = bad;
      mesh.vertices[3][axis] = bad;
      expect_error(Exit::scene, {"a.ply: vertex 2 is not finite"}, [&] { check(mesh, "a.ply"); });
    }
  }
}

TEST(Mesh, CheckNamesTheFirstIndexOutOfRange) {
  Mesh mesh = unit_square();
  mesh.triangles[1].v[2] = 4;
  expect_error(Exit::scene, {"a.ply: triangle 1 refers to vertex 4, but there are 4"},
               [&] { check(mesh, "a.ply"); });
}

TEST(Mesh, DropsZeroAreaAndKeepsTheOrderOfTheRest) {
  Mesh mesh = unit_square();
  mesh.vertices.push_back({2, 2, 0});  // on the line through 0 and 2
  mesh.vertices.push_back({1, 1, 0});  // equal to vertex 2
  mesh.triangles = {{{0, 1, 2}}, {{0, 2, 4}}, {{1, 1, 2}}, {{0, 2, 3}}, {{3, 2, 5}}, {{3, 3, 3}}};
  EXPECT_EQ(drop_degenerate(mesh), 4u);
  EXPECT_EQ(mesh.triangles, (std::vector<Triangle>{{{0, 1, 2}}, {{0, 2, 3}}}));
  EXPECT_EQ(drop_degenerate(mesh), 0u);
}

// In single precision these products underflow to 0, or overflow so that infinities are subtracted.
TEST(Mesh, SizeAloneDoesNotMakeATriangleDegenerate) {
  for (const float size : {1e-38f, 1e-20f, 1e20f, 1e38f}) {
    Mesh mesh = unit_square();
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

TEST(Mesh, BoundsHoldTheVerticesOfTriangles) {
  EXPECT_TRUE(bounds(Mesh{}).empty());
  Mesh mesh = unit_square();
  mesh.vertices.push_back({-3, 5, 7});
  EXPECT_EQ(bounds(mesh), (Box{{0, 0, 0}, {1, 1, 0}}));
  mesh.triangles.push_back({{0, 1, 4}});
  EXPECT_EQ(bounds(mesh), (Box{{-3, 0, 0}, {1, 5, 7}}));
}

// The square, moved by `offset`: one mesh per overload of place_vertices().
std::vector<Mesh> placed(Vec3d offset) {
  std::vector<Mesh> meshes(2, unit_square());
  std::vector<double> coordinates;
  for (Vec3& p : meshes[0].vertices) {
    const Vec3d q = offset + to_double(p);
    coordinates.insert(coordinates.end(), {q.x, q.y, q.z});
    p = to_float(q);
  }
  place_vertices(meshes[0]);
  meshes[1].vertices.clear();
  place_vertices(meshes[1], coordinates);
  return meshes;
}

TEST(Mesh, VerticesNearTheOriginStayAsTheyAre) {
  for (const Vec3d offset : {Vec3d{}, Vec3d{1.5, -2.5, 1}, Vec3d{0, 1e-30, 0}}) {
    for (const Mesh& mesh : placed(offset)) {
      EXPECT_EQ(mesh.origin, Vec3d{});
      EXPECT_EQ(mesh.vertices[2], to_float(offset + Vec3d{1, 1, 0}));
    }
  }
}

TEST(Mesh, VerticesFarAwayAreRelativeToANearOrigin) {
  for (const Vec3d offset :
       {Vec3d{1e4, -1e4, 6667}, Vec3d{5e5, 4.6e6, -1.25}, Vec3d{0, 0, 3}, Vec3d{16777215, -3, 9}}) {
    for (const Mesh& mesh : placed(offset)) {
      for (unsigned i = 0; i < 4; ++i) {
        const Vec3 p = mesh.vertices[i];
        EXPECT_EQ(mesh.origin + to_double(p), offset + to_double(unit_square().vertices[i]));
        for (unsigned axis = 0; axis < 3; ++axis) EXPECT_LE(std::abs(p[axis]), 2.5f);
      }
      EXPECT_EQ(mesh.origin.x, std::round(mesh.origin.x));
      EXPECT_EQ(mesh.origin.y, std::round(mesh.origin.y));
      EXPECT_NE(mesh.origin, Vec3d{});
    }
  }
}

TEST(Mesh, OnlyVerticesOfTrianglesDecideOnTheOrigin) {
  Mesh mesh = unit_square();
  for (Vec3& p : mesh.vertices) p = p + Vec3{1000, 0, 0};
  mesh.vertices.push_back({-3e38f, 0, 0});
  place_vertices(mesh);
  EXPECT_EQ(mesh.origin.y, 0);
  EXPECT_NEAR(mesh.origin.x, 1000, 1);
  EXPECT_NO_THROW(check(mesh, "far"));

  Mesh one;  // without extent no origin is needed
  one.vertices = {{1e9f, 0, 0}};
  one.triangles = {{{0, 0, 0}}};
  place_vertices(one);
  EXPECT_EQ(one.origin, Vec3d{});
}

}  // namespace
}  // namespace heapwood::scenes
