// SPDX-License-Identifier: MIT
// A tree into depth-first order, by all warps of a launch together, level by level with a barrier between levels: first down, to
// list each level's pairs and to know which are in use at all; then up, to count what lies below each pair; and, in a second
// launch when the host knows how much there is, down again, where each pair tells its children their places and copies its
// leaves' refs. Each pair is visited once in each pass, whatever the depth.
//
//   OrderCounts   levels, and the pairs and refs below each pair
//   OrderPlaces   the ordered nodes and refs
//
// Limits: a tree that is deeper than max_depth, or whose links lead out of its arrays or in a circle, is refused (unsound_tree). That no
// two leaves share refs and no two nodes a pair is not checked.
#pragma once

#include <cstdint>

#include "kdtree/node.hpp"
#include "kdtree/tree.hpp"
#include "simt/arithmetic.hpp"
#include "simt/barrier.hpp"

namespace heapwood::kdtree {

inline constexpr std::uint32_t unsound_tree = 1;  // the kernels' only failure; the first operand is a node or a level

// What lies below a pair: itself, and the refs of all leaves. In the last pass, for a pair whose parent has been there: its own place
// among pairs, and that of its first leaf's refs.
struct alignas(8) OrderExtent {
  std::uint32_t pairs = 0, refs = 0;
};

struct OrderState {
  std::uint32_t arrived[2] = {};  // at the barriers of the two kernels
  OrderExtent all;                // of the tree
  // Pairs of each level, the root's first, and a zero behind the last; apart from the words that waiting warps look at.
  alignas(128) std::uint32_t level[max_depth + 1] = {1};
};

struct alignas(16) NodePair {
  Node node[2];
};

// The tree as it is, and what both kernels share.
struct OrderInput {
  const Node* nodes;
  const std::uint32_t* refs;
  std::uint32_t pair_count, ref_count;
  std::uint32_t* list;   // pairs, level by level: room for pair_count
  OrderExtent* extents;  // one a pair
  OrderState* state;

  SIMT_INLINE NodePair load(std::uint32_t pair) const {
    return simt::load_constant(reinterpret_cast<const NodePair*>(nodes) + pair);
  }
  SIMT_INLINE Node root() const { return simt::load_constant(nodes); }
  // Whether what the node refers to is there.
  SIMT_INLINE bool sound(Node node) const {
    if (!node.leaf()) return node.link >> 2 < pair_count;
    return node.count() == 0 || (node.first <= ref_count && node.count() <= ref_count - node.first);
  }
};

// f(k, mine) for all k of [begin, end) that are this warp's, by all lanes together; mine: whether this lane's k is in it.
template <class Warp, class F>
SIMT_INLINE void for_lanes(Warp& warp, std::uint32_t begin, std::uint32_t end, F f) {
  SIMT_ROLLED
  for (std::uint32_t base = begin + warp.worker() * Warp::width; base < end; base += warp.workers() * Warp::width) {
    const std::uint32_t k = base + warp.lane();
    f(k, k < end);
  }
}

struct OrderCounts {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 8;
  struct Scratch {};

  OrderInput tree;

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    const Node root = tree.root();
    const bool first = warp.worker() == 0 && warp.lane() == 0;
    if (first && !tree.sound(root)) warp.fail(unsound_tree, 0);
    if (root.leaf() || !tree.sound(root)) {
      if (first) tree.state->all = {0, root.leaf() ? root.count() : 0};
      return;
    }
    if (first) tree.list[0] = root.link >> 2;
    simt::Barrier barrier(&tree.state->arrived[0]);
    std::uint32_t begin = 0, end = 1, level = 0;
    for (;; ++level) {
      if (!list_children(warp, begin, end, level) || !barrier.arrive_and_wait(warp)) return;
      // Complete: what is added from now on goes to the next level's word.
      const std::uint32_t more = tree.state->level[level + 1];
      if (more == 0) break;
      if (level + 1 == max_depth) {
        if (first) warp.fail(unsound_tree, level);
        return;
      }
      begin = end;
      end += more;
    }
    for (;; --level) {
      for_lanes(warp, begin, end, [&](std::uint32_t k, bool mine) {
        if (mine) add_up(warp, tree.list[k], level == 0);
      });
      if (level == 0 || !barrier.arrive_and_wait(warp)) return;
      end = begin;
      begin -= tree.state->level[level - 1];
    }
  }

 private:
  // False: something is unsound, which is the whole warp's opinion.
  template <class Warp>
  SIMT_INLINE bool list_children(Warp& warp, std::uint32_t begin, std::uint32_t end, std::uint32_t level) const {
    bool good = true;
    for_lanes(warp, begin, end, [&](std::uint32_t k, bool mine) {
      if (!good) return;
      NodePair pair{Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
      if (mine) pair = tree.load(tree.list[k]);
      const bool sound = tree.sound(pair.node[0]) && tree.sound(pair.node[1]);
      if (!sound) warp.fail(unsound_tree, 2 * std::uint64_t{tree.list[k]});
      const std::uint32_t below = pair.node[0].leaf() ? 0 : 1, above = pair.node[1].leaf() ? 0 : 1;
      const std::uint32_t up_to = warp.inclusive_add(below + above);
      const std::uint32_t total = warp.shfl(up_to, Warp::width - 1);
      std::uint32_t at = 0;
      // relaxed: places are handed out once, and the barrier publishes what is written there.
      if (warp.lane() == 0 && total != 0) {
        at = simt::atomic_ref<std::uint32_t>(tree.state->level[level + 1]).fetch_add(total, simt::relaxed);
      }
      at = warp.shfl(at, 0);
      // In a circle there is no end of pairs, but there is one of the list. The sum cannot wrap: who is refused adds no more.
      const bool room = at <= tree.pair_count - end && total <= tree.pair_count - end - at;
      if (!room && warp.lane() == 0) warp.fail(unsound_tree, level);
      good = good && !warp.any(!sound) && room;
      if (!good) return;
      std::uint32_t place = end + at + up_to - below - above;
      if (below != 0) tree.list[place++] = pair.node[0].link >> 2;
      if (above != 0) tree.list[place] = pair.node[1].link >> 2;
    });
    return good;
  }

  template <class Warp>
  SIMT_INLINE void add_up(Warp& warp, std::uint32_t pair, bool root) const {
    const NodePair nodes = tree.load(pair);
    std::uint32_t pairs = 1;
    std::uint64_t refs = 0;
    SIMT_UNROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const Node node = nodes.node[side];
      if (node.leaf()) {
        refs += node.count();
      } else {
        const OrderExtent below = tree.extents[node.link >> 2];
        pairs += below.pairs;
        refs += below.refs;
      }
    }
    if (refs >> 32 != 0) warp.fail(unsound_tree, 2 * std::uint64_t{pair});  // more than a node can name
    const OrderExtent extent{pairs, static_cast<std::uint32_t>(refs)};
    if (root) tree.state->all = extent;
    tree.extents[pair] = extent;
  }
};

// After OrderCounts.
struct OrderPlaces {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 8;
  static constexpr std::uint32_t few_refs = 16;  // of a leaf that a lane copies by itself
  struct Scratch {};

  OrderInput tree;
  Node* nodes;
  std::uint32_t* refs;
  bool neighbour;  // the root has one, which is copied as it is

  template <class Warp>
  SIMT_FN void operator()(Warp& warp, Scratch&) const {
    const Node root = tree.root();
    if (warp.worker() == 0) {
      const bool first = warp.lane() == 0;
      if (first && neighbour) nodes[1] = tree.load(0).node[1];
      if (first)
        nodes[0] = root.leaf() ? Node::make_leaf(0, root.count()) : Node::make_inner(root.split, root.axis(), 1);
      if (first && !root.leaf()) tree.extents[root.link >> 2] = {1, 0};
      copy_refs(warp, first && root.leaf() ? root : Node::make_leaf(0, 0), 0);
    }
    if (root.leaf()) return;
    // Level 0 is one pair, the first warp's: no barrier before it.
    simt::Barrier barrier(&tree.state->arrived[1]);
    std::uint32_t begin = 0, end = 1;
    for (std::uint32_t level = 1;; ++level) {
      for_lanes(warp, begin, end, [&](std::uint32_t k, bool mine) { place(warp, mine ? tree.list[k] : 0, mine); });
      const std::uint32_t more = tree.state->level[level];
      if (more == 0 || !barrier.arrive_and_wait(warp)) return;
      begin = end;
      end += more;
    }
  }

 private:
  // The lane's pair, if it has one. The children's extents are read and become their places: nobody else reads them before the
  // next level, where they are places.
  template <class Warp>
  SIMT_INLINE void place(Warp& warp, std::uint32_t pair, bool mine) const {
    NodePair out{Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
    NodePair from = out;
    if (mine) {
      from = tree.load(pair);
      const OrderExtent at = tree.extents[pair];
      OrderExtent next{at.pairs + 1, at.refs};
      SIMT_UNROLLED
      for (unsigned side = 0; side < 2; ++side) {
        const Node node = from.node[side];
        if (node.leaf()) {
          out.node[side] = Node::make_leaf(next.refs, node.count());
          next.refs += node.count();
        } else {
          const std::uint32_t child = node.link >> 2;
          const OrderExtent below = tree.extents[child];
          tree.extents[child] = next;
          out.node[side] = Node::make_inner(node.split, node.axis(), next.pairs);
          next = {next.pairs + below.pairs, next.refs + below.refs};
        }
      }
      reinterpret_cast<NodePair*>(nodes)[at.pairs] = out;
    }
    SIMT_UNROLLED
    for (unsigned side = 0; side < 2; ++side) copy_refs(warp, from.node[side], out.node[side].first);
  }

  // Those of each lane's leaf, if it has one: few by the lane alone, many by all lanes, leaf after leaf.
  template <class Warp>
  SIMT_INLINE void copy_refs(Warp& warp, Node leaf, std::uint32_t to) const {
    const std::uint32_t count = leaf.leaf() ? leaf.count() : 0, from = leaf.first;
    const bool many = count > few_refs;
    if (!many) {
      SIMT_ROLLED
      for (std::uint32_t i = 0; i < count; ++i) refs[to + i] = simt::load_constant(tree.refs + from + i);
    }
    SIMT_ROLLED
    for (std::uint32_t rest = warp.ballot(many); rest != 0; rest &= rest - 1) {
      const unsigned lane = simt::lowest_bit(rest);
      const std::uint32_t n = warp.shfl(count, lane), source = warp.shfl(from, lane), target = warp.shfl(to, lane);
      SIMT_ROLLED
      for (std::uint32_t i = warp.lane(); i < n; i += Warp::width) {
        refs[target + i] = simt::load_constant(tree.refs + source + i);
      }
    }
  }
};

}  // namespace heapwood::kdtree
