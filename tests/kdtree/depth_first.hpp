// SPDX-License-Identifier: MIT
// Depth-first order by one thread: the expected result of kdtree/traverse/tree_order.hpp, bit by
// bit.
#pragma once

#include <vector>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

inline Tree depth_first(const Tree& tree) {
  Tree out{tree.bounds, {}, {}, tree.incomplete};
  if (tree.nodes.empty()) return out;
  out.nodes.assign(tree.nodes.begin(), tree.nodes.begin() + (tree.nodes.size() > 1 ? 2 : 1));
  struct Job {
    std::uint32_t from, to;
  };
  std::vector<Job> jobs{{0, 0}};
  while (!jobs.empty()) {
    const Job job = jobs.back();
    jobs.pop_back();
    const Node node = tree.nodes[job.from];
    if (node.leaf()) {
      out.nodes[job.to] =
          Node::make_leaf(static_cast<std::uint32_t>(out.refs.size()), node.count());
      for (std::uint32_t k = 0; k < node.count(); ++k)
        out.refs.push_back(tree.refs[node.first + k]);
      continue;
    }
    const auto pair = static_cast<std::uint32_t>(out.nodes.size() / 2);
    out.nodes.resize(out.nodes.size() + 2);
    out.nodes[job.to] = Node::make_inner(node.split, node.axis(), pair);
    jobs.push_back({node.child(1), 2 * pair + 1});
    jobs.push_back({node.child(0), 2 * pair});
  }
  return out;
}

}  // namespace heapwood::kdtree
