// SPDX-License-Identifier: MIT
// Trees laid out in other orders than builders make.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// Copies node `from` of `tree` to node `to` of `out`, and appends what is below it in the order of
// a walk.
inline void append_walk(const Tree& tree, std::uint32_t from, Tree& out, std::uint32_t to) {
  const Node node = tree.nodes[from];
  if (node.leaf()) {
    out.nodes[to] = Node::make_leaf(static_cast<std::uint32_t>(out.refs.size()), node.count());
    const auto first = tree.refs.begin() + node.first;
    out.refs.insert(out.refs.end(), first, first + node.count());
    return;
  }
  const auto pair = static_cast<std::uint32_t>(out.nodes.size() / 2);
  out.nodes.resize(out.nodes.size() + 2);
  out.nodes[to] = Node::make_inner(node.split, node.axis(), pair);
  for (const unsigned side : {0u, 1u}) append_walk(tree, node.child(side), out, 2 * pair + side);
}

// Depth-first order by one thread: the expected result of kdtree/traverse/tree_order.hpp, bit by
// bit.
inline Tree depth_first(const Tree& tree) {
  Tree out{tree.bounds, {}, {}, tree.incomplete};
  if (tree.nodes.empty()) return out;
  out.nodes.assign(tree.nodes.begin(), tree.nodes.begin() + (tree.nodes.size() > 1 ? 2 : 1));
  append_walk(tree, 0, out, 0);
  return out;
}

// A tree with a layout that no builder makes, for tests of code that must not depend on the layout.

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
