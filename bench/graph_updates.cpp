// SPDX-License-Identifier: MIT
#include "bench/graph_updates.hpp"

#include <algorithm>

namespace heapwood::bench {

namespace {

using workloads::graph::edge_key;
using workloads::graph::EdgeKey;
using workloads::graph::HostGraph;

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0xd1342543de82ef95u + 1) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::vector<EdgeKey> update_batch(const GraphSettings& settings, std::uint32_t vertices,
                                  std::uint32_t count, unsigned round) {
  constexpr std::uint32_t pressure_sources = 1000;
  std::vector<EdgeKey> edges;
  if (vertices < 2) return edges;
  Random random(std::uint64_t{settings.seed} << 40 ^ std::uint64_t{count} << 20 ^ round);
  const bool pressure = settings.updates == GraphUpdates::pressure;
  const std::uint32_t sources = pressure ? std::min(pressure_sources, vertices) : vertices;
  const std::uint32_t first = pressure ? random.below(vertices - sources + 1) : 0;
  edges.reserve(count);
  while (edges.size() < count) {
    const std::uint32_t source = first + random.below(sources);
    const std::uint32_t destination = random.below(vertices);
    if (source != destination) edges.push_back(edge_key(source, destination));
  }
  return edges;
}

std::vector<EdgeKey> existing_edges(const HostGraph& graph, std::uint32_t count,
                                    std::uint32_t seed) {
  std::vector<EdgeKey> edges;
  if (graph.edges() == 0) return edges;
  Random random(seed);
  std::vector<std::uint64_t> positions(count);
  for (std::uint64_t& position : positions) position = random.next() % graph.edges();
  std::sort(positions.begin(), positions.end());
  std::uint32_t source = 0;
  for (const std::uint64_t position : positions) {
    while (graph.offsets[source + std::size_t{1}] <= position) ++source;
    edges.push_back(edge_key(source, graph.destinations[position]));
  }
  return edges;
}

void remove_common(std::vector<EdgeKey>& edges, std::vector<EdgeKey>& others) {
  std::sort(others.begin(), others.end());
  std::erase_if(edges,
                [&](EdgeKey key) { return std::binary_search(others.begin(), others.end(), key); });
}

HostGraph new_vertices(std::uint32_t first, std::uint32_t count, std::uint32_t degree,
                       std::uint32_t targets, std::uint32_t seed) {
  HostGraph graph;
  Random random(seed);
  std::vector<std::uint32_t> row;
  for (std::uint32_t v = 0; v < count; ++v) {
    row.clear();
    for (std::uint32_t i = 0; i < degree; ++i) {
      const std::uint32_t to = random.below(targets);
      if (to != first + v) row.push_back(to);
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    graph.destinations.insert(graph.destinations.end(), row.begin(), row.end());
    graph.offsets.push_back(graph.destinations.size());
  }
  return graph;
}

std::vector<std::uint32_t> drawn_vertices(std::uint32_t count, std::uint32_t vertices,
                                          std::uint32_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> drawn(count);
  for (std::uint32_t& v : drawn) v = random.below(vertices);
  return drawn;
}

}  // namespace heapwood::bench
