// SPDX-License-Identifier: MIT
// The oracle for tree quality: an exact greedy SAH builder on the CPU. Every plane through a bound of a clipped
// triangle is tried (Wald & Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in O(N log N)",
// sections 4.1 and 4.2); straddling triangles are clipped again to the child's box ("perfect splits").
//
// Differs from the paper: a node's lower bounds, upper bounds and flat triangles are sorted anew as three plain float
// arrays an axis, O(N log^2 N), which is simpler than keeping event lists and fast enough: 2.2 s on one core for
// conference. Flat triangles go to the cheaper side. A split may leave one side with all triangles: forbidding that
// costs 15% of quality where walls are large. Memory is not limited: refs grow like N^1.5 on slivers across the scene.
#pragma once

#include <span>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

struct ReferenceSplit {
  double cost = 0;  // of the node if split here
  unsigned axis = 0;
  float plane = 0;
  bool flats_below = true;  // where the triangles that lie in the plane go
  bool found = false;       // false: no bound lies strictly inside the node

  bool goes_below(const Box& triangle) const;
  bool goes_above(const Box& triangle) const;
};

// The cheapest split of a node with these clipped triangle bounds, all inside `node`; of equal costs the one of lowest
// axis, then plane, then flats below. Whether a leaf is cheaper still is the caller's question.
ReferenceSplit best_split(std::span<const Box> triangles, const Box& node, const SahCosts& costs);

// Neither the tree nor its layout in memory (pairs in depth-first order, leaf refs ascending) depends on the number of
// threads; 0 = one a core. A root without area (a point, a line) stays a leaf.
Tree build_reference(const MeshView& mesh, const SahCosts& costs, unsigned threads = 0);

}  // namespace heapwood::kdtree
