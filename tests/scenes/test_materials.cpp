// SPDX-License-Identifier: MIT
// Materials of OBJ and PLY files, and that they stay with their triangles.
#include <filesystem>
#include <string>

#include "geometry/picture_file.hpp"
#include "scenes/mesh_files.hpp"
#include "scenes/scene.hpp"
#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

const std::string square =
    "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt +1 1\nvt 0 1\n";

class Materials : public FolderTest {
 protected:
  Materials() { folder_.write("red.tga", tga(1, 1, {0xff0000ff})); }
  // The mesh of a file of the square with these faces, whose library is a.mtl.
  Mesh with_faces(const std::string& faces) const {
    return load(folder_.write("a.obj", square + faces), Content::materials);
  }
  Mesh with_library(const std::string& library) const {
    folder_.write("a.mtl", library);
    return with_faces("usemtl a\nf 1/1 2/2 3/3\n");
  }
};

TEST_F(Materials, AreReadFromObjFiles) {
  folder_.write("a.mtl",
                "newmtl red\nKd 1 0 0\nnewmtl glass\nKd .5 .5 .5\nd 0.25\n"
                "newmtl lamp\nKe 15 14 13\nnewmtl two words\nKd 0 0 1\n");
  const Mesh mesh = with_faces(
      "f 1 2 3\nusemtl red\nf 1 2 3 4\nusemtl lamp\nf 1 2\nf 1 3 4\nusemtl nowhere\nf 1 2 4\n"
      "usemtl two words\nf 2 3 4\nusemtl glass\nf 2 3 1\n");
  const Appearance& look = mesh.appearance;
  ASSERT_EQ(look.materials.size(), 5u);
  EXPECT_EQ(look.triangle_materials, (std::vector<std::uint32_t>{0, 1, 1, 3, 0, 4, 2}));
  EXPECT_EQ(look.materials[1].colour, (Vec3{1, 0, 0}));
  EXPECT_EQ(look.materials[2].coverage, Coverage::blended);
  EXPECT_EQ(look.materials[2].alpha, 0.25f);
  EXPECT_EQ(look.materials[3].emission, (Vec3{15, 14, 13}));
  EXPECT_TRUE(look.uvs.empty());
  EXPECT_EQ(mesh.notes.size(), 1u);  // the texture is found nowhere
  const Mesh plain = load(folder_ / "a.obj");
  EXPECT_TRUE(plain.appearance.empty());
  expect_same(mesh, plain);
}

TEST_F(Materials, TexturesAreReadFromObjFiles) {
  folder_.write("mask.tga", tga(2, 1, {0xff000000, 0xffffffff}));
  folder_.write("a.mtl",
                "newmtl t\nKd 0 0 0\nmap_Kd -s 1 1 1 -clamp on C:\\work\\red.tga\n"
                "newmtl leaf\nmap_Kd red.tga\nmap_d mask.tga\nnewmtl lost\nmap_Kd gone.png\n"
                "newmtl worse\nmap_Kd -o 0 0 x y.png\n");
  const Mesh mesh = with_faces("usemtl t\nf 1/1 2/2 3/3 4/4\nf 1 2 3\nf -4/-4 -3/-3 -2/99\n");
  const Appearance& look = mesh.appearance;
  EXPECT_EQ(look.materials[1].colour, (Vec3{1, 1, 1}));
  ASSERT_EQ(look.materials[1].texture, 0u);
  EXPECT_EQ(look.textures[0].wrap_u, Wrap::clamp);
  const Material& leaf = look.materials[2];
  EXPECT_EQ(leaf.coverage, Coverage::cutout);
  ASSERT_NE(leaf.texture, no_texture);
  EXPECT_EQ(look.textures[leaf.texture].texels, (std::vector<std::uint32_t>{0xff, 0xff0000ff}));
  ASSERT_EQ(mesh.notes.size(), 1u);
  expect_words(mesh.notes[0], {"a.obj: 2 textures are missing, first gone.png: No such file"});
  // The quad's corners keep their coordinates when it is split; v points down.
  ASSERT_EQ(look.uv_triangles.size(), 4u);
  for (unsigned t = 0; t < 2; ++t) {
    for (unsigned c = 0; c < 3; ++c) {
      const Vec3 p = mesh.vertices[mesh.triangles[t].v[c]];
      EXPECT_EQ(look.uvs[look.uv_triangles[t].v[c]], (Uv{p.x, 1 - p.y}));
    }
  }
  EXPECT_EQ(look.uvs[look.uv_triangles[2].v[0]], Uv{});  // a corner without texture coordinates
  EXPECT_EQ(look.uvs[look.uv_triangles[3].v[1]], (Uv{1, 1}));
  EXPECT_EQ(look.uvs[look.uv_triangles[3].v[2]], Uv{});  // an index out of range
}

TEST_F(Materials, AMissingLibraryIsANote) {
  const std::string path = folder_.write("a.obj", square + "usemtl x\nf 1 2 3\n");
  const Mesh mesh = load(path, Content::materials);
  EXPECT_TRUE(mesh.appearance.empty());
  ASSERT_EQ(mesh.notes.size(), 1u);
  EXPECT_NE(mesh.notes[0].find("material library a.mtl: No such file"), std::string::npos);
  EXPECT_TRUE(load(path).notes.empty());
  // A texture outside of the directory is not read, although it exists.
  std::filesystem::create_directory(folder_ / "in");
  folder_.write("b.mtl", "newmtl x\n");
  const Mesh outside = load(
      folder_.write("in/b.obj", "mtllib ../b.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl x\nf 1 2 3\n"),
      Content::materials);
  EXPECT_TRUE(outside.appearance.empty());
  EXPECT_EQ(outside.notes.size(), 1u);
}

// A library is read once, however often and under how many lines it is named.
TEST_F(Materials, ARepeatedLibraryIsReadOnce) {
  folder_.write("b.mtl", "newmtl x\nKd 1 0 0\n");
  std::string lines = "mtllib b.mtl b.mtl gone.mtl\nmtllib gone.mtl b.mtl\n";
  for (int i = 0; i < 3; ++i) lines += "mtllib b.mtl\nmtllib gone.mtl\n";
  const Mesh mesh =
      load(folder_.write("b.obj", lines + "v 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl x\nf 1 2 3\n"),
           Content::materials);
  EXPECT_EQ(mesh.appearance.materials.size(), 2u);
  EXPECT_EQ(mesh.appearance.triangle_materials, std::vector<std::uint32_t>{1});
  EXPECT_EQ(mesh.notes.size(), 1u);
}

// One picture in materials that clamp and that repeat.
TEST_F(Materials, OnePictureWithTwoSamplersIsTwoTextures) {
  const Mesh mesh = with_library(
      "newmtl a\nmap_Kd red.tga\nnewmtl b\nmap_Kd -clamp on red.tga\n"
      "newmtl c\nmap_Kd red.tga\n");
  const Appearance& look = mesh.appearance;
  ASSERT_EQ(look.textures.size(), 2u);
  ASSERT_EQ(look.materials.size(), 4u);
  EXPECT_EQ(look.textures[look.materials[1].texture].wrap_u, Wrap::repeat);
  EXPECT_EQ(look.textures[look.materials[2].texture].wrap_u, Wrap::clamp);
  EXPECT_EQ(look.materials[3].texture, look.materials[1].texture);
}

TEST_F(Materials, OpacityKeepsTheLargerSize) {
  folder_.write("colour.tga", tga(1, 2, {0xff0000ff, 0xff00ff00}));
  folder_.write("mask.tga", tga(2, 1, {0xff000000, 0xffffffff}));
  const Mesh mesh = with_library("newmtl a\nmap_Kd -clamp on colour.tga\nmap_d mask.tga\n");
  const Texture& texture = mesh.appearance.textures.at(mesh.appearance.materials[1].texture);
  EXPECT_EQ(texture.width, 2u);
  EXPECT_EQ(texture.height, 2u);
  EXPECT_EQ(texture.wrap_u, Wrap::clamp);
  EXPECT_EQ(texture.texels,
            (std::vector<std::uint32_t>{0x000000ff, 0xff0000ff, 0x0000ff00, 0xff00ff00}));
}

// A picture with 24 bits per pixel has no alpha channel: its luminance is the opacity.
TEST_F(Materials, OpacityIsAlphaOrLuminance) {
  folder_.write("opaque.tga", tga(2, 1, {0xff000000, 0xff00ff00}));
  std::string plain = tga(2, 1, {});
  plain[16] = 24;
  plain[17] = 0x20;
  plain += std::string("\x40\x40\x40\x00\xff\x00", 6);  // a grey and a green pixel
  folder_.write("plain.tga", plain);
  const auto alphas = [&](const std::string& maps) {
    const Mesh mesh = with_library("newmtl a\n" + maps);
    const Texture& texture = mesh.appearance.textures.at(mesh.appearance.materials[1].texture);
    return std::vector<std::uint32_t>{texture.texels[0] >> 24, texture.texels[1] >> 24};
  };
  EXPECT_EQ(alphas("map_d opaque.tga\n"), (std::vector<std::uint32_t>{255, 255}));
  // With two samplers the picture is copied.
  EXPECT_EQ(alphas("map_Kd opaque.tga\nmap_d -clamp on opaque.tga\n"),
            (std::vector<std::uint32_t>{255, 255}));
  EXPECT_EQ(alphas("map_d plain.tga\n"), (std::vector<std::uint32_t>{0x40, 182}));
  // A grey picture with an alpha channel of 255 is a mask, unless it is the colour.
  folder_.write("grey.tga", tga(2, 1, {0xff000000, 0xff808080}));
  EXPECT_EQ(alphas("map_d grey.tga\n"), (std::vector<std::uint32_t>{0, 0x80}));
  EXPECT_EQ(alphas("map_Kd plain.tga\nmap_d grey.tga\n"), (std::vector<std::uint32_t>{0, 0x80}));
  EXPECT_EQ(alphas("map_Kd grey.tga\nmap_d grey.tga\n"), (std::vector<std::uint32_t>{255, 255}));
}

TEST_F(Materials, MaterialsShareATextureWithOpacity) {
  folder_.write("mask.tga", tga(1, 1, {0x80000000}));
  const std::string maps = "map_Kd red.tga\nmap_d mask.tga\n";
  const Mesh mesh = with_library("newmtl a\n" + maps + "newmtl b\n" + maps);
  const Appearance& look = mesh.appearance;
  EXPECT_EQ(look.textures.size(), 3u);
  EXPECT_EQ(look.materials[1].texture, look.materials[2].texture);
}

TEST_F(Materials, AMissingOpacityMapLeavesTheMaterialOpaque) {
  const Mesh mesh = with_library("newmtl a\nd 0\nmap_d gone.png\n");
  EXPECT_EQ(mesh.appearance.materials[1].alpha, 1);
  EXPECT_EQ(mesh.appearance.materials[1].coverage, Coverage::opaque);
  EXPECT_EQ(mesh.notes.size(), 1u);
}

TEST_F(Materials, DamagedLibrariesGiveValidMeshes) {
  const std::string library =
      "newmtl a\nKd 1 .5 0\nKe 1\nd 0.5\nmap_Kd -s 1 2 3 -clamp on x.tga\nmap_d y.tga\nTr 0.5\n";
  for (std::size_t i = 0; i < library.size(); ++i) {
    check(with_library(library.substr(0, i)), "cut off");
    for (const char* word : {"nan", "-1", "1e999", "..", "-o", "newmtl\n"})
      check(with_library(library.substr(0, i) + word + library.substr(i)), word);
  }
}

TEST_F(Materials, IgnoredScalesAndOffsetsAreOneNote) {
  for (const std::string options : {"-s 4 4 1", "-s 1 4", "-o .5", "-o 0 .5 0", "-clamp on -s 2"}) {
    const std::string map = "map_Kd " + options + " red.tga\n";
    const Mesh mesh = with_library("newmtl a\n" + map + "newmtl b\n" + map);
    EXPECT_EQ(mesh.appearance.textures.size(), 1u);
    ASSERT_EQ(mesh.notes.size(), 1u) << options;
    expect_words(mesh.notes[0], {"a.obj: scales and offsets of textures (-s, -o) are ignored"});
  }
  for (const std::string options : {"-s 1 1 1", "-o 0 0", "-s 1 1 4", "-t 2 2 2"}) {
    const Mesh mesh = with_library("newmtl a\nmap_Kd " + options + " red.tga\n");
    EXPECT_TRUE(mesh.notes.empty()) << options;
  }
}

TEST_F(Materials, ColoursAreReadFromPlyFiles) {
  const auto parse = [](const std::string& type, const std::string& rows, Content content) {
    const std::string text =
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty " + type +
        " red\nproperty float y\nproperty " + type + " green\nproperty float z\nproperty " + type +
        " blue\nelement face 1\nproperty list uchar int vertex_indices\n"
        "end_header\n" +
        rows + "3 0 1 2\n";
    return parse_ply(bytes_of(text), "file", content);
  };
  const Mesh mesh =
      parse("uchar", "0 255 0 128 0 0\n1 0 0 0 0 7\n0 1 1 2 0 3\n", Content::materials);
  EXPECT_EQ(mesh.appearance.vertex_colours,
            (std::vector<std::uint32_t>{0xff0080ff, 0xff070000, 0xff030201}));
  EXPECT_FALSE(mesh.appearance.empty());
  const Mesh plain =
      parse("uchar", "0 255 0 128 0 0\n1 0 0 0 0 7\n0 1 1 2 0 3\n", Content::geometry);
  EXPECT_TRUE(plain.appearance.empty());
  expect_same(mesh, plain);
  EXPECT_EQ(parse("float", "0 1 0 .5 0 0\n1 -1 0 2 0 nan\n0 0 1 0 0 0\n", Content::materials)
                .appearance.vertex_colours,
            (std::vector<std::uint32_t>{0xff0080ff, 0xff00ff00, 0xff000000}));
}

TEST_F(Materials, StayWithTheirTriangles) {
  Mesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 0, 1}}, {{0, 1, 2}}, {{1, 1, 1}}, {{2, 1, 0}}};
  mesh.appearance.materials.resize(4);
  mesh.appearance.triangle_materials = {0, 1, 2, 3};
  mesh.appearance.uvs.resize(4);
  mesh.appearance.uv_triangles = {{{0, 0, 0}}, {{1, 1, 1}}, {{2, 2, 2}}, {{3, 3, 3}}};
  check(mesh, "test");
  EXPECT_EQ(drop_degenerate(mesh), 2u);
  EXPECT_EQ(mesh.appearance.triangle_materials, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(mesh.appearance.uv_triangles, (std::vector<Triangle>{{{1, 1, 1}}, {{3, 3, 3}}}));
  check(mesh, "test");
  mesh.appearance.triangle_materials[1] = 4;
  expect_error(Exit::scene, {"test: an index of materials", "is out of range"},
               [&] { check(mesh, "test"); });
  mesh.appearance.triangle_materials.pop_back();
  expect_error(Exit::scene, {"test: the number of materials", "is not that of the triangles"},
               [&] { check(mesh, "test"); });
}

TEST(PictureFile, ClaimsAreLimited) {
  Texture texture;
  std::string reason;
  std::string file = tga(2, 1, {1, 2});
  EXPECT_TRUE(decode_picture(bytes_of(file), texture, reason));
  EXPECT_EQ(texture.texels, (std::vector<std::uint32_t>{1, 2}));
  file[13] = file[15] = 0x30;  // makes the size 12,290 x 12,289
  EXPECT_FALSE(decode_picture(bytes_of(file), texture, reason));
  EXPECT_NE(reason.find("12290x12289 pixels"), std::string::npos) << reason;
  EXPECT_FALSE(decode_picture({}, texture, reason));
  EXPECT_FALSE(decode_picture(bytes_of("GIF89a"), texture, reason));
}

// Truncated and damaged pixel data of picture files.

using namespace std::string_literals;

bool decodes(const std::string& file, std::string* reason = nullptr) {
  Texture texture;
  RadianceMap map;
  std::string first, second;
  const bool as_texture = decode_picture(bytes_of(file), texture, first);
  EXPECT_EQ(decode_radiance(bytes_of(file), map, second), as_texture);
  EXPECT_EQ(first, second);
  if (reason != nullptr) *reason = first;
  return as_texture;
}

void expect_decodes_only_whole(const std::string& file) {
  std::string reason;
  EXPECT_TRUE(decodes(file, &reason)) << reason;
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(decodes(file.substr(0, size), &reason)) << size << " of " << file.size();
  EXPECT_TRUE(decodes(file + "more"));
}

std::string hdr(unsigned width, unsigned height, const std::string& pixels) {
  return "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y " + std::to_string(height) + " +X " +
         std::to_string(width) + "\n" + pixels;
}

// A scanline of 8 pixels: a run, and a mixture of both kinds, and 8 different bytes.
const std::string scanline = "\x02\x02\x00\x08"s + "\x88\x10"s + "\x83\x20\x02\x01\x02\x83\x03"s +
                             "\x08\x01\x02\x03\x04\x05\x06\x07\x08"s + "\x88\x80"s;

TEST(PictureData, TruncatedRadianceFilesAreRefused) {
  expect_decodes_only_whole(hdr(2, 2, std::string(16, '\x7f')));
  expect_decodes_only_whole(hdr(8, 1, std::string(32, '\x7f')));
  expect_decodes_only_whole(hdr(8, 1, scanline));
  expect_decodes_only_whole(hdr(8, 3, scanline + scanline + scanline));
}

TEST(PictureData, RunsOfRadianceFilesFitTheWidth) {
  std::string reason;
  const std::string start = "\x02\x02\x00\x08"s;
  for (const std::string& pixels :
       {start + std::string(64, '\0'), start + "\x89\x10"s + std::string(64, '\x88'),
        start + "\x80"s + std::string(200, '\0'), start + "\x09"s + std::string(64, '\x88'),
        "\x02\x02\x00\x09"s + std::string(64, '\x88'), scanline + std::string(64, '\x7f')}) {
    EXPECT_FALSE(decodes(hdr(8, pixels.starts_with(scanline) ? 2 : 1, pixels), &reason));
    EXPECT_EQ(reason, "the run lengths of its pixels do not match its width");
  }
}

TEST(PictureData, TruncatedTgaFilesAreRefused) {
  expect_decodes_only_whole(tga(2, 2, {1, 2, 3, 4}));

  std::string runs = tga(3, 2, {});
  runs[2] = 10;
  expect_decodes_only_whole(runs + "\x82"s + "abcd"s + "\x02"s + "abcdabcdabcd"s);

  std::string palette = tga(2, 2, {});
  palette[0] = 3;  // length of the text
  palette[1] = palette[2] = 1;
  palette[5] = 2;   // number of palette entries
  palette[7] = 24;  // bits per entry
  palette[16] = 8;
  expect_decodes_only_whole(palette + "txt" + "rgbrgb" + "\0\1\1\0"s);
}

std::string bmp(unsigned width, unsigned height, std::uint16_t bits, const std::string& rest) {
  const std::uint32_t first = 54 + (bits == 8 ? 8 : 0);
  return "BM"s + raw(std::uint32_t{0}) + raw(std::uint32_t{0}) + raw(first) +
         raw(std::uint32_t{40}) + raw(std::uint32_t{width}) + raw(std::uint32_t{height}) +
         raw(std::uint16_t{1}) + raw(bits) + std::string(24, '\0') + rest;
}

TEST(PictureData, TruncatedBmpFilesAreRefused) {
  // The padding of the last row is optional.
  expect_decodes_only_whole(bmp(3, 2, 24, "rgbrgbrgb000rgbrgbrgb"));
  expect_decodes_only_whole(bmp(2, 2, 32, std::string(16, 'a')));
  expect_decodes_only_whole(bmp(3, 2, 8, "rgb0rgb0"s + "\0\1\1\0"s + "\1\0\1"s));
}

}  // namespace
}  // namespace heapwood::scenes
