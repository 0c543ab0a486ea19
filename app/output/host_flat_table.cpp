// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "app/output/host_bench_tables.hpp"
#include "bench/results/flat_columns.hpp"

namespace heapwood::app {

namespace {

// A row of the flat table: one pass of an allocator, or none if it failed before the first.
struct FlatPass {
  const bench::HostBenchRow* row;
  const bench::HostBenchPass* pass = nullptr;
  std::size_t number = 0;
  bench::Percentiles allocate{}, free{}, both{};
};

std::vector<FlatPass> flat_passes(const std::vector<bench::HostBenchRow>& rows) {
  std::vector<FlatPass> passes;
  for (const bench::HostBenchRow& row : rows) {
    if (row.passes.empty()) passes.push_back({&row});
    for (std::size_t i = 0; i < row.passes.size(); ++i) {
      const bench::HostLatencies& latencies = row.passes[i].latencies;
      passes.push_back({&row, &row.passes[i], i + 1, bench::percentiles(latencies.allocate),
                        bench::percentiles(latencies.free), bench::percentiles(latencies.both)});
    }
  }
  return passes;
}

using FlatColumns = std::vector<bench::FlatColumn<FlatPass>>;

void add_latencies(FlatColumns& columns, const char* kind,
                   bench::Percentiles FlatPass::*latencies) {
  const auto add = [&](const char* figure, std::optional<double> bench::Percentiles::*value) {
    columns.push_back({fmt::format("{}_{}_us", kind, figure), [=](const FlatPass& pass) {
                         return bench::csv_text(pass.*latencies.*value);
                       }});
  };
  add("p50", &bench::Percentiles::p50);
  add("p99", &bench::Percentiles::p99);
  add("p99_9", &bench::Percentiles::p999);
  add("max", &bench::Percentiles::max);
}

FlatColumns flat_columns() {
  using bench::csv_figure;
  using bench::HostBenchPass;
  using P = const FlatPass&;
  FlatColumns columns = {
      {"allocator", [](P p) { return p.row->allocator; }},
      {"label", [](P p) { return p.row->label; }},
      {"status", [](P p) { return name(p.row->status); }},
      {"reason", [](P p) { return p.row->reason; }},
      {"pass", [](P p) { return bench::csv_text(p.pass != nullptr, p.number); }},
  };
  add_latencies(columns, "allocate", &FlatPass::allocate);
  add_latencies(columns, "free", &FlatPass::free);
  add_latencies(columns, "both", &FlatPass::both);
  const FlatColumns memory = {
      {"peak_requested_bytes",
       [](P p) { return csv_figure(p.pass, &HostBenchPass::peak_requested_bytes); }},
      {"peak_mapped_bytes",
       [](P p) { return p.pass ? csv_figure(p.pass->peak_mapped_bytes) : ""; }},
      {"mapped_over_requested_peak",
       [](P p) { return csv_figure(p.pass, &HostBenchPass::peak_ratio); }},
      {"mapped_over_requested_mean",
       [](P p) { return csv_figure(p.pass, &HostBenchPass::mean_ratio); }},
      {"mappings", [](P p) { return csv_figure(p.pass, &HostBenchPass::mappings); }},
      {"refused", [](P p) { return csv_figure(p.pass, &HostBenchPass::refused); }},
  };
  columns.insert(columns.end(), memory.begin(), memory.end());
  return columns;
}

}  // namespace

bench::Table host_flat_table(const std::vector<bench::HostBenchRow>& rows) {
  return bench::table_of_columns(flat_columns(), flat_passes(rows));
}

}  // namespace heapwood::app
