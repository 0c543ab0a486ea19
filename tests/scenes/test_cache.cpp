// SPDX-License-Identifier: MIT
#include "scenes/cache.hpp"

#include <cmath>
#include <sstream>

#include "scenes/scene.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::bytes_of;
using testing::expect_error;
using testing::Folder;

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

struct Saved {
  Folder folder;
  Mesh mesh = generate({.scene = &procedural_scenes()[0], .triangles = 2000});
  std::string path = folder / "saved.hwmesh", bytes;
  Saved() {
    mesh.up = 2;
    save_cache(mesh, path);
    bytes = content(path);
  }
};

TEST(Cache, RoundTripKeepsEverything) {
  const Saved saved;
  const Mesh again = load_cache(saved.path);
  testing::expect_same(again, saved.mesh);
  EXPECT_EQ(again.name, "atrium");
  EXPECT_EQ(again.up, 2u);
  EXPECT_EQ(again.camera, saved.mesh.camera);
}

TEST(Cache, AnEmptyMeshIsAnError) {
  const Folder folder;
  save_cache({}, folder / "a.hwmesh");
  expect_error(Exit::scene, {"it contains no triangle"}, [&] { load_cache(folder / "a.hwmesh"); });
  expect_error(Exit::scene, {"it contains no triangle"}, [] { parse_cache({}, "a.hwmesh"); });
}

TEST(Cache, KeepsTheOriginAndAPrintableName) {
  const Folder folder;
  Mesh mesh;
  mesh.name = "a\nb";
  mesh.origin = {500032, 4649776, -0.5};
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 2}}};
  save_cache(mesh, folder / "a.hwmesh");
  const Mesh again = load_cache(folder / "a.hwmesh");
  EXPECT_EQ(again.origin, mesh.origin);
  testing::expect_same(again, mesh);
  EXPECT_EQ(again.name, "a\\nb");
}

// Written by version 1: a triangle at x = 100 with a camera.
TEST(Cache, ReadsVersion1) {
  std::string file("HWMESH\r\n", 8);
  file += testing::raw(std::uint32_t{1}) + std::string("\x02\x01\x03\x00", 4);
  file += testing::raw(std::uint32_t{3}) + testing::raw(std::uint32_t{1});
  for (const float x : {100.0f, 0.0f, 4.0f, 100.0f, 0.0f, 0.0f, 50.0f}) file += testing::raw(x);
  file += std::string(4, '\0') + testing::raw(std::uint64_t{0xbad51b2b6b1c5ff9}) + "old";
  for (const float x : {100.0f, 0.0f, 0.0f, 101.0f, 0.0f, 0.0f, 100.0f, 1.0f, 0.0f})
    file += testing::raw(x);
  for (const std::uint32_t v : {0u, 1u, 2u}) file += testing::raw(v);
  const Mesh mesh = parse_cache(bytes_of(file), "old.hwmesh");
  EXPECT_EQ(mesh.name, "old");
  EXPECT_EQ(mesh.up, 2u);
  EXPECT_EQ(mesh.origin + to_double(mesh.vertices[1]), (Vec3d{101, 0, 0}));
  EXPECT_NE(mesh.origin.x, 0);
  ASSERT_TRUE(mesh.camera);
  EXPECT_EQ(mesh.origin + to_double(mesh.camera->eye), (Vec3d{100, 0, 4}));
  EXPECT_EQ(mesh.camera->fov, 50);
}

TEST(Cache, TheSameMeshIsTheSameFile) {
  const Saved one, two;
  EXPECT_EQ(one.bytes, two.bytes);
}

TEST(Cache, EveryFlippedBitIsNoticed) {
  const Folder folder;
  Mesh mesh;
  mesh.name = "triangle";
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 2}}};
  mesh.camera = CameraHint{{1, 2, 3}, {4, 5, 6}, 50};
  save_cache(mesh, folder / "a.hwmesh");
  const std::string whole = content(folder / "a.hwmesh");
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    expect_error(Exit::scene, {"a.hwmesh: "}, [&] { parse_cache(bytes_of(damaged), "a.hwmesh"); });
  }
}

TEST(Cache, RefusesWhatIsCutOffOrTooLong) {
  const Saved saved;
  for (const std::size_t length : {1ul, 63ul, 64ul, 65ul, saved.bytes.size() - 1}) {
    expect_error(Exit::scene, {length < 64 ? "too few" : "it claims"}, [&] {
      parse_cache(bytes_of(std::string_view(saved.bytes).substr(0, length)), "a.hwmesh");
    });
  }
  expect_error(Exit::scene, {"it claims"},
               [&] { parse_cache(bytes_of(saved.bytes + "x"), "a.hwmesh"); });
}

TEST(Cache, RefusesOtherFilesAndVersions) {
  const Saved saved;
  std::string other = saved.bytes;
  other[0] = 'X';
  expect_error(Exit::scene, {"a.hwmesh: byte 0", "not a .hwmesh"},
               [&] { parse_cache(bytes_of(other), "a.hwmesh"); });
  other = saved.bytes;
  other[8] = 3;
  expect_error(Exit::scene, {"byte 8", "version 3", "reads 1 and 2: use the scene's original file"},
               [&] { parse_cache(bytes_of(other), "a.hwmesh"); });
}

TEST(Cache, ClaimsBeyondTheFileCostNothing) {
  const Saved saved;
  for (const std::size_t field : {16ul, 20ul}) {  // vertices, triangles
    std::string other = saved.bytes;
    other.replace(field, 4, "\xff\xff\xff\xff");
    expect_error(Exit::scene, {"it claims", "4294967295"},
                 [&] { parse_cache(bytes_of(other), "a.hwmesh"); });
  }
}

// A correct checksum does not imply valid contents.
TEST(Cache, ChecksWhatItLoads) {
  const Folder folder;
  Mesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 3}}};
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"triangle 0 refers to vertex 3"},
               [&] { load_cache(folder / "a.hwmesh"); });
  mesh.triangles[0].v[2] = 2;
  mesh.vertices[1].y = NAN;
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"vertex 1 is not finite"}, [&] { load_cache(folder / "a.hwmesh"); });
  mesh.vertices[1].y = 0;
  mesh.origin.y = INFINITY;
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"the origin is not finite"}, [&] { load_cache(folder / "a.hwmesh"); });
  mesh.origin = {};
  mesh.camera = CameraHint{{INFINITY, 0, 0}, {0, 0, 0}, 45};
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"camera is not finite"}, [&] { load_cache(folder / "a.hwmesh"); });
  mesh.camera = CameraHint{{1, 2, 3}, {1, 2, 3}, 45};
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"a.hwmesh: byte 24", "same point"},
               [&] { load_cache(folder / "a.hwmesh"); });
  for (const float fov : {0.0f, -5.0f, 180.0f, 200.0f}) {
    mesh.camera = CameraHint{{1, 2, 3}, {0, 0, 0}, fov};
    save_cache(mesh, folder / "a.hwmesh");
    expect_error(Exit::scene, {"a.hwmesh: byte 48", "between 0 and 180"},
                 [&] { load_cache(folder / "a.hwmesh"); });
  }
  mesh.camera.reset();
  mesh.up = 3;
  save_cache(mesh, folder / "a.hwmesh");
  expect_error(Exit::scene, {"axis 3"}, [&] { load_cache(folder / "a.hwmesh"); });
}

TEST(Cache, SaysWhyItCannotWrite) {
  expect_error(Exit::failed, {"/no/such/a.hwmesh: cannot be written: No such file"},
               [] { save_cache({}, "/no/such/a.hwmesh"); });
}

}  // namespace
}  // namespace heapwood::scenes
