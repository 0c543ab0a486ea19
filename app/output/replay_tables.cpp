// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/output/tables.hpp"
#include "bench/host_bench.hpp"
#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"

namespace heapwood::app {

namespace {

using workloads::ReplaySample;
using workloads::TraceSummary;

bool is_walked(const ReplaySample* sample) {
  return sample != nullptr && sample->pool.fragmentation.measured;
}

// The clearly fastest row of a pool.
const ReplayRow* fastest_replay(const std::vector<ReplayRow>& rows, const std::string& pool) {
  return find_fastest(
             pointers_to(rows),
             [&](const ReplayRow& row) { return row.pool == pool ? &row.runs_ms : nullptr; })
      .row;
}

template <class Histogram>
void add_power_rows(Table& table, const std::string& title, const Histogram& histogram,
                    std::uint64_t total, bool is_bytes) {
  if (total == 0) return;
  table.add_heading(title);
  for (std::size_t k = 0; k < histogram.size(); ++k) {
    if (histogram[k] == 0) continue;
    const std::uint64_t end = std::uint64_t{1} << k;
    table.add({"up to " + (is_bytes ? size_text(end) : count_text(end)), count_text(histogram[k]),
               fmt::format("{:.1f}%",
                           100 * static_cast<double>(histogram[k]) / static_cast<double>(total))});
  }
}

}  // namespace

Table trace_table(const ReplayBench& bench) {
  const TraceSummary& summary = bench.summary;
  Table table;
  table.title = bench.name;
  if (!bench.trace->source.empty()) table.title += ": " + bench.trace->source;
  table.columns = {{"", true}, {"", false}, {"share"}};
  const auto add = [&](const char* what, const std::string& figure) {
    table.add({what, figure, ""});
  };
  add("requests", count_text(summary.requests));
  add("frees", count_text(summary.frees));
  add("frees by another warp or kernel", count_text(summary.other_frees));
  add("kernels", count_text(summary.kernels));
  add("max warps that allocate or free in a kernel", count_text(summary.warps));
  add("requested in all", bytes_text(summary.requested));
  add("peak bytes in use", bytes_text(summary.peak_bytes));
  add("blocks in use at the peak", count_text(summary.peak_blocks));
  add("in use at the end", bytes_text(summary.end_bytes));
  add("pool of the recorded run", bytes_text(bench.trace->pool_bytes));
  add_power_rows(table, "size of a request", summary.sizes, summary.requests, true);
  add_power_rows(table, "events from a request to its free", summary.lifetimes, summary.frees,
                 false);
  return table;
}

Table replay_table(const ReplayBench& bench, const std::vector<ReplayRow>& rows) {
  Table table;
  table.title =
      fmt::format("{}: replay of {} request{} and {} free{}, peak bytes in use {}, median of {}",
                  bench.name, compact_text(bench.summary.requests),
                  bench.summary.requests == 1 ? "" : "s", compact_text(bench.summary.frees),
                  bench.summary.frees == 1 ? "" : "s", bytes_text(bench.summary.peak_bytes),
                  plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"));
  table.columns = columns_of(
      "allocator<; time [ms]: median, q1, q3, no calls; refused; memory at the peak: held [MiB], "
      "/ live, tables [MiB], internal, external; until the end [MiB]: touched, address");
  Footnotes footnotes;
  bool has_fastest = false;
  std::string pool;
  for (const ReplayRow& row : rows) {
    if (row.pool != pool) {
      pool = row.pool;
      table.add_heading(fmt::format(
          "pool {}{}", size_text(row.pool_bytes),
          pool.find_first_of("axv") == std::string::npos ? "" : fmt::format(" ({})", pool)));
    }
    const ReplayRow* const best = fastest_replay(rows, row.pool);
    has_fastest |= best != nullptr;
    std::vector<Cell> cells{footnotes.marked(row.marked_label(), row)};
    if (row.runs_ms.empty()) {
      cells.emplace_back(name(row.status));
    } else {
      cells.emplace_back(figure_text(row.median_ms()), best == &row);
      append(cells, figure_text(quantile(row.runs_ms, .25)),
             figure_text(quantile(row.runs_ms, .75)), figure_text(median(row.floor_ms)),
             count_text(row.refused));
      const std::optional<double> held = median(row.peak_held_bytes);
      if (held && is_walked(row.peak())) {
        const ReplaySample &at_peak = *row.peak(), &end = row.samples.back();
        const alloc::Fragmentation& fragmentation = at_peak.pool.fragmentation;
        cells.emplace_back(mib_text(static_cast<std::uint64_t>(*held)));
        const std::optional<double> ratio = row.held_over_live();
        append(cells, ratio ? ratio_text(*ratio) : missing, mib_text(fragmentation.metadata_bytes),
               figure_text(fragmentation.internal), figure_text(fragmentation.external_merged),
               mib_text(end.touched_bytes), mib_text(end.address_bytes));
      }
    }
    cells.resize(table.columns.size(), Cell(missing));
    table.add(std::move(cells));
  }
  explain_marks(table, has_fastest, rows);
  table.notes.push_back(
      "no calls: the replay without the allocator; held: neither free nor the allocator's tables; "
      "live: bytes requested and not freed; external: 1 - largest free region / all free memory, "
      "neighbours merged; touched: bytes that were ever part of a block; address: end of the "
      "highest block");
  footnotes.append_to(table.notes);
  return table;
}

namespace {

// The row with which others are compared: the first of the platform's own allocators.
const HostBenchRow* baseline(const std::vector<HostBenchRow>& rows) {
  for (const HostBenchRow& row : rows) {
    if ((row.allocator == "cudamalloc" || row.allocator == "mmap") && !row.passes.empty())
      return &row;
  }
  return nullptr;
}

HostLatencies latencies_of(const HostBenchRow& row, bool cold) {
  return cold ? row.passes.front().latencies : warm_latencies(row);
}

Cell times(const std::optional<double>& slow, const std::optional<double>& fast) {
  return slow && fast && *fast > 0 ? ratio_text(*slow / *fast) : missing;
}

}  // namespace

Table host_latency_table(const HostBench& bench, const std::vector<HostBenchRow>& rows, bool cold) {
  Table table;
  table.title =
      cold ? fmt::format("{}: {} requests and frees, max {} live blocks; first pass, microseconds",
                         bench.trace_name, count_text(bench.trace.ops.size()), bench.trace.slots)
           : "Further passes with the same allocators";
  const HostBenchRow* base = baseline(rows);
  table.columns = columns_of(
      "allocator<; allocate: p50, p99, p99.9, max; free: p50, p99, p99.9, max; both of one block: "
      "p50, p99.9" +
      (base ? "; times below " + base->label + ": p50, p99.9" : ""));
  const Percentiles base_both = base ? percentiles(latencies_of(*base, cold).both) : Percentiles{};
  for (const HostBenchRow& row : rows) {
    std::vector<Cell> cells{row.label};
    if (row.passes.empty()) {
      cells.emplace_back(name(row.status));
      cells.resize(table.columns.size());
      if (cold)
        table.notes.push_back(fmt::format("{}: {}: {}", row.label, name(row.status), row.reason));
    } else {
      const HostLatencies latencies = latencies_of(row, cold);
      for (const std::vector<double>* samples : {&latencies.allocate, &latencies.free}) {
        const Percentiles p = percentiles(*samples);
        for (const auto& value : {p.p50, p.p99, p.p999, p.max})
          cells.emplace_back(figure_text(value));
      }
      const Percentiles both = percentiles(latencies.both);
      append(cells, figure_text(both.p50), figure_text(both.p999));
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
  table.columns = columns_of(
      "allocator<; peak MiB: requested, mapped; mapped / requested: of peaks, of means; mappings; "
      "refused");
  for (const HostBenchRow& row : rows) {
    if (row.passes.empty()) continue;
    const HostBenchPass& pass = row.passes.front();
    const std::optional<double> peaks = pass.peak_ratio();
    table.add({row.label, mib_text(pass.peak_requested_bytes),
               pass.peak_mapped_bytes ? mib_text(*pass.peak_mapped_bytes) : missing,
               peaks ? ratio_text(*peaks) : missing,
               pass.mean_ratio ? ratio_text(*pass.mean_ratio) : missing, count_text(pass.mappings),
               count_text(pass.refused)});
  }
  return table;
}

}  // namespace heapwood::app
