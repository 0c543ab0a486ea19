// SPDX-License-Identifier: MIT
// The tables and the JSON of `heapwood host-bench`.
#pragma once

#include <string>
#include <vector>

#include "app/host_bench.hpp"
#include "app/json_report.hpp"
#include "app/table.hpp"

namespace heapwood::app {

inline constexpr const char* host_bench_schema = "heapwood.host-bench/1";

// Percentiles of one kind of latency; all but the maximum are absent if there are too few samples.
struct Percentiles {
  std::optional<double> p50, p99, p999, max;
};
Percentiles percentiles(std::vector<double> samples);
// Of all passes after the first, which maps the memory; of the first if it is the only one.
HostLatencies warm_latencies(const HostBenchRow& row);

// Latencies of the first pass (cold) or of the others (warm).
Table host_latency_table(const HostBench& bench, const std::vector<HostBenchRow>& rows, bool cold);
Table host_memory_table(const std::vector<HostBenchRow>& rows);
// A row for each allocator and pass, for --format csv.
Table host_flat_table(const std::vector<HostBenchRow>& rows);
Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows);

}  // namespace heapwood::app
