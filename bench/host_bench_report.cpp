// SPDX-License-Identifier: MIT
#include "bench/host_bench.hpp"

#include <algorithm>

#include "bench/results/json_report.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::bench {

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
  std::sort(samples.begin(), samples.end());
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
