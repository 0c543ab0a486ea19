// SPDX-License-Identifier: MIT
// heapwood build: builds one tree and reports time, quality, memory and requests.
#include <fmt/format.h>

#include <memory>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/build_report.hpp"
#include "app/output/leaf_warning.hpp"
#include "app/output/profile_table.hpp"
#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/record_trace.hpp"
#include "bench/results/exhaustion.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "kdtree/check/validate.hpp"

namespace heapwood::app {

namespace {

constexpr const char* build_examples = R"(Examples:
  heapwood build atrium
  heapwood build statue:1m --allocator cmalloc --device cuda:0
  heapwood build model.obj --refs ids --pool 20x --strict
  heapwood build atrium --builder per-level --host-allocator segfit
  heapwood build pipes --validate --json pipes.json
  heapwood build atrium --allocator heapwood --profile atrium.json
  heapwood build atrium --record-trace atrium.trace    for 'heapwood replay')";

struct BuildCommand {
  std::string scene, allocator = bench::default_allocator, json, profile, trace;
  bool strict = false, validate = false;
  bench::BuildSettings settings;
  bench::DeviceOptions device;
};

void validate_tree(bench::PreparedScene& scene, std::size_t& violations, std::string& first) {
  const std::vector<std::string> found = kdtree::validate(scene.tree(), scene.view());
  violations = found.size();
  if (!found.empty()) first = found.front();
}

Exit profile(const BuildCommand& command, const std::vector<std::string>& argv) {
  const registry::RegisteredAllocator& entry = bench::find_builder(command.allocator);
  bench::check_profile(command.settings);
  bench::OutputFile file(command.profile);
  const simt::DeviceInfo device = choose_measured_device(command.device);
  bench::check_profile(command.settings, entry, device);
  bench::ProfiledBuild built;
  {
    bench::Progress progress;
    std::size_t step = 0;
    const auto announce = [&](const std::string& what) { progress.update(step++, 4, what); };
    announce(command.scene + ": loading");
    bench::PreparedScene scene(command.scene, device, command.settings,
                               bench::pool_needs({&entry}));
    built = bench::profile_build(scene, entry, command.settings, announce);
  }
  bench::Json json = bench::report_head(bench::profile_schema, argv, device);
  json["settings"] = bench::to_json(command.settings);
  json["results"].push_back(bench::to_json(built));
  const std::optional<Error> write_error = write_report(&file, json);
  bench::print_tables({profile_table(built)});
  if (write_error) throw *write_error;
  if (built.status == bench::Status::incomplete) bench::warning(built.reason + "; use --pool auto");
  return Exit::done;
}

Exit record(const BuildCommand& command) {
  const registry::RegisteredAllocator& entry = bench::find_builder(command.allocator);
  if (command.settings.builder != bench::Builder::single)
    throw Error(Exit::usage, "build: --record-trace needs --builder single");
  if (entry.traits->frees != alloc::Frees::individually) {
    throw Error(Exit::usage, fmt::format("build: {} does not free, so a trace has no frees; record "
                                         "with another --allocator",
                                         command.allocator));
  }
  bench::OutputFile file(command.trace);
  const simt::DeviceInfo device =
      bench::choose_device(command.device, bench::CpuNote::when_work_starts);
  alloc::ProgramTrace trace;
  {
    bench::Progress progress;
    std::size_t step = 0;
    const auto announce = [&](const std::string& what) { progress.update(step++, 3, what); };
    announce(command.scene + ": loading");
    bench::PreparedScene scene(command.scene, device, command.settings,
                               bench::pool_needs({&entry}));
    trace = bench::record_build(scene, entry, device, command.settings, announce);
  }
  if (trace.requests == 0)
    throw Error(Exit::failed,
                fmt::format("build: --record-trace: no request succeeded, {} refused in a pool of "
                            "{}; use --pool auto",
                            bench::count_text(trace.refused), bench::bytes_text(trace.pool_bytes)));
  file.write(alloc::program_trace_file(trace));
  fmt::print("{}\n", bench::recorded_text(command.trace, trace));
  return Exit::done;
}

Exit build(const BuildCommand& command, const std::vector<std::string>& argv) {
  bench::BenchJob job;
  job.scenes = {command.scene};
  if (command.settings.builder == bench::Builder::single)
    job.allocators = {&bench::find_builder(command.allocator)};
  else
    bench::find_allocator(command.allocator);  // not used, but its id is checked
  job.settings = command.settings;
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  job.device = choose_measured_device(command.device);
  if (job.settings.builder != bench::Builder::single)
    host_alloc::find_host_allocator(job.settings.host_allocator, job.device.id);

  bench::BenchResult bench;
  std::size_t violations = 0;
  std::string first_violation;
  {
    bench::Progress progress;
    bench::BenchEvents events;
    events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    };
    if (command.validate) {
      events.tree_built = [&](bench::PreparedScene& scene, bench::Result&) {
        progress.update(0, 1, "validating the tree");
        validate_tree(scene, violations, first_violation);
      };
    }
    bench = bench::run_bench(job, events);
  }
  if (bench.scene_error) throw *bench.scene_error;
  const bench::Result& result = bench.results.front();
  if (!result.tree) {
    if (bench.interrupted)
      throw Error(Exit::failed, "build: interrupted before the first tree was built");
    throw Error(Exit::failed,
                fmt::format("{}: {}: {}", result.allocator, result.scene, result.reason));
  }
  const std::optional<Error> write_error =
      write_report(file.get(), bench::bench_report(argv, job.device, bench.results));
  fmt::print("{}", build_text(result, bench::device_text(job.device), bench::terminal_style()));
  if (command.validate && violations == 0)
    fmt::print("\nThe tree is valid: each leaf contains every triangle that touches it.\n");

  if (write_error) throw *write_error;
  if (violations) {
    throw Error(Exit::failed,
                fmt::format("{}: {}: the tree is invalid: {} ({} violations found)",
                            result.allocator, result.scene, first_violation, violations));
  }
  if (result.status == bench::Status::failed) {
    throw Error(Exit::failed,
                fmt::format("{}: {}: {}", result.allocator, result.scene, result.reason));
  }
  if (result.status == bench::Status::incomplete) {
    if (command.strict) throw Error(Exit::exhausted, bench::exhaustion_text(result));
    bench::warning(bench::exhaustion_text(result));
  } else {
    warn_of_large_leaf(result.scene, result.tree->largest_leaf);
  }
  if (bench.interrupted)
    throw Error(Exit::failed, "build: interrupted; the results so far are above");
  return Exit::done;
}

}  // namespace

void add_build(bench::Program& program, Invocation& invocation) {
  auto options = std::make_shared<BuildCommand>();
  bench::CommandOptions command(program, "build", "build one tree: time, quality, memory, requests",
                                build_examples);
  command.text("scene", options->scene, "scene name or file path (heapwood list scenes)", "SCENE");
  add_allocator(command, options->allocator);
  bench::add_builder_option(command, options->settings, false);
  bench::add_build_options(command, options->settings, true);
  add_measured_device(command, options->device);
  command.flag("--strict", options->strict, "exit with 5 if the pool is exhausted");
  command.flag("--validate", options->validate, "check the tree against the triangles");
  add_json(command, options->json);
  command.text(
      "--profile", options->profile,
      "write the time of each phase and of the allocator\ninstead (docs/measuring.md); for "
      "heapwood and atomic,\nclipped refs, single kernel",
      "FILE");
  command.text("--record-trace", options->trace,
               "write the requests of an untimed build to a file for\n'heapwood replay' "
               "(docs/workloads.md)",
               "FILE");
  for (const char* other : {"--strict", "--validate", "--json"}) {
    command.exclude("--profile", other);
    command.exclude("--record-trace", other);
  }
  command.exclude("--record-trace", "--profile");
  command.when_chosen([options, &invocation] {
    invocation.files.reads_scene(options->scene);
    for (const std::string& path : {options->json, options->profile, options->trace})
      invocation.files.writes(path);
    invocation.action = [options, &invocation] {
      if (options->scene.empty()) {
        throw Error(
            Exit::usage,
            "build: no scene given: try 'heapwood build atrium', or name an OBJ, PLY or glTF "
            "file; see 'heapwood list scenes'");
      }
      options->settings.host_allocator = level_allocator(invocation.host);
      if (!options->trace.empty()) return record(*options);
      return options->profile.empty() ? build(*options, invocation.argv)
                                      : profile(*options, invocation.argv);
    };
  });
}

}  // namespace heapwood::app
