// SPDX-License-Identifier: MIT
// A node still to be split, and what its path from the root hands down to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry/box.hpp"
#include "simt/math.hpp"

namespace heapwood::kdtree {

// A tree holds at most this many refs per triangle of the scene.
inline constexpr std::uint32_t max_refs_per_triangle = 16;

// In one word: the node's depth, the number of splits in a row above it that looked no better than a leaf, whether the next
// split of it is one of those, and the scene's scale for SplitCost, a power of two of which only the exponent is kept.
class NodePath {
 public:
  NodePath() = default;
  // The root's.
  SIMT_INLINE explicit NodePath(float scale) : word_(simt::bits(scale)) {}

  SIMT_INLINE unsigned depth() const { return word_ & depth_mask; }
  SIMT_INLINE float scale() const { return simt::from_bits(word_ & scale_mask); }
  SIMT_INLINE unsigned poor_splits() const { return (word_ & poor_mask) / poor_unit; }
  SIMT_INLINE bool is_split_in_middle() const { return (word_ & middle_bit) != 0; }
  // The path of the same node whose next split is `in_middle` or an ordinary one.
  SIMT_INLINE NodePath split_in_middle(bool in_middle) const {
    return NodePath((word_ & ~middle_bit) | (in_middle ? middle_bit : 0));
  }
  // The path of the same node, which is to become a leaf where no split looks better.
  SIMT_INLINE NodePath without_poor_splits() const { return NodePath(word_ | poor_mask); }
  // The path of a child.
  SIMT_INLINE NodePath below(bool split_is_poor) const {
    const std::uint32_t next = (word_ & ~middle_bit) + 1;
    return NodePath(split_is_poor ? next + poor_unit : next & ~poor_mask);
  }

 private:
  static constexpr std::uint32_t depth_mask = 0xffu, poor_unit = 0x100u, poor_mask = 0x700u, middle_bit = 0x800u,
                                 scale_mask = 0x7f800000u;
  SIMT_INLINE explicit NodePath(std::uint32_t word) : word_(word) {}

  std::uint32_t word_ = 0;
};

struct alignas(16) NodeTask {
  std::byte* refs;
  std::uint32_t n;
  std::uint32_t node;  // index in the tree
  Box box;
  NodePath path;
  std::uint32_t spare;  // refs that splits below may add to n in all
};
static_assert(sizeof(NodeTask) == 48);

// The spare refs of a scene of n triangles; n is below 2^28.
SIMT_INLINE std::uint32_t spare_refs(std::uint32_t n) { return n * (max_refs_per_triangle - 1); }

// The left child's share of `spare` refs: about nl / (nl + nr) of them, and never more than there are. The right child gets the
// rest, so that the sum over all leaves stays within the scene's limit. A quarter of a percent off, the same on every device,
// and cheaper than a division.
SIMT_INLINE std::uint32_t left_share(std::uint32_t spare, std::uint32_t nl, std::uint32_t nr) {
  if (nr == 0) return spare;
  const float whole = static_cast<float>(nl + nr);
  const float guess = simt::from_bits(0x7ef311c7u - simt::bits(whole));  // 1 / whole within 13%
  const float inverse = guess * (2.0f - whole * guess);                  // one step of Newton's method
  const float share = static_cast<float>(spare) * (static_cast<float>(nl) * inverse);
  const std::uint32_t whole_share = static_cast<std::uint32_t>(share);
  return whole_share < spare ? whole_share : spare;
}

}  // namespace heapwood::kdtree
