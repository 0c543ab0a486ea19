// SPDX-License-Identifier: MIT
// Replays a trace of requests against host allocators (host_alloc/), times each call, and prints
// nothing. No kernel runs meanwhile, and the memory is not accessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/row_bench.hpp"
#include "host_alloc/trace.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

// The benchmark of the host-managed paper, section IV, after mimalloc-bench's malloc-large: each
// step draws a slot, frees its block, and allocates a block of a random size in its place.
struct HostBenchTrace {
  std::uint32_t steps = 4000, slots = 20;
  std::size_t smallest = std::size_t{1} << 10,
              largest = std::size_t{16} << 20;  // uniform in between
  std::uint32_t seed = 1;
};
host_alloc::HostTrace host_bench_trace(const HostBenchTrace& bench);

// Microseconds.
struct HostLatencies {
  std::vector<double> allocate, free;
  std::vector<double> both;  // per block: allocate + free
};

// A part of a pass; a pass has about 100.
struct HostBenchWindow {
  std::uint64_t op = 0;  // index of the first operation
  double median_us = 0, max_us = 0;
  std::size_t requested_bytes = 0;          // at the end
  std::optional<std::size_t> mapped_bytes;  // at the end
};

struct HostBenchPass {
  HostLatencies latencies;
  std::vector<HostBenchWindow> windows;
  std::uint64_t refused = 0;
  std::uint64_t mappings = 0;
  std::size_t peak_requested_bytes = 0;
  std::optional<std::size_t> peak_mapped_bytes;
  std::optional<double> mean_ratio;  // mean mapped / mean requested bytes, without the first tenth

  std::optional<double> peak_ratio() const {
    if (!peak_mapped_bytes || peak_requested_bytes == 0) return std::nullopt;
    return static_cast<double>(*peak_mapped_bytes) / static_cast<double>(peak_requested_bytes);
  }
};

struct HostBenchRow : MeasuredRow {
  // The first pass starts with a new allocator; the others reuse it.
  std::vector<HostBenchPass> passes;
};

struct HostBench {
  std::vector<const host_alloc::HostAllocatorInfo*> allocators;
  host_alloc::HostAllocatorOptions options;
  host_alloc::HostTrace trace;
  std::string trace_name;
  int passes = 3;
  simt::DeviceInfo device;
};

// A failure of one allocator is reported in its row.
std::vector<HostBenchRow> run_host_bench(const HostBench& bench, const OnStep& on_step);

// Percentiles of one kind of latency; all but the maximum are absent if there are too few samples.
struct Percentiles {
  std::optional<double> p50, p99, p999, max;
};
Percentiles percentiles(std::vector<double> samples);
// The latencies of all passes after the first, which maps the memory; those of the first if it is
// the only one.
HostLatencies warm_latencies(const HostBenchRow& row);

// Schema heapwood.host-bench/1.
Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows);

}  // namespace heapwood::bench
