// SPDX-License-Identifier: MIT
#include "scenes/patches.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenes/random.hpp"
#include "simt/cpu.hpp"

namespace heapwood::scenes {
namespace {

struct Grid {
  std::uint32_t u, v;  // cells
};

// Each patch rounds at a different density: if equal patches all gained a cell at once, the count
// would jump.
std::uint32_t cells(float wanted, unsigned min_cells, std::uint64_t id) {
  const float rounded = std::min(wanted, 1e6f) + unit_float(mix(id));
  return std::max(min_cells, static_cast<std::uint32_t>(rounded));
}

Grid grid(const Patch& patch, std::size_t index, float density) {
  return {cells(density * patch.cells_u, std::max(patch.min_u, patch.closed ? 3u : 1u),
                patch.twins_u != 0 ? ~patch.twins_u : 2 * index),
          cells(density * patch.cells_v,
                std::max(patch.min_v, patch.pole_first && patch.pole_last ? 2u : 1u),
                patch.twins_v != 0 ? ~patch.twins_v : 2 * index + 1)};
}

std::uint64_t row_vertices(const Patch& patch, Grid grid, std::uint32_t row) {
  if ((row == 0 && patch.pole_first) || (row == grid.v && patch.pole_last)) return 1;
  return patch.closed ? grid.u : grid.u + 1;
}

std::uint64_t vertices_before(const Patch& patch, Grid grid, std::uint32_t row) {
  if (row == 0) return 0;
  const std::uint64_t width = patch.closed ? grid.u : grid.u + 1;
  return row * width - (patch.pole_first ? width - 1 : 0);
}

std::uint64_t triangles_before(const Patch& patch, Grid grid, std::uint32_t row) {
  std::uint64_t count = std::uint64_t{2} * row * grid.u;
  if (row > 0 && patch.pole_first) count -= grid.u;
  if (row == grid.v && patch.pole_last) count -= grid.u;
  return count;
}

// The first row, vertex and triangle of a patch.
struct Begin {
  std::uint64_t row = 0, vertex = 0, triangle = 0;
  Grid grid{};
};

void fill_row(Mesh& mesh, const Patch& patch, const Begin& begin, std::uint32_t row) {
  const Grid n = begin.grid;
  const auto first = static_cast<std::uint32_t>(begin.vertex + vertices_before(patch, n, row));
  const std::uint64_t width = row_vertices(patch, n, row);
  const float v = static_cast<float>(row) / static_cast<float>(n.v);
  for (std::uint64_t i = 0; i < width; ++i) {
    mesh.vertices[first + i] = patch.point(static_cast<float>(i) / static_cast<float>(n.u), v);
  }
  if (row == n.v) return;

  const auto above = static_cast<std::uint32_t>(first + width);
  const std::uint64_t above_width = row_vertices(patch, n, row + 1);
  Triangle* out = mesh.triangles.data() + begin.triangle + triangles_before(patch, n, row);
  for (std::uint32_t i = 0; i < n.u; ++i) {
    const std::uint32_t next = patch.closed && i + 1 == n.u ? 0 : i + 1;
    const bool point = width == 1, point_above = above_width == 1;
    if (point) {
      *out++ = {{first, above + next, above + i}};
    } else if (point_above) {
      *out++ = {{first + i, first + next, above}};
    } else {
      *out++ = {{first + i, first + next, above + next}};
      *out++ = {{first + i, above + next, above + i}};
    }
  }
}

}  // namespace

std::uint64_t Model::count(float density, std::size_t first) const {
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < patches_.size(); ++i) {
    const Grid n = grid(patches_[i], i, density);
    sum += triangles_before(patches_[i], n, n.v);
  }
  return sum;
}

void Model::paint(const Paint& paint) {
  const auto found = std::find_if(paints_.begin(), paints_.end(), [&](const Paint& known) {
    return known.colour == paint.colour && std::string_view(known.name) == paint.name;
  });
  paint_ = static_cast<std::uint32_t>(found - paints_.begin());
  if (found == paints_.end()) paints_.push_back(paint);
}

Mesh Model::tessellate(std::uint64_t target, unsigned threads, Content content) const {
  float low = 0, high = 1;
  while (count(high) < target && high < 1e6f) high *= 2;
  for (unsigned i = 0; i < 40; ++i) {
    const float middle = low + (high - low) / 2;
    (count(middle) <= target ? low : high) = middle;
  }
  const float density =
      count(low) <= target && target - count(low) <= count(high) - target ? low : high;

  std::vector<Begin> begins(patches_.size() + 1);
  for (std::size_t i = 0; i < patches_.size(); ++i) {
    Begin& begin = begins[i];
    begin.grid = grid(patches_[i], i, density);
    const std::uint32_t rows = begin.grid.v;
    begins[i + 1].row = begin.row + rows + 1;
    begins[i + 1].vertex = begin.vertex + vertices_before(patches_[i], begin.grid, rows) +
                           row_vertices(patches_[i], begin.grid, rows);
    begins[i + 1].triangle = begin.triangle + triangles_before(patches_[i], begin.grid, rows);
  }

  Mesh mesh;
  mesh.vertices.resize(begins.back().vertex);
  mesh.triangles.resize(begins.back().triangle);
  const simt::Cpu cpu({.threads = static_cast<int>(threads)});
  cpu.for_each(begins.back().row, [&](std::size_t row) {
    const auto next =
        std::upper_bound(begins.begin(), begins.end(), row,
                         [](std::uint64_t r, const Begin& begin) { return r < begin.row; });
    const auto index = static_cast<std::size_t>(next - begins.begin() - 1);
    fill_row(mesh, patches_[index], begins[index],
             static_cast<std::uint32_t>(row - begins[index].row));
  });
  if (content == Content::materials && !paints_.empty()) {
    for (const Paint& paint : paints_)
      mesh.appearance.materials.push_back({.name = paint.name, .colour = paint.colour});
    std::vector<std::uint32_t>& materials = mesh.appearance.triangle_materials;
    materials.reserve(mesh.triangles.size());
    for (std::size_t i = 0; i < patches_.size(); ++i)
      materials.resize(begins[i + 1].triangle, patches_[i].paint);
  }
  return mesh;
}

}  // namespace heapwood::scenes
