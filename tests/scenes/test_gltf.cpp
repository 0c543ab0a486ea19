// SPDX-License-Identifier: MIT
#include <sys/resource.h>

#include "scenes/gltf.hpp"

#include <unistd.h>

#include <filesystem>

#include "scenes/file.hpp"
#include "scenes/gltf_data.hpp"
#include "scenes/gltf_document.hpp"
#include "scenes/scene.hpp"
#include "tests/scenes/gltf_files.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

Mesh parse_file(const std::string& file, Content content = Content::geometry) {
  return parse_gltf(bytes_of(file), "file", content);
}

// One mesh with only positions, and one node with it.
const std::string one_mesh = R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],)",
                  one_node = R"("nodes":[{"mesh":0}])",
                  positions = R"("attributes":{"POSITION":0})";

// A file of one mesh with this primitive, in one node.
std::string primitive(const GltfBuilder& builder, const std::string& members) {
  return builder.file("\"meshes\":[{\"primitives\":[{" + members + "}]}]," + one_node);
}

TEST(Gltf, ReadsIndicesOfEveryType) {
  const auto with = [](auto zero, int component) {
    GltfBuilder b;
    using T = decltype(zero);
    b.add(std::vector<T>{2, 1, 0}, component, "SCALAR", 1);
    return parse_file(primitive(b, positions + ",\"indices\":1")).triangles;
  };
  const std::vector<Triangle> expected{{{2, 1, 0}}};
  EXPECT_EQ(with(std::uint8_t{}, 5121), expected);
  EXPECT_EQ(with(std::uint16_t{}, 5123), expected);
  EXPECT_EQ(with(std::uint32_t{}, 5125), expected);
  EXPECT_THROW(with(0.0f, 5126), Error);
}

TEST(Gltf, ReadsEveryModeOfTriangles) {
  const auto with = [](int mode) {
    GltfBuilder b({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 2, 0, 1, 2, 0});
    return parse_file(primitive(b, positions + ",\"mode\":" + std::to_string(mode))).triangles;
  };
  EXPECT_EQ(with(4), (std::vector<Triangle>{{{0, 1, 2}}, {{3, 4, 5}}}));
  EXPECT_EQ(with(5), (std::vector<Triangle>{{{0, 1, 2}}, {{2, 1, 3}}, {{2, 3, 4}}, {{4, 3, 5}}}));
  EXPECT_EQ(with(6), (std::vector<Triangle>{{{0, 1, 2}}, {{0, 2, 3}}, {{0, 3, 4}}, {{0, 4, 5}}}));
  EXPECT_THROW(with(1), Error);  // a mesh of lines only
}

TEST(Gltf, TransformsApplyToInstances) {
  GltfBuilder b;
  const Mesh mesh = parse_file(b.file(
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"scene":0,
      "scenes":[{"nodes":[0]}],
      "nodes":[{"translation":[10,0,0],"children":[1,2]},
      {"mesh":0,"rotation":[0,0,0.70710678118654757,0.70710678118654757],"scale":[2,1,1]},
      {"mesh":0,"matrix":[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,5,1]},{"mesh":0}])"));
  ASSERT_EQ(mesh.triangles.size(), 2u);  // node 3 is not in the scene
  EXPECT_EQ(mesh.triangles[1], (Triangle{{3, 4, 5}}));
  EXPECT_NEAR(mesh.vertices[1].x, 10, 1e-6);
  EXPECT_NEAR(mesh.vertices[1].y, 2, 1e-6);
  EXPECT_NEAR(mesh.vertices[2].x, 9, 1e-6);
  EXPECT_EQ(mesh.vertices[4], (Vec3{11, 0, 5}));
}

// A triangle keeps its front where a node, or one above it, mirrors it (glTF 2.0, section 3.7.4).
TEST(Gltf, MirroringNodesKeepTheFront) {
  GltfBuilder b;
  const Mesh mesh = parse_file(b.file(
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
      "nodes":[{"mesh":0,"scale":[-1,1,1],"children":[1,2]},{"mesh":0},{"mesh":0,"scale":[1,-1,1]},
      {"mesh":0,"matrix":[0,1,0,0, 1,0,0,0, 0,0,1,0, 0,0,0,1]}])"));
  ASSERT_EQ(mesh.triangles.size(), 4u);
  for (const Triangle& t : mesh.triangles) {
    const Vec3 a = mesh.vertices[t.v[0]];
    EXPECT_GT(cross(mesh.vertices[t.v[1]] - a, mesh.vertices[t.v[2]] - a).z, 0);
  }
}

TEST(Gltf, HiddenNodesAreLeftOut) {
  GltfBuilder b;
  const std::string hidden = R"("extensions":{"KHR_node_visibility":{"visible":false}})",
                    visible = R"("extensions":{"KHR_node_visibility":{"visible":true}})";
  const Mesh mesh = parse_file(b.file(
      R"("extensionsRequired":["KHR_node_visibility"],
      "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
      "nodes":[{"mesh":0,)" +
      hidden + R"(,"children":[1]},{"mesh":0,)" + visible +
      R"(},{"mesh":0,"translation":[7,0,0],)" + visible + "}]"));
  ASSERT_EQ(mesh.triangles.size(), 1u);
  EXPECT_EQ(mesh.origin.x + mesh.vertices[0].x, 7);
}

TEST(Gltf, ReadsSparseAccessors) {
  for (const bool has_view : {true, false}) {
    GltfBuilder b(no_positions);
    const int base = b.add_view(bytes_of_values(one_triangle));
    const int indices = b.add_view(bytes_of_values(std::vector<std::uint16_t>{1, 2}));
    const int values = b.add_view(bytes_of_values(std::vector<float>{7, 8, 9, 0, 5, 0}));
    b.add_accessor("{" + (has_view ? "\"bufferView\":" + std::to_string(base) + "," : "") +
                   "\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"sparse\":{\"count\":2,"
                   "\"indices\":{\"bufferView\":" +
                   std::to_string(indices) +
                   ",\"componentType\":5123},\"values\":{\"bufferView\":" + std::to_string(values) +
                   "}}}");
    const Mesh mesh = parse_file(primitive(b, positions));
    EXPECT_EQ(mesh.vertices, (std::vector<Vec3>{{0, 0, 0}, {7, 8, 9}, {0, 5, 0}}));
  }
}

TEST(Gltf, ReadsNormalizedPositionsWithAStride) {
  GltfBuilder b(no_positions);
  // Three components of 16 bits each, padded to 8 bytes.
  const std::string binary =
      bytes_of_values(std::vector<std::int16_t>{0, 0, 0, 99, 32767, 0, 0, 99, 0, -32767, 0, 99});
  const int view = b.add_view(binary);
  std::string json =
      b.json(one_mesh + one_node + R"(,"extensionsRequired":["KHR_mesh_quantization"])");
  json.replace(json.rfind("\"byteLength\":24}]"), 17, "\"byteLength\":24,\"byteStride\":8}]");
  json.replace(json.find("\"accessors\":[]"), 14,
               "\"accessors\":[{\"bufferView\":" + std::to_string(view) +
                   ",\"componentType\":5122,\"normalized\":true,\"count\":3,\"type\":\"VEC3\"}]");
  const Mesh mesh = parse_file(glb(json, binary));
  EXPECT_EQ(mesh.vertices, (std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, -1, 0}}));
}

TEST(Gltf, ReadsMaterialsAndTextures) {
  GltfBuilder b;
  b.floats({0, 0, 1, 0, 0, 1}, "VEC2", 2);
  b.add(std::vector<std::uint8_t>{255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 128}, 5121, "VEC4", 4,
        ",\"normalized\":true");
  const int picture = b.add_view(tga(2, 1, {0xff0000ff, 0x40ff00ff}));
  const Mesh mesh =
      parse_file(b.file(R"("images":[{"bufferView":)" + std::to_string(picture) +
                        R"(}],"samplers":[{"wrapS":33071,"wrapT":33648,"magFilter":9728}],
      "textures":[{"source":0,"sampler":0}],"materials":[
      {"name":"leaf","pbrMetallicRoughness":{"baseColorFactor":[0.5,1,1,1],
       "baseColorTexture":{"index":0,"extensions":{"KHR_texture_transform":
       {"offset":[0.5,0],"scale":[2,1]}}},
       "metallicRoughnessTexture":{"index":0}},"alphaMode":"MASK","alphaCutoff":0.25},
      {"emissiveFactor":[1,0.5,0],
       "extensions":{"KHR_materials_emissive_strength":{"emissiveStrength":8}}}],
      "meshes":[{"primitives":[
      {"attributes":{"POSITION":0,"TEXCOORD_0":1,"COLOR_0":2},"material":0},
      {"attributes":{"POSITION":0},"material":1},{"attributes":{"POSITION":0}}]}],
      "nodes":[{"mesh":0}])"),
                 Content::materials);
  const Appearance& look = mesh.appearance;
  ASSERT_EQ(look.materials.size(), 3u);  // two, and the default of the primitive without one
  EXPECT_EQ(look.triangle_materials, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(look.materials[0].name, "leaf");
  EXPECT_EQ(look.materials[0].colour, (Vec3{0.5f, 1, 1}));
  EXPECT_EQ(look.materials[0].coverage, Coverage::cutout);
  EXPECT_EQ(look.materials[0].cutoff, 0.25f);
  EXPECT_EQ(look.materials[1].emission, (Vec3{8, 4, 0}));
  ASSERT_EQ(look.textures.size(), 1u);
  EXPECT_EQ(look.textures[0].texels, (std::vector<std::uint32_t>{0xff0000ff, 0x40ff00ff}));
  EXPECT_EQ(look.textures[0].wrap_u, Wrap::clamp);
  EXPECT_EQ(look.textures[0].wrap_v, Wrap::mirror);
  EXPECT_TRUE(look.textures[0].nearest);
  ASSERT_EQ(look.uvs.size(), 9u);
  EXPECT_EQ(look.uvs[1], (Uv{2.5f, 0}));
  EXPECT_EQ(look.uvs[4], Uv{});
  EXPECT_EQ(look.vertex_colours[0], 0xff0000ffu);
  EXPECT_EQ(look.vertex_colours[2], 0x80ff0000u);
  EXPECT_EQ(look.vertex_colours[3], 0xffffffffu);
  ASSERT_EQ(mesh.notes.size(), 1u);
  EXPECT_NE(mesh.notes[0].find("maps are ignored"), std::string::npos);
  EXPECT_TRUE(parse_file(primitive(b, positions)).appearance.empty());
}

TEST(Gltf, OnePictureWithTwoSamplersIsTwoTextures) {
  GltfBuilder b;
  b.floats({0, 0, 1, 0, 0, 1}, "VEC2", 2);
  const int picture = b.add_view(tga(1, 1, {0xff0000ff}));
  const Mesh mesh = parse_file(b.file(R"("images":[{"bufferView":)" + std::to_string(picture) +
                                      R"(}],"samplers":[{"wrapS":33071},{"magFilter":9728}],
      "textures":[{"source":0,"sampler":0},{"source":0,"sampler":1}],"materials":[
      {"pbrMetallicRoughness":{"baseColorTexture":{"index":0}}},
      {"pbrMetallicRoughness":{"baseColorTexture":{"index":1}}}],
      "meshes":[{"primitives":[
      {"attributes":{"POSITION":0,"TEXCOORD_0":1},"material":0},
      {"attributes":{"POSITION":0,"TEXCOORD_0":1},"material":1}]}],"nodes":[{"mesh":0}])"),
                               Content::materials);
  const Appearance& look = mesh.appearance;
  ASSERT_EQ(look.textures.size(), 2u);
  EXPECT_EQ(look.textures[look.materials[0].texture].wrap_u, Wrap::clamp);
  EXPECT_FALSE(look.textures[look.materials[0].texture].nearest);
  EXPECT_EQ(look.textures[look.materials[1].texture].wrap_u, Wrap::repeat);
  EXPECT_TRUE(look.textures[look.materials[1].texture].nearest);
}

TEST(Gltf, OtherTextureCoordinatesOfEmissionAreANote) {
  GltfBuilder b;
  b.floats({0, 0, 1, 0, 0, 1}, "VEC2", 2);
  const std::string picture = std::to_string(b.add_view(tga(1, 1, {0xff0000ff})));
  const auto notes = [&](const std::string& factor, const std::string& emission) {
    const std::string material =
        "{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}},\"emissiveFactor\":" +
        factor + ",\"emissiveTexture\":{\"index\":0" + emission + "}}";
    return parse_file(b.file(R"("images":[{"bufferView":)" + picture +
                             R"(}],"textures":[{"source":0}],"materials":[)" + material + "," +
                             material + R"(],"meshes":[{"primitives":[
        {"attributes":{"POSITION":0,"TEXCOORD_0":1,"TEXCOORD_1":1},"material":0}]}],
        "nodes":[{"mesh":0}])"),
                      Content::materials)
        .notes;
  };
  EXPECT_TRUE(notes("[1,1,1]", "").empty());
  EXPECT_TRUE(notes("[0,0,0]", ",\"texCoord\":1").empty());
  for (const std::string other :
       {R"(,"texCoord":1)", R"(,"extensions":{"KHR_texture_transform":{"scale":[2,1]}})"}) {
    const std::vector<std::string> got = notes("[1,1,1]", other);
    ASSERT_EQ(got.size(), 1u);
    expect_words(got[0], {"file: an emissive texture has other texture coordinates"});
  }
}

TEST(Gltf, IgnoredCamerasAndInstancesAreNotes) {
  GltfBuilder b;
  const auto read = [&](const std::string& nodes) {
    return parse_file(b.file(R"("cameras":[{"type":"perspective","perspective":{"yfov":1}},
        {"type":"perspective","perspective":{"yfov":3.1}},{"type":"orthographic"}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0})" +
                             nodes + "]"));
  };
  const std::string down = R"(,{"camera":0,"rotation":[-0.70710678,0,0,0.70710678]})",
                    wide = R"(,{"camera":1})", flat = R"(,{"camera":0,"scale":[1,1,0]})",
                    good = R"(,{"camera":0,"translation":[0,0,3]})", parallel = R"(,{"camera":2})";
  EXPECT_TRUE(read(good + down + wide).notes.empty());
  EXPECT_TRUE(read(parallel + good).notes.empty());
  const auto expect_note = [&](const std::string& nodes, const std::string& text) {
    const Mesh mesh = read(nodes);
    ASSERT_EQ(mesh.notes.size(), 1u) << text;
    EXPECT_EQ(mesh.notes[0], "file: " + text);
  };
  const std::string ignored = " ignored: not invertible, too wide, too far away, or vertical";
  expect_note(down, "1 camera" + ignored);
  expect_note(flat, "1 camera" + ignored);
  expect_note(wide + down + good, "2 cameras" + ignored);
  EXPECT_TRUE(read(wide + down + good).camera);
  const std::string many =
      R"(,{"mesh":0,"extensions":{"EXT_mesh_gpu_instancing":{"attributes":{}}}})";
  expect_note(many + many, "EXT_mesh_gpu_instancing is ignored: each node shows one instance");
}

// Every node has every primitive of its mesh, which is more than a file's size for each list.
TEST(Gltf, ManyInstancesWithoutVerticesTakeLittleMemory) {
  constexpr int count = 6000;
  GltfBuilder b(no_positions);
  b.add_accessor(R"({"componentType":5126,"count":0,"type":"VEC3"})");
  std::string primitives, nodes;
  for (int i = 0; i < count; ++i) {
    primitives += std::string(i == 0 ? "" : ",") + R"({"attributes":{"POSITION":0}})";
    nodes += std::string(i == 0 ? "" : ",") + R"({"mesh":0})";
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THROW(parse_file(b.file("\"meshes\":[{\"primitives\":[" + primitives + "]}],\"nodes\":[" +
                                 nodes + "]")),
               Error);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10);  // KiB; with all instances 560 MB
}

TEST(Gltf, ReadsFilesOfItsFolder) {
  const Folder folder;
  const std::string text =
      R"({"asset":{"version":"2.0"},"buffers":[{"byteLength":36,"uri":"a%20b.bin"}],
      "bufferViews":[{"buffer":0,"byteLength":36}],
      "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"},
      {"bufferView":0,"componentType":5126,"count":3,"type":"VEC2"}],
      "images":[{"uri":"none.png"},{"uri":"../x.png"},{"uri":"ok.tga"}],
      "textures":[{"source":0},{"source":1},{"source":2}],"materials":[
      {"pbrMetallicRoughness":{"baseColorTexture":{"index":0}}},
      {"pbrMetallicRoughness":{"baseColorTexture":{"index":1}}},
      {"pbrMetallicRoughness":{"baseColorTexture":{"index":2}}}],
      "meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":1},"material":2}]}],
      "nodes":[{"mesh":0}]})";
  folder.write("a.gltf", text);
  expect_error(Exit::scene, {"a.gltf", "buffers[0]", "a b.bin"}, [&] { load(folder / "a.gltf"); });
  folder.write("a b.bin", bytes_of_values(one_triangle));
  folder.write("ok.tga", tga(1, 1, {0xff102030}));
  const Mesh mesh = load(folder / "a.gltf", Content::materials);
  ASSERT_EQ(mesh.notes.size(), 1u);
  expect_words(mesh.notes[0], {"2 textures are missing, first none.png: "});
  EXPECT_EQ(mesh.appearance.materials[0].texture, no_texture);
  EXPECT_EQ(mesh.appearance.materials[2].texture, 0u);
  EXPECT_TRUE(load(folder / "a.gltf").notes.empty());
  // The digest is that of the geometry's files: another buffer is another scene.
  const std::string before = digest(folder / "a.gltf");
  EXPECT_EQ(before.size(), 16u);
  folder.write("ok.tga", tga(1, 1, {0xff302010}));
  EXPECT_EQ(digest(folder / "a.gltf"), before);
  folder.write("a b.bin", bytes_of_values(std::vector<float>(9, 1)));
  EXPECT_NE(digest(folder / "a.gltf"), before);
  // A binary file may have other buffers, too.
  folder.write("a.glb", glb(text, ""));
  const std::string binary = digest(folder / "a.glb");
  EXPECT_EQ(binary.size(), 16u);
  folder.write("a b.bin", bytes_of_values(std::vector<float>(9, 2)));
  EXPECT_NE(digest(folder / "a.glb"), binary);
}

TEST(Gltf, ReadsNothingOutsideOfItsDirectory) {
  const Folder folder;
  std::filesystem::create_directory(folder / "scene");
  folder.write("secret.bin", bytes_of_values(one_triangle));
  std::filesystem::create_symlink(folder / "secret.bin", folder / "scene/link.bin");
  const auto with = [&](const std::string& uri) {
    const std::string path = folder.write(
        "scene/a.gltf", R"({"asset":{"version":"2.0"},"buffers":[{"byteLength":36,"uri":")" + uri +
                            R"("}],"bufferViews":[{"buffer":0,"byteLength":36}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}]})");
    return load(path);
  };
  for (const std::string& uri :
       {std::string("../secret.bin"), std::string("link.bin"), folder / "secret.bin",
        std::string("%2e%2e/secret.bin"), std::string("x/../../secret.bin"),
        std::string("file:///etc"), std::string("..\\\\secret.bin"), std::string("%00")}) {
    expect_error(Exit::scene, {"buffers[0]"}, [&] { with(uri); });
  }
  folder.write("scene/near.bin", bytes_of_values(one_triangle));
  EXPECT_EQ(with("./near.bin").triangles.size(), 1u);
  EXPECT_EQ(with("../scene/near.bin").triangles.size(), 1u);
}

TEST(Gltf, DecodesDataUris) {
  std::vector<std::byte> bytes;
  ASSERT_TRUE(gltf::decode_data_uri("data:application/octet-stream;base64,AAEC/w==", bytes));
  EXPECT_EQ(bytes,
            (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}}));
  EXPECT_FALSE(gltf::decode_data_uri("data:text/plain,AAEC", bytes));
  EXPECT_FALSE(gltf::decode_data_uri("data:;base64,A!", bytes));
}

TEST(Gltf, RefusesDamagedFiles) {
  GltfBuilder b;
  b.add(std::vector<std::uint8_t>{0, 1, 9}, 5121, "SCALAR", 1);
  const auto fails = [&](std::initializer_list<std::string_view> parts, const std::string& rest) {
    expect_error(Exit::scene, parts, [&] { parse_file(b.file(rest)); });
  };
  fails({"no triangle"}, "\"nodes\":[]");
  fails({"nodes[0]", "`mesh` is 4, but there are 1"}, one_mesh + "\"nodes\":[{\"mesh\":4}]");
  for (const std::string number : {"-1", "0.5", "1e17"}) {
    fails({"nodes[0]", "`mesh` is not an integer from 0 to 2^53"},
          one_mesh + "\"nodes\":[{\"mesh\":" + number + "}]");
  }
  fails({"nodes[0]", "its own ancestor"},
        one_mesh + "\"nodes\":[{\"mesh\":0,\"children\":[1]},{\"children\":[0]}]");
  fails({"nodes[1]", "own ancestor"}, one_mesh + "\"nodes\":[{\"mesh\":0},{\"children\":[1]}]");
  fails({"nodes[2]", "child of two"},
        one_mesh + "\"nodes\":[{\"children\":[2]},{\"children\":[2]},{\"mesh\":0}]");
  fails({"accessors[1]", "index is 9"},
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
        "\"nodes\":[{\"mesh\":0}]");
  fails({"KHR_draco_mesh_compression", "not supported"},
        one_mesh +
            "\"nodes\":[{\"mesh\":0}],\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]");
  fails({"translation", "3 numbers"}, one_mesh + "\"nodes\":[{\"translation\":[1]}]");
  fails({"nodes[0]", "object is expected"}, one_mesh + "\"nodes\":[1]");
  fails({"`scale` is larger than 1e30"}, one_mesh + "\"nodes\":[{\"scale\":[1e38,1,1]}]");
  fails({"out of range"},
        one_mesh +
            "\"nodes\":[{\"mesh\":0,\"scale\":[1e30,1e30,1e30],\"translation\":[9e29,0,0],"
            "\"matrix\":[1e30,0,0,0,0,1e30,0,0,0,0,1e30,0,1,1,1,1],\"children\":[1]},"
            "{\"mesh\":0,\"scale\":[1e30,1,1]}]");
  expect_error(Exit::scene, {"byte 5", "JSON"}, [] { parse_file("{\"a\"x"); });
  expect_error(Exit::scene, {"version"}, [] { parse_file("{}"); });
  expect_error(Exit::scene, {"version 1.0"}, [] { parse_file(R"({"asset":{"version":"1.0"}})"); });
  expect_error(Exit::scene, {"nested too deeply"}, [] {
    parse_file("{\"asset\":{\"version\":\"2.0\"},\"extras\":" + std::string(200'000, '[') +
               std::string(200'000, ']') + "}");
  });
  std::string file = b.file(one_mesh + one_node);
  EXPECT_NO_THROW(parse_file(file));
  expect_error(Exit::scene, {"claims"}, [&] { parse_file(file.substr(0, file.size() - 4)); });
  file[4] = 1;
  expect_error(Exit::scene, {"version 1"}, [&] { parse_file(file); });
}

TEST(Gltf, BytesAfterTheClaimedLengthAreIgnored) {
  GltfBuilder b;
  const std::string file = primitive(b, positions);
  EXPECT_EQ(parse_file(file + std::string(20, 'x')).triangles.size(), 1u);
  std::string shorter = file;
  shorter[8] = 4;  // a chunk shorter than its header
  shorter[9] = shorter[10] = 0;
  EXPECT_THROW(parse_file(shorter), Error);
}

TEST(Gltf, NestingIsCountedOutsideOfStrings) {
  EXPECT_EQ(json_nesting(""), 0u);
  EXPECT_EQ(json_nesting("[{}, {\"a\": [1]}, []]"), 3u);
  EXPECT_EQ(json_nesting(R"({"[[[": "]]]\"[[[", "b\\": [1]})"), 2u);
  EXPECT_EQ(json_nesting("]]}[[ not JSON \"[[["), 2u);
}

// Quadratic time would exceed the test's limit.
TEST(Gltf, ManyNodesAreReadInLinearTime) {
  std::string nodes = "{}";
  for (unsigned i = 0; i < 400'000; ++i) nodes += ",{}";
  const gltf::Document document =
      gltf::parse_document("{\"asset\":{\"version\":\"2.0\"},\"nodes\":[" + nodes + "]}", "a.gltf");
  EXPECT_EQ(document.nodes.size(), 400'001u);
}

// Counts that no file of this size can hold are rejected before memory is allocated for them.
TEST(Gltf, RefusesGiantCounts) {
  const auto with = [](const std::string& accessor, const std::string& nodes) {
    GltfBuilder b(no_positions);
    const int view = b.add_view(bytes_of_values(one_triangle));
    std::string json = accessor;
    if (const std::size_t at = json.find("VIEW"); at != json.npos)
      json.replace(at, 4, std::to_string(view));
    b.add_accessor(json);
    return parse_file(b.file(one_mesh + nodes));
  };
  for (const std::string count : {"4", "4000000000", "9007199254740992"}) {
    expect_error(Exit::scene, {"do not fit"}, [&] {
      with(R"({"bufferView":VIEW,"componentType":5126,"type":"VEC3","count":)" + count + "}",
           one_node);
    });
  }
  for (const std::string count : {"4000000000", "9007199254740992"}) {
    expect_error(Exit::scene, {"claim more than"}, [&] {
      with(R"({"componentType":5126,"type":"VEC3","count":)" + count + "}", one_node);
    });
  }
  for (const std::string count : {"-1", "1.5", "1e300", "\"3\"", "null"}) {
    expect_error(Exit::scene, {"accessors[0]", "`count`"}, [&] {
      with(R"({"bufferView":VIEW,"componentType":5126,"type":"VEC3","count":)" + count + "}",
           one_node);
    });
  }
  // 301 nodes of 120,000 triangles and 360,000 vertices each.
  std::string nodes = "\"nodes\":[{\"mesh\":0}";
  for (int i = 0; i < 300; ++i) nodes += ",{\"mesh\":0}";
  expect_error(Exit::scene, {"instances"}, [&] {
    with(R"({"componentType":5126,"type":"VEC3","count":360000})", nodes + "]");
  });
}

}  // namespace
}  // namespace heapwood::scenes
