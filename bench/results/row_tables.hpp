// SPDX-License-Identifier: MIT
// Shared by the tables of measured rows: grids, the fastest row, footnotes.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/results/format.hpp"
#include "bench/results/result.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

// Numbered remarks below a table, each printed once: "[1] CMalloc, CFMalloc: ...".
class Footnotes {
 public:
  std::string mark(const std::string& name, const std::string& remark) {
    auto entry = std::ranges::find(notes_, remark, &Note::remark);
    if (entry == notes_.end()) entry = notes_.insert(entry, Note{remark, {}});
    if (std::ranges::find(entry->names, name) == entry->names.end()) entry->names.push_back(name);
    return number(static_cast<std::size_t>(entry - notes_.begin()));
  }
  // The text; if the row has a reason, with the mark of a footnote that gives it.
  std::string marked(const std::string& text, const MeasuredRow& row) {
    return row.reason.empty() ? text : text + " " + mark(row.label, row.reason);
  }
  void append_to(std::vector<std::string>& lines) const {
    for (std::size_t i = 0; i < notes_.size(); ++i)
      lines.push_back(number(i) + " " + joined(notes_[i].names) + ": " + notes_[i].remark);
  }

 private:
  struct Note {
    std::string remark;
    std::vector<std::string> names;
  };
  static std::string number(std::size_t i) { return "[" + std::to_string(i + 1) + "]"; }

  std::vector<Note> notes_;
};

template <class Row>
std::vector<const Row*> pointers_to(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  for (const Row& row : rows) pointers.push_back(&row);
  return pointers;
}

template <class Row>
struct Fastest {
  const Row* row = nullptr;  // the clearly fastest row, or nullptr
  std::size_t compared = 0;
};
// Compares the complete rows that are not lower bounds. `rows` may contain nullptr. samples(row)
// points to the times of a row, or is nullptr if the row is not to be compared.
template <class Row, class Samples>
Fastest<Row> find_fastest(const std::vector<const Row*>& rows, Samples samples) {
  std::vector<const Row*> compared;
  std::vector<const std::vector<double>*> times;
  for (const Row* row : rows) {
    if (row == nullptr || row->status != Status::ok || row->lower_bound) continue;
    const std::vector<double>* const ms = samples(*row);
    if (ms == nullptr || ms->empty()) continue;
    compared.push_back(row);
    times.push_back(ms);
  }
  const std::optional<std::size_t> best = clearly_fastest(times);
  return {best ? compared[*best] : nullptr, compared.size()};
}

// A grid with a row per allocator. Results that is_same(a, b) accepts share a column.
template <class Row>
struct RowGrid {
  std::vector<const Row*> allocators;          // first result of each allocator: id, label, traits
  std::vector<const Row*> columns;             // first result of each column
  std::vector<std::vector<const Row*>> cells;  // [allocator][column], nullptr if absent

  template <class Same>
  RowGrid(const std::vector<const Row*>& rows, Same is_same) {
    const auto index_of = [](std::vector<const Row*>& list, const Row* row, auto same) {
      std::size_t index = 0;
      while (index < list.size() && !same(*list[index], *row)) ++index;
      if (index == list.size()) list.push_back(row);
      return index;
    };
    for (const Row* row : rows) {
      const std::size_t column = index_of(columns, row, is_same);
      const std::size_t line = index_of(
          allocators, row, [](const Row& a, const Row& b) { return a.allocator == b.allocator; });
      cells.resize(allocators.size());
      cells[line].resize(std::max(cells[line].size(), column + 1));
      cells[line][column] = row;
    }
    for (auto& line : cells) line.resize(columns.size());
  }

  Fastest<Row> fastest(std::size_t column) const {
    std::vector<const Row*> rows;
    for (const auto& line : cells) rows.push_back(line[column]);
    return find_fastest(rows, [](const Row& row) { return &row.runs_ms; });
  }
};

// A grid of results of builds, by scene or, if `by_pool`, by scene and pool.
inline RowGrid<Result> grid_of_results(const std::vector<Result>& results, bool by_pool = false) {
  return {pointers_to(results), [by_pool](const Result& a, const Result& b) {
            return a.source == b.source && (!by_pool || a.settings.pool == b.settings.pool);
          }};
}

// Explains the marks in a table: "◂" if a fastest row is named, "*" if a row has that mark.
template <class Row>
void explain_marks(Table& table, bool has_fastest, const std::vector<Row>& rows) {
  if (has_fastest)
    table.notes.push_back("◂ fastest allocator that frees: its quartiles overlap no other's");
  if (std::ranges::any_of(rows, &Row::lower_bound))
    table.notes.push_back("* lower bound: cannot free, never named the fastest");
}

// Adds a line per row: its label, and the cells of a row with times, by add_cells(row, cells), or
// else its status.
template <class Row, class AddCells>
void add_line(Table& table, const Row& row, bool has_times, Footnotes& footnotes,
              AddCells add_cells) {
  std::vector<Cell> cells{footnotes.marked(row.marked_label(), row)};
  if (has_times)
    add_cells(row, cells);
  else
    cells.emplace_back(name(row.status));
  cells.resize(table.columns.size(), Cell(missing));
  table.add(std::move(cells));
}

// Adds a line per row, below a heading per pool; then notes about marks, the note, and the rows'
// reasons. add_cells() returns whether it has marked a fastest row.
template <class Row, class AddCells>
void add_lines_by_pool(Table& table, const std::vector<Row>& rows, const std::string& note,
                       AddCells add_cells) {
  Footnotes footnotes;
  bool has_fastest = false;
  std::string pool;
  for (const Row& row : rows) {
    if (!row.pool.empty() && row.pool != pool) {
      pool = row.pool;
      const bool is_size = pool.find_first_of("axv") == std::string::npos;
      table.add_heading("pool " + size_text(row.pool_bytes) + (is_size ? "" : " (" + pool + ")"));
    }
    add_line(table, row, !row.runs_ms.empty(), footnotes,
             [&](const Row& timed, std::vector<Cell>& cells) {
               has_fastest |= add_cells(timed, cells);
             });
  }
  explain_marks(table, has_fastest, rows);
  table.notes.push_back(note);
  footnotes.append_to(table.notes);
}

}  // namespace heapwood::bench
