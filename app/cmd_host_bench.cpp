// SPDX-License-Identifier: MIT
// heapwood host-bench: allocators that manage device memory from the host, against the platform's
// own (docs/allocators.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>

#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/host_bench_tables.hpp"
#include "app/output/print_tables.hpp"
#include "app/report_options.hpp"
#include "bench/program/input_file.hpp"
#include "bench/program/options.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

constexpr const char* host_bench_examples = R"(Examples:
  heapwood host-bench                              20 live blocks of 1 KiB to 16 MiB
  heapwood host-bench --initial 256M --growth 2M   with memory mapped at the start
  heapwood build atrium --host-trace t.csv         record the requests of a build
  heapwood host-bench --trace t.csv                replay them with all allocators)";

struct HostBenchCommand {
  std::string allocators = "all", trace, save_trace, format = "table", json;
  bench::HostBenchTrace generated;
  host_alloc::HostAllocatorOptions options;
  int passes = 3;
  bench::DeviceOptions device;
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
  for (const std::string& id : bench::split(list, ',')) {
    const host_alloc::HostAllocatorInfo* info = &host_alloc::find_host_allocator(id, device);
    if (std::find(infos.begin(), infos.end(), info) == infos.end()) infos.push_back(info);
  }
  return infos;
}

void print_report(const HostBenchCommand& command, const bench::HostBench& bench,
                  const std::vector<bench::HostBenchRow>& rows, const bench::Json& report) {
  if (command.format == "json") return fmt::print("{}", bench::json_text(report));
  if (command.format == "csv") return fmt::print("{}", bench::to_csv(host_flat_table(rows)));
  std::vector<bench::Table> tables{host_latency_table(bench, rows, true)};
  if (bench.passes > 1) tables.push_back(host_latency_table(bench, rows, false));
  tables.push_back(host_memory_table(rows));
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(bench.device), bench::version_line()));
  notes.push_back(fmt::format("memory is mapped in steps of {}, {} at the start",
                              bench::bytes_text(bench.options.growth_bytes),
                              bench::bytes_text(bench.options.initial_bytes)));
  print_tables(tables, command.format);
}

Exit host_bench(const HostBenchCommand& command, const std::vector<std::string>& argv) {
  const bench::HostBenchTrace& generated = command.generated;
  if (generated.smallest > generated.largest)
    throw Error(Exit::usage, "host-bench: --smallest is larger than --largest");
  bench::HostBench bench;
  bench.options = command.options;
  bench.passes = command.passes;
  if (command.trace.empty()) {
    bench.trace = bench::host_bench_trace(generated);
    bench.trace_name = fmt::format("{} to {}", bench::size_text(generated.smallest),
                                   bench::size_text(generated.largest));
  } else {
    const std::optional<std::string> trace = bench::read_text(command.trace, Exit::scene);
    if (!trace)
      throw Error(Exit::scene,
                  command.trace + ": no such file; --save-trace and --host-trace write traces");
    bench.trace = host_alloc::parse_host_trace(*trace, command.trace);
    bench.trace_name = command.trace;
  }
  if (!command.save_trace.empty())
    bench::OutputFile(command.save_trace).write(host_alloc::host_trace_text(bench.trace));
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  bench.device = choose_measured_device(command.device);
  bench.allocators = chosen(command.allocators, bench.device.id);

  std::vector<bench::HostBenchRow> rows;
  {
    bench::Progress progress;
    rows = bench::run_host_bench(bench,
                                 [&](std::size_t done, std::size_t all, const std::string& what) {
                                   progress.update(done, all, what);
                                 });
  }
  const bench::Json report = host_bench_report(argv, bench, rows);
  const std::optional<Error> write_error = write_report(file.get(), report);
  print_report(command, bench, rows, report);
  if (write_error) throw *write_error;
  if (simt::interrupted())
    throw Error(Exit::failed, "host-bench: interrupted; the results so far are above");
  for (const bench::HostBenchRow& row : rows) {
    if (row.status == bench::Status::failed)
      throw Error(Exit::failed, fmt::format("host-bench: {}: {}", row.allocator, row.reason));
  }
  return Exit::done;
}

}  // namespace

void add_host_bench(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<HostBenchCommand>();
  CLI::App* command =
      app.add_subcommand("host-bench", "benchmark allocators of device memory on the host");
  command->footer(host_bench_examples);
  const auto bytes_option = [&](const char* name, std::size_t& value, const char* what,
                                const char* shown) {
    command
        ->add_option_function<std::string>(
            name,
            [&value](const std::string& text) {
              value = text == "0" ? 0 : bench::parse_bytes(text);
            },
            what)
        ->default_str(shown)
        ->type_name("BYTES");
  };
  command
      ->add_option("--allocators", options->allocators,
                   "all, or ids separated by commas: segfit, tlsf,\n...")
      ->capture_default_str()
      ->type_name("IDS");
  command->add_option("--trace", options->trace, "CSV of requests to replay: op,id,bytes")
      ->type_name("FILE");
  command->add_option("--save-trace", options->save_trace, "write the replayed requests")
      ->type_name("FILE");
  bench::HostBenchTrace& generated = options->generated;
  command->add_option("--steps", generated.steps, "number of requests, without --trace")
      ->capture_default_str()
      ->transform(bench::between(1, 10000000))
      ->type_name("N");
  command->add_option("--slots", generated.slots, "max number of live blocks")
      ->capture_default_str()
      ->transform(bench::between(1, 1000000))
      ->type_name("N");
  bytes_option("--smallest", generated.smallest, "min block size; sizes are uniformly distributed",
               "1K");
  bytes_option("--largest", generated.largest, "max block size", "16M");
  command->add_option("--seed", generated.seed, "seed of slots and sizes")
      ->transform(bench::between(0, UINT32_MAX))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--passes", options->passes,
                   "number of replays; the first is reported separately")
      ->capture_default_str()
      ->transform(bench::between(1, 1000))
      ->type_name("N");
  bytes_option("--initial", options->options.initial_bytes,
               "memory mapped before the first request", "0");
  bytes_option("--growth", options->options.growth_bytes, "min memory mapped at a time", "16M");
  bytes_option("--capacity", options->options.capacity, "max mapped memory", "the device's memory");
  command->add_option("--format", options->format, "table, markdown, csv (one line per pass), json")
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember({"table", "markdown", "csv", "json"})))
      ->type_name("FORMAT");
  command
      ->add_option("--json", options->json,
                   "write all measurements, including latency and memory\nover time")
      ->type_name("FILE");
  add_measured_device_options(*command, options->device);
  command->callback([options, &invocation] {
    invocation.files.reads(options->trace);
    for (const std::string& path : {options->save_trace, options->json})
      invocation.files.writes(path);
    invocation.action = [options, &invocation] { return host_bench(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
