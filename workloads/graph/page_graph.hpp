// SPDX-License-Identifier: MIT
// The baseline of linked pages, faimGraph's layout: pages of 64 bytes with 15 destinations and the
// number of the next page, from a queue of free pages (page_queue.hpp). The last page of a vertex
// may be partly empty. New vertices take pages that have never been used.
#pragma once

#include "workloads/graph/page_kernels.hpp"
#include "workloads/graph/store_base.hpp"

namespace heapwood::workloads::graph {

class PageGraph final : public StoreBase {
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

}  // namespace heapwood::workloads::graph
