// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "app/output/stress_figures.hpp"
#include "app/output/stress_tables.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::app {

namespace {

using workloads::StressTest;

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100 * *share) : bench::missing;
}
std::string optional_count(const std::optional<double>& count) {
  return count ? bench::count_text(static_cast<std::uint64_t>(*count)) : bench::missing;
}
std::string optional_bytes(const std::optional<double>& bytes) {
  return bytes ? bench::bytes_text(static_cast<std::uint64_t>(*bytes)) : bench::missing;
}
std::string mallocs(const bench::StressRow& row) {
  return row.counts ? bench::count_text(row.counts->allocations) : bench::missing;
}
std::string refusal_us(const bench::StressRow& row) {
  const std::optional<double> ms = bench::median(row.refusal_ms);
  return ms ? bench::figure_text(*ms * 1e3) : bench::missing;
}

struct SpaceFigure {
  StressTest test;  // that of soak is lifetimes
  FigureName name;
  std::string (*text)(const bench::StressRow&, const bench::StressSpaceFigures&);
};
using Row = const bench::StressRow&;
using Space = const bench::StressSpaceFigures&;

const SpaceFigure all_figures[] = {
    {StressTest::utilization,
     {"bytes handed out / pool", "of the pool"},
     [](Row, Space space) { return percent_text(space.utilization); }},
    {StressTest::utilization,
     {"blocks", "blocks"},
     [](Row, Space space) { return optional_count(space.blocks); }},
    {StressTest::utilization,
     {"time [ms]", "time [ms]"},
     [](Row row, Space) { return bench::figure_text(row.median_ms()); }},
    {StressTest::utilization,
     {"time of a refused call [us]", "a refused call [us]"},
     [](Row row, Space) { return refusal_us(row); }},
    {StressTest::lifetimes,
     {"held / live", "held / live"},
     [](Row row, Space) { return bench::figure_text(held_over_live(row)); }},
    {StressTest::lifetimes, {"mallocs", "mallocs"}, [](Row row, Space) { return mallocs(row); }},
    {StressTest::lifetimes,
     {"time of the kernels [ms]", "kernels [ms]"},
     [](Row row, Space) { return bench::figure_text(row.median_ms()); }},
    {StressTest::range,
     {"addresses of the first iteration", "first iteration", "addresses"},
     [](Row, Space space) { return optional_bytes(space.first_address_bytes); }},
    {StressTest::range,
     {"addresses of all iterations", "all iterations", "addresses"},
     [](Row, Space space) { return optional_bytes(space.address_bytes); }},
    {StressTest::range,
     {"time of an iteration [ms]", "iteration [ms]"},
     [](Row, Space space) { return bench::figure_text(space.iteration_ms); }},
    {StressTest::churn,
     {"iterations", "iterations"},
     [](Row, Space space) { return optional_count(space.iterations); }},
    {StressTest::churn,
     {"bytes in use at the end / pool", "of the pool", "at the end"},
     [](Row, Space space) { return percent_text(space.utilization); }},
    {StressTest::churn,
     {"addresses at the end", "addresses", "at the end"},
     [](Row, Space space) { return optional_bytes(space.address_bytes); }},
    {StressTest::churn,
     {"time of an iteration [ms]", "median", "iteration [ms]"},
     [](Row, Space space) { return bench::figure_text(space.iteration_ms); }},
    {StressTest::churn,
     {"time of the last iteration [ms]", "last", "iteration [ms]"},
     [](Row, Space space) { return bench::figure_text(space.last_ms); }},
};

const char* description(StressTest test) {
  switch (test) {
    case StressTest::utilization:
      return "utilization: each thread allocates until it is refused";
    case StressTest::range:
      return "range: one malloc per thread, then one free per thread, repeated";
    case StressTest::lifetimes:
      return "lifetimes: blocks of random sizes";
    case StressTest::soak:
      return "soak: blocks of random sizes and lifetimes, contents verified";
    default:
      return "churn: one malloc per thread, half of them freed, until a request is refused";
  }
}

// What the figures mean.
std::vector<std::string> notes_of(StressTest test) {
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

// The smallest range of addresses that holds all blocks of each point.
std::vector<bench::Cell> min_ranges(const StressGrid& grid) {
  std::vector<bench::Cell> cells{"min possible"};
  for (const bench::StressPoint& point : grid.points)
    cells.emplace_back(
        bench::bytes_text(std::uint64_t{point.requests} * alloc::padded(point.payload)));
  return cells;
}

}  // namespace

bench::Table stress_space_table(const std::vector<bench::StressRow>& rows) {
  bench::Table table;
  if (rows.empty()) return table;
  const StressTest test = rows.front().settings.test;
  const StressGrid grid(rows);
  StressFigures figures(grid);
  bench::Footnotes footnotes;
  table.title = description(test) + grid.constants();
  if (test == StressTest::lifetimes)
    table.title += fmt::format(", {} order", bench::name(rows.front().settings.order));
  bool is_first = true;
  for (const SpaceFigure& figure : all_figures) {
    if (figure.test != (workloads::has_lifetimes(test) ? StressTest::lifetimes : test)) continue;
    const auto cell = [&](const bench::StressRow& row) -> bench::Cell {
      const std::string text = figure.text(row, space_figures(row));
      return is_first ? status_cell(row, text, footnotes) : bench::Cell(text);
    };
    figures.add(figure.name, cell,
                is_first && test == StressTest::range ? min_ranges(grid) : Line());
    is_first = false;
  }
  figures.write(table);
  table.notes = notes_of(test);
  if (std::any_of(rows.begin(), rows.end(),
                  [](const bench::StressRow& row) { return row.lower_bound; }))
    table.notes.push_back("* cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::app
