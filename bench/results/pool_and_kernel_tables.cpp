// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"

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
  append(
      cells, footnotes.marked(figure_text(ms), result),
      single && ms && *single->median_ms() > 0 ? ratio_text(*ms / *single->median_ms()) : missing,
      count_text(run.levels), count_text(run.launches),
      share ? fmt::format("{:.1f}%", 100 * *share) : missing,
      memory_cell(single, single ? single->high_water_bytes() : std::nullopt),
      bytes_text(run.peak_bytes), memory_cell(single, single ? single->pool_bytes : std::nullopt),
      result.levels->mapped_bytes ? bytes_text(*result.levels->mapped_bytes) : missing);
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

Table kernel_table(const std::vector<Result>& results) {
  std::vector<Result> with_kernel;
  for (const Result& result : results) {
    if (result.kernel) with_kernel.push_back(result);
  }
  const RowGrid<Result> grid = grid_of_results(with_kernel);
  Table table;
  if (grid.columns.empty()) return table;
  table.title = "Build kernels: registers and resident warps";
  table.columns = columns_of("<; registers; stack [B]; warps");
  for (const Result* scene : grid.columns)
    table.columns.push_back({scene->scene, false, false, "build time [ms]"});
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    const registry::KernelUse& kernel = *grid.allocators[a]->kernel;
    std::vector<Cell> cells{grid.allocators[a]->marked_label(), std::to_string(kernel.registers),
                            std::to_string(kernel.local_bytes),
                            std::to_string(kernel.warps_per_multiprocessor)};
    for (const Result* result : grid.cells[a]) {
      cells.emplace_back(result && result->status == Status::ok ? figure_text(result->median_ms())
                                                                : missing);
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "registers and stack per thread (spilled registers and arrays); warps per multiprocessor");
  table.notes.push_back(
      kdtree::limits_registers
          ? fmt::format("registers are limited so that {} warps fit; build with "
                        "-DHEAPWOOD_UNCAPPED=ON to lift the limit",
                        kdtree::warps_per_multiprocessor)
          : "uncapped: registers are not limited, the number of warps follows from them");
  return table;
}

namespace {

// The time that a scene's slowdowns refer to in every pool: the shortest median of AtomicMalloc,
// or, if it was not timed, of any allocator. Nothing if no build completed.
std::map<std::string, double> references(const std::vector<Result>& results) {
  std::map<std::string, double> atomic, any;
  for (const Result& result : results) {
    const std::optional<double> ms = result.median_ms();
    if (result.per_level() || result.status != Status::ok || !ms || *ms <= 0) continue;
    const auto keep_min = [&](std::map<std::string, double>& best) {
      const auto [entry, added] = best.emplace(result.source, *ms);
      if (!added) entry->second = std::min(entry->second, *ms);
    };
    keep_min(any);
    if (result.allocator == "atomic") keep_min(atomic);
  }
  atomic.merge(any);
  return atomic;
}

}  // namespace

Table pool_table(const std::vector<Result>& results) {
  const RowGrid<Result> grid = grid_of_results(results, true);
  const bool several =
      std::any_of(grid.columns.begin(), grid.columns.end(), [&](const Result* one) {
        return one->source == grid.columns.front()->source && one != grid.columns.front();
      });
  Table table;
  if (!several) return table;
  table.title = "Slowdown over the size of the pool";
  table.columns.push_back({"--pool", true});
  std::vector<Cell> sizes{"pool [MiB]"}, over_live{"pool / peak bytes in use"};
  for (std::size_t c = 0; c < grid.columns.size(); ++c) {
    std::uint64_t pool_bytes = 0, live_bytes = 0;
    for (const auto& row : grid.cells) {
      if (!row[c]) continue;
      pool_bytes = std::max(pool_bytes, row[c]->pool_bytes.value_or(0));
      live_bytes = std::max(live_bytes, row[c]->high_water_bytes().value_or(0));
    }
    table.columns.push_back(
        {grid.columns[c]->settings.pool.text, false, false, grid.columns[c]->scene});
    sizes.emplace_back(pool_bytes ? mib_text(pool_bytes) : missing);
    over_live.emplace_back(pool_bytes && live_bytes ? figure_text(static_cast<double>(pool_bytes) /
                                                                  static_cast<double>(live_bytes))
                                                    : missing);
  }
  table.add(std::move(sizes));
  table.add(std::move(over_live));
  table.add_heading("slowdown");
  const std::map<std::string, double> reference = references(results);
  Footnotes footnotes;
  for (std::size_t a = 0; a < grid.allocators.size(); ++a) {
    std::vector<Cell> cells{grid.allocators[a]->marked_label()};
    for (const Result* result : grid.cells[a]) {
      const auto over = result ? reference.find(result->source) : reference.end();
      if (over == reference.end()) {
        cells.emplace_back(missing);
      } else if (result->status != Status::ok) {
        cells.emplace_back(footnotes.marked(name(result->status), *result));
      } else {
        cells.emplace_back(result->median_ms() ? ratio_text(*result->median_ms() / over->second)
                                               : missing);
      }
    }
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "slowdown: over AtomicMalloc's shortest build of the scene in any of these pools (without "
      "it, over the shortest of all)");
  table.notes.push_back("* lower bound: cannot free");
  footnotes.append_to(table.notes);
  return table;
}

}  // namespace heapwood::bench
