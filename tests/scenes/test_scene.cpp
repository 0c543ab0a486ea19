// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "scenes/file.hpp"
#include "scenes/gltf_data.hpp"
#include "scenes/mesh.hpp"
#include "scenes/mesh_files.hpp"
#include "scenes/polygon.hpp"
#include "scenes/scene.hpp"
#include "scenes/texture_files.hpp"
#include "simt/device.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {

namespace {

using namespace testing;

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

class Load : public FolderTest {};

TEST_F(Load, ByNameAndByExtensionInAnyCase) {
  EXPECT_EQ(load("Flat:10").triangles.size(), 10u);
  folder_.write("a.PLY", triangle_ply);
  folder_.write("c.Obj", triangle_obj);
  expect_same(load(folder_ / "a.PLY"), load(folder_ / "c.Obj"));
  EXPECT_EQ(load(folder_ / "a.PLY").name, "a");
}

TEST_F(Load, EveryListedSceneLoads) {
  for (const Procedural& scene : procedural_scenes()) {
    const Mesh mesh = load(scene.name);
    EXPECT_EQ(mesh.name, scene.name);
    EXPECT_NEAR(static_cast<double>(mesh.triangles.size()),
                static_cast<double>(scene.default_triangles),
                0.02 * static_cast<double>(scene.default_triangles));
  }
}

TEST_F(Load, AnUnknownNameListsTheKnownOnes) {
  for (const char* name : {"", "atriun", "sponza:1m", "no/such/file", "a\nb"}) {
    expect_error(Exit::usage, {"unknown scene `", "atrium, statue, stadium, pipes, empty", "huge"},
                 [&] { load(name); });
  }
  expect_error(Exit::usage, {"is not a number of triangles"}, [] { load("atrium:lots"); });
}

TEST_F(Load, AFileThatCannotBeReadSaysWhy) {
  for (const char* name : {"a.ply", "a.obj", "a.glb"}) {
    const std::string path = folder_ / name;
    expect_error(Exit::scene, {path + ": cannot be read: No such file or directory"},
                 [&] { load(path); });
    folder_.write(name, "");
    expect_error(Exit::scene, {path + ": it contains no triangle"}, [&] { load(path); });
  }
  std::filesystem::create_directory(folder_ / "dir.ply");
  expect_error(Exit::scene, {"dir.ply: cannot be read: it is a directory"},
               [&] { load(folder_ / "dir.ply"); });
  expect_error(Exit::scene, {"x.stl: unknown file type"},
               [&] { load(folder_.write("x.stl", "{}")); });
}

TEST_F(Load, DoesNotWaitForAPipe) {
  const std::string path = folder_ / "pipe.obj";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_error(Exit::scene, {"it is not a regular file"}, [&] { load(path); });
}

TEST_F(Load, AMissingMaterialIsNoReasonToSpeak) {
  const std::string path = folder_.write("a.obj", "mtllib gone.mtl\nusemtl gone\n" + triangle_obj);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(load(path).triangles.size(), 1u);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Printable, EscapesWhatControlsATerminalAndCutsBetweenCharacters) {
  const std::string house = "Haus \\ \xc3\xbc\xe2\x82\xac\xf0\x9f\x8f\xa0";
  const std::pair<std::string_view, std::string_view> texts[] = {
      {house, house},
      {"a\nb\r\t\v\f", "a\\nb\\r\\t\\v\\f"},
      {{"\0\x1b[31m\x7f", 7}, "\\x00\\x1b[31m\\x7f"},
      {"\xc2\x9b[31m", "\\xc2\\x9b[31m"},  // C1: a terminal's escape
      // The characters for a line's end and for writing from right to left.
      {"a\xe2\x80\xa8\xe2\x80\xae z", "a\\xe2\\x80\\xa8\\xe2\\x80\\xae z"},
      // Bytes that are not UTF-8.
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},
      {"\xc0\x8a\xed\xa0\x80", "\\xc0\\x8a\\xed\\xa0\\x80"}};
  for (const auto& [text, printed] : texts) EXPECT_EQ(printable(text), printed);
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcde...");
  EXPECT_EQ(printable("abc\xc3\xbc", 4), "abc...");
}

// The files that scene files name.

using Names = std::vector<std::string>;

Names companions(const std::string& scene) {
  Names names;
  for (const std::string& path : companion_files(scene))
    names.push_back(std::filesystem::path(path).filename().string());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

class Companions : public FolderTest {};

TEST_F(Companions, AreFoundInObjFiles) {
  for (const char* name : {"a b.png", "c.png", "d.png", "e.png", "f.png", "unused.png"})
    folder_.write(name, "x");
  folder_.write("a.mtl",
                "\xef\xbb\xbfMAP_KD a b.png\r\nnewmtl x\n map_d -o 0 0 c.png\nbump d.png\n");
  folder_.write("b.mtl", "map_Ks C:\\work\\e.png\nmap_Kd gone.png\n# map_Kd unused.png\n");
  folder_.write("two words.mtl", "disp -mm 0 1 f.png\n");
  const std::string scene = folder_.write("scene.obj",
                                          "\xef\xbb\xbfmtllib a.mtl \\\nb.mtl\nv 0 0 nonsense\n"
                                          "mtllib two words.mtl\nmtllib gone.mtl\n");
  EXPECT_EQ(companions(scene), (Names{"a b.png", "a.mtl", "b.mtl", "c.png", "d.png", "e.png",
                                      "f.png", "two words.mtl"}));
}

TEST_F(Companions, AreFoundInGltfFiles) {
  for (const char* name : {"a.bin", "b c.png"}) folder_.write(name, "x");
  const std::string scene = folder_.write(
      "scene.gltf", R"({"asset":{"version":"2.0"},"buffers":[{"uri":"gone.bin","byteLength":1},)"
                    R"({"uri":"a.bin","byteLength":9},{"uri":"data:,x","byteLength":1}],)"
                    R"("images":[{"uri":"b%20c.png"}]})");
  EXPECT_EQ(companions(scene), (Names{"a.bin", "b c.png"}));
}

TEST_F(Companions, OtherScenesHaveNone) {
  EXPECT_EQ(companions("atrium"), Names{});
  EXPECT_EQ(companions(folder_ / "none.obj"), Names{});
  EXPECT_EQ(companions(folder_.write("a.ply", "ply")), Names{});
  EXPECT_EQ(companions(folder_.write("a.gltf", "{")), Names{});
}

// Ctrl-C while a scene is read, which may take minutes.

class Interruption : public FolderTest {
 protected:
  void SetUp() override { simt::interrupt(); }
  void TearDown() override { simt::clear_interrupt(); }
};

TEST_F(Interruption, EndsReadingOfEveryFormat) {
  EXPECT_THROW(parse_obj(triangle_obj, "a.obj"), simt::Stopped);
  EXPECT_THROW(parse_ply(bytes_of(triangle_ply), "a.ply"), simt::Stopped);
  EXPECT_THROW(load(folder_.write("a.obj", triangle_obj)), simt::Stopped);
  EXPECT_EQ(digest(folder_.write("a.obj", triangle_obj)), "");
}

// It is not taken for a fault of the file that is being read.
TEST_F(Interruption, OfACompanionFileIsNoFaultOfIt) {
  Appearance appearance;
  TextureFiles textures(folder_.write("a.obj", ""), appearance);
  folder_.write("a.png", "not a picture");
  EXPECT_THROW(textures.read("a.png"), simt::Stopped);
  gltf::Document document;
  document.buffers.push_back({.uri = "a.bin", .bytes = 36});
  folder_.write("a.bin", std::string(36, '\0'));
  EXPECT_THROW(gltf::Accessors(document, {}, folder_ / "a.gltf"), simt::Stopped);
}

// A face may have millions of corners.
TEST_F(Interruption, EndsTheTriangulationOfAPolygon) {
  std::vector<Vec3> zigzag;
  for (int i = 0; i < 100; ++i) zigzag.push_back({static_cast<float>(i), (i % 2) * 3.0f, 0});
  for (int i = 99; i >= 0; --i) zigzag.push_back({static_cast<float>(i), (i % 2) * 3.0f + 1, 0});
  EXPECT_THROW(Triangulator().triangulate(zigzag), simt::Stopped);
}

}  // namespace

}  // namespace heapwood::scenes
