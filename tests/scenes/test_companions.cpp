// SPDX-License-Identifier: MIT
// The files that scene files name.
#include <algorithm>
#include <filesystem>

#include "scenes/scene.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::Folder;
using Names = std::vector<std::string>;

Names companions(const std::string& scene) {
  Names names;
  for (const std::string& path : companion_files(scene))
    names.push_back(std::filesystem::path(path).filename().string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

TEST(Companions, OfObjFiles) {
  const Folder folder;
  for (const char* name : {"a b.png", "c.png", "d.png", "e.png", "f.png", "unused.png"})
    folder.write(name, "x");
  folder.write("a.mtl",
               "\xef\xbb\xbfMAP_KD a b.png\r\nnewmtl x\n map_d -o 0 0 c.png\nbump d.png\n");
  folder.write("b.mtl", "map_Ks C:\\work\\e.png\nmap_Kd gone.png\n# map_Kd unused.png\n");
  folder.write("two words.mtl", "disp -mm 0 1 f.png\n");
  const std::string scene = folder.write("scene.obj",
                                         "\xef\xbb\xbfmtllib a.mtl \\\nb.mtl\nv 0 0 nonsense\n"
                                         "mtllib two words.mtl\nmtllib gone.mtl\n");
  EXPECT_EQ(companions(scene), (Names{"a b.png", "a.mtl", "b.mtl", "c.png", "d.png", "e.png",
                                      "f.png", "two words.mtl"}));
}

TEST(Companions, OfGltfFiles) {
  const Folder folder;
  for (const char* name : {"a.bin", "b c.png"}) folder.write(name, "x");
  const std::string scene = folder.write(
      "scene.gltf", R"({"asset":{"version":"2.0"},"buffers":[{"uri":"gone.bin","byteLength":1},)"
                    R"({"uri":"a.bin","byteLength":9},{"uri":"data:,x","byteLength":1}],)"
                    R"("images":[{"uri":"b%20c.png"}]})");
  EXPECT_EQ(companions(scene), (Names{"a.bin", "b c.png"}));
}

TEST(Companions, OfOtherScenes) {
  const Folder folder;
  EXPECT_EQ(companions("atrium"), Names{});
  EXPECT_EQ(companions(folder / "none.obj"), Names{});
  EXPECT_EQ(companions(folder.write("a.ply", "ply")), Names{});
  EXPECT_EQ(companions(folder.write("a.gltf", "{")), Names{});
}

}  // namespace
}  // namespace heapwood::scenes
