// SPDX-License-Identifier: MIT
#include "workloads/graph/store.hpp"

#include <algorithm>
#include <utility>

#include "alloc/statistics.hpp"

namespace heapwood::workloads::graph {

BlockGraph::BlockGraph(const HeapJob& job, std::unique_ptr<AdjacencyHeap> heap,
                       std::unique_ptr<DeviceSteps> steps, std::uint32_t max_vertices,
                       BlockInit block_init)
    : GraphStore(job.device, std::move(steps)),
      job_(job),
      heap_(std::move(heap)),
      block_init_(block_init),
      vertices_(job.device, max_vertices),
      totals_(job.device),
      inserts_(job.device),
      deletes_(job.device) {
  vertices_.fill(0);
}

BlockGraph::~BlockGraph() {
  try {
    clear();
  } catch (const std::exception&) {
    // The error that ended the work has been reported already; here the blocks are lost.
  }
}

// Blocks in a pool are discarded with it; those of a heap outside it are freed here.
void BlockGraph::clear() {
  if (count_ == 0) return;
  if (!heap_->traits().in_pool) {
    simt::Buffer<std::uint32_t> all(device_, count_ / 32 + std::size_t{1});
    all.fill(0xff);
    heap_->update({.vertices = vertices_.data(),
                   .inserts = {},
                   .deletes = {},
                   .locks = false,
                   .deleted = {all.data()},
                   .totals = totals_.clear(),
                   .vertex_count = count_});
  }
  count_ = 0;
}

InitResult BlockGraph::init(const DeviceRows& rows) {
  clear();
  vertices_.fill(0);
  const double reset_ms = heap_->reset();
  return init_result(reset_ms, append(rows, block_init_));
}

UpdateResult BlockGraph::insert_vertices(const DeviceRows& rows) {
  return append(rows, BlockInit::each);
}

UpdateResult BlockGraph::append(const DeviceRows& rows, BlockInit block_init) {
  require_room(count_ + std::uint64_t{rows.vertices}, vertices_.size());
  const std::uint32_t first = std::exchange(count_, count_ + rows.vertices);
  UpdateResult result;
  AllocateArguments request{.vertices = vertices_.data(),
                            .offsets = rows.offsets.data(),
                            .totals = totals_.clear(),
                            .first = first,
                            .count = rows.vertices,
                            .order = nullptr,
                            .ranges = {}};
  if (block_init == BlockInit::counted) {
    reserve(order_, device_, ClassOrder::max_listed(rows.vertices));
    result.prepare_ms =
        steps_->order_by_class(request.offsets, rows.vertices, order_.data(), request.ranges);
    request.order = order_.data();
  }
  result.prepare_ms += heap_->allocate(request);
  result.ms = result.prepare_ms + steps_->write(vertices_.data(), first, rows.vertices,
                                                rows.offsets.data(), rows.destinations.data());
  add_counts(result, totals_.sum(), rows);
  return result;
}

UpdateResult BlockGraph::update(std::span<const EdgeKey> inserts,
                                std::span<const EdgeKey> deletes) {
  UpdateResult result;
  result.prepare_ms = inserts_.prepare(*steps_, inserts, count_);
  result.prepare_ms += deletes_.prepare(*steps_, deletes, count_);
  result.ms = heap_->update({.vertices = vertices_.data(),
                             .inserts = inserts_.batch(),
                             .deletes = deletes_.batch(),
                             .locks = !inserts.empty() && !deletes.empty(),
                             .deleted = {nullptr},
                             .totals = nullptr,
                             .vertex_count = count_});
  inserts_.add_outcomes(result, true);
  deletes_.add_outcomes(result, false);
  return result;
}

UpdateResult BlockGraph::delete_vertices(std::span<const std::uint32_t> vertices) {
  const VertexBits deleted(device_, vertices, count_);
  UpdateResult result;
  result.ms = heap_->update({.vertices = vertices_.data(),
                             .inserts = {},
                             .deletes = {},
                             .locks = false,
                             .deleted = deleted.set(),
                             .totals = totals_.clear(),
                             .vertex_count = count_});
  const UpdateTotals seen = totals_.sum();
  result.deleted = seen.changed;
  result.moved = seen.moved;
  result.refused = seen.refused;
  return result;
}

GraphMemory BlockGraph::memory() {
  GraphMemory memory;
  memory.table_bytes = std::uint64_t{count_} * sizeof(Vertex);
  const bool in_pool = heap_->traits().in_pool;
  const auto base = reinterpret_cast<std::uintptr_t>(in_pool ? job_.pool.base : nullptr);
  std::vector<alloc::LiveBlock> live;
  for (const Vertex& vertex : vertices_.download(0, count_)) {
    memory.edges += vertex.degree;
    if (vertex.adjacency == nullptr) continue;
    const std::uint64_t bytes = block_bytes(vertex.capacity_class());
    memory.block_bytes += bytes;
    live.push_back({reinterpret_cast<std::uintptr_t>(vertex.adjacency) - base, bytes});
  }
  memory.blocks = live.size();
  memory.payload_bytes = 4 * memory.edges;
  std::ranges::sort(live, {}, &alloc::LiveBlock::offset);
  memory.overlaps = alloc::count_overlaps(live);
  if (!in_pool) return memory;
  if (!live.empty()) memory.address_bytes = live.back().offset + live.back().bytes;
  const std::vector<alloc::Region> regions = heap_->regions();
  if (regions.empty()) return memory;
  const alloc::Fragmentation f = alloc::fragmentation_of_blocks(regions, live);
  memory.measured = f.measured;
  memory.metadata_bytes = f.metadata_bytes;
  memory.free_bytes = f.free_bytes;
  memory.largest_free_bytes = f.largest_free_bytes;
  memory.external = f.external_merged;
  memory.held_bytes = job_.pool.bytes - f.free_bytes - f.metadata_bytes;
  return memory;
}

}  // namespace heapwood::workloads::graph
