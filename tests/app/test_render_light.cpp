// SPDX-License-Identifier: MIT
// heapwood render: camera paths, environments, tone curves and EXR files.
#include "tests/app/executable.hpp"
#include "tests/render/pictures.hpp"

namespace heapwood::tests {
namespace {

namespace fs = std::filesystem;

class RenderLight : public SceneCommands {
 protected:
  std::string small(const std::string& more) const {
    return "render @scene.obj --size 32x16 --spp 2 --device cpu --threads 2 " + more;
  }
};

constexpr const char* flight = "# two seconds\n0 -9 3 30 8 6 5 40\n2 9 3 30 8 6 5 50\n";

TEST_F(RenderLight, APathBecomesNumberedPictures) {
  write_file(folder_ / "path.txt", flight);
  const std::string path = small("--path @path.txt --fps 2 -o @f_##.png --up y");
  expect_words(output(path), {"5 frames, 2 per second, 2 keys"});
  EXPECT_FALSE(fs::exists(folder_ / "f_05.png"));
  // The first frame is the picture of the first key.
  output(small("--camera -9,3,30,8,6,5,40 --up y -o @one.png"));
  EXPECT_EQ(read_file(folder_ / "f_00.png"), read_file(folder_ / "one.png"));
  EXPECT_NE(read_file(folder_ / "f_04.png"), read_file(folder_ / "one.png"));
  EXPECT_EQ(render::read_png(folder_ / "f_04.png").width, 32u);
  // An editor may add a byte order mark.
  const std::string first = read_file(folder_ / "f_00.png");
  write_file(folder_ / "path.txt", "\xef\xbb\xbf" + std::string(flight).substr(14));
  output(path);
  EXPECT_EQ(read_file(folder_ / "f_00.png"), first);
}

TEST_F(RenderLight, EnvironmentsLightPaths) {
  std::string hdr = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 4\n";
  for (int i = 0; i < 8; ++i) hdr += std::string{'\x40', '\x20', '\x10', '\x81'};
  write_file(folder_ / "red.hdr", hdr);
  const auto picture = [&](const std::string& more) {
    output(small("--mode path -o @a.png " + more));
    return read_file(folder_ / "a.png");
  };
  const std::string plain = picture(""), sky = picture("--environment sky"),
                    red = picture("--environment @red.hdr");
  EXPECT_NE(sky, plain);
  EXPECT_NE(picture("--environment sky --tone filmic"), sky);
  const render::Rgb8 corner = render::read_png(folder_ / "a.png").pixels.front();
  picture("--environment @red.hdr --camera -90,30,300,-180,60,600,40");
  const render::Rgb8 background = render::read_png(folder_ / "a.png").pixels.front();
  EXPECT_GT(background.r, background.b + 40);
  EXPECT_NE(background, corner);
}

TEST_F(RenderLight, WritesExr) {
  output(small("-o @a.exr"));
  EXPECT_EQ(read_file(folder_ / "a.exr").substr(0, 4), "\x76\x2f\x31\x01");
}

}  // namespace
}  // namespace heapwood::tests
