// SPDX-License-Identifier: MIT
// Procedural scenes are identical to the bit on every machine and with every compiler and C
// library. If a digest differs, something in scenes/ depends on one of them, or a scene was changed
// on purpose; update the constant only in the latter case.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "scenes/scene.hpp"

namespace heapwood::scenes {
namespace {

// FNV-1a of the vertices' and the indices' bytes, lowest first.
std::uint64_t digest(const Mesh& mesh) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint32_t word) {
    for (int i = 0; i < 4; ++i) hash = (hash ^ (word >> 8 * i & 255)) * 0x100000001b3;
  };
  for (const Vec3& v : mesh.vertices) {
    for (const float f : {v.x, v.y, v.z}) {
      std::uint32_t word = 0;
      std::memcpy(&word, &f, sizeof f);
      add(word);
    }
  }
  for (const Triangle& t : mesh.triangles) {
    for (const std::uint32_t i : t.v) add(i);
  }
  return hash;
}

TEST(ProceduralDigest, IsTheSameEverywhere) {
  const struct {
    const char* name;
    std::uint64_t digest;
  } scenes[] = {
      {"atrium:5k", 0x72aa1f8b3fd5a43b},  {"atrium:70k:3", 0xdb69d22c4a3dc6cb},
      {"statue:5k", 0xce901ea6c29c4c7f},  {"statue:70k:3", 0x1a1a5ce09b2a04f2},
      {"stadium:5k", 0x8265d8a4fa03adb0}, {"stadium:70k:3", 0x9a702b881f72cd2f},
      {"pipes:5k", 0x10df14449edbe137},   {"pipes:70k:3", 0x39b3f7860bb97525},
      {"single", 0x0a3bf1ae7a1d29f6},     {"identical:100", 0xe171826dc77771a5},
      {"flat:100", 0xd442e1f139c4fa6f},   {"flat:3k:2", 0x0eb7512f059dd8ed},
      {"points:100", 0xb3c03679ae2c9250}, {"points:3k:2", 0x7c5da92693673afa},
      {"tiny:100", 0x3b34c10e5b98ee93},   {"tiny:3k:2", 0xd34d3aa0e93764e0},
      {"huge:100", 0x094f3ba2bf495f1f},   {"huge:3k:2", 0x1736859b3f4d261e},
  };
  for (const auto& scene : scenes) {
    const Mesh mesh = generate(parse_scene_name(scene.name).value());
    EXPECT_EQ(digest(mesh), scene.digest) << scene.name << std::hex << ": 0x" << digest(mesh);
  }
}

}  // namespace
}  // namespace heapwood::scenes
