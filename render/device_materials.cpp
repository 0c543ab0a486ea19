// SPDX-License-Identifier: MIT
#include "render/device_materials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "geometry/vec.hpp"

namespace heapwood::render {
namespace {

// Linear light of the 256 values of an sRGB byte (IEC 61966-2-1).
const std::vector<float>& light_of_bytes() {
  static const std::vector<float> table = [] {
    std::vector<float> light;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const double coded = byte / 255.0;
      light.push_back(static_cast<float>(
          coded <= 0.04045 ? coded / 12.92 : std::pow((coded + 0.055) / 1.055, 2.4)));
    }
    return light;
  }();
  return table;
}

// Whether an array of the appearance has an entry for each of `count` elements of the mesh.
template <class T>
bool complete(const std::vector<T>& array, std::size_t count) {
  return !array.empty() && array.size() >= count;
}

// Whether a texture lacks texels. It would be read out of bounds, so it is replaced by white.
bool is_blank(const Texture& texture) {
  const std::size_t texels = std::size_t{texture.width} * texture.height;
  return texels == 0 || texture.texels.size() < texels;
}

bool emits(const DeviceMaterial& m) {
  // If the material's own factor makes alpha too small everywhere, all rays pass through.
  const bool is_invisible = (m.coverage == Coverage::blended && !(m.alpha > 0)) ||
                            (m.coverage == Coverage::cutout && m.alpha < m.cutoff);
  return luminance(m.emission) > 0 && !is_invisible;
}

// The factor by which a triangle's texture reduces its material's emission: the mean over points as
// dense as texels, up to 64 along an edge. 0 if no point emits light.
float left_by_texture(const Texture& texture, const std::array<Uv, 3>& uv, Vec3 emission) {
  const DeviceTexture view{texture.texels.data(), light_of_bytes().data(), texture.width,
                           texture.height,        texture.wrap_u,          texture.wrap_v,
                           texture.nearest};
  float texels = 0;  // along the longest edge
  for (unsigned i = 0; i < 3; ++i) {
    const Uv a = uv[i], b = uv[(i + 1) % 3];
    texels = std::max({texels, std::fabs(b.u - a.u) * static_cast<float>(texture.width),
                       std::fabs(b.v - a.v) * static_cast<float>(texture.height)});
  }
  const auto steps = static_cast<unsigned>(std::clamp(2 * texels, 8.0f, 64.0f));
  float sum = 0;
  unsigned points = 0;
  for (unsigned i = 0; i < steps; ++i) {
    for (unsigned j = 0; i + j < steps; ++j, ++points) {
      const float b = (static_cast<float>(i) + 1 / 3.0f) / static_cast<float>(steps),
                  c = (static_cast<float>(j) + 1 / 3.0f) / static_cast<float>(steps), a = 1 - b - c;
      const Uv sample{a * uv[0].u + b * uv[1].u + c * uv[2].u,
                      a * uv[0].v + b * uv[1].v + c * uv[2].v};
      sum += luminance(emission * sample_texture(view, sample).colour);
    }
  }
  return sum / static_cast<float>(points) / luminance(emission);
}

}  // namespace

DeviceMaterials::DeviceMaterials(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                                 const Appearance& appearance) {
  if (appearance.empty()) return;
  linear_ = {device, light_of_bytes()};
  view_.linear = linear_.data();
  const std::size_t texture_count = appearance.textures.size();
  std::vector<DeviceTexture> textures;
  for (const Texture& texture : appearance.textures) {
    const std::vector<std::uint32_t> white{0xffffffffu};
    const bool empty = is_blank(texture);
    const auto& texels = texels_.emplace_back(device, empty ? white : texture.texels);
    textures.push_back({texels.data(), linear_.data(), empty ? 1 : texture.width,
                        empty ? 1 : texture.height, texture.wrap_u, texture.wrap_v,
                        texture.nearest});
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
                         texture_or_none(m.emission_texture), m.coverage, m.unlit});
    view_.has_holes = view_.has_holes || m.coverage != Coverage::opaque;
    view_.has_unlit = view_.has_unlit || m.unlit;
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
  list_emitters(device, mesh, appearance, materials);
}

// Triangles that emit nothing are left out. The power of a triangle does not include the factor of
// its texture, because shading computes the density of a chosen point from the material's emission
// only.
void DeviceMaterials::list_emitters(const simt::DeviceId& device, const kdtree::MeshView& mesh,
                                    const Appearance& appearance,
                                    const std::vector<DeviceMaterial>& materials) {
  if (std::none_of(materials.begin(), materials.end(), emits)) return;
  const bool has_one_material = !complete(appearance.triangle_materials, mesh.triangles.size());
  const std::vector<Triangle>& uv_triangles = appearance.uv_triangles;
  const bool has_uv_triangles = complete(uv_triangles, mesh.triangles.size());
  std::vector<Emitter> found;
  std::vector<std::uint32_t> ids;
  std::vector<double> sums;
  double power = 0;
  for (std::uint32_t id = 0; id < mesh.triangles.size(); ++id) {
    const std::uint32_t index = has_one_material ? 0 : appearance.triangle_materials[id];
    const DeviceMaterial& m = materials[index < materials.size() ? index : 0];
    if (!emits(m)) continue;
    const double here = area(kdtree::corners(mesh, id)) * luminance(m.emission);
    if (!(here > 0) || !std::isfinite(here)) continue;
    float share = 1;
    if (m.emission_texture != no_texture) {
      const Texture& texture = appearance.textures[m.emission_texture];
      const std::vector<Uv>& uvs = appearance.uvs;
      const auto& v = has_uv_triangles ? uv_triangles[id].v : mesh.triangles[id].v;
      if (!is_blank(texture))
        share = left_by_texture(texture, {uvs[v[0]], uvs[v[1]], uvs[v[2]]}, m.emission);
      if (!(share > 0)) continue;
    }
    power += here;
    found.push_back({id, m.emission, share});
    ids.push_back(id);
    sums.push_back(power);
  }
  if (!std::isfinite(static_cast<float>(power)) || !(static_cast<float>(power) > 0)) return;
  host_emitters_ = std::move(found);
  for (const double sum : sums) host_cumulative_.push_back(static_cast<float>(sum / power));
  emitters_ = {device, ids};
  cumulative_ = {device, host_cumulative_};
  view_.emitters = {emitters_.data(), cumulative_.data(), static_cast<std::uint32_t>(ids.size()),
                    static_cast<float>(power)};
}

}  // namespace heapwood::render
