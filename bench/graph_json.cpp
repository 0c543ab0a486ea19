// SPDX-License-Identifier: MIT
#include "bench/graph_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "bench/program/input_file.hpp"

namespace heapwood::bench {

namespace {

using workloads::graph::GraphMemory;

Json memory_json(const GraphMemory& memory) {
  Json json;
  json["edges"] = memory.edges;
  json["table_bytes"] = memory.table_bytes;
  json["payload_bytes"] = memory.payload_bytes;
  json["block_bytes"] = memory.block_bytes;
  json["blocks"] = memory.blocks;
  json["overlaps"] = memory.overlaps;
  if (!memory.measured) return json;
  json["held_bytes"] = memory.held_bytes;
  json["metadata_bytes"] = memory.metadata_bytes;
  json["address_bytes"] = memory.address_bytes;
  json["free_bytes"] = memory.free_bytes;
  json["largest_free_bytes"] = memory.largest_free_bytes;
  put_finite(json, "external_fragmentation_merged", memory.external);
  return json;
}

GraphMemory memory_from_json(const Json& json) {
  GraphMemory memory;
  memory.edges = json.at("edges");
  memory.table_bytes = json.at("table_bytes");
  memory.payload_bytes = json.at("payload_bytes");
  memory.block_bytes = json.at("block_bytes");
  memory.blocks = json.at("blocks");
  memory.overlaps = json.at("overlaps");
  memory.measured = json.contains("held_bytes");
  if (!memory.measured) return memory;
  memory.held_bytes = json.at("held_bytes");
  memory.metadata_bytes = json.at("metadata_bytes");
  memory.address_bytes = json.at("address_bytes");
  memory.free_bytes = json.at("free_bytes");
  memory.largest_free_bytes = json.at("largest_free_bytes");
  memory.external = json.value("external_fragmentation_merged", 0.0);
  return memory;
}

Json phase_json(const PhaseSamples& samples) {
  Json json;
  json["phase"] = name(samples.phase);
  if (samples.batch) json["batch"] = samples.batch;
  json["runs_ms"] = samples.ms;
  if (!samples.prepare_ms.empty()) json["prepare_ms"] = samples.prepare_ms;
  put(json, "median_ms", samples.median_ms());
  put(json, "q1_ms", quantile(samples.ms, 0.25));
  put(json, "q3_ms", quantile(samples.ms, 0.75));
  if (samples.edges) json["edges"] = samples.edges;
  put(json, "million_edges_per_second", samples.rate(false));
  put(json, "million_edges_per_second_prepared", samples.rate(true));
  if (samples.moved) json["moved"] = samples.moved;
  if (samples.refused) {
    json["refused"] = samples.refused;
    json["refused_edges"] = samples.refused_edges;
  }
  return json;
}

PhaseSamples phase_from_json(const Json& json) {
  PhaseSamples samples;
  samples.phase = parse_phases(json.at("phase").get<std::string>()).back();
  samples.batch = json.value("batch", 0u);
  samples.ms = json.at("runs_ms").get<std::vector<double>>();
  if (json.contains("prepare_ms"))
    samples.prepare_ms = json.at("prepare_ms").get<std::vector<double>>();
  samples.edges = json.value("edges", std::uint64_t{0});
  samples.moved = json.value("moved", std::uint64_t{0});
  samples.refused = json.value("refused", std::uint64_t{0});
  samples.refused_edges = json.value("refused_edges", std::uint64_t{0});
  return samples;
}

}  // namespace

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

Json to_json(const GraphRow& row) {
  Json json;
  json["graph"] = row.graph;
  if (!row.digest.empty()) json["digest"] = row.digest;
  json["vertices"] = row.vertices;
  json["edges"] = row.edges;
  json["max_degree"] = row.max_degree;
  json["layout"] = name(row.layout);
  json["allocator"] = row.allocator;
  json["label"] = row.label;
  json["frees"] = name(row.frees);
  json["lower_bound"] = row.lower_bound;
  json["settings"] = to_json(row.settings);
  json["pool_bytes"] = row.pool_bytes;
  json["status"] = name(row.status);
  if (!row.reason.empty()) json["reason"] = row.reason;
  json["seconds"] = std::round(row.seconds * 1e3) / 1e3;
  json["reset_ms"] = row.reset_ms;
  json["phases"] = Json::array();
  for (const PhaseSamples& samples : row.phases) json["phases"].push_back(phase_json(samples));
  put(json, "triangles", row.triangles);
  put(json, "bfs_levels", row.levels);
  if (row.refused) json["refused"] = row.refused;
  if (row.memory) json["memory"] = memory_json(*row.memory);
  for (const RoundMemory& round : row.rounds) {
    Json one{{"round", round.round}, {"batch", round.batch}};
    one.update(memory_json(round.memory));
    json["rounds"].push_back(std::move(one));
  }
  for (const std::uint64_t hash : row.hashes)
    json["edge_hashes"].push_back(fmt::format("{:016x}", hash));
  return json;
}

GraphRow graph_row_from_json(const Json& json) {
  GraphRow row;
  row.graph = json.at("graph");
  row.digest = json.value("digest", "");
  row.vertices = json.at("vertices");
  row.edges = json.at("edges");
  row.max_degree = json.at("max_degree");
  row.layout = parse_layouts(json.at("layout").get<std::string>()).front();
  row.allocator = json.at("allocator");
  row.label = json.at("label");
  row.lower_bound = json.at("lower_bound");
  row.pool_bytes = json.at("pool_bytes");
  row.status = status_from_json(json);
  row.frees = frees_from_json(json);
  row.reason = json.value("reason", "");
  row.seconds = json.at("seconds");
  row.reset_ms = json.at("reset_ms").get<std::vector<double>>();
  for (const Json& samples : json.at("phases")) row.phases.push_back(phase_from_json(samples));
  if (json.contains("triangles")) row.triangles = json.at("triangles").get<std::uint64_t>();
  if (json.contains("bfs_levels")) row.levels = json.at("bfs_levels").get<std::uint32_t>();
  row.refused = json.value("refused", std::uint64_t{0});
  if (json.contains("memory")) row.memory = memory_from_json(json.at("memory"));
  if (json.contains("rounds")) {
    for (const Json& round : json.at("rounds"))
      row.rounds.push_back({round.at("round"), round.at("batch"), memory_from_json(round)});
  }
  if (json.contains("edge_hashes")) {
    for (const Json& hash : json.at("edge_hashes"))
      row.hashes.push_back(std::stoull(hash.get<std::string>(), nullptr, 16));
  }
  return row;
}

Json graph_report(const std::vector<std::string>& argv, const simt::DeviceInfo& device,
                  const std::vector<GraphRow>& rows) {
  Json json = report_head(graph_schema, argv, device);
  for (const GraphRow& row : rows) json["results"].push_back(to_json(row));
  return json;
}

Earlier<GraphRow> read_graphs(const std::string& path, const simt::DeviceInfo& device,
                              const GraphRow& head) {
  const Json settings = to_json(head.settings);
  const auto reuse = [&](const Json& result) -> std::optional<GraphRow> {
    GraphRow row = graph_row_from_json(result);
    const bool same_work = row.graph == head.graph && row.digest == head.digest &&
                           row.vertices == head.vertices && row.edges == head.edges &&
                           same(result.at("settings"), settings);
    const bool measured = row.status == Status::ok || row.status == Status::incomplete;
    // With a budget a slow candidate has fewer runs.
    const bool has_all = row.reset_ms.size() == static_cast<std::size_t>(head.settings.runs) ||
                         (head.settings.budget_seconds > 0 && !row.reset_ms.empty() &&
                          row.reason.starts_with("slow"));
    if (!same_work || !measured || !has_all || row.reason.starts_with("interrupted"))
      return std::nullopt;
    row.settings = head.settings;
    return row;
  };
  return read_earlier<GraphRow>(path, device, graph_schema, reuse);
}

}  // namespace heapwood::bench
