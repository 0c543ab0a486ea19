// SPDX-License-Identifier: MIT
#include "kdtree/traverse/depth_first.hpp"

#include <algorithm>

namespace heapwood::kdtree {

Tree depth_first(const Tree& tree) {
  Tree ordered{tree.bounds, {}, {}, tree.incomplete};
  if (tree.nodes.empty()) {
    ordered.nodes = {Node::make_leaf(0, 0)};
    return ordered;
  }
  ordered.nodes.reserve(tree.nodes.size());
  ordered.refs.reserve(tree.refs.size());
  ordered.nodes.resize(2);  // the second one is unused
  struct Visit {
    std::uint32_t from, to;
  };
  std::vector<Visit> stack{{0, 0}};
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    const Node node = tree.nodes[visit.from];
    if (node.leaf()) {
      const auto first = static_cast<std::uint32_t>(ordered.refs.size());
      const auto refs = tree.refs.begin() + node.first;
      ordered.refs.insert(ordered.refs.end(), refs, refs + node.count());
      std::sort(ordered.refs.begin() + first, ordered.refs.end());
      ordered.nodes[visit.to] = Node::make_leaf(first, node.count());
    } else {
      const auto pair = static_cast<std::uint32_t>(ordered.nodes.size() / 2);
      ordered.nodes.resize(ordered.nodes.size() + 2);
      ordered.nodes[visit.to] = Node::make_inner(node.split, node.axis(), pair);
      stack.push_back({node.child(1), 2 * pair + 1});
      stack.push_back({node.child(0), 2 * pair});
    }
  }
  return ordered;
}

}  // namespace heapwood::kdtree
