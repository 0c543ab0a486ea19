// SPDX-License-Identifier: MIT
// A glTF scene with its geometry decoded: primitives, their instances, skins and animations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenes/gltf_pose.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::scenes::gltf {

class Model {
 public:
  // Without `animated` no animation is read.
  Model(std::span<const std::byte> file, const std::string& source, Content content, bool animated);

  const std::vector<Clip>& clips() const { return clips_; }
  const std::string& clip_name(std::size_t i) const { return document_.animations[i].name; }

  // Moves the mesh at rest out of the model. Call it once.
  Mesh take_rest() { return std::move(rest_); }
  // x y z of all its vertices; `clip` may be null. Throws Error{Exit::scene} if one is not finite.
  std::vector<double> coordinates(const Clip* clip, double seconds) const;

 private:
  // A primitive, decoded once for all its instances.
  struct Part {
    const Primitive* source = nullptr;
    std::vector<Vec3> positions;
    std::vector<std::vector<Vec3>> targets;  // empty: a target without positions
    std::vector<Triangle> triangles;
    std::vector<Uv> uvs;
    std::vector<std::uint32_t> colours;
    std::vector<std::uint32_t> joints;  // of a skin: four per vertex
    std::vector<float> weights;
  };
  struct Instance {
    std::uint32_t node = none;
    std::size_t part = 0;
  };

  void read_parts(Content content, Accessors& accessors);
  void read_part(const Primitive& primitive, Content content, Accessors& accessors, Part& part);
  void read_uvs(const Primitive& primitive, Accessors& accessors, Part& part) const;
  void read_skins(Accessors& accessors);
  void add_triangles();
  void add_materials(const std::string& path, const Accessors& accessors);
  void add_camera(const Pose& pose);
  template <class... Parts>
  void note(const Parts&... parts) {
    rest_.notes.push_back(concat(source_, ": ", parts...));
  }
  // `joints`: transforms of the joints of the instance's skin, if it has one.
  void append(const Instance& instance, const Pose& pose, const std::vector<Affine>& joints,
              std::vector<double>& xyz) const;

  std::string source_;
  Document document_;
  std::vector<Part> parts_;
  std::vector<Instance> instances_;
  std::vector<std::vector<Affine>> inverse_bind_;  // of each skin's joints
  std::vector<Clip> clips_;
  std::size_t unweighted_ = 0;  // vertices
  Mesh rest_;
};

}  // namespace heapwood::scenes::gltf
