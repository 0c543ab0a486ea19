// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "bench/results/bench_table.hpp"
#include "bench/results/flat_columns.hpp"

namespace heapwood::bench {

namespace {

using kdtree::LevelRun;
using kdtree::TreeStats;

// Sizes of requests; empty if there was none.
std::string request_size(const Result& result, double alloc::RequestStats::*size) {
  const bool any = result.requests && result.requests->allocations > 0;
  return any ? csv_text(*result.requests.*size) : "";
}

// A figure of the last per-level build.
template <class Figure>
std::string of_levels(const Result& result, Figure LevelRun::*figure) {
  return csv_figure(result.levels,
                    [figure](const LevelFigures& levels) { return levels.run.*figure; });
}

const std::vector<FlatColumn<Result>>& flat_columns() {
  using R = const Result&;
  static const std::vector<FlatColumn<Result>> columns = {
      {"scene", [](R r) { return r.scene; }},
      {"triangles", [](R r) { return csv_text(r.tree.has_value(), r.triangles); }},
      {"allocator", [](R r) { return r.allocator; }},
      {"label", [](R r) { return r.label; }},
      {"lower_bound", [](R r) { return yes_no(r.lower_bound); }},
      {"builder", [](R r) { return name(r.builder); }},
      {"refs", [](R r) { return kdtree::name(r.settings.refs); }},
      {"status", [](R r) { return name(r.status); }},
      {"reason", [](R r) { return r.reason; }},
      {"runs", [](R r) { return std::to_string(r.runs_ms.size()); }},
      {"median_ms", [](R r) { return csv_text(r.median_ms()); }},
      {"q1_ms", [](R r) { return csv_text(quantile(r.runs_ms, 0.25)); }},
      {"q3_ms", [](R r) { return csv_text(quantile(r.runs_ms, 0.75)); }},
      {"reset_ms", [](R r) { return csv_text(median(r.reset_ms)); }},
      {"slowdown", [](R r) { return csv_text(r.slowdown); }},
      {"slowdown_over", [](R r) { return r.slowdown_over; }},
      {"refs_per_triangle", [](R r) { return csv_text(r.refs_per_triangle()); }},
      {"sah_cost", [](R r) { return csv_figure(r.tree, &TreeStats::sah_cost); }},
      {"sah_cost_1_1", [](R r) { return csv_figure(r.tree, &TreeStats::sah_cost_1_1); }},
      {"nodes",
       [](R r) {
         return csv_figure(r.tree, [](const TreeStats& tree) { return tree.inner + tree.leaves; });
       }},
      {"leaves", [](R r) { return csv_figure(r.tree, &TreeStats::leaves); }},
      {"depth", [](R r) { return csv_figure(r.tree, &TreeStats::depth); }},
      {"hash", [](R r) { return r.tree ? fmt::format("{:016x}", r.tree->hash) : ""; }},
      {"allocations",
       [](R r) { return csv_figure(r.requests, &alloc::RequestStats::allocations); }},
      {"mean_bytes", [](R r) { return request_size(r, &alloc::RequestStats::mean_bytes); }},
      {"sigma_bytes", [](R r) { return request_size(r, &alloc::RequestStats::sigma_bytes); }},
      {"pool_bytes", [](R r) { return csv_figure(r.pool_bytes); }},
      {"high_water_bytes", [](R r) { return csv_figure(r.high_water_bytes()); }},
      {"internal_fragmentation",
       [](R r) { return csv_figure(r.at_end, &alloc::Fragmentation::internal); }},
      {"external_fragmentation",
       [](R r) { return csv_figure(r.at_end, &alloc::Fragmentation::external); }},
      {"registers", [](R r) { return csv_figure(r.kernel, &registry::KernelUse::registers); }},
      {"levels", [](R r) { return of_levels(r, &LevelRun::levels); }},
      {"launches", [](R r) { return of_levels(r, &LevelRun::launches); }},
      {"host_allocations", [](R r) { return of_levels(r, &LevelRun::allocations); }},
      {"host_allocation_share",
       [](R r) {
         return csv_figure(r.levels, [&](const LevelFigures& levels) {
           return levels.allocation_share(r.runs_ms);
         });
       }},
      {"peak_bytes", [](R r) { return of_levels(r, &LevelRun::peak_bytes); }},
      {"mapped_bytes", [](R r) { return r.levels ? csv_figure(r.levels->mapped_bytes) : ""; }},
      {"tree_bytes", [](R r) { return of_levels(r, &LevelRun::tree_bytes); }},
      {"source", [](R r) { return r.source; }},
  };
  return columns;
}

}  // namespace

Table flat_table(const std::vector<Result>& results) {
  return table_of_columns(flat_columns(), results);
}

}  // namespace heapwood::bench
