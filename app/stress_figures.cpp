// SPDX-License-Identifier: MIT
#include "app/stress_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heapwood::app {

namespace {

using Line = std::vector<Cell>;

// A parameter of a point as text: "64 B", "120 blocks".
struct Parameter {
  const char* name;
  std::string (*text)(const StressPoint&);
};
const Parameter parameters[] = {
    {"payload", [](const StressPoint& p) { return size_text(p.payload); }},
    {"pool", [](const StressPoint& p) { return size_text(p.pool_bytes) + " pool"; }},
    {"iterations", [](const StressPoint& p) { return fmt::format("{} iterations", p.iterations); }},
    {"blocks", [](const StressPoint& p) { return fmt::format("{} block{}", p.blocks, p.blocks == 1 ? "" : "s"); }},
    {"page", [](const StressPoint& p) { return p.page_bytes ? size_text(p.page_bytes) + " pages" : "own pages"; }}};

std::size_t distinct(const std::vector<StressPoint>& points, const Parameter& parameter) {
  std::vector<std::string> texts;
  for (const StressPoint& point : points) texts.push_back(parameter.text(point));
  std::sort(texts.begin(), texts.end());
  return static_cast<std::size_t>(std::unique(texts.begin(), texts.end()) - texts.begin());
}

// Where a list has an item like this one; appended where it has none.
template <class T, class Same>
std::size_t index(std::vector<T>& list, const T& item, Same same) {
  const auto found = std::find_if(list.begin(), list.end(), same);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(item);
  return list.size() - 1;
}

bool unknown(const Line& line) {
  return std::all_of(line.begin(), line.end(), [](const Cell& cell) { return cell.text == missing; });
}

bool same(const Line& a, const Line& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Cell& x, const Cell& y) { return x.text == y.text; });
}

// The line that most allocators share, if three do.
const Line* shared(const std::vector<Line>& lines) {
  const Line* found = nullptr;
  std::ptrdiff_t most = 2;
  for (const Line& line : lines) {
    const auto count = std::count_if(lines.begin(), lines.end(), [&](const Line& other) { return same(line, other); });
    if (unknown(line) || count <= most) continue;
    most = count;
    found = &line;
  }
  return found;
}

void add_line(Table& table, const std::string& label, const Line& line) {
  std::vector<Cell> cells{label};
  cells.insert(cells.end(), line.begin(), line.end());
  table.add(std::move(cells));
}

}  // namespace

StressGrid::StressGrid(const std::vector<StressRow>& rows) {
  for (const StressRow& row : rows) {
    const auto point = index(points, row.point, [&](const StressPoint& p) { return p == row.point; });
    const auto a = index(allocators, &row, [&](const StressRow* other) { return other->allocator == row.allocator; });
    if (at.size() <= a) at.resize(a + 1);
    if (at[a].size() <= point) at[a].resize(point + 1, nullptr);
    at[a][point] = &row;
  }
  for (auto& line : at) line.resize(points.size(), nullptr);
  for (std::size_t point = 0; point < points.size(); ++point) best.push_back(fastest(point));
}

const StressRow* StressGrid::fastest(std::size_t point) const {
  const StressRow* found = nullptr;
  std::size_t candidates = 0;
  for (const auto& line : at) {
    const StressRow* row = line[point];
    if (!row || row->status != Status::ok || row->lower_bound || !row->median_ms()) continue;
    ++candidates;
    if (!found || *row->median_ms() < *found->median_ms()) found = row;
  }
  return candidates > 1 ? found : nullptr;
}

void StressGrid::add_columns(Table& table) const {
  const Parameter* main = nullptr;
  for (const Parameter& p : parameters) {
    if (distinct(points, p) > (main ? distinct(points, *main) : 1)) main = &p;
  }
  for (const StressPoint& point : points) {
    std::string group;
    for (const Parameter& p : parameters) {
      if (&p != main && distinct(points, p) > 1) group += (group.empty() ? "" : ", ") + p.text(point);
    }
    table.columns.push_back({main ? main->text(point) : "", false, false, group});
  }
}

std::string StressGrid::constants() const {
  const alloc::StressTest test = allocators.front()->settings.test;
  const bool one_turn = test == alloc::StressTest::each || test == alloc::StressTest::alloc_dealloc;
  std::string text;
  for (const Parameter& p : parameters) {
    const std::string name = p.name;
    if (distinct(points, p) != 1) continue;
    if (name == "page" && points.front().page_bytes == 0) continue;
    if (name == "blocks" && test == alloc::StressTest::each) continue;
    if (name == "iterations" && one_turn) continue;
    text += ", " + p.text(points.front());
  }
  return text;
}

std::string StressGrid::label(std::size_t allocator) const {
  return allocators[allocator]->label + (allocators[allocator]->lower_bound ? " *" : "");
}

bool StressFigures::empty(const Figure& figure) {
  return std::all_of(figure.lines.begin(), figure.lines.end(), unknown);
}

void StressFigures::write(Table& table) const {
  table.columns.push_back({"allocator", true});
  if (grid_.points.size() == 1) {
    write_columns(table);
    return;
  }
  grid_.add_columns(table);
  for (const Figure& figure : figures_) write_block(table, figure);
}

void StressFigures::write_block(Table& table, const Figure& figure) const {
  table.add_heading(figure.name.heading);
  const Line* folded = figure.name.fold ? shared(figure.lines) : nullptr;
  bool others = false;
  for (std::size_t a = 0; a < figure.lines.size(); ++a) {
    const Line& line = figure.lines[a];
    if (unknown(line) || (folded && same(line, *folded))) continue;
    add_line(table, grid_.label(a), line);
    others = true;
  }
  if (folded) add_line(table, others ? "all others" : "all", *folded);
  if (!figure.below.empty()) table.add(figure.below);
}

void StressFigures::write_columns(Table& table) const {
  for (const Figure& figure : figures_) table.columns.push_back({figure.name.column, false, false, figure.name.group});
  for (std::size_t a = 0; a < grid_.allocators.size(); ++a) {
    Line line;
    for (const Figure& figure : figures_) line.push_back(figure.lines[a].front());
    if (!unknown(line)) add_line(table, grid_.label(a), line);
  }
  for (std::size_t f = 0; f < figures_.size(); ++f) {
    if (figures_[f].below.empty()) continue;
    Line line(figures_.size());
    line[f] = figures_[f].below.back();
    add_line(table, figures_[f].below.front().text, line);
  }
}

}  // namespace heapwood::app
