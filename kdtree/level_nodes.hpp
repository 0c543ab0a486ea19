// SPDX-License-Identifier: MIT
// A level of the per-level builder in device memory: its nodes, their refs in one array, and how much the next level needs.
// The nodes of more than shared_limit refs come first; each has a SharedNode, of which the sums are used, and its refs are cut
// into chunks for many warps. Order within a level is that in which warps came: nothing depends on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build_kernel.hpp"

namespace heapwood::kdtree {

// Where the node's children go in the next level, or its refs in the tree.
struct LevelPlace {
  std::uint64_t refs = 0;   // first ref of the left child; the right child's follow
  std::uint32_t large = 0;  // first large child
  std::uint32_t small = 0;  // first other child that has refs, counted apart
  std::uint32_t chunk = 0;  // first chunk of large children
  std::uint32_t out = 0;  // inner node: pair of children in the next level; leaf: first ref among the level's leaf refs
};

// Written by the phase that moves its refs here, by the choice, and by the placement, in this order.
struct LevelNode {
  NodeTask task;
  Split split;  // none: a leaf
  LevelPlace place;

  SIMT_INLINE bool leaf() const { return split.cost == Split{}.cost; }
};

struct LevelChunk {
  std::uint32_t node;
  std::uint32_t first;  // ref
};
SIMT_INLINE std::uint32_t chunks_of(std::uint32_t n) {
  return n > shared_limit ? (n + chunk_size(n) - 1) / chunk_size(n) : 0;
}

// What the level's nodes need in the next one, and in the tree; each word on a line of its own.
struct LevelTotals {
  enum Word : unsigned { large, small, chunks, refs, pairs, leaf_refs, words };
  struct alignas(128) Line {
    std::uint64_t value;
  };
  Line line[words];
  std::uint64_t operator[](Word word) const { return line[word].value; }
};

// What the host reads, in one array: of the scene the bounds, of each level the totals.
struct LevelSums {
  SharedNode scene;
  LevelTotals totals[max_depth + 1];
};

struct LevelView {
  LevelNode* nodes;
  std::uint32_t count, large_count;
  SharedNode* large;  // [large_count]
  LevelChunk* chunks;
  std::uint32_t chunk_count;
  std::byte* refs;
  Node* out;                 // the tree's nodes of this level
  std::uint32_t first_node;  // the first one's index in the tree

  // Puts a node at its place, with all that its level needs for it. `first_chunk` is for large nodes. All lanes call.
  template <class Warp>
  SIMT_INLINE void add(Warp& warp, std::uint32_t index, const NodeTask& task, std::uint32_t first_chunk) const {
    if (warp.lane() == 0) nodes[index].task = task;
    if (task.n <= shared_limit) return;
    large[index].clear(warp);
    if (warp.lane() == 0) large[index].task = task;
    const std::uint32_t size = chunk_size(task.n), pieces = chunks_of(task.n);
    for (std::uint32_t k = warp.lane(); k < pieces; k += Warp::width) chunks[first_chunk + k] = {index, k * size};
  }
};

// A part of an array of the tree that lies in a level's own array: elements [first, end).
template <class T>
struct LevelPiece {
  const T* from;
  std::uint64_t first, end;
};

}  // namespace heapwood::kdtree
