// SPDX-License-Identifier: MIT
#include "bench/bench_runner.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"

namespace heapwood::bench {

namespace {

std::string exhausted_text(const Result& result) {
  return fmt::format("pool of {} exhausted: {} request refused, {} not split",
                     bytes_text(result.pool_bytes.value_or(0)), bytes_text(result.refused_bytes),
                     plural_text(result.refused_splits, "node"));
}

void ignore_failure(const std::exception&) {}

void note_run(Result& result, const kdtree::BuildRun& run) {
  result.warps = run.warps;
  if (!run.incomplete) return;
  result.status = Status::incomplete;
  result.refused_splits = run.failed_splits;
  result.refused_bytes = run.failed_bytes;
}

// Measures one scene in one pool; failures become results.
class SceneBench : public RowBench {
 public:
  // all: the scene's results including reused ones; their trees are compared. step is called before
  // every build, including skipped ones.
  SceneBench(const BenchJob& job, const BenchEvents& events, PreparedScene& scene,
             std::vector<Candidate> candidates, std::vector<Result*> all, Step step)
      : RowBench(std::move(candidates), job.settings.runs, job.budget_seconds, step),
        job_(job),
        events_(events),
        scene_(scene),
        all_(std::move(all)),
        step_(std::move(step)),
        warm_ups_(candidates_.size()) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      result(i).scene = scene_.name();
      result(i).triangles = scene_.triangles();
      result(i).degenerate = scene_.degenerate();
    }
  }

  // kept_bytes: the size of the pool in which reused results were measured.
  void run_all(std::optional<std::uint64_t> kept_bytes) {
    choose_pool(kept_bytes);
    warm_up_in_order();
    // The order of warps varies, so a pool that sufficed for the warm-up may be too small for a
    // run. Such a run enlarges the pool, and then all runs are repeated in that pool.
    std::size_t pool = scene_.pool_bytes();
    while (!measure([&] { return scene_.pool_bytes() == pool; })) {
      pool = scene_.pool_bytes();
      for (std::size_t i = 0; i < candidates_.size(); ++i) discard_runs(i);
    }
    instrument();
    finish();
  }

 private:
  struct WarmUp {
    double ms = 0, reset_ms = 0;
  };

  Result& result(std::size_t i) const { return static_cast<Result&>(*candidates_[i].row); }
  const Allocator& entry(std::size_t i) const { return *candidates_[i].entry; }

  std::string step_name(std::size_t i) const override {
    return fmt::format("{}: {}", scene_.name(), result(i).label);
  }

  void choose_pool(std::optional<std::uint64_t> kept_bytes) {
    if (kept_bytes) return scene_.set_pool(*kept_bytes);
    if (job_.settings.pool.kind == PoolSize::Kind::live_multiple) {
      if (scene_.live_bytes()) return;
      const Allocator* probe = live_probe();
      if (probe) guarded([&] { scene_.measure_live_bytes(*probe); }, ignore_failure);
      // Not guarded, because a pool that cannot be allocated fails for every allocator.
      if (scene_.live_bytes()) scene_.set_live_bytes(*scene_.live_bytes());
      return;
    }
    if (job_.settings.pool.kind != PoolSize::Kind::automatic) return;
    if (job_.pool_probe) {
      guarded([&] { holds_all_ = !scene_.build_growing(*job_.pool_probe).incomplete; },
              ignore_failure);
      return;
    }
    growing_ = true;
  }

  // The allocator whose build finds the max bytes in use, which hardly depend on the allocator: the
  // default one, or else the first that keeps live memory.
  const Allocator* live_probe() const {
    const auto usable = [&](const Allocator* entry) {
      return entry && entry->on(job_.device.id.kind) && entry->traits->keeps_live_memory &&
             !cannot_build(*entry);
    };
    if (const auto* entry = registry::find(default_allocator); usable(entry)) return entry;
    for (const Candidate& candidate : candidates_) {
      if (usable(candidate.entry)) return candidate.entry;
    }
    return nullptr;
  }

  // Without a probe (choose_pool()) the warm-up also sizes the pool of `--pool auto`, which grows
  // until every allocator that keeps live memory completes a build. Allocators that may hand out
  // live memory come last, when the size is known.
  void warm_up_in_order() {
    for (const bool keeps : {true, false})
      warm_up_all([&](std::size_t i) { return entry(i).traits->keeps_live_memory == keeps; });
    if (stopped()) return;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (scene_.has_sized_pool()) result(i).pool_bytes = scene_.pool_bytes();
    }
    compare_trees();
  }

  std::optional<double> warm_up(std::size_t i) override {
    const Allocator& entry = this->entry(i);
    Result& result = this->result(i);
    if (const std::string reason = reason_to_skip(entry); !reason.empty()) {
      skip(i, reason);
      return 0;
    }
    scene_.size_live_pool(entry);
    result.pool_bytes = scene_.pool_bytes();
    const bool grow = growing_ && entry.traits->keeps_live_memory;
    const kdtree::BuildRun build = grow ? scene_.build_growing(entry) : scene_.build(entry);
    note_run(result, build);
    warm_ups_[i] = {build.ms, build.reset_ms};
    result.workspace_bytes = scene_.workspace().overhead_bytes();
    if (job_.device.id.kind == simt::DeviceKind::cuda) {
      const registry::CompiledAllocator& compiled = compiled_for(entry, job_.device);
      result.kernel = compiled.kernel_use(job_.device.id, job_.settings.refs);
      result.calls = compiled.call_use(job_.device.id, false, alloc::LargeBackend::buddy);
    }
    result.tree = scene_.tree_stats();
    if (result.status != Status::incomplete) result.status = Status::ok;
    if (events_.tree_built) events_.tree_built(scene_, result);
    return build.ms;
  }

  std::optional<double> run(std::size_t i) override {
    Result& result = this->result(i);
    const kdtree::BuildRun build =
        growing_ ? scene_.build_growing(entry(i)) : scene_.build(entry(i));
    // The run has enlarged the pool, so measure() discards it.
    if (scene_.pool_bytes() != result.pool_bytes) return 0;
    note_run(result, build);
    result.runs_ms.push_back(build.ms);
    result.reset_ms.push_back(build.reset_ms);
    return build.ms;
  }

  void keep_warm_up(std::size_t i) override {
    result(i).runs_ms.push_back(warm_ups_[i].ms);
    result(i).reset_ms.push_back(warm_ups_[i].reset_ms);
  }

  void discard_runs(std::size_t i) {
    Result& result = this->result(i);
    result.runs_ms.clear();
    result.reset_ms.clear();
    result.pool_bytes = scene_.pool_bytes();
  }

  void instrument() {
    for (std::size_t i = 0; i < candidates_.size() && !stopped(); ++i) {
      Result& result = this->result(i);
      step_(fmt::format("{}: {}, requests and fragmentation", scene_.name(), result.label));
      if (!candidates_[i].running) continue;
      guarded(i, [&] {
        const kdtree::InstrumentedRun run = scene_.build_instrumented(entry(i));
        result.requests = run.requests;
        if (entry(i).traits->in_pool) result.at_end = run.at_end;
      });
      if (!job_.instrument_all && result.requests && result.status == Status::ok) break;
    }
  }

  void judge(std::size_t i) override {
    Result& result = this->result(i);
    if (result.status == Status::incomplete) {
      result.reason = exhausted_text(result);
    } else if (result.runs_ms.empty()) {
      result.status = Status::skipped;
      result.reason = interrupted_reason;
    } else {
      result.reason = reason_of_few_runs(i, result.runs_ms.size());
    }
  }

  std::string reason_to_skip(const Allocator& entry) {
    if (const char* reason = cannot_build(entry)) return reason;
    const std::string reason = reason_not_to_run(entry, job_.device, scene_.pool_bytes());
    if (!reason.empty() || entry.traits->keeps_live_memory || pool_holds_all()) return reason;
    return would_overwrite;
  }

  bool pool_holds_all() {
    if (!holds_all_) {
      holds_all_ = false;
      const Allocator* bump = registry::find("atomic");
      const auto build = [&] {
        return growing_ ? scene_.build_growing(*bump) : scene_.build(*bump);
      };
      if (bump) guarded([&] { holds_all_ = !build().incomplete; }, ignore_failure);
    }
    return *holds_all_;
  }

  // The tree of AtomicMalloc is the reference, because it hands out each address once.
  void compare_trees() {
    const Result* first = nullptr;
    for (const Result* result : all_) {
      if (result->status != Status::ok || !result->tree) continue;
      if (!first || result->allocator == "atomic") first = result;
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      Result& result = this->result(i);
      if (result.status != Status::ok || !result.tree || result.tree->hash == first->tree->hash)
        continue;
      result.wrong_tree = true;
      fail(i, fmt::format("tree differs from {}'s: hash {:016x} instead of {:016x}", first->label,
                          result.tree->hash, first->tree->hash));
    }
  }

  void last_run_done(std::size_t i) override {
    Result& result = this->result(i);
    const std::uint64_t hash = scene_.tree_stats().hash;
    if (result.status != Status::ok || result.tree->hash == hash) return;
    result.wrong_tree = true;
    fail(i, fmt::format("tree differs from run to run: hash {:016x}, then {:016x}",
                        result.tree->hash, hash));
  }

  const BenchJob& job_;
  const BenchEvents& events_;
  PreparedScene& scene_;
  std::vector<Result*> all_;
  Step step_;
  std::vector<WarmUp> warm_ups_;
  std::optional<bool> holds_all_;  // whether a build without frees fits into the pool
  bool growing_ = false;           // whether the pool grows when a build lacks memory
};

Result blank_result(const BenchJob& job, const std::string& source, const std::string& digest,
                    const Allocator& entry) {
  Result result;
  result.source = source;
  result.digest = digest;
  result.scene = source;
  result.set_allocator(*entry.traits);
  result.settings = job.settings;
  result.settings.allocator = entry.options_over(job.settings.allocator);
  result.reason = interrupted_reason;
  return result;
}

bool is_same_measurement(const Result& a, const Result& b) {
  return a.source == b.source && a.allocator == b.allocator && a.settings.pool == b.settings.pool;
}

std::vector<BenchJob> jobs_of_pools(const BenchJob& job) {
  std::vector<BenchJob> jobs;
  for (const PoolSize& pool : job.pools.empty() ? std::vector{job.settings.pool} : job.pools)
    jobs.emplace_back(job).settings.pool = pool;
  return jobs;
}

}  // namespace

const char* cannot_build(const Allocator& entry) {
  if (entry.traits->frees != alloc::Frees::all_at_once) return nullptr;
  return "frees only everything at once; a build frees its arrays one by one";
}

const Allocator& find_builder(const std::string& id) {
  const Allocator& entry = find_allocator(id);
  if (const char* reason = cannot_build(entry))
    throw_error(Exit::usage, "{}: {}; choose another of 'heapwood list allocators'", id, reason);
  return entry;
}

void compute_slowdowns(std::vector<Result*>& scene) {
  const Result* reference = nullptr;
  for (const Result* result : scene) {
    if (result->status != Status::ok || !result->median_ms() || *result->median_ms() <= 0) continue;
    if (result->allocator == "atomic") {
      reference = result;
      break;
    }
    if (!reference && !result->lower_bound) reference = result;
  }
  for (Result* result : scene) {
    result->slowdown.reset();
    result->slowdown_over.clear();
    if (!reference || result->status != Status::ok || !result->median_ms()) continue;
    result->slowdown = *result->median_ms() / *reference->median_ms();
    result->slowdown_over = reference->allocator;
  }
}

BenchResult run_bench(const BenchJob& whole, const BenchEvents& events) {
  BenchResult bench;
  const std::vector<BenchJob> jobs = jobs_of_pools(whole);
  const std::size_t steps_of_one = static_cast<std::size_t>(whole.settings.runs) + 2;
  const std::size_t rows_in_all = whole.scenes.size() * jobs.size() * whole.allocators.size();
  std::size_t done = 0;
  const auto announce = [&](const std::string& what) {
    if (events.progress) events.progress(done, rows_in_all * steps_of_one, what);
  };
  Allocators in_pool = whole.allocators;
  if (whole.pool_probe) in_pool.push_back(whole.pool_probe);

  for (const std::string& source : whole.scenes) {
    const std::string digest = scenes::digest(source);
    std::optional<PreparedScene> scene;
    for (const BenchJob& job : jobs) {
      std::vector<Result> rows;
      for (const Allocator* entry : job.allocators)
        rows.push_back(blank_result(job, source, digest, *entry));
      const std::vector<RowBench::Candidate> unmeasured =
          candidates_for(rows, job.allocators, job.kept, is_same_measurement);
      done += (rows.size() - unmeasured.size()) * steps_of_one;
      std::vector<Result*> scene_results;
      std::optional<std::uint64_t> kept_pool;
      for (Result& row : rows) {
        scene_results.push_back(&row);
        if (row.pool_bytes) kept_pool = row.pool_bytes;
      }
      if (simt::interrupted()) bench.interrupted = true;
      if (!unmeasured.empty() && !bench.interrupted) {
        try {
          if (scene) {
            scene->change_pool(job.settings.pool);
          } else {
            announce(source + ": loading");
            scene.emplace(source, job.device, job.settings, pool_needs(in_pool));
          }
          announce(scene->name() + ": sizing the pool");
          const auto step = [&, counted = false](const std::string& what) mutable {
            if (counted) ++done;
            counted = true;
            announce(what);
          };
          SceneBench measured(job, events, *scene, unmeasured, scene_results, step);
          measured.run_all(kept_pool);
          bench.interrupted = measured.stopped();
          ++done;
        } catch (const std::exception& error) {
          const auto* stop = dynamic_cast<const simt::Stopped*>(&error);
          const auto* ours = dynamic_cast<const Error*>(&error);
          if (stop && stop->reason() == simt::Stopped::Reason::interrupted) {
            bench.interrupted = true;  // while the scene was loaded
          } else {
            bench.scene_error =
                ours ? *ours
                     : Error(Exit::failed, fmt::format("{}: {}", source, error_text(error)));
            for (const RowBench::Candidate& candidate : unmeasured) {
              candidate.row->status = Status::failed;
              candidate.row->reason = bench.scene_error->what();
            }
          }
        }
      }
      compute_slowdowns(scene_results);
      std::ranges::move(rows, std::back_inserter(bench.results));
      if (bench.scene_error) break;
    }
    if (events.scene_done) events.scene_done(bench);
    if (bench.scene_error) break;
  }
  return bench;
}

Earlier<Result> read_earlier_results(const std::string& path, const BenchJob& job) {
  const std::vector<BenchJob> jobs = jobs_of_pools(job);
  struct Source {
    std::string path, digest;
  };
  std::map<std::string, Source> sources;  // by the text in the file
  for (const std::string& scene : job.scenes)
    sources[scenes::utf8_text(scene)] = {scene, scenes::digest(scene)};
  bool changed = false;
  const auto reuse = [&](const Json& result) -> std::optional<Result> {
    const auto source = sources.find(text_at(result, "source"));
    const std::string allocator = text_at(result, "allocator");
    const auto entry = std::ranges::find_if(
        job.allocators, [&](const auto* one) { return allocator == one->traits->id; });
    if (source == sources.end() || entry == job.allocators.end()) return std::nullopt;
    BuildSettings settings;
    const auto has_settings = [&](const BenchJob& of_pool) {
      settings = of_pool.settings;
      settings.allocator = (*entry)->options_over(settings.allocator);
      return result.value("settings", Json()) == to_json(settings);
    };
    if (std::ranges::none_of(jobs, has_settings)) return std::nullopt;
    // The digest may be absent: earlier versions did not write it.
    const bool other_mesh =
        result.contains("digest") && text_at(result, "digest") != source->second.digest;
    changed |= other_mesh;
    if (other_mesh || !reusable(result, settings)) return std::nullopt;
    Result kept = result_from_json(result);
    kept.source = source->second.path;
    return kept;
  };
  Earlier<Result> earlier = read_earlier<Result>(path, job.device, bench_schema, reuse);
  if (changed) note(path + ": a scene's file has changed: its results are measured again");
  if (!earlier.kept.empty()) {
    note("{}: {} of {} results reused{}", path, earlier.kept.size(),
         job.scenes.size() * job.allocators.size() * jobs.size(),
         earlier.git_sha == git_sha() ? "" : ", measured with version " + earlier.git_sha);
  }
  return earlier;
}

}  // namespace heapwood::bench
