// SPDX-License-Identifier: MIT
#include "bench/host_bench.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

// Replaces std::uniform_int_distribution, whose results depend on the standard library.
std::uint64_t draw(std::mt19937_64& random, std::uint64_t n) { return random() % n; }

// The memory that the allocator holds. cudaMalloc does not report that, so for it the decrease of
// free device memory is used.
class MappedBytes {
 public:
  MappedBytes(const host_alloc::HostAllocator& allocator, const simt::DeviceInfo& device)
      : allocator_(allocator), device_(device), before_(simt::platform_available(device.id)) {}
  std::optional<std::size_t> operator()() const {
    const std::optional<std::size_t> reported = allocator_.statistics().mapped_bytes;
    if (reported || device_.id.kind == simt::DeviceKind::cpu) return reported;
    const std::size_t now = simt::platform_available(device_.id);
    return before_ - std::min(before_, now);
  }

 private:
  const host_alloc::HostAllocator& allocator_;
  const simt::DeviceInfo& device_;
  std::size_t before_;
};

class Pass {
 public:
  Pass(host_alloc::HostAllocator& allocator, const host_alloc::HostTrace& trace,
       const MappedBytes& mapped)
      : allocator_(allocator),
        trace_(trace),
        mapped_(mapped),
        blocks_(trace.slots),
        window_ops_(std::max<std::size_t>(1, trace.ops.size() / 100)) {}

  HostBenchPass run() {
    const std::uint64_t mappings = allocator_.statistics().mappings;
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
      play(trace_.ops[i]);
      if ((i + 1) % window_ops_ == 0 || i + 1 == trace_.ops.size()) end_window(i);
    }
    for (const Block& block : blocks_) allocator_.deallocate(block.address);  // not timed
    pass_.mappings = allocator_.statistics().mappings - mappings;
    if (mapped_sum_ && requested_sum_ > 0) pass_.mean_ratio = *mapped_sum_ / requested_sum_;
    return std::move(pass_);
  }

 private:
  struct Block {
    void* address = nullptr;
    std::size_t bytes = 0;
    double allocate_us = 0;
  };

  void play(const host_alloc::HostTraceOp& op) {
    Block& block = blocks_[op.slot];
    if (op.allocate) {
      const Clock::time_point from = Clock::now();
      block.address = allocator_.allocate(op.bytes);
      block.allocate_us = microseconds(from, Clock::now());
      note(pass_.latencies.allocate, block.allocate_us);
      if (block.address == nullptr) {
        ++pass_.refused;
        return;
      }
      block.bytes = op.bytes;
      requested_ += op.bytes;
      pass_.peak_requested_bytes = std::max(pass_.peak_requested_bytes, requested_);
    } else if (block.address != nullptr) {
      const Clock::time_point from = Clock::now();
      allocator_.deallocate(block.address);
      const double us = microseconds(from, Clock::now());
      note(pass_.latencies.free, us);
      pass_.latencies.both.push_back(block.allocate_us + us);
      block.address = nullptr;
      requested_ -= block.bytes;
    }
  }

  void note(std::vector<double>& latencies, double us) {
    latencies.push_back(us);
    in_window_.push_back(us);
  }

  void end_window(std::size_t last) {
    HostBenchWindow window;
    window.op = pass_.windows.size() * window_ops_;
    window.median_us = median(in_window_).value_or(0);
    window.max_us = in_window_.empty() ? 0 : *std::ranges::max_element(in_window_);
    window.requested_bytes = requested_;
    window.mapped_bytes = mapped_();
    in_window_.clear();
    if (window.mapped_bytes) {
      pass_.peak_mapped_bytes = std::max(pass_.peak_mapped_bytes.value_or(0), *window.mapped_bytes);
      // The first tenth is the initial filling of the slots, which the mean excludes.
      if (last * 10 >= trace_.ops.size()) {
        mapped_sum_ = mapped_sum_.value_or(0) + static_cast<double>(*window.mapped_bytes);
        requested_sum_ += static_cast<double>(window.requested_bytes);
      }
    }
    pass_.windows.push_back(window);
  }

  host_alloc::HostAllocator& allocator_;
  const host_alloc::HostTrace& trace_;
  const MappedBytes& mapped_;
  std::vector<Block> blocks_;
  std::size_t window_ops_;
  std::size_t requested_ = 0;
  std::vector<double> in_window_;
  std::optional<double> mapped_sum_;
  double requested_sum_ = 0;
  HostBenchPass pass_;
};

}  // namespace

host_alloc::HostTrace host_bench_trace(const HostBenchTrace& bench) {
  std::mt19937_64 random(bench.seed);
  host_alloc::HostTrace trace;
  trace.slots = bench.slots;
  std::vector<bool> in_use(bench.slots);
  for (std::uint32_t step = 0; step < bench.steps; ++step) {
    const auto slot = static_cast<std::uint32_t>(draw(random, bench.slots));
    if (in_use[slot]) trace.ops.push_back({slot, false, 0});
    in_use[slot] = true;
    trace.ops.push_back(
        {slot, true, bench.smallest + draw(random, bench.largest - bench.smallest + 1)});
  }
  return trace;
}

std::vector<HostBenchRow> run_host_bench(const HostBench& bench, const OnStep& on_step) {
  std::vector<HostBenchRow> rows;
  const RowBench::Step step =
      counted_steps(on_step, bench.allocators.size() * static_cast<std::size_t>(bench.passes));
  for (const host_alloc::HostAllocatorInfo* info : bench.allocators) {
    HostBenchRow& row = rows.emplace_back();
    row.allocator = info->id;
    row.label = info->label;
    try {
      // Creates the device's context and the allocator's first pages before the timed pass.
      simt::platform_free(bench.device.id, simt::platform_allocate(bench.device.id, 4096), 4096);
      const auto allocator =
          host_alloc::make_host_allocator(info->id, bench.device.id, bench.options);
      const MappedBytes mapped(*allocator, bench.device);
      for (int pass = 0; pass < bench.passes && !simt::interrupted(); ++pass) {
        step(row.label);
        row.passes.push_back(Pass(*allocator, bench.trace, mapped).run());
      }
      // Memory that other allocators left in the driver's pool would count as in use.
      allocator->shrink();
      if (!row.passes.empty()) row.status = Status::ok;
      if (row.passes.empty()) row.reason = interrupted_reason;
    } catch (const std::exception& error) {
      row.status = Status::failed;
      row.reason = error_text(error);
    }
  }
  return rows;
}

namespace {

Json percentiles_json(const std::vector<double>& samples) {
  const Percentiles p = percentiles(samples);
  Json json;
  json["samples"] = samples.size();
  put(json, "p50", p.p50);
  put(json, "p99", p.p99);
  put(json, "p99_9", p.p999);
  put(json, "max", p.max);
  return json;
}

Json latencies_json(const HostLatencies& latencies) {
  return {{"allocate_us", percentiles_json(latencies.allocate)},
          {"free_us", percentiles_json(latencies.free)},
          {"both_us", percentiles_json(latencies.both)}};
}

Json pass_json(const HostBenchPass& pass) {
  Json json = latencies_json(pass.latencies);
  json["refused"] = pass.refused;
  json["mappings"] = pass.mappings;
  json["peak_requested_bytes"] = pass.peak_requested_bytes;
  put(json, "peak_mapped_bytes", pass.peak_mapped_bytes);
  put(json, "mapped_over_requested_peak", pass.peak_ratio());
  put(json, "mapped_over_requested_mean", pass.mean_ratio);
  for (const HostBenchWindow& window : pass.windows) {
    Json entry{{"op", window.op},
               {"median_us", window.median_us},
               {"max_us", window.max_us},
               {"requested_bytes", window.requested_bytes}};
    put(entry, "mapped_bytes", window.mapped_bytes);
    json["windows"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

Percentiles percentiles(std::vector<double> samples) {
  std::ranges::sort(samples);
  Percentiles p;
  if (samples.empty()) return p;
  p.p50 = quantile(samples, 0.5);
  if (samples.size() >= 100) p.p99 = quantile(samples, 0.99);
  if (samples.size() >= 1000) p.p999 = quantile(samples, 0.999);
  p.max = samples.back();
  return p;
}

HostLatencies warm_latencies(const HostBenchRow& row) {
  HostLatencies all;
  for (std::size_t i = row.passes.size() > 1 ? 1 : 0; i < row.passes.size(); ++i) {
    const HostLatencies& pass = row.passes[i].latencies;
    all.allocate.insert(all.allocate.end(), pass.allocate.begin(), pass.allocate.end());
    all.free.insert(all.free.end(), pass.free.begin(), pass.free.end());
    all.both.insert(all.both.end(), pass.both.begin(), pass.both.end());
  }
  return all;
}

Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows) {
  Json json = report_head("heapwood.host-bench/1", argv, bench.device);
  json["trace"] = {
      {"name", bench.trace_name}, {"ops", bench.trace.ops.size()}, {"slots", bench.trace.slots}};
  json["settings"] = {{"initial_bytes", bench.options.initial_bytes},
                      {"growth_bytes", bench.options.growth_bytes},
                      {"passes", bench.passes}};
  if (bench.options.capacity) json["settings"]["capacity_bytes"] = bench.options.capacity;
  for (const HostBenchRow& row : rows) {
    Json entry{{"allocator", row.allocator}, {"label", row.label}, {"status", name(row.status)}};
    if (!row.reason.empty()) entry["reason"] = row.reason;
    if (row.passes.size() > 1) entry["warm"] = latencies_json(warm_latencies(row));
    for (const HostBenchPass& pass : row.passes) entry["passes"].push_back(pass_json(pass));
    json["results"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace heapwood::bench
