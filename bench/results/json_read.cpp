// SPDX-License-Identifier: MIT
// Reads results written by json_report.cpp, for --resume.
#include <fmt/format.h>

#include <cmath>

#include "bench/results/device_record.hpp"
#include "bench/results/json_file.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

template <class T>
std::optional<T> get(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::nullopt;
  return at->get<T>();
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

LevelFigures levels_from_json(const Json& json, const Json& memory) {
  LevelFigures levels;
  levels.run.levels = json.at("levels");
  levels.run.launches = json.at("launches");
  levels.run.allocations = json.at("host_allocations");
  levels.run.requested_bytes = json.at("requested_bytes");
  levels.allocation_ms = json.at("host_allocation_ms").get<std::vector<double>>();
  levels.run.peak_bytes = memory.at("peak_bytes");
  levels.run.tree_bytes = memory.at("tree_bytes");
  levels.mapped_bytes = get<std::uint64_t>(memory, "mapped_bytes");
  return levels;
}

void memory_from_json(Result& result, const Json& json) {
  result.pool_bytes = get<std::uint64_t>(json, "pool_bytes");
  result.workspace_bytes = get<std::uint64_t>(json, "workspace_bytes");
  if (result.requests)
    result.requests->high_water_bytes = get<std::uint64_t>(json, "high_water_bytes").value_or(0);
  if (result.requests)
    result.requests->address_high_water_bytes =
        get<std::uint64_t>(json, "address_high_water_bytes").value_or(0);
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

alloc::AllocatorOptions allocator_settings_from_json(const Json& settings) {
  alloc::AllocatorOptions options;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      const auto value = settings.find(setting.json);
      if (value == settings.end()) continue;
      const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
      if (!registry::set_value(setting, options, text))
        throw std::runtime_error("unknown value '" + text + "'");
    }
  }
  return options;
}

}  // namespace

Status status_from_json(const Json& result) {
  return enum_from_text(result.at("status").get<std::string>(),
                        {Status::ok, Status::skipped, Status::incomplete, Status::failed});
}

alloc::Frees frees_from_json(const Json& result) {
  return enum_from_text(
      result.at("frees").get<std::string>(),
      {alloc::Frees::never, alloc::Frees::all_at_once, alloc::Frees::individually});
}

Result result_from_json(const Json& json) {
  Result result;
  result.scene = json.at("scene");
  result.source = json.at("source");
  result.digest = json.value("digest", "");
  result.triangles = get<std::uint64_t>(json, "triangles").value_or(0);
  result.degenerate = get<std::uint64_t>(json, "degenerate").value_or(0);
  result.allocator = json.at("allocator");
  result.label = json.at("label");
  result.frees = frees_from_json(json);
  result.lower_bound = json.at("lower_bound");
  result.builder =
      enum_from_text(json.at("builder").get<std::string>(), {Builder::single, Builder::per_level});
  const Json& settings = json.at("settings");
  result.settings.refs = parse_refs(settings.at("refs"));
  result.settings.pool = parse_pool(settings.at("pool"));
  result.settings.allocator = allocator_settings_from_json(settings);
  result.settings.multiprocessors = settings.value("multiprocessors", 0u);
  result.settings.runs = settings.at("runs");
  result.settings.prefer = &parse_prefer(settings.at("prefer"));
  result.settings.costs = {settings.at("traversal_cost"), settings.at("intersection_cost"),
                           settings.at("empty_bonus"), settings.at("duplicate_cost")};
  result.settings.keep_degenerate = settings.at("keep_degenerate");
  result.settings.timeout = settings.at("timeout_s");
  result.runs_ms = json.at("runs_ms").get<std::vector<double>>();
  result.reset_ms = json.at("reset_ms").get<std::vector<double>>();
  result.slowdown = get<double>(json, "slowdown");
  result.slowdown_over = json.value("slowdown_over", "");
  result.status = status_from_json(json);
  result.reason = json.value("reason", "");
  result.wrong_tree = json.value("wrong_tree", false);
  if (const auto refused = json.find("refused"); refused != json.end()) {
    result.refused_splits = refused->at("splits");
    result.refused_bytes = refused->at("first_request_bytes");
  }
  if (json.contains("tree")) result.tree = tree_from_json(json.at("tree"));
  if (json.contains("allocations")) result.requests = requests_from_json(json.at("allocations"));
  if (json.contains("memory")) memory_from_json(result, json.at("memory"));
  if (json.contains("per_level"))
    result.levels = levels_from_json(json.at("per_level"), json.at("memory"));
  result.warps = json.value("warps", 0u);
  if (const auto kernel = json.find("kernel"); kernel != json.end()) {
    result.kernel =
        registry::KernelUse{kernel->at("registers"), kernel->at("stack_bytes"),
                            kernel->at("shared_bytes"), kernel->at("warps_per_multiprocessor")};
  }
  if (const auto calls = json.find("calls"); calls != json.end()) {
    const auto one = [&](const char* key) {
      const Json& use = calls->at(key);
      return registry::KernelUse{use.at("registers"), use.at("stack_bytes")};
    };
    result.calls = registry::CallUse{one("malloc"), one("free"), one("both")};
    if (calls->contains("own")) result.calls->own = one("own");
  }
  return result;
}

EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema) {
  EarlierReport report;
  const std::optional<Json> read = read_json(path);
  if (!read) return report;
  const Json& json = *read;
  if (!json.is_object() || json.value("schema", Json()) != schema || !json.contains("results") ||
      !json["results"].is_array()) {
    throw Error(
        Exit::failed,
        fmt::format("{}: not a {} report; --resume needs a report or a new file", path, schema));
  }
  Json mine = to_json(device), theirs = json.value("device", Json::object());
  for (Json* each : {&mine, &theirs}) each->erase("memory_bytes");
  if (!same(mine, theirs)) {
    const bool known = theirs.is_object() && theirs.contains("name");
    const std::string threads =
        known && theirs.contains("threads") ? ", " + theirs["threads"].dump() + " threads" : "";
    throw Error(
        Exit::usage,
        fmt::format("{}: measured on another device ({}{}); choose another file with --json", path,
                    known ? theirs["name"].dump() : "unknown", threads));
  }
  keep_earlier_record(json);
  report.results.assign(json["results"].begin(), json["results"].end());
  if (json.contains("git")) report.git_sha = text_at(json["git"], "sha");
  return report;
}

bool same(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

std::string sorted_text(const Json& json) {
  return nlohmann::json(json).dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool reusable(const Json& result, const BuildSettings& settings) {
  try {
    const Result earlier = result_from_json(result);
    const bool measured = earlier.status == Status::ok || earlier.status == Status::incomplete;
    return measured && same(to_json(earlier.settings), to_json(settings)) &&
           (earlier.requests || earlier.levels) &&
           earlier.runs_ms.size() == static_cast<std::size_t>(settings.runs);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace heapwood::bench
