// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/footnotes.hpp"
#include "app/format.hpp"
#include "app/stress_report.hpp"

namespace heapwood::app {

namespace {

// A parameter of a point as text: "64 B", "120 blocks".
struct Parameter {
  const char* name;
  std::string (*text)(const StressPoint&);
};
const Parameter parameters[] = {
    {"payload", [](const StressPoint& p) { return bytes_text(p.payload); }},
    {"pool", [](const StressPoint& p) { return bytes_text(p.pool_bytes) + " pool"; }},
    {"iterations", [](const StressPoint& p) { return fmt::format("{} iterations", p.iterations); }},
    {"blocks", [](const StressPoint& p) { return fmt::format("{} block{}", p.blocks, p.blocks == 1 ? "" : "s"); }},
    {"page", [](const StressPoint& p) { return p.page_bytes ? bytes_text(p.page_bytes) + " pages" : "own pages"; }}};

std::size_t distinct(const std::vector<StressPoint>& points, const Parameter& parameter) {
  std::vector<std::string> texts;
  for (const StressPoint& point : points) texts.push_back(parameter.text(point));
  std::sort(texts.begin(), texts.end());
  return static_cast<std::size_t>(std::unique(texts.begin(), texts.end()) - texts.begin());
}

// Allocators in a table's rows, points in its columns.
struct Grid {
  std::vector<StressPoint> points;
  std::vector<const StressRow*> allocators;       // the first row of each
  std::vector<std::vector<const StressRow*>> at;  // [allocator][point], nullptr where there is none

  explicit Grid(const std::vector<StressRow>& rows) {
    for (const StressRow& row : rows) {
      const auto point = index(points, row.point, [&](const StressPoint& p) { return p == row.point; });
      const auto a = index(allocators, &row, [&](const StressRow* other) { return other->allocator == row.allocator; });
      if (at.size() <= a) at.resize(a + 1);
      if (at[a].size() <= point) at[a].resize(point + 1, nullptr);
      at[a][point] = &row;
    }
    for (auto& line : at) line.resize(points.size(), nullptr);
  }

  // The parameter with most values names the columns, others that vary the groups; the rest is said in the title.
  void add_columns(Table& table, const char* first) const {
    const Parameter* main = nullptr;
    for (const Parameter& p : parameters) {
      if (distinct(points, p) > (main ? distinct(points, *main) : 1)) main = &p;
    }
    table.columns.push_back({first, true});
    for (const StressPoint& point : points) {
      std::string group;
      for (const Parameter& p : parameters) {
        if (&p != main && distinct(points, p) > 1) group += (group.empty() ? "" : ", ") + p.text(point);
      }
      table.columns.push_back({main ? main->text(point) : std::string("all"), false, false, group});
    }
  }
  std::string constants(alloc::StressTest test) const {
    std::string text;
    for (const Parameter& p : parameters) {
      const std::string name = p.name;
      if (distinct(points, p) != 1) continue;
      if (name == "page" && points.front().page_bytes == 0) continue;
      if (name == "blocks" && test == alloc::StressTest::each) continue;
      if (name == "iterations" && (test == alloc::StressTest::each || test == alloc::StressTest::alloc_dealloc))
        continue;
      text += ", " + p.text(points.front());
    }
    return text;
  }
  std::string label(std::size_t a) const { return allocators[a]->label + (allocators[a]->lower_bound ? " *" : ""); }

  // The fastest that frees at a point; nullptr where there is nothing to choose from.
  const StressRow* best(std::size_t point) const {
    const StressRow* best = nullptr;
    std::size_t candidates = 0;
    for (const auto& line : at) {
      const StressRow* row = line[point];
      if (!row || row->status != Status::ok || row->lower_bound || !row->median_ms()) continue;
      ++candidates;
      if (!best || *row->median_ms() < *best->median_ms()) best = row;
    }
    return candidates > 1 ? best : nullptr;
  }

 private:
  template <class T, class Same>
  static std::size_t index(std::vector<T>& list, const T& item, Same same) {
    const auto found = std::find_if(list.begin(), list.end(), same);
    if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
    list.push_back(item);
    return list.size() - 1;
  }
};

// A heading and a line an allocator, if `has` holds for any row.
template <class Has, class Text>
void add_section(Table& table, const Grid& grid, const char* heading, Has has, Text text) {
  const auto there = [&](const StressRow* row) { return row && has(*row); };
  if (std::none_of(grid.at.begin(), grid.at.end(),
                   [&](const auto& line) { return std::any_of(line.begin(), line.end(), there); })) {
    return;
  }
  table.add_heading(heading);
  for (std::size_t a = 0; a < grid.at.size(); ++a) {
    std::vector<Cell> cells{grid.label(a)};
    for (const StressRow* row : grid.at[a]) cells.emplace_back(there(row) ? text(*row) : missing);
    table.add(std::move(cells));
  }
}

const char* description(alloc::StressTest test) {
  switch (test) {
    case alloc::StressTest::alloc_dealloc:
      return "AD: one malloc and one free a thread, in one kernel";
    case alloc::StressTest::cycle:
      return "ACD: mallocs, then as many frees, in one kernel";
    case alloc::StressTest::probability:
      return "P: malloc or free with probability 3/4, a launch an iteration";
    case alloc::StressTest::each:
      break;
  }
  return "alloc: one malloc a thread in one kernel, one free in another";
}

void add_times(Table& table, const Grid& grid, Footnotes& footnotes) {
  table.add_heading("time [ms]");
  for (std::size_t a = 0; a < grid.at.size(); ++a) {
    std::vector<Cell> cells{grid.label(a)};
    for (std::size_t p = 0; p < grid.points.size(); ++p) {
      const StressRow* row = grid.at[a][p];
      if (!row) {
        cells.emplace_back(missing);
        continue;
      }
      // A figure where there is one, with a remark where not all is well.
      const bool timed = row->status == Status::ok || row->status == Status::incomplete;
      std::string text = timed ? figure_text(row->median_ms()) : name(row->status);
      if (!row->reason.empty()) text += " " + footnotes.mark(row->label + ": " + row->reason);
      cells.emplace_back(std::move(text), row == grid.best(p));
    }
    table.add(std::move(cells));
  }
}

// RegEff table 1: of one point, as it depends on none.
void add_registers(Table& table, const Grid& grid) {
  const auto calls = [](const auto& line) {
    const auto has = std::find_if(line.begin(), line.end(), [](const StressRow* row) { return row && row->calls; });
    return has == line.end() ? nullptr : &*(*has)->calls;
  };
  if (std::none_of(grid.at.begin(), grid.at.end(), calls)) return;
  table.add_heading("registers a thread: kernel with malloc / free / both");
  for (std::size_t a = 0; a < grid.at.size(); ++a) {
    const engine::CallUse* use = calls(grid.at[a]);
    table.add({grid.label(a), use ? registers_text(*use) : missing});
  }
}

void add_counts(Table& table, const Grid& grid) {
  if (grid.allocators.front()->settings.test != alloc::StressTest::probability) return;
  add_section(
      table, grid, "mallocs / frees", [](const StressRow& row) { return row.counts.has_value(); },
      [](const StressRow& row) {
        return count_text(row.counts->allocations) + " / " + count_text(row.counts->deallocations);
      });
  std::vector<Cell> cells{"expected of the rule"};
  for (const StressPoint& point : grid.points) {
    const double threads = stress_threads(grid.allocators.front()->settings, point);
    const alloc::ExpectedCounts expected = alloc::expected_counts(point.iterations);
    cells.emplace_back(fmt::format("{:.0f}±{:.0f} / {:.0f}±{:.0f}", threads * expected.allocations,
                                   std::sqrt(threads) * expected.allocations_sigma, threads * expected.deallocations,
                                   std::sqrt(threads) * expected.deallocations_sigma));
  }
  table.add(std::move(cells));
}

}  // namespace

Table stress_table(const std::vector<StressRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const Grid grid(rows);
  const StressSettings& settings = rows.front().settings;
  table.title = description(settings.test) + grid.constants(settings.test);
  grid.add_columns(table, "allocator");
  Footnotes footnotes;
  add_times(table, grid, footnotes);
  const auto split = [](const StressRow& row) { return !row.allocate_ms.empty(); };
  add_section(table, grid, "kernel that only allocates [ms]", split,
              [](const StressRow& row) { return figure_text(median(row.allocate_ms)); });
  add_section(table, grid, "kernel that only frees [ms]", split,
              [](const StressRow& row) { return figure_text(median(row.free_ms)); });
  add_counts(table, grid);
  add_registers(table, grid);
  if (std::any_of(rows.begin(), rows.end(), [](const StressRow& row) { return row.lower_bound; }))
    table.notes.push_back("* lower bound: cannot free, never named the fastest");
  footnotes.append_to(table.notes);
  return table;
}

Table stress_memory_table(const std::vector<StressRow>& rows) {
  Table table;
  const auto looked = [](const StressRow& row) { return row.peak && row.end; };
  if (std::none_of(rows.begin(), rows.end(), looked)) return table;
  const Grid grid(rows);
  table.title = "Memory" + grid.constants(rows.front().settings.test);
  grid.add_columns(table, "allocator");
  add_section(table, grid, "internal fragmentation, most blocks in use", looked,
              [](const StressRow& row) { return figure_text(row.peak->fragmentation.internal); });
  add_section(table, grid, "external fragmentation, most blocks in use", looked,
              [](const StressRow& row) { return figure_text(row.peak->fragmentation.external); });
  add_section(table, grid, "external fragmentation at the end", looked,
              [](const StressRow& row) { return figure_text(row.end->fragmentation.external); });
  add_section(table, grid, "high-water mark of addresses", looked,
              [](const StressRow& row) { return bytes_text(row.peak->address_bytes); });
  add_section(table, grid, "metadata", looked,
              [](const StressRow& row) { return bytes_text(row.peak->fragmentation.metadata_bytes); });
  table.notes.push_back(
      "internal: mean of (size - wanted) / size over used regions; external: 1 - largest free region / all free "
      "memory; "
      "looked at between kernels of a run that is not timed");
  return table;
}

std::vector<std::string> stress_notes(const std::vector<StressRow>& rows) {
  std::vector<std::string> lines;
  if (rows.empty()) return lines;
  const StressSettings& settings = rows.front().settings;
  std::uint64_t overlaps = 0, damaged = 0, compared = 0;
  for (const StressRow& row : rows) {
    overlaps += row.overlaps.value_or(0);
    damaged += row.damaged;
    compared += row.overlaps.has_value();
  }
  lines.push_back(fmt::format(
      "method: {} of 32 threads allocate{}{}, median of {} run{} after a warm-up, allocators "
      "interleaved, pool reset before each run",
      settings.lanes, settings.lanes == 1 ? "s" : "", settings.coalesced ? ", their requests coalesced" : "",
      settings.runs, settings.runs == 1 ? "" : "s"));
  lines.push_back(
      fmt::format("overlaps: {} by addresses of blocks in use together ({} measurement{}){}", count_text(overlaps),
                  count_text(compared), compared == 1 ? "" : "s",
                  settings.touch ? fmt::format(", {} blocks damaged by contents", count_text(damaged)) : ""));
  if (settings.test == alloc::StressTest::probability) {
    lines.push_back(
        "RegEff table 2 has 1450 mallocs and 986 frees for 120 blocks and 10 launches; they do not follow from its "
        "rule");
  }
  return lines;
}

}  // namespace heapwood::app
