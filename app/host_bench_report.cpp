// SPDX-License-Identifier: MIT
#include "app/host_bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/format.hpp"

namespace heapwood::app {

namespace {

// The baseline of comparisons: the first of the platform's own allocators.
const HostBenchRow* baseline(const std::vector<HostBenchRow>& rows) {
  for (const HostBenchRow& row : rows) {
    if ((row.allocator == "cudamalloc" || row.allocator == "mmap") && !row.passes.empty()) return &row;
  }
  return nullptr;
}

HostLatencies latencies_of(const HostBenchRow& row, bool cold) {
  return cold ? row.passes.front().latencies : warm_latencies(row);
}

Cell times(const std::optional<double>& slow, const std::optional<double>& fast) {
  return slow && fast && *fast > 0 ? ratio_text(*slow / *fast) : missing;
}

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

Table host_latency_table(const HostBench& bench, const std::vector<HostBenchRow>& rows, bool cold) {
  Table table;
  table.title = cold ? fmt::format("{}: {} requests and frees, max {} live blocks; microseconds, new allocator",
                                   bench.trace_name, count_text(bench.trace.ops.size()), bench.trace.slots)
                     : "Further passes with the same allocators";
  table.columns = {{"allocator", true}};
  for (const char* group : {"allocate", "free"}) {
    for (const char* title : {"p50", "p99", "p99.9", "max"}) table.columns.push_back({title, false, false, group});
  }
  for (const char* title : {"p50", "p99.9"}) table.columns.push_back({title, false, false, "both of one block"});
  const HostBenchRow* base = baseline(rows);
  std::string versus;
  if (base) {
    versus = "times below " + base->label;
    for (const char* title : {"p50", "p99.9"}) table.columns.push_back({title, false, false, versus});
  }
  const Percentiles base_both = base ? percentiles(latencies_of(*base, cold).both) : Percentiles{};
  for (const HostBenchRow& row : rows) {
    std::vector<Cell> cells{row.label};
    if (row.passes.empty()) {
      cells.emplace_back(name(row.status));
      cells.resize(table.columns.size());
      if (cold) table.notes.push_back(fmt::format("{}: {}: {}", row.label, name(row.status), row.reason));
    } else {
      const HostLatencies latencies = latencies_of(row, cold);
      for (const std::vector<double>* samples : {&latencies.allocate, &latencies.free}) {
        const Percentiles p = percentiles(*samples);
        for (const auto& value : {p.p50, p.p99, p.p999, p.max}) cells.emplace_back(figure_text(value));
      }
      const Percentiles both = percentiles(latencies.both);
      cells.emplace_back(figure_text(both.p50));
      cells.emplace_back(figure_text(both.p999));
      if (base) {
        cells.push_back(times(base_both.p50, both.p50));
        cells.push_back(times(base_both.p999, both.p999));
      }
    }
    table.add(std::move(cells));
  }
  return table;
}

Table host_memory_table(const std::vector<HostBenchRow>& rows) {
  Table table;
  table.title = "Memory, first pass";
  table.columns = {{"allocator", true},
                   {"requested", false, false, "peak MiB"},
                   {"mapped", false, false, "peak MiB"},
                   {"of peaks", false, false, "mapped / requested"},
                   {"of means", false, false, "mapped / requested"},
                   {"mappings"},
                   {"refused"}};
  for (const HostBenchRow& row : rows) {
    if (row.passes.empty()) continue;
    const HostBenchPass& pass = row.passes.front();
    const std::optional<double> peaks = pass.peak_ratio();
    table.add({row.label, mib_text(pass.peak_requested_bytes),
               pass.peak_mapped_bytes ? mib_text(*pass.peak_mapped_bytes) : missing,
               peaks ? ratio_text(*peaks) : missing, pass.mean_ratio ? ratio_text(*pass.mean_ratio) : missing,
               count_text(pass.mappings), count_text(pass.refused)});
  }
  return table;
}

Table host_flat_table(const std::vector<HostBenchRow>& rows) {
  Table table;
  for (const char* title : {"allocator", "label", "status", "reason", "pass"}) table.columns.push_back({title});
  for (const char* kind : {"allocate", "free", "both"}) {
    for (const char* what : {"p50", "p99", "p99_9", "max"})
      table.columns.push_back({fmt::format("{}_{}_us", kind, what)});
  }
  for (const char* title : {"peak_requested_bytes", "peak_mapped_bytes", "mapped_over_requested_peak",
                            "mapped_over_requested_mean", "mappings", "refused"}) {
    table.columns.push_back({title});
  }
  for (const HostBenchRow& row : rows) {
    for (std::size_t i = 0; i < std::max<std::size_t>(row.passes.size(), 1); ++i) {
      std::vector<Cell> cells{row.allocator, row.label, name(row.status), row.reason};
      if (i < row.passes.size()) {
        const HostBenchPass& pass = row.passes[i];
        cells.emplace_back(std::to_string(i + 1));
        for (const auto* samples : {&pass.latencies.allocate, &pass.latencies.free, &pass.latencies.both}) {
          const Percentiles p = percentiles(*samples);
          for (const auto& value : {p.p50, p.p99, p.p999, p.max}) cells.emplace_back(csv_text(value));
        }
        cells.emplace_back(std::to_string(pass.peak_requested_bytes));
        cells.emplace_back(csv_text(pass.peak_mapped_bytes.has_value(), pass.peak_mapped_bytes.value_or(0)));
        cells.emplace_back(csv_text(pass.peak_ratio()));
        cells.emplace_back(csv_text(pass.mean_ratio));
        cells.emplace_back(std::to_string(pass.mappings));
        cells.emplace_back(std::to_string(pass.refused));
      }
      cells.resize(table.columns.size());
      table.add(std::move(cells));
    }
  }
  return table;
}

Json host_bench_report(const std::vector<std::string>& argv, const HostBench& bench,
                       const std::vector<HostBenchRow>& rows) {
  Json json = report_head(host_bench_schema, argv, bench.device);
  json["trace"] = {{"name", bench.trace_name}, {"ops", bench.trace.ops.size()}, {"slots", bench.trace.slots}};
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

}  // namespace heapwood::app
