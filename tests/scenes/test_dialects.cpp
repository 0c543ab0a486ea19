// SPDX-License-Identifier: MIT
// Files that other programs write and the formats' descriptions do not foresee: they are read, or
// one line says what is left out.
#include <algorithm>

#include "geometry/picture_file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/mesh_files.hpp"
#include "scenes/scene.hpp"
#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

bool has_note(const Mesh& mesh, std::string_view part) {
  return std::ranges::any_of(mesh.notes,
                             [&](const std::string& n) { return n.find(part) != n.npos; });
}

constexpr const char* coloured_obj =
    "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 0.5\nv 1 1 0\nf 1 2 3\nf 2 4 3\n";

TEST(Dialects, ObjHasColoursOfVertices) {
  const Mesh mesh = parse_obj(coloured_obj, "a.obj", Content::materials);
  EXPECT_EQ(mesh.appearance.vertex_colours,
            (std::vector<std::uint32_t>{0xff0000ff, 0xff00ff00, 0xff800000, 0xffffffff}));
  EXPECT_EQ(mesh.appearance.materials.size(), 1u);
  EXPECT_TRUE(parse_obj(coloured_obj, "a.obj").appearance.empty());
  // One more number is a weight.
  const Mesh weighted =
      parse_obj("v 0 0 0 2\nv 1 0 0 2\nv 0 1 0 2\nf 1 2 3\n", "a.obj", Content::materials);
  EXPECT_TRUE(weighted.appearance.empty());
}

TEST(Dialects, ObjNotesColoursAndMaterialsThatAreNotShown) {
  const Folder folder;
  folder.write("a.mtl", "newmtl red\nKd 1 0 0\n");
  const std::string text =
      std::string("mtllib a.mtl\nusemtl red\n") + coloured_obj + "usemtl bl#ue\nf 1 2 3\n";
  const Mesh mesh = parse_obj(text, folder / "a.obj", Content::materials);
  EXPECT_TRUE(mesh.appearance.vertex_colours.empty());
  EXPECT_TRUE(has_note(mesh, "colours of vertices are ignored"));
  EXPECT_TRUE(has_note(mesh, "1 material of `usemtl` not found: bl#ue"));
  EXPECT_EQ(mesh.notes.size(), 2u);
}

TEST(Dialects, ObjCommentsNeedNoBlank) {
  const Mesh mesh = parse_obj("v 0 0 0#a\nv 1 0 0 # b\nv 0 1 0#\nf 1 2 3#4\nf 3 2 1 #\n", "a.obj");
  EXPECT_EQ(mesh.triangles.size(), 2u);
}

TEST(Dialects, FilesOfOtherKindsAreNamed) {
  const Folder folder;
  const std::string_view kinds[][2] = {{"\xff\xfev\0 \0", "UTF-16"},
                                       {"\x1f\x8b\x08", "gzip"},
                                       {"PK\x03\x04", "ZIP"},
                                       {"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
                                       {"<!DOCTYPE HTML>\n<html>", "web page"}};
  for (const auto& kind : kinds) {
    for (const char* file : {"a.obj", "a.ply", "a.gltf"})
      expect_error(Exit::scene, {file, kind[1]}, [&] { load(folder.write(file, kind[0])); });
  }
}

std::string ply(const std::string& more, const std::string& body) {
  return "ply\nformat ascii 1.0\n" + more +
         "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
         "element face 1\nproperty list uchar int vertex_indices\n" +
         body;
}

TEST(Dialects, PlyRowsWithMoreValuesAreNamed) {
  const std::string header = ply("", "end_header\n");
  expect_error(Exit::scene, {"line 11", "vertex 1", "3 values more"}, [&] {
    parse_ply(bytes_of(header + "0 0 0\n1 0 0 9 9 9\n0 1 0\n3 0 1 2\n"), "a.ply");
  });
  expect_error(Exit::scene, {"line 13", "face 0", "1 value more"},
               [&] { parse_ply(bytes_of(header + "0 0 0\n1 0 0\n0 1 0\n3 0 1 2 7"), "a.ply"); });
  // A row may be several lines.
  EXPECT_EQ(parse_ply(bytes_of(header + "0 0\n0 \t\r\n1 0 0\n0 1 0\n3 0\n1 2\n"), "a.ply")
                .triangles.size(),
            1u);
}

TEST(Dialects, PlyNotesColoursThatAreNotRead) {
  const std::string file =
      ply("comment TextureFile bark.png\n",
          "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n"
          "0 0 0\n1 0 0\n0 1 0\n3 0 1 2 255 0 0\n");
  const Mesh mesh = parse_ply(bytes_of(file), "a.ply", Content::materials);
  EXPECT_TRUE(has_note(mesh, "colours of faces are ignored"));
  EXPECT_TRUE(has_note(mesh, "bark.png"));
  EXPECT_EQ(mesh.notes.size(), 2u);
  EXPECT_TRUE(parse_ply(bytes_of(file), "a.ply").notes.empty());
}

TEST(Dialects, AFaultInAnAnimationLeavesTheMeshAtRest) {
  const auto file = [](const std::vector<float>& times, const char* node) {
    GltfBuilder b;
    b.floats(times, "SCALAR", 1);
    b.floats({0, 0, 0, 2, 0, 0, 4, 0, 0}, "VEC3", 3);
    return b.file(std::string(R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
        "nodes":[{"mesh":0}],"animations":[{"samplers":[{"input":1,"output":2}],
        "channels":[{"sampler":0,"target":{"path":"translation","node":)") +
                  node + "}}]}]");
  };
  EXPECT_EQ(parse_gltf(bytes_of(file({0, 1, 2}, "7")), "a.glb").triangles.size(), 1u);
  expect_error(Exit::scene, {"`node` is 7"}, [&] {
    GltfAnimation(bytes_of(file({0, 1, 2}, "7")), "a.glb");
  });
  // Times are moved to the one before them.
  const GltfAnimation moved(bytes_of(file({-1, 2, 1}, "0")), "a.glb");
  EXPECT_EQ(moved.duration(0), 2);
  EXPECT_EQ(moved.mesh_at(0, 1).vertices[0], (Vec3{1, 0, 0}));
  EXPECT_TRUE(has_note(moved.rest(), "out of order"));
  EXPECT_TRUE(GltfAnimation(bytes_of(file({0, 1, 2}, "0")), "a.glb").rest().notes.empty());
}

TEST(Dialects, VerticesWithoutSkinWeightsFollowTheFirstJoint) {
  GltfBuilder b;
  b.add(std::vector<std::uint8_t>(12, 0), 5121, "VEC4", 4);
  b.floats({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "VEC4", 4);
  const Mesh mesh = parse_gltf(
      bytes_of(b.file(
          R"("meshes":[{"primitives":[{"attributes":{"POSITION":0,"JOINTS_0":1,"WEIGHTS_0":2}}]}],
          "nodes":[{"mesh":0,"skin":0},{"translation":[5,0,0]}],"skins":[{"joints":[1]}])")),
      "a.glb");
  EXPECT_EQ(mesh.origin.x + mesh.vertices[0].x, 5);
  EXPECT_EQ(mesh.origin.x + mesh.vertices[1].x, 6);
  EXPECT_TRUE(has_note(mesh, "2 vertices have no skin weights"));
}

TEST(Dialects, RequiredExtensionsAreReadNotedOrRefused) {
  const auto parse = [](const std::string& more) {
    return parse_gltf(bytes_of(GltfBuilder().file(
                          R"("meshes":[{"primitives":[{"attributes":{"POSITION":0},"material":0}]}],
            "nodes":[{"mesh":0}],"materials":[{"extensions":{"KHR_materials_unlit":{}}}],)" +
                          more)),
                      "a.glb", Content::materials);
  };
  const Mesh mesh =
      parse(R"("extensionsRequired":["KHR_materials_unlit","KHR_materials_clearcoat"])");
  EXPECT_TRUE(mesh.appearance.materials[0].unlit);
  EXPECT_TRUE(has_note(mesh, "KHR_materials_clearcoat is required, but ignored"));
  EXPECT_EQ(mesh.notes.size(), 1u);
  expect_error(Exit::scene, {"KHR_none"}, [&] { parse(R"("extensionsRequired":["KHR_none"])"); });
  expect_error(Exit::scene, {"requires glTF version 2.1"}, [] {
    parse_gltf(bytes_of(R"({"asset":{"version":"2.1","minVersion":"2.1"}})"), "a.gltf");
  });
}

// 1 x 2 texels of 24 bits: the upper one red, the lower one blue.
TEST(Dialects, BmpRowsMayStartAtTheTop) {
  for (const int height : {-2, 2}) {
    std::string file = "BM" + raw(62) + raw(0) + raw(54) + raw(40) + raw(1) + raw(height) +
                       raw(std::int16_t{1}) + raw(std::int16_t{24}) + std::string(24, '\0');
    const std::string red{'\0', '\0', '\xff', '\0'}, blue{'\xff', '\0', '\0', '\0'};
    file += height < 0 ? red + blue : blue + red;
    Texture texture;
    std::string reason;
    ASSERT_TRUE(decode_picture(bytes_of(file), texture, reason)) << reason;
    EXPECT_EQ(texture.height, 2u);
    EXPECT_EQ(texture.texels, (std::vector<std::uint32_t>{0xff0000ff, 0xffff0000}));
  }
}

// The three texels 1, 2, 3 from the left, in every order of lines and of the pixels in them.
TEST(Dialects, RadiancePicturesHaveEightOrders) {
  for (const bool from_left : {true, false}) {
    for (const char* y : {"-Y 1", "+Y 1"}) {
      const std::string x = from_left ? "+X 3" : "-X 3";
      for (const std::string& size : {y + (" " + x), x + " " + y}) {
        std::string file = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n" + size + "\n";
        for (const int value : {1, 2, 3}) {
          file.append(3, static_cast<char>(from_left ? value : 4 - value));
          file += '\x88';  // times 1
        }
        RadianceMap map;
        std::string reason;
        ASSERT_TRUE(decode_radiance(bytes_of(file), map, reason)) << size << ": " << reason;
        ASSERT_EQ(map.width, 3u) << size;
        for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(map.texels[i].x, i + 1) << size;
      }
    }
  }
}

}  // namespace
}  // namespace heapwood::scenes
