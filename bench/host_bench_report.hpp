// SPDX-License-Identifier: MIT
// The results of `heapwood host-bench` as JSON (schema heapwood.host-bench/1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/host_bench.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

inline constexpr const char* host_bench_schema = "heapwood.host-bench/1";

// Percentiles of one kind of latency; all but the maximum are absent if there are too few samples.
struct Percentiles {
  std::optional<double> p50, p99, p999, max;
};
Percentiles percentiles(std::vector<double> samples);
// Of all passes after the first, which maps the memory; of the first if it is the only one.
HostLatencies warm_latencies(const HostBenchRow& row);

Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows);

}  // namespace heapwood::bench
