// SPDX-License-Identifier: MIT
#include "app/output/replay_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/results/flat_columns.hpp"
#include "bench/results/footnotes.hpp"
#include "bench/results/format.hpp"

namespace heapwood::app {

namespace {

using bench::ReplayRow;
using workloads::ReplaySample;
using workloads::TraceSummary;

std::string replay_label(const ReplayRow& row) { return row.label + (row.lower_bound ? " *" : ""); }

bool is_walked(const ReplaySample* sample) {
  return sample != nullptr && sample->pool.fragmentation.measured;
}

std::string held_ratio(const ReplaySample& sample) {
  if (!sample.pool.fragmentation.measured || sample.pool.live_bytes == 0) return bench::missing;
  return bench::ratio_text(static_cast<double>(sample.held_bytes) /
                           static_cast<double>(sample.pool.live_bytes));
}

// The clearly fastest row of a pool, among the allocators that free and refused nothing.
const ReplayRow* fastest_replay(const std::vector<ReplayRow>& rows, const std::string& pool) {
  std::vector<const ReplayRow*> all;
  std::vector<const std::vector<double>*> times;
  for (const ReplayRow& row : rows) {
    if (row.pool != pool || row.status != bench::Status::ok || row.lower_bound ||
        row.runs_ms.empty())
      continue;
    all.push_back(&row);
    times.push_back(&row.runs_ms);
  }
  const std::optional<std::size_t> best = bench::clearly_fastest(times);
  return best ? all[*best] : nullptr;
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
  const std::string time = "time [ms]", peak = "memory at the peak", ever = "until the end [MiB]";
  table.columns = {{"allocator", true},
                   {"median", false, false, time},
                   {"q1", false, false, time},
                   {"q3", false, false, time},
                   {"no calls", false, false, time},
                   {"refused"},
                   {"held [MiB]", false, false, peak},
                   {"/ live", false, false, peak},
                   {"tables [MiB]", false, false, peak},
                   {"internal", false, false, peak},
                   {"external", false, false, peak},
                   {"touched", false, false, ever},
                   {"address", false, false, ever}};
  bench::Footnotes footnotes;
  bool has_fastest = false;
  std::string pool;
  for (const ReplayRow& row : rows) {
    if (row.pool != pool) {
      pool = row.pool;
      table.add_heading(fmt::format(
          "pool {}{}", bench::size_text(row.pool_bytes),
          pool.find_first_of("ax") == std::string::npos ? "" : fmt::format(" ({})", pool)));
    }
    const ReplayRow* const best = fastest_replay(rows, row.pool);
    has_fastest |= best != nullptr;
    std::string label = replay_label(row);
    if (!row.reason.empty()) label += " " + footnotes.mark(row.label, row.reason);
    std::vector<bench::Cell> cells{label};
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
  if (has_fastest) table.notes.push_back("◂ fastest: its quartiles overlap no other's");
  if (std::any_of(rows.begin(), rows.end(), [](const ReplayRow& row) { return row.lower_bound; }))
    table.notes.push_back("* lower bound: cannot free, never named the fastest");
  table.notes.push_back(
      "no calls: the replay without the allocator; held: neither free nor the allocator's tables; "
      "live: bytes requested and not freed; external: 1 - largest free region / all free memory, "
      "neighbours merged; touched: bytes that were ever part of a block; address: end of the "
      "highest block");
  footnotes.append_to(table.notes);
  return table;
}

bench::Table replay_memory_table(const bench::ReplayBench& bench,
                                 const std::vector<ReplayRow>& rows) {
  constexpr std::size_t shown = 8;
  bench::Table table;
  table.title = "Held bytes per byte in use, after a share of all events";
  table.columns.push_back({"allocator", true});
  const std::size_t events = bench.trace->events.size();
  for (std::size_t i = 1; i <= shown; ++i)
    table.columns.push_back({fmt::format("{:.0f}%", 100. * static_cast<double>(i) / shown)});
  table.columns.push_back(
      {fmt::format("peak ({:.0f}%)", 100. * static_cast<double>(bench.summary.peak_event) /
                                         static_cast<double>(std::max<std::size_t>(1, events)))});
  std::string pool;
  for (const ReplayRow& row : rows) {
    if (!is_walked(row.peak())) continue;
    if (row.pool != pool) {
      pool = row.pool;
      table.add_heading(fmt::format("pool {}", bench::size_text(row.pool_bytes)));
    }
    std::vector<bench::Cell> cells{replay_label(row)};
    for (std::size_t i = 1; i <= shown; ++i) {
      // The last sample up to that share.
      const ReplaySample* found = nullptr;
      for (const ReplaySample& sample : row.samples) {
        if (sample.event <= events * i / shown) found = &sample;
      }
      cells.emplace_back(found != nullptr ? held_ratio(*found) : bench::missing);
    }
    cells.emplace_back(held_ratio(*row.peak()));
    table.add(std::move(cells));
  }
  return table;
}

bench::Table replay_flat_table(const std::vector<ReplayRow>& rows) {
  using L = const ReplayRow&;
  using bench::csv_text;
  const auto peak = [](auto figure) {
    return [figure](L row) {
      return is_walked(row.peak()) ? bench::csv_figure(row.peak(), figure) : std::string();
    };
  };
  const auto fragmentation = [](auto figure) {
    return [figure](L row) {
      return is_walked(row.peak()) ? bench::csv_figure(&row.peak()->pool.fragmentation, figure)
                                   : std::string();
    };
  };
  const auto end = [](auto figure) {
    return [figure](L row) {
      return is_walked(row.peak()) ? bench::csv_figure(&row.samples.back(), figure) : std::string();
    };
  };
  using alloc::Fragmentation;
  static const std::vector<bench::FlatColumn<ReplayRow>> columns = {
      {"trace", [](L row) { return row.trace; }},
      {"digest", [](L row) { return row.digest; }},
      {"allocator", [](L row) { return row.allocator; }},
      {"label", [](L row) { return row.label; }},
      {"lower_bound", [](L row) { return bench::yes_no(row.lower_bound); }},
      {"pool", [](L row) { return row.pool; }},
      {"pool_bytes", [](L row) { return std::to_string(row.pool_bytes); }},
      {"status", [](L row) { return name(row.status); }},
      {"reason", [](L row) { return row.reason; }},
      {"samples", [](L row) { return std::to_string(row.runs_ms.size()); }},
      {"median_ms", [](L row) { return csv_text(row.median_ms()); }},
      {"q1_ms", [](L row) { return csv_text(bench::quantile(row.runs_ms, 0.25)); }},
      {"q3_ms", [](L row) { return csv_text(bench::quantile(row.runs_ms, 0.75)); }},
      {"floor_ms", [](L row) { return csv_text(bench::median(row.floor_ms)); }},
      {"reset_ms", [](L row) { return csv_text(bench::median(row.reset_ms)); }},
      {"requests", [](L row) { return std::to_string(row.requests); }},
      {"refused", [](L row) { return csv_text(!row.runs_ms.empty(), row.refused); }},
      {"peak_held_bytes", [](L row) { return csv_text(bench::median(row.peak_held_bytes)); }},
      {"peak_held_over_live", [](L row) { return csv_text(row.held_over_live()); }},
      {"peak_live_bytes", peak([](const ReplaySample& s) { return s.pool.live_bytes; })},
      {"peak_metadata_bytes", fragmentation(&Fragmentation::metadata_bytes)},
      {"peak_internal_fragmentation", fragmentation(&Fragmentation::internal)},
      {"peak_external_fragmentation", fragmentation(&Fragmentation::external_merged)},
      {"touched_bytes", end(&ReplaySample::touched_bytes)},
      {"address_bytes", end(&ReplaySample::address_bytes)},
  };
  return bench::table_of_columns(columns, rows);
}

}  // namespace heapwood::app
