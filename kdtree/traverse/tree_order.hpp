// SPDX-License-Identifier: MIT
// Reorders a tree for tracing. Builders place nodes and refs in the order in which warps finish;
// rays visit the child below a plane before the one above, and in depth-first order the next node
// they need is adjacent in memory. All work is done on the tree's device; the kernels are in
// tree_order_kernels.hpp.
#pragma once

#include <algorithm>
#include <string>

#include "kdtree/traverse/tree_order_kernels.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

// The arrays of a tree in the memory of a device.
struct TreeArrays {
  simt::Buffer<Node> nodes;
  simt::Buffer<std::uint32_t> refs;
};

// Replaces the arrays by those of the same tree in depth-first preorder: pairs with the child below
// first, and refs leaf by leaf in that order, without unused entries. Returns the milliseconds of
// the launches, which exclude allocating the new arrays and 12 temporary bytes per pair. `warps`: 0
// = as many as are useful. Throws Error if the memory does not suffice, or if one of the checks
// finds the structure unsound.
template <class Device>
double depth_first(const Device& device, TreeArrays& tree, unsigned warps = 0) {
  if (tree.nodes.size() == 0) return 0;
  const auto pairs = static_cast<std::uint32_t>(tree.nodes.size() / 2);
  const OrderState start{};
  simt::Buffer<OrderState> state(device.id(), {&start, 1});
  simt::Buffer<std::uint32_t> list(device.id(), pairs);
  simt::Buffer<OrderExtent> extents(device.id(), pairs);
  const OrderInput input{tree.nodes.data(),
                         tree.refs.data(),
                         pairs,
                         static_cast<std::uint32_t>(tree.refs.size()),
                         list.data(),
                         extents.data(),
                         state.data()};
  if (warps == 0) {
    // Every warp must arrive at every barrier, so more warps cost time. A few steps in flight per
    // lane hide the memory latency; more warps do not hide more.
    constexpr std::size_t pairs_per_warp = 256, warps_per_multiprocessor = 16;
    warps = static_cast<unsigned>(std::min<std::size_t>(
        {pairs / pairs_per_warp + 1, warps_per_multiprocessor * device.multiprocessors(),
         device.template resident_warps<OrderCounts>(),
         device.template resident_warps<OrderPlaces>()}));
  }
  const simt::LaunchLimits limits{.seconds = 60, .what = "putting the tree into depth-first order"};
  try {
    double ms = device.launch(OrderCounts{input}, warps, limits);
    const OrderExtent all = state.download().front().all;
    const std::size_t roots = std::min<std::size_t>(2, tree.nodes.size());
    TreeArrays ordered{{device.id(), roots + 2 * std::size_t{all.pairs}}, {device.id(), all.refs}};
    ms += device.launch(OrderPlaces{input, ordered.nodes.data(), ordered.refs.data(), roots == 2},
                        warps, limits);
    tree = std::move(ordered);
    return ms;
  } catch (const simt::KernelFailure& failure) {
    throw Error(Exit::failed,
                "internal error: cannot put the tree into depth-first order: it is deeper than " +
                    std::to_string(max_depth) + " or a link is invalid (at " +
                    std::to_string(failure.operand[0]) + "); please report the scene");
  }
}

}  // namespace heapwood::kdtree
