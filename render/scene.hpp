// SPDX-License-Identifier: MIT
// A tree and its triangles in a device's memory, ready for rays.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kdtree/device_mesh.hpp"
#include "render/backend.hpp"

namespace heapwood::render {

class Scene {
 public:
  // Uploads tree and mesh and makes the triangle records there. The mesh must outlive the scene, the tree need not.
  // Throws Error if the memory does not suffice.
  Scene(const simt::DeviceId& device, const kdtree::Tree& tree, const kdtree::MeshView& mesh, bool watertight = false);

  const simt::DeviceId& device() const { return mesh_.device(); }
  const Box& bounds() const { return data_.bounds; }
  const kdtree::MeshView& mesh() const { return host_; }
  bool watertight() const { return data_.watertight; }
  const SceneData& data() const { return data_; }
  std::size_t device_bytes() const;

  // How long the device took to put the tree into depth-first order, its launches alone; absent where it traces the tree as it came.
  std::optional<double> order_ms() const { return order_ms_; }
  // Makes the triangle records once more, for who wants to know how long it takes: milliseconds by the host's clock, from before
  // the launch until it has ended.
  double fill_records() const;

  // Closest hits of rays from the host. occluded: Hit::found() says whether there is any hit; the rest is not set.
  std::vector<kdtree::Hit> closest(std::span<const kdtree::Ray> rays) const;
  std::vector<kdtree::Hit> occluded(std::span<const kdtree::Ray> rays) const;
  // Unit normal of a triangle, on the side that the ray comes from.
  Vec3 normal(std::uint32_t triangle, const kdtree::Ray& ray) const;
  // Whether the ray sees its corners in clockwise order.
  bool seen_from_behind(std::uint32_t triangle, const kdtree::Ray& ray) const;

 private:
  std::vector<kdtree::Hit> trace(std::span<const kdtree::Ray> rays, bool any) const;

  kdtree::MeshView host_;
  kdtree::DeviceMesh mesh_;
  kdtree::TreeArrays tree_;
  simt::Memory records_;
  std::optional<double> order_ms_;
  SceneData data_{};
};

}  // namespace heapwood::render
