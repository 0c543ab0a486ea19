// SPDX-License-Identifier: MIT
// Checks of host graphs for tests and fuzzers; without GoogleTest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph::testing {

// What is wrong with the graph; empty if it is valid.
inline std::string find_fault(const HostGraph& graph) {
  if (graph.offsets.empty() || graph.offsets.front() != 0) return "the first offset is not 0";
  if (graph.offsets.back() != graph.destinations.size()) return "the last offset is not the size";
  if (!std::ranges::is_sorted(graph.offsets)) return "offsets descend";
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const auto row = graph.neighbours(v);
    const std::string where = " of vertex " + std::to_string(v);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] >= graph.vertices()) return "a destination out of range" + where;
      if (row[i] == v) return "a loop" + where;
      if (i > 0 && row[i - 1] >= row[i]) return "destinations not ascending" + where;
    }
  }
  return "";
}

inline bool has_edge(const HostGraph& graph, std::uint32_t from, std::uint32_t to) {
  const auto row = graph.neighbours(from);
  return std::ranges::binary_search(row, to);
}

inline bool is_symmetric(const HostGraph& graph) {
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (const std::uint32_t u : graph.neighbours(v)) {
      if (!has_edge(graph, u, v)) return false;
    }
  }
  return true;
}

// Also checks a graph that was read from a text of this size: each entry that was kept is an edge
// or two, and the graph is no larger than the readers promise.
inline std::string find_fault(const GraphInput& input, std::size_t text_size) {
  const HostGraph& graph = input.graph;
  if (std::string fault = find_fault(graph); !fault.empty()) return fault;
  if (graph.vertices() == 0) return "no vertices";
  if (is_symmetric(graph) != input.is_symmetric) return "is_symmetric is wrong";
  const InputCounts& counts = input.counts;
  const std::uint64_t kept = counts.entries - counts.loops - counts.duplicates;
  if (graph.edges() != kept && graph.edges() != 2 * kept) return "the counts are wrong";
  if (graph.offsets.capacity() * 8 + graph.destinations.capacity() * 4 >
      24 * text_size + (12 << 20))
    return "too much memory";
  return "";
}

// Whether a message is one line, `file: line N: what`.
inline bool is_well_formed(std::string_view message) {
  constexpr std::string_view head = "file: line ";
  if (!message.starts_with(head) || message.size() > 300) return false;
  message.remove_prefix(head.size());
  const std::size_t digits = message.find_first_not_of("0123456789");
  return digits > 0 && digits != message.npos && message.substr(digits).starts_with(": ") &&
         message[0] != '0' &&
         std::ranges::none_of(message, [](unsigned char c) { return c < 0x20; });
}

// Counts each triangle of an undirected graph once.
inline std::uint64_t count_triangles(const HostGraph& graph) {
  std::uint64_t count = 0;
  for (std::uint32_t u = 0; u < graph.vertices(); ++u) {
    const auto row = graph.neighbours(u);
    for (auto v = std::ranges::upper_bound(row, u); v != row.end(); ++v) {
      for (auto w = v + 1; w != row.end(); ++w) count += has_edge(graph, *v, *w);
    }
  }
  return count;
}

// The vertices that can be reached from vertex 0.
inline std::uint32_t count_reachable(const HostGraph& graph) {
  std::vector<bool> is_reached(graph.vertices());
  std::vector<std::uint32_t> reached{0};
  is_reached[0] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::uint32_t u : graph.neighbours(reached[i])) {
      if (is_reached[u]) continue;
      is_reached[u] = true;
      reached.push_back(u);
    }
  }
  return static_cast<std::uint32_t>(reached.size());
}

}  // namespace heapwood::workloads::graph::testing
