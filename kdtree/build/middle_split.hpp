// SPDX-License-Identifier: MIT
// The slow path of a node for which no split costs less than a leaf: a split in its middle, which
// is then the node's chosen split. This is rare, so the code is called, not inlined.
#pragma once

#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/node_stack.hpp"

namespace heapwood::kdtree {

// The task is in stack entry `at`. Leaves the split in scratch.chosen; returns false if there is
// none.
template <class Kernel, class Warp>
HEAPWOOD_OUTLINE bool choose_middle_slow(Warp warp, typename Kernel::Scratch& scratch,
                                         const PackedCorners* corners, SahCosts costs,
                                         std::uint32_t at) {
  const NodeTask& task = scratch.stack[at];
  const SplitCost cost(costs, task.path.scale(), task.box, task.n);
  const ChosenSplit split =
      choose_middle<typename Kernel::Refs>(warp, scratch.choose, task, corners, cost);
  if (warp.lane() == 0) scratch.chosen = split;
  warp.sync();
  return split.found();
}

// Chooses a split in the middle of a node and returns the path with which the node is the next one
// again: it is then split there, or becomes a leaf. Call it right after the choice of choose.hpp
// for the same node.
template <class Kernel, class Warp>
HEAPWOOD_INLINE NodePath choose_middle_of(const Kernel& k, Warp& warp,
                                          typename Kernel::Scratch& scratch,
                                          NodeStack<Kernel, Warp>& stack, const NodeTask& task) {
  stack.store_in_free_entry(task);
  warp.sync();
  const bool found =
      choose_middle_slow<Kernel>(warp, scratch, k.corners, k.costs, stack.free_entry());
  return found ? task.path.with_chosen_split() : task.path.without_poor_splits();
}

}  // namespace heapwood::kdtree
