// SPDX-License-Identifier: MIT
// Reorders a tree for tracing. Builders place nodes and refs in the order in which warps finish;
// rays visit the child below a plane before the one above, and in depth-first order the next node
// they need is adjacent in memory.
#pragma once

#include "kdtree/tree.hpp"

namespace heapwood::kdtree {

// The same tree with its node pairs in depth-first preorder, the child below a plane first, and its
// refs leaf by leaf in that order, ascending within each leaf, without unused entries. Trees that
// differ only in their layout become equal, and so do pictures of them: of hits at the same
// distance in a leaf a ray takes the first. An empty tree gets a leaf without refs.
Tree depth_first(const Tree& tree);

}  // namespace heapwood::kdtree
