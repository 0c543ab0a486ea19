// SPDX-License-Identifier: MIT
// One run of one candidate of `heapwood graph`: initialization and all phases, in order.
#pragma once

#include <cstdint>

#include "bench/graph_bench.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::bench {

struct GraphPhases {
  const GraphBench& bench;
  const workloads::graph::DeviceRows& rows;
  bool updates;   // false: no phase that changes the graph
  bool inspects;  // measures memory and hashes the edges, outside the timed parts
};

// Adds samples, and what was inspected, to the row. The budget of the settings limits the rounds:
// GraphRow::cut.
void execute_phases(const GraphPhases& phases, workloads::graph::GraphStore& store, GraphRow& row);

// Vertices per batch of vertices: with about as many edges as a batch of edges has, and at most a
// tenth of the graph.
std::uint32_t vertex_batch(const workloads::graph::HostGraph& graph, std::uint32_t edges);

}  // namespace heapwood::bench
