// SPDX-License-Identifier: MIT
#include "bench/graph_updates.hpp"

#include <algorithm>

#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::bench {

namespace {

using workloads::graph::edge_key;
using workloads::graph::EdgeKey;
using workloads::graph::HostGraph;

// The numbers of a sequence, one after another.
class Random {
 public:
  explicit Random(std::uint64_t seed) : draws_(seed) {}
  std::uint64_t next() { return draws_.bits(drawn_++); }
  std::uint32_t below(std::uint32_t limit) { return workloads::graph::below(next(), limit); }

 private:
  workloads::graph::Draws draws_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

std::vector<EdgeKey> update_batch(const GraphSettings& settings, std::uint32_t vertices,
                                  std::uint32_t count, unsigned round) {
  const std::uint64_t seed =
      std::uint64_t{settings.seed} << 40 ^ std::uint64_t{count} << 20 ^ round;
  std::vector<EdgeKey> edges;
  for (const workloads::graph::Edge& edge :
       workloads::graph::make_batch(vertices, count, settings.updates, seed))
    edges.push_back(edge_key(edge.source, edge.destination));
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
