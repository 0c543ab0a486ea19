// SPDX-License-Identifier: MIT
// Reorders a tree for tracing. Builders place nodes and refs in the order in which warps finish;
// rays visit the child below a plane before the one above, and in depth-first order the next node
// they need is adjacent in memory. All work is done on the tree's device.
//
// The first kernel goes down level by level, with a barrier between levels, and lists the pairs in
// use. Then lanes climb from the pairs that have two leaves and add up what is below each pair: of
// two children the one that arrives last goes on. The second kernel, once the host knows the sizes,
// has no barriers: for each pair, a lane climbs to the root and adds up what precedes the pair.
//
// Limits: a tree that is deeper than max_depth, or whose links lead out of its arrays or form a
// cycle, is rejected (unsound_tree). Leaves that share refs are not detected. Nodes must not share
// a pair: then positions may lie outside the arrays. No builder makes such trees.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kdtree/tree.hpp"
#include "simt/arithmetic.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/barrier.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"

namespace heapwood::kdtree {

// the kernels' only failure code; the first operand is a node or a level
inline constexpr std::uint32_t unsound_tree = 1;

// Numbers of pairs and refs: the contents below a pair, including itself, or those before it.
struct OrderExtent {
  std::uint32_t pairs = 0, refs = 0;

  HEAPWOOD_INLINE std::uint64_t packed() const { return std::uint64_t{pairs} << 32 | refs; }
  static HEAPWOOD_INLINE OrderExtent unpacked(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
};

struct alignas(16) OrderEntry {
  std::uint64_t below = 0;  // packed extent; 0 until a child has arrived
  std::uint32_t up = 0;     // twice the pair above, plus 1 if this pair is above its split plane

  HEAPWOOD_INLINE OrderExtent extent() const { return OrderExtent::unpacked(below); }
};

struct OrderState {
  std::uint32_t arrived = 0;  // arrivals at the barriers
  OrderExtent all;            // of the tree
  // Number of pairs of each level, starting with the root's, and a zero after the last. On a
  // separate cache line from the word that waiting warps poll.
  alignas(128) std::uint32_t level[max_depth + 1] = {1};
};

struct alignas(16) NodePair {
  Node node[2];
};

// The input tree and the data shared by both kernels.
struct OrderInput {
  const Node* nodes;
  const std::uint32_t* refs;
  std::uint32_t pair_count, ref_count;
  std::uint32_t* list;  // pairs, level by level; capacity pair_count
  OrderEntry* entries;  // one per pair
  OrderState* state;

  HEAPWOOD_INLINE NodePair load(std::uint32_t pair) const {
    return simt::load_constant(reinterpret_cast<const NodePair*>(nodes) + pair);
  }
  HEAPWOOD_INLINE Node root() const { return simt::load_constant(nodes); }
  // Whether the node's children or refs lie inside the arrays.
  HEAPWOOD_INLINE bool sound(Node node) const {
    if (!node.leaf()) return node.link >> 2 < pair_count;
    return node.count() == 0 || (node.first <= ref_count && node.count() <= ref_count - node.first);
  }
};

// Calls f(k, mine) for all k of [begin, end) that belong to this warp. All lanes call f together;
// `mine` is false in lanes beyond the end.
template <class Warp, class F>
HEAPWOOD_INLINE void for_lanes(Warp& warp, std::uint32_t begin, std::uint32_t end, F f) {
  HEAPWOOD_ROLLED
  for (std::uint32_t base = begin + warp.worker() * Warp::width; base < end;
       base += warp.workers() * Warp::width) {
    const std::uint32_t k = base + warp.lane();
    f(k, k < end);
  }
}

struct OrderCounts {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 16;
  struct Scratch {};

  OrderInput tree;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const Node root = tree.root();
    const bool first = warp.worker() == 0 && warp.lane() == 0;
    if (first && !tree.sound(root)) warp.fail(unsound_tree, 0);
    if (root.leaf() || !tree.sound(root)) {
      if (first) tree.state->all = {0, root.leaf() ? root.count() : 0};
      return;
    }
    if (first) tree.list[0] = root.link >> 2, tree.entries[root.link >> 2] = {};
    simt::Barrier barrier(&tree.state->arrived);
    std::uint32_t begin = 0, end = 1, level = 0;
    for (;; ++level) {
      if (!list_children(warp, begin, end, level) || !barrier.arrive_and_wait(warp)) return;
      // The count is complete: later additions go to the next level's word.
      const std::uint32_t more = tree.state->level[level + 1];
      if (more == 0) break;
      if (level + 1 == max_depth) {
        if (first) warp.fail(unsound_tree, level);
        return;
      }
      begin = end;
      end += more;
    }
    for_lanes(warp, 0, end, [&](std::uint32_t k, bool mine) {
      if (mine) climb(warp, tree.list[k], root.link >> 2);
    });
  }

 private:
  // Lists the pairs of the next level. False, in all lanes: the tree is unsound.
  template <class Warp>
  HEAPWOOD_INLINE bool list_children(Warp& warp, std::uint32_t begin, std::uint32_t end,
                                     std::uint32_t level) const {
    bool good = true;
    for_lanes(warp, begin, end, [&](std::uint32_t k, bool mine) {
      if (!good) return;
      NodePair pair{Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
      const std::uint32_t listed = mine ? tree.list[k] : 0;
      if (mine) pair = tree.load(listed);
      const bool sound = tree.sound(pair.node[0]) && tree.sound(pair.node[1]);
      if (!sound) warp.fail(unsound_tree, 2 * std::uint64_t{listed});
      const std::uint32_t below = pair.node[0].leaf() ? 0 : 1, above = pair.node[1].leaf() ? 0 : 1;
      const std::uint32_t up_to = warp.inclusive_add(below + above);
      const std::uint32_t total = warp.shfl(up_to, Warp::width - 1);
      std::uint32_t at = 0;
      // relaxed: each position is reserved once, and the barrier publishes the entries written
      // there.
      if (warp.lane() == 0 && total != 0) {
        at = simt::atomic_ref<std::uint32_t>(tree.state->level[level + 1])
                 .fetch_add(total, simt::relaxed);
      }
      at = warp.shfl(at, 0);
      // A cycle would list pairs without end; the list's capacity stops it. The sum cannot wrap,
      // because a rejected warp adds no more.
      const bool fits = at <= tree.pair_count - end && total <= tree.pair_count - end - at;
      if (!fits && warp.lane() == 0) warp.fail(unsound_tree, level);
      good = good && !warp.any(!sound) && fits;
      if (!good) return;
      std::uint32_t place = end + at + up_to - below - above;
      HEAPWOOD_UNROLLED
      for (unsigned side = 0; side < 2; ++side) {
        if (pair.node[side].leaf()) continue;
        const std::uint32_t child = pair.node[side].link >> 2;
        tree.list[place++] = child;
        tree.entries[child] = {0, 2 * listed + side};
      }
    });
    return good;
  }

  // From a pair with two leaves up to the first pair with a child that has not arrived.
  template <class Warp>
  HEAPWOOD_INLINE void climb(Warp& warp, std::uint32_t pair, std::uint32_t root_pair) const {
    NodePair nodes = tree.load(pair);
    if (!nodes.node[0].leaf() || !nodes.node[1].leaf()) return;
    std::uint64_t refs = 0;  // below the pair
    std::uint32_t pairs = 0;
    for (;;) {
      ++pairs;
      for (const Node node : nodes.node) refs += node.leaf() ? node.count() : 0;
      if (refs >> 32 != 0) return void(warp.fail(unsound_tree, 2 * std::uint64_t{pair}));
      const OrderExtent all{pairs, static_cast<std::uint32_t>(refs)};
      // relaxed, here and below: the sums contain all that the next one needs.
      entry(pair).store(all.packed(), simt::relaxed);
      if (pair == root_pair) return void(tree.state->all = all);
      pair = tree.entries[pair].up >> 1;
      nodes = tree.load(pair);
      if (nodes.node[0].leaf() || nodes.node[1].leaf()) continue;
      const std::uint64_t other = entry(pair).fetch_add(all.packed(), simt::relaxed);
      if (other == 0) return;
      pairs += OrderExtent::unpacked(other).pairs;
      refs += OrderExtent::unpacked(other).refs;
    }
  }
  HEAPWOOD_INLINE simt::atomic_ref<std::uint64_t> entry(std::uint32_t pair) const {
    return simt::atomic_ref<std::uint64_t>(tree.entries[pair].below);
  }
};

// After OrderCounts.
struct OrderCopies {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 16;
  static constexpr std::uint32_t max_lane_refs = 16;  // max refs of a leaf for one lane
  struct Scratch {};

  OrderInput tree;
  OrderExtent all;  // of the tree
  Node* nodes;
  std::uint32_t* refs;
  bool has_second_node;  // nodes[1] exists; it is copied unchanged

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const Node root = tree.root();
    if (warp.worker() == 0) {
      const bool first = warp.lane() == 0;
      if (first && has_second_node) nodes[1] = tree.load(0).node[1];
      if (first)
        nodes[0] = root.leaf() ? Node::make_leaf(0, root.count())
                               : Node::make_inner(root.split, root.axis(), 1);
      copy_refs(warp, first && root.leaf() ? root : Node::make_leaf(0, 0), 0);
    }
    for_lanes(warp, 0, all.pairs, [&](std::uint32_t k, bool mine) {
      NodePair out{Node::make_leaf(0, 0), Node::make_leaf(0, 0)}, from = out;
      if (mine) {
        const std::uint32_t pair = tree.list[k];
        from = tree.load(pair);
        const OrderExtent before = extent_before(pair, root.link >> 2);
        out = placed(from, before);
        reinterpret_cast<NodePair*>(nodes)[1 + before.pairs] = out;
      }
      HEAPWOOD_UNROLLED
      for (unsigned side = 0; side < 2; ++side)
        copy_refs(warp, from.node[side], out.node[side].first);
    });
  }

 private:
  // What precedes a pair in depth-first order.
  HEAPWOOD_INLINE OrderExtent extent_before(std::uint32_t pair, std::uint32_t root_pair) const {
    OrderExtent before;
    OrderEntry entry = tree.entries[pair];
    HEAPWOOD_ROLLED
    while (pair != root_pair) {
      pair = entry.up >> 1;
      const OrderEntry parent = tree.entries[pair];
      ++before.pairs;           // the parent
      if (entry.up % 2 != 0) {  // and all below its other child
        before.pairs += parent.extent().pairs - 1 - entry.extent().pairs;
        before.refs += parent.extent().refs - entry.extent().refs;
      }
      entry = parent;
    }
    return before;
  }

  HEAPWOOD_INLINE NodePair placed(const NodePair& from, OrderExtent before) const {
    NodePair out;
    OrderExtent next{before.pairs + 1, before.refs};
    HEAPWOOD_UNROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const Node node = from.node[side];
      if (node.leaf()) {
        out.node[side] = Node::make_leaf(next.refs, node.count());
        next.refs += node.count();
      } else {
        out.node[side] = Node::make_inner(node.split, node.axis(), 1 + next.pairs);
        const OrderExtent below = side == 0 ? tree.entries[node.link >> 2].extent() : OrderExtent{};
        next = {next.pairs + below.pairs, next.refs + below.refs};
      }
    }
    return out;
  }

  // Copies the refs of each lane's leaf, if it has one: a small leaf by its lane alone, large ones
  // by all lanes, leaf after leaf.
  template <class Warp>
  HEAPWOOD_INLINE void copy_refs(Warp& warp, Node leaf, std::uint32_t to) const {
    const std::uint32_t count = leaf.leaf() ? leaf.count() : 0, from = leaf.first;
    const bool many = count > max_lane_refs;
    if (!many) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < count; ++i)
        refs[to + i] = simt::load_constant(tree.refs + from + i);
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t rest = warp.ballot(many); rest != 0; rest &= rest - 1) {
      const unsigned lane = simt::lowest_bit(rest);
      const std::uint32_t n = warp.shfl(count, lane), source = warp.shfl(from, lane),
                          target = warp.shfl(to, lane);
      HEAPWOOD_ROLLED
      for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
        refs[target + i] = simt::load_constant(tree.refs + source + i);
      }
    }
  }
};

// The arrays of a tree in the memory of a device.
struct TreeArrays {
  simt::Buffer<Node> nodes;
  simt::Buffer<std::uint32_t> refs;

  DeviceTree view() const { return {nodes.data(), nodes.size(), refs.data(), refs.size(), {}}; }
};

// Sets `to`, whose arrays may be those of `tree`, to the same tree in depth-first preorder: pairs
// with the child below first, and refs leaf by leaf in that order, without unused entries. Returns
// the milliseconds of the launches, which exclude allocating the new arrays and 20 temporary bytes
// per pair, for which `memory` is used if it suffices. `warps`: 0 = as many as are useful. Throws
// Error if there is too little memory, or if one of the checks finds the structure unsound.
template <class Device>
double depth_first(const Device& device, const DeviceTree& tree, TreeArrays& to, unsigned warps = 0,
                   simt::Memory memory = {}) {
  if (tree.node_count == 0) return 0;
  const auto pairs = static_cast<std::uint32_t>(tree.node_count / 2);
  const OrderState start{};
  const auto [state, entries, list] = simt::allocate_arrays<OrderState, OrderEntry, std::uint32_t>(
      memory, device.id(), {1, pairs, pairs});
  simt::device_upload(device.id(), state.data(), &start, sizeof start);
  const OrderInput input{
      tree.nodes,  tree.refs,      pairs,       static_cast<std::uint32_t>(tree.ref_count),
      list.data(), entries.data(), state.data()};
  // Every warp must arrive at every barrier, so more warps make levels slower, and the work on the
  // pairs faster: the sum is least near this number.
  const unsigned listing = warps != 0 ? warps
                                      : std::min(1 + static_cast<unsigned>(std::sqrt(pairs)),
                                                 device.template resident_warps<OrderCounts>());
  const simt::LaunchLimits limits{.seconds = 60, .what = "putting the tree into depth-first order"};
  try {
    double ms = device.launch(OrderCounts{input}, listing, limits);
    OrderExtent all;
    simt::device_download(device.id(), &all, &state.data()->all, sizeof all);
    const std::size_t roots = std::min<std::size_t>(2, tree.node_count);
    TreeArrays ordered{{device.id(), roots + 2 * std::size_t{all.pairs}}, {device.id(), all.refs}};
    const OrderCopies copies{input, all, ordered.nodes.data(), ordered.refs.data(), roots == 2};
    ms += device.launch(copies, warps, limits);
    to = std::move(ordered);
    return ms;
  } catch (const simt::KernelFailure& failure) {
    throw Error(Exit::failed,
                "internal error: cannot put the tree into depth-first order: it is deeper than " +
                    std::to_string(max_depth) + " or a link is invalid (at " +
                    std::to_string(failure.operand[0]) + "); please report the scene");
  }
}

// SplitMix64 (Steele, Lea & Flood 2014).
HEAPWOOD_INLINE std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Adds up hashes of the nodes of a tree in depth-first order. A leaf's refs count in any order.
struct HashTree {
  static constexpr std::size_t sum_count = 256;
  const Node* nodes;
  const std::uint32_t* refs;
  std::uint64_t* sums;  // several, so that threads seldom add to the same word

  HEAPWOOD_FN void operator()(std::size_t i) const {
    if (i == 1) return;  // belongs to no node
    const Node node = nodes[i];
    std::uint64_t sum = mix(i << 32 | (node.leaf() ? 0 : simt::bits(node.split + 0.0f))) ^
                        mix(node.leaf() ? node.link : node.axis());
    for (std::uint32_t k = 0; node.leaf() && k < node.count(); ++k)
      sum += mix(i << 32 | refs[node.first + k]);
    simt::atomic_ref<std::uint64_t>(sums[i % sum_count]).fetch_add(sum, simt::relaxed);
  }
};

// A hash of the structure of a tree where it is in memory: equal trees in any layout have equal
// hashes. It is not TreeStats::hash. Throws what depth_first() throws.
template <class Device>
std::uint64_t structural_hash(const Device& device, const DeviceTree& tree) {
  TreeArrays ordered;
  depth_first(device, tree, ordered);
  simt::Buffer<std::uint64_t> sums(device.id(), HashTree::sum_count);
  sums.fill(0);
  device.for_each(ordered.nodes.size(),
                  HashTree{ordered.nodes.data(), ordered.refs.data(), sums.data()});
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums.download()) all += sum;
  return all;
}

}  // namespace heapwood::kdtree
