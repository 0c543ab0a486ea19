// SPDX-License-Identifier: MIT
#include "workloads/graph/store.hpp"

#include <utility>

namespace heapwood::workloads::graph {

CsrGraph::CsrGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps,
                   std::uint32_t max_vertices)
    : GraphStore(device, std::move(steps)),
      offsets_(device, max_vertices + std::size_t{1}),
      deletes_(device) {
  offsets_.fill(0);
}

InitResult CsrGraph::init(const DeviceRows& rows) {
  count_ = 0;
  edges_ = 0;
  offsets_.fill(0);
  InitResult result;
  result.write_ms = insert_vertices(rows).ms;
  return result;
}

UpdateResult CsrGraph::insert_vertices(const DeviceRows& more) {
  require_room(count_ + std::uint64_t{more.vertices} + 1, offsets_.size());
  UpdateResult result;
  if (destinations_.size() < edges_ + more.edges()) {
    simt::Buffer<std::uint32_t> larger(device_, edges_ + more.edges() + edges_ / 8);
    result.ms = steps_->copy(larger.data(), destinations_.data(), edges_);
    destinations_ = std::move(larger);
  }
  result.ms += steps_->append_rows(rows(), edges_, more.offsets.data(), more.destinations.data(),
                                   more.vertices, more.edges());
  count_ += more.vertices;
  edges_ += more.edges();
  result.inserted = more.edges();
  return result;
}

double CsrGraph::rebuild(std::span<const EdgeKey> inserts, RowFilter filter) {
  const std::uint64_t count = edges_ + inserts.size();
  reserve(keys_, device_, count);
  reserve(spare_, device_, count);
  reserve(positions_, device_, count + 1);
  if (destinations_.size() < count) {
    // The present rows may be overwritten: they are in the keys by the time new ones are written.
    simt::Buffer<std::uint32_t> larger(device_, count + count / 8);
    steps_->copy(larger.data(), destinations_.data(), edges_);
    destinations_ = std::move(larger);
  }
  EdgeKey *keys = keys_.data(), *spare = spare_.data();
  double ms = steps_->gather(rows(), offsets_.data(), keys);
  if (!inserts.empty()) {
    simt::device_upload(device_, keys + edges_, inserts.data(), inserts.size_bytes());
    ms += steps_->sort(keys, spare, count, count_);
  }
  filter.keys = keys;
  return ms + steps_->rebuild(filter, count, positions_.data(), rows(), edges_);
}

UpdateResult CsrGraph::update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) {
  UpdateResult result;
  result.prepare_ms = deletes_.prepare(*steps_, deletes, count_);
  const std::uint64_t before = edges_;
  const EdgeBatch batch = deletes_.batch();
  // No edge is in both batches, so one rebuild handles insertions and deletions.
  if (!deletes.empty()) result.deleted = steps_->count_present(rows(), batch.keys, batch.edges);
  result.ms = rebuild(inserts, {nullptr, batch.keys, deletes.empty() ? 0 : batch.edges, {nullptr}});
  result.inserted = edges_ + result.deleted - before;
  return result;
}

UpdateResult CsrGraph::delete_vertices(std::span<const std::uint32_t> vertices) {
  const VertexBits deleted(device_, vertices, count_);
  const std::uint64_t before = edges_;
  UpdateResult result;
  result.ms = rebuild({}, {nullptr, nullptr, 0, deleted.set()});
  result.deleted = before - edges_;
  return result;
}

GraphMemory CsrGraph::memory() {
  GraphMemory memory;
  memory.edges = edges_;
  memory.table_bytes = (count_ + std::uint64_t{1}) * sizeof(std::uint64_t);
  memory.payload_bytes = memory.block_bytes = 4 * edges_;
  memory.blocks = edges_ > 0 ? 1 : 0;
  memory.held_bytes = memory.address_bytes = destinations_.bytes();
  memory.metadata_bytes = keys_.bytes() + spare_.bytes() + positions_.bytes();
  memory.measured = true;
  return memory;
}

}  // namespace heapwood::workloads::graph
