// SPDX-License-Identifier: MIT
// What a mesh looks like: materials, textures and vertex colours. Separate from the geometry,
// because tree builders and `trace` need only triangles and positions. Colours of materials are
// linear; texels and vertex colours are 8-bit sRGB with linear alpha, red in the lowest byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "geometry/triangle.hpp"

namespace heapwood {

inline constexpr std::uint32_t no_texture = ~std::uint32_t{0};

struct Uv {
  float u = 0, v = 0;  // v grows downwards from the picture's upper left corner
  bool operator==(const Uv&) const = default;
};

enum class Wrap : std::uint8_t { repeat, clamp, mirror };

struct Texture {
  unsigned width = 0, height = 0;
  std::vector<std::uint32_t> texels;  // rows, from the top down
  Wrap wrap_u = Wrap::repeat, wrap_v = Wrap::repeat;
  bool nearest = false;  // texels are not interpolated
};

enum class Coverage : std::uint8_t {
  opaque,
  cutout,   // a point with alpha below `cutoff` is a hole
  blended,  // alpha is the probability that a ray hits
};

struct Material {
  std::string name;
  Vec3 colour{1, 1, 1};  // multiplied by texture and vertex colour
  float alpha = 1;       // multiplied by the alpha of texture and vertex colour
  Coverage coverage = Coverage::opaque;
  float cutoff = 0.5f;
  bool unlit = false;  // the colour is shown as it is, without light and shadow
  std::uint32_t texture = no_texture;
  Vec3 emission{0, 0, 0};  // radiance; multiplied by emission_texture
  std::uint32_t emission_texture = no_texture;
};

struct Appearance {
  std::vector<Material> materials;
  std::vector<Texture> textures;
  std::vector<std::uint32_t> triangle_materials;  // one per triangle; empty: material 0
  std::vector<Uv> uvs;                            // empty: no material has a texture
  std::vector<Triangle> uv_triangles;         // indices into uvs; empty: the mesh's own triangles
  std::vector<std::uint32_t> vertex_colours;  // one per vertex; empty: white

  // Whether the mesh has no colours of its own.
  bool empty() const { return materials.empty(); }
};

}  // namespace heapwood
