// SPDX-License-Identifier: MIT
#include "app/json_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "app/version.hpp"

namespace heapwood::app {

namespace {

template <class T>
std::optional<T> get(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::nullopt;
  return at->get<T>();
}

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

kdtree::TreeStats tree_from_json(const Json& json) {
  kdtree::TreeStats tree;
  tree.hash = std::stoull(json.at("hash").get<std::string>(), nullptr, 16);
  tree.inner = json.at("inner");
  tree.leaves = json.at("leaves");
  tree.empty_leaves = json.at("empty_leaves");
  tree.refs = json.at("refs");
  tree.largest_leaf = json.at("largest_leaf");
  tree.sah_cost = get<double>(json, "sah_cost").value_or(NAN);
  tree.sah_cost_1_1 = get<double>(json, "sah_cost_1_1").value_or(NAN);
  tree.depth = json.at("depth");
  return tree;
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
  // Pairs [upper bound in bytes, requests]; empty classes are left out.
  Json histogram = Json::array();
  for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
    if (requests.histogram[k]) histogram.push_back({std::uint64_t{1} << k, requests.histogram[k]});
  }
  json["histogram"] = histogram;
  return json;
}

alloc::RequestStats requests_from_json(const Json& json) {
  alloc::RequestStats requests;
  requests.allocations = json.at("count");
  requests.deallocations = json.at("deallocations");
  requests.failures = json.at("refused");
  requests.mean_bytes = get<double>(json, "mean_bytes").value_or(0);
  requests.sigma_bytes = get<double>(json, "sigma_bytes").value_or(0);
  for (const Json& pair : json.at("histogram")) {
    const std::uint64_t bound = pair.at(0);
    for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
      if (bound == std::uint64_t{1} << k) requests.histogram[k] = pair.at(1);
    }
  }
  return requests;
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
  return json;
}

void memory_from_json(Result& result, const Json& json) {
  result.pool_bytes = get<std::uint64_t>(json, "pool_bytes");
  result.workspace_bytes = get<std::uint64_t>(json, "workspace_bytes");
  if (result.requests) result.requests->high_water_bytes = get<std::uint64_t>(json, "high_water_bytes").value_or(0);
  if (result.requests)
    result.requests->address_high_water_bytes = get<std::uint64_t>(json, "address_high_water_bytes").value_or(0);
  if (!json.contains("free_bytes")) return;
  alloc::Fragmentation end;
  end.internal = get<double>(json, "internal_fragmentation");
  end.external = get<double>(json, "external_fragmentation").value_or(0);
  end.external_merged = get<double>(json, "external_fragmentation_merged").value_or(end.external);
  end.used_bytes = json.at("used_bytes");
  end.free_bytes = json.at("free_bytes");
  end.largest_free_bytes = json.at("largest_free_bytes");
  end.metadata_bytes = json.at("metadata_bytes");
  result.at_end = end;
}

template <class Enum>
Enum enum_from_text(const std::string& text, std::initializer_list<Enum> all) {
  for (Enum value : all) {
    if (text == name(value)) return value;
  }
  throw std::invalid_argument("unknown value '" + text + "'");
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

Json to_json(const BuildSettings& settings) {
  Json json;
  json["refs"] = kdtree::name(settings.refs);
  json["pool"] = settings.pool.text;
  json["runs"] = settings.runs;
  json["traversal_cost"] = as_written(settings.costs.traversal);
  json["intersection_cost"] = as_written(settings.costs.intersection);
  json["empty_bonus"] = as_written(settings.costs.empty_bonus);
  json["keep_degenerate"] = settings.keep_degenerate;
  json["timeout_s"] = settings.timeout;
  return json;
}

Json to_json(const engine::CallUse& calls) {
  const auto one = [](const engine::KernelUse& use) {
    return Json{{"registers", use.registers}, {"stack_bytes", use.local_bytes}};
  };
  return {{"malloc", one(calls.malloc)}, {"free", one(calls.free)}, {"both", one(calls.both)}};
}

Json to_json(const Result& result) {
  Json json;
  json["scene"] = result.scene;
  json["source"] = result.source;
  if (result.tree) {  // else the scene may never have been loaded
    json["triangles"] = result.triangles;
    json["degenerate"] = result.degenerate;
  }
  json["allocator"] = result.allocator;
  json["label"] = result.label;
  json["frees"] = name(result.frees);
  json["lower_bound"] = result.lower_bound;
  json["builder"] = result.builder;
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
    json["refused"] = {{"splits", result.refused_splits}, {"first_request_bytes", result.refused_bytes}};
  }
  if (result.tree) json["tree"] = tree_json(result);
  if (result.requests) json["allocations"] = allocations_json(*result.requests);
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

Result result_from_json(const Json& json) {
  Result result;
  result.scene = json.at("scene");
  result.source = json.at("source");
  result.triangles = get<std::uint64_t>(json, "triangles").value_or(0);
  result.degenerate = get<std::uint64_t>(json, "degenerate").value_or(0);
  result.allocator = json.at("allocator");
  result.label = json.at("label");
  result.frees = enum_from_text(json.at("frees").get<std::string>(),
                                {alloc::Frees::never, alloc::Frees::all_at_once, alloc::Frees::individually});
  result.lower_bound = json.at("lower_bound");
  result.builder = json.at("builder");
  const Json& settings = json.at("settings");
  result.settings.refs = parse_refs(settings.at("refs"));
  result.settings.pool = parse_pool(settings.at("pool"));
  result.settings.runs = settings.at("runs");
  result.settings.costs = {settings.at("traversal_cost"), settings.at("intersection_cost"), settings.at("empty_bonus")};
  result.settings.keep_degenerate = settings.at("keep_degenerate");
  result.settings.timeout = settings.at("timeout_s");
  result.runs_ms = json.at("runs_ms").get<std::vector<double>>();
  result.reset_ms = json.at("reset_ms").get<std::vector<double>>();
  result.slowdown = get<double>(json, "slowdown");
  result.slowdown_over = json.value("slowdown_over", "");
  result.status = enum_from_text(json.at("status").get<std::string>(),
                                 {Status::ok, Status::skipped, Status::incomplete, Status::failed});
  result.reason = json.value("reason", "");
  result.wrong_tree = json.value("wrong_tree", false);
  if (const auto refused = json.find("refused"); refused != json.end()) {
    result.refused_splits = refused->at("splits");
    result.refused_bytes = refused->at("first_request_bytes");
  }
  if (json.contains("tree")) result.tree = tree_from_json(json.at("tree"));
  if (json.contains("allocations")) result.requests = requests_from_json(json.at("allocations"));
  if (json.contains("memory")) memory_from_json(result, json.at("memory"));
  result.warps = json.value("warps", 0u);
  if (const auto kernel = json.find("kernel"); kernel != json.end()) {
    result.kernel = engine::KernelUse{kernel->at("registers"), kernel->at("stack_bytes"), kernel->at("shared_bytes"),
                                      kernel->at("warps_per_multiprocessor")};
  }
  if (const auto calls = json.find("calls"); calls != json.end()) {
    const auto one = [&](const char* key) {
      const Json& use = calls->at(key);
      return engine::KernelUse{use.at("registers"), use.at("stack_bytes")};
    };
    result.calls = engine::CallUse{one("malloc"), one("free"), one("both")};
  }
  return result;
}

Json report_head(const char* schema, const std::vector<std::string>& argv, const simt::DeviceInfo& device) {
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
  json["results"] = Json::array();
  return json;
}

Json bench_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<Result>& results, const std::vector<Json>& others) {
  Json json = report_head(bench_schema, argv, device);
  for (const Result& result : results) json["results"].push_back(to_json(result));
  for (const Json& other : others) json["results"].push_back(other);
  return json;
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device) {
  EarlierReport report;
  std::ifstream file(path);
  if (!file) return report;
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != bench_schema || !json.contains("results") ||
      !json["results"].is_array()) {
    throw Error(Exit::failed,
                fmt::format("{}: not a {} report; --resume needs one, or no file yet", path, bench_schema));
  }
  Json mine = to_json(device), theirs = json.value("device", Json::object());
  for (Json* each : {&mine, &theirs}) each->erase("memory_bytes");
  if (!same(mine, theirs)) {
    throw Error(Exit::usage,
                fmt::format("{}: was measured on another device ({}); name another file with --json", path,
                            theirs.is_object() ? theirs.value("name", Json("unknown")).dump() : "unknown"));
  }
  for (const Json& result : json["results"]) {
    if (result.is_object()) report.results.push_back(result);
  }
  if (json.contains("git") && json["git"].is_object()) report.git_sha = json["git"].value("sha", "");
  return report;
}

bool same(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

bool reusable(const Json& result, const BuildSettings& settings) {
  try {
    const Result earlier = result_from_json(result);
    const bool measured = earlier.status == Status::ok || earlier.status == Status::incomplete;
    return measured && same(to_json(earlier.settings), to_json(settings)) && earlier.requests &&
           earlier.runs_ms.size() == static_cast<std::size_t>(settings.runs);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace heapwood::app
