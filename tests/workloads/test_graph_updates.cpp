// SPDX-License-Identifier: MIT
// Dynamic graphs in every layout: after every batch the edges are those of a graph of sets.
#include <algorithm>
#include <iterator>

#include "tests/workloads/graph_reference.hpp"

namespace heapwood::workloads::graph {
namespace {

// ---- PageRank and triangles against references and closed forms

class GraphAlgorithms : public Graphs {
 protected:
  template <class F>
  void each_layout(const HostGraph& host, F f) {
    const registry::RegisteredAllocator* entry = registry::find("heapwood");
    if (entry == nullptr || entry->on(device_.kind) == nullptr) GTEST_SKIP();
    const auto graph = block_graph(*entry->on(device_.kind), 8 << 20);
    const DeviceRows rows(device_, host);
    graph->init(rows);
    f(*graph);
    each_baseline(8 << 20, [&](GraphStore& store) {
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

// ---- updates

using GraphUpdates = Graphs;

TEST(GraphClasses, AreTheSmallestThatFit) {
  EXPECT_EQ(class_of(1), 0u);
  EXPECT_EQ(class_of(4), 0u);
  EXPECT_EQ(class_of(5), 1u);
  EXPECT_EQ(class_of(8), 1u);
  EXPECT_EQ(class_of(9), 2u);
  EXPECT_EQ(class_of(1u << 20), 18u);
  EXPECT_EQ(class_of((1u << 20) + 1), 19u);
  EXPECT_EQ(class_of(~0u), 30u);
  for (std::uint32_t degree = 1; degree < 5000; ++degree) {
    const std::uint32_t k = class_of(degree);
    EXPECT_GE(block_bytes(k), 4 * degree);
    EXPECT_TRUE(k == 0 || block_bytes(k - 1) < 4 * degree);
  }
}

TEST_F(GraphUpdates, MatchSets) {
  constexpr BatchShape shape{
      .vertices = 300, .sources = 300, .few_sources = 7, .degree = 6, .batch = 700, .rounds = 4};
  each_store(4 << 20, [&](GraphStore& graph) { run_batches(graph, device_, shape); });
}

// Counted initialization also reports the same refusals.
TEST_F(GraphUpdates, CountedInitializationHasTheSameEdgesAndBlocks) {
  HostGraph start = random_graph(700, 20, 700, 8);
  start.offsets.resize(901, start.offsets.back());  // adds 200 vertices without edges
  const DeviceRows rows(device_, start);
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    const auto graph = block_graph(compiled, 4 << 20, BlockInit::counted);
    for (int again = 0; again < 2; ++again) {
      ReferenceGraph reference(start);
      EXPECT_EQ(graph->init(rows).refused, 0u);
      ASSERT_EQ(graph->edges(), reference.edges());
      expect_sound_memory(*graph, reference);
      // Pages of runs that are left over have been freed.
      if (std::string(compiled.traits->id).starts_with("ouroboros")) {
        EXPECT_EQ(graph->memory().held_bytes, graph->memory().block_bytes);
      }
      const std::vector<EdgeKey> batch = random_batch(700, 900, 900, 9);
      EXPECT_EQ(graph->update(batch, {}).inserted, reference.insert(batch));
      const std::vector<EdgeKey> old = every(reference.edges(), 2);
      EXPECT_EQ(graph->update({}, old).deleted, reference.remove(old));
      ASSERT_EQ(graph->edges(), reference.edges());
      expect_sound_memory(*graph, reference);
    }
  });
  const auto expect_counts = [&](const registry::CompiledAllocator& compiled) {
    const std::size_t pool = std::max<std::size_t>(32 << 10, compiled.traits->smallest_pool);
    const auto graph = block_graph(compiled, pool, BlockInit::counted);
    const InitResult init = graph->init(rows);
    EXPECT_EQ(graph->edges().size() + init.refused_edges, start.edges());
    EXPECT_EQ(init.refused > 0, init.refused_edges > 0);
  };
  each_allocator(expect_counts, true);
}

TEST_F(GraphUpdates, ClassesAreInOrder) {
  const std::unique_ptr<DeviceSteps> steps = device_steps(device_, 60);
  const std::uint32_t width = device_.kind == simt::DeviceKind::cuda ? 32 : 1;
  for (const std::uint32_t vertices : {1u, 31u, 1000u, 5000u})
    expect_class_order(*steps, device_, random_graph(vertices, 40, 5000, vertices), width);
}

TEST_F(GraphUpdates, EmptyBatchesChangeNothing) {
  each_store(1 << 20, [&](GraphStore& graph) {
    HostGraph empty;
    empty.offsets.assign(4, 0);
    graph.init(DeviceRows(device_, empty));
    EXPECT_TRUE(graph.edges().empty());
    EXPECT_EQ(graph.update({}, {}).inserted, 0u);
    const std::vector<EdgeKey> edges{edge_key(1, 1), edge_key(2, 0), edge_key(2, 0)};
    EXPECT_EQ(graph.update({}, edges).deleted, 0u);
    EXPECT_EQ(graph.update(edges, {}).inserted, 1u);  // the loop and the repetition are dropped
    EXPECT_EQ(graph.edges(), std::vector<EdgeKey>{edge_key(2, 0)});
    EXPECT_EQ(graph.update({}, edges).deleted, 1u);
    EXPECT_EQ(graph.memory().blocks, 0u);
  });
}

// Inserts more than the pool holds: a refused request leaves its vertex as it was, and the others
// are served.
void expect_refusals(GraphStore& graph, const HostGraph& start, const DeviceRows& rows) {
  const std::uint32_t vertices = start.vertices();
  HostGraph none;
  none.offsets.assign(vertices + 1, 0);
  const auto set_of = [&](const std::vector<EdgeKey>& edges) {
    ReferenceGraph graph_of_edges(none);
    graph_of_edges.insert(edges);
    return graph_of_edges;
  };
  const InitResult init = graph.init(rows);
  std::vector<EdgeKey> before = graph.edges();
  EXPECT_EQ(before.size() + init.refused_edges, start.edges());
  std::uint64_t refused = init.refused;
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::vector<EdgeKey> batch = random_batch(3000, vertices, vertices, 70 + round);
    const UpdateResult result = graph.update(batch, {});
    refused += result.refused;
    const ReferenceGraph old = set_of(before);
    ReferenceGraph all = old;
    EXPECT_EQ(result.inserted + result.refused_edges, all.insert(batch));
    const std::vector<EdgeKey> after = graph.edges();
    const ReferenceGraph now = set_of(after);
    std::uint64_t unchanged = 0;
    for (std::uint32_t v = 0; v < vertices; ++v) {
      if (now[v] == all[v]) continue;
      ASSERT_EQ(now[v], old[v]) << "vertex " << v << " has a part of the batch";
      ++unchanged;
    }
    EXPECT_EQ(unchanged, result.refused);
    EXPECT_EQ(graph.memory().overlaps, 0u);
    // Deletions succeed in a full pool.
    const std::vector<EdgeKey> some = every(after, 5);
    EXPECT_EQ(graph.update({}, some).deleted, some.size());
    ReferenceGraph rest = now;
    rest.remove(some);
    before = graph.edges();
    EXPECT_EQ(before, rest.edges());
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(graph.update({}, before).deleted, before.size());
  EXPECT_EQ(graph.memory().blocks, 0u);
}

TEST_F(GraphUpdates, ExhaustionLeavesVerticesUnchanged) {
  const HostGraph start = random_graph(200, 3, 200, 5);
  const DeviceRows rows(device_, start);
  each_small_pool([&](GraphStore& graph) { expect_refusals(graph, start, rows); });
}

// Insertions and deletions of the same vertices while the pool is full: some insertions are
// refused, all deletions succeed, and nothing is lost.
TEST_F(GraphUpdates, MixedKernelsInAFullPoolLoseNothing) {
  const HostGraph start = random_graph(100, 30, 200, 6);
  HostGraph padded = start;
  padded.offsets.resize(201, start.offsets.back());
  each_small_pool([&](GraphStore& graph) {
    graph.init(DeviceRows(device_, padded));
    std::vector<EdgeKey> now = graph.edges();
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::vector<EdgeKey> deletes = every(now, 6);
      const std::vector<EdgeKey> inserts =
          without(random_batch(3000, 100, 200, 90 + round), deletes);
      const UpdateResult result = graph.update(inserts, deletes);
      EXPECT_EQ(result.deleted, deletes.size());
      EXPECT_EQ(graph.memory().overlaps, 0u);
      const std::vector<EdgeKey> after = graph.edges();
      EXPECT_EQ(after.size(), now.size() + result.inserted - result.deleted);
      std::vector<EdgeKey> kept;
      std::set_difference(now.begin(), now.end(), deletes.begin(), deletes.end(),
                          std::back_inserter(kept));
      EXPECT_TRUE(std::includes(after.begin(), after.end(), kept.begin(), kept.end()));
      now = after;
    }
  });
}

// A star: one vertex has nearly all edges, and loses and regains half of them.
TEST_F(GraphUpdates, HubsLoseAndRegainEdges) {
  constexpr std::uint32_t leaves = 30000;
  std::vector<EdgeKey> out, half;
  for (std::uint32_t v = 1; v <= leaves; ++v) {
    out.push_back(edge_key(0, v));
    if (v % 2 == 0 || v > leaves / 2) half.push_back(edge_key(0, v));
  }
  HostGraph empty;
  empty.offsets.assign(leaves + 2, 0);
  const DeviceRows rows(device_, empty);
  each_store(8 << 20, [&](GraphStore& graph) {
    graph.init(rows);
    const UpdateResult first = graph.update(out, {});
    if (first.refused > 0) {  // larger than what the allocator serves
      EXPECT_EQ(first.refused_edges, leaves);
      EXPECT_TRUE(graph.edges().empty());
      return;
    }
    EXPECT_EQ(graph.edges(), out);
    EXPECT_EQ(graph.update({}, half).deleted, half.size());
    EXPECT_EQ(graph.memory().edges, leaves - half.size());
    EXPECT_EQ(graph.update(out, {}).inserted, half.size());
    EXPECT_EQ(graph.edges(), out);
  });
}

}  // namespace
}  // namespace heapwood::workloads::graph
