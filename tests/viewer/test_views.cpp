// SPDX-License-Identifier: MIT
// Materials, the camera's path, and what is kept between runs: recent scenes, sizes of the parts.
#include <algorithm>

#include "render/camera_path.hpp"
#include "simt/error.hpp"
#include "tests/viewer/program.hpp"
#include "viewer/camera_path.hpp"
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

using Json = nlohmann::json;

class Views : public Program {};

// A file's colours are those that `heapwood render` shows; M switches to clay.
TEST_F(Views, ColoursAndClay) {
  write_file(path("red.mtl"), "newmtl red\nKd 0.9 0.1 0.1\n");
  write_file(path("fan.obj"), "mtllib red.mtl\nusemtl red\n" + obj_text(60));
  const std::string size = "160x120", camera = "8,6,35,8,6,5,40";
  const Outcome outcome = view({path("fan.obj"), "--camera", camera},
                               "wait built\nreport " + path("scene") + "\nscreenshot " +
                                   path("scene.png") + " " + size + " 4\nkey M\nwait 0.1\nreport " +
                                   path("clay") + "\nscreenshot " + path("clay.png") + " " + size +
                                   " 4\nkey 8\nwait 0.1\nreport " + path("albedo") + "\n");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(json("scene")["material"], "scene");
  EXPECT_EQ(json("clay")["material"], "clay");
  EXPECT_EQ(json("albedo")["mode"], "albedo");
  for (const std::string material : {"scene", "clay"}) {
    const Outcome rendered =
        heapwood({"render", path("fan.obj"), "-o", path("render.png"), "--size", size, "--spp", "4",
                  "--camera", camera, "--material", material, "--device", "cpu"});
    ASSERT_EQ(rendered.exit, 0) << rendered.err;
    EXPECT_EQ(render::read_png(path(material + ".png")), render::read_png(path("render.png")))
        << material;
  }
  EXPECT_NE(render::read_png(path("scene.png")), render::read_png(path("clay.png")));
}

TEST_F(Views, ThePathOfTheCameraIsRecordedAndPlayed) {
  const std::string file = "atrium-1k-001.path";
  std::filesystem::remove(file);
  const Outcome outcome =
      view({"atrium:1k", "--mode", "normals", "--spp", "1"},
           "wait built\nkey R\nwait 0.1\nhold W 0.4\nwait 0.1\nkey R\nreport " + path("moved") +
               "\nkey Home\nwait 0.1\nreport " + path("home") + "\ndrop " + file +
               "\nwait 1.2\nreport " + path("played") + "\n");
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
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
    const Outcome outcome =
        view({"atrium:1k", "--settings", path("settings.json"), "--size", "1280x800", "--mode",
              "normals", "--spp", "1"},
             "wait built\n" + steps + "wait 0.2\nreport " + path("report") + "\n");
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return json("report");
  };
  const Json dragged =
      run("drag 880 500 760 500\nclick scene path\ntype pipes:1k\nkey Enter\n"
          "wait built 2\n");
  EXPECT_NEAR(dragged["panel_widths"][1].get<double>(), 520, 8);
  EXPECT_EQ(dragged["recent"], Json({"pipes:1k", "atrium:1k"}));
  const Json again = run("");
  EXPECT_EQ(again["panel_widths"], dragged["panel_widths"]);
  EXPECT_EQ(again["recent"], Json({"atrium:1k", "pipes:1k"}));
}

}  // namespace

}  // namespace heapwood::tests
