// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "app/output/tables.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"
#include "bench/steps_bench.hpp"

namespace heapwood::app {

namespace {

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
  for (const StepSamples& step : workload.steps) table.columns.push_back({step.name});
  table.columns.push_back({"all [ms]"});
  table.columns.push_back({"refused"});
  table.columns.push_back({"held / live"});
  add_lines_by_pool(
      table, rows,
      "held: neither free nor the allocator's tables; live: bytes requested and not freed; the max "
      "of all inspections with at least half of the peak in use",
      [&](const StepsRow& row, std::vector<Cell>& cells) {
        bool has_fastest = false;
        const auto add = [&](const std::string& text, std::optional<std::size_t> step) {
          const bool is_best = fastest(bench, rows, row.pool, step) == &row;
          cells.emplace_back(text, is_best);
          has_fastest |= is_best;
        };
        for (std::size_t i = 0; i < row.steps.size(); ++i) {
          std::optional<double> rate = row.steps[i].rate();
          if (rate) *rate /= workload.per_second;
          if (has_steps)
            add(figure_text(rate), i);
          else
            cells.emplace_back(figure_text(rate));
        }
        add(figure_text(median(row.runs_ms)), std::nullopt);
        append(cells, count_text(row.sum_of(&StepSamples::refused)),
               ratio_text(row.held_over_live()));
        return has_fastest;
      });
  return table;
}

}  // namespace heapwood::app
