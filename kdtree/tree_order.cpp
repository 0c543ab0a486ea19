// SPDX-License-Identifier: MIT
#include "kdtree/tree_order.hpp"

#include <algorithm>

namespace heapwood::kdtree {
namespace {

// A node as it was, and where it goes.
struct Job {
  Node node;
  std::uint32_t place;
};

}  // namespace

Tree depth_first(const Tree& tree) {
  Tree out{tree.bounds, {}, {}, tree.incomplete};
  if (tree.nodes.empty()) return out;
  out.nodes.reserve(tree.nodes.size());
  out.refs.reserve(tree.refs.size());
  out.nodes.assign(tree.nodes.begin(), tree.nodes.begin() + std::min<std::ptrdiff_t>(2, std::ssize(tree.nodes)));

  std::vector<Job> later;  // children above on the way down, at most one a level
  later.reserve(max_depth);
  Job job{tree.nodes[0], 0};
  for (;;) {
    const Node node = job.node;
    if (!node.leaf()) {
      const Node below = tree.nodes[node.child(0)], above = tree.nodes[node.child(1)];
      const auto pair = static_cast<std::uint32_t>(out.nodes.size() / 2);
      out.nodes.resize(out.nodes.size() + 2);
      out.nodes[job.place] = Node::make_inner(node.split, node.axis(), pair);
      // What the child above refers to is needed soon, and may lie anywhere.
      if (above.leaf()) {
        __builtin_prefetch(tree.refs.data() + above.first);
      } else {
        __builtin_prefetch(tree.nodes.data() + above.child(0));
      }
      later.push_back({above, 2 * pair + 1});
      job = {below, 2 * pair};
      continue;
    }
    out.nodes[job.place] = Node::make_leaf(static_cast<std::uint32_t>(out.refs.size()), node.count());
    const auto first = tree.refs.begin() + node.first;
    if (node.count() > 0) out.refs.insert(out.refs.end(), first, first + node.count());
    if (later.empty()) return out;
    job = later.back();
    later.pop_back();
  }
}

}  // namespace heapwood::kdtree
