// SPDX-License-Identifier: MIT
// The tables of `heapwood stress`.
#pragma once

#include <string>
#include <vector>

#include "bench/results/table.hpp"
#include "bench/stress.hpp"

namespace heapwood::app {

// Times, refused requests, counts of P: one column per point, or one per figure for a single point.
bench::Table stress_table(const std::vector<bench::StressRow>& rows);
// The same for tests of space.
bench::Table stress_space_table(const std::vector<bench::StressRow>& rows);
// Fragmentation at the peak and at the end; no columns if no pool could be inspected.
bench::Table stress_memory_table(const std::vector<bench::StressRow>& rows);
// For CSV: one line per result (bench/results/json_columns.hpp).
inline constexpr const char* stress_columns =
    "test allocator label lower_bound payload_bytes=settings/payload_bytes "
    "pool_bytes=settings/pool_bytes iterations=settings/iterations|1 blocks=settings/blocks "
    "requests=settings/threads!settings/blocks threads=settings/threads lanes=settings/lanes "
    "page_bytes=settings/page_bytes touch=settings/touch coalesced=settings/coalesced status "
    "reason runs=runs_ms# median_ms q1_ms q3_ms allocate_ms~ free_ms~ reset_ms~ floor_ms~ "
    "allocations=allocations/count deallocations=allocations/deallocations "
    "refused=allocations/refused overlaps_by_address=overlaps/by_address "
    "overlaps_by_content=overlaps/by_content "
    "internal_fragmentation=memory/peak/internal_fragmentation "
    "external_fragmentation=memory/peak/external_fragmentation "
    "external_fragmentation_end=memory/end/external_fragmentation "
    "address_bytes=memory/peak/address_bytes metadata_bytes=memory/peak/metadata_bytes "
    "utilization=space/utilization first_range_bytes=space/first_address_bytes "
    "range_bytes=space/address_bytes iterations_served=space/iterations "
    "iteration_ms=space/iteration_ms last_iteration_ms=space/last_ms "
    "registers_malloc=calls/malloc/registers registers_free=calls/free/registers "
    "registers_both=calls/both/registers";
// Method and checks, one line each.
std::vector<std::string> stress_notes(const std::vector<bench::StressRow>& rows);

}  // namespace heapwood::app
