// SPDX-License-Identifier: MIT
// Tables for CSV as a list of columns: the title of a figure and how to read it stand side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/results/format.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

template <class Record>
struct FlatColumn {
  std::string title;
  std::function<std::string(const Record&)> cell;
};

// One row per record, in the order of the columns.
template <class Record>
Table table_of_columns(const std::vector<FlatColumn<Record>>& columns,
                       const std::vector<Record>& records) {
  Table table;
  for (const FlatColumn<Record>& column : columns) table.columns.push_back({column.title});
  for (const Record& record : records) {
    std::vector<Cell> cells;
    cells.reserve(columns.size());
    for (const FlatColumn<Record>& column : columns) cells.emplace_back(column.cell(record));
    table.add(std::move(cells));
  }
  return table;
}

// A figure of `part`, which is an optional or a pointer: empty if there is no part. `figure` is a
// member or a function of the part and gives a number or an optional one; default: the part itself.
template <class Part, class Figure = std::identity>
std::string csv_figure(const Part& part, Figure figure = {}) {
  if (!part) return "";
  const auto value = std::invoke(figure, *part);
  if constexpr (std::is_integral_v<decltype(value)>)
    return csv_text(true, static_cast<std::uint64_t>(value));
  else
    return csv_text(value);
}

inline std::string yes_no(bool value) { return value ? "yes" : "no"; }

}  // namespace heapwood::bench
