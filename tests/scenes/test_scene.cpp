// SPDX-License-Identifier: MIT
#include "scenes/scene.hpp"

#include <sys/stat.h>

#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::expect_error;
using testing::Folder;

TEST(Load, ByNameAndByExtensionInAnyCase) {
  const Folder folder;
  EXPECT_EQ(load("Flat:10").triangles.size(), 10u);
  folder.write("a.PLY",
               "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
               "property float z\nelement face 1\nproperty list uchar int vertex_indices\n"
               "end_header\n0 0 0 1 0 0 0 1 0 3 0 1 2\n");
  folder.write("c.Obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  testing::expect_same(load(folder / "a.PLY"), load(folder / "c.Obj"));
  EXPECT_EQ(load(folder / "a.PLY").name, "a");
}

TEST(Load, EveryListedSceneLoads) {
  for (const Procedural& scene : procedural_scenes()) {
    const Mesh mesh = load(scene.name);
    EXPECT_EQ(mesh.name, scene.name);
    EXPECT_NEAR(static_cast<double>(mesh.triangles.size()),
                static_cast<double>(scene.default_triangles),
                0.02 * static_cast<double>(scene.default_triangles));
  }
}

TEST(Load, AnUnknownNameListsTheKnownOnes) {
  for (const char* name : {"", "atriun", "sponza:1m", "no/such/file", "a\nb"}) {
    expect_error(Exit::usage, {"unknown scene `", "atrium, statue, stadium, pipes, empty", "huge"},
                 [&] { load(name); });
  }
  expect_error(Exit::usage, {"is not a number of triangles"}, [] { load("atrium:lots"); });
}

TEST(Load, AFileThatCannotBeReadSaysWhy) {
  const Folder folder;
  for (const char* name : {"a.ply", "a.obj", "a.glb"}) {
    const std::string path = folder / name;
    expect_error(Exit::scene, {path + ": cannot be read: No such file or directory"},
                 [&] { load(path); });
    folder.write(name, "");
    expect_error(Exit::scene, {path + ": it contains no triangle"}, [&] { load(path); });
  }
  std::filesystem::create_directory(folder / "dir.ply");
  expect_error(Exit::scene, {"dir.ply: cannot be read: it is a directory"},
               [&] { load(folder / "dir.ply"); });
  expect_error(Exit::scene, {"x.stl: unknown file type"},
               [&] { load(folder.write("x.stl", "{}")); });
}

TEST(Load, DoesNotWaitForAPipe) {
  const Folder folder;
  const std::string path = folder / "pipe.obj";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_error(Exit::scene, {"it is not a regular file"}, [&] { load(path); });
}

TEST(Load, AMissingMaterialIsNoReasonToSpeak) {
  const Folder folder;
  const std::string path =
      folder.write("a.obj", "mtllib gone.mtl\nusemtl gone\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(load(path).triangles.size(), 1u);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace heapwood::scenes
