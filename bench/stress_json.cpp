// SPDX-License-Identifier: MIT
#include "bench/stress_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/program/out_of_memory.hpp"

namespace heapwood::bench {

namespace {

Json state_json(const workloads::PoolState& state) {
  const alloc::Fragmentation& f = state.fragmentation;
  Json json;
  json["blocks"] = state.blocks;
  json["live_bytes"] = state.live_bytes;
  if (state.blocks) json["address_bytes"] = state.address_bytes;
  put(json, "internal_fragmentation", f.internal);
  put_finite(json, "external_fragmentation", f.external);
  put_finite(json, "external_fragmentation_merged", f.external_merged);
  json["used_bytes"] = f.used_bytes;
  json["free_bytes"] = f.free_bytes;
  json["largest_free_bytes"] = f.largest_free_bytes;
  json["metadata_bytes"] = f.metadata_bytes;
  return json;
}

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
  if (row.point.page_bytes) json["page_bytes"] = row.point.page_bytes;
  put_sizes(json, settings.sizes);
  if (workloads::allocates_once(settings.test)) json["rounds"] = settings.rounds;
  json["touch"] = settings.touch;
  json["coalesced"] = settings.coalesced;
  json["wait"] = settings.wait;
  json["large"] = name(settings.large);
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

Json space_json(const StressRow& row) {
  const StressSpaceFigures figures = space_figures(row);
  Json json;
  json["capacity_bytes"] = row.capacity_bytes;
  put(json, "utilization", figures.utilization);
  put(json, "blocks", figures.blocks);
  put(json, "first_address_bytes", figures.first_address_bytes);
  put(json, "address_bytes", figures.address_bytes);
  put(json, "iterations", figures.iterations);
  put(json, "iteration_ms", figures.iteration_ms);
  put(json, "last_ms", figures.last_ms);
  put(json, "refusal_ms", median(row.refusal_ms));
  put(json, "held_over_live", held_over_live(row));
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    Json run = Json::array();
    for (const workloads::StressStep& step : steps) {
      run.push_back({{"ms", step.ms},
                     {"blocks", step.blocks},
                     {"refused", step.refused},
                     {"address_bytes", step.address_bytes}});
    }
    json["steps"].push_back(std::move(run));
  }
  return json;
}

}  // namespace

Json to_json(const StressRow& row) {
  Json json;
  json["test"] = name(row.settings.test);
  json["allocator"] = row.allocator;
  json["label"] = row.label;
  json["frees"] = name(row.frees);
  json["lower_bound"] = row.lower_bound;
  json["settings"] = settings_json(row);
  json["status"] = name(row.status);
  if (!row.reason.empty()) json["reason"] = row.reason;
  json["seconds"] = std::round(row.seconds * 1e3) / 1e3;
  json["runs_ms"] = row.runs_ms;
  if (!row.allocate_ms.empty()) {
    json["allocate_ms"] = row.allocate_ms;
    json["free_ms"] = row.free_ms;
  }
  json["reset_ms"] = row.reset_ms;
  if (!row.floor_ms.empty()) json["floor_ms"] = row.floor_ms;
  put(json, "median_ms", row.median_ms());
  put(json, "q1_ms", quantile(row.runs_ms, 0.25));
  put(json, "q3_ms", quantile(row.runs_ms, 0.75));
  if (row.counts) {
    json["allocations"] = {{"count", row.counts->allocations},
                           {"deallocations", row.counts->deallocations},
                           {"refused", row.counts->failures}};
    if (row.settings.test == workloads::StressTest::alloc_dealloc)
      json["allocations"]["refused_split"] = row.split_failures;
  }
  if (row.settings.test == workloads::StressTest::exhaust)
    json["capacity_bytes"] = row.capacity_bytes;
  if (row.settings.test == workloads::StressTest::probability) {
    const double threads = stress_threads(row.settings, row.point);
    const workloads::ExpectedCounts expected =
        workloads::expected_counts(row.point.iterations, row.settings.probability);
    json["expected"] = {{"count", threads * expected.allocations},
                        {"count_sigma", std::sqrt(threads) * expected.allocations_sigma},
                        {"deallocations", threads * expected.deallocations},
                        {"deallocations_sigma", std::sqrt(threads) * expected.deallocations_sigma}};
  }
  Json overlaps;
  put(overlaps, "by_address", row.overlaps);
  if (row.settings.touch) overlaps["by_content"] = row.damaged;
  if (!overlaps.empty()) json["overlaps"] = overlaps;
  if (row.peak) json["memory"]["peak"] = state_json(*row.peak);
  if (row.end) json["memory"]["end"] = state_json(*row.end);
  if (!row.steps.empty()) json["space"] = space_json(row);
  if (row.calls) json["calls"] = to_json(*row.calls);
  return json;
}

Json stress_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                   const std::vector<StressRow>& rows) {
  const LackOfMemoryEnds end;
  Json json = report_head(stress_schema, argv, device);
  for (const StressRow& row : rows) json["results"].push_back(to_json(row));
  return json;
}

}  // namespace heapwood::bench
