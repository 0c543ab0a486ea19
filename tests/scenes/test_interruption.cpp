// SPDX-License-Identifier: MIT
// Ctrl-C while a scene is read, which may take minutes.
#include <gtest/gtest.h>

#include "scenes/gltf_accessors.hpp"
#include "scenes/obj.hpp"
#include "scenes/ply.hpp"
#include "scenes/polygon.hpp"
#include "scenes/scene.hpp"
#include "scenes/texture_files.hpp"
#include "simt/device.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::Folder;

class Interruption : public ::testing::Test {
 protected:
  void SetUp() override { simt::interrupt(); }
  void TearDown() override { simt::clear_interrupt(); }
};

TEST_F(Interruption, EndsReadingOfEveryFormat) {
  const std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
                    ply =
                        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n"
                        "property float y\nproperty float z\nelement face 1\n"
                        "property list uchar int vertex_indices\nend_header\n"
                        "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  EXPECT_THROW(parse_obj(obj, "a.obj"), simt::Stopped);
  EXPECT_THROW(parse_ply(std::as_bytes(std::span(ply)), "a.ply"), simt::Stopped);
  const Folder folder;
  EXPECT_THROW(load(folder.write("a.obj", obj)), simt::Stopped);
  EXPECT_EQ(digest(folder.write("a.obj", obj)), "");
}

// It is not taken for a fault of the file that is being read.
TEST_F(Interruption, OfACompanionFileIsNoFaultOfIt) {
  const Folder folder;
  Appearance appearance;
  TextureFiles textures(folder.write("a.obj", ""), appearance);
  folder.write("a.png", "not a picture");
  EXPECT_THROW(textures.read("a.png"), simt::Stopped);
  gltf::Document document;
  document.buffers.push_back({.uri = "a.bin", .bytes = 36});
  folder.write("a.bin", std::string(36, '\0'));
  EXPECT_THROW(gltf::Accessors(document, {}, folder / "a.gltf"), simt::Stopped);
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
