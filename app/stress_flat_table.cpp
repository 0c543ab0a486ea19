// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

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
  const auto figure = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
  };
  const auto whole = [](bool have, auto value) { return have ? std::to_string(value) : std::string(); };
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
               whole(r.point.blocks > 0, r.point.blocks),
               whole(r.point.requests > 0, r.point.requests),
               std::to_string(stress_threads(r.settings, r.point)),
               std::to_string(r.settings.lanes),
               whole(r.point.page_bytes > 0, r.point.page_bytes),
               yes_no(r.settings.touch),
               yes_no(r.settings.coalesced),
               name(r.status),
               r.reason,
               std::to_string(r.runs_ms.size()),
               figure(r.median_ms()),
               figure(quantile(r.runs_ms, 0.25)),
               figure(quantile(r.runs_ms, 0.75)),
               figure(median(r.allocate_ms)),
               figure(median(r.free_ms)),
               figure(median(r.reset_ms)),
               whole(r.counts.has_value(), counts.allocations),
               whole(r.counts.has_value(), counts.deallocations),
               whole(r.counts.has_value(), counts.failures),
               whole(r.overlaps.has_value(), r.overlaps.value_or(0)),
               whole(r.settings.touch, r.damaged),
               r.peak ? figure(peak.fragmentation.internal) : "",
               r.peak ? figure(peak.fragmentation.external) : "",
               r.end ? figure(r.end->fragmentation.external) : "",
               whole(r.peak.has_value(), peak.address_bytes),
               whole(r.peak.has_value(), peak.fragmentation.metadata_bytes),
               figure(space.utilization),
               figure(space.first_address_bytes),
               figure(space.address_bytes),
               figure(space.iterations),
               figure(space.iteration_ms),
               figure(space.last_ms),
               whole(r.calls.has_value(), calls.malloc.registers),
               whole(r.calls.has_value(), calls.free.registers),
               whole(r.calls.has_value(), calls.both.registers)});
  }
  return table;
}

}  // namespace heapwood::app
