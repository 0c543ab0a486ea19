// SPDX-License-Identifier: MIT
#include "kdtree/check/quality.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "kdtree/traverse/tree_order.hpp"
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

// Hashes a stream of words in depth-first order, for parts of a tree that measure() combines. The
// stream tells inner nodes from leaves and contains the leaves' sizes, so it decodes to exactly one
// tree.
class Hash {
 public:
  void add(std::uint64_t word) { state_ = mix(state_ ^ word); }
  void add_inner(unsigned axis, float split) {
    // Adding zero turns -0 into +0.
    add(std::uint64_t{axis + 1} << 32 | std::bit_cast<std::uint32_t>(split + 0.0f));
  }
  void add_leaf(std::vector<std::uint32_t>& refs) {
    std::ranges::sort(refs);
    add(std::uint64_t{4} << 32 | refs.size());
    for (const std::uint32_t id : refs) add(id);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x68656170776f6f64u;  // "heapwood"
};

[[noreturn]] void broken(std::uint32_t node, const std::string& what) {
  throw Error(Exit::failed,
              "tree: node " + std::to_string(node) + " " + what + "; this is a bug in the builder");
}

// The sums over a part of the tree.
struct Part {
  TreeStats stats;
  double inner_area = 0;
  double leaf_area = 0;  // sum of area times refs
  Hash hash;

  void add(const Part& other) {
    stats.inner += other.stats.inner;
    stats.leaves += other.stats.leaves;
    stats.empty_leaves += other.stats.empty_leaves;
    stats.refs += other.stats.refs;
    stats.largest_leaf = std::max(stats.largest_leaf, other.stats.largest_leaf);
    stats.depth = std::max(stats.depth, other.stats.depth);
    inner_area += other.inner_area;
    leaf_area += other.leaf_area;
    hash.add(other.hash.value());
  }
};

class Walk {
 public:
  explicit Walk(const Tree& tree) : tree_(tree), seen_(tree.nodes.size() / 2 + 1) {
    // A scene without area (nothing, a point, a line) has no probabilities: all nodes are entered.
    root_area_ = tree.bounds.empty() ? 0.0 : half_area(tree.bounds);
    seen_[0] = 1;
  }
  double root_area() const { return root_area_; }

  // Visits the nodes from `root` to depth `cut` in depth-first order; inner nodes there go to
  // `later`.
  Part run(const NodeVisit& root, unsigned cut, std::vector<NodeVisit>& later) {
    Part part;
    std::vector<std::uint32_t> refs;
    std::vector<NodeVisit> stack{root};
    while (!stack.empty()) {
      const NodeVisit visit = stack.back();
      stack.pop_back();
      const Node node = tree_.nodes[visit.node];
      if (node.leaf()) {
        leaf(part, visit, node, refs);
      } else if (visit.depth == cut) {
        later.push_back(visit);
      } else {
        inner(part, visit, node, stack);
      }
    }
    return part;
  }

 private:
  double area(const Box& box) const { return root_area_ > 0 ? half_area(box) : 1.0; }

  void leaf(Part& part, const NodeVisit& visit, const Node& node,
            std::vector<std::uint32_t>& refs) const {
    const std::size_t count = node.count();
    if (count > 0 && node.first + count > tree_.refs.size())
      broken(visit.node, "is a leaf with refs out of range");
    ++part.stats.leaves;
    part.stats.empty_leaves += count == 0;
    part.stats.refs += count;
    part.stats.largest_leaf = std::max(part.stats.largest_leaf, node.count());
    part.stats.depth = std::max(part.stats.depth, visit.depth);
    part.leaf_area += area(visit.box) * static_cast<double>(count);
    refs.clear();
    if (count > 0) {
      const auto begin = tree_.refs.begin() + node.first;
      refs.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    part.hash.add_leaf(refs);
  }

  void inner(Part& part, const NodeVisit& visit, const Node& node, std::vector<NodeVisit>& stack) {
    if (visit.depth >= max_depth)
      broken(visit.node, "is deeper than " + std::to_string(max_depth) + " and not a leaf");
    if (!std::isfinite(node.split)) broken(visit.node, "has a plane that is not finite");
    const std::size_t pair = node.child(0) / 2;
    if (std::size_t{2} * pair + 1 >= tree_.nodes.size())
      broken(visit.node, "has children out of range");
    // relaxed: whichever visitor comes second reports the error; nothing else is shared.
    if (seen_[pair].exchange(1, std::memory_order_relaxed) != 0) {
      broken(visit.node, "has children that are also children of another node");
    }
    ++part.stats.inner;
    part.inner_area += area(visit.box);
    part.hash.add_inner(node.axis(), node.split);
    stack.push_back(visit.child(node, 1));
    stack.push_back(visit.child(node, 0));
  }

  const Tree& tree_;
  double root_area_ = 0;
  std::vector<std::atomic<std::uint8_t>> seen_;  // by pair; 1 once visited
};

}  // namespace

TreeStats measure(const Tree& tree, const SahCosts& costs) {
  if (tree.nodes.empty())
    throw Error(Exit::failed, "tree: there is no root; this is a bug in the builder");
  // Subtrees below a fixed depth are measured in parallel and added in their order, so that sums
  // and hash do not depend on the number of threads.
  constexpr unsigned cut = 9;
  Walk walk(tree);
  std::vector<NodeVisit> roots;
  Part total = walk.run({tree.bounds, 0, 0}, cut, roots);
  std::vector<Part> parts(roots.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::vector<NodeVisit> none;
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < roots.size();) {
      parts[i] = walk.run(roots[i], max_depth + 1, none);
    }
  };
  std::vector<std::future<void>> helpers;
  const std::size_t threads =
      std::min<std::size_t>(std::thread::hardware_concurrency(), tree.nodes.size() / 65536);
  for (std::size_t i = 1; i < threads; ++i) helpers.push_back(std::async(std::launch::async, work));
  work();
  for (auto& helper : helpers) helper.get();
  for (const Part& part : parts) total.add(part);

  TreeStats stats = total.stats;
  const double scale = walk.root_area() > 0 ? 1.0 / walk.root_area() : 1.0;
  stats.sah_cost =
      (costs.traversal * total.inner_area + costs.intersection * total.leaf_area) * scale;
  stats.sah_cost_1_1 = (total.inner_area + total.leaf_area) * scale;
  stats.hash = total.hash.value();
  return stats;
}

}  // namespace heapwood::kdtree
