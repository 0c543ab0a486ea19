// SPDX-License-Identifier: MIT
#include "viewer/trace_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <variant>

#include "alloc/recording/trace_file.hpp"
#include "bench/graph_updates.hpp"
#include "bench/program/input_file.hpp"
#include "bench/record_trace.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/stress.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/device_steps.hpp"
#include "workloads/graph/layouts.hpp"
#include "workloads/graph/source.hpp"
#include "workloads/program_trace/replay.hpp"
#include "workloads/program_trace/trace_summary.hpp"

namespace heapwood::viewer {

namespace {

using alloc::RecordedEvent;
using alloc::TraceEvent;

// Each event takes 16 bytes on the host, and each block a record of its lifetime.
constexpr std::size_t max_trace_events = std::size_t{24} << 20;

const char* outside_pool(const alloc::AllocatorTraits& traits) {
  return traits.in_pool ? nullptr : "has its blocks outside the pool";
}

// Throws Error{Exit::usage} for a reason, and if the pool is too small for the allocator.
void check_fits(const alloc::AllocatorTraits& traits, const char* reason, std::uint64_t pool) {
  if (reason)
    throw Error(Exit::usage, fmt::format("{}: {}; choose another allocator", traits.label, reason));
  if (pool < traits.smallest_pool)
    throw Error(Exit::usage, fmt::format("{}: needs a pool of at least {}", traits.label,
                                         bench::bytes_text(traits.smallest_pool)));
}

std::string warning_of(const alloc::ProgramTrace& trace) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", bench::count_text(count), what);
  };
  add(trace.dropped, "events at the end were not recorded");
  add(trace.unmatched, "frees of blocks from before the recording are left out");
  add(trace.refused, "refused requests are left out");
  return text;
}

alloc::ProgramTrace read_trace(const std::string& path) {
  const std::optional<std::string> file = bench::read_text(path, Exit::scene);
  if (!file) throw Error(Exit::scene, path + ": no such file; --record-trace writes traces");
  alloc::ProgramTrace trace = alloc::read_program_trace(*file, path);
  if (trace.requests == 0) throw Error(Exit::scene, path + ": the trace has no requests");
  if (trace.events.size() > max_trace_events)
    throw Error(Exit::scene, fmt::format("{}: {} events are too many for a heap map (at most {})",
                                         path, bench::count_text(trace.events.size()),
                                         bench::count_text(max_trace_events)));
  return trace;
}

constexpr StressChoice stress_tests[] = {
    {"any order", "Each thread frees its blocks in any order: lifetimes --order random",
     workloads::Lifetimes::random, 2048},
    {"last in, first out", "Each thread frees its latest block first: lifetimes --order lifo",
     workloads::Lifetimes::lifo, 2048},
    {"one of 256 stays",
     "One block of 256 is never freed and pins the memory around it: lifetimes --order immortal",
     workloads::Lifetimes::immortal, 2048},
    {"small blocks", "In any order, at most 128 bytes: lifetimes --order random --payload 128",
     workloads::Lifetimes::random, 128}};

}  // namespace

std::span<const StressChoice> stress_choices() { return stress_tests; }

alloc::ProgramTrace record_stress(const StressChoice& choice, const simt::DeviceInfo& device,
                                  double seconds) {
  bench::StressBench bench;
  bench.device = device;
  bench.settings.test = workloads::StressTest::lifetimes;
  bench.settings.order = choice.order;
  bench.settings.lanes = 32;
  bench.settings.seconds = seconds;
  bench::StressLists lists;
  lists.payload = std::to_string(choice.max_bytes);
  lists.requests = "1000";
  lists.iterations = "4";  // launches: more events would show more of the same
  bench.points = bench::stress_points(lists, bench.settings.test, device);
  return bench::record_stress(bench);
}

bool is_program_trace(const std::string& path) {
  if (path.ends_with(".trace")) return true;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string magic(alloc::trace_file::magic.size(), 0);
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return file && magic == alloc::trace_file::magic;
}

TraceRecorder::TraceRecorder(const std::string& path, const bench::PoolSize& pool,
                             const Allocators& allocators, const simt::DeviceInfo& device,
                             double seconds)
    : TraceRecorder(std::filesystem::path(path).stem().string(), read_trace(path), pool, allocators,
                    device, seconds) {}

TraceRecorder::TraceRecorder(std::string name, alloc::ProgramTrace trace,
                             const bench::PoolSize& pool, const Allocators& allocators,
                             const simt::DeviceInfo& device, double seconds)
    : name_(std::move(name)), device_(device), seconds_(seconds), trace_(std::move(trace)) {
  warning_ = warning_of(trace_);
  bench::ReplayBench bench;
  bench.summary = workloads::summarize(trace_);
  bench.allocators = allocators;
  bench.device = device;
  pool_bytes_ = bench::pool_bytes(bench, pool);
}

std::shared_ptr<const Recording> TraceRecorder::record(
    const registry::RegisteredAllocator& entry) const {
  const alloc::AllocatorTraits& traits = *entry.traits;
  check_fits(traits, traits.keeps_live_memory ? outside_pool(traits) : "may hand out memory in use",
             pool_bytes_);
  // One thread serves all requests, in their order.
  alloc::ProgramTrace serial = trace_;
  for (TraceEvent& event : serial.events) {
    event.warp = 0;
    event.lane = 0;
  }
  const workloads::ReplayPlan plan = workloads::plan_replay(serial, {});
  workloads::ReplayData data(device_.id, plan);
  const simt::Memory pool(device_.id, pool_bytes_);
  workloads::ReplayJob job;
  job.device = device_.id;
  job.pool = {pool.data(), pool.bytes()};
  job.plan = &plan;
  job.data = &data;
  job.seconds = seconds_;
  job.options = entry.options;
  const workloads::ReplayResult result = bench::compiled_for(entry, device_).replay(job);
  const std::vector<std::uint64_t> blocks = data.blocks.download();

  const auto base = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pool.data()));
  std::vector<RecordedEvent> events;
  events.reserve(trace_.events.size());
  for (const TraceEvent& event : trace_.events) {
    const std::uint64_t address = blocks[event.request];
    if (address == workloads::ReplayBlock::refused || address == workloads::ReplayBlock::unserved)
      continue;
    const bool frees = event.kind == TraceEvent::Kind::free;
    events.push_back(RecordedEvent::make(
        frees ? RecordedEvent::Kind::free : RecordedEvent::Kind::allocate, 0, event.warp,
        (address - base) / alloc::granule, frees ? 0 : std::uint64_t{event.bytes}));
  }
  auto recording = std::make_shared<Recording>(name_, entry, device_.key, pool_bytes_);
  recording->add(events);
  recording->finish_trace(trace_.requests, result.refused);
  return recording;
}

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
  if (!traits.in_pool) return outside_pool(traits);
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
  check_fits(*entry.traits, cannot_update_graphs(*entry.traits), pool_bytes_);
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
  std::uint64_t refused = store.init(DeviceRows(device_.id, graph_)).refused;
  end_round(0);
  bench::GraphSettings draws;
  draws.updates = settings_.pressure ? UpdatePattern::pressure : UpdatePattern::random;
  const auto batch = static_cast<std::uint32_t>(settings_.batch);
  std::vector<EdgeKey> old = bench::existing_edges(graph_, batch, draws.seed);
  for (unsigned round = 0; round < static_cast<unsigned>(settings_.rounds); ++round) {
    std::vector<EdgeKey> edges = bench::update_batch(draws, graph_.vertices(), batch, round);
    bench::remove_common(edges, old);
    refused += store.update(edges, old).refused;
    old = std::move(edges);
    end_round(round + 1);
  }
  result.edge_hash = store.edge_hash();
  recording->finish_rounds(refused);
  result.recording = std::move(recording);
  return result;
}

}  // namespace heapwood::viewer
