// SPDX-License-Identifier: MIT
// Oracles for trees: triangles clipped to boxes in double precision (kdtree/split/clip_exact.hpp),
// and the leaves of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/split/clip_exact.hpp"
#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

Polygon clip(const Corners& triangle, const Box& box);

// Bounds rounded outwards to float; empty for an empty polygon.
Box bounds(const Polygon& polygon);
// Bounds of the part of the triangle inside the box; never outside the box.
Box clipped_bounds(const Corners& triangle, const Box& box);

// The root's box: the bounds of all triangles, empty if there are none.
Box bounds(const MeshView& mesh);

// A leaf of a tree whose structure is sound.
struct Leaf {
  std::uint32_t node = 0;
  unsigned depth = 0;
  Box box;
  std::vector<std::uint32_t> triangles;  // ascending
};
// The leaves, those below each plane before those above it.
std::vector<Leaf> leaves(const Tree& tree);

}  // namespace heapwood::kdtree
