// SPDX-License-Identifier: MIT
#include "scenes/gltf.hpp"

#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

GltfAnimation animation_of(const std::string& file, Content content = Content::geometry) {
  return GltfAnimation(bytes_of(file), "file", content);
}

Vec3 corner_at(const GltfAnimation& animation, double seconds, std::size_t corner = 1) {
  return animation.mesh_at(0, seconds).vertices[corner];
}

// One node with one animated property.
GltfAnimation animated(const std::vector<float>& times, const std::vector<float>& values,
                       const std::string& path, const std::string& interpolation) {
  GltfBuilder b;
  b.floats(times, "SCALAR", 1);
  if (path == "rotation") {
    b.floats(values, "VEC4", 4);
  } else {
    b.floats(values, "VEC3", 3);
  }
  return animation_of(b.file(
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],
      "animations":[{"name":"walk","samplers":[{"input":1,"output":2,"interpolation":")" +
      interpolation + R"("}],"channels":[{"sampler":0,"target":{"node":0,"path":")" + path +
      R"("}}]}])"));
}

void expect_near(Vec3 a, Vec3 b) {
  for (unsigned axis = 0; axis < 3; ++axis) EXPECT_NEAR(a[axis], b[axis], 1e-5) << axis;
}

TEST(GltfAnimation, TranslationsAreInterpolated) {
  const GltfAnimation a = animated({1, 2, 4}, {0, 0, 0, 2, 0, 0, 2, 8, 0}, "translation", "LINEAR");
  ASSERT_EQ(a.count(), 1u);
  EXPECT_EQ(a.name(0), "walk");
  EXPECT_EQ(a.duration(0), 4);
  EXPECT_EQ(a.rest().vertices[1], (Vec3{1, 0, 0}));
  expect_near(corner_at(a, -5), {1, 0, 0});
  expect_near(corner_at(a, 0.5), {1, 0, 0});  // the time is before the first key
  expect_near(corner_at(a, 1.5), {2, 0, 0});
  expect_near(corner_at(a, 2), {3, 0, 0});
  expect_near(corner_at(a, 3), {3, 4, 0});
  expect_near(corner_at(a, 99), {3, 8, 0});
  const Mesh mesh = a.mesh_at(0, 3);
  EXPECT_EQ(mesh.triangles, a.rest().triangles);
  EXPECT_EQ(mesh.origin, a.rest().origin);
  expect_near(mesh.vertices[1], {3, 4, 0});
}

TEST(GltfAnimation, StepsAndCubicSplinesAreFollowed) {
  const GltfAnimation step = animated({0, 1}, {0, 0, 0, 2, 0, 0}, "translation", "STEP");
  expect_near(corner_at(step, 0.99), {1, 0, 0});
  expect_near(corner_at(step, 1), {3, 0, 0});
  // Tangent in, value, tangent out of each key; flat tangents give the smooth step.
  const GltfAnimation cubic = animated(
      {0, 2}, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0}, "translation", "CUBICSPLINE");
  expect_near(corner_at(cubic, 0), {1, 0, 0});
  // 2 s^3 (out tangent) parts: (t^3 - 2 t^2 + t) * length * 1 in y at t = 1/2.
  expect_near(corner_at(cubic, 1), {3, 0.25f, 0});
  expect_near(corner_at(cubic, 2), {5, 0, 0});
}

TEST(GltfAnimation, RotationFollowsTheArc) {
  const float h = 0.70710678f;
  const GltfAnimation a = animated({0, 1}, {0, 0, 0, 1, 0, 0, h, h}, "rotation", "LINEAR");
  expect_near(corner_at(a, 1), {0, 1, 0});
  expect_near(corner_at(a, 1.0 / 3), {0.8660254f, 0.5f, 0});  // turned by 30 degrees
  // A turn whose quaternion has the opposite sign takes the short arc, too.
  const GltfAnimation b = animated({0, 1}, {0, 0, 0, 1, 0, 0, -h, -h}, "rotation", "LINEAR");
  expect_near(corner_at(b, 1.0 / 3), {0.8660254f, 0.5f, 0});
}

TEST(GltfAnimation, MorphTargetsAreWeighted) {
  GltfBuilder b;
  b.floats({0, 0, 0, 0, 0, 4, 0, 0, 0}, "VEC3", 3);
  b.floats({0, 0, 0, 2, 0, 0, 0, 0, 0}, "VEC3", 3);
  b.floats({0, 1}, "SCALAR", 1);
  b.floats({0, 0, 1, 0.5f}, "SCALAR", 1);
  const GltfAnimation a = animation_of(b.file(
      R"("meshes":[{"weights":[0.5,0],"primitives":[{"attributes":{"POSITION":0},
      "targets":[{"POSITION":1},{"POSITION":2}]}]}],"nodes":[{"mesh":0}],
      "animations":[{"samplers":[{"input":3,"output":4}],
      "channels":[{"sampler":0,"target":{"node":0,"path":"weights"}}]}])"));
  expect_near(a.rest().vertices[1], {1, 0, 2});
  expect_near(corner_at(a, 0), {1, 0, 0});
  expect_near(corner_at(a, 0.5), {1.5f, 0, 2});
  expect_near(corner_at(a, 1), {2, 0, 4});
}

// Two joints; the second turns. The mesh node's own transform does not count.
TEST(GltfAnimation, SkinsFollowTheirJoints) {
  const auto file = [](const std::vector<std::uint8_t>& joints) {
    GltfBuilder b;
    b.add(joints, 5121, "VEC4", 4);
    // Quaternions that are not normalized.
    b.floats({1, 0, 0, 0, 0, 1, 0, 0, 2, 2, 0, 0}, "VEC4", 4);
    // Inverse bind: none, and back from x = 1.
    b.floats({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0,  0, 0, 1,
              1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1},
             "MAT4", 16);
    b.floats({0, 1}, "SCALAR", 1);
    b.floats({0, 0, 0, 1, 0, 0, 1, 0}, "VEC4", 4);  // a quaternion of half a turn
    return b.file(
        R"("meshes":[{"primitives":[{"attributes":{"POSITION":0,"JOINTS_0":1,"WEIGHTS_0":2}}]}],
        "nodes":[{"mesh":0,"skin":0,"translation":[50,0,0]},{"children":[2]},
        {"translation":[1,0,0]}],
        "skins":[{"joints":[1,2],"inverseBindMatrices":3}],
        "animations":[{"samplers":[{"input":4,"output":5}],
        "channels":[{"sampler":0,"target":{"node":2,"path":"rotation"}}]}])");
  };
  const GltfAnimation a = animation_of(file({0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0}));
  for (std::size_t i = 0; i < 3; ++i)
    expect_near(a.rest().vertices[i], {one_triangle[3 * i], one_triangle[3 * i + 1], 0});
  expect_near(corner_at(a, 1, 0), {0, 0, 0});
  expect_near(corner_at(a, 1, 1), {1, 0, 0});  // follows the joint
  expect_near(corner_at(a, 1, 2), {1, 0, 0});  // mean of (0,1,0) and (2,-1,0)
  expect_error(Exit::scene, {"skins[0]", "joint 7"}, [&] {
    animation_of(file({0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0}));
  });
}

TEST(GltfAnimation, DamagedTracksAreRefused) {
  expect_error(Exit::scene, {"accessors[2]", "6 values for 1 times"}, [] {
    animated({1}, {0, 0, 0, 0, 0, 0}, "scale", "LINEAR");
  });
  expect_error(Exit::scene, {"accessors[2]"}, [] {
    animated({0, 1}, {0, 0, 0, 0, 0, 0}, "scale", "CUBICSPLINE");
  });
}

}  // namespace
}  // namespace heapwood::scenes
