// SPDX-License-Identifier: MIT
#include "bench/results/json_report.hpp"

#include <fmt/format.h>

#include "bench/program/out_of_memory.hpp"
#include "bench/program/version.hpp"
#include "bench/results/device_record.hpp"
#include "scenes/file.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

namespace {

// 0.15f as 0.15, not as the double nearest to the float.
double as_written(float value) { return std::stod(fmt::format("{}", value)); }

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Json tree_json(const Result& result) {
  const kdtree::TreeStats& tree = *result.tree;
  Json json;
  json["hash"] = hash_text(tree.hash);
  json["nodes"] = tree.inner + tree.leaves;
  json["inner"] = tree.inner;
  json["leaves"] = tree.leaves;
  json["empty_leaves"] = tree.empty_leaves;
  json["refs"] = tree.refs;
  put(json, "refs_per_triangle", result.refs_per_triangle());
  json["largest_leaf"] = tree.largest_leaf;
  put_finite(json, "sah_cost", tree.sah_cost);
  put_finite(json, "sah_cost_1_1", tree.sah_cost_1_1);
  json["depth"] = tree.depth;
  return json;
}

Json allocations_json(const alloc::RequestStats& requests) {
  Json json;
  json["count"] = requests.allocations;
  json["deallocations"] = requests.deallocations;
  json["refused"] = requests.failures;
  if (requests.allocations > 0) {
    put_finite(json, "mean_bytes", requests.mean_bytes);
    put_finite(json, "sigma_bytes", requests.sigma_bytes);
  }
  // Pairs [upper bound in bytes, requests] of the nonempty classes.
  Json histogram = Json::array();
  for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
    if (requests.histogram[k]) histogram.push_back({std::uint64_t{1} << k, requests.histogram[k]});
  }
  json["histogram"] = histogram;
  return json;
}

Json per_level_json(const Result& result) {
  const LevelFigures& levels = *result.levels;
  Json json;
  json["levels"] = levels.run.levels;
  json["launches"] = levels.run.launches;
  json["host_allocations"] = levels.run.allocations;
  json["requested_bytes"] = levels.run.requested_bytes;
  json["host_allocation_ms"] = levels.allocation_ms;
  put(json, "host_allocation_share", levels.allocation_share(result.runs_ms));
  return json;
}

Json memory_json(const Result& result) {
  Json json;
  put(json, "pool_bytes", result.pool_bytes);
  put(json, "high_water_bytes", result.high_water_bytes());
  if (result.requests && result.requests->address_high_water_bytes)
    json["address_high_water_bytes"] = result.requests->address_high_water_bytes;
  if (result.at_end) {
    put(json, "internal_fragmentation", result.at_end->internal);
    put_finite(json, "external_fragmentation", result.at_end->external);
    put_finite(json, "external_fragmentation_merged", result.at_end->external_merged);
    json["used_bytes"] = result.at_end->used_bytes;
    json["free_bytes"] = result.at_end->free_bytes;
    json["largest_free_bytes"] = result.at_end->largest_free_bytes;
    json["metadata_bytes"] = result.at_end->metadata_bytes;
  }
  put(json, "workspace_bytes", result.workspace_bytes);
  if (result.levels) {
    json["peak_bytes"] = result.levels->run.peak_bytes;
    put(json, "mapped_bytes", result.levels->mapped_bytes);
    json["tree_bytes"] = result.levels->run.tree_bytes;
  }
  return json;
}

}  // namespace

Json to_json(const simt::DeviceInfo& device) {
  Json json;
  const bool cpu = device.id.kind == simt::DeviceKind::cpu;
  json["kind"] = cpu ? "cpu" : "cuda";
  json["name"] = device.name;
  json["key"] = device.key;
  json[cpu ? "threads" : "multiprocessors"] = device.multiprocessors;
  json["memory_bytes"] = device.memory_bytes;
  if (!cpu) {
    json["compute_capability"] = device.compute_capability;
    json["driver"] = device.driver;
  }
  return json;
}

void put_allocator_settings(Json& settings, const alloc::AllocatorOptions& options) {
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      if (registry::is_default(setting, options)) continue;
      if (setting.words)
        settings[setting.json] = registry::value_text(setting, options);
      else
        settings[setting.json] = setting.get(options);
    }
  }
}

Json to_json(const BuildSettings& settings) {
  Json json;
  json["refs"] = kdtree::name(settings.refs);
  json["pool"] = settings.pool.text;
  json["runs"] = settings.runs;
  json["prefer"] = settings.prefer->name;
  json["traversal_cost"] = as_written(settings.costs.traversal);
  json["intersection_cost"] = as_written(settings.costs.intersection);
  json["empty_bonus"] = as_written(settings.costs.empty_bonus);
  json["duplicate_cost"] = as_written(settings.costs.duplicate);
  json["keep_degenerate"] = settings.keep_degenerate;
  json["timeout_s"] = settings.timeout;
  put_allocator_settings(json, settings.allocator);
  if (settings.multiprocessors) json["multiprocessors"] = settings.multiprocessors;
  if (!kdtree::limits_registers) json["uncapped"] = true;
  return json;
}

Json to_json(const registry::CallUse& calls) {
  const auto one = [](const registry::KernelUse& use) {
    return Json{{"registers", use.registers}, {"stack_bytes", use.local_bytes}};
  };
  Json json{{"malloc", one(calls.malloc)}, {"free", one(calls.free)}, {"both", one(calls.both)}};
  if (calls.own) json["own"] = one(*calls.own);
  return json;
}

Json to_json(const Result& result) {
  Json json;
  json["scene"] = result.scene;
  json["source"] = scenes::utf8_text(result.source);
  if (!result.digest.empty()) json["digest"] = result.digest;
  if (result.tree) {  // without a tree the scene may not have been loaded
    json["triangles"] = result.triangles;
    json["degenerate"] = result.degenerate;
  }
  json["allocator"] = result.allocator;
  json["label"] = result.label;
  json["frees"] = name(result.frees);
  json["lower_bound"] = result.lower_bound;
  json["builder"] = name(result.builder);
  json["settings"] = to_json(result.settings);
  json["runs_ms"] = result.runs_ms;
  json["reset_ms"] = result.reset_ms;
  put(json, "median_ms", result.median_ms());
  put(json, "q1_ms", quantile(result.runs_ms, 0.25));
  put(json, "q3_ms", quantile(result.runs_ms, 0.75));
  put(json, "slowdown", result.slowdown);
  if (result.slowdown) json["slowdown_over"] = result.slowdown_over;
  json["status"] = name(result.status);
  if (!result.reason.empty()) json["reason"] = result.reason;
  if (result.wrong_tree) json["wrong_tree"] = true;
  if (result.status == Status::incomplete) {
    json["refused"] = {{"splits", result.refused_splits},
                       {"first_request_bytes", result.refused_bytes}};
  }
  if (result.tree) json["tree"] = tree_json(result);
  if (result.requests) json["allocations"] = allocations_json(*result.requests);
  if (result.levels) json["per_level"] = per_level_json(result);
  const Json memory = memory_json(result);
  if (!memory.empty()) json["memory"] = memory;
  if (result.warps) json["warps"] = result.warps;
  if (result.kernel) {
    json["registers"] = result.kernel->registers;
    json["kernel"] = {{"registers", result.kernel->registers},
                      {"stack_bytes", result.kernel->local_bytes},
                      {"shared_bytes", result.kernel->shared_bytes},
                      {"warps_per_multiprocessor", result.kernel->warps_per_multiprocessor}};
  }
  if (result.calls) json["calls"] = to_json(*result.calls);
  return json;
}

Json report_head(const char* schema, const std::vector<std::string>& argv,
                 const simt::DeviceInfo& device) {
  Json json;
  json["schema"] = schema;
  json["argv"] = argv;
  json["version"] = version();
  json["git"]["sha"] = git_sha();
  if (const auto dirty = git_dirty())
    json["git"]["dirty"] = *dirty;
  else
    json["git"]["dirty"] = nullptr;
  json["device"] = to_json(device);
  if (Json record = device_record(device); !record.is_null()) json["device_record"] = record;
  if (simt::interrupted()) json["interrupted"] = true;
  json["results"] = Json::array();
  return json;
}

Json bench_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<Result>& results) {
  const LackOfMemoryEnds end;
  Json json = report_head(bench_schema, argv, device);
  for (const Result& result : results) json["results"].push_back(to_json(result));
  return json;
}

std::string json_text(const Json& json) {
  const LackOfMemoryEnds end;
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace heapwood::bench
