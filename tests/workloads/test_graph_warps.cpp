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
constexpr std::uint32_t vertices = 28, sources = 8, more_vertices = 4;

void run_batches(GraphStore& graph) {
  HostGraph start = random_graph(sources, 20, vertices, 21);
  start.offsets.resize(vertices + 1, start.offsets.back());
  ReferenceGraph reference(start);
  graph.init(DeviceRows({}, start));
  ASSERT_EQ(graph.edges(), reference.edges());
  for (std::uint32_t round = 0; round < 2; ++round) {
    const std::vector<EdgeKey> inserts = random_batch(90, sources, vertices, 40 + round);
    EXPECT_EQ(graph.update(inserts, {}).inserted, reference.insert(inserts));
    ASSERT_EQ(graph.edges(), reference.edges());
    const std::vector<EdgeKey> deletes = every(reference.edges(), 2);
    EXPECT_EQ(graph.update({}, deletes).deleted, reference.remove(deletes));
    ASSERT_EQ(graph.edges(), reference.edges());

    // Mixed: both batches touch the same four vertices.
    const std::vector<EdgeKey> both = every(reference.edges(), 3);
    std::vector<EdgeKey> more = random_batch(60, 4, vertices, 60 + round);
    std::erase_if(
        more, [&](EdgeKey key) { return std::find(both.begin(), both.end(), key) != both.end(); });
    const UpdateResult mixed = graph.update(more, both);
    EXPECT_EQ(mixed.inserted, reference.insert(more));
    EXPECT_EQ(mixed.deleted, reference.remove(both));
    ASSERT_EQ(graph.edges(), reference.edges());
    EXPECT_EQ(graph.memory().overlaps, 0u);
  }
  const HostGraph rows = random_graph(more_vertices, 20, vertices, 22);
  reference.append(rows);
  graph.insert_vertices(DeviceRows({}, rows));
  const std::vector<std::uint32_t> gone{1, 3, vertices + 1};
  EXPECT_EQ(graph.delete_vertices(gone).deleted, reference.remove_vertices(gone));
  EXPECT_EQ(graph.edges(), reference.edges());
}

template <class A>
void run_blocks() {
  const simt::Memory pool(simt::DeviceId{}, 1 << 20);
  const HeapJob job{{}, {pool.data(), pool.bytes()}, {}};
  BlockGraph graph(job, std::make_unique<AdjacencyRun<A, Warps>>(Warps(), job), warp_steps(),
                   vertices + more_vertices);
  run_batches(graph);
}

TEST(GraphWarps, Heapwood) { run_blocks<alloc::Heapwood>(); }
TEST(GraphWarps, CfmMalloc) { run_blocks<alloc::CfmMalloc>(); }

// Several warps count and list vertices of the same classes; vertices without edges are not listed.
TEST(GraphWarps, CountedInitialization) {
  HostGraph start = random_graph(140, 8, 300, 23);
  start.offsets.resize(301, start.offsets.back());
  const simt::Memory pool(simt::DeviceId{}, 1 << 20);
  const HeapJob job{{}, {pool.data(), pool.bytes()}, {}};
  BlockGraph graph(job, std::make_unique<AdjacencyRun<alloc::CfmMalloc, Warps>>(Warps(), job),
                   warp_steps(), 300, BlockInit::counted);
  graph.init(DeviceRows({}, start));
  EXPECT_EQ(graph.edges(), ReferenceGraph(start).edges());
  EXPECT_EQ(graph.memory().overlaps, 0u);

  expect_class_order(*warp_steps(), {}, start, Warps::Warp::width);
}

TEST(GraphWarps, Pages) {
  const simt::Memory pool(simt::DeviceId{}, 64 << 10);
  PageGraph graph({}, warp_steps(), {pool.data(), pool.bytes()}, vertices + more_vertices);
  run_batches(graph);
}

TEST(GraphWarps, Rows) {
  CsrGraph graph({}, warp_steps(), vertices + more_vertices);
  run_batches(graph);
}

// Too few pages: a vertex whose pages were refused has returned those that it took.
TEST(GraphWarps, PagesAreReturnedAfterARefusal) {
  const simt::Memory pool(simt::DeviceId{}, 256 + 10 * 68);
  PageGraph graph({}, warp_steps(), {pool.data(), pool.bytes()}, 200);
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
  EXPECT_EQ(graph.update(std::span(many).first(148), {}).inserted, 128u);  // all ten pages
}

// Adjacencies that a warp visits together, beside short ones.
TEST(GraphWarps, Algorithms) {
  const HostGraph cliques = clique_graph(2, 20);
  const DeviceRows rows({}, cliques);
  const simt::Memory pool(simt::DeviceId{}, 64 << 10);
  const auto expect = [&](GraphStore& graph) {
    graph.init(rows);
    EXPECT_EQ(graph.triangles().triangles, 2u * 1140);
    for (const float rank : graph.page_rank(3, 0.85f).ranks) EXPECT_NEAR(rank, 1.0 / 40, 1e-6);
    const SearchResult search = graph.breadth_first(3);
    for (std::uint32_t v = 0; v < 40; ++v)
      EXPECT_EQ(search.distances[v], v == 3 ? 0 : v < 20 ? 1 : ~0u);
  };
  PageGraph pages({}, warp_steps(), {pool.data(), pool.bytes()}, 40);
  expect(pages);
  CsrGraph csr({}, warp_steps(), 40);
  expect(csr);
}

}  // namespace
}  // namespace heapwood::workloads::graph
