// SPDX-License-Identifier: MIT
// A scene with its finished tree. Immutable once a job has made it, so that the window, the ray
// tracer and the next job can share it.
#pragma once

#include <memory>

#include "bench/results/result.hpp"
#include "kdtree/tree.hpp"
#include "render/camera.hpp"
#include "render/lighting.hpp"
#include "render/scene.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::viewer {

struct BuiltScene {
  std::string source, name;
  scenes::Mesh mesh;
  kdtree::Tree tree;
  unsigned depth = 0;  // of the deepest leaf
  simt::DeviceInfo device;
  std::string allocator;                  // id of the allocator
  std::unique_ptr<render::Scene> traced;  // refers to the mesh
  render::Camera home;                    // initial camera
  bool interior = false;                  // the initial camera is inside the scene
  render::Lighting lighting;              // chosen for `home`

  float diagonal() const { return tree.bounds.empty() ? 1.0f : length(tree.bounds.extent()); }
  kdtree::MeshView view() const { return {mesh.vertices, mesh.triangles}; }
};

// Adds the colours of its source, if there are any, and its notes to a mesh as builds use it. Reads
// the source again, and throws what scenes::load() throws.
void add_appearance(scenes::Mesh& mesh, const std::string& source);

// Takes the mesh and the tree, and chooses camera and light. That costs a few hundred thousand rays
// if the scene has no camera or `up` is not the scene's axis. With `earlier`, another frame of this
// scene, camera and light are taken from there.
std::shared_ptr<const BuiltScene> make_built_scene(std::string source, std::string name,
                                                   scenes::Mesh mesh, kdtree::Tree tree,
                                                   const simt::DeviceInfo& device,
                                                   const std::string& allocator,
                                                   std::optional<unsigned> up = {},
                                                   const BuiltScene* earlier = nullptr);

}  // namespace heapwood::viewer
