// SPDX-License-Identifier: MIT
// Materials in device memory, and the colour of a surface point. Shared by CPU and GPU.
#pragma once

#include <cstdint>

#include "geometry/appearance.hpp"
#include "kdtree/traverse/traverse.hpp"

namespace heapwood::render {

struct DeviceMaterial {
  Vec3 colour;
  float alpha;
  Vec3 emission;
  float cutoff;
  std::uint32_t texture, emission_texture;
  Coverage coverage;
  bool unlit;
};

struct DeviceTexture {
  const std::uint32_t* texels;
  const float* linear;  // MaterialView::linear
  std::uint32_t width, height;
  Wrap wrap_u, wrap_v;
  bool nearest;
};

// Triangles that emit light. One is chosen with a probability proportional to its power, the
// product of area and luminance without texture.
struct Emitters {
  const std::uint32_t* triangles;
  const float* cumulative;  // power up to and including each triangle / total power
  std::uint32_t count;
  float power;  // total power, in units of the mesh's area and the materials' radiance
};

// Pointers to device memory; all are null for a mesh without materials.
struct MaterialView {
  const DeviceMaterial* materials;
  const DeviceTexture* textures;
  const float* linear;                      // linear light of each 8-bit sRGB value
  const std::uint32_t* triangle_materials;  // nullptr: all have material 0
  const Uv* uvs;                            // nullptr: there are none
  const Triangle* uv_triangles;
  const std::uint32_t* vertex_colours;  // nullptr: all are white
  Emitters emitters;
  bool has_holes;  // whether any material is not opaque
  bool has_unlit;
};

struct Rgba {
  Vec3 colour;
  float alpha;
};

HEAPWOOD_INLINE float luminance(Vec3 c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }

HEAPWOOD_INLINE Rgba linear_of_texel(const float* linear, std::uint32_t texel) {
  return {{linear[texel & 255], linear[texel >> 8 & 255], linear[texel >> 16 & 255]},
          static_cast<float>(texel >> 24) * (1.0f / 255)};
}
HEAPWOOD_INLINE Rgba blend(const Rgba& a, const Rgba& b, float share) {
  return {a.colour * (1 - share) + b.colour * share, a.alpha * (1 - share) + b.alpha * share};
}

// The index of the texel for a coordinate that may be outside [0, size).
HEAPWOOD_INLINE std::uint32_t wrapped(std::int32_t i, std::uint32_t size, Wrap wrap) {
  const auto n = static_cast<std::int32_t>(size);
  if (wrap == Wrap::clamp) return static_cast<std::uint32_t>(i < 0 ? 0 : i >= n ? n - 1 : i);
  const std::int32_t period = wrap == Wrap::mirror ? 2 * n : n;
  std::int32_t remainder = i % period;
  if (remainder < 0) remainder += period;
  return static_cast<std::uint32_t>(remainder < n ? remainder : period - 1 - remainder);
}

// A coordinate times size, reduced by whole periods of both wrapping modes to an integer's range; 0
// for NaN.
HEAPWOOD_INLINE float in_texels(float x, std::uint32_t size, Wrap wrap) {
  if (wrap == Wrap::clamp) {
    x = simt::min(simt::max(x, -1.0f), 2.0f);
  } else {
    x -= 2 * std::floor(0.5f * x);
  }
  const float texels = x * static_cast<float>(size);
  return texels > -65536 && texels < 65536 ? texels : 0;
}

HEAPWOOD_INLINE Rgba sample_texture(const DeviceTexture& texture, Uv uv) {
  float x = in_texels(uv.u, texture.width, texture.wrap_u);
  float y = in_texels(uv.v, texture.height, texture.wrap_v);
  const auto texel = [&](std::int32_t i, std::int32_t j) {
    return linear_of_texel(
        texture.linear,
        texture.texels[std::size_t{wrapped(j, texture.height, texture.wrap_v)} * texture.width +
                       wrapped(i, texture.width, texture.wrap_u)]);
  };
  if (texture.nearest)
    return texel(static_cast<std::int32_t>(std::floor(x)),
                 static_cast<std::int32_t>(std::floor(y)));
  x -= 0.5f;
  y -= 0.5f;
  const float left = std::floor(x), top = std::floor(y);
  const auto i = static_cast<std::int32_t>(left), j = static_cast<std::int32_t>(top);
  const Rgba upper = blend(texel(i, j), texel(i + 1, j), x - left);
  const Rgba lower = blend(texel(i, j + 1), texel(i + 1, j + 1), x - left);
  return blend(upper, lower, y - top);
}

HEAPWOOD_INLINE const DeviceMaterial& material_of(const MaterialView& view,
                                                  std::uint32_t triangle) {
  return view.materials[view.triangle_materials ? view.triangle_materials[triangle] : 0];
}

HEAPWOOD_INLINE Uv uv_at(const MaterialView& view, const Triangle* triangles,
                         const kdtree::Hit& hit) {
  if (!view.uvs) return {};
  const Triangle t = (view.uv_triangles ? view.uv_triangles : triangles)[hit.triangle];
  const Uv a = view.uvs[t.v[0]], b = view.uvs[t.v[1]], c = view.uvs[t.v[2]];
  const float w = 1 - hit.u - hit.v;
  return {a.u * w + b.u * hit.u + c.u * hit.v, a.v * w + b.v * hit.u + c.v * hit.v};
}

// Albedo and alpha at a hit. `triangles` are the mesh's.
HEAPWOOD_INLINE Rgba colour_at(const MaterialView& view, const Triangle* triangles,
                               const kdtree::Hit& hit) {
  const DeviceMaterial& material = material_of(view, hit.triangle);
  Rgba result{material.colour, material.alpha};
  if (material.texture != no_texture) {
    const Rgba texel = sample_texture(view.textures[material.texture], uv_at(view, triangles, hit));
    result = {result.colour * texel.colour, result.alpha * texel.alpha};
  }
  if (view.vertex_colours) {
    const Triangle t = triangles[hit.triangle];
    const Rgba a = linear_of_texel(view.linear, view.vertex_colours[t.v[0]]),
               b = linear_of_texel(view.linear, view.vertex_colours[t.v[1]]),
               c = linear_of_texel(view.linear, view.vertex_colours[t.v[2]]);
    const float w = 1 - hit.u - hit.v;
    result.colour = result.colour * (a.colour * w + b.colour * hit.u + c.colour * hit.v);
    result.alpha *= a.alpha * w + b.alpha * hit.u + c.alpha * hit.v;
  }
  return result;
}

// Radiance that the surface emits at a hit, on both sides.
HEAPWOOD_INLINE Vec3 emission_at(const MaterialView& view, const Triangle* triangles,
                                 const kdtree::Hit& hit) {
  const DeviceMaterial& material = material_of(view, hit.triangle);
  if (material.emission_texture == no_texture) return material.emission;
  return material.emission *
         sample_texture(view.textures[material.emission_texture], uv_at(view, triangles, hit))
             .colour;
}

// Whether a ray passes through the surface at a hit. `random`, in [0, 1), decides if it is blended.
HEAPWOOD_INLINE bool is_hole(const MaterialView& view, const Triangle* triangles,
                             const kdtree::Hit& hit, float random) {
  const DeviceMaterial& material = material_of(view, hit.triangle);
  if (material.coverage == Coverage::opaque) return false;
  const float alpha = colour_at(view, triangles, hit).alpha;
  return material.coverage == Coverage::cutout ? alpha < material.cutoff : !(random < alpha);
}

}  // namespace heapwood::render
