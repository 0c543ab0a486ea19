// SPDX-License-Identifier: MIT
// Materials, the camera's path, and what is kept between runs: recent scenes, sizes of the parts.
#include <algorithm>

#include "render/camera_path.hpp"
#include "tests/viewer/program.hpp"
#include "viewer/camera.hpp"
#include "viewer/settings.hpp"

namespace heapwood::viewer {

namespace {

TEST(CameraPath, KeepsTheMovementInFewKeys) {
  CameraPath path;
  render::Camera camera{{0, 1, 5}, {0, 1, 0}, 40, 1};
  for (int i = 0; i <= 100; ++i) {
    camera.eye.x = i <= 50 ? 0.02f * static_cast<float>(i) : 1;
    camera.eye.y = i <= 50 ? 1 : 1 + 0.05f * static_cast<float>(i - 50);
    path.add(0.1 * i, camera);
  }
  EXPECT_LT(path.keys().size(), 8u);
  EXPECT_NEAR(path.seconds(), 10, 1e-9);
  EXPECT_NEAR(path.at(2.5).eye.x, 0.5f, 1e-3);
  EXPECT_NEAR(path.at(99).eye.y, 3.5f, 1e-5);
  const Vec3d origin{1000, 0, 0};
  const CameraPath read = CameraPath::parse("# a comment\n\n" + path.text(origin), "p", 1, origin);
  ASSERT_EQ(read.keys().size(), path.keys().size());
  EXPECT_NEAR(read.at(7.5).eye.y, path.at(7.5).eye.y, 1e-3);
  EXPECT_EQ(read.keys()[0].camera.up, 1u);
  for (const char* wrong :
       {"", "# none\n", "0 1 2 3\n", "0 0 0 1 0 0 0 40\n0 0 0 2 0 0 0 40\n", "x 0 0 1 0 0 0 40\n"})
    EXPECT_THROW(CameraPath::parse(wrong, "p", 1, {}), Error) << wrong;
}

// Comments after a key, times that begin anywhere; and what render refuses.
TEST(CameraPath, ReadsTheFilesOfRender) {
  const std::string text = "-1 0 0 1 0 0 0 40  # the first key\n1 0 0 3 0 0 0 60\n";
  const CameraPath path = CameraPath::parse(text, "p", 1, {});
  EXPECT_EQ(path.seconds(), 2);
  EXPECT_EQ(path.at(1).eye, (Vec3{0, 0, 2}));
  const render::CameraPath file = render::CameraPath::parse(text, "p");
  EXPECT_EQ(path.at(2).eye, file.at(2, 1).eye);
  EXPECT_THROW(CameraPath::parse("0 0 0 1 0 0 0 40\n", "p", 1, {}), Error);
  EXPECT_THROW(CameraPath::parse("0 1e9 0 0 1000000001 0 0 40\n1 0 0 1 0 0 0 40\n", "p", 1, {}),
               Error);
}

TEST(Settings, RecentScenesAreUniqueAndFew) {
  Settings settings;
  for (int i = 0; i < 20; ++i) note_recent(settings, "scene " + std::to_string(i % 12));
  EXPECT_EQ(settings.recent.size(), Settings::max_recent);
  EXPECT_EQ(settings.recent.front(), "scene 7");
  note_recent(settings, "scene 4");
  EXPECT_EQ(settings.recent.front(), "scene 4");
  EXPECT_EQ(std::count(settings.recent.begin(), settings.recent.end(), "scene 4"), 1);
}

}  // namespace

}  // namespace heapwood::viewer

namespace heapwood::tests {

namespace {

class Views : public Program {};

// A file's colours are those that `heapwood render` shows; M switches to clay.
TEST_F(Views, ColoursAndClay) {
  write_file(path("red.mtl"), "newmtl red\nKd 0.9 0.1 0.1\n");
  write_file(path("fan.obj"), "mtllib red.mtl\nusemtl red\n" + obj_text(60));
  const std::string camera = "8,6,35,8,6,5,40";
  const auto r = reports("@fan.obj --camera " + camera,
                         "wait built; REPORT; screenshot @scene.png 160x120 4; key M; REPORT; "
                         "screenshot @clay.png 160x120 4; key 8; REPORT");
  EXPECT_EQ(r[0]["material"], "scene");
  EXPECT_EQ(r[1]["material"], "clay");
  EXPECT_EQ(r[2]["mode"], "albedo");
  for (const std::string material : {"scene", "clay"}) {
    heapwood("render @fan.obj -o @render.png --size 160x120 --spp 4 --device cpu --camera " +
             camera + " --material " + material);
    EXPECT_EQ(picture(material + ".png"), picture("render.png")) << material;
  }
  EXPECT_NE(picture("scene.png"), picture("clay.png"));
}

TEST_F(Views, ThePathOfTheCameraIsRecordedAndPlayed) {
  const std::string file = "atrium-1k-001.path";
  std::filesystem::remove(file);
  run("atrium:1k --mode normals --spp 1",
      "wait built; key R; wait 0.1; hold W 0.4; wait 0.1; key R; report @moved; key Home; wait "
      "0.1; report @home; drop " +
          file + "; wait 1.2; report @played");
  EXPECT_GE(json("moved")["path_keys"], 2);
  EXPECT_NE(json("moved")["camera"], json("home")["camera"]);
  EXPECT_EQ(json("played")["camera"], json("moved")["camera"]);
  const std::string text = read_file(file);
  std::filesystem::remove(file);
  EXPECT_EQ(text.substr(0, 2), "# ") << text;
  const viewer::CameraPath path = viewer::CameraPath::parse(text, file, 1, {});
  EXPECT_EQ(path.keys().size(), json("moved")["path_keys"].get<std::size_t>());
}

// The edges between the parts can be dragged, and stay where they are in the next run.
TEST_F(Views, PartsAndRecentScenesAreKept) {
  const auto run = [&](const std::string& steps) {
    return Program::run(
        "atrium:1k --settings @settings.json --size 1280x800 --mode normals --spp 1",
        "wait built; " + steps + "; wait 0.2");
  };
  const Json dragged =
      run("drag 880 500 760 500; click scene path; type pipes:1k; key Enter; wait built 2");
  EXPECT_NEAR(dragged["panel_widths"][1].get<double>(), 520, 8);
  EXPECT_EQ(dragged["recent"], Json({"pipes:1k", "atrium:1k"}));
  const Json again = run("wait 0.1");
  EXPECT_EQ(again["panel_widths"], dragged["panel_widths"]);
  EXPECT_EQ(again["recent"], Json({"atrium:1k", "pipes:1k"}));
}

}  // namespace

}  // namespace heapwood::tests
