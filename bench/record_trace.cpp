// SPDX-License-Identifier: MIT
#include "bench/record_trace.hpp"

#include <algorithm>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/store.hpp"
#include "workloads/program_trace/recorded_workloads.hpp"

namespace heapwood::bench {

namespace {

constexpr std::size_t first_capacity = std::size_t{1} << 22,  // in events, 64 MiB
    max_capacity = std::size_t{1} << 27;

std::size_t larger_capacity(std::uint64_t events) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(max_capacity, events + events / 8));
}

// record(pool, memory) does the work once; it is repeated with more memory while something is
// missing. `what`: the trace's source, without device and version.
alloc::ProgramTrace record_with_space(
    const simt::DeviceInfo& device, std::size_t pool_bytes, bool may_grow, const std::string& what,
    const std::function<void(const alloc::Pool&, alloc::RecordedMemory&)>& record) {
  std::size_t capacity = first_capacity;
  for (;;) {
    const simt::Memory pool(device.id, pool_bytes);
    alloc::RecordedMemory memory(device.id, capacity);
    record({pool.data(), pool.bytes()}, memory);
    const std::uint64_t total = memory.total();
    if (total > capacity && capacity < max_capacity) {
      capacity = larger_capacity(total);
      continue;
    }
    if (memory.refused() != 0 && may_grow && pool_bytes < simt::device_available(device.id) / 4) {
      pool_bytes *= 2;
      continue;
    }
    alloc::ProgramTrace trace =
        alloc::make_program_trace(memory.events(), memory.kernel_ends(), total, memory.refused());
    trace.pool_bytes = pool_bytes;
    trace.source = fmt::format("{}, {}, {}", what, device_text(device), version_line());
    return trace;
  }
}

}  // namespace

alloc::ProgramTrace record_build(PreparedScene& scene, const Allocator& entry,
                                 const simt::DeviceInfo& device, const BuildSettings& settings,
                                 const std::function<void(const std::string&)>& announce) {
  announce(scene.name() + ": sizing the pool");
  scene.build_growing(entry);
  std::size_t capacity = first_capacity;
  for (;;) {
    announce(scene.name() + ": recording");
    const kdtree::RecordedRun run = scene.build_recorded(entry, capacity);
    if (run.events_in_all > capacity && capacity < max_capacity) {
      capacity = larger_capacity(run.events_in_all);
      continue;
    }
    if (run.instrumented.requests.failures != 0 && scene.enlarge_pool()) continue;
    alloc::ProgramTrace trace = alloc::make_program_trace(run.events, {}, run.events_in_all,
                                                          run.instrumented.requests.failures);
    trace.pool_bytes = scene.pool_bytes();
    trace.source =
        fmt::format("build {}, {} refs, {}, {}, {}", scene.name(), kdtree::name(settings.refs),
                    entry.traits->id, device_text(device), version_line());
    return trace;
  }
}

alloc::ProgramTrace record_graph(const GraphBench& bench) {
  using namespace workloads::graph;
  const GraphSettings& settings = bench.settings;
  const std::uint32_t batch = settings.batches.front(), vertices = bench.host->vertices();
  const DeviceRows rows(bench.device.id, *bench.host);
  const auto record = [&](const alloc::Pool& pool, alloc::RecordedMemory& memory) {
    HeapJob job;
    job.device = bench.device.id;
    job.pool = pool;
    job.seconds = settings.seconds;
    BlockGraph graph(job, workloads::recorded_adjacency_heap(job, memory),
                     device_steps(job.device, job.seconds));
    graph.init(rows);
    for (unsigned round = 0; round < settings.rounds; ++round) {
      const std::vector<EdgeKey> edges = update_batch(settings, vertices, batch, round);
      graph.update(edges, {});
      graph.update({}, edges);
    }
  };
  return record_with_space(bench.device, pool_bytes(bench),
                           settings.pool.kind == PoolSize::Kind::automatic,
                           fmt::format("graph {}, {} rounds of {} edges, {}", bench.graph,
                                       settings.rounds, batch, name(settings.updates)),
                           record);
}

alloc::ProgramTrace record_stress(const StressBench& bench) {
  const StressPoint& point = bench.points.front();
  const StressSettings& settings = bench.settings;
  return record_with_space(
      bench.device, point.pool_bytes, true,
      fmt::format("stress {}, {} order, {} threads, up to {}", name(settings.test),
                  name(settings.order), stress_threads(settings, point), size_text(point.payload)),
      [&](const alloc::Pool& pool, alloc::RecordedMemory& memory) {
        workloads::StressJob job = stress_job(bench, point);
        job.pool = pool;
        workloads::record(job, memory);
      });
}

alloc::ProgramTrace record_steps(const StepsBench& bench) {
  return record_with_space(bench.device, pool_bytes(bench, bench.settings.pools.front()), true,
                           bench.workload.input,
                           [&](const alloc::Pool& pool, alloc::RecordedMemory& memory) {
                             workloads::StepsJob job;
                             job.device = bench.device.id;
                             job.pool = pool;
                             job.seconds = bench.settings.seconds;
                             workloads::record(bench.workload.recorded(job), memory);
                           });
}

}  // namespace heapwood::bench
