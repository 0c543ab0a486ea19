// SPDX-License-Identifier: MIT
// The baseline without an allocator: sparse rows that every update rebuilds, by sorting the edges
// of the graph with the new ones, and a scan. Its memory comes from the device's host interface:
// the rows, and while they are rebuilt the keys of all edges twice and their positions.
#pragma once

#include "workloads/graph/store_base.hpp"

namespace heapwood::workloads::graph {

class CsrGraph final : public StoreBase {
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
