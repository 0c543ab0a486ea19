// SPDX-License-Identifier: MIT
// Graphs in host memory, made by readers and generators, from which the dynamic graph starts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heapwood::workloads::graph {

// One directed edge: of a file, of a generated graph, or of a batch of updates.
struct Edge {
  std::uint32_t source = 0, destination = 0;
  bool operator==(const Edge&) const = default;
};

// Vertices are numbered in 32 bits; the largest number means "none".
inline constexpr std::uint64_t max_vertices = 0xffff'fffe;

// Compressed sparse rows (CSR): a directed graph without loops and repeated edges; an undirected
// edge is stored as two. Vertices are numbered from 0; there are fewer than 2^32 - 1.
struct HostGraph {
  std::vector<std::uint64_t> offsets{0};    // vertices() + 1 positions in `destinations`, ascending
  std::vector<std::uint32_t> destinations;  // of each vertex, ascending

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
  std::uint64_t edges() const { return destinations.size(); }
  std::uint64_t degree(std::uint32_t vertex) const { return offsets[vertex + 1] - offsets[vertex]; }
  std::span<const std::uint32_t> neighbours(std::uint32_t vertex) const {
    return {destinations.data() + offsets[vertex], degree(vertex)};
  }
};

// What a file or a generator listed. An entry is one edge as listed: a line of a Matrix Market file
// or of an edge list, one number of a METIS file (which lists an undirected edge at both of its
// vertices), or one draw.
struct InputCounts {
  std::uint64_t entries = 0;
  std::uint64_t loops = 0;       // entries from a vertex to itself: dropped
  std::uint64_t duplicates = 0;  // entries whose edge an earlier entry names: merged
  bool operator==(const InputCounts&) const = default;
};

// A graph, and what is known about its input.
struct GraphInput {
  HostGraph graph;
  InputCounts counts;                      // all 0 for a generator that cannot repeat an edge
  bool is_symmetric = true;                // each edge is stored in both directions
  bool is_renumbered = false;              // vertex numbers differ from the ids in the file
  std::optional<std::uint64_t> triangles;  // their number, if the generator has a formula for it
};

}  // namespace heapwood::workloads::graph
