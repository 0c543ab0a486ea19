// SPDX-License-Identifier: MIT
// Layout of the figures of `heapwood stress`: rows are allocators; columns are points or, for a
// single point, figures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/results/row_tables.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

using namespace bench;

// Allocators in rows, points in columns. The varying parameter with the most values names the
// columns, the others name groups, whose points are adjacent.
struct StressGrid : RowGrid<StressRow> {
  explicit StressGrid(const std::vector<StressRow>& rows);

  std::vector<Column> point_columns() const;
  // The parameters that do not vary, for a title: ", 64 MiB pool, 120 blocks".
  std::string constants() const;
  bool has_fastest() const;
};

// Known for some allocators at some points. With several points it is a block of lines with one
// column per point; with a single point it is a column.
struct StressFigure {
  const char* heading;                    // above its lines, in a table of several points
  const char* column;                     // in a table of one point
  const char* group;                      // the same, over adjacent columns
  std::string (*text)(const StressRow&);  // "": not measured
};

// Adds the columns and lines of the figures; allocators without figures have no line. The first
// figure shows the status of rows without times and, if it `names_fastest`, marks the fastest.
// below: a label and a text per point under the lines of the figure of that number. False, without
// columns: there are no figures.
struct StressLayout {
  bool has_status = true, names_fastest = false;
  std::size_t below_figure = 0;
  std::vector<Cell> below{};
};
bool add_figures(Table& table, const StressGrid& grid, const std::vector<StressFigure>& figures,
                 const StressLayout& layout, Footnotes& footnotes);

}  // namespace heapwood::app
