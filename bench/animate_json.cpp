// SPDX-License-Identifier: MIT
#include "bench/animate_bench.hpp"
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

bool is_complete(const AnimateRow& row, unsigned frames) {
  return row.is_measured() && row.frame_ms.size() == frames && row.hashes.size() == frames;
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

void describe(JsonFields& fields, PoolAfterFrame& pool) {
  pool.state.measured = true;
  fields("frame", pool.frame);
  fields("used_bytes", pool.state.used_bytes);
  fields("free_bytes", pool.state.free_bytes);
  fields("largest_free_bytes", pool.state.largest_free_bytes);
  fields("metadata_bytes", pool.state.metadata_bytes);
  fields.finite("external_fragmentation_merged", pool.state.external_merged);
}

void describe(JsonFields& fields, AnimateRow& row) {
  fields("scene", row.scene);
  row.source = scenes::utf8_text(row.source);
  fields("source", row.source);
  fields("digest", row.digest);
  fields("scene_frames", row.scene_frames);
  fields("min_triangles", row.min_triangles);
  fields("max_triangles", row.max_triangles);
  fields("camera", row.camera);
  describe_allocator(fields, row);
  fields.derived("settings", to_json(row.settings));
  describe_outcome(fields, row);
  fields.unless_empty("wrong_tree", row.wrong_tree);
  fields("pool_bytes", row.pool_bytes);
  for (const Samples& one : samples) {
    std::vector<double>& ms = row.*one.ms;
    const std::string key = one.key;
    fields.unless_empty((key + "_ms").c_str(), ms);
    fields.derived((key + "_median_ms").c_str(), median(ms));
    fields.derived((key + "_p99_ms").c_str(), quantile(ms, 0.99));
  }
  fields.derived("frames_per_second", row.frames_per_second());
  fields.unless_empty("incomplete_frames", row.incomplete_frames);
  if (row.incomplete_frames > 0) fields("first_refused_bytes", row.refused_bytes);
  if (fields.has("pool_after_frames", !row.pools.empty()))
    fields.list("pool_after_frames", row.pools);
  fields.hashes("tree_hashes", row.hashes);
}

Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head) {
  const Json settings = to_json(head.settings);
  const auto reuse = [&](const Json& result) -> std::optional<AnimateRow> {
    AnimateRow row = read_described<AnimateRow>(result);
    if (row.source != scenes::utf8_text(head.source) || row.digest != head.digest ||
        result.at("settings") != settings || !is_complete(row, head.settings.frames))
      return std::nullopt;
    row.source = head.source;
    row.settings = head.settings;
    return row;
  };
  return read_earlier<AnimateRow>(path, device, animate_schema, reuse);
}

}  // namespace heapwood::bench
