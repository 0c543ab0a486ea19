// SPDX-License-Identifier: MIT
// Results of the single-kernel builder as a grid: allocators in rows, scenes or pools in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/results/result.hpp"

namespace heapwood::bench {

struct ResultGrid {
  std::vector<const Result*> allocators;       // the first result of each: id, label, traits
  std::vector<const Result*> columns;          // the first result of each
  std::vector<std::vector<const Result*>> at;  // [allocator][column], nullptr if absent

  // is_same(a, b): in one column.
  template <class Same>
  ResultGrid(const std::vector<Result>& results, Same is_same) {
    const auto place_of = [](std::vector<const Result*>& list, const Result& result, auto same) {
      std::size_t place = 0;
      while (place < list.size() && !same(*list[place], result)) ++place;
      if (place == list.size()) list.push_back(&result);
      return place;
    };
    for (const Result& result : results) {
      if (result.per_level()) continue;
      const std::size_t column = place_of(columns, result, is_same),
                        row = place_of(allocators, result, [](const Result&a, const Result&b) {
                          return a.allocator == b.allocator;
                        });
      if (at.size() <= row) at.resize(row + 1);
      if (at[row].size() <= column) at[row].resize(column + 1);
      at[row][column] = &result;
    }
    for (auto& row : at) row.resize(columns.size());
  }
};

// Columns are scenes.
inline ResultGrid grid_of_scenes(const std::vector<Result>& results) {
  return {results, [](const Result& a, const Result& b) { return a.source == b.source; }};
}

}  // namespace heapwood::bench
