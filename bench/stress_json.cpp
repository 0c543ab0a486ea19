// SPDX-License-Identifier: MIT
#include "bench/stress.hpp"

#include <cmath>

#include "bench/results/json_report.hpp"

namespace heapwood::bench {

StressSpaceFigures space_figures(const StressRow& row) {
  std::vector<double> utilization, blocks, first, last, iterations, iteration_ms, last_ms;
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    if (steps.empty()) continue;
    const auto in_use = static_cast<double>(steps.back().blocks);
    blocks.push_back(in_use);
    if (row.capacity_bytes && !workloads::has_lifetimes(row.settings.test))
      utilization.push_back(in_use * static_cast<double>(row.point.payload) /
                            static_cast<double>(row.capacity_bytes));
    first.push_back(static_cast<double>(steps.front().address_bytes));
    last.push_back(static_cast<double>(steps.back().address_bytes));
    std::vector<double> served;
    for (const workloads::StressStep& step : steps) {
      if (step.refused == 0) served.push_back(step.ms);
    }
    iterations.push_back(static_cast<double>(served.size()));
    if (served.empty()) continue;
    last_ms.push_back(served.back());
    iteration_ms.push_back(*median(served));
  }
  return {median(utilization), median(blocks),       median(first),  median(last),
          median(iterations),  median(iteration_ms), median(last_ms)};
}

std::optional<double> held_over_live(const StressRow& row) {
  if (!workloads::has_lifetimes(row.settings.test) || !row.peak || row.peak->live_bytes == 0)
    return std::nullopt;
  const alloc::Fragmentation& f = row.peak->fragmentation;
  return static_cast<double>(row.point.pool_bytes - f.free_bytes - f.metadata_bytes) /
         static_cast<double>(row.peak->live_bytes);
}

namespace {

Json settings_json(const StressRow& row) {
  const StressSettings& settings = row.settings;
  Json json;
  json["payload_bytes"] = row.point.payload;
  json["request_bytes"] = alloc::padded(row.point.payload);
  json["pool_bytes"] = row.point.pool_bytes;
  if (has_iterations(settings.test)) json["iterations"] = row.point.iterations;
  if (!has_requests(settings.test)) json["blocks"] = row.point.blocks;
  json["threads"] = stress_threads(settings, row.point);
  json["lanes"] = settings.lanes;
  json["large"] = "buddy";
  if (row.point.page_bytes) json["page_bytes"] = row.point.page_bytes;
  put_allocator_settings(json, settings.allocator);
  if (workloads::allocates_once(settings.test)) json["rounds"] = settings.rounds;
  json["touch"] = settings.touch;
  json["coalesced"] = settings.coalesced;
  json["wait"] = settings.wait;
  using enum workloads::StressTest;
  if (settings.test == probability || settings.test == mixed || settings.test == churn ||
      workloads::has_lifetimes(settings.test))
    json["seed"] = settings.seed;
  // Without the default, so that results compare with those of versions that had no choice.
  if (settings.test == probability && settings.probability != 0.75)
    json["probability"] = settings.probability;
  if (settings.test == lifetimes) json["order"] = name(settings.order);
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
  return json;
}

}  // namespace

void describe(JsonFields& fields, workloads::PoolState& state) {
  alloc::Fragmentation& f = state.fragmentation;
  fields("blocks", state.blocks);
  fields("live_bytes", state.live_bytes);
  if (state.blocks) fields("address_bytes", state.address_bytes);
  fields.optional("internal_fragmentation", f.internal);
  fields.finite("external_fragmentation", f.external);
  fields.finite("external_fragmentation_merged", f.external_merged);
  fields("used_bytes", f.used_bytes);
  fields("free_bytes", f.free_bytes);
  fields("largest_free_bytes", f.largest_free_bytes);
  fields("metadata_bytes", f.metadata_bytes);
}

void describe(JsonFields& fields, workloads::StressStep& step) {
  fields("ms", step.ms);
  fields("blocks", step.blocks);
  fields("refused", step.refused);
  fields("address_bytes", step.address_bytes);
}

namespace {

Json space_json(const StressRow& row) {
  const StressSpaceFigures figures = space_figures(row);
  Json json;
  JsonFields fields(json);
  fields.derived("capacity_bytes", row.capacity_bytes);
  fields.derived("utilization", figures.utilization);
  fields.derived("blocks", figures.blocks);
  fields.derived("first_address_bytes", figures.first_address_bytes);
  fields.derived("address_bytes", figures.address_bytes);
  fields.derived("iterations", figures.iterations);
  fields.derived("iteration_ms", figures.iteration_ms);
  fields.derived("last_ms", figures.last_ms);
  fields.derived("refusal_ms", median(row.refusal_ms));
  fields.derived("held_over_live", held_over_live(row));
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    Json& run = json["steps"].push_back(Json::array());
    for (const workloads::StressStep& step : steps) run.push_back(described(step));
  }
  return json;
}

Json expected_json(const StressRow& row) {
  const double threads = stress_threads(row.settings, row.point);
  const workloads::ExpectedCounts expected =
      workloads::expected_counts(row.point.iterations, row.settings.probability);
  return {{"count", threads * expected.allocations},
          {"count_sigma", std::sqrt(threads) * expected.allocations_sigma},
          {"deallocations", threads * expected.deallocations},
          {"deallocations_sigma", std::sqrt(threads) * expected.deallocations_sigma}};
}

}  // namespace

void describe(JsonFields& fields, StressRow& row) {
  using enum workloads::StressTest;
  const workloads::StressTest test = row.settings.test;
  fields.derived("test", name(test));
  describe_allocator(fields, row);
  fields.derived("settings", settings_json(row));
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  if (!row.allocate_ms.empty()) {
    fields("allocate_ms", row.allocate_ms);
    fields("free_ms", row.free_ms);
  }
  fields("reset_ms", row.reset_ms);
  fields.unless_empty("floor_ms", row.floor_ms);
  fields.derived_quartiles(row.runs_ms);
  if (row.counts) {
    fields.within("allocations", [&](JsonFields& counts) {
      counts("count", row.counts->allocations);
      counts("deallocations", row.counts->deallocations);
      counts("refused", row.counts->failures);
      if (test == alloc_dealloc) counts("refused_split", row.split_failures);
    });
  }
  if (test == exhaust) fields("capacity_bytes", row.capacity_bytes);
  if (test == probability) fields.derived("expected", expected_json(row));
  if (row.overlaps || row.settings.touch) {
    fields.within("overlaps", [&](JsonFields& overlaps) {
      overlaps.optional("by_address", row.overlaps);
      if (row.settings.touch) overlaps("by_content", row.damaged);
    });
  }
  if (row.peak || row.end) {
    fields.within("memory", [&](JsonFields& memory) {
      memory.object("peak", row.peak);
      memory.object("end", row.end);
    });
  }
  if (!row.steps.empty()) fields.derived("space", space_json(row));
  if (row.calls) fields.derived("calls", described(*row.calls));
}

}  // namespace heapwood::bench
