// SPDX-License-Identifier: MIT
// Graphs by name: a generator with its size (`rgg:1m`, generators.hpp) or the path of a file
// (read_graph.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/generators.hpp"
#include "workloads/graph/input.hpp"

namespace heapwood::workloads::graph {

struct GraphSource {
  HostGraph graph;
  std::string name;    // "rgg:1m"; of a file its name without folder and extension
  std::string digest;  // of the graph (graph_digest), not of the file
  bool is_generated = false;
  bool is_symmetric = true;                // each edge is stored in both directions
  InputCounts counts;                      // what was listed, dropped and merged
  std::optional<std::uint64_t> triangles;  // where the generator knows their number
  std::vector<std::string> notes;          // one line each, for the user: changes made to the input
};

// Throws Error{Exit::usage} for text that is neither a generator nor a file of a known type, and
// Error{Exit::scene} for a file that cannot be read (`FILE:LINE: what` if its content is
// malformed) or a graph that does not fit in memory.
GraphSource load_graph(std::string_view text);

// A hash of vertices and edges, 16 hexadecimal digits: equal for equal graphs, whatever file or
// machine they come from.
std::string graph_digest(const HostGraph& graph);

struct DegreeSummary {
  double mean = 0, deviation = 0;
  std::uint64_t min = 0, max = 0;
};
DegreeSummary summarize_degrees(const HostGraph& graph);

}  // namespace heapwood::workloads::graph
