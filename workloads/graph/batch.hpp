// SPDX-License-Identifier: MIT
// Batches of edge updates, as in section 6.2.2 of Ouroboros (Winter et al., ICS 2020): sources
// anywhere, or within 1,000 vertices so that many updates change one adjacency.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/edge.hpp"

namespace heapwood::workloads::graph {

enum class UpdatePattern {
  random,    // sources uniform over all vertices
  pressure,  // sources uniform over `pressure_range` consecutive vertices
};

inline constexpr std::uint32_t pressure_range = 1000;

// `edges` updates of a graph of `vertices` vertices, in no order. Destinations are uniform over the
// other vertices: no edge is a loop, but an edge may occur twice and may already be in the graph.
// The seed also chooses where the range of `pressure` lies; a smaller graph is that range. The same
// arguments give the same batch everywhere. Empty for fewer than two vertices.
std::vector<Edge> make_batch(std::uint32_t vertices, std::uint64_t edges, UpdatePattern pattern,
                             std::uint64_t seed);

}  // namespace heapwood::workloads::graph
