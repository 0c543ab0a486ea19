// SPDX-License-Identifier: MIT
// Makes a HostGraph, either from edges in any order (build_graph) or from rows that a generator
// computes in order (RowWriter).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "simt/device.hpp"
#include "simt/error.hpp"
#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

// Ends the command after Ctrl-C: reading or generating a graph may take minutes. Called in loops
// over rows, edges or lines, of which `count` are done; tests the flag at one of 65,536 calls.
inline void check_interruption(std::uint64_t count) {
  if ((count & 0xffff) != 0 || !simt::interrupted()) return;
  throw simt::Stopped(simt::Stopped::Reason::interrupted,
                      "graph: interrupted while it was read or generated");
}

// Appends the rows of vertices 0, 1, 2, ... Destinations of a row are added in ascending order,
// without the vertex itself. `max_edges` is only a reservation of address space, which becomes
// memory when it is written; the graph may become larger.
class RowWriter {
 public:
  RowWriter(std::uint64_t vertices, std::uint64_t max_edges) {
    graph_.offsets.reserve(vertices + 1);
    graph_.destinations.reserve(max_edges);
  }
  void add(std::uint64_t destination) {
    graph_.destinations.push_back(static_cast<std::uint32_t>(destination));
  }
  void end_row() {
    graph_.offsets.push_back(graph_.destinations.size());
    check_interruption(graph_.offsets.size());
  }
  // `triangles`: the number of triangles, if the generator knows it.
  GraphInput finish(std::optional<std::uint64_t> triangles = {}) {
    GraphInput input;
    input.graph = std::move(graph_);
    input.triangles = triangles;
    return input;
  }

 private:
  HostGraph graph_;
};

namespace detail {

// Passes edges on in groups, so that their cache misses overlap: `prefetch` is called for all edges
// of a group, then `store`. For random edges this is three times as fast as edge by edge.
template <class Prefetch, class Store>
class PrefetchedEdges {
 public:
  PrefetchedEdges(Prefetch prefetch, Store store) : prefetch_(prefetch), store_(store) {}
  void add(Edge edge) {
    group_[count_++] = edge;
    if (count_ == group_.size()) flush();
  }
  void flush() {
    for (std::size_t i = 0; i < count_; ++i) prefetch_(group_[i]);
    for (std::size_t i = 0; i < count_; ++i) store_(group_[i]);
    count_ = 0;
    check_interruption(group_.size() * ++groups_);
  }

 private:
  Prefetch prefetch_;
  Store store_;
  std::array<Edge, 64> group_;
  std::size_t count_ = 0;
  std::uint64_t groups_ = 0;
};

// Sorts each row, removes repeated destinations, and closes the gaps that this leaves between rows.
inline std::uint64_t merge_duplicates(HostGraph& graph) {
  std::uint32_t* const data = graph.destinations.data();
  std::uint64_t begin = 0, kept = 0;
  for (std::size_t v = 0; v + 1 < graph.offsets.size(); ++v) {
    check_interruption(v + 1);
    const std::uint64_t end = graph.offsets[v + 1];
    if (!std::is_sorted(data + begin, data + end)) std::sort(data + begin, data + end);
    const std::uint64_t row = kept;
    for (; begin < end; ++begin) {
      if (kept == row || data[kept - 1] != data[begin]) data[kept++] = data[begin];
    }
    graph.offsets[v + 1] = kept;
  }
  const std::uint64_t removed = graph.destinations.size() - kept;
  graph.destinations.resize(kept);
  if (removed > kept) graph.destinations.shrink_to_fit();
  return removed;
}

}  // namespace detail

// Builds the graph of the edges that for_each_edge() passes to its argument, a function of an Edge.
// Drops loops and merges duplicates. for_each_edge() is called twice, first to count and then to
// store, and must pass the same edges both times. `undirected`: each edge is stored at both of its
// vertices.
//
// Memory: 8 bytes per vertex, and 4 per entry and direction, loops excluded; duplicates are stored
// until the rows are sorted.
template <class ForEachEdge>
GraphInput build_graph(std::uint64_t vertices, bool undirected, ForEachEdge&& for_each_edge) {
  GraphInput input;
  std::vector<std::uint64_t>& offsets = input.graph.offsets;
  offsets.assign(vertices + 1, 0);
  const auto fetch_cursors = [&](Edge edge) {
    __builtin_prefetch(&offsets[edge.source]);
    if (undirected) __builtin_prefetch(&offsets[edge.destination]);
  };
  detail::PrefetchedEdges counter(fetch_cursors, [&](Edge edge) {
    ++offsets[edge.source];
    if (undirected) ++offsets[edge.destination];
  });
  for_each_edge([&](Edge edge) {
    ++input.counts.entries;
    if (edge.source != edge.destination) {
      counter.add(edge);
    } else {
      ++input.counts.loops;
    }
  });
  counter.flush();
  std::uint64_t sum = 0;
  for (std::uint64_t& offset : offsets) sum += std::exchange(offset, sum);

  // While edges are stored, offsets[v] is the position of v's next destination.
  std::vector<std::uint32_t>& destinations = input.graph.destinations;
  destinations.resize(sum);
  const auto fetch_rows = [&](Edge edge) {
    __builtin_prefetch(&destinations[offsets[edge.source]], 1);
    if (undirected) __builtin_prefetch(&destinations[offsets[edge.destination]], 1);
  };
  detail::PrefetchedEdges rows(fetch_rows, [&](Edge edge) {
    destinations[offsets[edge.source]++] = edge.destination;
    if (undirected) destinations[offsets[edge.destination]++] = edge.source;
  });
  for_each_edge([&](Edge edge) {
    if (edge.source != edge.destination) rows.add(edge);
  });
  rows.flush();
  // offsets[v] is now the end of v's row, which is the beginning of the next one.
  for (std::size_t v = vertices; v > 0; --v) offsets[v] = offsets[v - 1];
  offsets[0] = 0;
  const std::uint64_t removed = detail::merge_duplicates(input.graph);
  input.counts.duplicates = undirected ? removed / 2 : removed;
  input.is_symmetric = undirected;
  return input;
}

}  // namespace heapwood::workloads::graph
