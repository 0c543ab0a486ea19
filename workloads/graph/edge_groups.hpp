// SPDX-License-Identifier: MIT
// Edge updates of one vertex by one warp, without the requests for memory. A batch is sorted, so
// the edges of one source, a *group*, are adjacent. The vertex's adjacency is not sorted: each of
// its entries is searched for in the group, so the adjacency is read once and in order.
#pragma once

#include <cstdint>

#include "simt/math.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

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
  // Whether edge i is to be inserted: it is its first occurrence in the batch, no loop, and not
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

// A set of vertices, one bit each.
struct VertexSet {
  const std::uint32_t* words;
  HEAPWOOD_INLINE bool contains(std::uint32_t vertex) const {
    return (words[vertex / 32] >> (vertex % 32) & 1) != 0;
  }
};

// Removes the entries in a set and keeps the order of the others. Returns the number removed.
template <class Warp>
HEAPWOOD_INLINE std::uint32_t remove_destinations(Warp& warp, const VertexSet& set,
                                                  std::uint32_t* adjacency, std::uint32_t degree) {
  std::uint32_t kept = 0;
  HEAPWOOD_ROLLED
  for (std::uint64_t base = 0; base < degree; base += Warp::width) {
    const std::uint64_t i = base + warp.lane();
    const std::uint32_t entry = i < degree ? adjacency[i] : 0;
    const bool stays = i < degree && !set.contains(entry);
    const std::uint32_t lanes = warp.ballot(stays);
    warp.sync();  // orders every lane's reads before an entry is overwritten
    const std::uint64_t to = kept + simt::popcount(lanes & lanes_below(warp));
    if (stays && to != i) adjacency[to] = entry;
    kept += simt::popcount(lanes);
  }
  return degree - kept;
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

}  // namespace heapwood::workloads::graph
