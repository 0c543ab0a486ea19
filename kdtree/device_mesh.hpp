// SPDX-License-Identifier: MIT
// A mesh in device memory, uploaded once and shared by all builds of a scene.
#pragma once

#include "kdtree/tree.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

struct DeviceMesh {
  simt::Buffer<Vec3> vertices;
  simt::Buffer<Triangle> triangles;

  DeviceMesh(const simt::DeviceId& device, const MeshView& mesh)
      : vertices(device, mesh.vertices), triangles(device, mesh.triangles) {}
  const simt::DeviceId& device() const { return triangles.device(); }
};

}  // namespace heapwood::kdtree
