// SPDX-License-Identifier: MIT
// The text of the slowdown table, apart from how it is drawn.
#pragma once

#include <string>
#include <vector>

#include "app/result.hpp"

namespace heapwood::viewer {

struct CompareRow {
  const app::Result* result = nullptr;
  std::string allocator, ms, slowdown, spread, external;
  double key_ms = 0, key_external = 0;  // to sort by; infinity: not measured
  bool best = false;                    // the fastest that frees, where there is a choice
};
std::vector<CompareRow> compare_rows(const std::vector<app::Result>& results);

}  // namespace heapwood::viewer
