// SPDX-License-Identifier: MIT
#include "bench/bench_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/results/format.hpp"
#include "scenes/scene.hpp"

namespace heapwood::bench {

namespace {

// In this file an entry of nullptr stands for the per-level builder.
Result blank_result(const BenchJob& job, const std::string& source, const std::string& digest,
                    const Allocator* entry) {
  Result result;
  result.source = source;
  result.digest = digest;
  result.scene = source;
  if (entry) {
    result.set_allocator(*entry->traits);
  } else {
    result.builder = Builder::per_level;
    result.allocator = job.settings.host_allocator;
    result.label = host_label(job.settings.host_allocator);
  }
  result.settings = job.settings;
  if (entry) result.settings.allocator = entry->options_over(job.settings.allocator);
  result.reason = interrupted_reason;
  return result;
}

const Result* find_kept(const BenchJob& job, const std::string& source, const Allocator* entry) {
  const std::string allocator = entry ? entry->traits->id : job.settings.host_allocator;
  for (const Result& result : job.kept) {
    if (result.source == source && result.per_level() == !entry && result.allocator == allocator &&
        (!entry || result.settings.pool.text == job.settings.pool.text))
      return &result;
  }
  return nullptr;
}

// The job in one pool at a time, each with its allocators and, in the first, the per-level builder.
struct PoolJob {
  BenchJob job;
  Allocators candidates;
};

std::vector<PoolJob> jobs_of_pools(const BenchJob& job) {
  std::vector<PoolJob> jobs;
  for (const PoolSize& pool : job.pools.empty() ? std::vector{job.settings.pool} : job.pools) {
    PoolJob& one = jobs.emplace_back(PoolJob{job, job.allocators});
    one.job.settings.pool = pool;
    if (job.settings.builder != Builder::single && jobs.size() == 1)
      one.candidates.push_back(nullptr);
  }
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
    if (result->per_level()) continue;
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
  const std::vector<PoolJob> jobs = jobs_of_pools(whole);
  const std::size_t steps_of_one = static_cast<std::size_t>(whole.settings.runs) + 2;
  std::size_t total = 0, done = 0;
  for (const std::string& source : whole.scenes) {
    for (const PoolJob& one : jobs) {
      for (const Allocator* entry : one.candidates)
        total += find_kept(one.job, source, entry) ? 0 : steps_of_one;
    }
  }
  const auto announce = [&](const std::string& what) {
    if (events.progress) events.progress(done, total, what);
  };
  Allocators in_pool = whole.allocators;
  if (whole.pool_probe) in_pool.push_back(whole.pool_probe);

  for (const std::string& source : whole.scenes) {
    const std::string digest = scenes::digest(source);
    std::optional<PreparedScene> scene;
    for (const auto& [job, candidates] : jobs) {
      const std::size_t first = bench.results.size();
      for (const Allocator* entry : candidates) {
        const Result* kept = find_kept(job, source, entry);
        bench.results.push_back(kept ? *kept : blank_result(job, source, digest, entry));
      }
      std::vector<RowBench::Candidate> unmeasured;
      std::vector<Result*> scene_results;
      std::optional<std::uint64_t> kept_pool;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        Result& result = bench.results[first + i];
        scene_results.push_back(&result);
        if (!find_kept(job, source, candidates[i]))
          unmeasured.push_back({candidates[i], &result});
        else if (candidates[i])
          kept_pool = result.pool_bytes;
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
          bench.interrupted =
              !measure_scene(job, events, *scene, unmeasured, scene_results, kept_pool,
                             [&, counted = false](const std::string& what) mutable {
                               if (counted) ++done;
                               counted = true;
                               announce(what);
                             });
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
      if (bench.scene_error) break;
    }
    if (events.scene_done) events.scene_done(bench);
    if (bench.scene_error) break;
  }
  return bench;
}

}  // namespace heapwood::bench
