// SPDX-License-Identifier: MIT
// A table that can be written as aligned text, Markdown or CSV.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heapwood::bench {

struct Column {
  std::string title;
  bool left = false;    // text is left-aligned, figures right-aligned
  bool wrap = false;    // may be wrapped to fit the width; only for the last column
  std::string group{};  // a second title above adjacent columns of the same group
};

// Parses "allocator<; time [ms]: median, q1; refused; note~": columns, and groups of columns with a
// title of their own. `<` aligns text to the left, `~` also wraps it.
std::vector<Column> columns_of(const std::string& text);

struct Cell {
  std::string text;
  bool best = false;
  Cell() = default;
  Cell(std::string text, bool best = false) : text(std::move(text)), best(best) {}
  Cell(const char* text) : text(text) {}
};

// Appends cells with these texts.
template <class... Texts>
void append(std::vector<Cell>& cells, Texts&&... texts) {
  (cells.emplace_back(std::forward<Texts>(texts)), ...);
}

struct Row {
  std::vector<Cell> cells;
  bool heading = false;  // only cells[0] is used, above the rows that follow
};

struct Table {
  std::string title;
  std::vector<Column> columns;  // the first column names the rows
  std::vector<Row> rows;
  std::vector<std::string> notes;

  void add(std::vector<Cell> cells) { rows.push_back({std::move(cells), false}); }
  void add_heading(std::string text) { rows.push_back({{Cell(std::move(text))}, true}); }
};

struct TextStyle {
  std::size_t width = 100;  // columns that do not fit go to further blocks, which repeat the first
  bool bold = false;        // terminal escapes for titles and best cells
};

std::string to_text(const Table& table, const TextStyle& style = {});
std::string to_markdown(const Table& table);
// Writes titles and rows as CSV (RFC 4180), without headings, notes and marks.
std::string to_csv(const Table& table);

// The number of terminal columns that UTF-8 text takes; it has no wide characters.
std::size_t display_width(const std::string& text);
// Breaks text at spaces into lines of at most `width`; only a single word may be wider.
std::vector<std::string> wrap_text(const std::string& text, std::size_t width);
// The style of standard output: its width, at most 120, or 100 if it is not a terminal; bold on
// terminals without NO_COLOR.
TextStyle terminal_style();
// Prints tables to standard output with an empty line between them: as Markdown if `format` is
// "markdown", otherwise in the terminal's style.
void print_tables(const std::vector<Table>& tables, const std::string& format = "");

}  // namespace heapwood::bench
