// SPDX-License-Identifier: MIT
// PageRank, triangles and breadth-first search against references and closed forms.
#include <algorithm>
#include <deque>

#include "tests/workloads/graph_reference.hpp"

namespace heapwood::workloads::graph {
namespace {

class GraphAlgorithms : public Graphs {
 protected:
  template <class F>
  void each_layout(const HostGraph& host, F f) {
    const registry::RegisteredAllocator* entry = registry::find("heapwood");
    if (entry == nullptr || entry->on(device_.kind) == nullptr) GTEST_SKIP();
    const auto graph = block_graph(*entry->on(device_.kind), 8 << 20, host.vertices());
    const DeviceRows rows(device_, host);
    graph->init(rows);
    f(*graph);
    each_baseline(8 << 20, host.vertices(), [&](GraphStore& store) {
      store.init(rows);
      f(store);
    });
  }
};

std::vector<double> reference_ranks(const HostGraph& graph, unsigned iterations, double damping) {
  const double n = graph.vertices();
  std::vector<double> ranks(graph.vertices(), 1 / n);
  for (unsigned i = 0; i < iterations; ++i) {
    std::vector<double> next(graph.vertices(), (1 - damping) / n);
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      for (const std::uint32_t to : graph.neighbours(v))
        next[to] += damping * ranks[v] / static_cast<double>(graph.degree(v));
    }
    ranks = next;
  }
  return ranks;
}

TEST_F(GraphAlgorithms, PageRankAgreesWithDoublePrecision) {
  HostGraph graph = random_graph(500, 30, 400, 11);
  graph.offsets.push_back(graph.offsets.back());  // a vertex without edges
  const std::vector<double> expected = reference_ranks(graph, 20, 0.85);
  each_layout(graph, [&](GraphStore& store) {
    const PageRankResult result = store.page_rank(20, 0.85f);
    EXPECT_EQ(result.iterations_ms.size(), 20u);
    ASSERT_EQ(result.ranks.size(), expected.size());
    for (std::size_t v = 0; v < expected.size(); ++v)
      EXPECT_NEAR(result.ranks[v] / expected[v], 1, 1e-4) << v;
  });
}

TEST_F(GraphAlgorithms, CountTrianglesOfCliques) {
  for (const std::uint32_t size : {2u, 3u, 5u, 40u}) {
    each_layout(clique_graph(9, size), [&](GraphStore& store) {
      const std::uint64_t n = size;
      EXPECT_EQ(store.triangles().triangles, 9 * (n * (n - 1) * (n - 2) / 6));
    });
  }
}

// Adjacencies are not in order after updates; counting sorts them.
TEST_F(GraphAlgorithms, CountTrianglesAfterUpdates) {
  const HostGraph start = random_graph(60, 12, 60, 12);
  each_layout(start, [&](GraphStore& store) {
    ReferenceGraph reference(start);
    const std::vector<EdgeKey> more = random_batch(500, 60, 60, 13);
    store.update(more, {});
    reference.insert(more);
    const std::vector<EdgeKey> less = every(reference.edges(), 5);
    store.update({}, less);
    reference.remove(less);
    std::uint64_t expected = 0;
    for (std::uint32_t u = 0; u < 60; ++u) {
      for (const std::uint32_t v : reference[u]) {
        if (v <= u) continue;
        for (const std::uint32_t w : reference[u]) expected += w > v && reference[v].contains(w);
      }
    }
    EXPECT_EQ(store.triangles().triangles, expected);
    EXPECT_EQ(store.edges(), reference.edges());
  });
}

TEST_F(GraphAlgorithms, SearchFindsDistances) {
  const HostGraph graph = random_graph(700, 4, 700, 14);
  std::vector<std::uint32_t> expected(graph.vertices(), ~0u);
  std::deque<std::uint32_t> queue{5};
  expected[5] = 0;
  while (!queue.empty()) {
    const std::uint32_t v = queue.front();
    queue.pop_front();
    for (const std::uint32_t to : graph.neighbours(v)) {
      if (expected[to] != ~0u) continue;
      expected[to] = expected[v] + 1;
      queue.push_back(to);
    }
  }
  // Levels have many more vertices than a launch has warps.
  ASSERT_GT(std::count_if(expected.begin(), expected.end(), [](auto d) { return d != ~0u; }), 600);
  each_layout(graph, [&](GraphStore& store) {
    const SearchResult result = store.breadth_first(5);
    EXPECT_EQ(result.distances, expected);
    std::uint32_t deepest = 0;
    for (const std::uint32_t distance : expected) {
      if (distance != ~0u) deepest = std::max(deepest, distance);
    }
    EXPECT_EQ(result.levels, deepest + 1);
  });
}

}  // namespace
}  // namespace heapwood::workloads::graph
