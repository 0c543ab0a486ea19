// SPDX-License-Identifier: MIT
// The graph that the command line names, and the graphs that it may name.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/host_graph.hpp"

namespace heapwood::bench {

struct NamedGraph {
  workloads::graph::HostGraph graph;
  std::string name, digest;
  std::vector<std::string> notes;  // changes made to the input, one line each
};

// A kind of generated graph, for `heapwood list graphs`.
struct GraphKind {
  std::string name, arguments, description, example;
};
std::vector<GraphKind> graph_kinds();

// Throws Error{Exit::usage} for text that names no graph, Error{Exit::scene} for a file that cannot
// be read.
NamedGraph load_named_graph(const std::string& text);

}  // namespace heapwood::bench
