// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bench/build_settings.hpp"
#include "bench/graph_bench.hpp"

namespace heapwood::bench {

namespace {

constexpr std::pair<const char*, GraphPhase> phases[] = {
    {"init", GraphPhase::init},           {"pagerank", GraphPhase::page_rank},
    {"triangles", GraphPhase::triangles}, {"insert", GraphPhase::insert},
    {"delete", GraphPhase::remove},       {"mixed", GraphPhase::mixed}};

constexpr std::pair<const char*, GraphLayout> layouts[] = {
    {"blocks", GraphLayout::blocks}, {"pages", GraphLayout::pages}, {"csr", GraphLayout::csr}};

constexpr std::pair<const char*, GraphUpdates> all_updates[] = {
    {"random", GraphUpdates::random}, {"pressure", GraphUpdates::pressure}};

constexpr std::pair<const char*, GraphInit> inits[] = {{"each", GraphInit::each},
                                                       {"counted", GraphInit::counted}};

// Parses "all", or names separated by commas, and adds their values to `found`.
template <class Value, std::size_t n>
std::vector<Value> parse_names(const std::pair<const char*, Value> (&names)[n], const char* option,
                               const std::string& text, std::vector<Value> found = {}) {
  for (const std::string& part : split(text, ',')) {
    if (part == "all") {
      for (const auto& [known, value] : names) found.push_back(value);
    } else {
      found.push_back(find_in(names, option, part, "all, "));
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

const char* name(GraphPhase phase) { return name_in(phases, phase); }
const char* name(GraphLayout layout) { return name_in(layouts, layout); }
const char* name(GraphUpdates updates) { return name_in(all_updates, updates); }
const char* name(GraphInit init) { return name_in(inits, init); }

bool GraphSettings::has(GraphPhase phase) const {
  return std::ranges::find(phases, phase) != phases.end();
}

std::vector<GraphPhase> parse_phases(const std::string& text) {
  return parse_names(phases, "--phase", text, {GraphPhase::init});
}

std::vector<GraphLayout> parse_layouts(const std::string& text) {
  return parse_names(layouts, "--layout", text);
}

GraphUpdates parse_updates(const std::string& text) {
  return find_in(all_updates, "--updates", text);
}

GraphInit parse_init(const std::string& text) { return find_in(inits, "--init", text); }

PoolSize parse_graph_pool(const std::string& text) {
  PoolSize pool = parse_pool(text, "the blocks, as in 2x");
  if (pool.for_speed || pool.kind == PoolSize::Kind::live_multiple)
    throw_unexpected("graph: --pool", text,
                     "auto, a size (512M, 2G) or a multiple of the blocks (4x)");
  return pool;
}

std::vector<std::uint32_t> parse_batches(const std::string& text) {
  return parse_list(text,
                    [](const std::string& part) { return parse_count("--batch", part, 1 << 28); });
}

std::optional<double> PhaseSamples::rate(bool with_preparation) const {
  const std::optional<double> update = median(ms), preparation = median(prepare_ms);
  if (!update || edges == 0 || (with_preparation && !preparation)) return std::nullopt;
  const double total = *update + (with_preparation ? *preparation : 0);
  if (total <= 0) return std::nullopt;
  return static_cast<double>(edges) / static_cast<double>(ms.size()) / total / 1e3;
}

const PhaseSamples* GraphRow::find(GraphPhase phase, std::uint32_t batch) const {
  for (const PhaseSamples& one : phases) {
    if (one.phase == phase && one.batch == batch) return &one;
  }
  return nullptr;
}

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
  // Absent by default, so that results of versions without it can be resumed.
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
  return read_earlier_rows<GraphRow>(
      path, device, graph_schema, head.settings, [&](const GraphRow& row) {
        return row.graph == head.graph && row.digest == head.digest &&
               row.vertices == head.vertices && row.edges == head.edges &&
               has_all_runs(row.reset_ms.size(), head.settings) &&
               !row.reason.starts_with("interrupted");
      });
}

}  // namespace heapwood::bench
