// SPDX-License-Identifier: MIT
// Light that arrives from all directions, as a picture in device memory: longitude by latitude, the
// zenith at the top. Directions are chosen by the luminance of cells of the picture (as in Pharr,
// Jakob, Humphreys, "Physically based rendering", infinite area lights). Shared by CPU and GPU.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "render/random.hpp"

namespace heapwood::render {

struct EnvironmentView {
  const Vec3* texels;  // radiance, rows from the top
  std::uint32_t width, height;
  // The picture is divided into cells, which have these cumulative distributions of light: over the
  // rows of cells, and over the cells of each row.
  const float* cumulative_rows;
  const float* cumulative_cells;
  std::uint32_t columns, rows;
  unsigned up;  // the scene's axis that points to the zenith
};

// Convert a direction of the scene to the picture's axes, where y is up, and back.
HEAPWOOD_INLINE Vec3 to_environment(Vec3 d, unsigned up) {
  return up == 1 ? d : up == 2 ? Vec3{d.x, d.z, -d.y} : Vec3{-d.y, d.x, d.z};
}
HEAPWOOD_INLINE Vec3 from_environment(Vec3 d, unsigned up) {
  return up == 1 ? d : up == 2 ? Vec3{d.x, -d.z, d.y} : Vec3{d.y, -d.x, d.z};
}

// The position in the picture, 0 to 1 from left and top, of a unit vector in the picture's axes.
HEAPWOOD_INLINE Point2 environment_position(Vec3 d) {
  return {std::atan2(d.x, -d.z) * 0.159154943f + 0.5f,
          std::acos(simt::min(simt::max(d.y, -1.0f), 1.0f)) * 0.318309886f};
}
HEAPWOOD_INLINE Vec3 environment_direction(Point2 position) {
  const float polar = 3.14159265f * position.y, around = 6.28318531f * (position.x - 0.5f);
  const float s = std::sin(polar);
  return {s * std::sin(around), std::cos(polar), -s * std::cos(around)};
}

HEAPWOOD_INLINE Vec3 radiance_at(const EnvironmentView& view, Point2 position) {
  const float x = position.x * static_cast<float>(view.width) - 0.5f,
              y = position.y * static_cast<float>(view.height) - 0.5f;
  const float left = std::floor(x), top = std::floor(y);
  const auto last = static_cast<float>(view.height - 1);
  // The texel left of the first one is the last one of the row. A NaN, from a triangle without a
  // normal, also gives a valid index.
  const std::uint32_t i = left >= 0 ? static_cast<std::uint32_t>(left) : view.width - 1;
  const auto row = [&](float r) {
    const auto j = static_cast<std::uint32_t>(r > 0 ? simt::min(r, last) : 0);
    const Vec3* const texels = view.texels + std::size_t{j} * view.width;
    const float share = x - left;
    return texels[i] * (1 - share) + texels[(i + 1) % view.width] * share;
  };
  const float share = y - top;
  return row(top) * (1 - share) + row(top + 1) * share;
}

// The cell of a cumulative distribution that contains u.
HEAPWOOD_INLINE std::uint32_t cell_at(const float* cumulative, std::uint32_t count, float u) {
  std::uint32_t low = 0, high = count - 1;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (u < cumulative[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The probability density of a direction over solid angle: the probability of its cell, divided by
// the solid angle of the cell.
HEAPWOOD_INLINE float environment_density(const EnvironmentView& view, std::uint32_t row,
                                          std::uint32_t column, float sine) {
  const auto share = [](const float* cumulative, std::uint32_t i) {
    return cumulative[i] - (i > 0 ? cumulative[i - 1] : 0);
  };
  const float* const cells = view.cumulative_cells + std::size_t{row} * view.columns;
  return share(view.cumulative_rows, row) * static_cast<float>(view.rows) * share(cells, column) *
         static_cast<float>(view.columns) / (19.7392088f * simt::max(sine, 1e-4f));
}

struct EnvironmentLight {
  Vec3 direction;  // unit vector in the scene
  Vec3 radiance;
  float density;
};

// The light of the environment for a ray of the scene that hits nothing.
HEAPWOOD_INLINE EnvironmentLight environment_towards(const EnvironmentView& view, Vec3 direction) {
  const Vec3 d = to_environment(normalize(direction), view.up);
  const Point2 position = environment_position(d);
  const auto cell = [](float x, std::uint32_t count) {
    const float at_cell = x * static_cast<float>(count);
    const std::uint32_t i = at_cell > 0 ? static_cast<std::uint32_t>(at_cell) : 0;
    return i < count ? i : count - 1;
  };
  return {direction, radiance_at(view, position),
          environment_density(view, cell(position.y, view.rows), cell(position.x, view.columns),
                              std::sqrt(simt::max(0.0f, 1 - d.y * d.y)))};
}

// Chooses a direction from two numbers in [0, 1).
HEAPWOOD_INLINE EnvironmentLight sample_environment(const EnvironmentView& view, Point2 u) {
  const auto inside = [](const float* cumulative, std::uint32_t i, float x) {
    const float before = i > 0 ? cumulative[i - 1] : 0, share = cumulative[i] - before;
    return share > 0 ? simt::min((x - before) / share, 0.999999f) : 0.5f;
  };
  const std::uint32_t row = cell_at(view.cumulative_rows, view.rows, u.y);
  const float* const cells = view.cumulative_cells + std::size_t{row} * view.columns;
  const std::uint32_t column = cell_at(cells, view.columns, u.x);
  const Point2 position{
      (static_cast<float>(column) + inside(cells, column, u.x)) / static_cast<float>(view.columns),
      (static_cast<float>(row) + inside(view.cumulative_rows, row, u.y)) /
          static_cast<float>(view.rows)};
  const Vec3 d = environment_direction(position);
  return {from_environment(d, view.up), radiance_at(view, position),
          environment_density(view, row, column, std::sqrt(simt::max(0.0f, 1 - d.y * d.y)))};
}

}  // namespace heapwood::render
