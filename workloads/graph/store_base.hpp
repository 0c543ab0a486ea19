// SPDX-License-Identifier: MIT
// The part of a GraphStore that layouts share: batches in device memory, and the algorithms.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/graph/device_steps.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::workloads::graph {

// Makes a buffer large enough, discarding its contents.
template <class T>
void reserve(simt::Buffer<T>& buffer, const simt::DeviceId& device, std::size_t count) {
  if (buffer.size() >= count) return;
  buffer = {};  // frees the old one first
  buffer = simt::Buffer<T>(device, count);
}

// A batch in device memory, sorted and grouped. Buffers grow and are used again.
class BatchBuffers {
 public:
  explicit BatchBuffers(const simt::DeviceId& device) : device_(device) {}

  // Uploads and sorts a batch. Returns the milliseconds of sorting and grouping.
  double prepare(DeviceSteps& steps, std::span<const EdgeKey> edges, std::uint32_t vertices);
  EdgeBatch batch() const;
  // Adds the outcomes of a launch: of insertions or of deletions.
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
  explicit TotalsBuffer(const simt::DeviceId& device) : copies_(device, UpdateTotals::copies) {}
  UpdateTotals* clear() {
    copies_.fill(0);
    return copies_.data();
  }
  UpdateTotals sum() const;

 private:
  simt::Buffer<UpdateTotals> copies_;
};

// A set of vertices in device memory.
class VertexBits {
 public:
  VertexBits(const simt::DeviceId& device, std::span<const std::uint32_t> vertices,
             std::uint32_t count);
  VertexSet set() const { return {words_.data()}; }

 private:
  simt::Buffer<std::uint32_t> words_;
};

class StoreBase : public GraphStore {
 public:
  StoreBase(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps)
      : device_(device), steps_(std::move(steps)) {}

  std::vector<EdgeKey> edges() override;
  std::uint64_t edge_hash() override;
  PageRankResult page_rank(unsigned iterations, float damping) override;
  TriangleResult triangles() override;
  SearchResult breadth_first(std::uint32_t source) override;

 protected:
  // The result of init() from that of inserting all vertices. Times in ms.
  static InitResult init_result(double reset_ms, const UpdateResult& inserted);
  // Completes the result of inserting the vertices of the rows by what the launches have counted.
  static void add_counts(UpdateResult& result, const UpdateTotals& seen, const DeviceRows& rows);

  simt::DeviceId device_;
  std::unique_ptr<DeviceSteps> steps_;

 private:
  std::uint32_t vertex_count() const;
};

}  // namespace heapwood::workloads::graph
