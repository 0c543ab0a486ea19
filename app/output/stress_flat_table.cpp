// SPDX-License-Identifier: MIT
#include "app/output/stress_tables.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

bench::Table stress_flat_table(const std::vector<bench::StressRow>& rows) {
  bench::Table table;
  for (const char* title : {"test",
                            "allocator",
                            "label",
                            "lower_bound",
                            "payload_bytes",
                            "pool_bytes",
                            "iterations",
                            "blocks",
                            "requests",
                            "threads",
                            "lanes",
                            "page_bytes",
                            "touch",
                            "coalesced",
                            "status",
                            "reason",
                            "runs",
                            "median_ms",
                            "q1_ms",
                            "q3_ms",
                            "allocate_ms",
                            "free_ms",
                            "reset_ms",
                            "floor_ms",
                            "allocations",
                            "deallocations",
                            "refused",
                            "overlaps_by_address",
                            "overlaps_by_content",
                            "internal_fragmentation",
                            "external_fragmentation",
                            "external_fragmentation_end",
                            "address_bytes",
                            "metadata_bytes",
                            "utilization",
                            "first_range_bytes",
                            "range_bytes",
                            "iterations_served",
                            "iteration_ms",
                            "last_iteration_ms",
                            "registers_malloc",
                            "registers_free",
                            "registers_both"}) {
    table.columns.push_back({title});
  }
  for (const bench::StressRow& r : rows) {
    const workloads::StressCounts counts = r.counts.value_or(workloads::StressCounts{});
    const workloads::PoolState peak = r.peak.value_or(workloads::PoolState{});
    const registry::CallUse calls = r.calls.value_or(registry::CallUse{});
    const bench::StressSpaceFigures space = space_figures(r);
    const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
    table.add({bench::name(r.settings.test),
               r.allocator,
               r.label,
               yes_no(r.lower_bound),
               std::to_string(r.point.payload),
               std::to_string(r.point.pool_bytes),
               std::to_string(r.point.iterations),
               bench::csv_text(r.point.blocks > 0, r.point.blocks),
               bench::csv_text(r.point.requests > 0, r.point.requests),
               std::to_string(stress_threads(r.settings, r.point)),
               std::to_string(r.settings.lanes),
               bench::csv_text(r.point.page_bytes > 0, r.point.page_bytes),
               yes_no(r.settings.touch),
               yes_no(r.settings.coalesced),
               name(r.status),
               r.reason,
               std::to_string(r.runs_ms.size()),
               bench::csv_text(r.median_ms()),
               bench::csv_text(bench::quantile(r.runs_ms, 0.25)),
               bench::csv_text(bench::quantile(r.runs_ms, 0.75)),
               bench::csv_text(bench::median(r.allocate_ms)),
               bench::csv_text(bench::median(r.free_ms)),
               bench::csv_text(bench::median(r.reset_ms)),
               bench::csv_text(bench::median(r.floor_ms)),
               bench::csv_text(r.counts.has_value(), counts.allocations),
               bench::csv_text(r.counts.has_value(), counts.deallocations),
               bench::csv_text(r.counts.has_value(), counts.failures),
               bench::csv_text(r.overlaps.has_value(), r.overlaps.value_or(0)),
               bench::csv_text(r.settings.touch, r.damaged),
               r.peak ? bench::csv_text(peak.fragmentation.internal) : "",
               r.peak ? bench::csv_text(peak.fragmentation.external) : "",
               r.end ? bench::csv_text(r.end->fragmentation.external) : "",
               bench::csv_text(r.peak.has_value(), peak.address_bytes),
               bench::csv_text(r.peak.has_value(), peak.fragmentation.metadata_bytes),
               bench::csv_text(space.utilization),
               bench::csv_text(space.first_address_bytes),
               bench::csv_text(space.address_bytes),
               bench::csv_text(space.iterations),
               bench::csv_text(space.iteration_ms),
               bench::csv_text(space.last_ms),
               bench::csv_text(r.calls.has_value(), calls.malloc.registers),
               bench::csv_text(r.calls.has_value(), calls.free.registers),
               bench::csv_text(r.calls.has_value(), calls.both.registers)});
  }
  return table;
}

}  // namespace heapwood::app
