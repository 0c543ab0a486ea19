// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/output/row_tables.hpp"
#include "app/output/stress_figures.hpp"
#include "app/output/stress_tables.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

std::string title_of(const bench::StressSettings& settings) {
  switch (settings.test) {
    case workloads::StressTest::alloc_dealloc:
      return "AD: one malloc and one free per thread, in one kernel";
    case workloads::StressTest::cycle:
      return "ACD: mallocs, then as many frees, in one kernel";
    case workloads::StressTest::probability:
      return fmt::format("P: malloc or free with probability {}, one launch per iteration",
                         settings.probability);
    case workloads::StressTest::mixed:
      return "mixed: one malloc per thread, 16 bytes to the size shown, in one kernel, one free in "
             "another";
    case workloads::StressTest::exhaust:
      return "exhaust: one malloc per thread, exactly as many as fill the pool (bulk, figure 7)";
    default:
      return bench::name(settings.test) +
             std::string(": one malloc per thread in one kernel, one free in another");
  }
}

bench::Cell time_cell(const bench::StressRow& row, const StressGrid& grid,
                      bench::Footnotes& footnotes) {
  bench::Cell cell = status_cell(row, bench::figure_text(row.median_ms()), footnotes);
  cell.best = std::find(grid.best.begin(), grid.best.end(), &row) != grid.best.end();
  return cell;
}

void add_counts(StressFigures& figures, const StressGrid& grid) {
  const bench::StressSettings& settings = grid.allocators.front()->settings;
  if (settings.test != workloads::StressTest::probability) return;
  std::vector<bench::Cell> expectation{"expected"};
  for (const bench::StressPoint& point : grid.points) {
    const double threads = stress_threads(settings, point);
    const workloads::ExpectedCounts expected =
        workloads::expected_counts(point.iterations, settings.probability);
    expectation.emplace_back(fmt::format(
        "{:.0f}±{:.0f} / {:.0f}±{:.0f}", threads * expected.allocations,
        std::sqrt(threads) * expected.allocations_sigma, threads * expected.deallocations,
        std::sqrt(threads) * expected.deallocations_sigma));
  }
  const auto counted = [](const bench::StressRow& row) -> bench::Cell {
    if (!row.counts) return {};
    return bench::count_text(row.counts->allocations) + " / " +
           bench::count_text(row.counts->deallocations);
  };
  figures.add({"mallocs / frees", "mallocs / frees"}, counted, std::move(expectation));
}

// Mallocs per second, including refused ones as in the paper, and the share of refused ones.
void add_rates(StressFigures& figures, bench::Footnotes& footnotes) {
  figures.add({"mallocs per second [M/s]", "mallocs [M/s]"},
              [&](const bench::StressRow& row) -> bench::Cell {
                const std::optional<double> ms = row.median_ms();
                return status_cell(
                    row, ms ? bench::figure_text(row.point.requests / *ms / 1e3) : bench::missing,
                    footnotes);
              });
  figures.add({"refused [%]", "refused [%]"}, [](const bench::StressRow& row) -> bench::Cell {
    // A heap outside the pool may be larger than the pool.
    if (!row.counts || row.capacity_bytes != row.point.pool_bytes) return bench::missing;
    return fmt::format("{:.1f}",
                       100.0 * static_cast<double>(row.counts->failures) / row.point.requests);
  });
}

bool inspected(const bench::StressRow& row) { return row.peak && row.end; }

bool shares_memory(const bench::StressRow* row) {
  return row && inspected(*row) && row->overlaps.value_or(0) > 0 &&
         !row->peak->fragmentation.internal;
}

}  // namespace

bench::Table stress_table(const std::vector<bench::StressRow>& rows) {
  bench::Table table;
  if (rows.empty()) return table;
  const bench::StressSettings& settings = rows.front().settings;
  if (workloads::measures_space(settings.test)) return stress_space_table(rows);
  const StressGrid grid(rows);
  table.title = title_of(settings) + grid.constants();
  if (settings.rounds > 1) table.title += fmt::format(", round {} in one pool", settings.rounds);
  bench::Footnotes footnotes;
  StressFigures figures(grid);
  if (settings.test == workloads::StressTest::exhaust) {
    add_rates(figures, footnotes);
  } else {
    figures.add({"time [ms]", "time [ms]"},
                [&](const bench::StressRow& row) { return time_cell(row, grid, footnotes); });
    figures.add({"kernel that only allocates [ms]", "only mallocs [ms]"},
                [](const bench::StressRow& row) -> bench::Cell {
                  return bench::figure_text(bench::median(row.allocate_ms));
                });
    figures.add({"kernel that only frees [ms]", "only frees [ms]"},
                [](const bench::StressRow& row) -> bench::Cell {
                  return bench::figure_text(bench::median(row.free_ms));
                });
    add_counts(figures, grid);
  }
  figures.write(table);
  explain_marks(table,
                settings.test != workloads::StressTest::exhaust &&
                    std::any_of(grid.best.begin(), grid.best.end(),
                                [](const bench::StressRow* row) { return row; }),
                rows);
  footnotes.append_to(table.notes);
  return table;
}

bench::Table stress_memory_table(const std::vector<bench::StressRow>& rows) {
  bench::Table table;
  if (rows.empty()) return table;
  const StressGrid grid(rows);
  StressFigures figures(grid);
  const char* peak = "at the peak";
  figures.add({"internal fragmentation at the peak", "internal", peak},
              [](const bench::StressRow& row) -> bench::Cell {
                return inspected(row) ? bench::figure_text(row.peak->fragmentation.internal) : "";
              });
  figures.add({"external fragmentation at the peak", "external", peak},
              [](const bench::StressRow& row) -> bench::Cell {
                return inspected(row) ? bench::figure_text(row.peak->fragmentation.external) : "";
              });
  figures.add({"high-water mark of addresses", "address", peak},
              [](const bench::StressRow& row) -> bench::Cell {
                return inspected(row) ? bench::bytes_text(row.peak->address_bytes) : "";
              });
  figures.add({"external fragmentation at the end", "external at the end"},
              [](const bench::StressRow& row) -> bench::Cell {
                return inspected(row) ? bench::figure_text(row.end->fragmentation.external) : "";
              });
  if (figures.empty()) return table;
  table.title = "Memory" + grid.constants();
  figures.write(table);
  table.notes.push_back(
      "internal: mean of (size - requested) / size over used regions; external: 1 - largest free "
      "region / all free "
      "memory; address: from the pool's start to the end of the highest block; peak: max blocks in "
      "use; inspected "
      "between kernels of an untimed run");
  std::vector<std::string> absent, shared;
  for (std::size_t a = 0; a < grid.at.size(); ++a) {
    if (std::none_of(grid.at[a].begin(), grid.at[a].end(),
                     [](const bench::StressRow* row) { return row && inspected(*row); }))
      absent.push_back(grid.allocators[a]->label);
    if (std::any_of(grid.at[a].begin(), grid.at[a].end(), shares_memory))
      shared.push_back(grid.allocators[a]->label);
  }
  if (!shared.empty()) {
    table.notes.push_back(fmt::format(
        "internal fragmentation unknown: {} (blocks in use share memory)", bench::joined(shared)));
  }
  if (!absent.empty()) {
    table.notes.push_back(fmt::format("not inspected: {} (failed, or its pool cannot be walked)",
                                      bench::joined(absent)));
  }
  return table;
}

std::vector<std::string> stress_notes(const std::vector<bench::StressRow>& rows) {
  std::vector<std::string> lines;
  if (rows.empty()) return lines;
  const bench::StressSettings& settings = rows.front().settings;
  std::uint64_t overlaps = 0, damaged = 0, compared = 0;
  for (const bench::StressRow& row : rows) {
    overlaps += row.overlaps.value_or(0);
    damaged += row.damaged;
    compared += row.overlaps.has_value();
  }
  const bool space = workloads::measures_space(settings.test);
  lines.push_back(fmt::format(
      "method: {} of 32 threads allocate{}{}{}, {}{} run{}{}, allocators interleaved, pool reset "
      "before each run",
      settings.lanes, settings.lanes == 1 ? "s" : "",
      settings.coalesced ? ", their requests coalesced" : "",
      settings.allocator.large_backend == alloc::LargeBackend::builtin
          ? ", large ones from the built-in malloc"
          : "",
      space && settings.runs == 1 ? "" : "median of ", settings.runs, settings.runs == 1 ? "" : "s",
      space ? "" : " after a warm-up"));
  std::vector<double> floors;
  for (const bench::StressRow& row : rows)
    floors.insert(floors.end(), row.floor_ms.begin(), row.floor_ms.end());
  if (!floors.empty())
    lines.push_back(
        fmt::format("launch: an empty kernel of the same size takes {} ms (median of all)",
                    bench::figure_text(bench::median(floors))));
  lines.push_back(fmt::format(
      "overlaps: {} by addresses of blocks live at once ({} measurement{}){}",
      bench::count_text(overlaps), bench::count_text(compared), compared == 1 ? "" : "s",
      settings.touch ? fmt::format(", {} blocks damaged by contents", bench::count_text(damaged))
                     : ""));
  if (settings.test == workloads::StressTest::probability) {
    lines.push_back(
        "RegEff table 2 has 1450 mallocs and 986 frees for 120 blocks and 10 launches; they do not "
        "follow from its "
        "rule");
  }
  return lines;
}

}  // namespace heapwood::app
