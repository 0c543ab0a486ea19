// SPDX-License-Identifier: MIT
// A tree and its mesh in device memory, ready for tracing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kdtree/device_mesh.hpp"
#include "render/backend.hpp"
#include "render/device_materials.hpp"

namespace heapwood::render {

// Whether the coordinates of a mesh are too coarse for the fast test, whose rounding errors grow
// with the distance from the origin: most of its area is in small triangles, or in a small part of
// the scene, as in a small model beside a far outlier. O(triangles).
bool is_coarse(const kdtree::MeshView& mesh, const Box& bounds);

class Scene {
 public:
  // Uploads tree and mesh and computes the triangle records on the device. The mesh must outlive
  // the scene, the tree need not. A coarse mesh is traced with the watertight test, whether asked
  // for or not. Equal trees give equal hits on a device, whatever the order of the refs in their
  // leaves. Throws Error if memory is exhausted.
  // `appearance`, if any, belongs to the mesh and need not outlive the scene; without it all
  // pictures are in clay.
  Scene(const simt::DeviceId& device, const kdtree::Tree& tree, const kdtree::MeshView& mesh,
        bool watertight = false, const Appearance* appearance = nullptr);

  const simt::DeviceId& device() const { return mesh_.device(); }
  const Box& bounds() const { return data_.bounds; }
  const kdtree::MeshView& mesh() const { return host_; }
  bool watertight() const { return data_.watertight; }
  const SceneData& data() const { return data_; }
  const DeviceMaterials& materials() const { return materials_; }

  // Milliseconds of the launches that reordered the tree depth-first; absent if the tree was not
  // reordered.
  std::optional<double> order_ms() const { return order_ms_; }
  // Computes the triangle records again; returns milliseconds by the host's clock, including the
  // launch.
  double fill_records() const;

  // Trace rays from host memory. closest: closest hits. occluded: Hit::found() tells whether there
  // is any hit; the other members are not set.
  std::vector<kdtree::Hit> closest(std::span<const kdtree::Ray> rays) const;
  std::vector<kdtree::Hit> occluded(std::span<const kdtree::Ray> rays) const;
  // Unit normal of a triangle, on the ray's side.
  Vec3 normal(std::uint32_t triangle, const kdtree::Ray& ray) const;
  // True if the ray hits the triangle's back: its corners are in clockwise order as seen from the
  // origin.
  bool seen_from_behind(std::uint32_t triangle, const kdtree::Ray& ray) const;

 private:
  std::vector<kdtree::Hit> trace(std::span<const kdtree::Ray> rays, bool any) const;

  kdtree::MeshView host_;
  kdtree::DeviceMesh mesh_;
  kdtree::TreeArrays tree_;
  simt::Memory records_;
  std::optional<double> order_ms_;
  DeviceMaterials materials_;
  SceneData data_{};
};

}  // namespace heapwood::render
