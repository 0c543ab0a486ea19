// SPDX-License-Identifier: MIT
// A mesh in device memory, uploaded once and shared by all builds of a scene.
#pragma once

#include <string>
#include <utility>

#include "kdtree/tree.hpp"
#include "simt/error.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

// Max triangles of a scene for which a tree is built.
inline constexpr std::size_t max_triangles = (std::size_t{1} << 28) - 1;

// Throws Error{Exit::failed} if a scene has more than max_triangles.
inline void require_buildable(std::size_t triangles) {
  if (triangles <= max_triangles) return;
  throw Error(Exit::failed, "the scene has " + std::to_string(triangles) +
                                " triangles, but a builder takes at most " +
                                std::to_string(max_triangles) + "; use a smaller scene");
}

struct DeviceMesh {
  simt::Buffer<Vec3> vertices;
  simt::Buffer<Triangle> triangles;

  DeviceMesh(const simt::DeviceId& device, const MeshView& mesh)
      : vertices(device, mesh.vertices), triangles(device, mesh.triangles) {}
  DeviceMesh(simt::Buffer<Vec3>&& vertices, simt::Buffer<Triangle>&& triangles)
      : vertices(std::move(vertices)), triangles(std::move(triangles)) {}
  const simt::DeviceId& device() const { return triangles.device(); }
};

}  // namespace heapwood::kdtree
