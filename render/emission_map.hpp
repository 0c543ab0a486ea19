// SPDX-License-Identifier: MIT
// How much of a material's emission remains after multiplication by its texture, per triangle. On
// the host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "render/material_view.hpp"

namespace heapwood::render {

// The share of its material's emission that a triangle emits.
struct EmissionShare {
  float mean = 1;        // over the box of its texture coordinates, of the luminance
  bool is_dark = false;  // no point of it emits any light
};

// A summed-area table (Crow 1984) of at most 256 x 256 cells of a texture. A cell holds the
// luminance of its texels multiplied by the emission, in integers, so that sums of dark cells are
// exactly 0.
class EmissionMap {
 public:
  // `emission` is not black.
  EmissionMap(const Texture& texture, Vec3 emission);

  // `corners`: the triangle's texture coordinates.
  EmissionShare share(const std::array<Uv, 3>& corners) const;

 private:
  // One period of the texture: its cells, and again in reverse if it is mirrored.
  struct Axis {
    std::uint32_t texels = 1, cells = 1, period = 1;
    Wrap wrap = Wrap::repeat;

    std::uint32_t cell_begin(std::uint32_t cell) const;  // its first texel
  };
  struct Range {
    std::int64_t begin = 0, end = 0;  // cells; `begin` is in the first period
  };
  struct Sum {
    std::int64_t light = 0, texels = 0;
  };
  // The cells of these coordinates and of `margin` texels on both sides.
  static Range range(const Axis& axis, const std::array<float, 3>& at, double margin);

  // The sum of the cells [0, x) x [0, y), of a plane tiled with the period.
  Sum before(std::int64_t x, std::int64_t y) const;
  Sum inside(const Range& x, const Range& y) const;

  Axis x_, y_;
  std::vector<Sum> sums_;  // (y_.period + 1) rows of x_.period + 1
};

}  // namespace heapwood::render
