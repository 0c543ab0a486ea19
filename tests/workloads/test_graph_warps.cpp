// SPDX-License-Identifier: MIT
// The kernels of the dynamic graph on simulated warps of 8 lanes, which really race.
#include "alloc/allocators/cfmmalloc.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "simt/lockstep.hpp"
#include "tests/workloads/graph_reference.hpp"
#include "workloads/graph/adjacency_run.hpp"

namespace heapwood::workloads::graph {
namespace {

template <class A>
void run_batches() {
  using Warps = simt::Lockstep<8>;
  constexpr std::uint32_t vertices = 12;
  const simt::Memory pool(simt::DeviceId{}, 1 << 20);
  const HeapJob job{{}, {pool.data(), pool.bytes()}, {}};
  BlockGraph graph(job, std::make_unique<AdjacencyRun<A, Warps>>(Warps(), job), 2 * vertices);
  const HostGraph start = random_graph(vertices, 10, 200, 21);
  ReferenceGraph reference(start);
  graph.init(DeviceRows({}, start));
  ASSERT_EQ(graph.edges(), reference.edges());
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::vector<EdgeKey> inserts = random_batch(90, vertices, 300, 40 + round);
    EXPECT_EQ(graph.update(inserts, {}).inserted, reference.insert(inserts));
    ASSERT_EQ(graph.edges(), reference.edges());
    const std::vector<EdgeKey> deletes = every(reference.edges(), 2);
    EXPECT_EQ(graph.update({}, deletes).deleted, reference.remove(deletes));
    ASSERT_EQ(graph.edges(), reference.edges());

    // Mixed: both batches touch the same four vertices.
    const std::vector<EdgeKey> both = every(reference.edges(), 3);
    std::vector<EdgeKey> more = random_batch(60, 4, 300, 60 + round);
    std::erase_if(
        more, [&](EdgeKey key) { return std::find(both.begin(), both.end(), key) != both.end(); });
    const UpdateResult mixed = graph.update(more, both);
    EXPECT_EQ(mixed.inserted, reference.insert(more));
    EXPECT_EQ(mixed.deleted, reference.remove(both));
    ASSERT_EQ(graph.edges(), reference.edges());
    EXPECT_EQ(graph.memory().overlaps, 0u);
  }
  const HostGraph rows = random_graph(4, 20, 200, 22);
  reference.append(rows);
  graph.insert_vertices(DeviceRows({}, rows));
  const std::vector<std::uint32_t> gone{1, 3, vertices + 1};
  EXPECT_EQ(graph.delete_vertices(gone).deleted, reference.remove_vertices(gone));
  EXPECT_EQ(graph.edges(), reference.edges());
}

TEST(GraphWarps, Heapwood) { run_batches<alloc::Heapwood>(); }
TEST(GraphWarps, CfmMalloc) { run_batches<alloc::CfmMalloc>(); }

}  // namespace
}  // namespace heapwood::workloads::graph
