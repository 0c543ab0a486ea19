// SPDX-License-Identifier: MIT
// Cameras of scenes far from the file's origin: text is in the file's coordinates, cameras are
// relative to the mesh's origin.
#include <gtest/gtest.h>

#include "bench/scene_camera.hpp"
#include "tests/app/executable.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::bench {
namespace {

struct FarScene {
  FarScene() : soup(render::closed_surface(4, 1)) {
    mesh.origin = {500000.125, 4600000, 1e-3};
    mesh.vertices = soup.vertices;
    mesh.triangles = soup.triangles;
    scene.emplace(render::test_device(), render::MedianBuilder::build(soup.view()), soup.view());
  }
  render::Camera choose(const CameraOptions& options, const std::string& source = "far.obj") const {
    return choose_camera(options, source, mesh, *scene, 1);
  }

  render::Soup soup;
  scenes::Mesh mesh;
  std::optional<render::Scene> scene;
};

TEST(SceneCamera, IsGivenInTheFilesCoordinates) {
  const FarScene far;
  const render::Camera camera =
      far.choose({"500004.125,4600001,5.001,500000.125,4600000,0.001,40", "z"});
  EXPECT_EQ(camera.eye, (Vec3{4, 1, 5}));
  EXPECT_EQ(camera.target, (Vec3{0, 0, 0}));
  EXPECT_EQ(camera.up, 2u);

  const tests::Folder folder;
  tests::write_file(folder / "far.obj", "");
  tests::write_file(folder / "far.camera",
                    "# a view\n500004.125,4600001,5.001,500000.125,4600000,0.001,40 --up z\n");
  const render::Camera beside = far.choose({}, folder / "far.obj");
  EXPECT_EQ(beside.eye, camera.eye);
  EXPECT_EQ(beside.up, 2u);
}

TEST(SceneCamera, AutomaticCamerasReadBackToTheSameBits) {
  const FarScene far;
  const render::Camera found = far.choose({});
  const std::string text = to_string(found, far.mesh.origin);
  EXPECT_NE(text.find(",4600000,"), std::string::npos) << text;
  const render::Camera back = far.choose({text, "y"});
  EXPECT_EQ(back.eye, found.eye) << text;
  EXPECT_EQ(back.target, found.target) << text;
  EXPECT_EQ(back.fov, found.fov) << text;
}

TEST(SceneCamera, LinesAreReadAsTheyArePrinted) {
  const render::Camera camera{{1, 2, 3}, {4, 5, 6}, 40, 0};
  for (const std::string prefix :
       {"", "--camera ", "camera: ", "\xef\xbb\xbf", "\n# comment\n\n  camera   "}) {
    const render::Camera read =
        parse_camera_line(prefix + to_arguments(camera) + " # more\n\n# rest\n", {});
    EXPECT_EQ(read.eye, camera.eye);
    EXPECT_EQ(read.up, 0u);
  }
  for (const char* wrong : {"", "# nothing", "1,2,3,4,5,6,40\n1,2,3,4,5,6,50", "--camera",
                            "1,2,3,4,5,6,40 --up", "1,2,3,4,5,6,40 up z", "1,2,3,4,5,6,40 z y"}) {
    EXPECT_THROW(parse_camera_line(wrong, {}), Error) << wrong;
  }
}

}  // namespace
}  // namespace heapwood::bench
