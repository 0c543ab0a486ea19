// SPDX-License-Identifier: MIT
// A node to be split, and the state that its path from the root passes to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry/triangle.hpp"
#include "kdtree/tree.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// Splits of nodes with at most max_uncounted_refs refs do not reduce the allowance, because nearly
// all nodes are that small and counting them would be slow. SAH cost and depth limit their refs.
inline constexpr std::uint32_t max_uncounted_refs = 32;
// The root's allowance: the refs that counted splits may make of each triangle. It is smaller in
// small scenes, where more of the splits are not counted. Trees have at most 16 refs per triangle
// on every family of meshes in tests/kdtree/families.hpp.
HEAPWOOD_INLINE float root_allowance(std::uint32_t triangles) {
  return triangles > 4096 ? 10.0f : 7.0f;
}

// What a node inherits from its path, in one word: its depth; how many splits in a row above it
// cost no less than a leaf; whether the node's own split is chosen already; the scene's scale for
// SplitCost, a power of two, as its exponent.
class NodePath {
 public:
  NodePath() = default;
  // The path of the root of a tree.
  HEAPWOOD_INLINE explicit NodePath(float scale) : word_(simt::bits(scale)) {}

  HEAPWOOD_INLINE unsigned depth() const { return word_ & depth_mask; }
  HEAPWOOD_INLINE float scale() const { return simt::from_bits(word_ & scale_mask); }
  HEAPWOOD_INLINE unsigned poor_splits() const { return (word_ & poor_mask) / poor_unit; }
  // Whether a split may be chosen: the node is above the last level, and no split is chosen yet.
  HEAPWOOD_INLINE bool may_choose() const {
    return (word_ & (depth_mask | chosen_bit)) < max_depth;
  }
  // Whether the node's split has been chosen and is in Scratch::chosen.
  HEAPWOOD_INLINE bool has_chosen_split() const { return (word_ & chosen_bit) != 0; }
  HEAPWOOD_INLINE NodePath with_chosen_split() const { return NodePath(word_ | chosen_bit); }
  HEAPWOOD_INLINE NodePath without_chosen_split() const { return NodePath(word_ & ~chosen_bit); }
  // The path of this node with splits forbidden that cost more than a leaf.
  HEAPWOOD_INLINE NodePath without_poor_splits() const { return NodePath(word_ | poor_mask); }
  HEAPWOOD_INLINE NodePath with_poor_splits(unsigned count) const {
    return NodePath((word_ & ~poor_mask) | count * poor_unit);
  }
  HEAPWOOD_INLINE NodePath next_level() const { return NodePath(word_ + 1); }

 private:
  static constexpr std::uint32_t depth_mask = 0x7fu, chosen_bit = 0x80u, poor_unit = 0x100u,
                                 poor_mask = 0x700u, scale_mask = 0x7f800000u;
  HEAPWOOD_INLINE explicit NodePath(std::uint32_t word) : word_(word) {}

  std::uint32_t word_ = 0;
};

struct alignas(16) NodeTask {
  std::byte* refs;
  std::uint32_t n;
  std::uint32_t node;  // the node's index in the tree
  Box box;
  NodePath path;
  float allowance;  // max refs that splits may make of each ref of the node
};
static_assert(sizeof(NodeTask) == 48);

// The allowance of both children of a node whose split adds refs: allowance * n / (n + added). It
// divides the parent's limit, allowance * n, among the children in proportion to their refs. The
// result never exceeds the exact quotient, is at most 0.01% below it, is identical on every device
// and costs less than a division.
HEAPWOOD_INLINE float allowance_below(float allowance, std::uint32_t n, std::uint32_t added) {
  if (added == 0) return allowance;
  const float whole = static_cast<float>(n + added);
  float inverse = simt::from_bits(0x7ef311c7u - simt::bits(whole));  // 1 / whole within 13%
  inverse = inverse * (2.0f - whole * inverse);  // a Newton step; approaches from below
  inverse = inverse * (2.0f - whole * inverse);
  return allowance * (static_cast<float>(n) * inverse);
}

// What the children of a node inherit from it.
struct Inherited {
  NodePath path;  // at the node's own depth
  float allowance;
};

}  // namespace heapwood::kdtree
