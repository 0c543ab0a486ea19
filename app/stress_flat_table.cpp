// SPDX-License-Identifier: MIT
#include "app/format.hpp"
#include "app/stress_report.hpp"

namespace heapwood::app {

Table stress_flat_table(const std::vector<StressRow>& rows) {
  Table table;
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
  for (const StressRow& r : rows) {
    const alloc::StressCounts counts = r.counts.value_or(alloc::StressCounts{});
    const alloc::PoolState peak = r.peak.value_or(alloc::PoolState{});
    const engine::CallUse calls = r.calls.value_or(engine::CallUse{});
    const StressSpaceFigures space = space_figures(r);
    const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
    table.add({name(r.settings.test),
               r.allocator,
               r.label,
               yes_no(r.lower_bound),
               std::to_string(r.point.payload),
               std::to_string(r.point.pool_bytes),
               std::to_string(r.point.iterations),
               csv_text(r.point.blocks > 0, r.point.blocks),
               csv_text(r.point.requests > 0, r.point.requests),
               std::to_string(stress_threads(r.settings, r.point)),
               std::to_string(r.settings.lanes),
               csv_text(r.point.page_bytes > 0, r.point.page_bytes),
               yes_no(r.settings.touch),
               yes_no(r.settings.coalesced),
               name(r.status),
               r.reason,
               std::to_string(r.runs_ms.size()),
               csv_text(r.median_ms()),
               csv_text(quantile(r.runs_ms, 0.25)),
               csv_text(quantile(r.runs_ms, 0.75)),
               csv_text(median(r.allocate_ms)),
               csv_text(median(r.free_ms)),
               csv_text(median(r.reset_ms)),
               csv_text(median(r.floor_ms)),
               csv_text(r.counts.has_value(), counts.allocations),
               csv_text(r.counts.has_value(), counts.deallocations),
               csv_text(r.counts.has_value(), counts.failures),
               csv_text(r.overlaps.has_value(), r.overlaps.value_or(0)),
               csv_text(r.settings.touch, r.damaged),
               r.peak ? csv_text(peak.fragmentation.internal) : "",
               r.peak ? csv_text(peak.fragmentation.external) : "",
               r.end ? csv_text(r.end->fragmentation.external) : "",
               csv_text(r.peak.has_value(), peak.address_bytes),
               csv_text(r.peak.has_value(), peak.fragmentation.metadata_bytes),
               csv_text(space.utilization),
               csv_text(space.first_address_bytes),
               csv_text(space.address_bytes),
               csv_text(space.iterations),
               csv_text(space.iteration_ms),
               csv_text(space.last_ms),
               csv_text(r.calls.has_value(), calls.malloc.registers),
               csv_text(r.calls.has_value(), calls.free.registers),
               csv_text(r.calls.has_value(), calls.both.registers)});
  }
  return table;
}

}  // namespace heapwood::app
