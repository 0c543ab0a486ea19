// SPDX-License-Identifier: MIT
#include "workloads/graph/store.hpp"

#include <algorithm>

#include "alloc/statistics.hpp"
#include "simt/clock.hpp"

namespace heapwood::workloads::graph {

double BatchBuffers::prepare(DeviceSteps& steps, std::span<const EdgeKey> edges,
                             std::uint32_t vertices) {
  edges_ = static_cast<std::uint32_t>(edges.size());
  groups_ = 0;
  reserve(keys_, device_, edges.size());
  reserve(spare_, device_, edges.size());
  reserve(firsts_, device_, edges.size());
  reserve(work_, device_, edges.size());
  reserve(outcomes_, device_, edges.size());
  if (edges.empty()) return 0;
  keys_.upload(edges);
  EdgeKey *keys = keys_.data(), *spare = spare_.data();
  double ms = steps.sort(keys, spare, edges.size(), vertices);
  sorted_ = keys;
  ms += steps.group(sorted_, edges_, firsts_.data(), groups_);
  simt::device_fill(device_, outcomes_.data(), 0, groups_ * sizeof(GroupOutcome));
  return ms;
}

EdgeBatch BatchBuffers::batch() const {
  return {sorted_, firsts_.data(), work_.data(), outcomes_.data(), edges_, groups_};
}

void BatchBuffers::add_outcomes(UpdateResult& result, bool inserts) const {
  for (const GroupOutcome& outcome : outcomes_.download(0, groups_)) {
    const bool refused = (outcome.flags & GroupOutcome::refused) != 0;
    result.refused += refused;
    result.moved += (outcome.flags & GroupOutcome::moved) != 0;
    if (!inserts) {
      result.deleted += outcome.changed;
    } else {
      (refused ? result.refused_edges : result.inserted) += outcome.changed;
    }
  }
}

void TotalsBuffer::add_to(InitResult& result) const {
  for (const RefusalTotals& copy : copies_.download()) {
    result.refused += copy.requests;
    result.refused_edges += copy.edges;
  }
}

std::vector<EdgeKey> GraphStore::edges() {
  const GraphView layout = view();
  const simt::Buffer<std::uint64_t> offsets(device_, count_ + std::size_t{1});
  const std::uint64_t count = steps_->sum_degrees(layout, offsets.data());
  const simt::Buffer<EdgeKey> keys(device_, count);
  steps_->gather(layout, offsets.data(), keys.data());
  std::vector<EdgeKey> edges = keys.download();
  std::ranges::sort(edges);
  return edges;
}

std::uint64_t GraphStore::edge_hash() { return steps_->hash_edges(view()); }

PageRankResult GraphStore::page_rank(unsigned iterations, float damping) {
  const GraphView layout = view();
  PageRankResult result;
  const std::vector<float> start(count_, 1 / static_cast<float>(count_));
  simt::Buffer<float> ranks(device_, std::span<const float>(start)), next(device_, count_);
  for (unsigned i = 0; i < iterations; ++i) {
    result.iterations_ms.push_back(steps_->page_rank(layout, ranks.data(), next.data(), damping));
    std::swap(ranks, next);
  }
  result.ranks = ranks.download();
  return result;
}

TriangleResult GraphStore::triangles() {
  const GraphView layout = view();
  const simt::Buffer<std::uint64_t> offsets(device_, count_ + std::size_t{1});
  const std::uint64_t count = steps_->sum_degrees(layout, offsets.data());
  {
    const simt::Buffer<EdgeKey> keys(device_, count), spare(device_, count);
    EdgeKey *from = keys.data(), *other = spare.data();
    steps_->gather(layout, offsets.data(), from);
    steps_->sort(from, other, count, count_);
    steps_->scatter(layout, offsets.data(), from);
  }
  TriangleResult result;
  result.ms = steps_->triangles(layout, offsets.data(), result.triangles);
  return result;
}

BlockGraph::BlockGraph(const HeapJob& job, std::unique_ptr<AdjacencyHeap> heap,
                       std::unique_ptr<DeviceSteps> steps, BlockInit block_init)
    : GraphStore(job.device, std::move(steps)),
      job_(job),
      heap_(std::move(heap)),
      block_init_(block_init),
      totals_(job.device),
      inserts_(job.device),
      deletes_(job.device) {}

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
  if (!heap_->traits().in_pool)
    heap_->update({.vertices = vertices_.data(),
                   .inserts = {},
                   .deletes = {},
                   .locks = false,
                   .freed = count_});
  count_ = 0;
}

InitResult BlockGraph::init(const DeviceRows& rows) {
  clear();
  reserve(vertices_, device_, rows.vertices);
  vertices_.fill(0);
  InitResult result;
  result.reset_ms = heap_->reset();
  count_ = rows.vertices;
  AllocateArguments request{.vertices = vertices_.data(),
                            .offsets = rows.offsets.data(),
                            .totals = totals_.clear(),
                            .count = rows.vertices,
                            .order = nullptr,
                            .ranges = {}};
  if (block_init_ == BlockInit::counted) {
    reserve(order_, device_, ClassOrder::max_listed(rows.vertices));
    result.allocate_ms =
        steps_->order_by_class(request.offsets, rows.vertices, order_.data(), request.ranges);
    request.order = order_.data();
  }
  result.allocate_ms += heap_->allocate(request);
  result.write_ms = steps_->write(blocks_view(), rows.offsets.data(), rows.destinations.data());
  totals_.add_to(result);
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
                             .locks = !inserts.empty() && !deletes.empty()});
  inserts_.add_outcomes(result, true);
  deletes_.add_outcomes(result, false);
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

namespace {

constexpr std::size_t state_bytes = 256;
static_assert(sizeof(PageQueueState) <= state_bytes);
// A page, and its entry in the ring of free pages.
constexpr std::size_t bytes_per_page = sizeof(LinkedPage) + sizeof(std::uint32_t);
constexpr std::size_t max_pages = (1 << 28) - 1;  // limit of PageUpdateKernel

}  // namespace

PageGraph::PageGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps,
                     alloc::Pool pool)
    : GraphStore(device, std::move(steps)),
      pool_(pool),
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
  reserve(vertices_, device_, rows.vertices);
  InitResult result;
  result.reset_ms = simt::measure_ms([&] {
    simt::device_fill(device_, queue_.state, 0, state_bytes);
    simt::device_fill(device_, queue_.ring, 0xff, queue_.capacity * sizeof(std::uint32_t));
  });
  count_ = rows.vertices;
  result.allocate_ms = steps_->allocate_pages({.view = pages_view(), .queue = queue_},
                                              rows.offsets.data(), totals_.clear());
  result.write_ms =
      steps_->write_pages(pages_view(), rows.offsets.data(), rows.destinations.data());
  totals_.add_to(result);
  return result;
}

UpdateResult PageGraph::update(std::span<const EdgeKey> inserts, std::span<const EdgeKey> deletes) {
  UpdateResult result;
  result.prepare_ms = inserts_.prepare(*steps_, inserts, count_);
  result.prepare_ms += deletes_.prepare(*steps_, deletes, count_);
  result.ms = steps_->update_pages({.view = pages_view(),
                                    .queue = queue_,
                                    .inserts = inserts_.batch(),
                                    .deletes = deletes_.batch(),
                                    .locks = !inserts.empty() && !deletes.empty()});
  inserts_.add_outcomes(result, true);
  deletes_.add_outcomes(result, false);
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

CsrGraph::CsrGraph(const simt::DeviceId& device, std::unique_ptr<DeviceSteps> steps)
    : GraphStore(device, std::move(steps)), deletes_(device) {}

InitResult CsrGraph::init(const DeviceRows& given) {
  reserve(offsets_, device_, given.vertices + std::size_t{1});
  reserve(destinations_, device_, given.edges());
  count_ = given.vertices;
  edges_ = given.edges();
  InitResult result;
  result.write_ms =
      steps_->write_rows(rows(), given.offsets.data(), given.destinations.data(), edges_);
  return result;
}

double CsrGraph::rebuild(std::span<const EdgeKey> inserts, RowFilter filter) {
  const std::uint64_t count = edges_ + inserts.size();
  reserve(keys_, device_, count);
  reserve(spare_, device_, count);
  reserve(positions_, device_, count + 1);
  EdgeKey *keys = keys_.data(), *spare = spare_.data();
  double ms = steps_->gather(rows(), offsets_.data(), keys);
  // The rows may be overwritten: they are in the keys.
  if (destinations_.size() < count) reserve(destinations_, device_, count + count / 8);
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
  result.ms = rebuild(inserts, {nullptr, batch.keys, deletes.empty() ? 0 : batch.edges});
  result.inserted = edges_ + result.deleted - before;
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
