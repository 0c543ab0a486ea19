// SPDX-License-Identifier: MIT
// The command stress: runs stress tests of allocators, like RegEff figures 3 to 5 and table 1 and
// Ouroboros figure 3 (docs/workloads.md).
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/program/messages.hpp"
#include "bench/record_trace.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

namespace {

constexpr const char* stress_examples = R"(Examples:
  heapwood stress malloc-free                     every payload of RegEff figure 3(a)
  heapwood stress cycle --pool sweep              figure 3(b); also --iterations sweep
  heapwood stress probability                     figure 3(d): 1 to 120 blocks
  heapwood stress alloc --requests 10K,1M         one malloc per thread, then one free
  heapwood stress scaling                         the same for 1 to 1M threads
  heapwood stress exhaust --allocators bulk,cuda  as many threads as fill the pool
  heapwood stress utilization                     how much of the pool is usable
  heapwood stress lifetimes --order lifo          held / live memory
  heapwood stress soak --seconds 600              random sizes and lifetimes, contents verified
  heapwood stress mixed --touch                   write and verify each block
A LIST is values separated by commas, or the word sweep: the values of the paper.)";

struct StressCommand {
  std::string test, order = "random", trace;
  StressLists lists;
  StressSettings settings;
  MeasuringOptions measuring;
};

// Refuses options that have no effect on the test, which would otherwise go unnoticed.
void refuse_unused_options(const std::string& text, const std::vector<std::string>& given) {
  using Names = std::vector<std::string>;
  static const std::map<std::string, Names> tests_of{
      {"--rounds", {"alloc", "mixed", "scaling", "exhaust"}},
      {"--order", {"lifetimes", "soak"}},
      {"--probability", {"probability"}},
      {"--seed", {"probability", "mixed", "churn", "lifetimes", "soak"}},
      {"--record-trace", {"lifetimes"}},
  };
  const auto contains = [](const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::string test = command_name(parse_stress_test(text));
  for (const std::string& name : given) {
    const auto limited = tests_of.find(name);
    if (limited != tests_of.end() && !contains(limited->second, test)) {
      throw_error(Exit::usage, "stress {}: {} is for {}", test, name, joined(limited->second));
    }
  }
}

// Notes below the table, also about points omitted because they are larger than the pool.
std::vector<std::string> notes_of(const StressBench& bench, const std::vector<StressRow>& rows) {
  std::vector<std::string> notes = stress_notes(rows);
  std::string left_out;
  for (const StressPoint& point : bench.left_out)
    left_out += fmt::format("{}{} of {}", left_out.empty() ? "" : ", ",
                            requests_text(point.requests), size_text(point.payload));
  if (!left_out.empty()) notes.push_back("omitted, larger than the pool: " + left_out);
  return notes;
}

Exit stress(const StressCommand& command, const std::vector<std::string>& argv) {
  StressBench bench;
  bench.settings = command.settings;
  StressSettings& settings = bench.settings;
  settings.test = parse_stress_test(command.test);
  settings.order = parse_order(command.order);
  bench.allocators = find_allocators(command.measuring.allocators, true);
  const bool uses_builtin = std::ranges::any_of(bench.allocators, [](const auto* entry) {
    return entry->options.large_backend == alloc::LargeBackend::builtin;
  });
  if (workloads::has_lifetimes(settings.test) && (settings.coalesced || uses_builtin))
    throw_error(Exit::usage, "stress: {}: leave out --coalesced and large=builtin",
                command_name(settings.test));
  if (settings.coalesced && uses_builtin)
    throw Error(Exit::usage, "stress: leave out --coalesced or large=builtin");
  Measuring measuring("stress", command.measuring);
  bench.device = measuring.start(bench.allocators);
  bench.points = stress_points(command.lists, settings.test, bench.device);
  if (settings.test == workloads::StressTest::scaling ||
      settings.test == workloads::StressTest::range)
    bench.left_out = take_oversized(bench.points);
  if (bench.points.empty())
    throw Error(Exit::usage, "stress: the requests do not fit in the pool; use a larger --pool");
  const bool space = workloads::measures_space(settings.test);
  if (settings.lanes == 0) settings.lanes = has_requests(settings.test) || space ? 32 : 1;
  if (settings.runs == 0) settings.runs = space ? 1 : 5;
  settings.touch = settings.touch || settings.test == workloads::StressTest::soak;
  if (!command.trace.empty())
    return write_trace(command.trace, [&] { return record_stress(bench); });
  bench.points = shard_of(bench.points, measuring.shard());
  const auto report_of = [&](const std::vector<StressRow>& rows) {
    return bench::report_of(stress_schema, argv, bench.device, rows);
  };
  if (bench.points.empty()) return measuring.finish_empty_shard(report_of({}));
  const std::vector<StressRow> rows = measuring.measure([&](const OnStep& on_step) {
    return run_stress(bench, on_step, [&](const std::vector<StressRow>& so_far) {
      measuring.write(report_of(so_far));
    });
  });
  return measuring.finish(rows, report_of(rows),
                          {.csv_columns = stress_columns,
                           .tables = {stress_table(rows), stress_memory_table(rows)},
                           .notes = notes_of(bench, rows)});
}

}  // namespace

void add_stress(Program& program, Invocation& invocation) {
  auto options = std::make_shared<StressCommand>();
  MeasuringOptions& measuring = options->measuring;
  StressLists& lists = options->lists;
  StressSettings& settings = options->settings;
  settings.lanes = 0;
  settings.runs = 0;
  CommandOptions command(program, "stress", "stress tests of allocators", stress_examples);
  command.text("test", options->test,
               "malloc-free, cycle, probability (RegEff's AD, ACD, P);\nalloc (each thread once), "
               "mixed, scaling,\nutilization, range, churn (Ouroboros); exhaust (bulk);\n"
               "lifetimes, soak",
               "TEST");
  add_allocators(command, measuring.allocators);
  command.text("--payload", lists.payload,
               "bytes per request; default: the paper's; mixed: the\nmaximum", "LIST");
  command.text("--pool", lists.pool, "memory for the allocator; default: 2G, on the CPU 64M",
               "LIST");
  command.text(
      "--iterations", lists.iterations,
      "cycle: mallocs per thread; probability: launches;\ndefault: 10; range: 100, on the CPU "
      "10; churn: the\nmaximum; lifetimes: launches, 16",
      "LIST");
  command.text("--blocks", lists.blocks,
               "blocks of 256 threads; default: 120,fill (fill: as\nmany as fit the GPU), on the "
               "CPU 120; probability: 1 to\n120,fill; utilization: fill",
               "LIST");
  command.number(
      "--lanes", settings.lanes,
      "allocating threads per warp; default: 1 in\nmalloc-free, cycle, probability; others: 32",
      {1, 32, false});
  command.text("--requests", lists.requests,
               "threads in alloc, mixed, scaling, range, churn,\nlifetimes, soak; default: 100K, "
               "on the CPU 10K (the last\ntwo 1K); scaling: sweep",
               "LIST");
  command.number("--rounds", settings.rounds,
                 "alloc, mixed, scaling, exhaust: repetitions of both\nkernels in one pool; the "
                 "last, on recycled memory,\nis timed",
                 {1, 100, false});
  command.flag("--touch", settings.touch, "fill each block and verify it before freeing it");
  command.flag("--coalesced", settings.coalesced,
               "one request per warp, through the coalescing adaptor;\nonly the allocators that "
               "RegEff compares");
  command.flag("--wait", settings.wait, "wait for memory while the pool is full");
  command.text("--order", options->order,
               "order of frees in lifetimes and soak: random, lifo,\nimmortal", "ORDER");
  command.number(
      "--probability", settings.probability,
      "probability: chance that a thread calls malloc or\nfree in a launch; 0.25 gives RegEff's "
      "call counts",
      {0.001, 1}, "P");
  command.number("--seed", settings.seed, "seed of probability, mixed, churn, lifetimes, soak",
                 {0, UINT32_MAX});
  command.number("--runs", settings.runs,
                 "timed runs; default: 5; utilization, range, churn,\nlifetimes, soak: 1",
                 {1, 100000, false});
  command.number("--seconds", settings.seconds, "time limit of a kernel; soak: its duration",
                 {0.001, 86400}, "S");
  add_report(command, measuring, "result");
  command.text("--record-trace", options->trace,
               "lifetimes: write the requests of the first value of each\nLIST to a file for "
               "'heapwood replay', untimed\n(docs/workloads.md)",
               "FILE");
  command.exclude("--record-trace", "--json");
  add_shard_and_device(command, measuring);
  command.when_chosen([options, command, &invocation] {
    refuse_unused_options(options->test, command.given());
    invocation.files.writes(options->measuring.json, options->trace);
    invocation.action = [options, &invocation] { return stress(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
