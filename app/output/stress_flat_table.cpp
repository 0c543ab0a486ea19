// SPDX-License-Identifier: MIT
#include "app/output/stress_tables.hpp"
#include "bench/results/flat_columns.hpp"

namespace heapwood::app {

namespace {

using bench::csv_figure;
using bench::csv_text;
using bench::StressRow;
using bench::StressSpaceFigures;
using registry::CallUse;
using workloads::PoolState;
using workloads::StressCounts;

// Settings of which 0 means that another one determines the value.
std::string if_set(std::uint64_t value) { return csv_text(value > 0, value); }

template <class Figure>
std::string fragmentation(const std::optional<PoolState>& state,
                          Figure alloc::Fragmentation::*figure) {
  return csv_figure(state, [figure](const PoolState& s) { return s.fragmentation.*figure; });
}

std::string registers(const StressRow& row, registry::KernelUse CallUse::*call) {
  return csv_figure(row.calls, [call](const CallUse& use) { return (use.*call).registers; });
}

std::string space(const StressRow& row, std::optional<double> StressSpaceFigures::*figure) {
  return csv_text(space_figures(row).*figure);
}

const std::vector<bench::FlatColumn<StressRow>>& columns() {
  using R = const StressRow&;
  using alloc::Fragmentation;
  static const std::vector<bench::FlatColumn<StressRow>> all = {
      {"test", [](R r) { return bench::name(r.settings.test); }},
      {"allocator", [](R r) { return r.allocator; }},
      {"label", [](R r) { return r.label; }},
      {"lower_bound", [](R r) { return bench::yes_no(r.lower_bound); }},
      {"payload_bytes", [](R r) { return std::to_string(r.point.payload); }},
      {"pool_bytes", [](R r) { return std::to_string(r.point.pool_bytes); }},
      {"iterations", [](R r) { return std::to_string(r.point.iterations); }},
      {"blocks", [](R r) { return if_set(r.point.blocks); }},
      {"requests", [](R r) { return if_set(r.point.requests); }},
      {"threads", [](R r) { return std::to_string(stress_threads(r.settings, r.point)); }},
      {"lanes", [](R r) { return std::to_string(r.settings.lanes); }},
      {"page_bytes", [](R r) { return if_set(r.point.page_bytes); }},
      {"touch", [](R r) { return bench::yes_no(r.settings.touch); }},
      {"coalesced", [](R r) { return bench::yes_no(r.settings.coalesced); }},
      {"status", [](R r) { return name(r.status); }},
      {"reason", [](R r) { return r.reason; }},
      {"runs", [](R r) { return std::to_string(r.runs_ms.size()); }},
      {"median_ms", [](R r) { return csv_text(r.median_ms()); }},
      {"q1_ms", [](R r) { return csv_text(bench::quantile(r.runs_ms, 0.25)); }},
      {"q3_ms", [](R r) { return csv_text(bench::quantile(r.runs_ms, 0.75)); }},
      {"allocate_ms", [](R r) { return csv_text(bench::median(r.allocate_ms)); }},
      {"free_ms", [](R r) { return csv_text(bench::median(r.free_ms)); }},
      {"reset_ms", [](R r) { return csv_text(bench::median(r.reset_ms)); }},
      {"floor_ms", [](R r) { return csv_text(bench::median(r.floor_ms)); }},
      {"allocations", [](R r) { return csv_figure(r.counts, &StressCounts::allocations); }},
      {"deallocations", [](R r) { return csv_figure(r.counts, &StressCounts::deallocations); }},
      {"refused", [](R r) { return csv_figure(r.counts, &StressCounts::failures); }},
      {"overlaps_by_address", [](R r) { return csv_figure(r.overlaps); }},
      {"overlaps_by_content", [](R r) { return csv_text(r.settings.touch, r.damaged); }},
      {"internal_fragmentation",
       [](R r) { return fragmentation(r.peak, &Fragmentation::internal); }},
      {"external_fragmentation",
       [](R r) { return fragmentation(r.peak, &Fragmentation::external); }},
      {"external_fragmentation_end",
       [](R r) { return fragmentation(r.end, &Fragmentation::external); }},
      {"address_bytes", [](R r) { return csv_figure(r.peak, &PoolState::address_bytes); }},
      {"metadata_bytes", [](R r) { return fragmentation(r.peak, &Fragmentation::metadata_bytes); }},
      {"utilization", [](R r) { return space(r, &StressSpaceFigures::utilization); }},
      {"first_range_bytes", [](R r) { return space(r, &StressSpaceFigures::first_address_bytes); }},
      {"range_bytes", [](R r) { return space(r, &StressSpaceFigures::address_bytes); }},
      {"iterations_served", [](R r) { return space(r, &StressSpaceFigures::iterations); }},
      {"iteration_ms", [](R r) { return space(r, &StressSpaceFigures::iteration_ms); }},
      {"last_iteration_ms", [](R r) { return space(r, &StressSpaceFigures::last_ms); }},
      {"registers_malloc", [](R r) { return registers(r, &CallUse::malloc); }},
      {"registers_free", [](R r) { return registers(r, &CallUse::free); }},
      {"registers_both", [](R r) { return registers(r, &CallUse::both); }},
  };
  return all;
}

}  // namespace

bench::Table stress_flat_table(const std::vector<StressRow>& rows) {
  return bench::table_of_columns(columns(), rows);
}

}  // namespace heapwood::app
