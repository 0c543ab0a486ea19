// SPDX-License-Identifier: MIT
// The appearance of a mesh in device memory.
#pragma once

#include <vector>

#include "kdtree/device_mesh.hpp"
#include "render/material_view.hpp"

namespace heapwood::render {

class DeviceMaterials {
 public:
  DeviceMaterials() = default;
  // Uploads materials, textures and the list of emitting triangles. An index that is out of range
  // is replaced: material 0, no texture. Throws Error if memory is exhausted.
  DeviceMaterials(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                  const Appearance& appearance);

  const MaterialView& view() const { return view_; }

  // For the host: the emitting triangles and their shares of the power, as in view().emitters.
  struct Emitter {
    std::uint32_t triangle;
    Vec3 emission;  // of its material
    float share;    // the mean of the texture that multiplies it
  };
  const std::vector<Emitter>& emitters() const { return host_emitters_; }
  const std::vector<float>& cumulative() const { return host_cumulative_; }

 private:
  void list_emitters(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                     const Appearance& appearance, const std::vector<DeviceMaterial>& materials);

  simt::Buffer<DeviceMaterial> materials_;
  std::vector<simt::Buffer<std::uint32_t>> texels_;
  simt::Buffer<DeviceTexture> textures_;
  simt::Buffer<std::uint32_t> triangle_materials_, vertex_colours_, emitters_;
  simt::Buffer<Uv> uvs_;
  simt::Buffer<Triangle> uv_triangles_;
  simt::Buffer<float> cumulative_, linear_;
  std::vector<Emitter> host_emitters_;
  std::vector<float> host_cumulative_;
  MaterialView view_{};
};

}  // namespace heapwood::render
