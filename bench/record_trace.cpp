// SPDX-License-Identifier: MIT
#include "bench/record_trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/program/version.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

constexpr std::size_t first_capacity = std::size_t{1} << 22,  // events: 64 MiB
    max_capacity = std::size_t{1} << 27;

// The events in the order of time, without gaps at the end of the buffer.
alloc::ProgramTrace trace_of(const kdtree::RecordedRun& run) {
  return alloc::make_program_trace(run.events, {}, run.events_in_all,
                                   run.instrumented.requests.failures);
}

}  // namespace

alloc::ProgramTrace record_build(PreparedScene& scene, const registry::RegisteredAllocator& entry,
                                 const simt::DeviceInfo& device, const BuildSettings& settings,
                                 const std::function<void(const std::string&)>& announce) {
  announce(scene.name() + ": sizing the pool");
  scene.build_growing(entry);
  std::size_t capacity = first_capacity;
  for (;;) {
    announce(scene.name() + ": recording");
    const kdtree::RecordedRun run = scene.build_recorded(entry, capacity);
    if (run.events_in_all > capacity && capacity < max_capacity) {
      capacity = static_cast<std::size_t>(
          std::min<std::uint64_t>(max_capacity, run.events_in_all + run.events_in_all / 8));
      continue;
    }
    if (run.instrumented.requests.failures != 0 && scene.enlarge_pool()) continue;
    alloc::ProgramTrace trace = trace_of(run);
    trace.pool_bytes = scene.pool_bytes();
    trace.source =
        fmt::format("build {}, {} refs, {}, {}, {}", scene.name(), kdtree::name(settings.refs),
                    entry.traits->id, device_text(device), version_line());
    return trace;
  }
}

std::string recorded_text(const std::string& path, const alloc::ProgramTrace& trace) {
  const std::uint64_t frees = trace.events.size() - trace.requests;
  std::string text = fmt::format(
      "{}: {} requests and {} frees in {} kernel{}", path, count_text(trace.requests),
      count_text(frees), trace.kernel_ends.size(), trace.kernel_ends.size() == 1 ? "" : "s");
  if (trace.dropped != 0)
    text += fmt::format("; {} events did not fit into the buffer", count_text(trace.dropped));
  if (trace.refused != 0)
    text += fmt::format("; {} requests were refused", count_text(trace.refused));
  return text;
}

}  // namespace heapwood::bench
