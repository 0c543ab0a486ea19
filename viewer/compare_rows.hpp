// SPDX-License-Identifier: MIT
// The cells of the slowdown table, without their drawing.
#pragma once

#include <string>
#include <vector>

#include "app/result.hpp"

namespace heapwood::viewer {

struct CompareRow {
  const app::Result* result = nullptr;
  std::string allocator, ms, slowdown, spread, external;
  double key_ms = 0, key_external = 0;  // sort keys; infinity: not measured
  bool best = false;                    // the fastest that frees, if there are several
};
std::vector<CompareRow> compare_rows(const std::vector<app::Result>& results);

}  // namespace heapwood::viewer
