// SPDX-License-Identifier: MIT
#include "app/output/replay_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/output/row_tables.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

using bench::ReplayRow;
using workloads::ReplaySample;
using workloads::TraceSummary;

bool is_walked(const ReplaySample* sample) {
  return sample != nullptr && sample->pool.fragmentation.measured;
}

// The clearly fastest row of a pool.
const ReplayRow* fastest_replay(const std::vector<ReplayRow>& rows, const std::string& pool) {
  return find_fastest(pointers_to(rows), [&](const ReplayRow& row) {
    return row.pool == pool ? &row.runs_ms : nullptr;
  });
}

template <class Histogram>
void add_power_rows(bench::Table& table, const std::string& title, const Histogram& histogram,
                    std::uint64_t total, bool is_bytes) {
  if (total == 0) return;
  table.add_heading(title);
  for (std::size_t k = 0; k < histogram.size(); ++k) {
    if (histogram[k] == 0) continue;
    const std::uint64_t end = std::uint64_t{1} << k;
    table.add({"up to " + (is_bytes ? bench::size_text(end) : bench::count_text(end)),
               bench::count_text(histogram[k]),
               fmt::format("{:.1f}%",
                           100 * static_cast<double>(histogram[k]) / static_cast<double>(total))});
  }
}

}  // namespace

bench::Table trace_table(const bench::ReplayBench& bench) {
  const TraceSummary& summary = bench.summary;
  bench::Table table;
  table.title = bench.name;
  if (!bench.trace->source.empty()) table.title += ": " + bench.trace->source;
  table.columns = {{"", true}, {"", false}, {"share"}};
  const auto add = [&](const char* what, const std::string& figure) {
    table.add({what, figure, ""});
  };
  add("requests", bench::count_text(summary.requests));
  add("frees", bench::count_text(summary.frees));
  add("frees by another warp or kernel", bench::count_text(summary.other_frees));
  add("kernels", bench::count_text(summary.kernels));
  add("max warps that allocate or free in a kernel", bench::count_text(summary.warps));
  add("requested in all", bench::bytes_text(summary.requested));
  add("peak bytes in use", bench::bytes_text(summary.peak_bytes));
  add("blocks in use at the peak", bench::count_text(summary.peak_blocks));
  add("in use at the end", bench::bytes_text(summary.end_bytes));
  add("pool of the recorded run", bench::bytes_text(bench.trace->pool_bytes));
  add_power_rows(table, "size of a request", summary.sizes, summary.requests, true);
  add_power_rows(table, "events from a request to its free", summary.lifetimes, summary.frees,
                 false);
  return table;
}

bench::Table replay_table(const bench::ReplayBench& bench, const std::vector<ReplayRow>& rows) {
  bench::Table table;
  table.title =
      fmt::format("{}: replay of {} request{} and {} free{}, peak bytes in use {}, median of {}",
                  bench.name, bench::compact_text(bench.summary.requests),
                  bench.summary.requests == 1 ? "" : "s", bench::compact_text(bench.summary.frees),
                  bench.summary.frees == 1 ? "" : "s", bench::bytes_text(bench.summary.peak_bytes),
                  bench::plural_text(static_cast<std::uint64_t>(bench.settings.runs), "run"));
  table.columns = bench::columns_of(
      "allocator<; time [ms]: median, q1, q3, no calls; refused; memory at the peak: held [MiB], "
      "/ live, tables [MiB], internal, external; until the end [MiB]: touched, address");
  bench::Footnotes footnotes;
  bool has_fastest = false;
  std::string pool;
  for (const ReplayRow& row : rows) {
    if (row.pool != pool) {
      pool = row.pool;
      table.add_heading(fmt::format(
          "pool {}{}", bench::size_text(row.pool_bytes),
          pool.find_first_of("axv") == std::string::npos ? "" : fmt::format(" ({})", pool)));
    }
    const ReplayRow* const best = fastest_replay(rows, row.pool);
    has_fastest |= best != nullptr;
    std::vector<bench::Cell> cells{footnotes.marked(row.marked_label(), row)};
    if (row.runs_ms.empty()) {
      cells.emplace_back(name(row.status));
    } else {
      cells.emplace_back(bench::figure_text(row.median_ms()), best == &row);
      cells.emplace_back(bench::figure_text(bench::quantile(row.runs_ms, .25)));
      cells.emplace_back(bench::figure_text(bench::quantile(row.runs_ms, .75)));
      cells.emplace_back(bench::figure_text(bench::median(row.floor_ms)));
      cells.emplace_back(bench::count_text(row.refused));
      const std::optional<double> held = bench::median(row.peak_held_bytes);
      if (held && is_walked(row.peak())) {
        const ReplaySample &at_peak = *row.peak(), &end = row.samples.back();
        const alloc::Fragmentation& fragmentation = at_peak.pool.fragmentation;
        cells.emplace_back(bench::mib_text(static_cast<std::uint64_t>(*held)));
        const std::optional<double> ratio = row.held_over_live();
        cells.emplace_back(ratio ? bench::ratio_text(*ratio) : bench::missing);
        cells.emplace_back(bench::mib_text(fragmentation.metadata_bytes));
        cells.emplace_back(bench::figure_text(fragmentation.internal));
        cells.emplace_back(bench::figure_text(fragmentation.external_merged));
        cells.emplace_back(bench::mib_text(end.touched_bytes));
        cells.emplace_back(bench::mib_text(end.address_bytes));
      }
    }
    cells.resize(table.columns.size(), bench::Cell(bench::missing));
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

}  // namespace heapwood::app
