// SPDX-License-Identifier: MIT
#include "bench/results/json_report.hpp"

#include <cmath>
#include <filesystem>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

// The keys of a result that identify its measurement. Reading a file adds `case` and `measured_on`.
constexpr const char* identifying[] = {"case",   "measured_on", "scene",  "source",  "graph",
                                       "test",   "trace",       "digest", "kind",    "builder",
                                       "layout", "allocator",   "pool",   "settings"};
// Settings that do not identify a measurement, because they do not change what is measured.
constexpr const char* not_identifying[] = {"runs", "seconds", "timeout_s", "budget_seconds",
                                           "samples"};
constexpr const char* path_keys[] = {"source", "graph", "trace"};

// Converts 0.15f to 0.15, not to the double nearest to that float.
double as_written(float value) { return std::stod(fmt::format("{}", value)); }

void describe_tree(JsonFields& fields, Result& result) {
  kdtree::TreeStats& tree = *result.tree;
  fields.named("hash", scenes::hex_digits(tree.hash),
               [&](const std::string& text) { tree.hash = std::stoull(text, nullptr, 16); });
  fields.derived("nodes", tree.inner + tree.leaves);
  fields("inner", tree.inner);
  fields("leaves", tree.leaves);
  fields("empty_leaves", tree.empty_leaves);
  fields("refs", tree.refs);
  fields.derived("refs_per_triangle", result.refs_per_triangle());
  fields("largest_leaf", tree.largest_leaf);
  if (fields.reads()) tree.sah_cost = tree.sah_cost_1_1 = NAN;
  fields.finite("sah_cost", tree.sah_cost);
  fields.finite("sah_cost_1_1", tree.sah_cost_1_1);
  fields("depth", tree.depth);
}

void describe_requests(JsonFields& fields, alloc::RequestStats& requests) {
  fields("count", requests.allocations);
  fields("deallocations", requests.deallocations);
  fields("refused", requests.failures);
  if (requests.allocations > 0) {
    fields.finite("mean_bytes", requests.mean_bytes);
    fields.finite("sigma_bytes", requests.sigma_bytes);
  }
  // Pairs [upper bound in bytes, requests] for the size classes that have requests.
  Json histogram = fields.reads() ? fields.raw("histogram") : Json::array();
  for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
    const std::uint64_t bound = std::uint64_t{1} << k;
    if (requests.histogram[k]) histogram.push_back({bound, requests.histogram[k]});
    if (!fields.reads()) continue;
    for (const Json& pair : histogram) {
      if (pair.at(0) == bound) requests.histogram[k] = pair.at(1);
    }
  }
  fields.derived("histogram", histogram);
}

void describe_memory(JsonFields& fields, Result& result) {
  fields.optional("pool_bytes", result.pool_bytes);
  if (result.requests) {
    if (fields.has("high_water_bytes", true))
      fields("high_water_bytes", result.requests->high_water_bytes);
    fields.unless_empty("address_high_water_bytes", result.requests->address_high_water_bytes);
  }
  if (fields.has("free_bytes", result.at_end.has_value())) {
    if (!result.at_end) result.at_end.emplace();
    describe(fields, *result.at_end);
  }
  fields.optional("workspace_bytes", result.workspace_bytes);
}

// Writes an optional part if it exists. Reading: creates and reads it if the file has it.
template <class Part, class Describe>
void describe_part(JsonFields& fields, const char* key, std::optional<Part>& part,
                   Describe describe_it) {
  if (!fields.has(key, part.has_value())) return;
  if (!part) part.emplace();
  fields.within(key, describe_it);
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
  for (const Allocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      if (registry::is_default(setting, options)) continue;
      if (setting.words)
        settings[setting.json] = registry::value_text(setting, options);
      else
        settings[setting.json] = setting.get(options);
    }
  }
}

void describe(JsonFields& fields, alloc::Fragmentation& f) {
  fields.optional("internal_fragmentation", f.internal);
  fields.finite("external_fragmentation", f.external);
  if (fields.reads()) f.external_merged = f.external;
  fields.finite("external_fragmentation_merged", f.external_merged);
  fields("used_bytes", f.used_bytes);
  fields("free_bytes", f.free_bytes);
  fields("largest_free_bytes", f.largest_free_bytes);
  fields("metadata_bytes", f.metadata_bytes);
}

void describe(JsonFields& fields, BuildSettings& settings) {
  fields.named("refs", kdtree::name(settings.refs),
               [&](const std::string& text) { settings.refs = parse_refs(text); });
  fields.named("pool", settings.pool.text,
               [&](const std::string& text) { settings.pool = parse_pool(text); });
  fields("runs", settings.runs);
  fields.named("prefer", settings.prefer->name,
               [&](const std::string& text) { settings.prefer = &parse_prefer(text); });
  kdtree::SahCosts& costs = settings.costs;
  for (const auto& [key, cost] : {std::pair("traversal_cost", &costs.traversal),
                                  std::pair("intersection_cost", &costs.intersection),
                                  std::pair("empty_bonus", &costs.empty_bonus),
                                  std::pair("duplicate_cost", &costs.duplicate)}) {
    double value = as_written(*cost);
    fields(key, value);
    *cost = static_cast<float>(value);
  }
  fields("keep_degenerate", settings.keep_degenerate);
  fields("timeout_s", settings.timeout);
  for (const Allocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      if (!fields.has(setting.json, false)) continue;
      const Json& value = fields.raw(setting.json);
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (!registry::set_value(setting, settings.allocator, text))
        throw std::runtime_error("unknown value '" + text + "'");
    }
  }
}

Json to_json(const BuildSettings& settings) {
  Json json = described(settings);
  put_allocator_settings(json, settings.allocator);
  return json;
}

void describe(JsonFields& fields, Result& result) {
  fields("scene", result.scene);
  result.source = scenes::utf8_text(result.source);
  fields("source", result.source);
  fields.unless_empty("digest", result.digest);
  // Absent without a tree, because the scene may not have been loaded.
  if (fields.has("triangles", result.tree.has_value())) {
    fields("triangles", result.triangles);
    fields("degenerate", result.degenerate);
  }
  describe_allocator(fields, result);
  fields.derived("builder", builder_name);
  if (fields.reads()) result.settings = read_described<BuildSettings>(fields.raw("settings"));
  fields.derived("settings", to_json(result.settings));
  fields("runs_ms", result.runs_ms);
  fields("reset_ms", result.reset_ms);
  fields.derived_quartiles(result.runs_ms);
  fields.optional("slowdown", result.slowdown);
  if (result.slowdown) fields("slowdown_over", result.slowdown_over);
  describe_outcome(fields, result);
  fields.unless_empty("wrong_tree", result.wrong_tree);
  if (fields.has("refused", result.status == Status::incomplete)) {
    fields.within("refused", [&](JsonFields& refused) {
      refused("splits", result.refused_splits);
      refused("first_request_bytes", result.refused_bytes);
    });
  }
  describe_part(fields, "tree", result.tree,
                [&](JsonFields& part) { describe_tree(part, result); });
  describe_part(fields, "allocations", result.requests,
                [&](JsonFields& part) { describe_requests(part, *result.requests); });
  const bool has_memory =
      result.pool_bytes || result.requests || result.at_end || result.workspace_bytes;
  if (fields.has("memory", has_memory))
    fields.within("memory", [&](JsonFields& part) { describe_memory(part, result); });
  fields.unless_empty("warps", result.warps);
  if (result.kernel) fields.derived("registers", result.kernel->registers);
  describe_part(fields, "kernel", result.kernel, [&](JsonFields& kernel) {
    kernel("registers", result.kernel->registers);
    kernel("stack_bytes", result.kernel->local_bytes);
    kernel("shared_bytes", result.kernel->shared_bytes);
    kernel("warps_per_multiprocessor", result.kernel->warps_per_multiprocessor);
  });
  fields.object("calls", result.calls);
}

Json to_json(const Result& result) { return described(result); }

Result result_from_json(const Json& json) { return read_described<Result>(json); }

Json report_head(const char* schema, const std::vector<std::string>& argv,
                 const simt::DeviceInfo& device) {
  Json json;
  json["schema"] = schema;
  json["argv"] = argv;
  json["version"] = version();
  json["git"]["sha"] = git_sha();
  json["git"]["dirty"] = Json(git_dirty());
  json["device"] = to_json(device);
  if (Json record = device_record(device); !record.is_null()) json["device_record"] = record;
  if (simt::interrupted()) json["interrupted"] = true;
  json["results"] = Json::array();
  return json;
}

EarlierReport read_report(const std::string& path, const simt::DeviceInfo& device,
                          const char* schema) {
  EarlierReport report;
  const std::optional<Json> read = read_json(path);
  if (!read) return report;
  const Json& json = *read;
  if (!json.is_object() || json.value("schema", Json()) != schema || !json.contains("results") ||
      !json["results"].is_array()) {
    throw_error(Exit::failed, "{}: not a {} report; --resume needs a report or a new file", path,
                schema);
  }
  Json mine = to_json(device), theirs = json.value("device", Json::object());
  for (Json* each : {&mine, &theirs}) each->erase("memory_bytes");
  if (mine != theirs) {
    const bool known = theirs.is_object() && theirs.contains("name");
    const std::string threads =
        known && theirs.contains("threads") ? ", " + theirs["threads"].dump() + " threads" : "";
    throw_error(Exit::usage, "{}: measured on another device ({}); choose another file with --json",
                path, known ? scenes::printable(theirs["name"].dump() + threads, 120) : "unknown");
  }
  keep_earlier_record(json);
  report.results.assign(json["results"].begin(), json["results"].end());
  if (json.contains("git")) report.git_sha = text_at(json["git"], "sha");
  return report;
}

Json identity_of(const Json& result) {
  Json identity = Json::object();
  for (const char* key : identifying) {
    const Json* value = result.find(key);
    if (value && !value->is_null()) identity[key] = *value;
  }
  // The digest identifies a file, whatever its folder.
  if (!text_at(identity, "digest").empty()) {
    for (const char* key : path_keys) {
      if (const std::string path = text_at(identity, key); !path.empty())
        identity[key] = std::filesystem::path(path).filename().string();
    }
    identity.erase("scene");
  }
  // The scene's name is redundant: it follows from its source.
  if (identity.contains("source")) identity.erase("scene");
  if (identity.contains("settings") && identity["settings"].is_object()) {
    for (const char* key : not_identifying) identity["settings"].erase(key);
  }
  return identity;
}

bool reusable(const Json& result, const BuildSettings& settings) {
  try {
    const Result earlier = result_from_json(result);
    const bool measured = earlier.status == Status::ok || earlier.status == Status::incomplete;
    return measured && to_json(earlier.settings) == to_json(settings) && earlier.requests &&
           earlier.runs_ms.size() == static_cast<std::size_t>(settings.runs);
  } catch (const std::exception&) {
    return false;
  }
}

namespace {

struct DeviceRecord {
  simt::DeviceInfo device;
  std::optional<simt::GpuRecord> gpu;
  Json earlier = Json::array();
};
DeviceRecord& own_record() {
  static DeviceRecord record;
  return record;
}

Json sample_json(const simt::GpuSample& sample) {
  Json json = Json::object();
  put(json, "sm_clock_mhz", sample.sm_clock_mhz);
  put(json, "memory_clock_mhz", sample.memory_clock_mhz);
  put(json, "temperature_c", sample.temperature_c);
  put(json, "power_w", sample.power_w);
  put(json, "performance_state", sample.performance_state);
  put(json, "other_processes", sample.other_processes);
  if (sample.clock_reasons) json["clock_reasons"] = simt::clock_reason_names(*sample.clock_reasons);
  return json;
}

// "its clocks were reduced while it was measured (power cap, 12 ms limited by power); ..."
std::string throttling_text(const simt::GpuRecord& gpu) {
  std::vector<std::string> parts = simt::clock_reason_names(gpu.throttle_reasons());
  const auto limited = gpu.limited_ms();
  for (std::size_t i = 0; i < simt::clock_limits; ++i) {
    if (limited[i] && *limited[i] > 0)
      parts.push_back(
          fmt::format("{:.0f} ms limited by {}", *limited[i], simt::clock_limit_names[i]));
  }
  return fmt::format(
      "its clocks were reduced while it was measured ({}); times are longer than "
      "on a cooler or less limited GPU",
      joined(parts));
}

Json record_json(const simt::GpuRecord& gpu) {
  Json json = Json::object();
  if (!gpu.uuid().empty()) json["uuid_hash"] = uuid_hash(gpu.uuid());
  if (!gpu.has_samples()) return json;
  const simt::GpuSetup& setup = gpu.setup();
  if (!setup.driver_version.empty())
    json["driver_version"] = scenes::printable(setup.driver_version, 40);
  put(json, "mig", setup.mig);
  put(json, "ecc", setup.ecc);
  put(json, "power_limit_w", setup.power_limit_w);
  put(json, "seconds", gpu.seconds());
  json["before"] = sample_json(gpu.first());
  json["after"] = sample_json(gpu.last());
  const auto limited = gpu.limited_ms();
  for (std::size_t i = 0; i < simt::clock_limits; ++i) {
    if (limited[i]) json["limited_ms"][simt::clock_limit_names[i]] = *limited[i];
  }
  if (gpu.was_throttled()) {
    json["throttled"] = simt::clock_reason_names(gpu.throttle_reasons());
    json["warning"] = throttling_text(gpu);
  }
  return json;
}

void add_records(const Json& json, std::vector<const Json*>& records) {
  const Json* const record = json.find("device_record");
  if (!record || !record->is_object()) return;
  records.push_back(record);
  if (const Json* const earlier = record->find("earlier")) {
    for (const Json& one : *earlier) {
      if (one.is_object()) records.push_back(&one);
    }
  }
}

}  // namespace

void begin_device_record(const simt::DeviceInfo& device) {
  std::optional<simt::GpuRecord> gpu;
  if (device.id.kind == simt::DeviceKind::cuda)
    gpu.emplace(simt::Nvml::of_this_process(), simt::gpu_address(device.id.index));
  begin_device_record(device, std::move(gpu));
}

void begin_device_record(const simt::DeviceInfo& device, std::optional<simt::GpuRecord> record) {
  DeviceRecord& own = own_record();
  own.device = device;
  own.gpu.reset();
  if (record) own.gpu.emplace(std::move(*record));
  own.earlier = Json::array();
}

Json device_record(const simt::DeviceInfo& device) {
  DeviceRecord& own = own_record();
  if (!own.gpu || own.device.key != device.key) return nullptr;
  own.gpu->sample();
  Json json = record_json(*own.gpu);
  if (!own.earlier.empty()) json["earlier"] = own.earlier;
  return json.empty() ? Json() : json;
}

void keep_earlier_record(const Json& report) {
  std::vector<const Json*> records;
  add_records(report, records);
  for (const Json* record : records) {
    Json one = *record;
    one.erase("earlier");
    own_record().earlier.push_back(std::move(one));
  }
}

void warn_if_throttled() {
  const DeviceRecord& own = own_record();
  if (own.gpu && own.gpu->was_throttled())
    warning("{}: {}", own.device.key, throttling_text(*own.gpu));
}

std::string uuid_hash(const std::string& uuid) {
  return uuid.empty() ? "" : scenes::hex_digits(scenes::fnv1a(uuid));
}

std::vector<const Json*> device_records_in(const Json& report) {
  std::vector<const Json*> records;
  add_records(report, records);
  for (const char* key : {"shards", "runs"}) {
    if (const Json* const list = report.find(key)) {
      for (const Json& one : *list) add_records(one, records);
    }
  }
  return records;
}

}  // namespace heapwood::bench
