// SPDX-License-Identifier: MIT
// A graph in host memory, in compressed sparse rows (CSR): what the readers and generators produce
// and the dynamic graph starts from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heapwood::workloads::graph {

// A directed graph without loops and repeated edges; an undirected edge is stored as two. Vertices
// are numbered from 0; there are fewer than 2^32 - 1.
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

}  // namespace heapwood::workloads::graph
