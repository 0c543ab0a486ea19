// SPDX-License-Identifier: MIT
// A node of a finished tree: 8 bytes (docs/architecture.md, "Tree").
#pragma once

#include <cstdint>

#include "simt/config.hpp"

namespace heapwood::kdtree {

// Inner node: `split` is the plane, `link` is pair << 2 | axis + 1 (1 to 3). Its children are
// nodes[2 * pair], below the plane, and nodes[2 * pair + 1]. Leaf: `first` is the index of its
// first ref in the tree's ref array, `link` is count << 2. One operation on a GPU extracts the two
// bits of the kind and tests them for 0, which gives the axis and whether the node is a leaf.
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

}  // namespace heapwood::kdtree
