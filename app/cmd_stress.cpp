// SPDX-License-Identifier: MIT
// heapwood stress: stress tests of allocators, as RegEff figures 3 to 5 and table 1 and Ouroboros
// figure 3 (docs/workloads.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/print_tables.hpp"
#include "app/output/stress_figures.hpp"
#include "app/output/stress_tables.hpp"
#include "app/report_options.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/record_trace.hpp"
#include "bench/shard.hpp"
#include "bench/stress_json.hpp"
#include "bench/stress_primitives.hpp"
#include "workloads/stress.hpp"

namespace heapwood::app {

namespace {

constexpr const char* stress_examples = R"(Examples:
  heapwood stress ad                              every payload of RegEff figure 3(a)
  heapwood stress acd --pool sweep                figure 3(b); also --iterations sweep
  heapwood stress p                               figure 3(d): 1 to 120 blocks
  heapwood stress alloc --requests 10K,1M         one malloc per thread, then one free
  heapwood stress scaling                         the same for 1 to 1M threads
  heapwood stress exhaust --allocators bulk,cuda  as many threads as fill the pool
  heapwood stress utilization                     how much of the pool is usable
  heapwood stress lifetimes --order lifo          held / live memory
  heapwood stress soak --seconds 600              random sizes and lifetimes, contents verified
  heapwood stress ad --payload 64 --touch         write and verify each block
A LIST is values separated by commas, or the word sweep: the values of the paper.)";

struct StressCommand {
  std::string test, allocators = "all", large = "buddy", order = "random", format = "table", json;
  std::string trace, shard;
  bench::StressLists lists;
  bench::StressSettings settings;
  bench::DeviceOptions device;
};

void print_report(const StressCommand& command, const bench::StressBench& bench,
                  const std::vector<bench::StressRow>& rows, const bench::Json& report) {
  if (command.format == "json") {
    fmt::print("{}", bench::json_text(report));
    return;
  }
  if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(stress_flat_table(rows)));
    return;
  }
  std::vector<bench::Table> tables{stress_table(rows)};
  for (bench::Table& table : std::array{stress_memory_table(rows), stress_allocator_table(rows)}) {
    if (!table.columns.empty()) tables.push_back(std::move(table));
  }
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(bench.device), bench::version_line()));
  for (std::string& line : stress_notes(rows)) notes.push_back(std::move(line));
  std::string left_out;
  for (const bench::StressPoint& point : bench.left_out)
    left_out += fmt::format("{}{} of {}", left_out.empty() ? "" : ", ",
                            requests_text(point.requests), bench::size_text(point.payload));
  if (!left_out.empty()) notes.push_back("omitted, larger than the pool: " + left_out);
  print_tables(tables, command.format);
}

// An option without effect would go unnoticed.
void refuse_unused_options(const std::string& test, const CLI::App& command) {
  using Names = std::vector<std::string>;
  static const std::map<std::string, Names> tests_of{
      {"--rounds", {"alloc", "mixed", "scaling", "exhaust"}},
      {"--order", {"lifetimes", "soak"}},
      {"--probability", {"p"}},
      {"--seed", {"p", "mixed", "churn", "lifetimes", "soak"}},
      {"--record-trace", {"lifetimes"}},
  };
  static const Names of_primitives{"--help",   "--runs",    "--seconds",     "--format",
                                   "--device", "--threads", "--wait-for-gpu"};
  const auto contains = [](const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool is_primitive = bench::is_primitive_test(test);
  if (!is_primitive) bench::parse_stress_test(test);  // throws if it is none
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || !option->nonpositional()) continue;
    const std::string name = option->get_name();
    if (is_primitive && !contains(of_primitives, name))
      throw Error(Exit::usage, fmt::format("stress {}: {} is for tests of allocators", test, name));
    const auto limited = tests_of.find(name);
    if (!is_primitive && limited != tests_of.end() && !contains(limited->second, test)) {
      throw Error(Exit::usage, fmt::format("stress {}: {} is for {}", test, name,
                                           fmt::join(limited->second, ", ")));
    }
  }
}

// Tests of primitives have no allocator, points or JSON report.
Exit primitives(const StressCommand& command) {
  if (command.format == "json") {
    throw Error(Exit::usage,
                fmt::format("stress {}: JSON is not supported; use --format csv", command.test));
  }
  const bench::Table table = bench::stress_primitives(
      command.test, choose_measured_device(command.device),
      command.settings.runs == 0 ? 5 : command.settings.runs, command.settings.seconds);
  if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(table));
  } else {
    print_tables({table}, command.format);
  }
  return Exit::done;
}

Exit stress(const StressCommand& command, const std::vector<std::string>& argv) {
  if (bench::is_primitive_test(command.test)) return primitives(command);
  const bench::Shard shard = bench::chosen_shard(command.shard);
  bench::check_shard_file(command.json, shard);
  bench::StressBench bench;
  bench.settings = command.settings;
  bench::StressSettings& settings = bench.settings;
  settings.test = bench::parse_stress_test(command.test);
  settings.order = bench::parse_order(command.order);
  settings.large =
      command.large == "builtin" ? alloc::LargeBackend::builtin : alloc::LargeBackend::buddy;
  if (workloads::has_lifetimes(settings.test) &&
      (settings.coalesced || settings.large == alloc::LargeBackend::builtin))
    throw Error(Exit::usage, fmt::format("stress: {}: neither --coalesced nor --large builtin",
                                         bench::name(settings.test)));
  bench.allocators = bench::find_allocators(command.allocators);
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  bench.device = choose_measured_device(command.device);
  bench.points = bench::stress_points(command.lists, settings.test, bench.device);
  if (settings.test == workloads::StressTest::scaling ||
      settings.test == workloads::StressTest::range)
    bench.left_out = bench::take_oversized(bench.points);
  if (bench.points.empty())
    throw Error(Exit::usage, "stress: the requests do not fit in the pool; use a larger --pool");
  const bool space = workloads::measures_space(settings.test);
  if (settings.lanes == 0) settings.lanes = bench::has_requests(settings.test) || space ? 32 : 1;
  if (settings.runs == 0) settings.runs = space ? 1 : 5;
  settings.touch = settings.touch || settings.test == workloads::StressTest::soak;

  if (!command.trace.empty()) {
    bench::OutputFile trace_file(command.trace);
    const alloc::ProgramTrace trace = bench::record_stress(bench);
    trace_file.write(alloc::program_trace_file(trace));
    fmt::print("{}\n", bench::recorded_text(command.trace, trace));
    return Exit::done;
  }
  bench.points = bench::shard_of(bench.points, shard);
  if (bench.points.empty()) {
    bench::finish_empty_shard(file.get(), bench::stress_report(argv, bench.device, {}), shard);
    return Exit::done;
  }
  const auto report_of = [&](const std::vector<bench::StressRow>& some) {
    bench::Json report = bench::stress_report(argv, bench.device, some);
    bench::add_shard(report, shard);
    return report;
  };
  std::vector<bench::StressRow> rows;
  std::optional<Error> write_error;  // of the last attempt: the table is printed in any case
  {
    bench::Progress progress;
    const auto on_step = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    };
    const auto point_done = [&](const std::vector<bench::StressRow>& so_far) {
      if (!file) return;
      try {
        file->write(bench::json_text(report_of(so_far)));
        write_error.reset();
      } catch (const Error& error) {
        write_error = error;
      }
    };
    rows = bench::run_stress(bench, on_step, point_done);
  }
  print_report(command, bench, rows, report_of(rows));
  if (write_error) throw *write_error;
  std::size_t failed = 0;
  for (const bench::StressRow& row : rows) failed += row.status == bench::Status::failed;
  if (failed)
    throw Error(Exit::failed,
                fmt::format("stress: {} of {} measurements failed; the reasons are below the table",
                            failed, rows.size()));
  if (simt::interrupted())
    throw Error(Exit::failed, "stress: interrupted; the results so far are above" +
                                  (command.json.empty() ? "" : " and in " + command.json));
  return Exit::done;
}

}  // namespace

void add_stress(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<StressCommand>();
  CLI::App* command = app.add_subcommand("stress", "stress tests of allocators and primitives");
  command->footer(stress_examples);
  command
      ->add_option(
          "test", options->test,
          "ad, acd, p (RegEff); alloc (each thread once),\nmixed, scaling, utilization, range, "
          "churn\n(Ouroboros); exhaust, semaphore, rcu (bulk); lifetimes,\nsoak")
      ->type_name("TEST");
  add_allocators_option(*command, options->allocators);
  bench::StressLists& lists = options->lists;
  command
      ->add_option("--payload", lists.payload,
                   "bytes per request; default: the paper's; mixed: the\nmaximum")
      ->type_name("LIST");
  command->add_option("--pool", lists.pool, "memory for the allocator; default: 2G, on the CPU 64M")
      ->type_name("LIST");
  command
      ->add_option("--iterations", lists.iterations,
                   "acd: mallocs per thread; p: launches; default: 10;\nrange: 100, on the CPU 10; "
                   "churn: the maximum;\n"
                   "lifetimes: launches, 16")
      ->type_name("LIST");
  command
      ->add_option("--blocks", lists.blocks,
                   "blocks of 256 threads; default: 120,fill (fill: as\nmany as fit the GPU), on "
                   "the CPU 120; p: 1 to "
                   "120,fill;\nutilization: fill")
      ->type_name("LIST");
  command
      ->add_option("--page-bytes", lists.page_bytes,
                   "page size of ScatterAlloc; default: chosen by it")
      ->type_name("LIST");
  bench::StressSettings& settings = options->settings;
  bench::add_allocator_sizes(*command, settings.sizes);
  settings.lanes = 0;
  command
      ->add_option("--lanes", settings.lanes,
                   "allocating threads per warp; default: ad, acd, p: 1;\nothers: 32")
      ->transform(bench::between(1, 32))
      ->type_name("N");
  command
      ->add_option("--requests", lists.requests,
                   "threads in alloc, mixed, scaling, range, churn,\nlifetimes, soak; default: "
                   "100K, on the CPU 10K "
                   "(the last\ntwo 1K); scaling: sweep")
      ->type_name("LIST");
  command
      ->add_option("--rounds", settings.rounds,
                   "alloc, mixed, scaling, exhaust: repetitions of both\nkernels in one pool; the "
                   "last, on recycled memory,\nis timed")
      ->transform(bench::between(1, 100))
      ->type_name("N");
  command->add_flag("--touch", settings.touch, "fill each block and verify it before freeing it");
  command->add_flag("--coalesced", settings.coalesced,
                    "one request per warp, through the coalescing adaptor");
  command->add_flag("--wait", settings.wait, "wait for memory while the pool is full");
  command
      ->add_option("--large", options->large,
                   "backend of large requests of scatter, halloc, xmalloc,\nawmalloc-safe: a buddy "
                   "system or the "
                   "platform's malloc")
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember({"buddy", "builtin"})))
      ->type_name("buddy|builtin");
  command
      ->add_option("--order", options->order,
                   "order of frees in lifetimes and soak: random, lifo,\nimmortal")
      ->capture_default_str()
      ->type_name("ORDER");
  command
      ->add_option("--probability", settings.probability,
                   "p: that a thread makes its call of a launch; 0.25 gives\nthe calls that RegEff "
                   "counted")
      ->capture_default_str()
      ->transform(bench::between(0.001, 1))
      ->type_name("P");
  command->add_option("--seed", settings.seed, "seed of p, mixed, churn, lifetimes, soak")
      ->transform(bench::between(0, UINT32_MAX))
      ->capture_default_str()
      ->type_name("N");
  settings.runs = 0;
  command
      ->add_option("--runs", settings.runs,
                   "timed runs; default: 5; utilization, range, churn,\nlifetimes, soak: 1")
      ->transform(bench::between(1, 100000))
      ->type_name("N");
  command->add_option("--seconds", settings.seconds, "time limit of a kernel; soak: its duration")
      ->capture_default_str()
      ->transform(bench::between(0.001, 86400.0))
      ->type_name("S");
  add_report_options(*command, "result", options->format, options->json);
  command
      ->add_option("--record-trace", options->trace,
                   "lifetimes: write the requests of the first value of each\nLIST to a file for "
                   "'heapwood replay', untimed\n(docs/workloads.md)")
      ->excludes(command->get_option("--json"))
      ->type_name("FILE");
  bench::add_shard_option(*command, options->shard);
  add_measured_device_options(*command, options->device);
  command->callback([options, command, &invocation] {
    refuse_unused_options(options->test, *command);
    for (const std::string& path : {options->json, options->trace}) invocation.files.writes(path);
    invocation.action = [options, &invocation] { return stress(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
