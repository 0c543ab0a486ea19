// SPDX-License-Identifier: MIT
// Builds of one scene with several allocators, as those of `heapwood bench`, whose results can be
// watched while it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
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

// The allocators are measured in random order: the time of a build depends on the state in which
// the previous one has left the device and the caches, and that should not be the same allocator's
// every time. Results are in the job's order.
bench::BenchResult compare_builds(const bench::BenchJob& job, const ComparisonHooks& hooks);

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

}  // namespace heapwood::viewer
