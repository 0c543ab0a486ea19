// SPDX-License-Identifier: MIT
// heapwood bench: build times with every allocator, as RegEff tables 3 and 4.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/leaf_warning.hpp"
#include "app/output/print_tables.hpp"
#include "app/output/profile_table.hpp"
#include "app/report_options.hpp"
#include "bench/bench_runner.hpp"
#include "bench/earlier_results.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/json_report.hpp"
#include "bench/shard.hpp"
#include "scenes/scene.hpp"

namespace heapwood::app {

namespace {

constexpr const char* bench_examples = R"(Examples:
  heapwood bench atrium statue stadium
  heapwood bench atrium:1m --allocators atomic,cfmmalloc --runs 11
  heapwood bench sponza.obj --refs ids --pool 200x        as in the papers
  heapwood bench atrium statue --json out.json --resume   continues after Ctrl-C
  heapwood bench atrium --pool live:2,live:4,20x,fast    slowdown over the size of the pool
  heapwood bench atrium --profile shares.json            share of malloc and free
  heapwood bench atrium --format csv > atrium.csv)";

struct BenchOptions {
  std::vector<std::string> scenes;
  std::string allocators = "all";
  std::string format = "table";
  std::string json, profile, shard;
  bool resume = false;
  bench::BuildSettings settings;
  std::vector<bench::PoolSize> pools;
  bench::DeviceOptions device;
};

// The results of two files of the same name and contents could not be told apart.
void refuse_equal_files(const std::vector<std::string>& scenes) {
  std::multimap<std::string, std::string> by_name;  // "m.obj" -> "folder/m.obj"
  for (const std::string& scene : scenes) {
    if (scenes::parse_scene_name(scene)) continue;
    const std::string name = std::filesystem::path(scene).filename().string();
    const auto [begin, end] = by_name.equal_range(name);
    const auto equal = std::find_if(begin, end, [&](const auto& other) {
      return scenes::digest(scene) == scenes::digest(other.second);
    });
    if (equal != end) {
      throw Error(Exit::usage,
                  fmt::format("bench: {} and {} have the same name and contents; give one of them",
                              bench::one_line(equal->second), bench::one_line(scene)));
    }
    by_name.emplace(name, scene);
  }
}

// Reports misspelt names and missing files before any measurement starts.
void check_scenes(std::vector<std::string>& scenes) {
  if (scenes.empty()) {
    throw Error(Exit::usage,
                "bench: no scene given: try 'heapwood bench atrium', or name an "
                "OBJ, PLY or glTF file; see 'heapwood list scenes'");
  }
  std::vector<std::string> once;
  for (const std::string& scene : scenes) {
    if (std::find(once.begin(), once.end(), scene) == once.end()) once.push_back(scene);
    std::error_code ignored;
    // load() throws the appropriate error.
    if (!scenes::parse_scene_name(scene) && !std::filesystem::is_regular_file(scene, ignored))
      scenes::load(scene);
  }
  refuse_equal_files(once);
  scenes = once;
}

std::vector<bench::Result> in_pool(const std::vector<bench::Result>& all, const std::string& pool) {
  std::vector<bench::Result> some;
  for (const bench::Result& result : all) {
    if (result.settings.pool.text == pool) some.push_back(result);
  }
  return some;
}

void print_report(const BenchOptions& options, const bench::BenchJob& job,
                  const bench::BenchResult& bench, const bench::Json& report) {
  if (options.format == "json") {
    fmt::print("{}", bench::json_text(report));
    return;
  }
  if (options.format == "csv") {
    fmt::print("{}", bench::to_csv(bench::flat_table(bench.results)));
    return;
  }
  std::vector<bench::Table> tables;
  const auto add = [&](bench::Table table) {
    if (!table.columns.empty()) tables.push_back(std::move(table));
  };
  add(pool_table(bench.results));
  const bool several = job.pools.size() > 1;
  for (const bench::PoolSize& pool : several ? job.pools : std::vector{job.settings.pool}) {
    const std::vector<bench::Result> results =
        several ? in_pool(bench.results, pool.text) : bench.results;
    for (bench::Table table : {slowdown_table(results), fragmentation_table(results)}) {
      if (several) table.title += ", --pool " + pool.text;
      add(std::move(table));
    }
  }
  add(kernel_table(in_pool(bench.results, job.settings.pool.text)));
  add(builder_table(in_pool(bench.results, job.settings.pool.text)));
  for (std::string& line :
       bench::method_lines(bench.results, bench::device_text(job.device), bench::version_line()))
    tables.back().notes.push_back(line);
  print_tables(tables, options.format);
}

void warn_of_large_leaves(const std::vector<bench::Result>& results) {
  std::vector<std::string> sources;  // all trees of a scene are equal
  for (const bench::Result& result : results) {
    if (result.status != bench::Status::ok || !result.tree) continue;
    if (std::find(sources.begin(), sources.end(), result.source) != sources.end()) continue;
    sources.push_back(result.source);
    warn_of_large_leaf(result.scene, result.tree->largest_leaf);
  }
}

Exit bench(BenchOptions options, const std::vector<std::string>& argv) {
  if (options.resume && options.json.empty())
    throw Error(Exit::usage, "bench: --resume needs the file to continue: add --json FILE");
  check_scenes(options.scenes);
  const bench::Shard shard = bench::chosen_shard(options.shard);
  // The allocators of a scene stay together: they are interleaved and have the same pool.
  options.scenes = bench::shard_of(options.scenes, shard);
  bench::check_shard_file(options.json, shard);
  bench::BenchJob job;
  job.scenes = options.scenes;
  job.allocators = bench::find_allocators(options.allocators);
  if (options.settings.builder == bench::Builder::per_level) {
    job.allocators.clear();
    if (options.allocators != "all")
      bench::note("--allocators does not apply to --builder per-level; ignored");
  }
  job.settings = options.settings;
  if (options.pools.size() > 1) job.pools = options.pools;
  std::unique_ptr<bench::OutputFile> file;
  if (!options.json.empty()) file = std::make_unique<bench::OutputFile>(options.json);
  job.device = choose_measured_device(options.device);
  bench::check_multiprocessors(job.settings, job.device);
  if (job.settings.builder != bench::Builder::single)
    host_alloc::find_host_allocator(job.settings.host_allocator, job.device.id);
  // One pool size for all: what AtomicMalloc needs, plus what allocators cache per warp
  // (pool_needs()).
  job.pool_probe = registry::find("atomic");
  if (options.scenes.empty()) {
    bench::finish_empty_shard(file.get(), bench::bench_report(argv, job.device, {}), shard);
    return Exit::done;
  }
  bench::Earlier<bench::Result> earlier;
  if (options.resume) earlier = bench::read_earlier_results(options.json, job);
  job.kept = earlier.kept;

  std::size_t better = 0;  // earlier results that stay in the file
  std::size_t remaining = options.scenes.size();
  const auto report_of = [&](const bench::BenchResult& so_far) {
    bench::Json report = bench::bench_report(argv, job.device, so_far.results);
    bench::add_shard(report, shard);
    // For merge, if the process is interrupted or killed before the last scene is measured.
    if (remaining > 0) report["remaining_scenes"] = remaining;
    better = bench::add_earlier(report, earlier.results);
    return report;
  };
  bench::BenchResult result;
  std::optional<Error> write_error;  // of the last attempt: the table is printed in any case
  {
    bench::Progress progress;
    bench::BenchEvents events;
    events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    };
    events.scene_done = [&](const bench::BenchResult& so_far) {
      if (!so_far.interrupted) --remaining;
      if (file) write_error = write_report(file.get(), report_of(so_far));
    };
    result = bench::run_bench(job, events);
  }
  print_report(options, job, result, report_of(result));
  warn_of_large_leaves(result.results);
  note_better(options.json, better);
  if (result.scene_error) throw *result.scene_error;
  if (write_error) throw *write_error;
  std::size_t failed = 0, measured = 0;
  for (const bench::Result& one : result.results) {
    failed += one.status == bench::Status::failed;
    measured += one.tree || !one.runs_ms.empty();
  }
  if (failed)
    throw Error(Exit::failed,
                fmt::format("bench: {} of {} measurements failed; the reasons are below the table",
                            failed, result.results.size()));
  if (result.interrupted) {
    throw Error(
        Exit::failed,
        options.json.empty()
            ? std::string("bench: interrupted; the results so far are above")
            : fmt::format(
                  "bench: interrupted; the results so far are in {}; continue with --resume",
                  options.json));
  }
  if (measured == 0)
    throw Error(Exit::failed, "bench: nothing was measured; the reasons are below the table");
  return Exit::done;
}

// Builds of all allocators with and without the probe, instead of the benchmark.
Exit profile(BenchOptions options, const std::vector<std::string>& argv) {
  check_scenes(options.scenes);
  if (options.pools.size() > 1)
    throw Error(Exit::usage, "bench: --profile measures in one pool: give one --pool");
  bench::refuse_live_pool(options.settings.pool, "bench --profile");
  options.settings.builder = bench::Builder::single;  // the default is both
  bench::check_profile(options.settings);
  const auto allocators = bench::find_allocators(options.allocators);
  bench::OutputFile file(options.profile);
  const simt::DeviceInfo device = choose_measured_device(options.device);
  bench::check_multiprocessors(options.settings, device);
  auto in_pool = allocators;  // also those that size the pool
  if (const registry::RegisteredAllocator* probe = registry::find("atomic"))
    in_pool.push_back(probe);
  bench::Json json = bench::report_head(bench::profile_schema, argv, device);
  json["settings"] = bench::to_json(options.settings);
  std::size_t failed = 0, measured = 0;
  for (const std::string& source : options.scenes) {
    std::vector<bench::ProfiledBuild> all;
    {
      bench::Progress progress;
      std::size_t step = 0;
      const std::size_t steps =
          allocators.size() * (static_cast<std::size_t>(options.settings.runs) + 2) + 2;
      const auto announce = [&](const std::string& what) {
        progress.update(std::min(step++, steps), steps, what);
      };
      announce(source + ": loading");
      bench::PreparedScene scene(source, device, options.settings, bench::pool_needs(in_pool));
      all = bench::profile_builds(scene, allocators, device, options.settings, announce);
    }
    for (const bench::ProfiledBuild& built : all) {
      json["results"].push_back(bench::to_json(built));
      failed += built.status == bench::Status::failed;
      ++measured;
    }
    const std::optional<Error> write_error = write_report(&file, json);
    for (const bench::Table& table : {allocator_share_table(all), level_table(all)}) {
      if (!table.columns.empty())
        fmt::print("{}\n", bench::to_text(table, bench::terminal_style()));
    }
    if (write_error) throw *write_error;
  }
  fmt::print("device: {}; {}\n", bench::device_text(device), bench::version_line());
  if (failed)
    throw Error(Exit::failed,
                fmt::format("bench: {} of {} measurements failed; the reasons are below the table",
                            failed, measured));
  return Exit::done;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<BenchOptions>();
  options->settings.builder = bench::Builder::both;
  CLI::App* command =
      app.add_subcommand("bench", "build times with every allocator, and of both builders");
  command->footer(bench_examples);
  command->add_option("scene", options->scenes, "scene names or file paths (heapwood list scenes)")
      ->type_name("SCENE");
  add_allocators_option(*command, options->allocators);
  add_report_options(*command, "result", options->format, options->json);
  add_resume_option(*command, options->resume);
  bench::add_shard_option(*command, options->shard);
  CLI::Option* profile_file =
      command
          ->add_option("--profile", options->profile,
                       "write the share of malloc and free in the build with each\nallocator "
                       "instead (docs/measuring.md); clipped refs,\nsingle kernel")
          ->type_name("FILE");
  bench::add_builder_option(*command, options->settings, true);
  for (const char* other : {"--json", "--format", "--resume", "--shard", "--builder"})
    profile_file->excludes(command->get_option(other));
  bench::add_build_options(*command, options->settings, true, &options->pools);
  bench::add_multiprocessors_option(*command, options->settings);
  add_measured_device_options(*command, options->device);
  command->callback([options, &invocation] {
    for (const std::string& scene : options->scenes) invocation.files.reads_scene(scene);
    for (const std::string& path : {options->json, options->profile}) invocation.files.writes(path);
    invocation.action = [options, &invocation] {
      options->settings.host_allocator = level_allocator(invocation.host);
      if (!options->profile.empty()) {
        return profile(*options, invocation.argv);
      }
      return bench(*options, invocation.argv);
    };
  });
}

}  // namespace heapwood::app
