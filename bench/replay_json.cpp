// SPDX-License-Identifier: MIT
#include "bench/replay_bench.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

using workloads::ReplaySample;

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

void describe(JsonFields& fields, ReplaySample& sample) {
  fields("event", sample.event);
  fields("blocks", sample.pool.blocks);
  fields("live_bytes", sample.pool.live_bytes);
  alloc::Fragmentation& fragmentation = sample.pool.fragmentation;
  fragmentation.measured = fields.has("held_bytes", fragmentation.measured);
  if (!fragmentation.measured) return;
  fields("held_bytes", sample.held_bytes);
  fields("metadata_bytes", fragmentation.metadata_bytes);
  fields("free_bytes", fragmentation.free_bytes);
  fields("largest_free_bytes", fragmentation.largest_free_bytes);
  fields("touched_bytes", sample.touched_bytes);
  fields("address_bytes", sample.address_bytes);
  fields.optional("internal_fragmentation", fragmentation.internal);
  fields.finite("external_fragmentation", fragmentation.external);
  fields.finite("external_fragmentation_merged", fragmentation.external_merged);
}

void describe(JsonFields& fields, ReplayRow& row) {
  fields("trace", row.trace);
  fields("digest", row.digest);
  describe_allocator(fields, row);
  fields.derived("settings", replay_settings_json(row.settings));
  fields("pool", row.pool);
  fields("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  fields.derived_quartiles(row.runs_ms);
  fields("floor_ms", row.floor_ms);
  fields("reset_ms", row.reset_ms);
  fields("requests", row.requests);
  fields("refused", row.refused);
  if (row.refused != 0) fields("first_refused_bytes", row.first_refused_bytes);
  if (!fields.has("memory", !row.samples.empty())) return;
  fields.within("memory", [&](JsonFields& memory) {
    memory.derived("held_over_live", row.held_over_live());
    memory.unless_empty("peak_held_bytes", row.peak_held_bytes);
    ReplaySample peak = row.peak_sample ? row.samples[*row.peak_sample] : ReplaySample{};
    const bool has_peak = memory.has("peak", row.peak_sample.has_value());
    if (has_peak) memory.within("peak", [&](JsonFields& part) { describe(part, peak); });
    memory.list("over_time", row.samples);
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      if (has_peak && row.samples[i].event == peak.event) row.peak_sample = i;
    }
  });
}

Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice) {
  Json json = report_of(replay_schema, argv, bench.device, rows);
  json["trace"] = summary_json(bench);
  json["choice"]["text"] = choice.text;
  if (!choice.fastest.empty()) json["choice"]["fastest"] = choice.fastest;
  if (!choice.smallest.empty()) json["choice"]["smallest"] = choice.smallest;
  return json;
}

Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench) {
  const Json settings = replay_settings_json(bench.settings);
  const auto reuse = [&](const Json& result) -> std::optional<ReplayRow> {
    ReplayRow row = read_described<ReplayRow>(result);
    row.settings = bench.settings;
    const bool same_work = row.digest == bench.digest && result.at("settings") == settings;
    // With a budget a slow allocator has fewer runs.
    const bool has_all = row.runs_ms.size() == static_cast<std::size_t>(bench.settings.runs) ||
                         (bench.settings.budget_seconds > 0 && !row.runs_ms.empty());
    if (!same_work || !row.is_measured() || !has_all || row.samples.empty()) return std::nullopt;
    return row;
  };
  return read_earlier<ReplayRow>(path, bench.device, replay_schema, reuse);
}

}  // namespace heapwood::bench
