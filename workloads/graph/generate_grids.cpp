// SPDX-License-Identifier: MIT
// Generates grids: triangulated, hexagonal and cubic. Vertices are numbered row by row; a size that
// does not fill the last row or layer leaves it incomplete.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {

GraphInput generate_delaunay(const GraphRequest& request) {
  const std::uint64_t n = request.size, width = square_root(n);
  const Draws draws(request.seed);
  // Whether the diagonal of a square leads to the lower right; v is the square's upper left vertex.
  const auto falls = [&](std::uint64_t v) { return (draws.bits(v / 64) >> v % 64 & 1) != 0; };

  RowWriter rows(n, 6 * n);
  for (std::uint64_t v = 0, x = 0, y = 0; v < n; ++v, x + 1 < width ? ++x : (x = 0, ++y)) {
    const bool left = x > 0, right = x + 1 < width, down = v + width < n;
    if (y > 0) {
      if (left && falls(v - width - 1)) rows.add(v - width - 1);
      rows.add(v - width);
      if (right && v + 1 < n && !falls(v - width)) rows.add(v - width + 1);
    }
    if (left) rows.add(v - 1);
    if (right && v + 1 < n) rows.add(v + 1);
    if (down) {
      if (left && !falls(v - 1)) rows.add(v + width - 1);
      rows.add(v + width);
      if (right && v + width + 1 < n && falls(v)) rows.add(v + width + 1);
    }
    rows.end_row();
  }
  // Each square has two triangles: three vertices of which any two are at most one row and one
  // column apart lie in one square. The squares are counted by their lower right vertices, which
  // are all vertices outside the first row and column.
  const std::uint64_t first_column = (n + width - 1) / width;
  return rows.finish(2 * (n - width - first_column + 1));
}

GraphInput generate_honeycomb(const GraphRequest& request) {
  const std::uint64_t n = request.size, width = square_root(n);
  RowWriter rows(n, 3 * n);
  for (std::uint64_t v = 0, x = 0, y = 0; v < n; ++v, x + 1 < width ? ++x : (x = 0, ++y)) {
    const bool up = (x + y) % 2 == 1;
    if (up && y > 0) rows.add(v - width);
    if (x > 0) rows.add(v - 1);
    if (x + 1 < width && v + 1 < n) rows.add(v + 1);
    if (!up && v + width < n) rows.add(v + width);
    rows.end_row();
  }
  return rows.finish(0);  // no triangles: neighbours differ in the parity of x + y
}

namespace {

// Which of a node's neighbours exist. Bit 2a: the one before it along axis a. Bit 2a + 1: the one
// after it. The one after it along z is not needed.
using Surroundings = unsigned;

// Counts the triangles whose largest vertex is in a node of `unknowns` vertices with these
// surroundings. Up to 13 of its 26 neighbours come before it, in the order of (z, y, x).
std::uint64_t count_triangles(Surroundings surroundings, std::uint64_t unknowns) {
  struct Offset {
    int x, y, z;
  };
  std::array<Offset, 13> earlier;
  std::size_t count = 0;
  const auto exists = [&](int step, unsigned axis) {
    return step == 0 || (surroundings >> (2 * axis + (step > 0)) & 1) != 0;
  };
  for (int i = 0; i < 13; ++i) {
    const Offset offset{i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
    if (exists(offset.x, 0) && exists(offset.y, 1) && exists(offset.z, 2))
      earlier[count++] = offset;
  }
  std::uint64_t linked_pairs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Offset a = earlier[i], b = earlier[j];
      linked_pairs +=
          std::abs(a.x - b.x) <= 1 && std::abs(a.y - b.y) <= 1 && std::abs(a.z - b.z) <= 1;
    }
  }
  // Triangles with three, two or one of their corners in the node itself.
  const std::uint64_t pairs = unknowns * (unknowns - 1) / 2;
  return pairs * (unknowns - std::min<std::uint64_t>(unknowns, 2)) / 3 +
         2 * pairs * unknowns * count + unknowns * unknowns * unknowns * linked_pairs;
}

}  // namespace

GraphInput generate_grid3d(const GraphRequest& request) {
  const std::uint64_t unknowns = request.parameter;
  const std::uint64_t nodes = std::max<std::uint64_t>(request.size / unknowns, 1);
  const std::uint64_t size = cube_root(nodes), layer = size * size;
  std::array<std::uint64_t, 32> triangles_of;
  for (Surroundings s = 0; s < 32; ++s) triangles_of[s] = count_triangles(s, unknowns);
  std::uint64_t triangles = 0;

  RowWriter rows(nodes * unknowns, nodes * unknowns * (27 * unknowns - 1));
  struct Run {
    std::uint64_t begin, end;
  };
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const std::uint64_t x = node % size, y = node / size % size, z = node / layer;
    const Surroundings surroundings =
        (x > 0) | (x + 1 < size) << 1 | (y > 0) << 2 | (y + 1 < size) << 3 | (z > 0) << 4;
    triangles += triangles_of[surroundings];
    // The unknowns of the nodes around this one, in order: up to nine runs of three nodes each.
    std::array<Run, 9> runs;
    std::size_t count = 0;
    for (std::uint64_t k = z - (z > 0); k <= z + 1; ++k) {
      for (std::uint64_t j = y - (y > 0); j <= std::min(y + 1, size - 1); ++j) {
        const std::uint64_t row = k * layer + j * size;
        const std::uint64_t begin = row + x - (x > 0);
        const std::uint64_t end = std::min(row + std::min(x + 2, size), nodes);
        if (begin < end) runs[count++] = {begin * unknowns, end * unknowns};
      }
    }
    for (std::uint64_t v = node * unknowns; v < (node + 1) * unknowns; ++v) {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::uint64_t u = runs[i].begin; u < runs[i].end; ++u) {
          if (u != v) rows.add(u);
        }
      }
      rows.end_row();
    }
  }
  return rows.finish(triangles);
}

}  // namespace heapwood::workloads::graph
