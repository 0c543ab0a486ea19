// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

Table flat_table(const std::vector<Result>& results) {
  Table table;
  for (const char* title : {"scene",
                            "triangles",
                            "allocator",
                            "label",
                            "lower_bound",
                            "builder",
                            "refs",
                            "status",
                            "reason",
                            "runs",
                            "median_ms",
                            "q1_ms",
                            "q3_ms",
                            "reset_ms",
                            "slowdown",
                            "slowdown_over",
                            "refs_per_triangle",
                            "sah_cost",
                            "sah_cost_1_1",
                            "nodes",
                            "leaves",
                            "depth",
                            "hash",
                            "allocations",
                            "mean_bytes",
                            "sigma_bytes",
                            "pool_bytes",
                            "high_water_bytes",
                            "internal_fragmentation",
                            "external_fragmentation",
                            "registers",
                            "levels",
                            "launches",
                            "host_allocations",
                            "host_allocation_share",
                            "peak_bytes",
                            "mapped_bytes",
                            "tree_bytes",
                            "source"}) {
    table.columns.push_back({title});
  }
  for (const Result& r : results) {
    const kdtree::TreeStats tree = r.tree.value_or(kdtree::TreeStats{});
    const LevelFigures levels = r.levels.value_or(LevelFigures{});
    const bool sized = r.requests && r.requests->allocations > 0;
    const auto of_tree = [&](double value) { return r.tree ? csv_text(value) : std::string(); };
    table.add({r.scene,
               csv_text(r.tree.has_value(), r.triangles),
               r.allocator,
               r.label,
               r.lower_bound ? "yes" : "no",
               name(r.builder),
               kdtree::name(r.settings.refs),
               name(r.status),
               r.reason,
               std::to_string(r.runs_ms.size()),
               csv_text(r.median_ms()),
               csv_text(quantile(r.runs_ms, 0.25)),
               csv_text(quantile(r.runs_ms, 0.75)),
               csv_text(median(r.reset_ms)),
               csv_text(r.slowdown),
               r.slowdown_over,
               csv_text(r.refs_per_triangle()),
               of_tree(tree.sah_cost),
               of_tree(tree.sah_cost_1_1),
               csv_text(r.tree.has_value(), tree.inner + tree.leaves),
               csv_text(r.tree.has_value(), tree.leaves),
               csv_text(r.tree.has_value(), tree.depth),
               r.tree ? fmt::format("{:016x}", tree.hash) : "",
               csv_text(r.requests.has_value(), r.requests ? r.requests->allocations : 0),
               sized ? csv_text(r.requests->mean_bytes) : "",
               sized ? csv_text(r.requests->sigma_bytes) : "",
               csv_text(r.pool_bytes.has_value(), r.pool_bytes.value_or(0)),
               csv_text(r.high_water_bytes().has_value(), r.high_water_bytes().value_or(0)),
               r.at_end ? csv_text(r.at_end->internal) : "",
               r.at_end ? csv_text(r.at_end->external) : "",
               csv_text(r.kernel.has_value(),
                        r.kernel ? static_cast<std::uint64_t>(r.kernel->registers) : 0),
               csv_text(r.levels.has_value(), levels.run.levels),
               csv_text(r.levels.has_value(), levels.run.launches),
               csv_text(r.levels.has_value(), levels.run.allocations),
               csv_text(levels.allocation_share(r.runs_ms)),
               csv_text(r.levels.has_value(), levels.run.peak_bytes),
               csv_text(levels.mapped_bytes.has_value(), levels.mapped_bytes.value_or(0)),
               csv_text(r.levels.has_value(), levels.run.tree_bytes),
               r.source});
  }
  return table;
}

}  // namespace heapwood::bench
