// SPDX-License-Identifier: MIT
#include "viewer/comparison.hpp"

#include <algorithm>
#include <chrono>
#include <random>

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

bench::Result waiting_result(const bench::BenchJob& job,
                             const registry::RegisteredAllocator& entry) {
  bench::Result result;
  result.source = result.scene = job.scenes.front();
  result.allocator = entry.traits->id;
  result.label = entry.traits->label;
  result.frees = entry.traits->frees;
  result.lower_bound = entry.traits->lower_bound;
  result.settings = job.settings;
  const char* never = bench::cannot_build(entry);
  result.reason = never ? never : waiting_reason;
  return result;
}

// Results so far in the pool that is measured: those that have begun, and blanks.
std::vector<bench::Result> results_so_far(const bench::BenchJob& job,
                                          const std::vector<const bench::Result*>& begun) {
  std::vector<bench::Result> results;
  std::vector<bench::Result*> scene;
  results.reserve(job.allocators.size());
  for (const registry::RegisteredAllocator* entry : job.allocators) {
    const auto found = std::find_if(begun.begin(), begun.end(), [&](const bench::Result* one) {
      return one->allocator == entry->traits->id;
    });
    results.push_back(found == begun.end() ? waiting_result(job, *entry) : **found);
    scene.push_back(&results.back());
  }
  bench::compute_slowdowns(scene);
  return results;
}

}  // namespace

bool is_waiting(const bench::Result& result) {
  return result.reason == waiting_reason ||
         (result.status == bench::Status::ok && result.runs_ms.empty());
}

bench::BenchResult compare_builds(const bench::BenchJob& whole,
                                  const std::vector<bench::PoolSize>& pools,
                                  const ComparisonHooks& hooks) {
  bench::BenchResult all;
  std::mt19937 random(std::random_device{}());
  const std::size_t count = std::max<std::size_t>(pools.size(), 1);
  Clock::time_point published{};
  for (std::size_t i = 0; i < count && !all.interrupted && !all.scene_error; ++i) {
    bench::BenchJob job = whole;
    if (!pools.empty()) job.settings.pool = pools[i];
    const bench::BenchJob in_order = job;
    std::shuffle(job.allocators.begin(), job.allocators.end(), random);
    std::vector<const bench::Result*> begun;  // valid until run_bench returns
    bench::BenchEvents events;
    events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
      hooks.progress(i * total + done, count * total,
                     count > 1 ? what + ", pool " + job.settings.pool.text : what);
      const Clock::time_point now = Clock::now();
      if (begun.empty() || now - published < std::chrono::milliseconds(50)) return;
      published = now;
      std::vector<bench::Result> results = all.results;
      for (bench::Result& result : results_so_far(in_order, begun))
        results.push_back(std::move(result));
      hooks.partial(std::move(results));
    };
    events.tree_built = [&](bench::PreparedScene& scene, bench::Result& result) {
      begun.push_back(&result);
      hooks.tree_built(scene, result);
    };
    bench::BenchResult one = bench::run_bench(job, events);
    const auto place = [&](const bench::Result& result) {
      return std::find_if(in_order.allocators.begin(), in_order.allocators.end(),
                          [&](const auto* entry) { return entry->traits->id == result.allocator; });
    };
    std::stable_sort(one.results.begin(), one.results.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    for (bench::Result& result : one.results) all.results.push_back(std::move(result));
    all.interrupted = one.interrupted;
    all.scene_error = std::move(one.scene_error);
  }
  return all;
}

}  // namespace heapwood::viewer
