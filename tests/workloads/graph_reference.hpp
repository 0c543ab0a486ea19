// SPDX-License-Identifier: MIT
// The dynamic graph as sets in host memory, small graphs, and batches: what the tests of all
// layouts compare with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "tests/test_device.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::workloads::graph {

class ReferenceGraph {
 public:
  explicit ReferenceGraph(const HostGraph& graph) {
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      const auto destinations = graph.neighbours(v);
      sets_.emplace_back(destinations.begin(), destinations.end());
    }
  }

  // Returns the number of edges inserted and of edges deleted.
  std::uint64_t insert(std::span<const EdgeKey> keys) {
    std::uint64_t count = 0;
    for (const EdgeKey key : keys) {
      if (source_of(key) != destination_of(key))
        count += sets_[source_of(key)].insert(destination_of(key)).second;
    }
    return count;
  }
  std::uint64_t remove(std::span<const EdgeKey> keys) {
    std::uint64_t count = 0;
    for (const EdgeKey key : keys) count += sets_[source_of(key)].erase(destination_of(key));
    return count;
  }
  std::vector<EdgeKey> edges() const {
    std::vector<EdgeKey> keys;
    for (std::uint32_t v = 0; v < sets_.size(); ++v) {
      for (const std::uint32_t to : sets_[v]) keys.push_back(edge_key(v, to));
    }
    return keys;
  }
  std::uint32_t vertices() const { return static_cast<std::uint32_t>(sets_.size()); }
  const std::set<std::uint32_t>& operator[](std::uint32_t v) const { return sets_[v]; }

 private:
  std::vector<std::set<std::uint32_t>> sets_;
};

inline HostGraph graph_of(const std::vector<std::set<std::uint32_t>>& sets) {
  HostGraph graph;
  for (const std::set<std::uint32_t>& set : sets) {
    graph.destinations.insert(graph.destinations.end(), set.begin(), set.end());
    graph.offsets.push_back(graph.destinations.size());
  }
  return graph;
}

// Degrees from 0 to 2 x `degree`; `targets`: the number of vertices that edges may lead to.
inline HostGraph random_graph(std::uint32_t vertices, std::uint32_t degree, std::uint32_t targets,
                              std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::set<std::uint32_t>> sets(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t i = random() % (2 * degree + 1); i > 0; --i) {
      const std::uint32_t to = random() % targets;
      if (to != v) sets[v].insert(to);
    }
  }
  return graph_of(sets);
}

// Cliques of `size` vertices, both directions of each edge.
inline HostGraph clique_graph(std::uint32_t cliques, std::uint32_t size) {
  std::vector<std::set<std::uint32_t>> sets(cliques * size);
  for (std::uint32_t v = 0; v < sets.size(); ++v) {
    for (std::uint32_t i = 0; i < size; ++i) {
      if (v / size * size + i != v) sets[v].insert(v / size * size + i);
    }
  }
  return graph_of(sets);
}

// `count` edges from vertices below `sources`, some of them repeated and some of them loops.
inline std::vector<EdgeKey> random_batch(std::uint32_t count, std::uint32_t sources,
                                         std::uint32_t vertices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<EdgeKey> keys;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % 11 == 10) {
      keys.push_back(keys[random() % keys.size()]);
    } else {
      const std::uint32_t source = random() % sources;
      keys.push_back(edge_key(source, random() % vertices));
    }
  }
  return keys;
}

// Every n-th of the edges.
inline std::vector<EdgeKey> every(const std::vector<EdgeKey>& edges, std::size_t n) {
  std::vector<EdgeKey> keys;
  for (std::size_t i = 0; i < edges.size(); i += n) keys.push_back(edges[i]);
  return keys;
}

// The edges without those in the sorted `others`.
inline std::vector<EdgeKey> without(std::vector<EdgeKey> edges,
                                    const std::vector<EdgeKey>& others) {
  std::erase_if(edges, [&](EdgeKey key) { return std::ranges::binary_search(others, key); });
  return edges;
}

// Pool and blocks are consistent: every vertex has the smallest block that fits, and none overlap.
inline void expect_sound_memory(GraphStore& graph, const ReferenceGraph& reference) {
  const GraphMemory memory = graph.memory();
  std::uint64_t edges = 0, bytes = 0, blocks = 0;
  for (std::uint32_t v = 0; v < reference.vertices(); ++v) {
    const auto degree = static_cast<std::uint32_t>(reference[v].size());
    edges += degree;
    if (degree == 0) continue;
    ++blocks;
    bytes += block_bytes(class_of(degree));
  }
  EXPECT_EQ(memory.edges, edges);
  EXPECT_EQ(memory.payload_bytes, 4 * edges);
  if (memory.measured) {
    EXPECT_GE(memory.held_bytes, memory.block_bytes);
  }
  if (!std::holds_alternative<BlocksView>(graph.view())) return;
  EXPECT_EQ(memory.blocks, blocks);
  EXPECT_EQ(memory.block_bytes, bytes);
  EXPECT_EQ(memory.overlaps, 0u);
  if (memory.measured) {
    EXPECT_GE(memory.address_bytes, bytes);
  }
}

struct BatchShape {
  std::uint32_t vertices, sources, few_sources;  // sources: the vertices that edges begin at
  std::uint32_t degree, batch, rounds;
};

// Inserts and deletes edges, by a kernel each and by one kernel. After each batch the edges are
// those of a graph of sets.
inline void run_batches(GraphStore& graph, const simt::DeviceId& device, const BatchShape& shape) {
  HostGraph start = random_graph(shape.sources, shape.degree, shape.vertices, 21);
  start.offsets.resize(shape.vertices + 1, start.offsets.back());
  for (int again = 0; again < 2; ++again) {  // init() discards the previous graph
    ReferenceGraph reference(start);
    const auto expect_equal = [&](std::uint64_t refused) {
      EXPECT_EQ(refused, 0u);
      ASSERT_EQ(graph.edges(), reference.edges());
      expect_sound_memory(graph, reference);
    };
    expect_equal(graph.init(DeviceRows(device, start)).refused);
    for (std::uint32_t round = 0; round < shape.rounds; ++round) {
      // Pressure in every other round: all edges from a few vertices.
      const std::uint32_t sources = round % 2 == 0 ? shape.sources : shape.few_sources;
      const std::vector<EdgeKey> batch =
          random_batch(shape.batch, sources, shape.vertices, 10 + round);
      const UpdateResult inserted = graph.update(batch, {});
      EXPECT_EQ(inserted.inserted, reference.insert(batch));
      expect_equal(inserted.refused);

      std::vector<EdgeKey> old = every(reference.edges(), 3);
      old.insert(old.end(), batch.begin(), batch.begin() + shape.batch / 3);
      const UpdateResult deleted = graph.update({}, old);
      EXPECT_EQ(deleted.deleted, reference.remove(old));
      expect_equal(deleted.refused);

      // One kernel inserts and deletes edges of the same vertices; no edge is in both batches.
      const std::vector<EdgeKey> deletes = every(reference.edges(), 4);
      const std::vector<EdgeKey> inserts =
          without(random_batch(shape.batch, sources, shape.vertices, 30 + round), deletes);
      const UpdateResult mixed = graph.update(inserts, deletes);
      EXPECT_EQ(mixed.inserted, reference.insert(inserts));
      EXPECT_EQ(mixed.deleted, reference.remove(deletes));
      expect_equal(mixed.refused);
    }
    const std::vector<EdgeKey> all = reference.edges();
    EXPECT_EQ(graph.update({}, all).deleted, all.size());
    EXPECT_TRUE(graph.edges().empty());
    EXPECT_EQ(graph.memory().blocks, 0u);
  }
}

// Expects that each size class begins at a multiple of a warp's width and has its vertices once.
inline void expect_class_order(DeviceSteps& steps, const simt::DeviceId& device,
                               const HostGraph& graph, std::uint32_t width) {
  const std::uint32_t vertices = graph.vertices();
  const DeviceRows rows(device, graph);
  const simt::Buffer<std::uint32_t> order(device, ClassOrder::max_listed(vertices));
  ClassRanges ranges{};
  steps.order_by_class(rows.offsets.data(), vertices, order.data(), ranges);
  ASSERT_LE(ranges.listed, order.size());
  std::vector<int> seen(vertices);
  std::uint32_t previous = 0;
  const std::vector<std::uint32_t> list = order.download(0, ranges.listed);
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (list[i] == ClassOrder::no_vertex) continue;
    ASSERT_LT(list[i], vertices);
    ++seen[list[i]];
    const std::uint32_t k = class_of(static_cast<std::uint32_t>(graph.degree(list[i])));
    EXPECT_GE(k, previous);
    EXPECT_TRUE(k == previous || i % width == 0) << i;
    previous = k;
  }
  for (std::uint32_t v = 0; v < vertices; ++v) EXPECT_EQ(seen[v], graph.degree(v) > 0) << v;
}

// Graphs in blocks of every registered allocator that frees, on the device of
// tests/test_device.hpp. Allocators with few blocks of fixed size (toy) only serve tests of
// exhaustion.
class Graphs : public ::testing::Test {
 protected:
  std::unique_ptr<BlockGraph> block_graph(const registry::CompiledAllocator& compiled,
                                          std::size_t pool_bytes,
                                          BlockInit block_init = BlockInit::each) {
    memory_ = simt::Memory(device_, pool_bytes);
    const HeapJob job{device_, {memory_.data(), pool_bytes}, {}};
    return std::make_unique<BlockGraph>(job, compiled.adjacency_heap(job),
                                        device_steps(device_, 60), block_init);
  }

  template <class F>
  void each_allocator(F f, bool exhausts = false) {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      const registry::CompiledAllocator* compiled = entry.on(device_.kind);
      if (compiled == nullptr || entry.traits->frees != alloc::Frees::individually ||
          !entry.traits->keeps_live_memory)
        continue;
      if (std::string(entry.traits->id) == "toy" && !exhausts) continue;
      // The heap of a GPU is larger than a small pool.
      if (!entry.traits->in_pool && device_.kind == simt::DeviceKind::cuda && exhausts) continue;
      SCOPED_TRACE(entry.traits->id);
      f(*compiled);
    }
  }

  // Blocks of every allocator and linked pages, in pools that are soon full.
  template <class F>
  void each_small_pool(F f) {
    constexpr std::size_t bytes = 32 << 10;
    each_allocator(
        [&](const registry::CompiledAllocator& compiled) {
          f(*block_graph(compiled, std::max(bytes, compiled.traits->smallest_pool)));
        },
        true);
    memory_ = simt::Memory(device_, bytes);
    PageGraph pages(device_, device_steps(device_, 60), {memory_.data(), bytes});
    f(pages);
  }

  // Every layout: blocks of every allocator, linked pages, rows.
  template <class F>
  void each_store(std::size_t pool_bytes, F f) {
    each_allocator([&](const registry::CompiledAllocator& compiled) {
      f(*block_graph(compiled, pool_bytes));
    });
    each_baseline(pool_bytes, f);
  }
  template <class F>
  void each_baseline(std::size_t pool_bytes, F f) {
    {
      SCOPED_TRACE("pages");
      memory_ = simt::Memory(device_, pool_bytes);
      PageGraph pages(device_, device_steps(device_, 60), {memory_.data(), pool_bytes});
      f(pages);
    }
    SCOPED_TRACE("csr");
    CsrGraph csr(device_, device_steps(device_, 60));
    f(csr);
  }

  simt::DeviceId device_ = tests::test_device().id;
  simt::Memory memory_;
};

}  // namespace heapwood::workloads::graph
