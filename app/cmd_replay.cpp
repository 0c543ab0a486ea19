// SPDX-License-Identifier: MIT
// heapwood replay: a recorded program's requests with every allocator (docs/workloads.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/print_tables.hpp"
#include "app/output/replay_tables.hpp"
#include "app/report_options.hpp"
#include "bench/program/input_file.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/replay_bench.hpp"
#include "bench/replay_json.hpp"
#include "bench/results/format.hpp"
#include "bench/shard.hpp"

namespace heapwood::app {

namespace {

constexpr const char* replay_examples = R"(Examples:
  heapwood build atrium:200k --record-trace atrium.trace    records a trace
  heapwood replay atrium.trace --dry-run                    what it contains
  heapwood replay atrium.trace                              with every allocator
  heapwood replay atrium.trace --pool 1.25x,2x,auto         with little memory, too
  heapwood replay atrium.trace --allocators halloc,heapwood --over-time
Sizes of pools are separated by commas; 1.5x is 1.5 times the peak bytes in
use.)";

struct ReplayCommand {
  std::string trace, allocators = "all", pools = "auto", format = "table", json, shard;
  bool resume = false, strict = false, dry_run = false, over_time = false;
  bench::ReplaySettings settings;
  bench::DeviceOptions device;
};

alloc::ProgramTrace load_program_trace(const std::string& path, bench::ReplayBench& bench) {
  const std::optional<std::string> file = bench::read_text(path, Exit::scene);
  if (!file) throw Error(Exit::scene, path + ": no such file; --record-trace writes traces");
  alloc::ProgramTrace trace = alloc::read_program_trace(*file, path);
  bench.name = path;
  bench.digest = fmt::format("{:016x}", alloc::trace_file::checksum(*file));
  bench.summary = workloads::summarize(trace);
  return trace;
}

// What the replay cannot reproduce.
void warn_of_gaps(const std::string& path, const alloc::ProgramTrace& trace) {
  if (trace.dropped != 0)
    bench::warning(fmt::format("{}: the recording was cut off: {} events are missing at its end",
                               path, bench::count_text(trace.dropped)));
  if (trace.unmatched != 0)
    bench::warning(
        fmt::format("{}: {} frees of blocks that were requested before the recording "
                    "are left out",
                    path, bench::count_text(trace.unmatched)));
  if (trace.refused != 0)
    bench::warning(
        fmt::format("{}: requests that were refused in the recorded run are not "
                    "replayed: {}; record with a larger pool",
                    path, bench::count_text(trace.refused)));
}

void print_report(const ReplayCommand& command, const bench::ReplayBench& bench,
                  const std::vector<bench::ReplayRow>& rows, const bench::ReplayChoice& choice,
                  const bench::Json& report) {
  if (command.format == "json") {
    fmt::print("{}", bench::json_text(report));
    return;
  }
  if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(replay_flat_table(rows)));
    return;
  }
  std::vector<bench::Table> tables{replay_table(bench, rows)};
  if (command.over_time) tables.push_back(replay_memory_table(bench, rows));
  tables.back().notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(bench.device), bench::version_line()));
  print_tables(tables, command.format);
  fmt::print("\n{}\n", choice.text);
}

Exit replay(const ReplayCommand& command, const std::vector<std::string>& argv) {
  if (command.trace.empty())
    throw Error(Exit::usage,
                "replay: no trace given: record one with 'heapwood build atrium --record-trace "
                "atrium.trace'");
  if (command.resume && command.json.empty())
    throw Error(Exit::usage, "replay: --resume needs the file to continue: add --json FILE");
  if (command.dry_run &&
      (!command.json.empty() || command.format == "json" || command.format == "csv")) {
    throw Error(Exit::usage,
                "replay: --dry-run measures nothing to write: leave out --json, and use --format "
                "table or markdown");
  }
  bench::ReplayBench bench;
  bench.settings = command.settings;
  bench.settings.pools = bench::parse_replay_pools(command.pools);
  // An automatic pool is as large as without shards.
  bench.sized_for = bench::find_allocators(command.allocators);
  const bench::Shard shard = bench::chosen_shard(command.shard);
  bench.allocators = bench::shard_of(bench.sized_for, shard);
  bench::check_shard_file(command.json, shard);
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  const alloc::ProgramTrace trace = load_program_trace(command.trace, bench);
  bench.trace = &trace;
  warn_of_gaps(command.trace, trace);
  if (command.dry_run) {
    print_tables({trace_table(bench)}, command.format);
    return Exit::done;
  }
  if (bench.summary.requests == 0)
    throw Error(Exit::scene, command.trace + ": the trace has no requests; nothing to replay");
  bench.device = choose_measured_device(command.device);
  if (bench.allocators.empty()) {
    bench::finish_empty_shard(file.get(), bench::replay_report(argv, bench, {}, {}), shard);
    return Exit::done;
  }
  bench::Earlier<bench::ReplayRow> earlier;
  if (command.resume) {
    earlier = bench::read_replays(command.json, bench);
    bench.kept = earlier.kept;
  }

  std::vector<bench::ReplayRow> rows;
  {
    bench::Progress progress;
    rows =
        bench::run_replay(bench, [&](std::size_t done, std::size_t total, const std::string& what) {
          progress.update(done, total, what);
        });
  }
  const bench::ReplayChoice choice = bench::choose_allocators(rows);
  bench::Json report = bench::replay_report(argv, bench, rows, choice);
  bench::add_shard(report, shard);
  const std::size_t better = bench::add_earlier(report, earlier.results);
  const std::optional<Error> write_error = write_report(file.get(), report);
  print_report(command, bench, rows, choice, report);
  note_better(command.json, better);
  if (write_error) throw *write_error;
  check_rows("replay", rows, command.strict);
  return Exit::done;
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ReplayCommand>();
  CLI::App* command =
      app.add_subcommand("replay", "a recorded program's requests with every allocator");
  command->footer(replay_examples);
  command->add_option("trace", options->trace, "a file that --record-trace wrote")
      ->type_name("TRACE");
  add_allocators_option(*command, options->allocators);
  command
      ->add_option(
          "--pool", options->pools,
          "memory for the allocator: auto (ample), 512M, 2G;\n1.5x what the program had in "
          "use at its peak")
      ->capture_default_str()
      ->type_name("LIST");
  bench::ReplaySettings& settings = options->settings;
  command->add_option("--runs", settings.runs, "timed replays per allocator and pool")
      ->capture_default_str()
      ->transform(bench::between(1, 100000))
      ->type_name("N");
  command
      ->add_option(
          "--window", settings.window,
          "how many events a warp may be ahead of the others\n(approximate); 0 = chosen by the "
          "number of warps")
      ->capture_default_str()
      ->transform(bench::between(0, 1e9))
      ->type_name("N");
  command->add_option("--samples", settings.samples, "of the pool over time, in untimed replays")
      ->capture_default_str()
      ->transform(bench::between(1, 10000))
      ->type_name("N");
  command->add_option("--seconds", settings.seconds, "time limit of a replay")
      ->capture_default_str()
      ->transform(bench::between(0.001, 86400.0))
      ->type_name("S");
  command
      ->add_option("--budget", settings.budget_seconds,
                   "seconds per allocator and pool for warm-up and runs;\n0 = no limit")
      ->capture_default_str()
      ->transform(bench::between(0, 86400.0))
      ->type_name("S");
  command->add_flag("--dry-run", options->dry_run, "print what the trace contains, replay nothing");
  command->add_flag("--over-time", options->over_time, "print the memory held over time, too");
  add_report_options(*command, "result", options->format, options->json);
  add_resume_option(*command, options->resume);
  command->add_flag("--strict", options->strict, "exit with 5 if a request is refused");
  bench::add_shard_option(*command, options->shard);
  add_measured_device_options(*command, options->device);
  command->callback([options, &invocation] {
    invocation.files.reads(options->trace);
    invocation.files.writes(options->json);
    invocation.action = [options, &invocation] { return replay(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
