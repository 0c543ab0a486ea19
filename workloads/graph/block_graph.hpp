// SPDX-License-Identifier: MIT
// The graph whose adjacencies are blocks of an allocator (vertex_table.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/store_base.hpp"

namespace heapwood::workloads::graph {

// How init() requests the blocks.
enum class BlockInit : std::uint8_t {
  each,     // in the order of the vertices
  counted,  // in the order of the size classes, after counting them (class_order.hpp)
};

class BlockGraph final : public StoreBase {
 public:
  // max_vertices: including those that insert_vertices() will append.
  BlockGraph(const HeapJob& job, std::unique_ptr<AdjacencyHeap> heap,
             std::unique_ptr<DeviceSteps> steps, std::uint32_t max_vertices,
             BlockInit block_init = BlockInit::each);
  // Frees the blocks of a heap outside the pool, which would otherwise keep them.
  ~BlockGraph() override;
  BlockGraph(const BlockGraph&) = delete;
  BlockGraph& operator=(const BlockGraph&) = delete;

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  UpdateResult insert_vertices(const DeviceRows& rows) override;
  UpdateResult delete_vertices(std::span<const std::uint32_t> vertices) override;
  GraphView view() const override { return BlocksView{vertices_.data(), count_}; }
  GraphMemory memory() override;

 private:
  void clear();
  UpdateResult append(const DeviceRows& rows, BlockInit block_init);

  HeapJob job_;
  std::unique_ptr<AdjacencyHeap> heap_;
  BlockInit block_init_;
  simt::Buffer<Vertex> vertices_;
  std::uint32_t count_ = 0;
  TotalsBuffer totals_;
  BatchBuffers inserts_, deletes_;
  simt::Buffer<std::uint32_t> order_;  // of BlockInit::counted
};

}  // namespace heapwood::workloads::graph
