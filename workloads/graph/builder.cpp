// SPDX-License-Identifier: MIT
#include "workloads/graph/builder.hpp"

namespace heapwood::workloads::graph {

// Vertices are visited in ascending order, so that the sources of the edges to a vertex v appear in
// ascending order. In a symmetric graph they are v's neighbours, in the same order: `matched[v]` of
// them have been seen.
std::optional<Edge> find_one_way_edge(const HostGraph& graph) {
  std::vector<std::uint32_t> matched(graph.vertices(), 0);
  for (std::uint32_t u = 0; u < graph.vertices(); ++u) {
    for (const std::uint32_t v : graph.neighbours(u)) {
      if (matched[v] == graph.degree(v)) return Edge{u, v};
      const std::uint32_t expected = graph.neighbours(v)[matched[v]];
      // v's edge to a vertex before u, which has been visited and did not lead to v.
      if (expected < u) return Edge{v, expected};
      if (expected > u) return Edge{u, v};
      ++matched[v];
    }
  }
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    if (matched[v] < graph.degree(v)) return Edge{v, graph.neighbours(v)[matched[v]]};
  }
  return std::nullopt;
}

}  // namespace heapwood::workloads::graph
