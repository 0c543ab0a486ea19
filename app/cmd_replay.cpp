// SPDX-License-Identifier: MIT
// The command replay: repeats a recorded program's requests with every allocator
// (docs/workloads.md).
#include <memory>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"

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

using workloads::ReplaySample;
using workloads::TraceSummary;

template <class Histogram>
void add_power_rows(Table& table, const std::string& title, const Histogram& histogram,
                    std::uint64_t total, bool is_bytes) {
  if (total == 0) return;
  table.add_heading(title);
  for (std::size_t k = 0; k < histogram.size(); ++k) {
    if (histogram[k] == 0) continue;
    const std::uint64_t end = std::uint64_t{1} << k;
    table.add({"up to " + (is_bytes ? size_text(end) : count_text(end)), count_text(histogram[k]),
               fmt::format("{:.1f}%",
                           100 * static_cast<double>(histogram[k]) / static_cast<double>(total))});
  }
}

Table trace_table(const ReplayBench& bench) {
  const TraceSummary& summary = bench.summary;
  Table table;
  table.title = bench.name;
  if (!bench.trace->source.empty()) table.title += ": " + bench.trace->source;
  table.columns = {{"", true}, {"", false}, {"share"}};
  const auto add = [&](const char* what, const std::string& figure) {
    table.add({what, figure, ""});
  };
  add("requests", count_text(summary.requests));
  add("frees", count_text(summary.frees));
  add("frees by another warp or kernel", count_text(summary.other_frees));
  add("kernels", count_text(summary.kernels));
  add("max warps that allocate or free in a kernel", count_text(summary.warps));
  add("requested in all", bytes_text(summary.requested));
  add("peak bytes in use", bytes_text(summary.peak_bytes));
  add("blocks in use at the peak", count_text(summary.peak_blocks));
  add("in use at the end", bytes_text(summary.end_bytes));
  add("pool of the recorded run", bytes_text(bench.trace->pool_bytes));
  add_power_rows(table, "size of a request", summary.sizes, summary.requests, true);
  add_power_rows(table, "events from a request to its free", summary.lifetimes, summary.frees,
                 false);
  return table;
}

// For each pool the time, refusals and memory at the peak.
Table replay_table(const ReplayBench& bench, const std::vector<ReplayRow>& rows) {
  Table table;
  table.title =
      fmt::format("{}: replay of {} request{} and {} free{}, peak bytes in use {}, median of {}",
                  bench.name, compact_text(bench.summary.requests),
                  bench.summary.requests == 1 ? "" : "s", compact_text(bench.summary.frees),
                  bench.summary.frees == 1 ? "" : "s", bytes_text(bench.summary.peak_bytes),
                  plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"));
  table.columns = columns_of(
      "allocator<; time [ms]: median, q1, q3, no calls; refused; memory at the peak: held [MiB], "
      "/ live, tables [MiB], internal, external; until the end [MiB]: touched, address");
  add_lines_by_pool(
      table, rows,
      "no calls: the replay without the allocator; held: neither free nor the allocator's tables; "
      "live: bytes requested and not freed; external: 1 - largest free region / all free memory, "
      "neighbours merged; touched: bytes that were ever part of a block; address: end of the "
      "highest block",
      [&](const ReplayRow& row, std::vector<Cell>& cells) {
        const auto times_in_pool = [&](const ReplayRow& other) {
          return other.pool == row.pool ? &other.runs_ms : nullptr;
        };
        const ReplayRow* const best = find_fastest(pointers_to(rows), times_in_pool).row;
        cells.emplace_back(figure_text(row.median_ms()), best == &row);
        append(cells, figure_text(quantile(row.runs_ms, .25)),
               figure_text(quantile(row.runs_ms, .75)), figure_text(median(row.floor_ms)),
               count_text(row.refused));
        const std::optional<double> held = median(row.peak_held_bytes);
        const ReplaySample* const peak = row.peak();
        if (held && peak && peak->pool.fragmentation.measured) {
          const ReplaySample& end = row.samples.back();
          const alloc::Fragmentation& at_peak = peak->pool.fragmentation;
          append(cells, mib_text(static_cast<std::uint64_t>(*held)),
                 ratio_text(row.held_over_live()), mib_text(at_peak.metadata_bytes),
                 figure_text(at_peak.internal), figure_text(at_peak.external_merged),
                 mib_text(end.touched_bytes), mib_text(end.address_bytes));
        }
        return best != nullptr;
      });
  return table;
}

constexpr const char* replay_columns =
    "trace digest allocator label lower_bound pool pool_bytes status reason samples=runs_ms# "
    "median_ms q1_ms q3_ms floor_ms~ reset_ms~ requests refused?median_ms "
    "peak_held_bytes=memory/peak_held_bytes~ peak_held_over_live=memory/held_over_live "
    "peak_live_bytes=memory/peak/live_bytes?memory/peak/held_bytes "
    "peak_metadata_bytes=memory/peak/metadata_bytes "
    "peak_internal_fragmentation=memory/peak/internal_fragmentation "
    "peak_external_fragmentation=memory/peak/external_fragmentation_merged "
    "touched_bytes=memory/over_time/-1/touched_bytes "
    "address_bytes=memory/over_time/-1/address_bytes";

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
    warning("{}: {} frees of blocks that were requested before the recording are left out", path,
            count_text(trace.unmatched));
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
