// SPDX-License-Identifier: MIT
#include "bench/animate_json.hpp"

#include <fmt/format.h>

#include "bench/program/out_of_memory.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

// The samples of a row, by their keys; absent in JSON if there are none.
struct Samples {
  const char* key;
  std::vector<double> AnimateRow::*ms;
};
constexpr Samples samples[] = {
    {"upload", &AnimateRow::upload_ms},   {"reset", &AnimateRow::reset_ms},
    {"build", &AnimateRow::build_ms},     {"records", &AnimateRow::records_ms},
    {"primary", &AnimateRow::primary_ms}, {"shaded", &AnimateRow::shaded_ms},
    {"frame", &AnimateRow::frame_ms},
};

Json pool_json(const PoolAfterFrame& pool) {
  Json json{{"frame", pool.frame},
            {"used_bytes", pool.state.used_bytes},
            {"free_bytes", pool.state.free_bytes},
            {"largest_free_bytes", pool.state.largest_free_bytes},
            {"metadata_bytes", pool.state.metadata_bytes}};
  put_finite(json, "external_fragmentation_merged", pool.state.external_merged);
  return json;
}

PoolAfterFrame pool_from_json(const Json& json) {
  PoolAfterFrame pool;
  pool.frame = json.at("frame");
  pool.state.measured = true;
  pool.state.used_bytes = json.at("used_bytes");
  pool.state.free_bytes = json.at("free_bytes");
  pool.state.largest_free_bytes = json.at("largest_free_bytes");
  pool.state.metadata_bytes = json.at("metadata_bytes");
  pool.state.external_merged = json.value("external_fragmentation_merged", 0.0);
  return pool;
}

bool is_complete(const AnimateRow& row, unsigned frames) {
  return (row.status == Status::ok || row.status == Status::incomplete) &&
         row.frame_ms.size() == frames && row.hashes.size() == frames;
}

}  // namespace

Json to_json(const AnimateSettings& settings) {
  Json json = to_json(settings.build);
  json.erase("runs");
  json["frames"] = settings.frames;
  json["keep_pool"] = settings.keep_pool;
  json["trace"] = Json::array();
  if (settings.primary) json["trace"].push_back("primary");
  if (settings.shaded) json["trace"].push_back("shaded");
  json["watertight"] = settings.watertight;
  json["width"] = settings.size.width;
  json["height"] = settings.size.height;
  if (!settings.camera.camera.empty()) json["camera"] = scenes::utf8_text(settings.camera.camera);
  if (!settings.camera.up.empty()) json["up"] = settings.camera.up;
  return json;
}

Json to_json(const AnimateRow& row) {
  Json json;
  json["scene"] = row.scene;
  json["source"] = scenes::utf8_text(row.source);
  json["digest"] = row.digest;
  json["scene_frames"] = row.scene_frames;
  json["min_triangles"] = row.min_triangles;
  json["max_triangles"] = row.max_triangles;
  json["camera"] = row.camera;
  json["allocator"] = row.allocator;
  json["label"] = row.label;
  json["frees"] = name(row.frees);
  json["lower_bound"] = row.lower_bound;
  json["settings"] = to_json(row.settings);
  json["status"] = name(row.status);
  if (!row.reason.empty()) json["reason"] = row.reason;
  if (row.wrong_tree) json["wrong_tree"] = true;
  json["pool_bytes"] = row.pool_bytes;
  for (const Samples& one : samples) {
    const std::vector<double>& ms = row.*one.ms;
    if (ms.empty()) continue;
    const std::string key = one.key;
    json[key + "_ms"] = ms;
    put(json, (key + "_median_ms").c_str(), median(ms));
    put(json, (key + "_p99_ms").c_str(), quantile(ms, 0.99));
  }
  put(json, "frames_per_second", row.frames_per_second());
  if (row.incomplete_frames > 0) {
    json["incomplete_frames"] = row.incomplete_frames;
    json["first_refused_bytes"] = row.refused_bytes;
  }
  for (const PoolAfterFrame& pool : row.pools) json["pool_after_frames"].push_back(pool_json(pool));
  for (const std::uint64_t hash : row.hashes)
    json["tree_hashes"].push_back(fmt::format("{:016x}", hash));
  return json;
}

AnimateRow animate_row_from_json(const Json& json) {
  AnimateRow row;
  row.scene = json.at("scene");
  row.source = json.at("source");
  row.digest = json.at("digest");
  row.scene_frames = json.at("scene_frames");
  row.min_triangles = json.at("min_triangles");
  row.max_triangles = json.at("max_triangles");
  row.camera = json.at("camera");
  row.allocator = json.at("allocator");
  row.label = json.at("label");
  row.frees = frees_from_json(json);
  row.lower_bound = json.at("lower_bound");
  row.pool_bytes = json.at("pool_bytes");
  row.status = status_from_json(json);
  row.reason = json.value("reason", "");
  row.wrong_tree = json.value("wrong_tree", false);
  for (const Samples& one : samples) {
    const auto ms = json.find(std::string(one.key) + "_ms");
    if (ms != json.end()) row.*one.ms = ms->get<std::vector<double>>();
  }
  row.incomplete_frames = json.value("incomplete_frames", 0u);
  row.refused_bytes = json.value("first_refused_bytes", std::uint64_t{0});
  if (json.contains("pool_after_frames")) {
    for (const Json& pool : json.at("pool_after_frames")) row.pools.push_back(pool_from_json(pool));
  }
  if (json.contains("tree_hashes")) {
    for (const Json& hash : json.at("tree_hashes"))
      row.hashes.push_back(std::stoull(hash.get<std::string>(), nullptr, 16));
  }
  return row;
}

Json animate_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                    const std::vector<AnimateRow>& rows) {
  const LackOfMemoryEnds end;
  Json json = report_head(animate_schema, argv, device);
  for (const AnimateRow& row : rows) json["results"].push_back(to_json(row));
  return json;
}

Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head) {
  const Json settings = to_json(head.settings);
  const auto reuse = [&](const Json& result) -> std::optional<AnimateRow> {
    AnimateRow row = animate_row_from_json(result);
    if (row.source != scenes::utf8_text(head.source) || row.digest != head.digest ||
        !same(result.at("settings"), settings) || !is_complete(row, head.settings.frames))
      return std::nullopt;
    row.source = head.source;
    row.settings = head.settings;
    return row;
  };
  return read_earlier<AnimateRow>(path, device, animate_schema, reuse);
}

}  // namespace heapwood::bench
