// SPDX-License-Identifier: MIT
#include "app/output/host_bench_tables.hpp"

#include <fmt/format.h>

#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

// The baseline of comparisons: the first of the platform's own allocators.
const bench::HostBenchRow* baseline(const std::vector<bench::HostBenchRow>& rows) {
  for (const bench::HostBenchRow& row : rows) {
    if ((row.allocator == "cudamalloc" || row.allocator == "mmap") && !row.passes.empty())
      return &row;
  }
  return nullptr;
}

bench::HostLatencies latencies_of(const bench::HostBenchRow& row, bool cold) {
  return cold ? row.passes.front().latencies : bench::warm_latencies(row);
}

bench::Cell times(const std::optional<double>& slow, const std::optional<double>& fast) {
  return slow && fast && *fast > 0 ? bench::ratio_text(*slow / *fast) : bench::missing;
}

}  // namespace

bench::Table host_latency_table(const bench::HostBench& bench,
                                const std::vector<bench::HostBenchRow>& rows, bool cold) {
  bench::Table table;
  table.title =
      cold ? fmt::format(
                 "{}: {} requests and frees, max {} live blocks; microseconds, new allocator",
                 bench.trace_name, bench::count_text(bench.trace.ops.size()), bench.trace.slots)
           : "Further passes with the same allocators";
  const bench::HostBenchRow* base = baseline(rows);
  table.columns = bench::columns_of(
      "allocator<; allocate: p50, p99, p99.9, max; free: p50, p99, p99.9, max; both of one block: "
      "p50, p99.9" +
      (base ? "; times below " + base->label + ": p50, p99.9" : ""));
  const bench::Percentiles base_both =
      base ? bench::percentiles(latencies_of(*base, cold).both) : bench::Percentiles{};
  for (const bench::HostBenchRow& row : rows) {
    std::vector<bench::Cell> cells{row.label};
    if (row.passes.empty()) {
      cells.emplace_back(name(row.status));
      cells.resize(table.columns.size());
      if (cold)
        table.notes.push_back(fmt::format("{}: {}: {}", row.label, name(row.status), row.reason));
    } else {
      const bench::HostLatencies latencies = latencies_of(row, cold);
      for (const std::vector<double>* samples : {&latencies.allocate, &latencies.free}) {
        const bench::Percentiles p = bench::percentiles(*samples);
        for (const auto& value : {p.p50, p.p99, p.p999, p.max})
          cells.emplace_back(bench::figure_text(value));
      }
      const bench::Percentiles both = bench::percentiles(latencies.both);
      cells.emplace_back(bench::figure_text(both.p50));
      cells.emplace_back(bench::figure_text(both.p999));
      if (base) {
        cells.push_back(times(base_both.p50, both.p50));
        cells.push_back(times(base_both.p999, both.p999));
      }
    }
    table.add(std::move(cells));
  }
  return table;
}

bench::Table host_memory_table(const std::vector<bench::HostBenchRow>& rows) {
  bench::Table table;
  table.title = "Memory, first pass";
  table.columns = bench::columns_of(
      "allocator<; peak MiB: requested, mapped; mapped / requested: of peaks, of means; mappings; "
      "refused");
  for (const bench::HostBenchRow& row : rows) {
    if (row.passes.empty()) continue;
    const bench::HostBenchPass& pass = row.passes.front();
    const std::optional<double> peaks = pass.peak_ratio();
    table.add({row.label, bench::mib_text(pass.peak_requested_bytes),
               pass.peak_mapped_bytes ? bench::mib_text(*pass.peak_mapped_bytes) : bench::missing,
               peaks ? bench::ratio_text(*peaks) : bench::missing,
               pass.mean_ratio ? bench::ratio_text(*pass.mean_ratio) : bench::missing,
               bench::count_text(pass.mappings), bench::count_text(pass.refused)});
  }
  return table;
}

}  // namespace heapwood::app
