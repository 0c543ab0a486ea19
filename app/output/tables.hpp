// SPDX-License-Identifier: MIT
// The tables and texts that the commands print. Columns of CSV are in
// bench/results/json_fields.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/results/table.hpp"

namespace heapwood::bench {
struct GraphRow;
struct HostBench;
struct HostBenchRow;
struct ProfiledBuild;
struct Result;
struct StressRow;
}  // namespace heapwood::bench

namespace heapwood::app {

using namespace bench;

// heapwood build: the report on one result; the phases of a profile.
std::string build_text(const Result& result, const std::string& device, const TextStyle& style);
Table profile_table(const ProfiledBuild& built);

// heapwood graph: median times, with a column per phase and batch; memory after init and after the
// last round of mixed updates (no columns if no pool could be inspected).
Table graph_time_table(const std::vector<GraphRow>& rows);
Table graph_memory_table(const std::vector<GraphRow>& rows);
inline constexpr const char* graph_columns =
    "graph vertices edges max_degree layout allocator label lower_bound pool_bytes "
    "updates=settings/updates rounds=settings/rounds status reason phase=.phase batch=.batch "
    "samples=.runs_ms#|0 median_ms=.median_ms q1_ms=.q1_ms q3_ms=.q3_ms prepare_ms=.prepare_ms~ "
    "changed_edges=.edges million_edges_per_second=.million_edges_per_second "
    "million_edges_per_second_prepared=.million_edges_per_second_prepared moved=.moved "
    "refused=.refused|0 refused_edges=.refused_edges|0 reset_ms~ triangles "
    "block_bytes=memory/block_bytes held_bytes=memory/held_bytes "
    "metadata_bytes=memory/metadata_bytes address_bytes=memory/address_bytes "
    "external_fragmentation=memory/external_fragmentation_merged init=settings/init|each";

// heapwood host-bench: latencies of the first pass (cold) or of the others; memory.
Table host_latency_table(const HostBench& bench, const std::vector<HostBenchRow>& rows, bool cold);
Table host_memory_table(const std::vector<HostBenchRow>& rows);
inline constexpr const char* host_bench_columns =
    "allocator label status reason pass=@ allocate_p50_us=.allocate_us/p50 "
    "allocate_p99_us=.allocate_us/p99 allocate_p99_9_us=.allocate_us/p99_9 "
    "allocate_max_us=.allocate_us/max free_p50_us=.free_us/p50 free_p99_us=.free_us/p99 "
    "free_p99_9_us=.free_us/p99_9 free_max_us=.free_us/max both_p50_us=.both_us/p50 "
    "both_p99_us=.both_us/p99 both_p99_9_us=.both_us/p99_9 both_max_us=.both_us/max "
    "peak_requested_bytes=.peak_requested_bytes peak_mapped_bytes=.peak_mapped_bytes "
    "mapped_over_requested_peak=.mapped_over_requested_peak "
    "mapped_over_requested_mean=.mapped_over_requested_mean mappings=.mappings refused=.refused";

// heapwood stress: times, refused requests, counts of P, or the figures of tests of memory use,
// with a column per point or, for a single point, per figure; fragmentation at the peak and at the
// end (no columns if no pool could be inspected); method and checks, one line each.
Table stress_table(const std::vector<StressRow>& rows);
Table stress_memory_table(const std::vector<StressRow>& rows);
std::vector<std::string> stress_notes(const std::vector<StressRow>& rows);
std::string requests_text(std::uint64_t count);  // "1 request", "100K requests"
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

}  // namespace heapwood::app
