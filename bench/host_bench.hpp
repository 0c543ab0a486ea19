// SPDX-License-Identifier: MIT
// Replays a trace of requests against host allocators (host_alloc/) and times each call. Prints
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
              largest = std::size_t{16} << 20;  // sizes are uniform from `smallest` to `largest`
  std::uint32_t seed = 1;
};
host_alloc::HostTrace host_bench_trace(const HostBenchTrace& bench);

// Latencies in microseconds.
struct HostLatencies {
  std::vector<double> allocate, free;
  std::vector<double> both;  // allocate + free of one block
};

// A part of a pass, of which there are about 100.
struct HostBenchWindow {
  std::uint64_t op = 0;  // index of the first operation
  double median_us = 0, max_us = 0;
  std::size_t requested_bytes = 0;          // at the end of the window
  std::optional<std::size_t> mapped_bytes;  // at the end of the window
};

struct HostBenchPass {
  HostLatencies latencies;
  std::vector<HostBenchWindow> windows;
  std::uint64_t refused = 0;
  std::uint64_t mappings = 0;
  std::size_t peak_requested_bytes = 0;
  std::optional<std::size_t> peak_mapped_bytes;
  // Mean mapped / mean requested bytes, without the first tenth of the pass.
  std::optional<double> mean_ratio;

  std::optional<double> peak_ratio() const {
    if (!peak_mapped_bytes || peak_requested_bytes == 0) return std::nullopt;
    return static_cast<double>(*peak_mapped_bytes) / static_cast<double>(peak_requested_bytes);
  }
};

struct HostBenchRow : MeasuredRow {
  // The first pass starts with a new allocator; the others continue with it.
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

// Percentiles of one kind of latency; if there are too few samples, all but the maximum are absent.
struct Percentiles {
  std::optional<double> p50, p99, p999, max;
};
Percentiles percentiles(std::vector<double> samples);
// The latencies of all passes but the first, which maps the memory, or of an only pass.
HostLatencies warm_latencies(const HostBenchRow& row);

Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows);

}  // namespace heapwood::bench
