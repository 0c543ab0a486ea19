// SPDX-License-Identifier: MIT
// The command bench: measures build times with every allocator, like RegEff tables 3 and 4.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/result.hpp"
#include "scenes/scene.hpp"

namespace heapwood::app {

namespace {

constexpr const char* bench_examples = R"(Examples:
  heapwood bench atrium statue stadium
  heapwood bench atrium:1m --allocators atomic,cfmmalloc --runs 11
  heapwood bench sponza.obj --refs ids --pool 200x        as in the papers
  heapwood bench atrium statue --json out.json --resume   continues after Ctrl-C
  heapwood bench atrium --pool live:2,live:4,20x,fast    slowdown over the size of the pool
  heapwood bench atrium --format csv > atrium.csv)";

struct BenchOptions {
  std::vector<std::string> scenes;
  BuildSettings settings;
  std::vector<PoolSize> pools;
  MeasuringOptions measuring;
};

// Refuses two files with the same name and content, whose results could not be told apart.
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
      throw_error(Exit::usage, "bench: {} and {} have the same name and contents; give one of them",
                  one_line(equal->second), one_line(scene));
    }
    by_name.emplace(name, scene);
  }
}

// Reports misspelt names and missing files before any measurement starts.
void check_scenes(std::vector<std::string>& scenes) {
  require_scene("bench", scenes.empty() ? "" : scenes.front());
  std::vector<std::string> once;
  for (const std::string& scene : scenes) {
    if (std::ranges::find(once, scene) == once.end()) once.push_back(scene);
    std::error_code ignored;
    // Calls load() for its error message.
    if (!scenes::parse_scene_name(scene) && !std::filesystem::is_regular_file(scene, ignored))
      scenes::load(scene);
  }
  refuse_equal_files(once);
  scenes = once;
}

std::vector<Result> in_pool(const std::vector<Result>& all, const std::string& pool) {
  std::vector<Result> some;
  for (const Result& result : all) {
    if (result.settings.pool.text == pool) some.push_back(result);
  }
  return some;
}

std::vector<Table> tables_of(const BenchJob& job, const std::vector<Result>& all) {
  std::vector<Table> tables{pool_table(all)};
  const bool several = job.pools.size() > 1;
  for (const PoolSize& pool : several ? job.pools : std::vector{job.settings.pool}) {
    const std::vector<Result> results = several ? in_pool(all, pool.text) : all;
    for (Table table : {slowdown_table(results), fragmentation_table(results)}) {
      if (several) table.title += ", --pool " + pool.text;
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

void warn_of_large_leaves(const std::vector<Result>& results) {
  // Scenes of which a tree was checked: all trees of a scene are equal.
  std::vector<std::string> sources;
  for (const Result& result : results) {
    if (result.status != Status::ok || !result.tree) continue;
    if (std::ranges::find(sources, result.source) != sources.end()) continue;
    sources.push_back(result.source);
    warn_of_large_leaf(result.scene, result.tree->largest_leaf);
  }
}

Exit bench(BenchOptions options, const std::vector<std::string>& argv) {
  check_scenes(options.scenes);
  Measuring measuring("bench", options.measuring);
  BenchJob job;
  // A shard has whole scenes, because the allocators of a scene are interleaved and share the pool.
  job.scenes = shard_of(options.scenes, measuring.shard());
  job.allocators = find_allocators(options.measuring.allocators);
  job.settings = options.settings;
  if (options.pools.size() > 1) job.pools = options.pools;
  job.device = measuring.start(job.allocators);
  // All allocators have one pool size: AtomicMalloc's, plus what allocators cache per warp
  // (pool_needs()).
  job.pool_probe = registry::find("atomic");
  if (job.scenes.empty()) return measuring.finish_empty_shard(bench_report(argv, job.device, {}));
  job.kept = measuring.resume([&] { return read_earlier_results(options.measuring.json, job); });

  std::size_t remaining = job.scenes.size();
  const auto report_of = [&](const BenchResult& so_far) {
    Json report = bench_report(argv, job.device, so_far.results);
    // Read by merge, if the process was interrupted or killed before it measured the last scene.
    if (remaining > 0) report["remaining_scenes"] = remaining;
    return report;
  };
  const BenchResult result = measuring.measure([&](const OnStep& on_step) {
    BenchEvents events;
    events.progress = on_step;
    events.scene_done = [&](const BenchResult& so_far) {
      if (!so_far.interrupted) --remaining;
      measuring.write(report_of(so_far));
    };
    return run_bench(job, events);
  });
  measuring.show(report_of(result), {.csv_columns = bench_columns,
                                     .tables = tables_of(job, result.results),
                                     .notes = {method_line(result.results)}});
  warn_of_large_leaves(result.results);
  measuring.check(result.results, result.scene_error);
  if (std::ranges::none_of(result.results,
                           [](const Result& one) { return one.tree || !one.runs_ms.empty(); }))
    throw Error(Exit::failed, "bench: nothing was measured; the reasons are below the table");
  return Exit::done;
}

}  // namespace

void add_bench(Program& program, Invocation& invocation) {
  auto options = std::make_shared<BenchOptions>();
  MeasuringOptions& measuring = options->measuring;
  CommandOptions command(program, "bench", "build times with every allocator", bench_examples);
  command.texts("scene", options->scenes, "scene names or file paths (heapwood list scenes)",
                "SCENE");
  add_allocators(command, measuring.allocators);
  add_report(command, measuring, "result");
  add_resume(command, measuring);
  add_build_options(command, options->settings, true, &options->pools);
  add_shard_and_device(command, measuring);
  command.when_chosen([options, &invocation] {
    for (const std::string& scene : options->scenes) reads_scene(invocation.files, scene);
    invocation.files.writes(options->measuring.json);
    invocation.action = [options, &invocation] { return bench(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
