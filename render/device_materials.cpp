// SPDX-License-Identifier: MIT
#include "render/device_materials.hpp"

#include <algorithm>
#include <cmath>

#include "geometry/vec3d.hpp"

namespace heapwood::render {
namespace {

double area_of(const Corners& t) {
  const Vec3d a = to_double(t.a), u = to_double(t.b) - a, v = to_double(t.c) - a;
  const double x = u.y * v.z - u.z * v.y, y = u.z * v.x - u.x * v.z, z = u.x * v.y - u.y * v.x;
  return 0.5 * std::sqrt(x * x + y * y + z * z);
}

// Whether an array that belongs to the mesh has an entry for each of `count`.
template <class T>
bool complete(const std::vector<T>& array, std::size_t count) {
  return !array.empty() && array.size() >= count;
}

}  // namespace

DeviceMaterials::DeviceMaterials(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                                 const Appearance& appearance) {
  if (appearance.empty()) return;
  const std::size_t texture_count = appearance.textures.size();
  std::vector<DeviceTexture> textures;
  for (const Texture& texture : appearance.textures) {
    // A texture without texels would be read out of bounds: it is white.
    const std::vector<std::uint32_t> white{0xffffffffu};
    const bool empty = texture.texels.empty() ||
                       texture.texels.size() < std::size_t{texture.width} * texture.height;
    const auto& texels = texels_.emplace_back(device, empty ? white : texture.texels);
    textures.push_back({texels.data(), empty ? 1 : texture.width, empty ? 1 : texture.height,
                        texture.wrap_u, texture.wrap_v, texture.nearest});
  }
  const bool has_uvs =
      !appearance.uvs.empty() && (complete(appearance.uv_triangles, mesh.triangles.size()) ||
                                  complete(appearance.uvs, mesh.vertices.size()));
  const auto texture_or_none = [&](std::uint32_t index) {
    return has_uvs && index < texture_count ? index : no_texture;
  };
  std::vector<DeviceMaterial> materials;
  for (const Material& m : appearance.materials) {
    materials.push_back({m.colour, m.alpha, m.emission, m.cutoff, texture_or_none(m.texture),
                         texture_or_none(m.emission_texture), m.coverage});
    view_.has_holes = view_.has_holes || m.coverage != Coverage::opaque;
  }
  textures_ = {device, textures};
  materials_ = {device, materials};
  view_.materials = materials_.data();
  view_.textures = textures_.data();
  if (complete(appearance.triangle_materials, mesh.triangles.size())) {
    std::vector<std::uint32_t> valid = appearance.triangle_materials;
    for (std::uint32_t& index : valid) index = index < materials.size() ? index : 0;
    triangle_materials_ = {device, valid};
    view_.triangle_materials = triangle_materials_.data();
  }
  if (complete(appearance.vertex_colours, mesh.vertices.size())) {
    vertex_colours_ = {device, appearance.vertex_colours};
    view_.vertex_colours = vertex_colours_.data();
  }
  const bool textured = std::any_of(materials.begin(), materials.end(), [](const auto& m) {
    return m.texture != no_texture || m.emission_texture != no_texture;
  });
  if (textured) {
    uvs_ = {device, appearance.uvs};
    view_.uvs = uvs_.data();
    if (complete(appearance.uv_triangles, mesh.triangles.size())) {
      uv_triangles_ = {device, appearance.uv_triangles};
      view_.uv_triangles = uv_triangles_.data();
    }
  }
  list_emitters(device, mesh, appearance);
}

void DeviceMaterials::list_emitters(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                                    const Appearance& appearance) {
  const auto emits = [](const Material& m) { return luminance(m.emission) > 0; };
  if (std::none_of(appearance.materials.begin(), appearance.materials.end(), emits)) return;
  const bool has_one_material = !complete(appearance.triangle_materials, mesh.triangles.size());
  std::vector<double> sums;
  double power = 0;
  for (std::uint32_t id = 0; id < mesh.triangles.size(); ++id) {
    const std::uint32_t index = has_one_material ? 0 : appearance.triangle_materials[id];
    const Material& m = appearance.materials[index < appearance.materials.size() ? index : 0];
    if (!emits(m)) continue;
    const double here = area_of(kdtree::corners(mesh, id)) * luminance(m.emission);
    if (!(here > 0) || !std::isfinite(here)) continue;
    power += here;
    host_emitters_.push_back(id);
    host_emission_.push_back(m.emission);
    sums.push_back(power);
  }
  if (!(power > 0) || !std::isfinite(static_cast<float>(power)) ||
      !(static_cast<float>(power) > 0)) {
    host_emitters_.clear();
    host_emission_.clear();
    return;
  }
  for (const double sum : sums) host_cumulative_.push_back(static_cast<float>(sum / power));
  emitters_ = {device, host_emitters_};
  cumulative_ = {device, host_cumulative_};
  view_.emitters = {emitters_.data(), cumulative_.data(),
                    static_cast<std::uint32_t>(host_emitters_.size()), static_cast<float>(power)};
}

std::size_t DeviceMaterials::bytes() const {
  std::size_t sum = materials_.bytes() + textures_.bytes() + triangle_materials_.bytes() +
                    vertex_colours_.bytes() + uvs_.bytes() + uv_triangles_.bytes() +
                    emitters_.bytes() + cumulative_.bytes();
  for (const auto& texels : texels_) sum += texels.bytes();
  return sum;
}

}  // namespace heapwood::render
