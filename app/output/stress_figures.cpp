// SPDX-License-Identifier: MIT
#include "app/output/stress_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/output/tables.hpp"

namespace heapwood::app {

namespace {

using Points = std::vector<const StressRow*>;  // a row of each
using Line = std::vector<Cell>;                // a cell per point

// The text of a point's parameter: "64 B", "120 blocks".
struct Parameter {
  std::string name;
  std::string (*text)(const StressPoint&);
};
const Parameter parameters[] = {
    {"payload", [](const StressPoint& p) { return size_text(p.payload); }},
    {"pool", [](const StressPoint& p) { return size_text(p.pool_bytes) + " pool"; }},
    {"iterations", [](const StressPoint& p) { return fmt::format("{} iterations", p.iterations); }},
    {"blocks", [](const StressPoint& p) { return plural_text(p.blocks, "block"); }},
    {"page",
     [](const StressPoint& p) {
       return p.page_bytes ? size_text(p.page_bytes) + " pages" : "own pages";
     }},
    {"requests", [](const StressPoint& p) { return requests_text(p.requests); }}};

std::size_t distinct(const Points& points, const Parameter& parameter) {
  std::set<std::string> texts;
  for (const StressRow* row : points) texts.insert(parameter.text(row->point));
  return texts.size();
}

// The parameter with the most values, nullptr if none varies.
const Parameter* main_parameter(const Points& points) {
  const Parameter* main = nullptr;
  for (const Parameter& p : parameters) {
    if (distinct(points, p) > (main ? distinct(points, *main) : 1)) main = &p;
  }
  return main;
}

// The values of the other parameters that vary.
std::string group_text(const Points& points, const StressPoint& point, const Parameter* main) {
  std::string group;
  for (const Parameter& p : parameters) {
    if (&p != main && distinct(points, p) > 1) group += (group.empty() ? "" : ", ") + p.text(point);
  }
  return group;
}

// The rows, those of each group together.
Points in_groups(const std::vector<StressRow>& rows) {
  Points sorted = pointers_to(rows);
  const Parameter* main = main_parameter(sorted);
  std::vector<std::string> groups;
  std::vector<std::pair<std::size_t, const StressRow*>> order;
  for (const StressRow* row : sorted) {
    const std::string group = group_text(sorted, row->point, main);
    const auto found = std::find(groups.begin(), groups.end(), group);
    order.emplace_back(found - groups.begin(), row);
    if (found == groups.end()) groups.push_back(group);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = order[i].second;
  return sorted;
}

bool is_unknown(const Line& line) {
  return std::all_of(line.begin(), line.end(),
                     [](const Cell& cell) { return cell.text == missing; });
}

void add_line(Table& table, const Cell& label, Line line) {
  line.insert(line.begin(), label);
  table.add(std::move(line));
}

}  // namespace

std::string requests_text(std::uint64_t count) {
  const std::string number = count % 1'000'000 == 0 ? count_text(count / 1'000'000) + "M"
                             : count % 1'000 == 0   ? count_text(count / 1'000) + "K"
                                                    : count_text(count);
  return number + (count == 1 ? " request" : " requests");
}

StressGrid::StressGrid(const std::vector<StressRow>& rows)
    : RowGrid(in_groups(rows),
              [](const StressRow& a, const StressRow& b) { return a.point == b.point; }) {}

std::vector<Column> StressGrid::point_columns() const {
  const Parameter* main = main_parameter(columns);
  std::vector<Column> titles;
  for (const StressRow* row : columns)
    titles.push_back(
        {main ? main->text(row->point) : "", false, false, group_text(columns, row->point, main)});
  return titles;
}

std::string StressGrid::constants() const {
  const workloads::StressTest test = allocators.front()->settings.test;
  const StressPoint& point = columns.front()->point;
  // For churn the iterations are only a limit.
  const bool repeats = has_iterations(test) && test != workloads::StressTest::churn;
  std::string text;
  for (const Parameter& p : parameters) {
    const bool is_shown = p.name == "page"         ? point.page_bytes != 0
                          : p.name == "blocks"     ? !has_requests(test)
                          : p.name == "requests"   ? has_requests(test)
                          : p.name == "iterations" ? repeats
                                                   : true;
    if (is_shown && distinct(columns, p) == 1) text += ", " + p.text(point);
  }
  return text;
}

bool StressGrid::has_fastest() const {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (fastest(c).row) return true;
  }
  return false;
}

bool add_figures(Table& table, const StressGrid& grid, const std::vector<StressFigure>& figures,
                 const StressLayout& layout, Footnotes& footnotes) {
  const auto cell_of = [&](std::size_t figure, const StressRow* row, std::size_t column) -> Cell {
    if (row == nullptr) return missing;
    Cell cell = figures[figure].text(*row);
    if (cell.text.empty()) cell.text = missing;
    if (figure != 0 || !layout.has_status) return cell;
    cell.text = footnotes.marked(row->is_measured() ? cell.text : name(row->status), *row);
    cell.best = layout.names_fastest && grid.fastest(column).row == row;
    return cell;
  };
  // One line per allocator of each figure that is known for any.
  std::vector<std::vector<Line>> all;
  std::vector<std::size_t> shown;
  for (std::size_t f = 0; f < figures.size(); ++f) {
    std::vector<Line>& lines = all.emplace_back();
    for (const auto& rows : grid.cells) {
      Line& line = lines.emplace_back();
      for (std::size_t c = 0; c < rows.size(); ++c) line.push_back(cell_of(f, rows[c], c));
    }
    if (!std::all_of(lines.begin(), lines.end(), is_unknown)) shown.push_back(f);
  }
  if (shown.empty()) return false;
  table.columns.push_back({"allocator", true});
  if (grid.columns.size() > 1) {
    for (Column& column : grid.point_columns()) table.columns.push_back(std::move(column));
    for (const std::size_t f : shown) {
      table.add_heading(figures[f].heading);
      for (std::size_t a = 0; a < grid.cells.size(); ++a) {
        if (!is_unknown(all[f][a])) add_line(table, grid.allocators[a]->marked_label(), all[f][a]);
      }
      if (f == layout.below_figure && !layout.below.empty()) table.add(layout.below);
    }
    return true;
  }
  Line below;
  for (const std::size_t f : shown) {
    table.columns.push_back({figures[f].column, false, false, figures[f].group});
    below.push_back(f == layout.below_figure && !layout.below.empty() ? layout.below.back() : "");
  }
  for (std::size_t a = 0; a < grid.cells.size(); ++a) {
    Line line;
    for (const std::size_t f : shown) line.push_back(all[f][a].front());
    if (!is_unknown(line)) add_line(table, grid.allocators[a]->marked_label(), line);
  }
  if (!layout.below.empty()) add_line(table, layout.below.front(), below);
  return true;
}

}  // namespace heapwood::app
