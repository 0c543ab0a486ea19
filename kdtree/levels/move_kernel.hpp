// SPDX-License-Identifier: MIT
// The phase of the per-level builder that moves the refs of a level to the next one. kernels.hpp
// has the other phases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/partition.hpp"
#include "kdtree/levels/nodes.hpp"
#include "simt/stream.hpp"

namespace heapwood::kdtree {

// The placement of refs in the children's arrays (kdtree/build/partition.hpp): by the cursor that
// the chunks of a large node share or, without one, by the node's only warp.
struct LevelPositions {
  static constexpr bool prefetches = false, checks_rounds = true;
  std::uint64_t* cursor;
  OwnStretch own;

  template <class Warp>
  HEAPWOOD_INLINE SidePair reserve(Warp& warp, const SidePair& round) {
    return cursor != nullptr ? SharedCursor{*cursor}.reserve(warp, round)
                             : own.reserve(warp, round);
  }
  template <class Warp>
  HEAPWOOD_INLINE SidePair share(Warp& warp, const SidePair& at) const {
    return cursor != nullptr ? SharedCursor{*cursor}.share(warp, at) : at;
  }
};

// Moves the refs of the level to its children's arrays, and those of leaves to the tree. The items
// are the chunks of large nodes, then all nodes: the item of a node adds its children and, if the
// node is small, moves its refs.
template <RefKind kind>
struct LevelMove {
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 10;
  using Refs = RefArray<kind>;
  struct Scratch {};

  LevelView level, next;
  const PackedCorners* corners;
  std::uint32_t* leaf_refs;  // of this level

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch&) const {
    simt::for_items(warp, std::size_t{level.chunk_count} + level.count, [&](std::size_t item) {
      const bool whole = item >= level.chunk_count;
      const LevelChunk chunk =
          whole ? LevelChunk{static_cast<std::uint32_t>(item) - level.chunk_count, 0}
                : level.chunks[item];
      const LevelNode& node = level.nodes[chunk.node];
      if (whole && !node.leaf()) add_children(warp, node);
      if (whole && chunk.node < level.large_count) return;
      const std::uint32_t n = node.task.n, size = whole ? n : chunk_size(n);
      const std::uint32_t last = n - chunk.first < size ? n : chunk.first + size;
      if (node.leaf()) {
        for (std::uint32_t i = chunk.first + warp.lane(); i < last; i += Warp::width) {
          leaf_refs[node.place.out + i] = Refs::load_id(node.task.refs, i);
        }
      } else {
        move(warp, node, whole ? nullptr : &level.large[chunk.node].cursor, chunk.first, last);
      }
    });
  }

  HEAPWOOD_INLINE std::byte* child_refs(const LevelNode& node, unsigned side) const {
    const std::uint32_t nl = node.split.nl();
    return Refs::in_block(next.refs + (node.place.refs + (side == 0 ? 0 : nl)) * Refs::bytes,
                          side == 0 ? nl : node.split.nr());
  }

  template <class Warp>
  HEAPWOOD_INLINE void add_children(Warp& warp, const LevelNode& node) const {
    const std::uint32_t nl = node.split.nl(), nr = node.split.nr(),
                        pair = next.first_node / 2 + node.place.out;
    HEAPWOOD_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const std::uint32_t n = side == 0 ? nl : nr;
      const bool large = n > shared_limit;
      if (n == 0) {
        if (warp.lane() == 0) next.out[2 * node.place.out + side] = Node::make_leaf(0, 0);
        continue;
      }
      // The right child follows the left one if both are large or both are small.
      const std::uint32_t behind = side == 1 && nl != 0 && (nl > shared_limit) == large ? 1 : 0;
      const std::uint32_t index =
          (large ? node.place.large : next.large_count + node.place.small) + behind;
      const NodeTask task =
          child_task(node.task, parent_split(node.split), side, child_refs(node, side), pair);
      next.add(warp, index, task, node.place.chunk + (side == 0 ? 0 : chunks_of(nl)));
    }
  }

  // Moves refs [first, last) of a node.
  template <class Warp>
  HEAPWOOD_INLINE void move(Warp& warp, const LevelNode& node, std::uint64_t* cursor,
                            std::uint32_t first, std::uint32_t last) const {
    const NodeTask task = node.task;
    const Cut cut{node.split.axis(), node.split.position(), node.split.flats_right()};
    const PartitionArrays arrays{task.refs,
                                 task.n,
                                 task.box,
                                 child_refs(node, 0),
                                 child_refs(node, 1),
                                 {node.split.nl(), node.split.nr()}};
    LevelPositions positions{cursor, {}};
    NoBins none;
    const bool fits =
        partition_refs<Refs>(warp, arrays, cut, corners, first, last, positions, none);
    if (!fits || (cursor == nullptr && positions.own.next != arrays.counts))
      fail_partition(warp, task.n, arrays.counts, positions.own.next);
  }
};

}  // namespace heapwood::kdtree
