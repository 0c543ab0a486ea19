// SPDX-License-Identifier: MIT
// The oracle for tree quality: an exact greedy SAH builder on the CPU. It evaluates every plane
// through a bound of a clipped triangle (Wald & Havran 2006, "On building fast kd-trees for ray
// tracing, and on doing that in O(N log N)", sections 4.1 and 4.2) and clips straddling triangles
// again to the child's box ("perfect splits").
//
// Differences from the paper: a node's lower bounds, upper bounds and flat triangles are sorted
// again for each node, as three plain float arrays per axis. That takes O(N log^2 N), is simpler
// than maintaining event lists, and is fast enough: 2.2 s on one core for conference. Flat
// triangles go to the cheaper side. A split may leave one side with all triangles: forbidding that
// costs 15% of quality in scenes with large walls. Memory is not limited: refs grow like N^1.5 on
// slivers across the scene.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/split/clip_exact.hpp"
#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// Oracles for trees: triangles clipped to boxes in double precision (kdtree/split/clip_exact.hpp),
// and the leaves of a tree.

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

struct ReferenceSplit {
  double cost = 0;  // cost of the node if it is split here
  unsigned axis = 0;
  float plane = 0;
  bool flats_below = true;  // which side gets the triangles that lie in the plane
  bool found = false;       // false: no bound lies strictly inside the node

  bool goes_below(const Box& triangle) const;
  bool goes_above(const Box& triangle) const;
};

// The cheapest split of a node with these clipped triangle bounds, all inside `node`. Of equal
// costs it returns the one of lowest axis, then plane, then flats below. The caller compares it
// with the cost of a leaf.
ReferenceSplit best_split(std::span<const Box> triangles, const Box& node, const SahCosts& costs);

// Pairs of nodes are in depth-first order. A root without area (a point, a line) stays a leaf.
Tree build_reference(const MeshView& mesh, const SahCosts& costs);

}  // namespace heapwood::kdtree
