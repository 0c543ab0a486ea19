// SPDX-License-Identifier: MIT
// The camera of a scene: --camera, else a file beside the scene, else the scene's own, else
// automatic.
#pragma once

#include <string>

#include "bench/program/command_options.hpp"
#include "render/camera.hpp"
#include "render/scene.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::bench {

struct CameraOptions {
  std::string camera, up;  // as on the command line; "": not given
};

void add_camera_options(CommandOptions& command, CameraOptions& options);
// Throws Error{Exit::usage} if an option cannot be parsed; called before anything is built.
void check_camera(const CameraOptions& options);

// Parses a camera as render, trace and the viewer print it: the seven numbers of --camera, then the
// up axis if it is not y (`z` or `--up z`). A leading `--camera` or `camera` is skipped; '#' starts
// a comment. Throws Error{Exit::usage}, also if a second line has more than a comment.
render::Camera parse_camera_line(const std::string& text, const Vec3d& origin);

// Rays are traced in scenes of an extent between 1e-18 and 1e18; builds are not limited. Warns of
// another extent, and throws Error{Exit::scene} from 1e37.
void check_extent(const std::string& source, const scenes::Mesh& mesh);

// Calls check_extent(). The file at scenes::camera_path() contains such a line; throws
// Error{Exit::scene} if it cannot be parsed. Warns if the camera sees nothing of the scene. The
// camera's text reads back to the same bits.
render::Camera choose_camera(const CameraOptions& options, const std::string& source,
                             const scenes::Mesh& mesh, const render::Scene& scene, double aspect);

}  // namespace heapwood::bench
