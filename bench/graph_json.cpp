// SPDX-License-Identifier: MIT
#include "bench/graph_bench.hpp"

namespace heapwood::bench {

using workloads::graph::GraphMemory;

void describe(JsonFields& fields, GraphMemory& memory) {
  fields("edges", memory.edges);
  fields("table_bytes", memory.table_bytes);
  fields("payload_bytes", memory.payload_bytes);
  fields("block_bytes", memory.block_bytes);
  fields("blocks", memory.blocks);
  fields("overlaps", memory.overlaps);
  memory.measured = fields.has("held_bytes", memory.measured);
  if (!memory.measured) return;
  fields("held_bytes", memory.held_bytes);
  fields("metadata_bytes", memory.metadata_bytes);
  fields("address_bytes", memory.address_bytes);
  fields("free_bytes", memory.free_bytes);
  fields("largest_free_bytes", memory.largest_free_bytes);
  fields.finite("external_fragmentation_merged", memory.external);
}

void describe(JsonFields& fields, PhaseSamples& samples) {
  fields.named("phase", name(samples.phase),
               [&](const std::string& text) { samples.phase = parse_phases(text).back(); });
  fields.unless_empty("batch", samples.batch);
  fields("runs_ms", samples.ms);
  fields.unless_empty("prepare_ms", samples.prepare_ms);
  fields.derived_quartiles(samples.ms);
  fields.unless_empty("edges", samples.edges);
  fields.derived("million_edges_per_second", samples.rate(false));
  fields.derived("million_edges_per_second_prepared", samples.rate(true));
  fields.unless_empty("moved", samples.moved);
  fields.unless_empty("refused", samples.refused);
  if (samples.refused != 0) fields("refused_edges", samples.refused_edges);
}

void describe(JsonFields& fields, RoundMemory& round) {
  fields("round", round.round);
  fields("batch", round.batch);
  describe(fields, round.memory);
}

void describe(JsonFields& fields, GraphRow& row) {
  fields("graph", row.graph);
  fields.unless_empty("digest", row.digest);
  fields("vertices", row.vertices);
  fields("edges", row.edges);
  fields("max_degree", row.max_degree);
  fields.named("layout", name(row.layout),
               [&](const std::string& text) { row.layout = parse_layouts(text).front(); });
  describe_allocator(fields, row);
  fields.derived("settings", to_json(row.settings));
  fields("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("reset_ms", row.reset_ms);
  fields.list("phases", row.phases);
  fields.optional("triangles", row.triangles);
  fields.optional("bfs_levels", row.levels);
  fields.unless_empty("refused", row.refused);
  fields.object("memory", row.memory);
  if (fields.has("rounds", !row.rounds.empty())) fields.list("rounds", row.rounds);
  fields.hashes("edge_hashes", row.hashes);
}

Json to_json(const GraphSettings& settings) {
  Json json;
  for (const GraphPhase phase : settings.phases) json["phases"].push_back(name(phase));
  json["batches"] = settings.batches;
  json["rounds"] = settings.rounds;
  json["updates"] = name(settings.updates);
  // Absent by default: a file without it can be resumed.
  if (settings.init != GraphInit::each) json["init"] = name(settings.init);
  json["iterations"] = settings.iterations;
  json["seed"] = settings.seed;
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  json["pool"] = settings.pool.text;
  return json;
}

Earlier<GraphRow> read_graphs(const std::string& path, const simt::DeviceInfo& device,
                              const GraphRow& head) {
  const Json settings = to_json(head.settings);
  const auto reuse = [&](const Json& result) -> std::optional<GraphRow> {
    GraphRow row = read_described<GraphRow>(result);
    const bool same_work = row.graph == head.graph && row.digest == head.digest &&
                           row.vertices == head.vertices && row.edges == head.edges &&
                           result.at("settings") == settings;
    // With a budget a slow candidate has fewer runs.
    const bool has_all = row.reset_ms.size() == static_cast<std::size_t>(head.settings.runs) ||
                         (head.settings.budget_seconds > 0 && !row.reset_ms.empty() &&
                          row.reason.starts_with("slow"));
    if (!same_work || !row.is_measured() || !has_all || row.reason.starts_with("interrupted"))
      return std::nullopt;
    row.settings = head.settings;
    return row;
  };
  return read_earlier<GraphRow>(path, device, graph_schema, reuse);
}

}  // namespace heapwood::bench
