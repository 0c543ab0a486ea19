// SPDX-License-Identifier: MIT
// The files that belong to a scene file.
#pragma once

#include <string>
#include <vector>

namespace heapwood::scenes {

// The existing files that a scene file names: the material libraries of an OBJ file with their
// pictures, the buffers and pictures of a glTF file, whatever a command reads of them. Reads the
// scene file and its libraries, but decodes nothing. None for a procedural scene and for a file
// that cannot be read.
std::vector<std::string> companion_files(const std::string& name_or_path);

// The file beside a scene file that may hold its camera: `model.camera` beside `model.ply`.
std::string camera_path(const std::string& source);

}  // namespace heapwood::scenes
