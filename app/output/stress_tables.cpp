// SPDX-License-Identifier: MIT
#include "app/output/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/results/row_tables.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

namespace {

using Points = std::vector<const StressRow*>;  // a row for each point
using Line = std::vector<Cell>;                // a cell for each point

// A parameter of a test, and the text of its value at a point: "64 B", "120 blocks".
struct Parameter {
  std::string name;
  std::string (*text)(const StressPoint&);
};
const Parameter parameters[] = {
    {"payload", [](const StressPoint& p) { return size_text(p.payload); }},
    {"pool", [](const StressPoint& p) { return size_text(p.pool_bytes) + " pool"; }},
    {"iterations", [](const StressPoint& p) { return fmt::format("{} iterations", p.iterations); }},
    {"blocks", [](const StressPoint& p) { return plural_text(p.blocks, "block"); }},
    {"requests", [](const StressPoint& p) { return requests_text(p.requests); }}};

std::size_t distinct(const Points& points, const Parameter& parameter) {
  std::set<std::string> texts;
  for (const StressRow* row : points) texts.insert(parameter.text(row->point));
  return texts.size();
}

// The parameter with the most values; nullptr if none varies.
const Parameter* main_parameter(const Points& points) {
  const Parameter* main = nullptr;
  for (const Parameter& p : parameters) {
    if (distinct(points, p) > (main ? distinct(points, *main) : 1)) main = &p;
  }
  return main;
}

// The name of a group of points: the values of the varying parameters other than the main one.
std::string group_text(const Points& points, const StressPoint& point, const Parameter* main) {
  std::string group;
  for (const Parameter& p : parameters) {
    if (&p != main && distinct(points, p) > 1) group += (group.empty() ? "" : ", ") + p.text(point);
  }
  return group;
}

// The rows ordered so that those of each group are adjacent.
Points in_groups(const std::vector<StressRow>& rows) {
  Points sorted = pointers_to(rows);
  const Parameter* main = main_parameter(sorted);
  std::vector<std::string> groups;
  std::vector<std::pair<std::size_t, const StressRow*>> order;
  for (const StressRow* row : sorted) {
    const std::string group = group_text(sorted, row->point, main);
    const auto found = std::ranges::find(groups, group);
    order.emplace_back(found - groups.begin(), row);
    if (found == groups.end()) groups.push_back(group);
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = order[i].second;
  return sorted;
}

bool is_unknown(const Line& line) {
  return std::ranges::all_of(line, [](const Cell& cell) { return cell.text == missing; });
}

void add_line(Table& table, const Cell& label, Line line) {
  line.insert(line.begin(), label);
  table.add(std::move(line));
}

// A grid with allocators in rows and points in columns. The varying parameter with the most values
// names the columns; the others name groups, whose points are adjacent.
struct StressGrid : RowGrid<StressRow> {
  explicit StressGrid(const std::vector<StressRow>& rows)
      : RowGrid(in_groups(rows),
                [](const StressRow& a, const StressRow& b) { return a.point == b.point; }) {}

  std::vector<Column> point_columns() const {
    const Parameter* main = main_parameter(columns);
    std::vector<Column> titles;
    for (const StressRow* row : columns)
      titles.push_back({main ? main->text(row->point) : "", false, false,
                        group_text(columns, row->point, main)});
    return titles;
  }

  // The parameters that do not vary, for a title: ", 64 MiB pool, 120 blocks".
  std::string constants() const {
    const workloads::StressTest test = allocators.front()->settings.test;
    const StressPoint& point = columns.front()->point;
    // In churn the iterations are only a limit, so they are not shown.
    const bool repeats = has_iterations(test) && test != workloads::StressTest::churn;
    std::string text;
    for (const Parameter& p : parameters) {
      const bool is_shown = p.name == "blocks"       ? !has_requests(test)
                            : p.name == "requests"   ? has_requests(test)
                            : p.name == "iterations" ? repeats
                                                     : true;
      if (is_shown && distinct(columns, p) == 1) text += ", " + p.text(point);
    }
    return text;
  }

  bool has_fastest() const {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (fastest(c).row) return true;
    }
    return false;
  }
};

// A figure that may be known only for some allocators at some points. With several points it is a
// block of lines with a column per point; with one point it is a column.
struct StressFigure {
  const char* heading;                    // title above its lines, in a table of several points
  const char* column;                     // title of its column, in a table of one point
  const char* group;                      // title over adjacent columns, in a table of one point
  std::string (*text)(const StressRow&);  // returns "" if not measured
};

struct StressLayout {
  bool has_status = true, names_fastest = false;
  std::size_t below_figure = 0;
  std::vector<Cell> below{};
};

// Adds the columns and lines of the figures. Rows are allocators; columns are points or, for a
// single point, figures. Allocators without figures have no line. The first figure shows the status
// of rows without times and, if it `names_fastest`, marks the fastest. below: a label and a text
// per point, for a line under the figure of that number. Returns false, without columns, if there
// are no figures.
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
  // Makes a line per allocator for each figure that is known for any allocator.
  std::vector<std::vector<Line>> all;
  std::vector<std::size_t> shown;
  for (std::size_t f = 0; f < figures.size(); ++f) {
    std::vector<Line>& lines = all.emplace_back();
    for (const auto& rows : grid.cells) {
      Line& line = lines.emplace_back();
      for (std::size_t c = 0; c < rows.size(); ++c) line.push_back(cell_of(f, rows[c], c));
    }
    if (!std::ranges::all_of(lines, is_unknown)) shown.push_back(f);
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

using workloads::StressTest;
using Row = const StressRow&;

// The figures of tests of memory use as text.
using SpaceFigure = std::optional<double> StressSpaceFigures::*;
template <SpaceFigure figure, std::string (*text)(std::uint64_t)>
std::string whole(Row row) {
  const std::optional<double> value = space_figures(row).*figure;
  return value ? text(static_cast<std::uint64_t>(*value)) : missing;
}
template <SpaceFigure figure>
std::string ms_of(Row row) {
  return figure_text(space_figures(row).*figure);
}
std::string utilization(Row row) {
  const std::optional<double> share = space_figures(row).utilization;
  return share ? fmt::format("{:.2f}%", 100 * *share) : missing;
}
std::string time_of(Row row) { return figure_text(row.median_ms()); }
std::string refusal_us(Row row) {
  const std::optional<double> ms = median(row.refusal_ms);
  return ms ? figure_text(*ms * 1e3) : missing;
}

// The states of the pool, which only inspected rows have.
using State = std::optional<workloads::PoolState> StressRow::*;
bool is_inspected(Row row) { return row.peak && row.end; }
template <State state>
std::string external_text(Row row) {
  return is_inspected(row) ? figure_text((row.*state)->fragmentation.external) : "";
}

const std::vector<StressFigure> time_figures{
    {"time [ms]", "time [ms]", "", time_of},
    {"kernel that only allocates [ms]", "only mallocs [ms]", "",
     [](Row row) { return figure_text(median(row.allocate_ms)); }},
    {"kernel that only frees [ms]", "only frees [ms]", "",
     [](Row row) { return figure_text(median(row.free_ms)); }},
};
const StressFigure calls_of_p{"mallocs / frees", "mallocs / frees", "", [](Row row) {
                                return row.counts ? count_text(row.counts->allocations) + " / " +
                                                        count_text(row.counts->deallocations)
                                                  : "";
                              }};
// Mallocs per second, which include refused ones as in the paper, and the share of refused ones.
const std::vector<StressFigure> rate_figures{
    {"mallocs per second [M/s]", "mallocs [M/s]", "",
     [](Row row) {
       const std::optional<double> ms = row.median_ms();
       return ms ? figure_text(row.point.requests / *ms / 1e3) : missing;
     }},
    {"refused [%]", "refused [%]", "",
     [](Row row) {
       // Only if blocks are in the pool: a heap outside it may be larger.
       if (!row.counts || row.capacity_bytes != row.point.pool_bytes) return std::string();
       return fmt::format("{:.1f}",
                          100.0 * static_cast<double>(row.counts->failures) / row.point.requests);
     }},
};
const std::vector<StressFigure> of_utilization{
    {"bytes handed out / pool", "of the pool", "", utilization},
    {"blocks", "blocks", "", whole<&StressSpaceFigures::blocks, count_text>},
    {"time [ms]", "time [ms]", "", time_of},
    {"time of a refused call [us]", "a refused call [us]", "", refusal_us},
};
const std::vector<StressFigure> of_lifetimes{
    {"held / live", "held / live", "", [](Row row) { return figure_text(held_over_live(row)); }},
    {"mallocs", "mallocs", "",
     [](Row row) { return row.counts ? count_text(row.counts->allocations) : missing; }},
    {"time of the kernels [ms]", "kernels [ms]", "", time_of},
};
const std::vector<StressFigure> of_range{
    {"addresses of the first iteration", "first iteration", "addresses",
     whole<&StressSpaceFigures::first_address_bytes, bytes_text>},
    {"addresses of all iterations", "all iterations", "addresses",
     whole<&StressSpaceFigures::address_bytes, bytes_text>},
    {"time of an iteration [ms]", "iteration [ms]", "", ms_of<&StressSpaceFigures::iteration_ms>},
};
const std::vector<StressFigure> of_churn{
    {"iterations", "iterations", "", whole<&StressSpaceFigures::iterations, count_text>},
    {"bytes in use at the end / pool", "of the pool", "at the end", utilization},
    {"addresses at the end", "addresses", "at the end",
     whole<&StressSpaceFigures::address_bytes, bytes_text>},
    {"time of an iteration [ms]", "median", "iteration [ms]",
     ms_of<&StressSpaceFigures::iteration_ms>},
    {"time of the last iteration [ms]", "last", "iteration [ms]",
     ms_of<&StressSpaceFigures::last_ms>},
};
const std::vector<StressFigure> memory_figures{
    {"internal fragmentation at the peak", "internal", "at the peak",
     [](Row row) {
       return is_inspected(row) ? figure_text(row.peak->fragmentation.internal) : "";
     }},
    {"external fragmentation at the peak", "external", "at the peak",
     external_text<&StressRow::peak>},
    {"high-water mark of addresses", "address", "at the peak",
     [](Row row) { return is_inspected(row) ? bytes_text(row.peak->address_bytes) : ""; }},
    {"external fragmentation at the end", "external at the end", "",
     external_text<&StressRow::end>},
};

const std::vector<StressFigure>& figures_of(StressTest test) {
  switch (test) {
    case StressTest::exhaust:
      return rate_figures;
    case StressTest::utilization:
      return of_utilization;
    case StressTest::lifetimes:
    case StressTest::soak:
      return of_lifetimes;
    case StressTest::range:
      return of_range;
    case StressTest::churn:
      return of_churn;
    default:
      return time_figures;
  }
}

std::string title_of(const StressSettings& settings) {
  switch (settings.test) {
    case StressTest::alloc_dealloc:
      return "malloc-free (RegEff's AD): one malloc and one free per thread, in one kernel";
    case StressTest::cycle:
      return "cycle (RegEff's ACD): mallocs, then as many frees, in one kernel";
    case StressTest::probability:
      return fmt::format(
          "probability (RegEff's P): malloc or free with probability {}, one launch per iteration",
          settings.probability);
    case StressTest::mixed:
      return "mixed: one malloc per thread, 16 bytes to the size shown, in one kernel, one free in "
             "another";
    case StressTest::exhaust:
      return "exhaust: one malloc per thread, exactly as many as fill the pool (bulk, figure 7)";
    case StressTest::utilization:
      return "utilization: each thread allocates until it is refused";
    case StressTest::range:
      return "range: one malloc per thread, then one free per thread, repeated";
    case StressTest::lifetimes:
      return "lifetimes: blocks of random sizes";
    case StressTest::soak:
      return "soak: blocks of random sizes and lifetimes, contents verified";
    case StressTest::churn:
      return "churn: one malloc per thread, half of them freed, until a request is refused";
    default:
      return name(settings.test) +
             std::string(": one malloc per thread in one kernel, one free in another");
  }
}

// Notes that explain the figures of tests of memory use.
std::vector<std::string> notes_of(StressTest test) {
  if (!workloads::measures_space(test)) return {};
  if (test == StressTest::utilization) {
    return {
        "of the pool: requested bytes of all blocks / size of the pool, including the allocator's "
        "tables",
        "a refused call: latency seen by one thread while all threads call, without the launch"};
  }
  if (workloads::has_lifetimes(test)) {
    return {
        "held: memory that is neither free nor in the allocator's tables, before the last frees; "
        "live: requested bytes of blocks in use"};
  }
  return {"addresses: from the lowest to the end of the highest block handed out so far"};
}

// A line of reference values: for P the expected calls, for range the min possible first figure.
std::vector<Cell> below_of(const StressGrid& grid, const StressSettings& settings) {
  const bool is_p = settings.test == StressTest::probability;
  if (!is_p && settings.test != StressTest::range) return {};
  std::vector<Cell> cells{is_p ? "expected" : "min possible"};
  for (const StressRow* row : grid.columns) {
    const StressPoint& point = row->point;
    const double threads = stress_threads(settings, point);
    const workloads::ExpectedCounts expected =
        workloads::expected_counts(point.iterations, settings.probability);
    cells.emplace_back(
        is_p ? fmt::format("{:.0f}±{:.0f} / {:.0f}±{:.0f}", threads * expected.allocations,
                           std::sqrt(threads) * expected.allocations_sigma,
                           threads * expected.deallocations,
                           std::sqrt(threads) * expected.deallocations_sigma)
             : bytes_text(std::uint64_t{point.requests} * alloc::padded(point.payload)));
  }
  return cells;
}

bool shares_memory(const StressRow* row) {
  return row && is_inspected(*row) && row->overlaps.value_or(0) > 0 &&
         !row->peak->fragmentation.internal;
}

}  // namespace

std::string requests_text(std::uint64_t count) {
  const std::string number = count % 1'000'000 == 0 ? count_text(count / 1'000'000) + "M"
                             : count % 1'000 == 0   ? count_text(count / 1'000) + "K"
                                                    : count_text(count);
  return number + (count == 1 ? " request" : " requests");
}

Table stress_table(const std::vector<StressRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const StressSettings& settings = rows.front().settings;
  const bool is_p = settings.test == StressTest::probability,
             is_space = workloads::measures_space(settings.test),
             names_fastest = !is_space && settings.test != StressTest::exhaust;
  const StressGrid grid(rows);
  table.title = title_of(settings) + grid.constants();
  if (settings.test == StressTest::lifetimes)
    table.title += fmt::format(", {} order", name(settings.order));
  if (!is_space && settings.rounds > 1)
    table.title += fmt::format(", round {} in one pool", settings.rounds);
  std::vector<StressFigure> figures = figures_of(settings.test);
  if (is_p) figures.push_back(calls_of_p);
  Footnotes footnotes;
  add_figures(table, grid, figures,
              {true, names_fastest, is_p ? figures.size() - 1 : 0, below_of(grid, settings)},
              footnotes);
  table.notes = notes_of(settings.test);
  explain_marks(table, names_fastest && grid.has_fastest(), rows);
  footnotes.append_to(table.notes);
  return table;
}

Table stress_memory_table(const std::vector<StressRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const StressGrid grid(rows);
  Footnotes none;
  if (!add_figures(table, grid, memory_figures, {.has_status = false}, none)) return table;
  table.title = "Memory" + grid.constants();
  table.notes.push_back(
      "internal: mean of (size - requested) / size over used regions; external: 1 - largest free "
      "region / all free memory; address: from the pool's start to the end of the highest block; "
      "peak: max blocks in use; inspected between kernels of an untimed run");
  std::vector<std::string> absent, shared;
  for (std::size_t a = 0; a < grid.cells.size(); ++a) {
    const auto has = [&](auto is) { return std::ranges::any_of(grid.cells[a], is); };
    if (!has([](const StressRow* row) { return row && is_inspected(*row); }))
      absent.push_back(grid.allocators[a]->label);
    if (has(shares_memory)) shared.push_back(grid.allocators[a]->label);
  }
  if (!shared.empty())
    table.notes.push_back(fmt::format(
        "internal fragmentation unknown: {} (blocks in use share memory)", joined(shared)));
  if (!absent.empty())
    table.notes.push_back(fmt::format(
        "not inspected: {} (failed, or its memory cannot be inspected)", joined(absent)));
  return table;
}

std::vector<std::string> stress_notes(const std::vector<StressRow>& rows) {
  std::vector<std::string> lines;
  if (rows.empty()) return lines;
  const StressSettings& settings = rows.front().settings;
  std::uint64_t overlaps = 0, damaged = 0, compared = 0;
  std::vector<double> floors;
  for (const StressRow& row : rows) {
    overlaps += row.overlaps.value_or(0);
    damaged += row.damaged;
    compared += row.overlaps.has_value();
    floors.insert(floors.end(), row.floor_ms.begin(), row.floor_ms.end());
  }
  const bool space = workloads::measures_space(settings.test);
  lines.push_back(fmt::format(
      "method: {} of 32 threads allocate{}{}{}, {}{}{}, allocators interleaved, pool reset before "
      "each run",
      settings.lanes, settings.lanes == 1 ? "s" : "",
      settings.coalesced ? ", their requests coalesced" : "",
      settings.allocator.large_backend == alloc::LargeBackend::builtin
          ? ", large ones from the built-in malloc"
          : "",
      space && settings.runs == 1 ? "" : "median of ",
      plural_text(static_cast<std::uint64_t>(settings.runs), "run"),
      space ? "" : " after a warm-up"));
  if (!floors.empty())
    lines.push_back(
        fmt::format("launch: an empty kernel of the same size takes {} ms (median of all)",
                    figure_text(median(floors))));
  lines.push_back(fmt::format(
      "overlaps: {} by addresses of blocks live at once ({}){}", count_text(overlaps),
      plural_text(compared, "measurement"),
      settings.touch ? fmt::format(", {} blocks damaged by contents", count_text(damaged)) : ""));
  if (settings.test == StressTest::probability)
    lines.push_back(
        "RegEff table 2 has 1450 mallocs and 986 frees for 120 blocks and 10 launches, "
        "which are the numbers of a probability of 1/4");
  return lines;
}

}  // namespace heapwood::app
