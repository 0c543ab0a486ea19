// SPDX-License-Identifier: MIT
// The commands strings and particles: workloads of steps with every allocator (docs/workloads.md).
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/record_trace.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"
#include "bench/steps_bench.hpp"

namespace heapwood::app {

namespace {

constexpr const char* strings_examples = R"(Examples:
  heapwood strings                          random strings, every allocator
  heapwood strings --rows 10M --pool 4x     ten million, in an ample pool only
  heapwood strings notes.txt --allocators heapwood,halloc
Random strings have 1 byte to 64 KiB; of a text file each line is a row.)";

constexpr const char* particles_examples = R"(Examples:
  heapwood particles                        a steady population, every allocator
  heapwood particles --population doubling --rounds 200
  heapwood particles --particles 1M --pool 4x --allocators heapwood,halloc)";

// The clearly fastest allocator of a pool in a step, or in all steps.
const StepsRow* fastest(const StepsBench& bench, const std::vector<StepsRow>& rows,
                        const std::string& pool, std::optional<std::size_t> step) {
  return find_fastest(pointers_to(rows),
                      [&](const StepsRow& row) -> const std::vector<double>* {
                        if (row.pool != pool || row.allocator == bench.workload.baseline)
                          return nullptr;
                        return step ? &row.steps[*step].ms : &row.runs_ms;
                      })
      .row;
}

// For each pool the rates of all steps, refusals and memory.
Table steps_table(const StepsBench& bench, const std::vector<StepsRow>& rows) {
  const StepsWorkload& workload = bench.workload;
  const bool has_steps = workload.steps.size() > 1;
  Table table;
  table.title = fmt::format("{}: {}{}s per second, {} in use at the peak, median of {}",
                            workload.input, workload.per_second > 1 ? "million " : "",
                            workload.unit, bytes_text(workload.peak_bytes),
                            plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"));
  table.columns = columns_of("allocator<");
  for (const StepSamples& step : workload.steps) table.columns.push_back({step.name});
  table.columns.push_back({"all [ms]"});
  table.columns.push_back({"refused"});
  table.columns.push_back({"held / live"});
  add_lines_by_pool(
      table, rows,
      "held: neither free nor the allocator's tables; live: bytes requested and not freed; the max "
      "of all inspections with at least half of the peak in use",
      [&](const StepsRow& row, std::vector<Cell>& cells) {
        bool has_fastest = false;
        const auto add = [&](const std::string& text, std::optional<std::size_t> step) {
          const bool is_best = fastest(bench, rows, row.pool, step) == &row;
          cells.emplace_back(text, is_best);
          has_fastest |= is_best;
        };
        for (std::size_t i = 0; i < row.steps.size(); ++i) {
          std::optional<double> rate = row.steps[i].rate();
          if (rate) *rate /= workload.per_second;
          if (has_steps)
            add(figure_text(rate), i);
          else
            cells.emplace_back(figure_text(rate));
        }
        add(figure_text(median(row.runs_ms)), std::nullopt);
        append(cells, count_text(row.sum_of(&StepSamples::refused)),
               ratio_text(row.held_over_live()));
        return has_fastest;
      });
  return table;
}

constexpr const char* steps_columns =
    "source digest allocator label lower_bound pool pool_bytes status reason step=.phase "
    "items=.items samples=.runs_ms#|0 median_ms=.median_ms q1_ms=.q1_ms q3_ms=.q3_ms "
    "items_per_second=.items_per_second requests=.requests refused=.refused|0 "
    "all_ms=median_ms reset_ms~ held_over_live";

struct StepsCommand {
  const char *name, *count_option;
  StepsWorkload (*workload)(const StepsSettings&, const simt::DeviceInfo&);
  std::string pools, count{}, trace{};
  StepsSettings settings{};
  MeasuringOptions measuring{};
};

Exit measure_steps(const StepsCommand& command, const std::vector<std::string>& argv) {
  constexpr std::uint32_t max_count = 200'000'000;
  StepsBench bench;
  bench.settings = command.settings;
  bench.settings.pools = parse_peak_pools(command.pools, false);
  if (!command.count.empty())
    bench.settings.count = parse_count(command.count_option, command.count, max_count);
  Allocators candidates = find_allocators(command.measuring.allocators);
  Measuring measuring(command.name, command.measuring);
  candidates.push_back(nullptr);  // the method without an allocator
  candidates = shard_of(candidates, measuring.shard());
  bench.has_baseline = std::erase(candidates, nullptr) != 0;
  bench.allocators = candidates;
  bench.device = measuring.start(bench.allocators);
  bench.workload = command.workload(bench.settings, bench.device);
  if (!command.trace.empty())
    return write_trace(command.trace, [&] { return record_steps(bench); });
  const auto report = [&](const std::vector<StepsRow>& rows) {
    return report_of(bench.workload.schema, argv, bench.device, rows);
  };
  if (bench.allocators.empty() && !bench.has_baseline)
    return measuring.finish_empty_shard(report({}));
  bench.kept = measuring.resume([&] { return read_steps(command.measuring.json, bench); });
  const std::vector<StepsRow> rows =
      measuring.measure([&](const OnStep& on_step) { return run_steps(bench, on_step); });
  return measuring.finish(
      rows, report(rows),
      {.csv_columns = steps_columns, .tables = {steps_table(bench, rows)}, .csv_list = "phases"});
}

// Declares the options after the input, and sets the files and the action of a chosen command.
void add_steps(CommandOptions& command, const std::shared_ptr<StepsCommand>& options,
               Invocation& invocation) {
  MeasuringOptions& measuring = options->measuring;
  StepsSettings& settings = options->settings;
  command.number("--seed", settings.seed, "seed of the random numbers", {0, UINT32_MAX});
  add_allocators(command, measuring.allocators);
  command.text("--pool", options->pools,
               "memory for the allocator: 2x is twice the bytes in use\nat the peak; 512M, 2G",
               "LIST");
  command.number("--runs", settings.runs, "timed runs per allocator and pool", {1, 100000});
  command.number("--seconds", settings.seconds,
                 "time limit of a step, which is all rounds of particles", {0.001, 86400}, "S");
  command.number("--budget", settings.budget_seconds,
                 "seconds of kernels per allocator and pool; 0: no limit", {0, 86400}, "S");
  add_report(command, measuring, "step");
  add_resume(command, measuring);
  command.flag("--strict", measuring.strict, "exit with 5 if a request is refused");
  command.text("--record-trace", options->trace,
               "write the requests to a file for 'heapwood replay',\nuntimed (docs/workloads.md)",
               "FILE");
  command.exclude("--record-trace", "--json");
  add_shard_and_device(command, measuring);
  command.when_chosen([options, &invocation] {
    invocation.files.reads(options->settings.file);
    invocation.files.writes(options->measuring.json, options->trace);
    invocation.action = [options, &invocation] { return measure_steps(*options, invocation.argv); };
  });
}

}  // namespace

void add_strings(Program& program, Invocation& invocation) {
  const auto options =
      std::make_shared<StepsCommand>(StepsCommand{"strings", "--rows", strings_workload, "4x,2x"});
  CommandOptions command(program, "strings", "strings of a data frame with every allocator",
                         strings_examples);
  command.text("file", options->settings.file, "a text file; default: random strings", "FILE");
  command.text("--rows", options->count,
               "number of random strings: 1000, 100K, 10M; default: 1M,\non the CPU 100K", "N");
  add_steps(command, options, invocation);
}

void add_particles(Program& program, Invocation& invocation) {
  const auto options = std::make_shared<StepsCommand>(
      StepsCommand{"particles", "--particles", particles_workload, "4x,2x,1.5x"});
  CommandOptions command(program, "particles", "lists of particles with every allocator",
                         particles_examples);
  command.choice("--population", options->settings.population,
                 "how the number of secondaries changes", {"steady", "doubling", "collapsing"});
  command.text("--particles", options->count,
               "number of particles with a list: 1000, 1M; default: 1M,\non the CPU 10K", "N");
  command.number("--rounds", options->settings.rounds, "rounds per run", {1, 10000});
  add_steps(command, options, invocation);
}

}  // namespace heapwood::app
