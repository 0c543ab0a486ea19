// SPDX-License-Identifier: MIT
// A level of the per-level builder in device memory: its nodes, their refs in one array, and the
// needs of the next level. Nodes with more than shared_limit refs come first; each has a
// SharedNode, of which the sums are used, and its refs are divided into chunks for many warps. The
// order within a level is the order in which warps arrived; no result depends on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/kernel.hpp"

namespace heapwood::kdtree {

// The position of the node's children in the next level, or of its refs in the tree.
struct LevelPlace {
  std::uint64_t refs = 0;   // first ref of the left child; the right child's follow
  std::uint32_t large = 0;  // first large child
  std::uint32_t small = 0;  // first small child that has refs, counted separately
  std::uint32_t chunk = 0;  // first chunk of large children
  // Inner node: the pair of children in the next level. Leaf: the first ref among the level's leaf
  // refs.
  std::uint32_t out = 0;
};

// Each member is written by one phase: `task` by the phase that stores the node's refs (fill or
// move), `split` by the choice, `place` by the placement.
struct LevelNode {
  NodeTask task;
  ChosenSplit split;  // no split: a leaf
  LevelPlace place;

  HEAPWOOD_INLINE bool leaf() const { return split.cost == Split{}.cost; }
};

struct LevelChunk {
  std::uint32_t node;
  std::uint32_t first;  // ref
};
HEAPWOOD_INLINE std::uint32_t chunks_of(std::uint32_t n) {
  return n > shared_limit ? (n + chunk_size(n) - 1) / chunk_size(n) : 0;
}

// The needs of the level's nodes in the next level and in the tree; each word is on its own cache
// line.
struct LevelTotals {
  enum Word : unsigned { large, small, chunks, refs, pairs, leaf_refs, words };
  struct alignas(128) Line {
    std::uint64_t value;
  };
  Line line[words];
  std::uint64_t operator[](Word word) const { return line[word].value; }
};

// The data that the host reads, in one array: the scene's bounds and the totals of each level.
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
  std::uint32_t first_node;  // index of `out[0]` in the tree

  // Stores a node at `index` with all data that its level needs for it. `first_chunk` is used for
  // large nodes. All lanes call.
  template <class Warp>
  HEAPWOOD_INLINE void add(Warp& warp, std::uint32_t index, const NodeTask& task,
                           std::uint32_t first_chunk) const {
    if (warp.lane() == 0) nodes[index].task = task;
    if (task.n <= shared_limit) return;
    large[index].clear(warp);
    if (warp.lane() == 0) large[index].task = task;
    const std::uint32_t size = chunk_size(task.n), pieces = chunks_of(task.n);
    for (std::uint32_t k = warp.lane(); k < pieces; k += Warp::width)
      chunks[first_chunk + k] = {index, k * size};
  }
};

// The elements [first, end) of an array of the tree, in a level's own array.
template <class T>
struct LevelPiece {
  const T* from;
  std::uint64_t first, end;
};

}  // namespace heapwood::kdtree
