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
  double key_ms = 0, key_external = 0;  // sort keys; infinity: not measured
  bool best = false;                    // the clearly fastest that frees
};
std::vector<CompareRow> compare_rows(const std::vector<bench::Result>& results);

}  // namespace heapwood::viewer
