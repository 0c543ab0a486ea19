// SPDX-License-Identifier: MIT
// A finished tree on the host, with nodes of 8 bytes (docs/architecture.md, "Tree"), and its costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "geometry/triangle.hpp"
#include "simt/config.hpp"

namespace heapwood::kdtree {

// Inner node: `split` is the plane, `link` is pair << 2 | axis + 1 (1 to 3). Its children are
// nodes[2 * pair], below the plane, and nodes[2 * pair + 1]. Leaf: `first` is the index of its
// first ref in the tree's ref array, `link` is count << 2.
struct alignas(8) Node {
  union {
    float split;
    std::uint32_t first;
  };
  std::uint32_t link;

  HEAPWOOD_INLINE bool leaf() const { return (link & 3u) == 0; }
  HEAPWOOD_INLINE unsigned axis() const { return (link & 3u) - 1; }
  HEAPWOOD_INLINE std::uint32_t child(unsigned side) const { return 2 * (link >> 2) + side; }
  HEAPWOOD_INLINE std::uint32_t count() const { return link >> 2; }

  static HEAPWOOD_INLINE Node make_inner(float split, unsigned axis, std::uint32_t pair) {
    Node node;
    node.split = split;
    node.link = pair << 2 | (axis + 1);
    return node;
  }
  static HEAPWOOD_INLINE Node make_leaf(std::uint32_t first, std::uint32_t count) {
    Node node;
    node.first = first;
    node.link = count << 2;
    return node;
  }
};
static_assert(sizeof(Node) == 8);

// The costs of the surface area heuristic:
//   cost(leaf)  = intersection * n
//   cost(split) = traversal + intersection * (SA_l n_l + SA_r n_r) / SA,
//                 times (1 - empty_bonus) if one side is empty,
//                 plus duplicate * (n_l + n_r - n) for the refs that the split adds
// The published heuristic has no `duplicate`.
struct SahCosts {
  float traversal = 1.5f;
  float intersection = 1.0f;
  float empty_bonus = 0.15f;
  float duplicate = 0.05f;
};

// Named costs; the first entry is the default. `build` makes the fewest nodes of all settings tried
// that keep the SAH cost (with traversal and intersection 1) within 2% of the exact builder's; the
// number of nodes dominates build time. `trace` assumes cheaper traversal and free duplicates and
// cuts off less empty space: it makes more nodes, and rays on a GPU are as fast or up to 7% faster
// (docs/architecture.md). `update` makes large leaves, for meshes that move in every frame and
// meet few rays: builds take 0.4 to 0.7 times as long, rays 1.4 to 2 times as long (H200, 70K to 5M
// triangles).
struct CostPreset {
  const char* name;
  SahCosts costs;
};
inline constexpr CostPreset cost_presets[] = {
    {"balanced", {}},
    {"build", {.traversal = 2, .empty_bonus = 0.17f, .duplicate = 0.02f}},
    {"trace", {.traversal = 1.15f, .empty_bonus = 0.045f, .duplicate = 0}},
    {"update", {.traversal = 10, .empty_bonus = 0.05f, .duplicate = 0.2f}},
};

// Max depth of a leaf; the root has depth 0. Traversal stacks hold this many entries.
inline constexpr unsigned max_depth = 60;

// nodes[0] is the root, nodes[1] is unused. Both arrays may have entries that no node refers to.
struct Tree {
  Box bounds;  // of the scene: the root's box
  std::vector<Node> nodes;
  std::vector<std::uint32_t> refs;  // triangle ids, leaf by leaf
  bool incomplete = false;          // more memory would have allowed more splits
};

// A tree in the memory of a device.
struct DeviceTree {
  const Node* nodes = nullptr;  // nullptr in a workspace without triangles
  std::size_t node_count = 0;
  const std::uint32_t* refs = nullptr;
  std::size_t ref_count = 0;
  Box bounds;
};

// A node that a walk down the tree has reached.
struct NodeVisit {
  Box box;
  std::uint32_t node;
  unsigned depth;

  // The node's child below the plane (side 0) or above it (side 1).
  NodeVisit child(const Node& inner, unsigned side) const {
    NodeVisit next{box, inner.child(side), depth + 1};
    (side == 0 ? next.box.hi : next.box.lo)[inner.axis()] = inner.split;
    return next;
  }
};

// The builders' input. Indices must be valid and coordinates finite (scenes::check verifies it).
struct MeshView {
  std::span<const Vec3> vertices;
  std::span<const Triangle> triangles;
};

inline Corners corners(const MeshView& mesh, std::uint32_t triangle) {
  const Triangle& t = mesh.triangles[triangle];
  return {mesh.vertices[t.v[0]], mesh.vertices[t.v[1]], mesh.vertices[t.v[2]]};
}

}  // namespace heapwood::kdtree
