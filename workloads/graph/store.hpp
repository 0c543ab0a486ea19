// SPDX-License-Identifier: MIT
// The interface of a graph that changes, its three layouts, and what these share: batches in device
// memory, and the algorithms.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simt/memory.hpp"
#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/device_steps.hpp"
#include "workloads/graph/host_graph.hpp"
#include "workloads/graph/page_kernels.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

// A graph in device memory, from which all layouts are initialized.
struct DeviceRows {
  simt::Buffer<std::uint64_t> offsets;
  simt::Buffer<std::uint32_t> destinations;
  std::uint32_t vertices = 0;

  DeviceRows() = default;
  DeviceRows(const simt::DeviceId& device, const HostGraph& graph)
      : offsets(device, std::span<const std::uint64_t>(graph.offsets)),
        destinations(device, std::span<const std::uint32_t>(graph.destinations)),
        vertices(graph.vertices()) {}
  std::uint64_t edges() const { return destinations.size(); }
};

struct InitResult {
  double reset_ms = 0;                           // resetting the pool, by the host's clock
  double allocate_ms = 0;                        // requesting blocks, and counting classes
  double write_ms = 0;                           // writing the adjacencies
  std::uint64_t refused = 0, refused_edges = 0;  // vertices that got no block, and their edges
  double ms() const { return allocate_ms + write_ms; }
};

struct UpdateResult {
  double prepare_ms = 0;  // sorting and grouping the batch, not included in `ms`
  double ms = 0;
  std::uint64_t inserted = 0, deleted = 0;  // numbers of edges
  std::uint64_t moved = 0;                  // adjacencies copied to another block
  std::uint64_t refused = 0;                // requests that got nullptr
  std::uint64_t refused_edges = 0;          // edges that were not inserted for that reason
};

// The memory that a graph uses while no kernel runs.
struct GraphMemory {
  std::uint64_t edges = 0;
  std::uint64_t table_bytes = 0;    // the table of vertices
  std::uint64_t payload_bytes = 0;  // 4 bytes per edge
  std::uint64_t block_bytes = 0;    // requested bytes of the blocks, pages or rows in use
  std::uint64_t blocks = 0;
  // Bytes of the pool that are neither free nor the allocator's tables.
  std::uint64_t held_bytes = 0;
  std::uint64_t metadata_bytes = 0;  // the allocator's tables
  std::uint64_t address_bytes = 0;   // from the pool's base to the end of the highest block
  std::uint64_t free_bytes = 0, largest_free_bytes = 0;
  // 1 - largest free region / all free bytes, with adjacent free regions merged.
  double external = 0;
  std::uint64_t overlaps = 0;  // blocks that begin before another one ends
  // Whether the pool could be walked. If not, the bytes held, free and of metadata, the largest
  // free region and `external` have no meaning.
  bool measured = false;
};

struct PageRankResult {
  std::vector<double> iterations_ms;
  std::vector<float> ranks;
};
struct TriangleResult {
  double ms = 0;
  std::uint64_t triangles = 0;
};
// Makes a buffer large enough, discarding its contents.
template <class T>
void reserve(simt::Buffer<T>& buffer, const simt::DeviceId& device, std::size_t count) {
  if (buffer.size() >= count) return;
  buffer = {};  // frees the old buffer before the new one is allocated
  buffer = simt::Buffer<T>(device, count);
}

// A batch in device memory, sorted and grouped. Buffers grow as needed and are reused.
class BatchBuffers {
 public:
  explicit BatchBuffers(const simt::DeviceId& device) : device_(device) {}

  // Uploads and sorts a batch. Returns the milliseconds of sorting and grouping.
  double prepare(DeviceSteps& steps, std::span<const EdgeKey> edges, std::uint32_t vertices);
  EdgeBatch batch() const;
  // Adds the outcomes of a launch that inserted or deleted edges.
  void add_outcomes(UpdateResult& result, bool inserts) const;

 private:
  simt::DeviceId device_;
  simt::Buffer<EdgeKey> keys_, spare_;
  simt::Buffer<std::uint32_t> firsts_, work_;
  simt::Buffer<GroupOutcome> outcomes_;
  const EdgeKey* sorted_ = nullptr;
  std::uint32_t edges_ = 0, groups_ = 0;
};

class TotalsBuffer {
 public:
  explicit TotalsBuffer(const simt::DeviceId& device) : copies_(device, RefusalTotals::copies) {}
  RefusalTotals* clear() {
    copies_.fill(0);
    return copies_.data();
  }
  void add_to(InitResult& result) const;

 private:
  simt::Buffer<RefusalTotals> copies_;
};

class GraphStore {
 public:
  GraphStore(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps)
      : device_(device), steps_(std::move(steps)) {}
  virtual ~GraphStore() = default;
  // Replaces the present graph by these rows.
  virtual InitResult init(const DeviceRows& rows) = 0;
  // Removes and inserts edges, both given in any order. No edge may be in both lists. Ignores
  // repeated edges, loops, edges to insert that exist and edges to delete that do not.
  virtual UpdateResult update(std::span<const EdgeKey> inserts,
                              std::span<const EdgeKey> deletes) = 0;

  virtual GraphView view() const = 0;
  virtual GraphMemory memory() = 0;
  // Returns the edges in order.
  std::vector<EdgeKey> edges();
  // Returns a hash of the set of edges: equal sets have equal hashes.
  std::uint64_t edge_hash();

  PageRankResult page_rank(unsigned iterations, float damping);
  TriangleResult triangles();  // first sorts the adjacencies, which is not timed

 protected:
  simt::DeviceId device_;
  std::unique_ptr<DeviceSteps> steps_;
  std::uint32_t count_ = 0;  // number of vertices
};

// How init() requests the blocks.
enum class BlockInit : std::uint8_t {
  each,     // vertex by vertex
  counted,  // ordered by size class, after counting the classes (class_order.hpp)
};

// The layout whose adjacencies are blocks of an allocator (vertex_table.hpp).
class BlockGraph final : public GraphStore {
 public:
  BlockGraph(const HeapJob& job, std::unique_ptr<AdjacencyHeap> heap,
             std::unique_ptr<DeviceSteps> steps, BlockInit block_init = BlockInit::each);
  // Frees the blocks if they lie in a heap outside the pool, which would otherwise keep them.
  ~BlockGraph() override;
  BlockGraph(BlockGraph&&) = delete;

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  GraphView view() const override { return blocks_view(); }
  GraphMemory memory() override;

 private:
  BlocksView blocks_view() const { return {vertices_.data(), count_}; }
  void clear();

  HeapJob job_;
  std::unique_ptr<AdjacencyHeap> heap_;
  BlockInit block_init_;
  simt::Buffer<Vertex> vertices_;
  TotalsBuffer totals_;
  BatchBuffers inserts_, deletes_;
  simt::Buffer<std::uint32_t> order_;  // used by BlockInit::counted
};

// The baseline of linked pages, faimGraph's layout: pages of 64 bytes with 15 destinations and the
// number of the next page, from a queue of free pages (page_queue.hpp). The last page of a vertex
// may be partly empty.
class PageGraph final : public GraphStore {
 public:
  // The pool holds pages, ring and counters. Throws Error{Exit::usage} if it holds no page.
  PageGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps, alloc::Pool pool);

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  GraphView view() const override { return pages_view(); }
  GraphMemory memory() override;

 private:
  PagesView pages_view() const { return {vertices_.data(), pages_, count_}; }

  alloc::Pool pool_;
  PageQueue queue_{};
  LinkedPage* pages_ = nullptr;
  simt::Buffer<PagedVertex> vertices_;
  TotalsBuffer totals_;
  BatchBuffers inserts_, deletes_;
};

// The baseline without an allocator: sparse rows (CSR) that every update rebuilds, by sorting all
// edges together with the new ones, and a prefix sum. Its memory comes from the device's host
// interface: the rows and, during an update, two copies of all edges' keys, and their positions.
class CsrGraph final : public GraphStore {
 public:
  CsrGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps);

  InitResult init(const DeviceRows& rows) override;
  UpdateResult update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) override;
  GraphView view() const override { return rows(); }
  GraphMemory memory() override;

 private:
  CsrView rows() const { return {offsets_.data(), destinations_.data(), count_}; }
  // Replaces the rows by those edges of them and of `inserts`, in any order, that pass the filter.
  double rebuild(std::span<const EdgeKey> inserts, RowFilter filter);

  simt::Buffer<std::uint64_t> offsets_;
  simt::Buffer<std::uint32_t> destinations_;
  std::uint64_t edges_ = 0;
  simt::Buffer<EdgeKey> keys_, spare_;
  simt::Buffer<std::uint64_t> positions_;
  BatchBuffers deletes_;
};

}  // namespace heapwood::workloads::graph
