// SPDX-License-Identifier: MIT
// The tables of `heapwood host-bench`.
#pragma once

#include <string>
#include <vector>

#include "bench/host_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// Latencies of the first pass (cold) or of the others (warm).
bench::Table host_latency_table(const bench::HostBench& bench,
                                const std::vector<bench::HostBenchRow>& rows, bool cold);
bench::Table host_memory_table(const std::vector<bench::HostBenchRow>& rows);
// For CSV: one line per allocator and pass (bench/results/json_columns.hpp).
inline constexpr const char* host_bench_columns =
    "allocator label status reason pass=@ allocate_p50_us=.allocate_us/p50 "
    "allocate_p99_us=.allocate_us/p99 allocate_p99_9_us=.allocate_us/p99_9 "
    "allocate_max_us=.allocate_us/max free_p50_us=.free_us/p50 free_p99_us=.free_us/p99 "
    "free_p99_9_us=.free_us/p99_9 free_max_us=.free_us/max both_p50_us=.both_us/p50 "
    "both_p99_us=.both_us/p99 both_p99_9_us=.both_us/p99_9 both_max_us=.both_us/max "
    "peak_requested_bytes=.peak_requested_bytes peak_mapped_bytes=.peak_mapped_bytes "
    "mapped_over_requested_peak=.mapped_over_requested_peak "
    "mapped_over_requested_mean=.mapped_over_requested_mean mappings=.mappings refused=.refused";

}  // namespace heapwood::app
