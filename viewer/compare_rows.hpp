// SPDX-License-Identifier: MIT
// The cells of the slowdown table, without their drawing.
#pragma once

#include <string>
#include <vector>

#include "bench/results/result.hpp"

namespace heapwood::viewer {

struct CompareRow {
  const bench::Result* result = nullptr;
  std::string allocator, ms, slowdown, spread, external;
  std::string registers;                // of the build kernel, and its stack; empty on a CPU
  double key_ms = 0, key_external = 0;  // sort keys; infinity: not measured
  bool noisy = false;                   // the middle half of its times spreads over max_spread
  bool best = false;                    // the clearly fastest that frees
  bool waiting = false;                 // has no time so far
};
// Interquartile range / median. An allocator with more is not marked fastest.
inline constexpr double max_spread = 0.25;
double spread_of(const std::vector<double>& ms);
// While a comparison runs, no allocator is marked: neither fastest nor noisy.
std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results,
                                     bool running = false);

}  // namespace heapwood::viewer
