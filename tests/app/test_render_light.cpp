// SPDX-License-Identifier: MIT
// heapwood render: camera paths, environments, tone curves and EXR files.
#include "tests/render/pictures.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

namespace fs = std::filesystem;

class RenderLight : public Executable {
 protected:
  void SetUp() override {
    Executable::SetUp();
    scene_ = folder_ / "scene.obj";
    write_file(scene_, obj_text(60));
  }
  std::vector<std::string> small(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"render", scene_,     "--size", "32x16",     "--spp",
                                       "2",      "--device", "cpu",    "--threads", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string path_file(const std::string& text) const {
    write_file(folder_ / "path.txt", text);
    return folder_ / "path.txt";
  }

  std::string scene_;
};

constexpr const char* flight = "# two seconds\n0 -9 3 30 8 6 5 40\n2 9 3 30 8 6 5 50\n";

TEST_F(RenderLight, APathBecomesNumberedPictures) {
  const std::string pattern = folder_ / "f_##.png";
  const Outcome outcome =
      run(small({"--path", path_file(flight), "--fps", "2", "-o", pattern, "--up", "y"}));
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("5 frames, 2 per second, 2 keys"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(folder_ / "f_05.png"));
  // The first frame is the picture of the first key.
  ASSERT_EQ(
      run(small({"--camera", "-9,3,30,8,6,5,40", "--up", "y", "-o", folder_ / "one.png"})).exit, 0);
  EXPECT_EQ(read_file(folder_ / "f_00.png"), read_file(folder_ / "one.png"));
  EXPECT_NE(read_file(folder_ / "f_04.png"), read_file(folder_ / "one.png"));
  EXPECT_EQ(render::read_png(folder_ / "f_04.png").width, 32u);
  // An editor may add a byte order mark.
  const std::string first = read_file(folder_ / "f_00.png");
  ASSERT_EQ(run(small({"--path", path_file("\xef\xbb\xbf" + std::string(flight).substr(14)),
                       "--fps", "2", "-o", pattern, "--up", "y"}))
                .exit,
            0);
  EXPECT_EQ(read_file(folder_ / "f_00.png"), first);
}

TEST_F(RenderLight, WrongPathsAreRefused) {
  const std::string pattern = folder_ / "f_##.png";
  expect_error(small({"--path", path_file("0 1 2 3 4 5 6 40\n1 2 3\n"), "-o", pattern}), 3,
               {"path.txt: line 2: expected 8 numbers"});
  expect_error(small({"--path", folder_ / "none.txt", "-o", pattern}), 3,
               {"none.txt: no such file"});
  // Eye and target meet between the keys.
  expect_error(small({"--path", path_file("0 -1 0 0 0 0 0 40\n2 1 0 0 0 0 0 40\n"), "--fps", "1",
                      "-o", pattern}),
               3, {"path.txt: 1 s after the first key", "same point"});
  expect_error(
      small({"--path", path_file("0 0 0 0 1 0 0 40\n900000 1 0 0 2 0 0 40\n"), "-o", pattern}), 3,
      {"path.txt: at 30 frames/s", "100000"});
  expect_error(small({"--path", path_file(flight), "-o", folder_ / "a.png"}), 2, {"frame_###.png"});
  expect_error(small({"--path", path_file(flight), "-o", pattern, "--camera", "1,2,3,4,5,6,40"}), 2,
               {"--camera and --path"});
  expect_error(small({"--path", path_file(flight), "-o", path_file(flight)}), 2, {"path.txt"});
}

TEST_F(RenderLight, EnvironmentsLightPaths) {
  std::string hdr = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 4\n";
  for (int i = 0; i < 8; ++i) hdr += std::string{'\x40', '\x20', '\x10', '\x81'};
  write_file(folder_ / "red.hdr", hdr);
  const auto picture = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = small({"--mode", "path", "-o", folder_ / "a.png"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return read_file(folder_ / "a.png");
  };
  const std::string plain = picture({}), sky = picture({"--environment", "sky"}),
                    red = picture({"--environment", folder_ / "red.hdr"});
  EXPECT_NE(sky, plain);
  EXPECT_NE(picture({"--environment", "sky", "--tone", "filmic"}), sky);
  const render::Rgb8 corner = render::read_png(folder_ / "a.png").pixels.front();
  picture({"--environment", folder_ / "red.hdr", "--camera", "-90,30,300,-180,60,600,40"});
  const render::Rgb8 background = render::read_png(folder_ / "a.png").pixels.front();
  EXPECT_GT(background.r, background.b + 40);
  EXPECT_NE(background, corner);

  const auto wrong = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = small({"-o", folder_ / "a.png"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_error(wrong({"--environment", "sky"}), 2, {"--environment", "--mode path"});
  expect_error(wrong({"--mode", "path", "--environment", folder_ / "none.hdr"}), 3,
               {"none.hdr: no such file"});
  expect_error(wrong({"--mode", "path", "--environment", scene_}), 3,
               {"scene.obj: it is not a Radiance picture (.hdr)"});
  fs::copy_file(folder_ / "a.png", folder_ / "b.png");
  expect_error(wrong({"--mode", "path", "--environment", folder_ / "b.png"}), 3,
               {"b.png: it is not a Radiance picture (.hdr)"});
  expect_error(wrong({"--tone", "loud"}), 2, {"tone 'loud'", "filmic"});
}

TEST_F(RenderLight, OptionsWithoutEffectAreRefused) {
  expect_error(small({"-o", folder_ / "a.png", "--fps", "30"}), 2, {"--fps", "add --path"});
  for (const char* tone : {"filmic", "standard"})
    expect_error(small({"-o", folder_ / "a.exr", "--tone", tone}), 2, {"--tone", "linear light"});
}

TEST_F(RenderLight, WritesExr) {
  ASSERT_EQ(run(small({"-o", folder_ / "a.exr"})).exit, 0);
  EXPECT_EQ(read_file(folder_ / "a.exr").substr(0, 4), "\x76\x2f\x31\x01");
}

}  // namespace
}  // namespace heapwood::tests
