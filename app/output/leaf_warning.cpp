// SPDX-License-Identifier: MIT
#include "app/output/leaf_warning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

constexpr std::uint32_t warn_above = 1000;  // refs

}  // namespace

void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf) {
  if (largest_leaf <= warn_above) return;
  bench::warning(fmt::format(
      "{}: the largest leaf has {} refs: no split plane lowers its cost, or the tree has "
      "reached its limit of refs; rays that reach it are slow",
      scene, bench::count_text(largest_leaf)));
}

std::uint32_t largest_leaf(const kdtree::Tree& tree) {
  std::uint32_t largest = 0;
  std::vector<std::uint32_t> stack{0};  // only reachable nodes: others of the array are unused
  while (!stack.empty()) {
    const kdtree::Node node = tree.nodes[stack.back()];
    stack.pop_back();
    if (node.leaf())
      largest = std::max(largest, node.count());
    else
      for (const unsigned side : {0u, 1u}) stack.push_back(node.child(side));
  }
  return largest;
}

}  // namespace heapwood::app
