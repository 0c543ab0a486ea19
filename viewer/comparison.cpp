// SPDX-License-Identifier: MIT
#include "viewer/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

// The reason of a result without a build so far.
constexpr const char* waiting_reason = "waiting for its first build";

bool is_timed(const bench::Result& result) {
  return result.status == bench::Status::ok && result.median_ms() && *result.median_ms() > 0;
}

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
    row.allocator = r.label + (r.lower_bound ? " *" : "");
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

namespace {

// The time that all slowdowns refer to.
std::optional<double> reference(const std::vector<bench::Result>& results) {
  std::optional<double> atomic, any;
  for (const bench::Result& result : results) {
    if (!is_timed(result)) continue;
    const double ms = *result.median_ms();
    any = std::min(any.value_or(ms), ms);
    if (result.allocator == "atomic") atomic = std::min(atomic.value_or(ms), ms);
  }
  return atomic ? atomic : any;
}

std::vector<SweepPlot::Pool> pools_of(const std::vector<bench::Result>& results) {
  std::vector<SweepPlot::Pool> pools;
  for (const bench::Result& result : results) {
    const std::string& text = result.settings.pool.text;
    auto found = std::find_if(pools.begin(), pools.end(),
                              [&](const SweepPlot::Pool& pool) { return pool.text == text; });
    if (found == pools.end()) found = pools.insert(found, {text, {}});
    if (result.pool_bytes) found->bytes = std::max(found->bytes.value_or(0), *result.pool_bytes);
  }
  std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) {
    constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    return a.bytes.value_or(last) < b.bytes.value_or(last);
  });
  return pools;
}

}  // namespace

SweepPlot sweep_plot(const std::vector<bench::Result>& results, bool milliseconds) {
  SweepPlot plot;
  plot.pools = pools_of(results);
  const std::optional<double> over = milliseconds ? 1.0 : reference(results);
  for (const bench::Result& result : results) {
    auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                             [&](const auto& one) { return one.allocator == result.allocator; });
    if (line == plot.lines.end()) {
      line = plot.lines.insert(line, {result.allocator, result.label, result.lower_bound, {}});
      line->points.resize(plot.pools.size());
    }
    const auto pool = std::find_if(plot.pools.begin(), plot.pools.end(), [&](const auto& one) {
      return one.text == result.settings.pool.text;
    });
    SweepPlot::Point& point =
        line->points[static_cast<std::size_t>(std::distance(plot.pools.begin(), pool))];
    point.result = &result;
    plot.any_without_tree = plot.any_without_tree || result.status != bench::Status::ok;
    if (!is_timed(result) || !over) continue;
    point.value = *result.median_ms() / *over;
    point.lower_quartile = *bench::quantile(result.runs_ms, 0.25) / *over;
    point.upper_quartile = *bench::quantile(result.runs_ms, 0.75) / *over;
    plot.low = plot.low > 0 ? std::min(plot.low, *point.lower_quartile) : *point.lower_quartile;
    plot.high = std::max(plot.high, *point.upper_quartile);
  }
  return plot;
}

}  // namespace heapwood::viewer
