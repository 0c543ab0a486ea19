// SPDX-License-Identifier: MIT
// A glTF file that moves: node transforms, skins and morph targets at any time of one of its
// animations. Triangles, materials and the origin are the same at all times.
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

class GltfAnimation {
 public:
  // Throws Error{Exit::scene} as parse_gltf() does.
  explicit GltfAnimation(const std::string& path, Content content = Content::geometry);
  GltfAnimation(std::span<const std::byte> file, const std::string& source,
                Content content = Content::geometry);
  GltfAnimation(GltfAnimation&&) noexcept;
  GltfAnimation& operator=(GltfAnimation&&) noexcept;
  ~GltfAnimation();

  // The animations of the file; 0: nothing moves.
  std::size_t count() const;
  const std::string& name(std::size_t animation) const;  // may be empty
  double duration(std::size_t animation) const;          // seconds

  // The scene at rest, as parse_gltf() returns it.
  const Mesh& rest() const { return rest_; }
  // Sets `vertices` to those at a time, clamped to [0, duration]. Throws Error{Exit::scene} if one
  // is not finite. Thread-safe.
  void vertices_at(std::size_t animation, double seconds, std::vector<Vec3>& vertices) const;
  Mesh mesh_at(std::size_t animation, double seconds) const;

 private:
  std::unique_ptr<gltf::Model> model_;
  Mesh rest_;
};

}  // namespace heapwood::scenes
