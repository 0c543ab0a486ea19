// SPDX-License-Identifier: MIT
// A tree with a layout that no builder makes, for tests of code that must not depend on the layout.
#pragma once

#include <cstdint>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// Node pairs in reverse order, leaves in another order in the ref array with gaps, and ids within
// leaves reversed.
inline Tree shuffled(const Tree& tree) {
  const auto pairs = static_cast<std::uint32_t>(tree.nodes.size() / 2);
  Tree other;
  other.bounds = tree.bounds;
  other.nodes.resize(tree.nodes.size() + 2);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    Node node = tree.nodes[i];
    if (i != 1 && node.leaf()) {
      const auto first = static_cast<std::uint32_t>(other.refs.size()) + 1;
      other.refs.push_back(12345);
      for (std::uint32_t k = node.count(); k-- > 0;)
        other.refs.push_back(tree.refs[node.first + k]);
      node = Node::make_leaf(first, node.count());
    } else if (i != 1) {
      node = Node::make_inner(node.split, node.axis(), pairs - node.child(0) / 2);
    }
    other.nodes[i < 2 ? i : 2 * (pairs - i / 2) + i % 2] = node;
  }
  return other;
}

}  // namespace heapwood::kdtree
