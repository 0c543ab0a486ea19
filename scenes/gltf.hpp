// SPDX-License-Identifier: MIT
// glTF 2.0 files, .gltf and .glb: the triangles of the default scene with all instances, skins and
// morph targets at rest; on request base colour, alpha and emission with their textures. A material
// has one set of texture coordinates. Ignored, with a note: metallic-roughness, normal and
// occlusion maps; points and lines. Files that require an unsupported extension, such as Draco
// compression, are rejected. gltf_animation.hpp moves the scene.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

inline bool is_gltf(const std::string& extension) {
  return extension == ".gltf" || extension == ".glb";
}

// Throws Error{Exit::scene}: "source: accessors[3]: reason". The result has a triangle, finite
// vertices and valid indices. Buffers and textures are read from the directory of `source`; memory
// is bounded by their size.
Mesh parse_gltf(std::span<const std::byte> file, const std::string& source,
                Content content = Content::geometry);

// The files that hold the buffers of a .gltf file; none for a file that cannot be read.
std::vector<std::string> gltf_buffer_files(std::span<const std::byte> file,
                                           const std::string& source);

// The names of the files of a document's buffers and images, whether they exist or not; none for a
// document that cannot be read.
std::vector<std::string> gltf_file_names(std::span<const std::byte> file,
                                         const std::string& source);

}  // namespace heapwood::scenes
