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

class Scene {
 public:
  // Uploads tree and mesh and computes the triangle records on the device. The mesh must outlive
  // the scene, the tree need not. On a device equal trees give equal hits, whatever the order of
  // the refs in their leaves. Throws Error if memory is exhausted.
  //
  // `appearance`, if not nullptr, belongs to the mesh and need not outlive the scene. Without it
  // all pictures are in clay.
  Scene(const simt::DeviceId& device, const kdtree::Tree& tree, const kdtree::MeshView& mesh,
        bool watertight = false, const Appearance* appearance = nullptr);

  // A scene of trees that stay where builders leave them in device memory; see show().
  Scene(const simt::DeviceId& device, bool watertight);
  // Traces another tree, not in depth-first order. Tree, mesh and materials must stay there until
  // the next call. Returns whether no memory had to be allocated.
  bool show(const kdtree::DeviceTree& tree, const kdtree::DeviceMesh& mesh,
            const MaterialView& materials = {});

  const simt::DeviceId& device() const { return mesh_.device(); }
  const Box& bounds() const { return data_.bounds; }
  const kdtree::MeshView& mesh() const { return host_; }
  bool watertight() const { return data_.watertight; }
  const SceneData& data() const { return data_; }
  const DeviceMaterials& materials() const { return materials_; }

  // Milliseconds of the launches that made the depth-first order; absent if the tree was not
  // reordered.
  std::optional<double> order_ms() const { return order_ms_; }
  // Computes the triangle records again; returns milliseconds on the host's clock, with the launch.
  double fill_records() const;

  // Trace rays from host memory. closest() returns closest hits. occluded() only finds out whether
  // there is a hit: Hit::found() tells, and the other members are not set.
  std::vector<kdtree::Hit> closest(std::span<const kdtree::Ray> rays) const;
  std::vector<kdtree::Hit> occluded(std::span<const kdtree::Ray> rays) const;
  // The unit normal of a triangle, on the ray's side.
  Vec3 normal(std::uint32_t triangle, const kdtree::Ray& ray) const;
  // Whether the ray hits the triangle's back: from its origin, the corners are clockwise.
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
