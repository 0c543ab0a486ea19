// SPDX-License-Identifier: MIT
// A tree laid out for rays. Builders hand out pairs of nodes and places for refs as warps come; rays go down, below a plane
// before above it, and find there what lies next in memory.
#pragma once

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// The same tree: pairs in depth-first preorder, the child below first, and refs leaf by leaf in that order, with nothing unused in
// between. The structure must be sound. On one thread, as quick as memory is.
Tree depth_first(const Tree& tree);

}  // namespace heapwood::kdtree
