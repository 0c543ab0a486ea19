// SPDX-License-Identifier: MIT
// The phases of the per-level builder, one kernel each. Warps are independent: each processes one
// item of work at a time. The order of launches makes the data of one phase visible to the next, so
// every atomic operation here is relaxed and only counts.
//
//   root:   bounds -> fill                     corner copies, scene bounds; the root's refs
//   level:  bin -> choose -> place | move      at the bar the host reads the totals and allocates
//   tree:   gather                             joins the nodes and leaf refs of all levels
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/kernel.hpp"
#include "kdtree/build/partition.hpp"
#include "kdtree/tree.hpp"
#include "simt/stream.hpp"

namespace heapwood::kdtree {

// A level of the per-level builder in device memory: its nodes, their refs in one array, and the
// needs of the next level. Nodes with more than shared_limit refs come first; each has a
// SharedNode, of which the sums are used, and its refs are divided into chunks for many warps. The
// order within a level is the order in which warps arrived; no result depends on it.

// The positions of a node's children in the next level, or of its refs in the tree.
struct OutputPositions {
  std::uint64_t refs = 0;   // first ref of the left child; the right child's follow
  std::uint32_t large = 0;  // first large child
  std::uint32_t small = 0;  // first small child that has refs, counted separately
  std::uint32_t chunk = 0;  // first chunk of large children
  // Inner node: its pair of children in the next level. Leaf: its first ref of the leaf refs.
  std::uint32_t out = 0;
};

// A node of a level. Each member is written by one phase: `task` by the phase that stores the
// node's refs (fill or move), `split` by choose, `positions` by place.
struct LevelNode {
  NodeTask task;
  ChosenSplit split;  // none if the node becomes a leaf
  OutputPositions positions;

  HEAPWOOD_INLINE bool leaf() const { return split.cost == Split{}.cost; }
};

struct LevelChunk {
  std::uint32_t node;
  std::uint32_t first;  // ref
};
HEAPWOOD_INLINE std::uint32_t chunks_of(std::uint32_t n) {
  return n > shared_limit ? (n + chunk_size(n) - 1) / chunk_size(n) : 0;
}

// What a level's nodes need in the next level and in the tree, each word on its own cache line.
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
  std::uint32_t first_node;  // index of out[0] in the tree

  // Stores a node at `index` with everything that its level needs for it. `first_chunk` is used for
  // large nodes. All lanes must call this.
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

// The elements [first, end) of an array of the tree, stored in an array of their level.
template <class T>
struct LevelPiece {
  const T* from;
  std::uint64_t first, end;
};

// The phase `bounds`: copies the triangles' corners, so that they can be read in the order of their
// ids, and finds the scene's bounds. An item is a piece of `piece` triangles.
struct LevelBounds {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 8;
  static constexpr std::uint32_t piece = 256;
  struct Scratch {};

  const Vec3* vertices;
  const Triangle* triangles;
  std::uint32_t count;
  bool are_boxes;  // refs have the kind `boxes`
  PackedCorners* corners;
  SharedNode* scene;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch&) const {
    simt::for_items(warp, (count + piece - 1) / piece, [&](std::size_t item) {
      const std::uint32_t first = static_cast<std::uint32_t>(item) * piece;
      const std::uint32_t last = count - first < piece ? count : first + piece;
      copy_corners(warp, vertices, triangles, first, last, are_boxes, corners, *scene);
    });
  }
};

// The phase `fill`: fills the root's refs; item 0 also adds the root itself.
template <RefKind kind>
struct LevelFill {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 8;
  static constexpr std::uint32_t piece = 256;
  struct Scratch {};

  LevelView level;
  NodeTask root;
  const PackedCorners* corners;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch&) const {
    simt::for_items(warp, (root.n + piece - 1) / piece, [&](std::size_t item) {
      const std::uint32_t first = static_cast<std::uint32_t>(item) * piece;
      const std::uint32_t last = root.n - first < piece ? root.n : first + piece;
      for (std::uint32_t i = first + warp.lane(); i < last; i += Warp::width) {
        RefArray<kind>::store(root.refs, i, i, bounds(corners[i].unpack()));
      }
      if (item == 0) level.add(warp, 0, root, 0);
    });
  }
};

// The phase `bin`: gathers the histograms and tight bounds of the large nodes. An item is a chunk.
template <RefKind kind>
struct LevelBin {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 6;
  struct Scratch {
    std::uint32_t histogram[histogram_words];
    CountingAxis axes[3];
  };

  LevelView level;
  const PackedCorners* corners;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch& scratch) const {
    simt::for_items(warp, level.chunk_count, [&](std::size_t item) {
      for (unsigned k = warp.lane(); k < histogram_words; k += Warp::width)
        scratch.histogram[k] = 0;
      const LevelChunk chunk = level.chunks[item];
      SharedNode& sums = level.large[chunk.node];
      const NodeTask task = sums.task;
      set_counting_axes(warp, scratch.axes, task.box);
      warp.sync();
      const std::uint32_t size = chunk_size(task.n);
      const std::uint32_t last = task.n - chunk.first < size ? task.n : chunk.first + size;
      Box tight;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = chunk.first + warp.lane(); i < last; i += Warp::width) {
        const Box box = RefArray<kind>::load(task.refs, i, task.box, corners).box;
        tight.grow(box);
        count_in_bins(warp, scratch.histogram, scratch.axes, box);
      }
      GatheredBounds<Warp> bounds;
      bounds.add(warp, true, tight);
      warp.sync();
      sums.add_histogram(warp, scratch.histogram);
      bounds.add_to(sums, warp);
      warp.sync();
    });
  }
};

// The phase `choose`: chooses the splits of all nodes, one per item, as the single kernel does.
template <RefKind kind>
struct LevelChoose {
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 8;
  using Scratch = ChooseScratch;
  using Refs = RefArray<kind>;

  LevelView level;
  const PackedCorners* corners;
  SahCosts costs;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch& scratch) const {
    simt::for_items(warp, level.count, [&](std::size_t item) {
      const NodeTask task = level.nodes[item].task;
      const SplitCost cost(costs, task.path.scale(), task.box, task.n);
      ChosenSplit split;
      if (task.path.depth() < max_depth && cost.splittable()) {
        split = choose_within_limits<Refs>(warp, scratch, task, corners, cost,
                                           item < level.large_count ? &level.large[item] : nullptr);
      }
      if (!cost.is_below_leaf(split)) {
        split = may_split_in_middle(task, cost)
                    ? choose_middle<Refs>(warp, scratch, task, corners, cost)
                    : ChosenSplit{};
      }
      if (warp.lane() == 0) level.nodes[item].split = split;
      warp.sync();
    });
  }
};

// The phase `place`: writes the level's nodes of the tree and assigns the positions of their
// children. An item is a block of nodes: prefix sums give the positions within it, and one
// fetch_add per word reserves the block's part of the totals.
struct LevelPlacement {
  static constexpr unsigned block_threads = 64, blocks_per_multiprocessor = 16;
  static constexpr std::uint32_t block = 32;  // nodes per item
  struct Scratch {
    std::uint64_t first[LevelTotals::words];
    std::uint32_t sum[LevelTotals::words];
  };
  struct Needs {
    std::uint32_t of[LevelTotals::words] = {};
  };

  LevelView level;
  LevelTotals* totals;
  std::uint32_t first_pair;      // pairs of children in the levels above
  std::uint32_t first_leaf_ref;  // refs of leaves in the levels above

  static HEAPWOOD_INLINE Needs needs_of(const LevelNode& node) {
    Needs needs;
    if (node.leaf()) {
      needs.of[LevelTotals::leaf_refs] = node.task.n;
      return needs;
    }
    const std::uint32_t nl = node.split.nl(), nr = node.split.nr();
    needs.of[LevelTotals::large] = (nl > shared_limit ? 1 : 0) + (nr > shared_limit ? 1 : 0);
    needs.of[LevelTotals::small] =
        (nl != 0 ? 1 : 0) + (nr != 0 ? 1 : 0) - needs.of[LevelTotals::large];
    needs.of[LevelTotals::chunks] = chunks_of(nl) + chunks_of(nr);
    needs.of[LevelTotals::refs] = nl + nr;
    needs.of[LevelTotals::pairs] = 1;
    return needs;
  }

  HEAPWOOD_INLINE void place(LevelNode& node,
                             const std::uint64_t (&first)[LevelTotals::words]) const {
    const auto word = [&](LevelTotals::Word w) { return static_cast<std::uint32_t>(first[w]); };
    const bool leaf = node.leaf();
    const std::uint32_t out = leaf ? word(LevelTotals::leaf_refs) : word(LevelTotals::pairs);
    node.positions = {first[LevelTotals::refs], word(LevelTotals::large), word(LevelTotals::small),
                      word(LevelTotals::chunks), out};
    level.out[node.task.node - level.first_node] =
        leaf ? Node::make_leaf(first_leaf_ref + out, node.task.n)
             : Node::make_inner(node.split.position(), node.split.axis(), first_pair + out);
  }

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch& scratch) const {
    constexpr std::uint32_t per_lane = block / Warp::width;
    simt::for_items(warp, (level.count + block - 1) / block, [&](std::size_t item) {
      const std::uint32_t first = static_cast<std::uint32_t>(item) * block + warp.lane() * per_lane;
      const std::uint32_t last = level.count < first              ? first
                                 : level.count - first < per_lane ? level.count
                                                                  : first + per_lane;
      // Sum the needs of the lane's nodes, and by a prefix sum those of the lanes before it.
      Needs mine;
      for (std::uint32_t i = first; i < last; ++i) {
        const Needs needs = needs_of(level.nodes[i]);
        HEAPWOOD_UNROLLED
        for (unsigned w = 0; w < LevelTotals::words; ++w) mine.of[w] += needs.of[w];
      }
      std::uint64_t next[LevelTotals::words];
      HEAPWOOD_UNROLLED
      for (unsigned w = 0; w < LevelTotals::words; ++w) {
        const std::uint32_t sum = warp.inclusive_add(mine.of[w]);
        next[w] = sum - mine.of[w];
        if (warp.lane() == Warp::width - 1) scratch.sum[w] = sum;
      }
      warp.sync();
      // Reserve the block's positions, one word per lane, so that the latencies overlap. relaxed:
      // each position is reserved once.
      for (unsigned w = warp.lane(); w < LevelTotals::words; w += Warp::width) {
        scratch.first[w] =
            simt::global_ref(totals->line[w].value).fetch_add(scratch.sum[w], simt::relaxed);
      }
      warp.sync();
      HEAPWOOD_UNROLLED
      for (unsigned w = 0; w < LevelTotals::words; ++w) next[w] += scratch.first[w];
      // Give each node its positions.
      for (std::uint32_t i = first; i < last; ++i) {
        const Needs needs = needs_of(level.nodes[i]);
        place(level.nodes[i], next);
        HEAPWOOD_UNROLLED
        for (unsigned w = 0; w < LevelTotals::words; ++w) next[w] += needs.of[w];
      }
      warp.sync();
    });
  }
};

// The phase `gather`: joins the parts of an array of the tree that the levels hold. An item is a
// piece of `piece` elements.
template <class T>
struct LevelGather {
  static constexpr unsigned block_threads = 128, blocks_per_multiprocessor = 8;
  static constexpr std::uint64_t piece = 1024;
  struct Scratch {};

  LevelPiece<T> pieces[max_depth + 1];
  std::uint64_t count;  // total number of elements
  T* to;

  template <class Warp>
  HEAPWOOD_INLINE void operator()(Warp& warp, Scratch&) const {
    simt::for_items(warp, (count + piece - 1) / piece, [&](std::size_t item) {
      const std::uint64_t first = item * piece,
                          last = count - first < piece ? count : first + piece;
      unsigned k = 0;
      for (std::uint64_t i = first + warp.lane(); i < last; i += Warp::width) {
        while (i >= pieces[k].end) ++k;
        to[i] = pieces[k].from[i - pieces[k].first];
      }
    });
  }
};

// How a level reserves positions in the children's arrays (kdtree/build/partition.hpp): the chunks
// of a large node share a cursor; a small node is moved by one warp, which counts itself.
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
  HEAPWOOD_INLINE SidePair share(Warp& warp, const SidePair& position) const {
    return cursor != nullptr ? SharedCursor{*cursor}.share(warp, position) : position;
  }
};

// The phase `move`: moves the refs of the level to its children's arrays, and those of leaves to
// the tree. The items are the chunks of large nodes, then all nodes: the item of a node adds its
// children and, if the node is small, moves its refs.
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
          leaf_refs[node.positions.out + i] = Refs::load_id(node.task.refs, i);
        }
      } else {
        move(warp, node, whole ? nullptr : &level.large[chunk.node].cursor, chunk.first, last);
      }
    });
  }

  HEAPWOOD_INLINE std::byte* child_refs(const LevelNode& node, unsigned side) const {
    const std::uint32_t nl = node.split.nl();
    return Refs::in_block(next.refs + (node.positions.refs + (side == 0 ? 0 : nl)) * Refs::bytes,
                          side == 0 ? nl : node.split.nr());
  }

  template <class Warp>
  HEAPWOOD_INLINE void add_children(Warp& warp, const LevelNode& node) const {
    const std::uint32_t nl = node.split.nl(), nr = node.split.nr(),
                        pair = next.first_node / 2 + node.positions.out;
    HEAPWOOD_ROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const std::uint32_t n = side == 0 ? nl : nr;
      const bool large = n > shared_limit;
      if (n == 0) {
        if (warp.lane() == 0) next.out[2 * node.positions.out + side] = Node::make_leaf(0, 0);
        continue;
      }
      // The right child follows the left one if both are large or both are small.
      const std::uint32_t behind = side == 1 && nl != 0 && (nl > shared_limit) == large ? 1 : 0;
      const std::uint32_t index =
          (large ? node.positions.large : next.large_count + node.positions.small) + behind;
      const NodeTask task =
          child_task(node.task, parent_split(node.split), side, child_refs(node, side), pair);
      next.add(warp, index, task, node.positions.chunk + (side == 0 ? 0 : chunks_of(nl)));
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
