// SPDX-License-Identifier: MIT
// Chooses the camera of a scene: that of --camera, or else of a file next to the scene, or else of
// the scene itself, or else an automatic one.
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
// Throws Error{Exit::usage} if an option cannot be parsed. Called before anything is built.
void check_camera(const CameraOptions& options);

// Parses a camera as render, trace and the viewer print it: the seven numbers of --camera, then the
// up axis if it is not y (`z` or `--up z`). A leading `--camera` or `camera` is skipped; '#' starts
// a comment. Throws Error{Exit::usage}, also if a second line has more than a comment.
render::Camera parse_camera_line(const std::string& text, const Vec3d& origin);

// Warns of a scene whose extent is not between 1e-18 and 1e18, outside of which rays cannot be
// traced reliably, and throws Error{Exit::scene} from 1e37. Builds are not limited.
void check_extent(const std::string& source, const scenes::Mesh& mesh);

// Chooses the camera; calls check_extent(). Throws Error{Exit::scene} if the file at
// scenes::camera_path() does not contain a camera line. Warns if the camera sees nothing of the
// scene. Printing the camera and parsing the text gives the same bits.
render::Camera choose_camera(const CameraOptions& options, const std::string& source,
                             const scenes::Mesh& mesh, const render::Scene& scene, double aspect);

}  // namespace heapwood::bench
