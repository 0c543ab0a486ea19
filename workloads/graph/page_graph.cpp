// SPDX-License-Identifier: MIT
#include "workloads/graph/store.hpp"

#include <algorithm>
#include <utility>

#include "simt/clock.hpp"

namespace heapwood::workloads::graph {

namespace {

constexpr std::size_t state_bytes = 256;
static_assert(sizeof(PageQueueState) <= state_bytes);
// A page, and its entry in the ring of free pages.
constexpr std::size_t bytes_per_page = sizeof(LinkedPage) + sizeof(std::uint32_t);
constexpr std::size_t max_pages = (1 << 28) - 1;  // limit of PageUpdateKernel

}  // namespace

PageGraph::PageGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps,
                     alloc::Pool pool, std::uint32_t max_vertices)
    : GraphStore(device, std::move(steps)),
      pool_(pool),
      vertices_(device, max_vertices),
      totals_(device),
      inserts_(device),
      deletes_(device) {
  if (pool.bytes < state_bytes + bytes_per_page)
    throw Error(Exit::usage, "pages: the pool of " + std::to_string(pool.bytes) +
                                 " bytes holds no page; use at least " +
                                 std::to_string(state_bytes + bytes_per_page));
  queue_.state = reinterpret_cast<PageQueueState*>(pool.base);
  queue_.capacity =
      static_cast<std::uint32_t>(std::min(max_pages, (pool.bytes - state_bytes) / bytes_per_page));
  pages_ = reinterpret_cast<LinkedPage*>(pool.base + state_bytes);
  queue_.ring = reinterpret_cast<std::uint32_t*>(pages_ + queue_.capacity);
}

InitResult PageGraph::init(const DeviceRows& rows) {
  const double reset_ms = simt::measure_ms([&] {
    simt::device_fill(device_, queue_.state, 0, state_bytes);
    simt::device_fill(device_, queue_.ring, 0xff, queue_.capacity * sizeof(std::uint32_t));
  });
  count_ = 0;
  return init_result(reset_ms, insert_vertices(rows));
}

UpdateResult PageGraph::insert_vertices(const DeviceRows& rows) {
  require_room(count_ + std::uint64_t{rows.vertices}, vertices_.size());
  const std::uint32_t first = std::exchange(count_, count_ + rows.vertices);
  UpdateResult result;
  result.ms = steps_->insert_page_rows(arguments(), rows.offsets.data(), rows.destinations.data(),
                                       first, rows.vertices, result.prepare_ms);
  add_counts(result, totals_.sum(), rows);
  return result;
}

UpdateResult PageGraph::update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) {
  UpdateResult result;
  result.prepare_ms = inserts_.prepare(*steps_, inserts, count_);
  result.prepare_ms += deletes_.prepare(*steps_, deletes, count_);
  PageArguments update = arguments();
  update.inserts = inserts_.batch();
  update.deletes = deletes_.batch();
  update.locks = !inserts.empty() && !deletes.empty();
  result.ms = steps_->update_pages(update);
  inserts_.add_outcomes(result, true);
  deletes_.add_outcomes(result, false);
  return result;
}

UpdateResult PageGraph::delete_vertices(std::span<const std::uint32_t> vertices) {
  const VertexBits deleted(device_, vertices, count_);
  PageArguments sweep = arguments();
  sweep.deleted = deleted.set();
  UpdateResult result;
  result.ms = steps_->delete_from_pages(sweep);
  result.deleted = totals_.sum().changed;
  return result;
}

GraphMemory PageGraph::memory() {
  GraphMemory memory;
  memory.table_bytes = std::uint64_t{count_} * sizeof(PagedVertex);
  for (const PagedVertex& vertex : vertices_.download(0, count_)) {
    memory.edges += vertex.degree;
    memory.blocks +=
        (vertex.degree + std::uint64_t{LinkedPage::capacity} - 1) / LinkedPage::capacity;
  }
  memory.payload_bytes = 4 * memory.edges;
  memory.block_bytes = memory.held_bytes = memory.blocks * sizeof(LinkedPage);
  memory.metadata_bytes = state_bytes + queue_.capacity * sizeof(std::uint32_t);
  PageQueueState state{};
  simt::device_download(device_, &state, queue_.state, sizeof(state));
  const std::uint64_t fresh = std::min<std::uint64_t>(state.fresh, queue_.capacity);
  memory.address_bytes = state_bytes + fresh * sizeof(LinkedPage);
  const std::uint64_t used = memory.held_bytes + memory.metadata_bytes;
  memory.free_bytes = pool_.bytes > used ? pool_.bytes - used : 0;
  memory.largest_free_bytes = (queue_.capacity - fresh) * sizeof(LinkedPage);
  memory.external = memory.free_bytes == 0 ? 0
                                           : 1 - static_cast<double>(memory.largest_free_bytes) /
                                                     static_cast<double>(memory.free_bytes);
  memory.measured = true;
  return memory;
}

}  // namespace heapwood::workloads::graph
