// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bench/graph_bench.hpp"
#include "bench/program/names.hpp"

namespace heapwood::bench {

namespace {

constexpr std::pair<const char*, GraphPhase> phases[] = {
    {"init", GraphPhase::init},
    {"pagerank", GraphPhase::page_rank},
    {"triangles", GraphPhase::triangles},
    {"bfs", GraphPhase::bfs},
    {"insert", GraphPhase::insert},
    {"delete", GraphPhase::remove},
    {"mixed", GraphPhase::mixed},
    {"insert-vertices", GraphPhase::insert_vertices},
    {"delete-vertices", GraphPhase::delete_vertices}};

constexpr std::pair<const char*, GraphLayout> layouts[] = {
    {"blocks", GraphLayout::blocks}, {"pages", GraphLayout::pages}, {"csr", GraphLayout::csr}};

constexpr std::pair<const char*, GraphUpdates> all_updates[] = {
    {"random", GraphUpdates::random}, {"pressure", GraphUpdates::pressure}};

constexpr std::pair<const char*, GraphInit> inits[] = {{"each", GraphInit::each},
                                                       {"counted", GraphInit::counted}};

// "all", or names separated by commas, which add() takes one by one.
template <class Value, std::size_t n, class Add>
std::vector<Value> parse_names(const std::pair<const char*, Value> (&names)[n],
                               const std::string& text, std::vector<Value> found, Add add) {
  for (const std::string& part : split(text, ',')) {
    if (part == "all") {
      for (const auto& [known, value] : names) found.push_back(value);
    } else {
      add(part, found);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

const char* name(GraphPhase phase) { return name_in(phases, phase); }
const char* name(GraphLayout layout) { return name_in(layouts, layout); }
const char* name(GraphUpdates updates) { return name_in(all_updates, updates); }
const char* name(GraphInit init) { return name_in(inits, init); }

bool GraphSettings::has(GraphPhase phase) const {
  return std::find(phases.begin(), phases.end(), phase) != phases.end();
}

std::vector<GraphPhase> parse_phases(const std::string& text) {
  const auto add = [](const std::string& part, std::vector<GraphPhase>& found) {
    if (part == "vertices")
      found.insert(found.end(), {GraphPhase::insert_vertices, GraphPhase::delete_vertices});
    else
      found.push_back(find_in(phases, "--phase", part, "all, vertices, "));
  };
  return parse_names(phases, text, {GraphPhase::init}, add);
}

std::vector<GraphLayout> parse_layouts(const std::string& text) {
  const auto add = [](const std::string& part, std::vector<GraphLayout>& found) {
    found.push_back(find_in(layouts, "--layout", part, "all, "));
  };
  return parse_names(layouts, text, {}, add);
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
  std::vector<std::uint32_t> batches;
  for (const std::string& part : split(text, ',')) {
    const std::uint32_t batch = parse_count("--batch", part, 1 << 28);
    if (std::find(batches.begin(), batches.end(), batch) == batches.end()) batches.push_back(batch);
  }
  return batches;
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

}  // namespace heapwood::bench
