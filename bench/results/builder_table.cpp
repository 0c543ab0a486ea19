// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "bench/results/bench_table.hpp"
#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

// The scene's fastest complete single-kernel build, preferably of an allocator that frees.
const Result* fastest_single(const std::vector<Result>& results, const std::string& source) {
  const Result* best = nullptr;
  for (const Result& result : results) {
    if (result.per_level() || result.source != source || result.status != Status::ok ||
        !result.median_ms())
      continue;
    const auto rank = [](const Result& r) { return std::pair(r.lower_bound, *r.median_ms()); };
    if (!best || rank(result) < rank(*best)) best = &result;
  }
  return best;
}

std::string single_cell(const Result& single, Footnotes& footnotes) {
  const char* which = single.lower_bound ? "lowest median of all allocators; cannot free"
                                         : "lowest median of the allocators that free";
  return figure_text(single.median_ms()) + " " + footnotes.mark(single.label, which);
}

// Includes the workspace: the per-level builder's figures cover all memory of a build.
std::string memory_cell(const Result* single, const std::optional<std::uint64_t>& in_pool) {
  if (!single || !in_pool || !single->workspace_bytes) return missing;
  return bytes_text(*in_pool + *single->workspace_bytes);
}

void add_row(Table& table, const Result& result, const Result* single, Footnotes& footnotes) {
  std::vector<Cell> cells{result.scene, single ? single_cell(*single, footnotes) : missing};
  if (result.status != Status::ok || !result.levels) {
    cells.emplace_back(footnotes.marked(name(result.status), result));
    cells.resize(table.columns.size(), missing);
    table.add(std::move(cells));
    return;
  }
  const kdtree::LevelRun& run = result.levels->run;
  const std::optional<double> ms = result.median_ms(),
                              share = result.levels->allocation_share(result.runs_ms);
  cells.emplace_back(footnotes.marked(figure_text(ms), result));
  cells.emplace_back(
      single && ms && *single->median_ms() > 0 ? ratio_text(*ms / *single->median_ms()) : missing);
  cells.emplace_back(count_text(run.levels));
  cells.emplace_back(count_text(run.launches));
  cells.emplace_back(share ? fmt::format("{:.1f}%", 100 * *share) : missing);
  cells.emplace_back(memory_cell(single, single ? single->high_water_bytes() : std::nullopt));
  cells.emplace_back(bytes_text(run.peak_bytes));
  cells.emplace_back(memory_cell(single, single ? single->pool_bytes : std::nullopt));
  cells.emplace_back(result.levels->mapped_bytes ? bytes_text(*result.levels->mapped_bytes)
                                                 : missing);
  table.add(std::move(cells));
}

}  // namespace

Table builder_table(const std::vector<Result>& results) {
  Footnotes footnotes;
  Table table;
  std::string label;
  for (const Result& result : results) {
    if (!result.per_level()) continue;
    if (table.columns.empty()) {
      label = host_label(result.allocator);
      table.title = "Builders: one kernel against one kernel per phase and level";
      table.columns = columns_of(
          "scene<; build time [ms]: single, per level, ratio; levels; launches; host share; "
          "peak bytes in use: single, per level; held: single, per level");
    }
    add_row(table, result, fastest_single(results, result.source), footnotes);
  }
  if (table.columns.empty()) return table;
  table.notes.push_back(
      fmt::format("per level: memory from {} on the host; host share: part of the build time spent "
                  "in that allocator",
                  label));
  table.notes.push_back(
      "peak bytes in use: memory besides the mesh, as requested; held: pool and workspace of the "
      "single kernel; "
      "physical memory mapped by the host allocator");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::bench
