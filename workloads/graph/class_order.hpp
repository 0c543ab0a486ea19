// SPDX-License-Identifier: MIT
// Initialization with counted size classes (Ouroboros section 6.2.1: memory requirements are first
// determined in parallel). Lists the vertices of a graph in the order of the size classes of their
// blocks. Every class begins at a multiple of the width of a warp, so that the lanes of a warp
// request blocks of one size together.
//
// Allocators that hand out runs of blocks (Ouroboros) then serve a class run by run, without a
// malloc per vertex, as in the paper. With all others each block is requested by malloc.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/math.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

// Edge updates of one vertex by one warp, without the requests for memory. A batch is sorted, so
// the edges of one source, a *group*, are adjacent. The vertex's adjacency is not sorted: each of
// its entries is searched for in the group, so the adjacency is read once and in order.

// The outcome of one group of a batch.
struct GroupOutcome {
  std::uint32_t changed;  // edges inserted or removed, or whose insertion was refused
  std::uint32_t flags;

  static constexpr std::uint32_t moved = 1;    // the adjacency was copied to another block
  static constexpr std::uint32_t refused = 2;  // a request got nullptr
};

// A sorted batch in device memory.
struct EdgeBatch {
  const EdgeKey* keys;
  const std::uint32_t* firsts;  // index of each group's first edge
  std::uint32_t* work;          // one word per edge, for the warp that handles its group
  GroupOutcome* outcomes;       // one per group
  std::uint32_t edges, groups;
};

// Maps the number of a warp to a group. Returns whether it is a group of insertions, and sets
// `index` to its number among those. Insertions and deletions alternate while there are both.
HEAPWOOD_INLINE bool is_insertion(const EdgeBatch& inserts, const EdgeBatch& deletes,
                                  std::uint32_t item, std::uint32_t& index) {
  const std::uint32_t both =
      2 * (inserts.groups < deletes.groups ? inserts.groups : deletes.groups);
  index = item < both ? item / 2 : item - both / 2;
  return item < both ? item % 2 == 0 : inserts.groups > deletes.groups;
}

// The edges [first, end) of a batch, of one source.
struct EdgeGroup {
  const EdgeKey* keys;
  std::uint32_t* work;
  std::uint32_t first, end;

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  HEAPWOOD_INLINE std::uint32_t source() const { return source_of(keys[first]); }
  // The index of the first edge with this key, or `none`.
  HEAPWOOD_INLINE std::uint32_t find(EdgeKey key) const {
    const std::uint32_t index = first + lower_bound(keys + first, end - first, key);
    return index < end && keys[index] == key ? index : none;
  }
  // Whether edge i is to be inserted: the first of equal edges in the batch, no loop, and not
  // marked as an edge that the graph has.
  HEAPWOOD_INLINE bool is_new(std::uint32_t i) const {
    return (i == first || keys[i] != keys[i - 1]) && work[i] == 0 &&
           source_of(keys[i]) != destination_of(keys[i]);
  }
};

template <class Warp>
HEAPWOOD_INLINE std::uint32_t lanes_below(const Warp& warp) {
  return (1u << warp.lane()) - 1;
}

// Finds the end of the group that begins at `first`, and clears the work words of its edges.
template <class Warp>
HEAPWOOD_INLINE EdgeGroup group_at(Warp& warp, const EdgeBatch& batch, std::uint32_t first) {
  EdgeGroup group{batch.keys, batch.work, first, first};
  const std::uint32_t source = group.source();
  std::uint32_t found = 0;
  HEAPWOOD_ROLLED
  do {
    const std::uint32_t i = group.end + warp.lane();
    const bool in = i >= first && i < batch.edges && source_of(batch.keys[i]) == source;
    if (in) batch.work[i] = 0;
    found = simt::popcount(warp.ballot(in));
    group.end += found;
  } while (found == Warp::width);
  warp.sync();
  return group;
}

// Marks those edges of the group that the graph has already. Returns the number of the others.
template <class Warp>
HEAPWOOD_INLINE std::uint32_t count_new(Warp& warp, const EdgeGroup& group,
                                        const std::uint32_t* adjacency, std::uint32_t degree) {
  const std::uint32_t source = group.source();
  HEAPWOOD_ROLLED
  for (std::uint64_t i = warp.lane(); i < degree; i += Warp::width) {
    const std::uint32_t index = group.find(edge_key(source, adjacency[i]));
    if (index != EdgeGroup::none) group.work[index] = 1;
  }
  warp.sync();
  std::uint32_t count = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t i = group.first + std::uint64_t{warp.lane()}; i < group.end; i += Warp::width)
    count += group.is_new(static_cast<std::uint32_t>(i));
  return warp.reduce_add(count);
}

// Appends the new edges of the group after the first `degree` entries of the adjacency.
template <class Warp>
HEAPWOOD_INLINE void append_new(Warp& warp, const EdgeGroup& group, std::uint32_t* adjacency,
                                std::uint32_t degree) {
  HEAPWOOD_ROLLED
  for (std::uint64_t base = group.first; base < group.end; base += Warp::width) {
    const std::uint64_t i = base + warp.lane();
    const bool fresh = i < group.end && group.is_new(static_cast<std::uint32_t>(i));
    const std::uint32_t lanes = warp.ballot(fresh);
    if (fresh)
      adjacency[degree + simt::popcount(lanes & lanes_below(warp))] = destination_of(group.keys[i]);
    degree += simt::popcount(lanes);
  }
}

// Removes the edges of the group from the adjacency and fills the holes with entries from its end.
// Returns the number of edges removed.
template <class Warp>
HEAPWOOD_INLINE std::uint32_t remove_edges(Warp& warp, const EdgeGroup& group,
                                           std::uint32_t* adjacency, std::uint32_t degree) {
  const std::uint32_t source = group.source();
  const auto is_removed = [&](std::uint64_t i) {
    return group.find(edge_key(source, adjacency[i])) != EdgeGroup::none;
  };
  // The positions of the holes, in order: at most one per edge, since the graph has no duplicates.
  std::uint32_t* holes = group.work + group.first;
  std::uint32_t removed = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t base = 0; base < degree; base += Warp::width) {
    const std::uint64_t i = base + warp.lane();
    const bool hit = i < degree && is_removed(i);
    const std::uint32_t lanes = warp.ballot(hit);
    if (hit)
      holes[removed + simt::popcount(lanes & lanes_below(warp))] = static_cast<std::uint32_t>(i);
    removed += simt::popcount(lanes);
  }
  warp.sync();
  // The first `kept` entries have as many holes as there are entries after them that stay.
  const std::uint32_t kept = degree - removed;
  std::uint32_t filled = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t base = kept; base < degree; base += Warp::width) {
    const std::uint64_t i = base + warp.lane();
    const bool stays = i < degree && !is_removed(i);
    const std::uint32_t lanes = warp.ballot(stays);
    if (stays) adjacency[holes[filled + simt::popcount(lanes & lanes_below(warp))]] = adjacency[i];
    filled += simt::popcount(lanes);
  }
  return removed;
}

// Copies `count` entries between blocks, in units of 16 bytes. So it copies up to 3 entries too
// many, for which there is space: the size of a block is a multiple of 16 bytes.
template <class Warp>
HEAPWOOD_INLINE void copy_entries(Warp& warp, std::uint32_t* to, const std::uint32_t* from,
                                  std::uint32_t count) {
  struct alignas(16) Quad {
    std::uint32_t entry[4];
  };
  HEAPWOOD_ROLLED
  for (std::uint64_t i = warp.lane(); 4 * i < count; i += Warp::width)
    reinterpret_cast<Quad*>(to)[i] = reinterpret_cast<const Quad*>(from)[i];
}

struct ClassOrder {
  // The results of class_of() are below 31; class 31 is for vertices without a block.
  static constexpr std::uint32_t classes = 32;
  static constexpr std::uint32_t no_block = classes - 1;
  static constexpr std::uint32_t no_vertex = ~std::uint32_t{0};
  // Length of the list for `vertices` vertices, including the gaps between classes.
  static constexpr std::size_t max_listed(std::uint32_t vertices) {
    return vertices + std::size_t{classes} * 32;
  }
};

// Where the vertices of each class are in the list.
struct ClassRanges {
  std::uint32_t begins[ClassOrder::classes], counts[ClassOrder::classes];
  std::uint32_t listed;  // entries in use, including the gaps
};

namespace steps_detail {

// Counts the vertices of each class or, with `order`, lists them.
struct ClassOrderKernel {
  struct Scratch {
    std::uint32_t counts[ClassOrder::classes];
    std::uint32_t next[ClassOrder::classes];  // positions of the warp's next vertices
  };
  static constexpr bool independent = true;
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 4;
  static constexpr std::uint32_t vertices_per_lane = 16;

  const std::uint64_t* offsets;  // count + 1 of them; degree of v = offsets[v + 1] - offsets[v]
  std::uint32_t count;
  // For each class the number of vertices that all warps have counted or, if there is an `order`,
  // the position of the next vertex to list.
  std::uint32_t* words;
  std::uint32_t* order;  // nullptr: only count

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch& scratch) const {
    for (std::uint32_t k = warp.lane(); k < ClassOrder::classes; k += Warp::width)
      scratch.counts[k] = 0;
    warp.sync();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < vertices_per_lane; ++i) {
      const std::uint32_t k = class_at(vertex_at(warp, i));
      if (k != ClassOrder::no_block) warp.scratch_add(scratch.counts[k], 1);
    }
    warp.sync();
    for (std::uint32_t k = warp.lane(); k < ClassOrder::classes; k += Warp::width) {
      if (scratch.counts[k] == 0) continue;
      // relaxed: counts and positions order no other memory.
      scratch.next[k] =
          simt::atomic_ref<std::uint32_t>(words[k]).fetch_add(scratch.counts[k], simt::relaxed);
    }
    if (order == nullptr) return;
    warp.sync();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < vertices_per_lane; ++i) {
      const std::uint64_t v = vertex_at(warp, i);
      list(warp, scratch, static_cast<std::uint32_t>(v), class_at(v));
    }
  }

 private:
  template <class Warp>
  HEAPWOOD_INLINE static std::uint64_t vertex_at(const Warp& warp, std::uint32_t i) {
    return (std::uint64_t{warp.worker()} * vertices_per_lane + i) * Warp::width + warp.lane();
  }
  HEAPWOOD_INLINE std::uint32_t class_at(std::uint64_t v) const {
    if (v >= count) return ClassOrder::no_block;
    const auto degree = static_cast<std::uint32_t>(offsets[v + 1] - offsets[v]);
    return degree == 0 ? ClassOrder::no_block : class_of(degree);
  }
  // Lists one vertex per lane; lanes of one class get adjacent positions.
  template <class Warp>
  HEAPWOOD_INLINE void list(Warp& warp, Scratch& scratch, std::uint32_t v, std::uint32_t k) const {
    std::uint32_t rest = warp.ballot(k != ClassOrder::no_block);
    HEAPWOOD_ROLLED
    while (rest != 0) {
      const unsigned first = simt::lowest_bit(rest);
      const std::uint32_t chosen = warp.shfl(k, first), mates = warp.ballot(k == chosen);
      rest &= ~mates;
      const std::uint32_t position = scratch.next[chosen];
      if (k == chosen) order[position + simt::popcount(mates & lanes_below(warp))] = v;
      warp.sync();  // all lanes have read `next`
      if (warp.lane() == first) scratch.next[chosen] = position + simt::popcount(mates);
      warp.sync();
    }
  }
};

}  // namespace steps_detail

}  // namespace heapwood::workloads::graph
