// SPDX-License-Identifier: MIT
// Layout of the figures of `heapwood stress`: rows are allocators; columns are points or, for a
// single point, figures.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"
#include "bench/results/table.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

std::string requests_text(std::uint64_t count);  // "1 request", "100K requests"

// Allocators in rows, points in columns; points of a group are adjacent.
struct StressGrid {
  std::vector<bench::StressPoint> points;
  std::vector<const bench::StressRow*> allocators;       // the first row of each
  std::vector<std::vector<const bench::StressRow*>> at;  // [allocator][point], nullptr if absent
  std::vector<const bench::StressRow*> best;  // [point]: clearly fastest that frees or nullptr

  explicit StressGrid(const std::vector<bench::StressRow>& rows);

  // One column per point: the parameter with the most values names the columns, other varying ones
  // the groups.
  void add_columns(bench::Table& table) const;
  // The other parameters, for a title: ", 64 MiB pool, 120 blocks".
  std::string constants() const;

 private:
  void gather_groups();
  const bench::StressRow* fastest(std::size_t point) const;
};

// A row's first figure: the text, with a footnote if there is a reason, or the status.
bench::Cell status_cell(const bench::StressRow& row, const std::string& text,
                        bench::Footnotes& footnotes);

// The names of a figure.
struct FigureName {
  const char* heading;     // above its lines, in a table of several points
  const char* column;      // in a table of one point
  const char* group = "";  // the same, over adjacent columns
};

// A table of figures, each known for some allocators at some points. With several points a figure
// is a block of lines with one column per point; with a single point it is a column. An allocator
// without figures has no line.
using Line = std::vector<bench::Cell>;  // one cell per point

class StressFigures {
 public:
  explicit StressFigures(const StressGrid& grid) : grid_(grid) {}

  // cell(row): the cell, empty if not measured. below: a label and one cell per point, under the
  // others.
  template <class F>
  void add(const FigureName& name, F cell, std::vector<bench::Cell> below = {}) {
    Figure figure{name, {}, std::move(below)};
    for (const auto& rows : grid_.at) {
      Line line;
      for (const bench::StressRow* row : rows) {
        bench::Cell found = row ? cell(*row) : bench::Cell();
        line.push_back(found.text.empty() ? bench::Cell(bench::missing) : std::move(found));
      }
      figure.lines.push_back(std::move(line));
    }
    figures_.push_back(std::move(figure));
    if (empty(figures_.back())) figures_.pop_back();
  }
  bool empty() const { return figures_.empty(); }
  void write(bench::Table& table) const;

 private:
  struct Figure {
    FigureName name;
    std::vector<Line> lines;  // one per allocator
    Line below;
  };
  static bool empty(const Figure& figure);
  void write_block(bench::Table& table, const Figure& figure) const;
  void write_columns(bench::Table& table) const;

  const StressGrid& grid_;
  std::vector<Figure> figures_;
};

}  // namespace heapwood::app
