// SPDX-License-Identifier: MIT
// Reads glTF 2.0 files, .gltf and .glb: the triangles of the default scene with all instances,
// skins and morph targets at rest; if requested also base colour, alpha and emission with their
// textures. A material has one set of texture coordinates. Ignored, with a note:
// metallic-roughness, normal and occlusion maps; points and lines. Files that require an
// unsupported extension, such as Draco compression, are rejected.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

namespace gltf {
class Model;
}

// Throws Error{Exit::scene}: "source: accessors[3]: reason". The result has a triangle, finite
// vertices and valid indices. Buffers and textures are read from the directory of `source`;
// the memory used is bounded by the size of the files.
Mesh parse_gltf(std::span<const std::byte> file, const std::string& source,
                Content content = Content::geometry);

// The files that a document names for its buffers and images, whether they exist or not; none for a
// document that cannot be read.
std::vector<std::string> gltf_file_names(std::span<const std::byte> file, const std::string& source,
                                         bool with_images = true);

// A file that moves: node transforms, skins and morph targets at any time of one of its animations.
// Triangles, materials and the origin do not change. Thread-safe.
class GltfAnimation {
 public:
  // Throws what parse_gltf() throws.
  GltfAnimation(std::span<const std::byte> file, const std::string& source,
                Content content = Content::geometry);

  // The number of animations in the file; 0: nothing moves.
  std::size_t count() const;
  const std::string& name(std::size_t animation) const;  // may be empty
  double duration(std::size_t animation) const;          // seconds

  // The scene at rest, as parse_gltf() returns it.
  const Mesh& rest() const { return rest_; }
  // The scene at a time clamped to [0, duration]. Throws Error{Exit::scene} if a vertex is not
  // finite.
  Mesh mesh_at(std::size_t animation, double seconds) const;

 private:
  std::shared_ptr<gltf::Model> model_;
  Mesh rest_;
};

}  // namespace heapwood::scenes
