// SPDX-License-Identifier: MIT
#include "bench/graph_source.hpp"

#include <fmt/format.h>

#include "bench/graph_updates.hpp"
#include "bench/program/options.hpp"

namespace heapwood::bench {

std::vector<GraphKind> graph_kinds() {
  return {{"uniform", "VERTICES:DEGREE", "edges to random vertices, without locality",
           "uniform:100K:8"}};
}

// uniform:VERTICES:DEGREE, with edges to random vertices.
NamedGraph load_named_graph(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  try {
    if (parts.size() == 3 && parts[0] == "uniform") {
      const std::vector<std::uint32_t> sizes = parse_batches(parts[1] + "," + parts[2]);
      NamedGraph named;
      named.graph = new_vertices(0, sizes.front(), sizes.back(), sizes.front(), 1);
      named.name = text;
      return named;
    }
  } catch (const Error&) {
    // Reported below, in the words of a graph.
  }
  throw Error(Exit::usage,
              fmt::format("graph '{}': expected uniform:VERTICES:DEGREE, as uniform:100K:8", text));
}

}  // namespace heapwood::bench
