// SPDX-License-Identifier: MIT
// Thousands of seeded mutations of valid files: each must give a valid mesh or a one-line error.
// The fuzzers in tests/fuzz search further.
#include <functional>
#include <vector>

#include "scenes/file.hpp"
#include "scenes/gltf.hpp"
#include "scenes/obj.hpp"
#include "scenes/ply.hpp"
#include "scenes/random.hpp"
#include "tests/scenes/gltf_files.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::bytes_of;
using testing::raw;

using Parse = std::function<Mesh(std::string_view)>;

std::string mutated(std::string text, Random& random, const std::vector<std::string>& words) {
  for (unsigned changes = 1 + random.below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random.below(static_cast<unsigned>(text.size()));
    const std::size_t length = std::min<std::size_t>(random.below(12), text.size() - at);
    switch (random.below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ 1 << random.below(8));
        break;
      case 1:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(random.below(static_cast<unsigned>(text.size())), length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.replace(at, length, words[random.below(static_cast<unsigned>(words.size()))]);
        break;
      default:
        text.insert(at, words[random.below(static_cast<unsigned>(words.size()))]);
        break;
    }
  }
  return text;
}

void survives(const std::vector<std::string>& seeds, const std::vector<std::string>& words,
              const Parse& parse) {
  Random random(2014);
  unsigned good = 0, refused = 0;
  for (const std::string& seed : seeds) {
    ASSERT_NO_THROW(parse(seed));
    for (unsigned i = 0; i < 4000; ++i) {
      const std::string text = mutated(seed, random, words);
      try {
        check(parse(text), "the result");
        ++good;
      } catch (const Error& error) {
        const std::string_view what = error.what();
        EXPECT_EQ(error.exit(), Exit::scene) << what;
        EXPECT_TRUE(what.starts_with("file: ")) << what;
        EXPECT_EQ(what.find_first_of("\n\r"), what.npos) << what;
        ++refused;
      }
    }
  }
  // Both outcomes must be frequent for the test to be useful.
  EXPECT_GT(good, seeds.size() * 20);
  EXPECT_GT(refused, seeds.size() * 400);
}

std::string ply(const std::string& format) {
  return "ply\nformat " + format +
         " 1.0\ncomment a\nelement vertex 4\nproperty float x\nproperty uchar c\nproperty float "
         "y\nproperty float z\n"
         "property list uchar short l\nelement other 1\nproperty double d\nelement face 2\n"
         "property list uchar int vertex_indices\nproperty char f\nend_header\n";
}

TEST(Mutations, OfPlyFiles) {
  std::vector<std::string> seeds = {
      ply("ascii") +
      "0 1 0 0 0\n1 1 0 0 2 5 6\n1 1 1 0 0\n0 1 1 0 0\n0.5\n3 0 1 2 7\n4 0 1 2 3 7\n"};
  for (const bool big : {false, true}) {
    std::string data = ply(big ? "binary_big_endian" : "binary_little_endian");
    for (unsigned i = 0; i < 4; ++i) {
      data += raw(static_cast<float>(i), big) + "c" + raw(1.0f, big) +
              raw(static_cast<float>(i * i), big);
      data += i == 1 ? "\2abcd" : std::string(1, '\0');
    }
    data += raw(0.5, big);
    for (const unsigned n : {3u, 4u}) {
      data += static_cast<char>(n);
      for (unsigned i = 0; i < n; ++i) data += raw(i, big);
      data += 'f';
    }
    seeds.push_back(data);
  }
  seeds.push_back(
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double y\nproperty "
      "double z\n"
      "element tristrips 1\nproperty list int int vertex_indices\nend_header\n"
      "50000.5 0 0\n50001 0 0\n50001 1 0\n50000 1 0\n8 0 1 2 3 -1 1 2 3\n");
  survives(seeds,
           {"4294967295", "18446744073709551615", "-1", "nan", "1e999", "uint", "double", "list",
            "\n", " ", "vertex", "element face 9999999\n", "property list uint uint vertex_index\n",
            "\xff\xff\xff\xff", "end_header\n"},
           [](std::string_view text) { return parse_ply(bytes_of(text), "file"); });
}

TEST(Mutations, OfObjFiles) {
  survives({"# seed\nmtllib a.mtl\no a\nv 0 0 0\nv 1 0 0 1\nv 1 1 0 .5 .5 .5\nv 0 1e0 0\nvt 0 "
            "0\nvn 0 0 1\ng a b\nusemtl m\n"
            "f 1 2 3\nf 1/1 2/1 3/1 4/1\ns off\nf -4//-1 -3//-1 \\\n-2//-1\nl 1 2\np 3\n",
            "v 0 0 0\r\nv 1 0 0\r\nv 1 1 0\r\nv 0 1 0\r\nv 2 2 2\r\nf 1 2 3 4 5\r\nt c 1/1/1 1 1 "
            "a\r\nvw 0 0 1\r\n"},
           {"4294967295", "-2147483648", "99999999999999999999", "nan", "1e999", "1e-2147483649",
            "f ", "v ", "/", "//", "\\\n", "\n", "\r", std::string(1, '\0'), "t a 9999/9999/9999",
            "vw 1 2", "f 1 2 3 1 2 3 1 2 3\n"},
           [](std::string_view text) { return parse_obj(text, "file"); });
}

TEST(Mutations, OfGltfFiles) {
  testing::GltfBuilder b;
  b.add(std::vector<std::uint16_t>{2, 1, 0}, 5123, "SCALAR", 1);
  b.add(std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 5121, "VEC4", 4);
  b.floats({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, "VEC4", 4);
  b.floats({0, 1}, "SCALAR", 1);
  b.floats({0, 0, 0, 2, 0, 0}, "VEC3", 3);
  b.floats({0, 0, 1, 0, 0, 1}, "VEC2", 2);
  const int picture = b.add_view(testing::tga(1, 1, {0x80ffffff}));
  const std::string file = b.file(
      R"("images":[{"bufferView":)" + std::to_string(picture) +
      R"(}],"textures":[{"source":0}],"materials":[{"pbrMetallicRoughness":{"baseColorTexture":
      {"index":0}},"alphaMode":"MASK","emissiveFactor":[1,1,1]}],"meshes":[{"primitives":[
      {"attributes":{"POSITION":0,"JOINTS_0":2,"WEIGHTS_0":3,"TEXCOORD_0":6},"indices":1,
      "material":0,"targets":[{"POSITION":0}]}]}],"skins":[{"joints":[1]}],
      "nodes":[{"mesh":0,"skin":0,"children":[1]},{"translation":[1,2,3]}],"scenes":[{"nodes":[0]}],
      "animations":[{"samplers":[{"input":4,"output":5}],"channels":[{"sampler":0,
      "target":{"node":1,"path":"translation"}}]}])");
  survives({file},
           {"4294967295", "18446744073709551615", "-1", "null", "1e999", "[", "{}", "\"", ",",
            "\"sparse\":{\"count\":1}", "5126", "VEC4", "\xff\xff\xff\x7f", "0"},
           [](std::string_view text) {
             const GltfAnimation animation(bytes_of(text), "file", Content::materials);
             return animation.count() == 0 ? animation.rest()
                                           : animation.mesh_at(0, animation.duration(0) / 2);
           });
}

TEST(Mutations, OfMaterialFiles) {
  const testing::Folder folder;
  const std::string obj = "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl m\nf 1 2 3\n";
  const std::string seed =
      "newmtl m\nKd 1 .5 0\nKe 1\nd 0.5\nmap_Kd -s 1 2 3 -clamp on x.tga\nmap_d y.tga\nTr 0.5\n";
  Random random(11);
  for (unsigned i = 0; i < 500; ++i) {
    folder.write("a.mtl", mutated(seed, random, {"nan", "-1", "1e999", "..", "-o", "newmtl\n"}));
    check(parse_obj(obj, folder / "a.obj", Content::materials), "the result");
  }
}

}  // namespace
}  // namespace heapwood::scenes
