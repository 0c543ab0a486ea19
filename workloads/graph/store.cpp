// SPDX-License-Identifier: MIT
#include "workloads/graph/store.hpp"

#include <algorithm>

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

UpdateTotals TotalsBuffer::sum() const {
  UpdateTotals sum{};
  for (const UpdateTotals& copy : copies_.download()) {
    sum.changed += copy.changed;
    sum.moved += copy.moved;
    sum.refused += copy.refused;
  }
  return sum;
}

VertexBits::VertexBits(const simt::DeviceId& device, std::span<const std::uint32_t> vertices,
                       std::uint32_t count) {
  std::vector<std::uint32_t> words(count / 32 + 1);
  for (const std::uint32_t v : vertices) words[v / 32] |= 1u << (v % 32);
  words_ = simt::Buffer<std::uint32_t>(device, std::span<const std::uint32_t>(words));
}

std::uint32_t GraphStore::vertex_count() const {
  return std::visit([](const auto& layout) { return layout.count; }, view());
}

std::vector<EdgeKey> GraphStore::edges() {
  const GraphView layout = view();
  const simt::Buffer<std::uint64_t> offsets(device_, vertex_count() + std::size_t{1});
  const std::uint64_t count = steps_->sum_degrees(layout, offsets.data());
  const simt::Buffer<EdgeKey> keys(device_, count);
  steps_->gather(layout, offsets.data(), keys.data());
  std::vector<EdgeKey> edges = keys.download();
  std::sort(edges.begin(), edges.end());
  return edges;
}

std::uint64_t GraphStore::edge_hash() { return steps_->hash_edges(view()); }

PageRankResult GraphStore::page_rank(unsigned iterations, float damping) {
  const GraphView layout = view();
  const std::uint32_t n = vertex_count();
  PageRankResult result;
  const std::vector<float> start(n, 1 / static_cast<float>(n));
  simt::Buffer<float> ranks(device_, std::span<const float>(start)), next(device_, n);
  for (unsigned i = 0; i < iterations; ++i) {
    result.iterations_ms.push_back(steps_->page_rank(layout, ranks.data(), next.data(), damping));
    std::swap(ranks, next);
  }
  result.ranks = ranks.download();
  return result;
}

TriangleResult GraphStore::triangles() {
  const GraphView layout = view();
  const std::uint32_t n = vertex_count();
  const simt::Buffer<std::uint64_t> offsets(device_, n + std::size_t{1});
  const std::uint64_t count = steps_->sum_degrees(layout, offsets.data());
  {
    const simt::Buffer<EdgeKey> keys(device_, count), spare(device_, count);
    EdgeKey *from = keys.data(), *other = spare.data();
    steps_->gather(layout, offsets.data(), from);
    steps_->sort(from, other, count, n);
    steps_->scatter(layout, offsets.data(), from);
  }
  TriangleResult result;
  result.ms = steps_->triangles(layout, offsets.data(), result.triangles);
  return result;
}

SearchResult GraphStore::breadth_first(std::uint32_t source) {
  const std::uint32_t n = vertex_count();
  const simt::Buffer<std::uint32_t> distances(device_, n), queue(device_, 2 * std::size_t{n});
  SearchResult result;
  result.ms = steps_->breadth_first(view(), source, distances.data(), queue.data(), result.levels);
  result.distances = distances.download();
  return result;
}

InitResult GraphStore::init_result(double reset_ms, const UpdateResult& inserted) {
  InitResult result;
  result.reset_ms = reset_ms;
  result.allocate_ms = inserted.prepare_ms;
  result.write_ms = inserted.ms - inserted.prepare_ms;
  result.refused = inserted.refused;
  result.refused_edges = inserted.refused_edges;
  return result;
}

void GraphStore::add_counts(UpdateResult& result, const UpdateTotals& seen,
                            const DeviceRows& rows) {
  result.refused = seen.refused;
  result.refused_edges = seen.changed;
  result.inserted = rows.edges() - seen.changed;
}

}  // namespace heapwood::workloads::graph
