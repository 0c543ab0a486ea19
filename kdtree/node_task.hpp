// SPDX-License-Identifier: MIT
// A node still to be split, and what its path from the root hands down to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry/box.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// A tree holds at most this many refs per triangle of the scene.
inline constexpr float max_refs_per_triangle = 16;

// In one word: the node's depth, the number of splits in a row above it that looked no better than a leaf, and the scene's
// scale for SplitCost, a power of two of which only the exponent is kept.
class NodePath {
 public:
  NodePath() = default;
  // The root's.
  SIMT_INLINE explicit NodePath(float scale) : word_(simt::bits(scale)) {}

  SIMT_INLINE unsigned depth() const { return word_ & depth_mask; }
  SIMT_INLINE float scale() const { return simt::from_bits(word_ & scale_mask); }
  SIMT_INLINE unsigned poor_splits() const { return (word_ & poor_mask) / poor_unit; }
  // A child's.
  SIMT_INLINE NodePath below(bool split_is_poor) const {
    return NodePath(split_is_poor ? word_ + 1 + poor_unit : (word_ & ~poor_mask) + 1);
  }

 private:
  static constexpr std::uint32_t depth_mask = 0xffu, poor_unit = 0x100u, poor_mask = 0x700u, scale_mask = 0x7f800000u;
  SIMT_INLINE explicit NodePath(std::uint32_t word) : word_(word) {}

  std::uint32_t word_ = 0;
};

struct alignas(16) NodeTask {
  std::byte* refs;
  std::uint32_t n;
  std::uint32_t node;  // index in the tree
  Box box;
  NodePath path;
  float allowance;  // the leaves below may hold this many refs per ref of the node
};
static_assert(sizeof(NodeTask) == 48);

// The allowance of both children of a node whose split adds refs, so that the limit of the parent, allowance * n, is divided
// among them by their numbers of refs: allowance * n / (n + added). Never more than that, at most .01% less, the same on every
// device, and cheaper than a division.
SIMT_INLINE float allowance_below(float allowance, std::uint32_t n, std::uint32_t added) {
  if (added == 0) return allowance;
  const float whole = static_cast<float>(n + added);
  float inverse = simt::from_bits(0x7ef311c7u - simt::bits(whole));  // 1 / whole within 13%
  inverse = inverse * (2.0f - whole * inverse);                      // Newton's method comes from below
  inverse = inverse * (2.0f - whole * inverse);
  return allowance * (static_cast<float>(n) * inverse);
}

}  // namespace heapwood::kdtree
