// SPDX-License-Identifier: MIT
// The layouts of a graph that changes (store.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/page_kernels.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::workloads::graph {

// How init() requests the blocks.
enum class BlockInit : std::uint8_t {
  each,     // in the order of the vertices
  counted,  // in the order of the size classes, after counting them (class_order.hpp)
};

// Adjacencies are blocks of an allocator (vertex_table.hpp).
class BlockGraph final : public GraphStore {
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

// The baseline of linked pages, faimGraph's layout: pages of 64 bytes with 15 destinations and the
// number of the next page, from a queue of free pages (page_queue.hpp). The last page of a vertex
// may be partly empty. New vertices take pages that have never been used.
class PageGraph final : public GraphStore {
 public:
  // pool: for pages, ring and counters. Throws Error{Exit::usage} if it holds no page.
  PageGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps, alloc::Pool pool,
            std::uint32_t max_vertices);

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  UpdateResult insert_vertices(const DeviceRows& rows) override;
  UpdateResult delete_vertices(std::span<const std::uint32_t> vertices) override;
  GraphView view() const override { return pages_view(); }
  GraphMemory memory() override;

 private:
  PagesView pages_view() const { return {vertices_.data(), pages_, count_}; }
  PageArguments arguments() {
    return {pages_view(), queue_, {}, {}, false, {nullptr}, totals_.clear()};
  }

  alloc::Pool pool_;
  PageQueue queue_{};
  LinkedPage* pages_ = nullptr;
  simt::Buffer<PagedVertex> vertices_;
  std::uint32_t count_ = 0;
  TotalsBuffer totals_;
  BatchBuffers inserts_, deletes_;
};

// The baseline without an allocator: sparse rows that every update rebuilds, by sorting the edges
// of the graph with the new ones, and a scan. Its memory comes from the device's host interface:
// the rows, and while they are rebuilt the keys of all edges twice and their positions.
class CsrGraph final : public GraphStore {
 public:
  CsrGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps,
           std::uint32_t max_vertices);

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  UpdateResult insert_vertices(const DeviceRows& rows) override;
  UpdateResult delete_vertices(std::span<const std::uint32_t> vertices) override;
  GraphView view() const override { return rows(); }
  GraphMemory memory() override;

 private:
  CsrView rows() const { return {offsets_.data(), destinations_.data(), count_}; }
  // Replaces the rows by those edges of the rows and of `inserts`, in any order, that pass the
  // filter.
  double rebuild(std::span<const EdgeKey> inserts, RowFilter filter);

  simt::Buffer<std::uint64_t> offsets_;
  simt::Buffer<std::uint32_t> destinations_;
  std::uint32_t count_ = 0;
  std::uint64_t edges_ = 0;
  simt::Buffer<EdgeKey> keys_, spare_;
  simt::Buffer<std::uint64_t> positions_;
  BatchBuffers deletes_;
};

}  // namespace heapwood::workloads::graph
