// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/output/tables.hpp"
#include "bench/graph_bench.hpp"
#include "bench/host_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"

namespace heapwood::app {

namespace {

const char* title_of(GraphPhase phase) {
  return phase == GraphPhase::page_rank ? "PageRank" : name(phase);
}

bool is_update(GraphPhase phase) { return phase >= GraphPhase::insert; }

std::string batch_text(std::uint32_t batch) {
  if (batch == 0) return "";
  return fmt::format("{} {}", compact_text(batch), batch == 1 ? "edge" : "edges");
}

// All pairs of phase and batch, in the order of the rows.
std::vector<std::pair<GraphPhase, std::uint32_t>> phases_of(const std::vector<GraphRow>& rows) {
  std::vector<std::pair<GraphPhase, std::uint32_t>> found;
  for (const GraphRow& row : rows) {
    for (const PhaseSamples& samples : row.phases) {
      const std::pair one{samples.phase, samples.batch};
      if (std::ranges::find(found, one) == found.end()) found.push_back(one);
    }
  }
  return found;
}

// The clearly fastest allocator of a phase.
const GraphRow* fastest(const std::vector<GraphRow>& rows, GraphPhase phase, std::uint32_t batch) {
  return find_fastest(pointers_to(rows),
                      [&](const GraphRow& row) {
                        const PhaseSamples* samples = row.find(phase, batch);
                        return samples && row.layout == GraphLayout::blocks ? &samples->ms
                                                                            : nullptr;
                      })
      .row;
}

// Adds notes that say what the times of the measured phases include.
void add_notes_about(const std::vector<std::pair<GraphPhase, std::uint32_t>>& phases,
                     GraphInit init, Table& table) {
  const auto has = [&](auto is) {
    return std::ranges::any_of(phases, [&](const auto& phase) { return is(phase.first); });
  };
  if (has([](GraphPhase phase) { return phase == GraphPhase::init; })) {
    table.notes.push_back(
        fmt::format("init: {}one malloc per vertex, then the adjacencies are written",
                    init == GraphInit::counted
                        ? "blocks: size classes are counted, then (except Ouroboros, which lays "
                          "out chunks) "
                        : ""));
  }
  if (has(is_update)) {
    table.notes.push_back(
        "updates of edges: one kernel that allocates and frees, without sorting the batch");
  }
  if (has([](GraphPhase phase) { return phase == GraphPhase::page_rank; }))
    table.notes.push_back("PageRank: one iteration");
}

std::string subject(const GraphRow& row) {
  return fmt::format("{}, {} vertices, {} edges, max degree {}", row.graph,
                     compact_text(row.vertices), compact_text(row.edges),
                     count_text(row.max_degree));
}

std::string ratio(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return missing;
  return ratio_text(static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

Table graph_time_table(const std::vector<GraphRow>& rows) {
  Table table;
  if (rows.empty()) return table;
  const GraphRow& first = rows.front();
  table.title = fmt::format("{}: time [ms], {} updates, median of {} x {}", subject(first),
                            name(first.settings.updates),
                            plural_text(static_cast<std::uint64_t>(first.settings.runs), "run"),
                            plural_text(first.settings.rounds, "round"));
  table.columns.push_back({"allocator or layout", true});
  const auto phases = phases_of(rows);
  std::vector<const GraphRow*> best;
  for (const auto& [phase, batch] : phases) {
    table.columns.push_back({title_of(phase), false, false, batch_text(batch)});
    best.push_back(fastest(rows, phase, batch));
  }
  if (phases.empty()) table.columns.push_back({"status"});
  Footnotes footnotes;
  for (const GraphRow& row : rows) {
    add_line(table, row, !row.phases.empty(), footnotes, [&](const auto&, auto& cells) {
      for (std::size_t i = 0; i < phases.size(); ++i) {
        const PhaseSamples* samples = row.find(phases[i].first, phases[i].second);
        cells.emplace_back(samples ? figure_text(samples->median_ms()) : missing, best[i] == &row);
      }
    });
  }
  explain_marks(table, std::ranges::any_of(best, [](const GraphRow* row) { return row; }), rows);
  add_notes_about(phases, first.settings.init, table);
  footnotes.append_to(table.notes);
  return table;
}

Table graph_memory_table(const std::vector<GraphRow>& rows) {
  Table table;
  const auto is_measured = [](const GraphRow& row) { return row.memory && row.memory->measured; };
  if (std::ranges::none_of(rows, is_measured)) return table;
  const bool rounds = std::ranges::any_of(
      rows, [&](const GraphRow& row) { return is_measured(row) && !row.rounds.empty(); });
  table.title = fmt::format("Memory, pool of {}", size_text(rows.front().pool_bytes));
  table.columns = columns_of(
      std::string("allocator or layout<; after init: in use [MiB], / payload, / blocks, tables "
                  "[MiB], address [MiB], external") +
      (rounds ? "; after mixed updates: in use [MiB], / payload, external" : ""));
  for (const GraphRow& row : rows) {
    if (!is_measured(row)) continue;
    const workloads::graph::GraphMemory& m = *row.memory;
    std::vector<Cell> cells{row.marked_label(),
                            mib_text(m.held_bytes),
                            ratio(m.held_bytes, m.payload_bytes),
                            ratio(m.held_bytes, m.block_bytes),
                            mib_text(m.metadata_bytes),
                            mib_text(m.address_bytes),
                            figure_text(m.external)};
    if (rounds && !row.rounds.empty()) {
      const workloads::graph::GraphMemory& end = row.rounds.back().memory;
      append(cells, mib_text(end.held_bytes), ratio(end.held_bytes, end.payload_bytes),
             figure_text(end.external));
    }
    cells.resize(table.columns.size(), Cell(missing));
    table.add(std::move(cells));
  }
  table.notes.push_back(fmt::format(
      "in use: neither free nor the allocator's tables; payload: 4 bytes per edge; blocks: 16 "
      "bytes x 2^k per vertex; external: 1 - largest free region / all free memory, neighbours "
      "merged; the vertex table of {} is not included",
      bytes_text(rows.front().vertices * sizeof(workloads::graph::Vertex))));
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
    table.add({row.label, mib_text(pass.peak_requested_bytes),
               pass.peak_mapped_bytes ? mib_text(*pass.peak_mapped_bytes) : missing,
               ratio_text(pass.peak_ratio()), ratio_text(pass.mean_ratio),
               count_text(pass.mappings), count_text(pass.refused)});
  }
  return table;
}

}  // namespace heapwood::app
