// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "app/stress_figures.hpp"
#include "app/stress_report.hpp"

namespace heapwood::app {

namespace {

using alloc::StressTest;

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

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}%", 100 * *share) : missing;
}
std::string optional_count(const std::optional<double>& count) {
  return count ? count_text(static_cast<std::uint64_t>(*count)) : missing;
}
std::string optional_bytes(const std::optional<double>& bytes) {
  return bytes ? bytes_text(static_cast<std::uint64_t>(*bytes)) : missing;
}

using Figure = std::string (*)(const StressSpaceFigures&);

void add_utilization(StressFigures& figures, Footnotes& footnotes) {
  const auto share = [&](const StressRow& row) {
    return status_cell(row, percent_text(space_figures(row).utilization), footnotes);
  };
  figures.add({"bytes handed out / pool", "of the pool"}, share);
}

void add_range(StressFigures& figures, const StressGrid& grid, Footnotes& footnotes) {
  std::vector<Cell> least{"min possible"};
  for (const StressPoint& point : grid.points)
    least.emplace_back(bytes_text(std::uint64_t{point.requests} * alloc::padded(point.payload)));
  const auto first = [&](const StressRow& row) {
    return status_cell(row, optional_bytes(space_figures(row).first_address_bytes), footnotes);
  };
  figures.add({"addresses of the first iteration", "first iteration", "addresses"}, first, least);
}

void add(StressFigures& figures, const FigureName& name, Figure figure) {
  figures.add(name, [figure](const StressRow& row) -> Cell { return figure(space_figures(row)); });
}

}  // namespace

StressSpaceFigures space_figures(const StressRow& row) {
  std::vector<double> utilization, blocks, first, last, iterations, iteration_ms, last_ms;
  for (const std::vector<alloc::StressStep>& steps : row.steps) {
    if (steps.empty()) continue;
    const auto in_use = static_cast<double>(steps.back().blocks);
    blocks.push_back(in_use);
    if (row.capacity_bytes && !alloc::has_lifetimes(row.settings.test))
      utilization.push_back(in_use * static_cast<double>(row.point.payload) / static_cast<double>(row.capacity_bytes));
    first.push_back(static_cast<double>(steps.front().address_bytes));
    last.push_back(static_cast<double>(steps.back().address_bytes));
    std::vector<double> served;
    for (const alloc::StressStep& step : steps) {
      if (step.refused == 0) served.push_back(step.ms);
    }
    iterations.push_back(static_cast<double>(served.size()));
    if (served.empty()) continue;
    last_ms.push_back(served.back());
    iteration_ms.push_back(*median(served));
  }
  return {median(utilization), median(blocks),       median(first),  median(last),
          median(iterations),  median(iteration_ms), median(last_ms)};
}

std::optional<double> held_over_live(const StressRow& row) {
  if (!alloc::has_lifetimes(row.settings.test) || !row.peak || row.peak->live_bytes == 0) return std::nullopt;
  const alloc::Fragmentation& f = row.peak->fragmentation;
  return static_cast<double>(row.point.pool_bytes - f.free_bytes - f.metadata_bytes) /
         static_cast<double>(row.peak->live_bytes);
}

Table stress_space_table(const std::vector<StressRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const StressTest test = rows.front().settings.test;
  const StressGrid grid(rows);
  StressFigures figures(grid);
  Footnotes footnotes;
  table.title = description(test) + grid.constants();
  if (test == StressTest::lifetimes) table.title += fmt::format(", {} order", name(rows.front().settings.order));
  if (test == StressTest::utilization) {
    add_utilization(figures, footnotes);
    add(figures, {"blocks", "blocks"}, [](const StressSpaceFigures& f) { return optional_count(f.blocks); });
    figures.add({"time [ms]", "time [ms]"}, [](const StressRow& row) -> Cell { return figure_text(row.median_ms()); });
    figures.add({"time of a refused call [us]", "a refused call [us]"}, [](const StressRow& row) -> Cell {
      const std::optional<double> ms = median(row.refusal_ms);
      return ms ? figure_text(*ms * 1e3) : missing;
    });
  } else if (alloc::has_lifetimes(test)) {
    figures.add({"held / live", "held / live"},
                [&](const StressRow& row) { return status_cell(row, figure_text(held_over_live(row)), footnotes); });
    figures.add({"mallocs", "mallocs"}, [](const StressRow& row) -> Cell {
      return row.counts ? count_text(row.counts->allocations) : missing;
    });
    figures.add({"time of the kernels [ms]", "kernels [ms]"},
                [](const StressRow& row) -> Cell { return figure_text(row.median_ms()); });
  } else if (test == StressTest::range) {
    add_range(figures, grid, footnotes);
    add(figures, {"addresses of all iterations", "all iterations", "addresses"},
        [](const StressSpaceFigures& f) { return optional_bytes(f.address_bytes); });
    add(figures, {"time of an iteration [ms]", "iteration [ms]"},
        [](const StressSpaceFigures& f) { return figure_text(f.iteration_ms); });
  } else {
    const auto iterations = [&](const StressRow& row) {
      return status_cell(row, optional_count(space_figures(row).iterations), footnotes);
    };
    figures.add({"iterations", "iterations"}, iterations);
    add(figures, {"bytes in use at the end / pool", "of the pool", "at the end"},
        [](const StressSpaceFigures& f) { return percent_text(f.utilization); });
    add(figures, {"addresses at the end", "addresses", "at the end"},
        [](const StressSpaceFigures& f) { return optional_bytes(f.address_bytes); });
    add(figures, {"time of an iteration [ms]", "median", "iteration [ms]"},
        [](const StressSpaceFigures& f) { return figure_text(f.iteration_ms); });
    add(figures, {"time of the last iteration [ms]", "last", "iteration [ms]"},
        [](const StressSpaceFigures& f) { return figure_text(f.last_ms); });
  }
  figures.write(table);
  if (test == StressTest::utilization) {
    table.notes.push_back(
        "of the pool: requested bytes of all blocks / size of the pool, including the allocator's tables");
    table.notes.push_back("a refused call: latency seen by one thread while all threads call, without the launch");
  } else if (alloc::has_lifetimes(test)) {
    table.notes.push_back(
        "held: memory that is neither free nor in the allocator's tables, before the last frees; live: requested bytes "
        "of blocks in use");
  } else {
    table.notes.push_back("addresses: from the lowest to the end of the highest block handed out so far");
  }
  if (std::any_of(rows.begin(), rows.end(), [](const StressRow& row) { return row.lower_bound; }))
    table.notes.push_back("* cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::app
