// SPDX-License-Identifier: MIT
// The command host-bench: compares allocators that manage device memory from the host with the
// platform's own (docs/allocators.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/host_bench.hpp"
#include "bench/program/command_files.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

constexpr const char* host_bench_examples = R"(Examples:
  heapwood host-bench                              20 live blocks of 1 KiB to 16 MiB
  heapwood host-bench --initial 256M --growth 2M   with memory mapped at the start
  heapwood build atrium --host-trace t.csv         record the requests of a build
  heapwood host-bench --trace t.csv                replay them with all allocators)";

struct HostBenchCommand {
  std::string trace;
  HostBenchTrace generated;
  host_alloc::HostAllocatorOptions options;
  int passes = 3;
  MeasuringOptions measuring;
};

std::vector<const host_alloc::HostAllocatorInfo*> chosen(const std::string& list,
                                                         const simt::DeviceId& device) {
  std::vector<const host_alloc::HostAllocatorInfo*> infos;
  if (list == "all") {
    for (const host_alloc::HostAllocatorInfo& info : host_alloc::host_allocators()) {
      if (!info.only_on || *info.only_on == device.kind) infos.push_back(&info);
    }
    return infos;
  }
  for (const std::string& id : split(list, ',')) {
    const host_alloc::HostAllocatorInfo* info = &host_alloc::find_host_allocator(id, device);
    if (std::ranges::find(infos, info) == infos.end()) infos.push_back(info);
  }
  return infos;
}

Exit host_bench(const HostBenchCommand& command, const std::vector<std::string>& argv) {
  const HostBenchTrace& generated = command.generated;
  if (generated.smallest > generated.largest)
    throw Error(Exit::usage, "host-bench: --smallest is larger than --largest");
  HostBench bench;
  bench.options = command.options;
  bench.passes = command.passes;
  if (command.trace.empty()) {
    bench.trace = host_bench_trace(generated);
    bench.trace_name =
        fmt::format("{} to {}", size_text(generated.smallest), size_text(generated.largest));
  } else {
    const std::optional<std::string> trace = read_text(command.trace, Exit::scene);
    if (!trace)
      throw Error(Exit::scene, command.trace + ": no such file; --host-trace writes traces");
    bench.trace = host_alloc::parse_host_trace(*trace, command.trace);
    bench.trace_name = command.trace;
  }
  Measuring measuring("host-bench", command.measuring, true);
  bench.device = measuring.start({});
  bench.allocators = chosen(command.measuring.allocators, bench.device.id);
  const std::vector<HostBenchRow> rows =
      measuring.measure([&](const OnStep& on_step) { return run_host_bench(bench, on_step); });
  return measuring.finish(
      rows, host_bench_report(argv, bench, rows),
      {.csv_columns = host_bench_columns,
       .tables = {host_latency_table(bench, rows, true),
                  bench.passes > 1 ? host_latency_table(bench, rows, false) : Table{},
                  host_memory_table(rows)},
       .notes = {fmt::format("memory is mapped in steps of {}, {} at the start",
                             bytes_text(bench.options.growth_bytes),
                             bytes_text(bench.options.initial_bytes))},
       .csv_list = "passes"});
}

}  // namespace

void add_host_bench(Program& program, Invocation& invocation) {
  auto options = std::make_shared<HostBenchCommand>();
  MeasuringOptions& measuring = options->measuring;
  CommandOptions command(program, "host-bench", "benchmark allocators of device memory on the host",
                         host_bench_examples);
  const auto bytes = [&](const char* name, std::size_t& value, const char* what,
                         const char* shown) {
    const auto parse = [&value](const std::string& text) {
      value = text == "0" ? 0 : parse_bytes(text);
    };
    command.parsed(name, parse, what, "BYTES", shown);
  };
  command.text("--allocators", measuring.allocators,
               "all, or ids separated by commas: segfit, tlsf,\n...", "IDS");
  command.text("--trace", options->trace, "CSV of requests to replay: op,id,bytes", "FILE");
  HostBenchTrace& generated = options->generated;
  command.number("--steps", generated.steps, "number of requests, without --trace", {1, 10000000});
  command.number("--slots", generated.slots, "max number of live blocks", {1, 1000000});
  bytes("--smallest", generated.smallest, "min block size; sizes are uniformly distributed", "1K");
  bytes("--largest", generated.largest, "max block size", "16M");
  command.number("--seed", generated.seed, "seed of slots and sizes", {0, UINT32_MAX});
  command.number("--passes", options->passes, "number of replays; the first is reported separately",
                 {1, 1000});
  bytes("--initial", options->options.initial_bytes, "memory mapped before the first request", "0");
  bytes("--growth", options->options.growth_bytes, "min memory mapped at a time", "16M");
  bytes("--capacity", options->options.capacity, "max mapped memory", "the device's memory");
  add_report(command, measuring, "pass");
  add_measured_device(command, measuring.device);
  command.when_chosen([options, &invocation] {
    invocation.files.reads(options->trace);
    invocation.files.writes(options->measuring.json);
    invocation.action = [options, &invocation] { return host_bench(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
