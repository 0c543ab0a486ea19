// SPDX-License-Identifier: MIT
#include "viewer/graph_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "bench/graph_updates.hpp"
#include "bench/results/format.hpp"
#include "workloads/graph/device_steps.hpp"
#include "workloads/graph/layouts.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::viewer {

namespace {

using namespace workloads::graph;
using alloc::RecordedEvent;

// Each event takes 16 bytes on the host, and each block a record of its lifetime.
constexpr std::size_t max_graph_events = std::size_t{24} << 20;

// The blocks of all vertices at one time, and the events between two such times.
class Blocks {
 public:
  Blocks(const simt::DeviceId& device, const std::byte* pool) : device_(device), pool_(pool) {}

  std::vector<RecordedEvent> take_changes(const GraphStore& store) {
    const BlocksView view = std::get<BlocksView>(store.view());
    std::vector<Vertex> now(view.count);
    simt::device_download(device_, now.data(), view.vertices, now.size() * sizeof(Vertex));
    before_.resize(now.size());
    std::vector<RecordedEvent> frees, allocations;
    for (std::size_t v = 0; v < now.size(); ++v) {
      const Vertex &old = before_[v], &young = now[v];
      const bool same = old.adjacency == young.adjacency &&
                        (!old.adjacency || old.capacity_class() == young.capacity_class());
      if (same) continue;
      if (old.adjacency) frees.push_back(event(RecordedEvent::Kind::free, old, v));
      if (young.adjacency) allocations.push_back(event(RecordedEvent::Kind::allocate, young, v));
    }
    before_ = std::move(now);
    frees.insert(frees.end(), allocations.begin(), allocations.end());
    return frees;
  }

 private:
  RecordedEvent event(RecordedEvent::Kind kind, const Vertex& vertex, std::size_t number) const {
    const auto offset =
        static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(vertex.adjacency) - pool_);
    return RecordedEvent::make(
        kind, 0, static_cast<unsigned>(number), offset / alloc::granule,
        kind == RecordedEvent::Kind::free ? 0 : block_bytes(vertex.capacity_class()));
  }

  simt::DeviceId device_;
  const std::byte* pool_;
  std::vector<Vertex> before_;
};

}  // namespace

const char* cannot_update_graphs(const alloc::AllocatorTraits& traits) {
  if (!traits.in_pool) return "has its blocks outside the pool";
  if (!traits.keeps_live_memory) return "may hand out memory in use";
  if (traits.frees != alloc::Frees::individually) return "cannot free single blocks";
  return nullptr;
}

GraphRecorder::GraphRecorder(const GraphSettings& settings, const bench::PoolSize& pool,
                             const simt::DeviceInfo& device, double seconds)
    : settings_(settings), device_(device), seconds_(seconds) {
  GraphSource source = load_graph(settings.graph);
  graph_ = std::move(source.graph);
  name_ = source.name;
  if (graph_.vertices() < 2)
    throw Error(Exit::scene, settings.graph + ": too small: needs at least two vertices");
  pool_bytes_ = bench::pool_bytes(pool, graph_, static_cast<std::uint64_t>(settings.batch));
}

GraphRecording GraphRecorder::record(const registry::RegisteredAllocator& entry,
                                     const std::function<void(unsigned)>& progress) const {
  const alloc::AllocatorTraits& traits = *entry.traits;
  if (const char* reason = cannot_update_graphs(traits))
    throw Error(Exit::usage, fmt::format("{}: {}; choose another allocator", traits.label, reason));
  if (pool_bytes_ < traits.smallest_pool)
    throw Error(Exit::usage, fmt::format("{}: needs a pool of at least {}", traits.label,
                                         bench::bytes_text(traits.smallest_pool)));
  const simt::Memory pool(device_.id, pool_bytes_);
  HeapJob job;
  job.device = device_.id;
  job.pool = {pool.data(), pool.bytes()};
  job.seconds = seconds_;
  job.options = entry.options;
  BlockGraph store(job, bench::compiled_for(entry, device_).adjacency_heap(job),
                   device_steps(job.device, job.seconds), graph_.vertices());

  auto recording = std::make_shared<Recording>(name_, entry, device_.key, pool_bytes_);
  GraphRecording result;
  Blocks blocks(device_.id, pool.data());
  const auto end_round = [&](unsigned done) {
    const std::vector<RecordedEvent> events = blocks.take_changes(store);
    if (recording->events + events.size() > max_graph_events)
      throw Error(Exit::usage, name_ +
                                   ": too large for a heap map; use fewer rounds or a smaller "
                                   "graph");
    recording->add_round(events);
    progress(done);
  };
  result.refused = store.init(DeviceRows(device_.id, graph_)).refused;
  end_round(0);
  bench::GraphSettings draws;
  draws.updates = settings_.pressure ? UpdatePattern::pressure : UpdatePattern::random;
  const auto batch = static_cast<std::uint32_t>(settings_.batch);
  std::vector<EdgeKey> old = bench::existing_edges(graph_, batch, draws.seed);
  for (unsigned round = 0; round < static_cast<unsigned>(settings_.rounds); ++round) {
    std::vector<EdgeKey> edges = bench::update_batch(draws, graph_.vertices(), batch, round);
    bench::remove_common(edges, old);
    result.refused += store.update(edges, old).refused;
    old = std::move(edges);
    end_round(round + 1);
  }
  result.edge_hash = store.edge_hash();
  recording->finish_rounds(result.refused);
  result.recording = std::move(recording);
  return result;
}

}  // namespace heapwood::viewer
