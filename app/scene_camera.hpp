// SPDX-License-Identifier: MIT
// Where a scene is looked at from: --camera, else a file beside the scene, else the scene's own, else found by looking.
#pragma once

#include <string>

#include "render/camera.hpp"
#include "render/scene.hpp"
#include "scenes/mesh.hpp"

namespace CLI {
class App;
}

namespace heapwood::app {

struct CameraOptions {
  std::string camera, up;  // as given; empty: not given
};

void add_camera_options(CLI::App& app, CameraOptions& options);
// Throws Error{Exit::usage} for what cannot be read, before anything is built.
void check_camera(const CameraOptions& options);

// A camera as render, trace and the viewer print it: seven numbers as --camera takes them, then the up axis if it is not y (`z` or
// `--up z`). The first line with words counts; a word `--camera` or `camera` before the numbers is skipped, '#' begins a
// comment. Throws Error{Exit::usage}.
render::Camera parse_camera_line(const std::string& text, const Vec3d& origin);

// `model.camera` beside `model.ply` holds such a line. Throws Error{Exit::scene} if there is such a file and it cannot be read
// as that. Warns if the camera sees nothing of the scene. The camera has a text that reads back to the same bits.
render::Camera choose_camera(const CameraOptions& options, const std::string& source, const scenes::Mesh& mesh,
                             const render::Scene& scene, double aspect);

}  // namespace heapwood::app
