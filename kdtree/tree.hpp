// SPDX-License-Identifier: MIT
// A finished tree on the host, and the costs it was built for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/triangle.hpp"
#include "kdtree/node.hpp"

namespace heapwood::kdtree {

// Surface area heuristic: cost(split) = traversal + intersection * (SA_l n_l + SA_r n_r) / SA, times (1 - empty_bonus) when
// one side is empty, plus duplicate * (n_l + n_r - n) for the refs that it adds; cost(leaf) = intersection * n. The published
// heuristic has no `duplicate`: a little makes trees smaller at hardly a cost, as does a
// traversal that is dearer than it is (docs/performance.md).
struct SahCosts {
  float traversal = 1.5f;
  float intersection = 1.0f;
  float empty_bonus = 0.15f;
  float duplicate = 0.05f;
};

// Costs by name; the first are the defaults. Of all triples tried that keep the SAH cost with 1 and 1 within 2% of the exact
// builder's, `build` makes the fewest nodes, which is what builds take their time for. `trace` believes in a cheaper step and in
// free duplicates, and cuts off less empty space: more nodes, and a GPU's rays are as quick or up to 7% quicker (docs/architecture.md).
struct CostPreset {
  const char* name;
  SahCosts costs;
};
inline constexpr CostPreset cost_presets[] = {
    {"balanced", {}},
    {"build", {.traversal = 2, .empty_bonus = 0.17f, .duplicate = 0.02f}},
    {"trace", {.traversal = 1.15f, .empty_bonus = 0.045f, .duplicate = 0}},
};

inline constexpr unsigned max_depth = 60;  // of a leaf; the root has depth 0. Traversal stacks hold this many entries.

// nodes[0] is the root, nodes[1] is unused; the arrays may hold unused entries that no node refers to.
struct Tree {
  Box bounds;  // of the scene: the root's box
  std::vector<Node> nodes;
  std::vector<std::uint32_t> refs;  // triangle ids, leaf by leaf
  bool incomplete = false;          // some leaf would have been split, had there been memory
};

// A mesh as the builders see it: indices are valid, coordinates finite (scenes::check makes sure).
struct MeshView {
  std::span<const Vec3> vertices;
  std::span<const Triangle> triangles;
};

inline Corners corners(const MeshView& mesh, std::uint32_t triangle) {
  const Triangle& t = mesh.triangles[triangle];
  return {mesh.vertices[t.v[0]], mesh.vertices[t.v[1]], mesh.vertices[t.v[2]]};
}

}  // namespace heapwood::kdtree
