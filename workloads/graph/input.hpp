// SPDX-License-Identifier: MIT
// What readers and generators return: a graph, and what was known or dropped on the way.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

// Vertices are numbered in 32 bits; the largest number means "none".
inline constexpr std::uint64_t max_vertices = 0xffff'fffe;

// An entry is what the file or the generator lists as one edge: a line of a Matrix Market file or
// of an edge list, one number of a METIS file (which lists an undirected edge at both of its
// vertices), or one draw.
struct InputCounts {
  std::uint64_t entries = 0;
  std::uint64_t loops = 0;       // entries from a vertex to itself: dropped
  std::uint64_t duplicates = 0;  // entries whose edge an earlier entry names: merged
  bool operator==(const InputCounts&) const = default;
};

struct GraphInput {
  HostGraph graph;
  InputCounts counts;                      // all 0 for a generator that cannot repeat an edge
  bool is_symmetric = true;                // each edge is stored in both directions
  bool is_renumbered = false;              // vertices are not the ids of the file, counted from 0
  std::optional<std::uint64_t> triangles;  // in closed form, if the generator has one
};

}  // namespace heapwood::workloads::graph
