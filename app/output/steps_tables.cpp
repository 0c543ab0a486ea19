// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "app/output/tables.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"
#include "bench/steps_bench.hpp"

namespace heapwood::app {

namespace {

void add_pool_heading(Table& table, std::string& pool, const StepsRow& row) {
  if (row.pool.empty() || row.pool == pool) return;
  pool = row.pool;
  table.add_heading(fmt::format("pool {}{}", size_text(row.pool_bytes),
                                pool.ends_with('x') ? fmt::format(" ({})", pool) : ""));
}

// The clearly fastest allocator of a pool in a step, or in all steps.
const StepsRow* fastest(const StepsBench& bench, const std::vector<StepsRow>& rows,
                        const std::string& pool, std::optional<std::size_t> step) {
  return find_fastest(pointers_to(rows),
                      [&](const StepsRow& row) -> const std::vector<double>* {
                        if (row.pool != pool || row.allocator == bench.workload.baseline)
                          return nullptr;
                        return step ? &row.steps[*step].ms : &row.runs_ms;
                      })
      .row;
}

}  // namespace

Table steps_table(const StepsBench& bench, const std::vector<StepsRow>& rows) {
  const StepsWorkload& workload = bench.workload;
  const bool has_steps = workload.steps.size() > 1;
  Table table;
  table.title = fmt::format("{}: {}{}s per second, {} in use at the peak, median of {}",
                            workload.input, workload.per_second > 1 ? "million " : "",
                            workload.unit, bytes_text(workload.peak_bytes),
                            plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"));
  table.columns = columns_of("allocator<");
  for (const StepsWorkload::Step& step : workload.steps) table.columns.push_back({step.name});
  table.columns.push_back({"all [ms]"});
  table.columns.push_back({"refused"});
  table.columns.push_back({"held / live"});
  Footnotes footnotes;
  bool has_fastest = false;
  std::string pool;
  for (const StepsRow& row : rows) {
    add_pool_heading(table, pool, row);
    std::vector<Cell> cells{footnotes.marked(row.marked_label(), row)};
    if (row.runs_ms.empty()) {
      cells.emplace_back(name(row.status));
    } else {
      for (std::size_t i = 0; i < row.steps.size(); ++i) {
        const bool is_best = has_steps && fastest(bench, rows, row.pool, i) == &row;
        has_fastest |= is_best;
        const std::optional<double> rate = row.steps[i].rate();
        cells.emplace_back(rate ? figure_text(*rate / workload.per_second) : missing, is_best);
      }
      const bool is_best = fastest(bench, rows, row.pool, std::nullopt) == &row;
      has_fastest |= is_best;
      cells.emplace_back(figure_text(median(row.runs_ms)), is_best);
      const std::optional<double> ratio = row.held_over_live();
      append(cells, count_text(row.sum_of(&StepSamples::refused)),
             ratio ? ratio_text(*ratio) : missing);
    }
    cells.resize(table.columns.size(), Cell(missing));
    table.add(std::move(cells));
  }
  explain_marks(table, has_fastest, rows);
  table.notes.push_back(
      "held: neither free nor the allocator's tables; live: bytes requested and not freed; the max "
      "of all inspections with at least half of the peak in use");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::app
