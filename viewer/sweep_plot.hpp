// SPDX-License-Identifier: MIT
// The points of the plot over pool sizes, without their drawing: the figures of the table that
// `heapwood bench --pool LIST` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/results/result.hpp"

namespace heapwood::viewer {

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
