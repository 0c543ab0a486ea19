// SPDX-License-Identifier: MIT
// Builds of one scene with several allocators, in one pool or in several, as those of
// `heapwood bench`, whose results can be watched while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_runner.hpp"
#include "bench/results/format.hpp"

namespace heapwood::viewer {

// Whether a result of a running comparison has no time and will get one.
bool is_waiting(const bench::Result& result);

struct ComparisonHooks {
  // Builds done, builds in total, and the next step.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  // At most 20 times per second: all results so far, in the order of the job's allocators.
  std::function<void(std::vector<bench::Result>)> partial;
  std::function<void(bench::PreparedScene&, bench::Result&)> tree_built;
};

// Measures one pool after the other, or the settings' pool if the list is empty. The allocators of
// a pool are measured in random order: the time of a build depends on the state in which the
// previous one has left the device and the caches, and that should not be the same allocator's
// every time. Results are in the job's order.
bench::BenchResult compare_builds(const bench::BenchJob& job,
                                  const std::vector<bench::PoolSize>& pools,
                                  const ComparisonHooks& hooks);

// The cells of the slowdown table, without their drawing.
struct CompareRow {
  static constexpr double not_measured = std::numeric_limits<double>::infinity();
  const bench::Result* result = nullptr;
  std::string allocator, ms, slowdown = bench::missing, spread = bench::missing,
                             external = bench::missing;
  std::string registers;  // of the build kernel, and its stack; empty on a CPU
  double key_ms = not_measured, key_external = not_measured;  // to sort by
  bool noisy = false;    // the middle half of its times spreads over max_spread
  bool best = false;     // the clearly fastest that frees
  bool waiting = false;  // has no time so far
};
// Interquartile range / median. An allocator with more is not marked fastest.
inline constexpr double max_spread = 0.25;
double spread_of(const std::vector<double>& ms);
// While a comparison runs, no allocator is marked: neither fastest nor noisy.
std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results,
                                     bool running = false);

// The plot over pool sizes, without its drawing: the figures of the table that
// `heapwood bench --pool LIST` prints.
struct SweepPlot {
  struct Pool {
    std::string text;                    // as given: "live:2"
    std::optional<std::uint64_t> bytes;  // known once it is measured
  };
  // One allocator in one pool.
  struct Point {
    const bench::Result* result = nullptr;                        // nullptr: not measured so far
    std::optional<double> value, lower_quartile, upper_quartile;  // only of complete trees
  };
  struct Line {
    std::string allocator, label;
    bool lower_bound = false;
    std::vector<Point> points;  // one per pool
  };
  std::vector<Pool> pools;  // the smallest first
  std::vector<Line> lines;
  double low = 0, high = 0;  // of all values and quartiles; 0: there is none
  bool any_without_tree = false;
};

// Values are slowdowns over AtomicMalloc's shortest build in any pool (without it, over the
// shortest of all), or milliseconds. Refers to the results.
SweepPlot sweep_plot(const std::vector<bench::Result>& results, bool milliseconds);

}  // namespace heapwood::viewer
