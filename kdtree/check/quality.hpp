// SPDX-License-Identifier: MIT
// Quality of a finished tree, and its structural hash.
#pragma once

#include <cstdint>

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

struct TreeStats {
  std::uint64_t inner = 0;
  std::uint64_t leaves = 0;  // empty ones included
  std::uint64_t empty_leaves = 0;
  std::uint64_t refs = 0;          // sum over all leaves
  std::uint32_t largest_leaf = 0;  // refs
  unsigned depth = 0;              // of the deepest leaf; the root alone has depth 0
  double sah_cost = 0;             // expected cost of a random ray through the root box
  double sah_cost_1_1 = 0;         // the same with traversal 1 and intersection 1
  // Structural hash of axes, plane bits and the leaves' refs as sorted sets; independent of the
  // layout in memory
  std::uint64_t hash = 0;
};

// Visits the tree from the root in O(nodes + refs * log(leaf size)). Throws Error if the structure
// is broken (link out of range, cycle, depth over max_depth).
TreeStats measure(const Tree& tree, const SahCosts& costs);

}  // namespace heapwood::kdtree
