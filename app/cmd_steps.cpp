// SPDX-License-Identifier: MIT
// The commands strings and particles: workloads of steps with every allocator (docs/workloads.md).
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/record_trace.hpp"
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
    for (const std::string& path : {options->measuring.json, options->trace})
      invocation.files.writes(path);
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
