// SPDX-License-Identifier: MIT
// One model of a table, written as aligned text, markdown or CSV.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heapwood::app {

struct Column {
  std::string title;
  bool left = false;    // text is left aligned, figures are right aligned
  bool wrap = false;    // may be broken into lines to fit the width; at most one, the last
  std::string group{};  // a second title above adjacent columns of the same group
};

struct Cell {
  std::string text;
  bool best = false;
  Cell() = default;
  Cell(std::string text, bool best = false) : text(std::move(text)), best(best) {}
  Cell(const char* text) : text(text) {}
};

struct Row {
  std::vector<Cell> cells;
  bool heading = false;  // cells[0] alone, over the rows that follow
};

struct Table {
  std::string title;
  std::vector<Column> columns;  // the first one names the rows
  std::vector<Row> rows;
  std::vector<std::string> notes;

  void add(std::vector<Cell> cells) { rows.push_back({std::move(cells), false}); }
  void add_heading(std::string text) { rows.push_back({{Cell(std::move(text))}, true}); }
};

struct TextStyle {
  std::size_t width = 100;  // columns that do not fit go into further blocks, each with the first column
  bool bold = false;        // terminal escapes for titles and best cells
};

std::string to_text(const Table& table, const TextStyle& style = {});
std::string to_markdown(const Table& table);
// Only titles and rows (RFC 4180); headings, notes and marks are left out.
std::string to_csv(const Table& table);

// Columns on a terminal that UTF-8 text takes (no wide characters in our tables).
std::size_t display_width(const std::string& text);
// Breaks at spaces so that no line is wider, unless one word is.
std::vector<std::string> wrap_text(const std::string& text, std::size_t width);
// Width of standard output, at most 120 and 100 where it is no terminal; bold where it is one and NO_COLOR is not set.
TextStyle terminal_style();

}  // namespace heapwood::app
