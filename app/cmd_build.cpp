// SPDX-License-Identifier: MIT
// The command build: builds one tree and reports time, quality, memory and requests.
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/bench_runner.hpp"
#include "bench/build_profile.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/record_trace.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "kdtree/check/validate.hpp"

namespace heapwood::app {

namespace {

constexpr const char* build_examples = R"(Examples:
  heapwood build atrium
  heapwood build statue:1m --allocator cmalloc --device cuda:0
  heapwood build model.obj --refs ids --pool 20x --strict
  heapwood build pipes --validate --json pipes.json
  heapwood build atrium --allocator heapwood --profile atrium.json
  heapwood build atrium --record-trace atrium.trace    for 'heapwood replay')";

struct BuildCommand {
  std::string scene, allocator = default_allocator, json, profile, trace;
  bool strict = false, validate = false;
  BuildSettings settings;
  DeviceOptions device;
};

// Loads the scene and returns f(scene, announce), with a progress line of `steps` steps.
template <class F>
auto with_scene(const BuildCommand& command, const Allocator& entry, const simt::DeviceInfo& device,
                std::size_t steps, F f) {
  Progress progress;
  auto announce = [&, step = std::size_t{0}](const std::string& what) mutable {
    progress.update(step++, steps, what);
  };
  announce(command.scene + ": loading");
  PreparedScene scene(command.scene, device, command.settings, pool_needs({&entry}));
  return f(scene, announce);
}

Exit profile(const BuildCommand& command, const std::vector<std::string>& argv) {
  const Allocator& entry = find_builder(command.allocator);
  const simt::DeviceInfo device = choose_measured_device(command.device, {&entry});
  check_profile(command.settings, entry, device);
  OutputFile file(command.profile);
  const ProfiledBuild built =
      with_scene(command, entry, device, 4, [&](PreparedScene& scene, auto& announce) {
        return profile_build(scene, entry, command.settings, announce);
      });
  Json json = report_head(profile_schema, argv, device);
  json["settings"] = to_json(command.settings);
  json["results"].push_back(to_json(built));
  const std::optional<Error> write_error = write_report(&file, json);
  print_tables({profile_table(built)});
  if (write_error) throw *write_error;
  if (built.status == Status::incomplete) warning(built.reason + "; use --pool auto");
  return Exit::done;
}

Exit record(const BuildCommand& command) {
  const Allocator& entry = find_builder(command.allocator);
  if (entry.traits->frees != alloc::Frees::individually) {
    throw_error(Exit::usage,
                "build: {} does not free, so a trace has no frees; record with another --allocator",
                command.allocator);
  }
  return write_trace(command.trace, [&] {
    const simt::DeviceInfo device =
        choose_device(command.device, {&entry}, CpuNote::when_work_starts);
    alloc::ProgramTrace trace =
        with_scene(command, entry, device, 3, [&](PreparedScene& scene, auto& announce) {
          return record_build(scene, entry, device, command.settings, announce);
        });
    if (trace.requests == 0)
      throw_error(Exit::failed,
                  "build: --record-trace: no request succeeded, {} refused in a pool of "
                  "{}; use --pool auto",
                  count_text(trace.refused), bytes_text(trace.pool_bytes));
    return trace;
  });
}

Exit build(const BuildCommand& command, const std::vector<std::string>& argv) {
  BenchJob job;
  job.scenes = {command.scene};
  job.allocators = {&find_builder(command.allocator)};
  job.settings = command.settings;
  const std::unique_ptr<OutputFile> file = open_output(command.json);
  job.device = choose_measured_device(command.device, job.allocators);
  BenchResult bench;
  std::vector<std::string> violations;
  {
    Progress progress;
    BenchEvents events;
    events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    };
    if (command.validate) {
      events.tree_built = [&](PreparedScene& scene, Result&) {
        progress.update(0, 1, "validating the tree");
        violations = kdtree::validate(scene.tree(), scene.view());
      };
    }
    bench = run_bench(job, events);
  }
  if (bench.scene_error) throw *bench.scene_error;
  const Result& result = bench.results.front();
  if (!result.tree) {
    if (bench.interrupted)
      throw Error(Exit::failed, "build: interrupted before the first tree was built");
    throw_error(Exit::failed, "{}: {}: {}", result.allocator, result.scene, result.reason);
  }
  const std::optional<Error> write_error =
      write_report(file.get(), bench_report(argv, job.device, bench.results));
  fmt::print("{}", build_text(result, device_text(job.device), terminal_style()));
  if (command.validate && violations.empty())
    fmt::print("\nThe tree is valid: each leaf contains every triangle that touches it.\n");

  if (write_error) throw *write_error;
  if (!violations.empty()) {
    throw_error(Exit::failed, "{}: {}: the tree is invalid: {} ({} violations found)",
                result.allocator, result.scene, violations.front(), violations.size());
  }
  if (result.status == Status::failed) {
    throw_error(Exit::failed, "{}: {}: {}", result.allocator, result.scene, result.reason);
  }
  if (result.status == Status::incomplete) {
    if (command.strict) throw Error(Exit::exhausted, exhaustion_text(result));
    warning(exhaustion_text(result));
  } else {
    warn_of_large_leaf(result.scene, result.tree->largest_leaf);
  }
  if (bench.interrupted)
    throw Error(Exit::failed, "build: interrupted; the results so far are above");
  return Exit::done;
}

}  // namespace

void add_build(Program& program, Invocation& invocation) {
  auto options = std::make_shared<BuildCommand>();
  CommandOptions command(program, "build", "build one tree: time, quality, memory, requests",
                         build_examples);
  command.text("scene", options->scene, "scene name or file path (heapwood list scenes)", "SCENE");
  add_allocator(command, options->allocator);
  add_build_options(command, options->settings, true);
  add_measured_device(command, options->device);
  command.flag("--strict", options->strict, "exit with 5 if the pool is exhausted");
  command.flag("--validate", options->validate, "check the tree against the triangles");
  add_json(command, options->json);
  command.text(
      "--profile", options->profile,
      "write the time of each phase and of the allocator\ninstead (docs/measuring.md); for "
      "heapwood and atomic,\nclipped refs",
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
    reads_scene(invocation.files, options->scene);
    invocation.files.writes(options->json, options->profile, options->trace);
    invocation.action = [options, &invocation] {
      require_scene("build", options->scene);
      if (!options->trace.empty()) return record(*options);
      return options->profile.empty() ? build(*options, invocation.argv)
                                      : profile(*options, invocation.argv);
    };
  });
}

}  // namespace heapwood::app
