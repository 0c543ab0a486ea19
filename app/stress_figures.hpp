// SPDX-License-Identifier: MIT
// How the figures of `heapwood stress` are laid out: allocators in rows; points, or at a single point figures, in columns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/footnotes.hpp"
#include "app/format.hpp"
#include "app/stress.hpp"
#include "app/table.hpp"

namespace heapwood::app {

std::string requests_text(std::uint64_t count);  // "1 request", "100K requests"

// Allocators in a table's rows, points in its columns: those of a group together.
struct StressGrid {
  std::vector<StressPoint> points;
  std::vector<const StressRow*> allocators;       // the first row of each
  std::vector<std::vector<const StressRow*>> at;  // [allocator][point], nullptr where there is none
  std::vector<const StressRow*> best;             // [point]: the fastest that frees, nullptr where there is no choice

  explicit StressGrid(const std::vector<StressRow>& rows);

  // A column a point: the parameter with most values names the columns, others that vary the groups.
  void add_columns(Table& table) const;
  // The other parameters, for a title: ", 64 MiB pool, 120 blocks".
  std::string constants() const;
  std::string label(std::size_t allocator) const;

 private:
  void gather_groups();
  const StressRow* fastest(std::size_t point) const;
};

// A row's first figure: with a remark where not all is well, or what happened instead.
Cell status_cell(const StressRow& row, std::string text, Footnotes& footnotes);

// What a figure is called.
struct FigureName {
  const char* heading;     // over its lines, in a table of several points
  const char* column;      // in a table of one point
  const char* group = "";  // the same, over adjacent columns
  bool fold = false;       // allocators of which the same is said may share a line
};

// A table of figures, each known of some allocators at some points. Over several points a figure is a block of lines, with
// a column a point; at a single point it is a column. An allocator of which nothing is known has no line.
class StressFigures {
 public:
  explicit StressFigures(const StressGrid& grid) : grid_(grid) {}

  // cell(row): what to show, without text where it was not measured. `below`: a label and a cell a point, under the rest.
  template <class F>
  void add(const FigureName& name, F cell, std::vector<Cell> below = {}) {
    Figure figure{name, {}, std::move(below)};
    for (const auto& rows : grid_.at) {
      Line line;
      for (const StressRow* row : rows) {
        Cell found = row ? cell(*row) : Cell();
        line.push_back(found.text.empty() ? Cell(missing) : std::move(found));
      }
      figure.lines.push_back(std::move(line));
    }
    figures_.push_back(std::move(figure));
    if (empty(figures_.back())) figures_.pop_back();
  }
  bool empty() const { return figures_.empty(); }
  void write(Table& table) const;

 private:
  using Line = std::vector<Cell>;  // a cell a point
  struct Figure {
    FigureName name;
    std::vector<Line> lines;  // of each allocator
    Line below;
  };
  static bool empty(const Figure& figure);
  void write_block(Table& table, const Figure& figure) const;
  void write_columns(Table& table) const;

  const StressGrid& grid_;
  std::vector<Figure> figures_;
};

}  // namespace heapwood::app
