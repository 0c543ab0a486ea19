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

// `model.camera` beside `model.ply`: the seven numbers of --camera, then, if it is not y, the up axis; '#' begins a comment.
// Throws Error{Exit::scene} if there is such a file and it cannot be read as that.
render::Camera choose_camera(const CameraOptions& options, const std::string& source, const scenes::Mesh& mesh,
                             const render::Scene& scene, double aspect);

}  // namespace heapwood::app
