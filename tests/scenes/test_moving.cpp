// SPDX-License-Identifier: MIT
// Moving scenes: the same meshes everywhere, frames in any order, numbered files, and errors.
#include <cstdint>
#include <thread>

#include "scenes/moving/moving_scene.hpp"
#include "tests/scenes/gltf_files.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

class Moving : public FolderTest {};

// If a digest differs, something in scenes/moving/ depends on the machine, or a scene was changed
// on purpose. Update the constant only for a change on purpose.
TEST_F(Moving, ProceduralScenesAreTheSameEverywhere) {
  const struct {
    const char* name;
    std::uint64_t digests[2];  // digests of frames 0 and 77
  } scenes[] = {
      {"statue~:3k", {0x1fcf35b66fe8235d, 0x29d4a8ae931fb571}},
      {"cloth:3k", {0x1499f59a03b43eca, 0xc473879d313739ad}},
  };
  for (const auto& scene : scenes) {
    const auto one = open_moving(scene.name, 1), three = open_moving(scene.name, 3);
    ASSERT_EQ(one.frames, procedural_frames) << scene.name;
    EXPECT_EQ(digest_of(one.mesh(0)), scene.digests[0]) << scene.name;
    EXPECT_EQ(digest_of(one.mesh(77)), scene.digests[1]) << scene.name;
    // In another order, by several threads at once.
    Mesh late;
    std::thread other([&] { late = three.mesh(77); });
    const Mesh early = three.mesh(0);
    other.join();
    EXPECT_EQ(digest_of(late), scene.digests[1]) << scene.name;
    EXPECT_EQ(digest_of(early), scene.digests[0]) << scene.name;
  }
}

TEST_F(Moving, ProceduralScenesKeepTheirTrianglesAndMove) {
  for (const Procedural& entry : moving_scenes()) {
    const std::string name = std::string(entry.name) + ":6k";
    const auto scene = open_moving(name);
    const Mesh first = scene.mesh(0);
    EXPECT_NEAR(static_cast<double>(first.triangles.size()), 6000, 600) << name;
    EXPECT_TRUE(first.camera) << name;
    EXPECT_EQ(first.name, entry.name);
    Mesh before = first;
    std::size_t still = 0;
    for (unsigned frame = 20; frame < scene.frames; frame += 20) {
      const Mesh mesh = scene.mesh(frame);
      EXPECT_EQ(mesh.triangles, first.triangles) << name << ' ' << frame;
      ASSERT_EQ(mesh.vertices.size(), first.vertices.size());
      still += mesh.vertices == before.vertices;
      // No triangle flies away.
      EXPECT_LT(length(bounds(mesh).extent()), 60) << name << ' ' << frame;
      before = mesh;
    }
    EXPECT_EQ(still, 0u) << name;
  }
}

TEST_F(Moving, RecognizesNames) {
  EXPECT_EQ(moving_label("STATUE~:5k"), "STATUE~:5k");
  EXPECT_EQ(moving_label("some/horse_##.obj"), "horse_##");
  EXPECT_EQ(moving_frames("cloth"), procedural_frames);
  EXPECT_TRUE(moving_files("cloth").empty());
  EXPECT_EQ(moving_digest("cloth"), "");
  for (const char* wrong :
       {"atrium", "scene.obj", "a#b#.obj", "frame_###.png", "a.ply..b.ply", "..", "##########.obj"})
    expect_error(Exit::usage, {wrong, "statue~", "frame_###.obj"}, [&] { open_moving(wrong); });
  expect_error(Exit::usage, {"`many`", "number of triangles"}, [] { open_moving("cloth:many"); });
  expect_error(Exit::usage, {"1000 to"}, [] { open_moving("cloth:10"); });
}

std::string triangle_at(double x) {
  return "v " + std::to_string(x) + " 0 0\nv " + std::to_string(x + 1) + " 0 0\nv " +
         std::to_string(x) + " 1 0\nf 1 2 3\n";
}

TEST_F(Moving, ReadsNumberedFiles) {
  for (unsigned i = 8; i < 12; ++i) {
    const std::string digits = std::to_string(i);
    const std::string name = "t_" + std::string(2 - digits.size(), '0') + digits + ".obj";
    folder_.write(name, triangle_at(i) + (i == 10 ? "f 3 2 1\n" : ""));
  }
  // None of these files belongs to the sequence.
  for (const char* other : {"t_1.obj", "t_009.obj", "t_1x.obj", "t_13.ply", "xt_12.obj", "t_.obj"})
    folder_.write(other, "nonsense");
  const std::string pattern = folder_ / "t_##.obj";
  const auto scene = open_moving(pattern);
  ASSERT_EQ(scene.frames, 4u);
  EXPECT_EQ(moving_frames(pattern), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    const Mesh mesh = scene.mesh(i);
    // The triangles of one frame differ from the others'.
    EXPECT_EQ(mesh.triangles.size(), i == 2 ? 2u : 1u);
    EXPECT_EQ(mesh.origin.x + mesh.vertices[0].x, 8.0 + i);
    EXPECT_EQ(mesh.origin, scene.mesh(0).origin);
  }
  const std::string digest = moving_digest(pattern);
  EXPECT_EQ(digest.size(), 16u);
  folder_.write("t_09.obj", triangle_at(20));
  EXPECT_NE(moving_digest(pattern), digest);

  std::filesystem::remove(folder_ / "t_09.obj");
  expect_error(Exit::scene, {"t_##.obj: frame 9 is missing: t_09.obj", "8 to 11"},
               [&] { open_moving(pattern); });
  EXPECT_TRUE(moving_files(pattern).empty());
  expect_error(Exit::scene, {"no file has such a name", "none_0000.ply"},
               [&] { open_moving(folder_ / "none_####.ply"); });
  expect_error(Exit::scene, {"folder"}, [&] { open_moving(folder_ / "none/t_##.obj"); });
  folder_.write("t_09.obj", "f 1 2 3\n");
  const auto broken = open_moving(pattern);
  expect_error(Exit::scene, {"t_09.obj"}, [&] { broken.mesh(1); });
  EXPECT_EQ(broken.mesh(3).triangles.size(), 1u);
}

// Single precision about 0 would round the coordinates to multiples of 8.
TEST_F(Moving, FramesFarFromZeroHaveTheFirstOnesOrigin) {
  const double far = 100'000'000;
  folder_.write("f0.obj", triangle_at(far));
  folder_.write("f1.obj", triangle_at(far + 3.25));
  const auto scene = open_moving(folder_ / "f#.obj");
  const Mesh first = scene.mesh(0), second = scene.mesh(1);
  EXPECT_EQ(first.origin, second.origin);
  EXPECT_EQ(second.vertices[0].x - first.vertices[0].x, 3.25f);
}

// A triangle whose second corner moves by a morph target, and which two animations move as a whole:
// "turn" along x in one second, the second one, without a name, along y in half a second.
std::string animated_gltf() {
  GltfBuilder b;
  b.floats({0, 0, 0, 0, 0, 4, 0, 0, 0}, "VEC3", 3);
  b.floats({0, 1}, "SCALAR", 1);
  b.floats({0, 0, 0, 3, 0, 0}, "VEC3", 3);
  b.floats({0, 1}, "SCALAR", 1);
  b.floats({0, 0.5f}, "SCALAR", 1);
  b.floats({0, 0, 0, 0, 6, 0}, "VEC3", 3);
  return b.file(
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0},"targets":[{"POSITION":1}]}]}],
      "nodes":[{"mesh":0}],"animations":[{"name":"turn","samplers":[{"input":2,"output":3},
      {"input":2,"output":4}],"channels":[{"sampler":0,"target":{"node":0,"path":"translation"}},
      {"sampler":1,"target":{"node":0,"path":"weights"}}]},{"samplers":[{"input":5,"output":6}],
      "channels":[{"sampler":0,"target":{"node":0,"path":"translation"}}]}])");
}

TEST_F(Moving, AnimationsOfGltfFilesAreFrames) {
  folder_.write("a.glb", animated_gltf());
  const std::string path = folder_ / "a.glb";
  const auto first = open_moving(path);
  // One second; the frame that would repeat the first one is left out.
  ASSERT_EQ(first.frames, frames_per_second);
  EXPECT_EQ(moving_frames(path), frames_per_second);
  const Mesh rest = first.mesh(0), late = first.mesh(20);
  EXPECT_EQ(rest.triangles, late.triangles);
  EXPECT_EQ(rest.origin, late.origin);
  EXPECT_NEAR(late.vertices[0].x - rest.vertices[0].x, 2, 1e-5);
  EXPECT_NEAR(late.vertices[1].z - rest.vertices[1].z, 4 * 20 / 30.0, 1e-5);
  EXPECT_EQ(late.vertices, open_moving(path + ":turn").mesh(20).vertices);
  EXPECT_EQ(late.vertices, open_moving(path + ":0").mesh(20).vertices);
  const auto second = open_moving(path + ":1");
  ASSERT_EQ(second.frames, frames_per_second / 2);
  EXPECT_NEAR(second.mesh(5).vertices[0].y - second.mesh(0).vertices[0].y, 2, 1e-5);

  EXPECT_EQ(moving_label(path + ":turn"), "a:turn");
  EXPECT_EQ(moving_label("x/Fox.GLTF"), "Fox");
  EXPECT_EQ(moving_files(path + ":turn"), std::vector{path});
  EXPECT_EQ(moving_digest(path).size(), 16u);
  for (const char* wrong : {":walk", ":2", ":-1", ":0x", ":turn "}) {
    expect_error(Exit::scene, {"a.glb: no animation `", "it has: 0 turn, 1"},
                 [&] { open_moving(path + wrong); });
  }
}

TEST_F(Moving, GltfFilesInWhichNothingMovesAreRefused) {
  GltfBuilder b;
  b.floats({0}, "SCALAR", 1);
  b.floats({0, 0, 7}, "VEC3", 3);
  const std::string scene =
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}])";
  folder_.write("still.glb", b.file(scene));
  expect_error(Exit::scene, {"still.glb: nothing moves", "no animation"},
               [&] { open_moving(folder_ / "still.glb"); });
  folder_.write("pose.glb", b.file(scene + R"(,"animations":[{"name":"pose","samplers":[{"input":1,
      "output":2}],"channels":[{"sampler":0,"target":{"node":0,"path":"translation"}}]}])"));
  expect_error(Exit::scene, {"pose.glb: nothing moves", "0 pose"},
               [&] { open_moving(folder_ / "pose.glb"); });
  folder_.write("broken.gltf", "{");
  expect_error(Exit::scene, {"broken.gltf"}, [&] { open_moving(folder_ / "broken.gltf"); });
  EXPECT_EQ(moving_frames(folder_ / "broken.gltf"), 1u);
}

}  // namespace
}  // namespace heapwood::scenes
