// SPDX-License-Identifier: MIT
// The command replay: repeats a recorded program's requests with every allocator
// (docs/workloads.md).
#include <memory>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

constexpr const char* replay_examples = R"(Examples:
  heapwood build atrium:200k --record-trace atrium.trace    records a trace
  heapwood replay atrium.trace --dry-run                    what it contains
  heapwood replay atrium.trace                              with every allocator
  heapwood replay atrium.trace --pool 1.25x,2x,auto         with little memory, too
  heapwood replay atrium.trace --allocators halloc,heapwood
Sizes of pools are separated by commas; 1.5x is 1.5 times the peak bytes in
use.)";

struct ReplayCommand {
  std::string trace, pools = "auto";
  bool dry_run = false;
  ReplaySettings settings;
  MeasuringOptions measuring;
};

alloc::ProgramTrace load_program_trace(const std::string& path, ReplayBench& bench) {
  const std::optional<std::string> file = read_text(path, Exit::scene);
  if (!file) throw Error(Exit::scene, path + ": no such file; --record-trace writes traces");
  alloc::ProgramTrace trace = alloc::read_program_trace(*file, path);
  bench.name = path;
  bench.digest = fmt::format("{:016x}", alloc::trace_file::checksum(*file));
  bench.summary = workloads::summarize(trace);
  return trace;
}

// Warns of what the trace lacks and the replay cannot reproduce.
void warn_of_gaps(const std::string& path, const alloc::ProgramTrace& trace) {
  if (trace.dropped != 0)
    warning("{}: the recording was cut off: {} events are missing at its end", path,
            count_text(trace.dropped));
  if (trace.unmatched != 0)
    warning(
        "{}: {} frees of blocks that were requested before the recording "
        "are left out",
        path, count_text(trace.unmatched));
  if (trace.refused != 0)
    warning(
        "{}: requests that were refused in the recorded run are not "
        "replayed: {}; record with a larger pool",
        path, count_text(trace.refused));
}

Exit replay(const ReplayCommand& command, const std::vector<std::string>& argv) {
  const MeasuringOptions& options = command.measuring;
  if (command.trace.empty())
    throw Error(Exit::usage,
                "replay: no trace given: record one with 'heapwood build atrium --record-trace "
                "atrium.trace'");
  if (command.dry_run &&
      (!options.json.empty() || options.format == "json" || options.format == "csv")) {
    throw Error(Exit::usage,
                "replay: --dry-run measures nothing to write: leave out --json, and use --format "
                "table or markdown");
  }
  ReplayBench bench;
  bench.settings = command.settings;
  bench.settings.pools = parse_peak_pools(command.pools, true);
  Measuring measuring("replay", options);
  // The automatic pool has the same size as without shards.
  bench.sized_for = find_allocators(options.allocators);
  bench.allocators = shard_of(bench.sized_for, measuring.shard());
  const alloc::ProgramTrace trace = load_program_trace(command.trace, bench);
  bench.trace = &trace;
  warn_of_gaps(command.trace, trace);
  if (command.dry_run) {
    print_tables({trace_table(bench)}, options.format);
    return Exit::done;
  }
  if (bench.summary.requests == 0)
    throw Error(Exit::scene, command.trace + ": the trace has no requests; nothing to replay");
  bench.device = measuring.start(bench.allocators);
  if (bench.allocators.empty())
    return measuring.finish_empty_shard(replay_report(argv, bench, {}, {}));
  bench.kept = measuring.resume([&] { return read_replays(options.json, bench); });
  const std::vector<ReplayRow> rows =
      measuring.measure([&](const OnStep& on_step) { return run_replay(bench, on_step); });
  const ReplayChoice choice = choose_allocators(rows);
  return measuring.finish(rows, replay_report(argv, bench, rows, choice),
                          {.csv_columns = replay_columns,
                           .tables = {replay_table(bench, rows)},
                           .closing = choice.text});
}

}  // namespace

void add_replay(Program& program, Invocation& invocation) {
  auto options = std::make_shared<ReplayCommand>();
  MeasuringOptions& measuring = options->measuring;
  ReplaySettings& settings = options->settings;
  CommandOptions command(program, "replay", "a recorded program's requests with every allocator",
                         replay_examples);
  command.text("trace", options->trace, "a file that --record-trace wrote", "TRACE");
  add_allocators(command, measuring.allocators);
  command.text("--pool", options->pools,
               "memory for the allocator: auto (ample), 512M, 2G;\n1.5x what the program had in "
               "use at its peak",
               "LIST");
  command.number("--runs", settings.runs, "timed replays per allocator and pool", {1, 100000});
  command.number("--window", settings.window,
                 "how many events a warp may be ahead of the others\n(approximate); 0 = chosen by "
                 "the number of warps",
                 {0, 1e9});
  command.number("--samples", settings.samples, "inspections of the pool per untimed replay",
                 {1, 10000});
  command.number("--seconds", settings.seconds, "time limit of a replay", {0.001, 86400}, "S");
  command.number("--budget", settings.budget_seconds,
                 "seconds per allocator and pool for warm-up and runs;\n0 = no limit", {0, 86400},
                 "S");
  command.flag("--dry-run", options->dry_run, "print what the trace contains, replay nothing");
  add_report(command, measuring, "result");
  add_resume(command, measuring);
  command.flag("--strict", measuring.strict, "exit with 5 if a request is refused");
  add_shard_and_device(command, measuring);
  command.when_chosen([options, &invocation] {
    invocation.files.reads(options->trace);
    invocation.files.writes(options->measuring.json);
    invocation.action = [options, &invocation] { return replay(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
