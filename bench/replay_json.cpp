// SPDX-License-Identifier: MIT
#include "bench/replay_json.hpp"

#include <cmath>

namespace heapwood::bench {

namespace {

using workloads::ReplaySample;

Json sample_json(const ReplaySample& sample) {
  Json json;
  json["event"] = sample.event;
  json["blocks"] = sample.pool.blocks;
  json["live_bytes"] = sample.pool.live_bytes;
  const alloc::Fragmentation& fragmentation = sample.pool.fragmentation;
  if (!fragmentation.measured) return json;
  json["held_bytes"] = sample.held_bytes;
  json["metadata_bytes"] = fragmentation.metadata_bytes;
  json["free_bytes"] = fragmentation.free_bytes;
  json["largest_free_bytes"] = fragmentation.largest_free_bytes;
  json["touched_bytes"] = sample.touched_bytes;
  json["address_bytes"] = sample.address_bytes;
  put(json, "internal_fragmentation", fragmentation.internal);
  put_finite(json, "external_fragmentation", fragmentation.external);
  put_finite(json, "external_fragmentation_merged", fragmentation.external_merged);
  return json;
}

ReplaySample sample_from_json(const Json& json) {
  ReplaySample sample;
  sample.event = json.at("event");
  sample.pool.blocks = json.at("blocks");
  sample.pool.live_bytes = json.at("live_bytes");
  alloc::Fragmentation& fragmentation = sample.pool.fragmentation;
  fragmentation.measured = json.contains("held_bytes");
  if (!fragmentation.measured) return sample;
  sample.held_bytes = json.at("held_bytes");
  fragmentation.metadata_bytes = json.at("metadata_bytes");
  fragmentation.free_bytes = json.at("free_bytes");
  fragmentation.largest_free_bytes = json.at("largest_free_bytes");
  sample.touched_bytes = json.at("touched_bytes");
  sample.address_bytes = json.at("address_bytes");
  if (json.contains("internal_fragmentation"))
    fragmentation.internal = json.at("internal_fragmentation").get<double>();
  fragmentation.external = json.value("external_fragmentation", 0.0);
  fragmentation.external_merged = json.value("external_fragmentation_merged", 0.0);
  return sample;
}

Json replay_settings_json(const ReplaySettings& settings) {
  Json json;
  json["runs"] = settings.runs;
  json["window"] = settings.window;
  json["samples"] = settings.samples;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  return json;
}

Json summary_json(const ReplayBench& bench) {
  const workloads::TraceSummary& summary = bench.summary;
  Json json;
  json["source"] = bench.trace->source;
  json["pool_bytes"] = bench.trace->pool_bytes;
  json["dropped"] = bench.trace->dropped;
  json["refused"] = bench.trace->refused;
  json["unmatched_frees"] = bench.trace->unmatched;
  json["requests"] = summary.requests;
  json["frees"] = summary.frees;
  json["frees_by_others"] = summary.other_frees;
  json["kernels"] = summary.kernels;
  json["warps"] = summary.warps;
  json["requested_bytes"] = summary.requested;
  json["min_bytes"] = summary.min_bytes;
  json["max_bytes"] = summary.max_bytes;
  json["peak_bytes"] = summary.peak_bytes;
  json["peak_blocks"] = summary.peak_blocks;
  json["peak_event"] = summary.peak_event;
  json["end_bytes"] = summary.end_bytes;
  json["size_histogram"] = summary.sizes;
  json["lifetime_histogram"] = summary.lifetimes;
  return json;
}

}  // namespace

Json to_json(const ReplayBench& bench, const ReplayRow& row) {
  Json json;
  json["trace"] = row.trace;
  json["digest"] = row.digest;
  json["allocator"] = row.allocator;
  json["label"] = row.label;
  json["frees"] = name(row.frees);
  json["lower_bound"] = row.lower_bound;
  json["settings"] = replay_settings_json(bench.settings);
  json["pool"] = row.pool;
  json["pool_bytes"] = row.pool_bytes;
  json["status"] = name(row.status);
  if (!row.reason.empty()) json["reason"] = row.reason;
  json["seconds"] = std::round(row.seconds * 1e3) / 1e3;
  json["runs_ms"] = row.runs_ms;
  put(json, "median_ms", row.median_ms());
  put(json, "q1_ms", quantile(row.runs_ms, 0.25));
  put(json, "q3_ms", quantile(row.runs_ms, 0.75));
  json["floor_ms"] = row.floor_ms;
  json["reset_ms"] = row.reset_ms;
  json["requests"] = row.requests;
  json["refused"] = row.refused;
  if (row.refused != 0) json["first_refused_bytes"] = row.first_refused_bytes;
  if (row.samples.empty()) return json;
  Json& memory = json["memory"];
  put(memory, "held_over_live", row.held_over_live());
  if (!row.peak_held_bytes.empty()) memory["peak_held_bytes"] = row.peak_held_bytes;
  if (row.peak() != nullptr) memory["peak"] = sample_json(*row.peak());
  memory["over_time"] = Json::array();
  for (const ReplaySample& sample : row.samples) memory["over_time"].push_back(sample_json(sample));
  return json;
}

ReplayRow replay_row_from_json(const Json& json) {
  ReplayRow row;
  row.trace = json.at("trace");
  row.digest = json.at("digest");
  row.allocator = json.at("allocator");
  row.label = json.at("label");
  row.lower_bound = json.at("lower_bound");
  row.frees = frees_from_json(json);
  row.pool = json.at("pool");
  row.pool_bytes = json.at("pool_bytes");
  row.status = status_from_json(json);
  row.reason = json.value("reason", "");
  row.seconds = json.at("seconds");
  row.runs_ms = json.at("runs_ms").get<std::vector<double>>();
  row.floor_ms = json.at("floor_ms").get<std::vector<double>>();
  row.reset_ms = json.at("reset_ms").get<std::vector<double>>();
  row.requests = json.at("requests");
  row.refused = json.at("refused");
  row.first_refused_bytes = json.value("first_refused_bytes", std::uint64_t{0});
  if (!json.contains("memory")) return row;
  const Json& memory = json.at("memory");
  if (memory.contains("peak_held_bytes"))
    row.peak_held_bytes = memory.at("peak_held_bytes").get<std::vector<double>>();
  for (const Json& sample : memory.at("over_time")) row.samples.push_back(sample_from_json(sample));
  if (memory.contains("peak")) {
    const std::size_t peak = memory.at("peak").at("event");
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      if (row.samples[i].event == peak) row.peak_sample = i;
    }
  }
  return row;
}

Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice) {
  Json json = report_head(replay_schema, argv, bench.device);
  json["trace"] = summary_json(bench);
  json["choice"]["text"] = choice.text;
  if (!choice.fastest.empty()) json["choice"]["fastest"] = choice.fastest;
  if (!choice.smallest.empty()) json["choice"]["smallest"] = choice.smallest;
  for (const ReplayRow& row : rows) json["results"].push_back(to_json(bench, row));
  return json;
}

Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench) {
  const Json settings = replay_settings_json(bench.settings);
  const auto reuse = [&](const Json& result) -> std::optional<ReplayRow> {
    ReplayRow row = replay_row_from_json(result);
    const bool same_work = row.digest == bench.digest && same(result.at("settings"), settings);
    const bool measured = row.status == Status::ok || row.status == Status::incomplete;
    // With a budget a slow allocator has fewer runs.
    const bool has_all = row.runs_ms.size() == static_cast<std::size_t>(bench.settings.runs) ||
                         (bench.settings.budget_seconds > 0 && !row.runs_ms.empty());
    if (!same_work || !measured || !has_all || row.samples.empty()) return std::nullopt;
    return row;
  };
  return read_earlier<ReplayRow>(path, bench.device, replay_schema, reuse);
}

}  // namespace heapwood::bench
