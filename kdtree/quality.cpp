// SPDX-License-Identifier: MIT
#include "kdtree/quality.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::kdtree {
namespace {

double half_area(const Box& box) {
  double extent[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    extent[axis] = std::max(0.0, static_cast<double>(box.hi[axis]) - box.lo[axis]);
  }
  return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
}

// A stream of words in depth-first order, each stirred in by SplitMix64's finaliser (Steele, Lea & Flood 2014). The
// stream tells inner nodes from leaves and carries the leaves' sizes, so that it decodes to one tree only.
class Hash {
 public:
  void add(std::uint64_t word) {
    std::uint64_t x = (state_ ^ word) + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    state_ = x ^ (x >> 31);
  }
  void add_inner(unsigned axis, float split) {
    add(std::uint64_t{axis + 1} << 32 | std::bit_cast<std::uint32_t>(split + 0.0f));  // -0 becomes +0
  }
  void add_leaf(std::vector<std::uint32_t>& refs) {
    std::sort(refs.begin(), refs.end());
    add(std::uint64_t{4} << 32 | refs.size());
    for (const std::uint32_t id : refs) add(id);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x68656170776f6f64u;  // "heapwood"
};

[[noreturn]] void broken(std::uint32_t node, const std::string& what) {
  throw Error(Exit::failed, "tree: node " + std::to_string(node) + " " + what + "; the builder is at fault");
}

struct Visit {
  Box box;
  std::uint32_t node;
  unsigned depth;
};

}  // namespace

TreeStats measure(const Tree& tree, const SahCosts& costs) {
  if (tree.nodes.empty()) throw Error(Exit::failed, "tree: there is no root; the builder is at fault");
  TreeStats stats;
  Hash hash;
  // Without area (no triangles, a point, a line) there is no chance to weigh nodes by: all count as entered.
  const double root_area = tree.bounds.empty() ? 0.0 : half_area(tree.bounds);
  double inner_area = 0;
  double leaf_area = 0;  // times refs
  std::vector<bool> seen(tree.nodes.size() / 2 + 1);
  seen[0] = true;
  std::vector<std::uint32_t> refs;
  std::vector<Visit> stack{{tree.bounds, 0, 0}};
  while (!stack.empty()) {
    const Visit at = stack.back();
    stack.pop_back();
    const Node node = tree.nodes[at.node];
    const double area = root_area > 0 ? half_area(at.box) : 1.0;
    if (node.leaf()) {
      const std::size_t count = node.count();
      if (count > 0 && node.first + count > tree.refs.size()) broken(at.node, "is a leaf with refs out of range");
      ++stats.leaves;
      stats.empty_leaves += count == 0;
      stats.refs += count;
      stats.largest_leaf = std::max(stats.largest_leaf, node.count());
      stats.depth = std::max(stats.depth, at.depth);
      leaf_area += area * static_cast<double>(count);
      if (count == 0) {
        refs.clear();
      } else {
        const auto begin = tree.refs.begin() + node.first;
        refs.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
      }
      hash.add_leaf(refs);
      continue;
    }
    if (at.depth >= max_depth) broken(at.node, "is deeper than " + std::to_string(max_depth) + " and not a leaf");
    if (!std::isfinite(node.split)) broken(at.node, "has a plane that is not finite");
    const std::size_t pair = node.child(0) / 2;
    if (std::size_t{2} * pair + 1 >= tree.nodes.size()) broken(at.node, "has children out of range");
    if (seen[pair]) broken(at.node, "has children that another node has too");
    seen[pair] = true;
    ++stats.inner;
    inner_area += area;
    hash.add_inner(node.axis(), node.split);
    Visit below{at.box, node.child(0), at.depth + 1};
    Visit above{at.box, node.child(1), at.depth + 1};
    below.box.hi[node.axis()] = above.box.lo[node.axis()] = node.split;
    stack.push_back(above);
    stack.push_back(below);
  }
  const double scale = root_area > 0 ? 1.0 / root_area : 1.0;
  stats.sah_cost = (costs.traversal * inner_area + costs.intersection * leaf_area) * scale;
  stats.sah_cost_1_1 = (inner_area + leaf_area) * scale;
  stats.hash = hash.value();
  return stats;
}

}  // namespace heapwood::kdtree
