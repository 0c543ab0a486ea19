// SPDX-License-Identifier: MIT
// The tables of `heapwood replay`.
#pragma once

#include <vector>

#include "bench/replay_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// What a trace contains: requests, sizes, memory in use, lifetimes.
bench::Table trace_table(const bench::ReplayBench& bench);
// Time, refusals and memory at the peak, by pool.
bench::Table replay_table(const bench::ReplayBench& bench,
                          const std::vector<bench::ReplayRow>& rows);
// For CSV: one line per pool and allocator (bench/results/json_columns.hpp).
inline constexpr const char* replay_columns =
    "trace digest allocator label lower_bound pool pool_bytes status reason samples=runs_ms# "
    "median_ms q1_ms q3_ms floor_ms~ reset_ms~ requests refused?median_ms "
    "peak_held_bytes=memory/peak_held_bytes~ peak_held_over_live=memory/held_over_live "
    "peak_live_bytes=memory/peak/live_bytes?memory/peak/held_bytes "
    "peak_metadata_bytes=memory/peak/metadata_bytes "
    "peak_internal_fragmentation=memory/peak/internal_fragmentation "
    "peak_external_fragmentation=memory/peak/external_fragmentation_merged "
    "touched_bytes=memory/over_time/-1/touched_bytes "
    "address_bytes=memory/over_time/-1/address_bytes";

}  // namespace heapwood::app
