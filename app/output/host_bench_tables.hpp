// SPDX-License-Identifier: MIT
// The tables of `heapwood host-bench`.
#pragma once

#include <string>
#include <vector>

#include "bench/host_bench_report.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// Latencies of the first pass (cold) or of the others (warm).
bench::Table host_latency_table(const bench::HostBench& bench,
                                const std::vector<bench::HostBenchRow>& rows, bool cold);
bench::Table host_memory_table(const std::vector<bench::HostBenchRow>& rows);
// A row for each allocator and pass, for --format csv.
bench::Table host_flat_table(const std::vector<bench::HostBenchRow>& rows);

}  // namespace heapwood::app
