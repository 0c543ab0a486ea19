// SPDX-License-Identifier: MIT
// Batches of updates, drawn with a seed: the same for every candidate and run.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/graph_bench.hpp"

namespace heapwood::bench {

// `count` edges to insert in a round; sources uniform (random) or of 1,000 vertices (pressure),
// destinations uniform. No loops; edges may be repeated and may exist.
std::vector<workloads::graph::EdgeKey> update_batch(const GraphSettings& settings,
                                                    std::uint32_t vertices, std::uint32_t count,
                                                    unsigned round);
// `count` edges of the graph, drawn with repetition.
std::vector<workloads::graph::EdgeKey> existing_edges(const workloads::graph::HostGraph& graph,
                                                      std::uint32_t count, std::uint32_t seed);
// Removes from `edges` those that are in `others`, which it sorts.
void remove_common(std::vector<workloads::graph::EdgeKey>& edges,
                   std::vector<workloads::graph::EdgeKey>& others);
// `count` vertices, numbered from `first`, with up to `degree` edges each to the vertices below
// `targets`.
workloads::graph::HostGraph new_vertices(std::uint32_t first, std::uint32_t count,
                                         std::uint32_t degree, std::uint32_t targets,
                                         std::uint32_t seed);
std::vector<std::uint32_t> drawn_vertices(std::uint32_t count, std::uint32_t vertices,
                                          std::uint32_t seed);

}  // namespace heapwood::bench
