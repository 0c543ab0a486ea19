// SPDX-License-Identifier: MIT
#include "app/output/stress_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/output/row_tables.hpp"

namespace heapwood::app {

namespace {

// The text of a point's parameter: "64 B", "120 blocks".
struct Parameter {
  const char* name;
  std::string (*text)(const bench::StressPoint&);
};
const Parameter parameters[] = {
    {"payload", [](const bench::StressPoint& p) { return bench::size_text(p.payload); }},
    {"pool", [](const bench::StressPoint& p) { return bench::size_text(p.pool_bytes) + " pool"; }},
    {"iterations",
     [](const bench::StressPoint& p) { return fmt::format("{} iterations", p.iterations); }},
    {"blocks",
     [](const bench::StressPoint& p) {
       return fmt::format("{} block{}", p.blocks, p.blocks == 1 ? "" : "s");
     }},
    {"page",
     [](const bench::StressPoint& p) {
       return p.page_bytes ? bench::size_text(p.page_bytes) + " pages" : "own pages";
     }},
    {"requests", [](const bench::StressPoint& p) { return requests_text(p.requests); }}};

std::size_t distinct(const std::vector<bench::StressPoint>& points, const Parameter& parameter) {
  std::vector<std::string> texts;
  texts.reserve(points.size());
  for (const bench::StressPoint& point : points) texts.push_back(parameter.text(point));
  std::sort(texts.begin(), texts.end());
  return static_cast<std::size_t>(std::unique(texts.begin(), texts.end()) - texts.begin());
}

// The parameter with the most values, nullptr if none varies.
const Parameter* main_parameter(const std::vector<bench::StressPoint>& points) {
  const Parameter* main = nullptr;
  for (const Parameter& p : parameters) {
    if (distinct(points, p) > (main ? distinct(points, *main) : 1)) main = &p;
  }
  return main;
}

// The values of the other parameters that vary.
std::string group_text(const std::vector<bench::StressPoint>& points,
                       const bench::StressPoint& point, const Parameter* main) {
  std::string group;
  for (const Parameter& p : parameters) {
    if (&p != main && distinct(points, p) > 1) group += (group.empty() ? "" : ", ") + p.text(point);
  }
  return group;
}

// The index of an equal item, which is appended if absent.
template <class T, class Same>
std::size_t index(std::vector<T>& list, const T& item, Same same) {
  const auto found = std::find_if(list.begin(), list.end(), same);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(item);
  return list.size() - 1;
}

bool unknown(const Line& line) {
  return std::all_of(line.begin(), line.end(),
                     [](const bench::Cell& cell) { return cell.text == bench::missing; });
}

void add_line(bench::Table& table, const std::string& label, const Line& line) {
  std::vector<bench::Cell> cells{label};
  cells.insert(cells.end(), line.begin(), line.end());
  table.add(std::move(cells));
}

}  // namespace

std::string requests_text(std::uint64_t count) {
  const std::string number = count % 1'000'000 == 0 ? bench::count_text(count / 1'000'000) + "M"
                             : count % 1'000 == 0   ? bench::count_text(count / 1'000) + "K"
                                                    : bench::count_text(count);
  return number + (count == 1 ? " request" : " requests");
}

StressGrid::StressGrid(const std::vector<bench::StressRow>& rows) {
  const auto index_of = [&](const bench::StressPoint& point) {
    return index(points, point, [&](const bench::StressPoint& p) { return p == point; });
  };
  for (const bench::StressRow& row : rows) index_of(row.point);
  gather_groups();
  for (const bench::StressRow& row : rows) {
    const auto point = index_of(row.point);
    const auto a = index(allocators, &row, [&](const bench::StressRow* other) {
      return other->allocator == row.allocator;
    });
    if (at.size() <= a) at.resize(a + 1);
    if (at[a].size() <= point) at[a].resize(point + 1, nullptr);
    at[a][point] = &row;
  }
  for (auto& line : at) line.resize(points.size(), nullptr);
  for (std::size_t point = 0; point < points.size(); ++point) best.push_back(fastest(point));
}

void StressGrid::gather_groups() {
  const Parameter* main = main_parameter(points);
  std::vector<std::string> groups;
  std::vector<std::pair<std::size_t, bench::StressPoint>> order;
  for (const bench::StressPoint& point : points) {
    const std::string group = group_text(points, point, main);
    order.emplace_back(
        index(groups, group, [&](const std::string& other) { return other == group; }), point);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = order[i].second;
}

const bench::StressRow* StressGrid::fastest(std::size_t point) const {
  std::vector<const bench::StressRow*> rows;
  for (const auto& line : at) rows.push_back(line[point]);
  return find_fastest(rows, [](const bench::StressRow& row) { return &row.runs_ms; });
}

void StressGrid::add_columns(bench::Table& table) const {
  const Parameter* main = main_parameter(points);
  for (const bench::StressPoint& point : points)
    table.columns.push_back(
        {main ? main->text(point) : "", false, false, group_text(points, point, main)});
}

std::string StressGrid::constants() const {
  const workloads::StressTest test = allocators.front()->settings.test;
  std::string text;
  for (const Parameter& p : parameters) {
    const std::string name = p.name;
    if (distinct(points, p) != 1) continue;
    if (name == "page" && points.front().page_bytes == 0) continue;
    if (name == (bench::has_requests(test) ? "blocks" : "requests")) continue;
    // For churn it is only a limit.
    if (name == "iterations" &&
        (!bench::has_iterations(test) || test == workloads::StressTest::churn))
      continue;
    text += ", " + p.text(points.front());
  }
  return text;
}

bench::Cell status_cell(const bench::StressRow& row, const std::string& text,
                        bench::Footnotes& footnotes) {
  return footnotes.marked(row.is_measured() ? text : bench::name(row.status), row);
}

bool StressFigures::empty(const Figure& figure) {
  return std::all_of(figure.lines.begin(), figure.lines.end(), unknown);
}

void StressFigures::write(bench::Table& table) const {
  table.columns.push_back({"allocator", true});
  if (grid_.points.size() == 1) {
    write_columns(table);
    return;
  }
  grid_.add_columns(table);
  for (const Figure& figure : figures_) write_block(table, figure);
}

void StressFigures::write_block(bench::Table& table, const Figure& figure) const {
  table.add_heading(figure.name.heading);
  for (std::size_t a = 0; a < figure.lines.size(); ++a) {
    if (!unknown(figure.lines[a]))
      add_line(table, grid_.allocators[a]->marked_label(), figure.lines[a]);
  }
  if (!figure.below.empty()) table.add(figure.below);
}

void StressFigures::write_columns(bench::Table& table) const {
  for (const Figure& figure : figures_)
    table.columns.push_back({figure.name.column, false, false, figure.name.group});
  for (std::size_t a = 0; a < grid_.allocators.size(); ++a) {
    Line line;
    for (const Figure& figure : figures_) line.push_back(figure.lines[a].front());
    if (!unknown(line)) add_line(table, grid_.allocators[a]->marked_label(), line);
  }
  for (std::size_t f = 0; f < figures_.size(); ++f) {
    if (figures_[f].below.empty()) continue;
    Line line(figures_.size());
    line[f] = figures_[f].below.back();
    add_line(table, figures_[f].below.front().text, line);
  }
}

}  // namespace heapwood::app
