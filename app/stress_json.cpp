// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "app/stress_report.hpp"

namespace heapwood::app {

namespace {

Json state_json(const alloc::PoolState& state) {
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
  if (settings.test == alloc::StressTest::cycle || settings.test == alloc::StressTest::probability)
    json["iterations"] = row.point.iterations;
  if (settings.test != alloc::StressTest::each) json["blocks"] = row.point.blocks;
  json["threads"] = stress_threads(settings, row.point);
  json["lanes"] = settings.lanes;
  if (row.point.page_bytes) json["page_bytes"] = row.point.page_bytes;
  json["touch"] = settings.touch;
  json["coalesced"] = settings.coalesced;
  json["wait"] = settings.wait;
  json["large"] = name(settings.large);
  if (settings.test == alloc::StressTest::probability) json["seed"] = settings.seed;
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
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
  json["runs_ms"] = row.runs_ms;
  if (!row.allocate_ms.empty()) {
    json["allocate_ms"] = row.allocate_ms;
    json["free_ms"] = row.free_ms;
  }
  json["reset_ms"] = row.reset_ms;
  put(json, "median_ms", row.median_ms());
  put(json, "q1_ms", quantile(row.runs_ms, 0.25));
  put(json, "q3_ms", quantile(row.runs_ms, 0.75));
  if (row.counts) {
    json["allocations"] = {{"count", row.counts->allocations},
                           {"deallocations", row.counts->deallocations},
                           {"refused", row.counts->failures}};
    if (row.settings.test == alloc::StressTest::alloc_dealloc)
      json["allocations"]["refused_split"] = row.split_failures;
  }
  if (row.settings.test == alloc::StressTest::probability) {
    const double threads = stress_threads(row.settings, row.point);
    const alloc::ExpectedCounts expected = alloc::expected_counts(row.point.iterations);
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
  if (row.calls) json["calls"] = to_json(*row.calls);
  return json;
}

Json stress_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                   const std::vector<StressRow>& rows) {
  Json json = report_head(stress_schema, argv, device);
  for (const StressRow& row : rows) json["results"].push_back(to_json(row));
  return json;
}

Table stress_flat_table(const std::vector<StressRow>& rows) {
  Table table;
  for (const char* title : {"test",
                            "allocator",
                            "label",
                            "lower_bound",
                            "payload_bytes",
                            "pool_bytes",
                            "iterations",
                            "blocks",
                            "threads",
                            "lanes",
                            "page_bytes",
                            "touch",
                            "coalesced",
                            "status",
                            "reason",
                            "runs",
                            "median_ms",
                            "q1_ms",
                            "q3_ms",
                            "allocate_ms",
                            "free_ms",
                            "reset_ms",
                            "allocations",
                            "deallocations",
                            "refused",
                            "overlaps_by_address",
                            "overlaps_by_content",
                            "internal_fragmentation",
                            "external_fragmentation",
                            "external_fragmentation_end",
                            "address_bytes",
                            "metadata_bytes",
                            "registers_malloc",
                            "registers_free",
                            "registers_both"}) {
    table.columns.push_back({title});
  }
  const auto figure = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
  };
  const auto whole = [](bool have, auto value) { return have ? std::to_string(value) : std::string(); };
  for (const StressRow& r : rows) {
    const alloc::StressCounts counts = r.counts.value_or(alloc::StressCounts{});
    const alloc::PoolState peak = r.peak.value_or(alloc::PoolState{});
    const engine::CallUse calls = r.calls.value_or(engine::CallUse{});
    const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
    table.add({name(r.settings.test),
               r.allocator,
               r.label,
               yes_no(r.lower_bound),
               std::to_string(r.point.payload),
               std::to_string(r.point.pool_bytes),
               std::to_string(r.point.iterations),
               whole(r.point.blocks > 0, r.point.blocks),
               std::to_string(stress_threads(r.settings, r.point)),
               std::to_string(r.settings.lanes),
               whole(r.point.page_bytes > 0, r.point.page_bytes),
               yes_no(r.settings.touch),
               yes_no(r.settings.coalesced),
               name(r.status),
               r.reason,
               std::to_string(r.runs_ms.size()),
               figure(r.median_ms()),
               figure(quantile(r.runs_ms, 0.25)),
               figure(quantile(r.runs_ms, 0.75)),
               figure(median(r.allocate_ms)),
               figure(median(r.free_ms)),
               figure(median(r.reset_ms)),
               whole(r.counts.has_value(), counts.allocations),
               whole(r.counts.has_value(), counts.deallocations),
               whole(r.counts.has_value(), counts.failures),
               whole(r.overlaps.has_value(), r.overlaps.value_or(0)),
               whole(r.settings.touch, r.damaged),
               r.peak ? figure(peak.fragmentation.internal) : "",
               r.peak ? figure(peak.fragmentation.external) : "",
               r.end ? figure(r.end->fragmentation.external) : "",
               whole(r.peak.has_value(), peak.address_bytes),
               whole(r.peak.has_value(), peak.fragmentation.metadata_bytes),
               whole(r.calls.has_value(), calls.malloc.registers),
               whole(r.calls.has_value(), calls.free.registers),
               whole(r.calls.has_value(), calls.both.registers)});
  }
  return table;
}

}  // namespace heapwood::app
