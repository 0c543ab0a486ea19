// SPDX-License-Identifier: MIT
// Plays a trace of requests against host allocators (alloc/host/) and takes the time of every call; prints nothing. No
// kernel runs meanwhile, and nobody touches the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "alloc/host/trace.hpp"
#include "app/result.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

// The benchmark of "device memory managed from the host", section IV, after mimalloc-bench's malloc-large: at each step a
// slot is drawn, what is in it is freed, and a block of a random size is put there.
struct HostBenchTrace {
  std::uint32_t steps = 4000, slots = 20;
  std::size_t smallest = std::size_t{1} << 10, largest = std::size_t{16} << 20;  // sizes are uniform in between
  std::uint32_t seed = 1;
};
alloc::HostTrace host_bench_trace(const HostBenchTrace& bench);

// Microseconds.
struct HostLatencies {
  std::vector<double> allocate, free;
  std::vector<double> both;  // of a block: its allocate and its free
};

// A part of a pass; there are about a hundred.
struct HostBenchWindow {
  std::uint64_t op = 0;  // the first one's number
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
  std::optional<double> mean_ratio;  // mean of mapped / mean of requested bytes, without the first tenth

  std::optional<double> peak_ratio() const {
    if (!peak_mapped_bytes || peak_requested_bytes == 0) return std::nullopt;
    return static_cast<double>(*peak_mapped_bytes) / static_cast<double>(peak_requested_bytes);
  }
};

struct HostBenchRow {
  std::string allocator, label;
  Status status = Status::ok;
  std::string reason;
  // The first with an allocator that was just made, the others with the same allocator.
  std::vector<HostBenchPass> passes;
};

struct HostBench {
  std::vector<const alloc::HostAllocatorInfo*> allocators;
  alloc::HostAllocatorOptions options;
  alloc::HostTrace trace;
  std::string trace_name;
  int passes = 3;
  simt::DeviceInfo device;
};

using HostBenchProgress = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;
// What goes wrong with one allocator is in its row.
std::vector<HostBenchRow> run_host_bench(const HostBench& bench, const HostBenchProgress& progress);

}  // namespace heapwood::app
