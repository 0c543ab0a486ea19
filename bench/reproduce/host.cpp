// SPDX-License-Identifier: MIT
// The benchmark of the host-managed paper: 4,000 steps over 20 blocks of 1 KiB to 16 MiB, three
// passes.
#include <fmt/format.h>

#include "bench/host_bench_report.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "host_alloc/host_allocator.hpp"

namespace heapwood::bench {

Experiment host_managed() {
  return [](const ReproduceSetup& setup) {
    HostBenchTrace trace;
    if (!setup.full) trace.steps = 1000;
    HostBench bench;
    bench.trace = host_bench_trace(trace);
    bench.trace_name = fmt::format("{} steps", trace.steps);
    bench.device = setup.device;
    for (const host_alloc::HostAllocatorInfo& info : host_alloc::host_allocators()) {
      if (!info.only_on || *info.only_on == setup.device.id.kind) bench.allocators.push_back(&info);
    }
    ReproduceCase one{fmt::format("host-bench steps={} slots={} passes={}", trace.steps,
                                  trace.slots, bench.passes)};
    one.measure = [bench =
                       std::move(bench)](const std::function<void(const std::string&)>& announce) {
      const auto rows = run_host_bench(
          bench, [&](std::size_t, std::size_t, const std::string& what) { announce(what); });
      return Json(host_bench_report({}, bench, rows)["results"]);
    };
    return std::vector{one};
  };
}

}  // namespace heapwood::bench
