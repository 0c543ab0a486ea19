// SPDX-License-Identifier: MIT
// The kernels of the dynamic graph on simulated warps of 8 lanes, which really race.
#include <algorithm>
#include <numeric>

#include "alloc/allocators/circular_lists.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/workloads/graph_reference.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/graph/device_steps_run.hpp"

namespace heapwood::workloads::graph {
namespace {

using Warps = simt::Lockstep<8>;

struct HostSorter {
  static double sort(const Warps&, EdgeKey*& keys, EdgeKey*&, std::uint64_t count, unsigned) {
    std::sort(keys, keys + count);
    return 0;
  }
  static double exclusive_sum(const Warps&, std::uint64_t* values, std::uint64_t count) {
    std::exclusive_scan(values, values + count, values, std::uint64_t{0});
    return 0;
  }
};

std::unique_ptr<DeviceSteps> warp_steps() {
  return std::make_unique<steps_detail::StepsOn<Warps, HostSorter>>(Warps(), 60);
}

// Few vertices have edges: every group and every vertex is a warp of 8 threads.
constexpr BatchShape shape{
    .vertices = 28, .sources = 8, .few_sources = 4, .degree = 20, .batch = 90, .rounds = 2};

template <class A>
void run_blocks() {
  const simt::Memory pool(simt::DeviceId{}, 1 << 20);
  const HeapJob job{{}, {pool.data(), pool.bytes()}, {}};
  BlockGraph graph(job, std::make_unique<AdjacencyRun<A, Warps>>(Warps(), job), warp_steps());
  run_batches(graph, {}, shape);
}

TEST(GraphWarps, BlocksOfHeapwoodMatchSets) { run_blocks<alloc::Heapwood>(); }
TEST(GraphWarps, BlocksOfCfmMallocMatchSets) { run_blocks<alloc::CfmMalloc>(); }

// Several warps count and list vertices of the same classes; vertices without edges are not listed.
TEST(GraphWarps, CountedInitializationListsEachVertexOnce) {
  HostGraph start = random_graph(140, 8, 300, 23);
  start.offsets.resize(301, start.offsets.back());
  const simt::Memory pool(simt::DeviceId{}, 1 << 20);
  const HeapJob job{{}, {pool.data(), pool.bytes()}, {}};
  BlockGraph graph(job, std::make_unique<AdjacencyRun<alloc::CfmMalloc, Warps>>(Warps(), job),
                   warp_steps(), BlockInit::counted);
  graph.init(DeviceRows({}, start));
  EXPECT_EQ(graph.edges(), ReferenceGraph(start).edges());
  EXPECT_EQ(graph.memory().overlaps, 0u);

  expect_class_order(*warp_steps(), {}, start, Warps::Warp::width);
}

TEST(GraphWarps, PagesMatchSets) {
  const simt::Memory pool(simt::DeviceId{}, 64 << 10);
  PageGraph graph({}, warp_steps(), {pool.data(), pool.bytes()});
  run_batches(graph, {}, shape);
}

TEST(GraphWarps, RowsMatchSets) {
  CsrGraph graph({}, warp_steps());
  run_batches(graph, {}, shape);
}

// Too few pages: a vertex whose pages were refused has returned those that it took.
TEST(GraphWarps, PagesAreReturnedAfterARefusal) {
  const simt::Memory pool(simt::DeviceId{}, 256 + 10 * 68);
  PageGraph graph({}, warp_steps(), {pool.data(), pool.bytes()});
  HostGraph empty;
  empty.offsets.assign(201, 0);
  graph.init(DeviceRows({}, empty));
  std::vector<EdgeKey> few, many;
  for (std::uint32_t i = 2; i < 22; ++i) few.push_back(edge_key(0, i));
  for (std::uint32_t i = 2; i < 200; ++i) many.push_back(edge_key(0, i));
  EXPECT_EQ(graph.update(few, {}).inserted, 20u);
  const UpdateResult refused = graph.update(many, {});
  EXPECT_EQ(refused.refused, 1u);
  EXPECT_EQ(refused.refused_edges, 178u);
  EXPECT_EQ(graph.edges(), few);
  // As many as fit into all ten pages.
  EXPECT_EQ(graph.update(std::span(many).first(148), {}).inserted, 128u);
}

// Adjacencies that a warp visits together, next to short ones.
TEST(GraphWarps, AlgorithmsFindCliques) {
  const HostGraph cliques = clique_graph(2, 20);
  const DeviceRows rows({}, cliques);
  const simt::Memory pool(simt::DeviceId{}, 64 << 10);
  const auto expect = [&](GraphStore& graph) {
    graph.init(rows);
    EXPECT_EQ(graph.triangles().triangles, 2u * 1140);
    for (const float rank : graph.page_rank(3, 0.85f).ranks) EXPECT_NEAR(rank, 1.0 / 40, 1e-6);
  };
  PageGraph pages({}, warp_steps(), {pool.data(), pool.bytes()});
  expect(pages);
  CsrGraph csr({}, warp_steps());
  expect(csr);
}

}  // namespace
}  // namespace heapwood::workloads::graph
