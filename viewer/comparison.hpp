// SPDX-License-Identifier: MIT
// Builds of one scene with several allocators, as `heapwood bench` makes them. Results can be
// watched while the comparison runs.
#pragma once

#include <functional>
#include <limits>

#include "bench/bench_runner.hpp"
#include "bench/results/format.hpp"

namespace heapwood::viewer {

// Whether a result of a running comparison has no time yet and will get one.
bool is_waiting(const bench::Result& result);

struct ComparisonHooks {
  // Arguments: builds done, builds in total, the next step.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // Called at most 20 times per second with all results so far, in the job's order of allocators.
  std::function<void(std::vector<bench::Result>)> partial;
  std::function<void(bench::PreparedScene&, bench::Result&)> tree_built;
};

// Measures the allocators in random order: the time of a build depends on the state in which the
// previous build has left the device and the caches, which should not be the same one's every time.
// Results are in the job's order.
bench::BenchResult compare_builds(const bench::BenchJob& job, const ComparisonHooks& hooks);

// A row of the slowdown table, without its drawing.
struct CompareRow {
  static constexpr double not_measured = std::numeric_limits<double>::infinity();
  const bench::Result* result = nullptr;
  std::string allocator, ms, slowdown = bench::missing, spread = bench::missing,
                             address = bench::missing, tables = bench::missing;
  std::string registers;         // registers and stack of the build kernel; empty on a CPU
  double key_ms = not_measured;  // key for sorting
  bool noisy = false;            // the spread of its times exceeds max_spread
  bool best = false;             // the clearly fastest allocator that frees
  bool waiting = false;          // has no time yet
};
// The interquartile range / median above which an allocator is not marked fastest.
inline constexpr double max_spread = 0.25;
double spread_of(const std::vector<double>& ms);
// The end of the time axis. Bars of outliers, longer than three times the upper quartile of all,
// are cut there, so that the others stay readable.
double chart_end(std::vector<double> ms);
// One line that says which allocator is the fastest, and warnings about the comparison; "": none.
std::string compare_verdict(const std::vector<CompareRow>& rows);
std::string compare_warning(const std::vector<CompareRow>& rows);
// The rows of the table. While a comparison runs, none is marked as fastest or noisy.
std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results,
                                     bool running = false);

}  // namespace heapwood::viewer
