// SPDX-License-Identifier: MIT
#include "viewer/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

// The reason of a result that has no build so far.
constexpr const char* waiting_reason = "waiting for its first build";

bool is_timed(const bench::Result& result) {
  return result.status == bench::Status::ok && result.median_ms() && *result.median_ms() > 0;
}

bench::Result waiting_result(const bench::BenchJob& job,
                             const registry::RegisteredAllocator& entry) {
  bench::Result result;
  result.source = result.scene = job.scenes.front();
  result.set_allocator(*entry.traits);
  result.settings = job.settings;
  const char* never = bench::cannot_build(entry);
  result.reason = never ? never : waiting_reason;
  return result;
}

// The results so far: those that have begun, and blank ones.
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

bench::BenchResult compare_builds(const bench::BenchJob& in_order, const ComparisonHooks& hooks) {
  bench::BenchJob job = in_order;
  std::mt19937 random(std::random_device{}());
  std::shuffle(job.allocators.begin(), job.allocators.end(), random);
  Clock::time_point published{};
  std::vector<const bench::Result*> begun;  // valid until run_bench returns
  bench::BenchEvents events;
  events.progress = [&](std::size_t done, std::size_t total, const std::string& what) {
    hooks.progress(done, total, what);
    const Clock::time_point now = Clock::now();
    if (begun.empty() || now - published < std::chrono::milliseconds(50)) return;
    published = now;
    hooks.partial(results_so_far(in_order, begun));
  };
  events.tree_built = [&](bench::PreparedScene& scene, bench::Result& result) {
    begun.push_back(&result);
    hooks.tree_built(scene, result);
  };
  bench::BenchResult bench = bench::run_bench(job, events);
  const auto place = [&](const bench::Result& result) {
    return std::find_if(in_order.allocators.begin(), in_order.allocators.end(),
                        [&](const auto* entry) { return entry->traits->id == result.allocator; });
  };
  std::stable_sort(bench.results.begin(), bench.results.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return bench;
}

double spread_of(const std::vector<double>& ms) {
  const std::optional<double> median = bench::median(ms);
  if (!median || *median <= 0) return 0;
  return (*bench::quantile(ms, 0.75) - *bench::quantile(ms, 0.25)) / *median;
}

std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results, bool running) {
  std::vector<const bench::Result*> candidates;
  std::vector<const std::vector<double>*> times;
  for (const bench::Result& r : results) {
    if (!is_timed(r) || r.lower_bound) continue;
    candidates.push_back(&r);
    times.push_back(&r.runs_ms);
  }
  const std::optional<std::size_t> best = bench::clearly_fastest(times);
  std::vector<CompareRow> rows;
  for (const bench::Result& r : results) {
    CompareRow row;
    row.result = &r;
    row.allocator = r.marked_label();
    row.waiting = running && is_waiting(r);
    if (is_timed(r)) {
      row.ms = bench::figure_text(*r.median_ms());
      if (r.slowdown) row.slowdown = bench::ratio_text(*r.slowdown) + "x";
      const double spread = spread_of(r.runs_ms);
      row.noisy = !running && spread > max_spread;
      row.best = !running && best && &r == candidates[*best] && !row.noisy;
      row.spread = fmt::format("{:.1f}%", 100 * spread);
      row.key_ms = *r.median_ms();
    } else {
      row.ms = r.wrong_tree ? "wrong tree" : row.waiting ? "waiting" : bench::name(r.status);
    }
    if (r.at_end) {
      row.external = bench::figure_text(r.at_end->external);
      row.key_external = r.at_end->external;
    }
    if (r.kernel)
      row.registers =
          fmt::format("{}, {}", r.kernel->registers, bench::bytes_text(r.kernel->local_bytes));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace heapwood::viewer
