// SPDX-License-Identifier: MIT
// Dynamic graphs (Ouroboros section 6.2): the runner of `heapwood graph` over the graphs of the
// paper's table 1, or over generated ones of the same size.
#include <fmt/format.h>

#include <filesystem>

#include "bench/graph_bench.hpp"
#include "bench/graph_json.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/case_results.hpp"
#include "bench/scene_bench.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::bench {

namespace {

// The file of a paper's graph, or "".
std::string find_graph(const std::string& folder, const std::string& stem) {
  if (folder.empty()) return "";
  for (const char* extension : {".mtx", ".graph", ".txt"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / (stem + extension);
    if (std::filesystem::is_regular_file(path)) return path.string();
  }
  return "";
}

// What the page needs. It takes results with "frees" for those of allocators, which the layouts
// `pages` and `csr` are not.
Json graph_result(const GraphRow& row) {
  Json json = to_json(row);
  if (row.layout != GraphLayout::blocks) json.erase("frees");
  for (const char* key : {"edge_hashes", "rounds"}) json.erase(key);
  return json;
}

Json measure_graph(GraphBench bench, const std::string& source, const Announce& announce) {
  workloads::graph::GraphSource graph;
  try {
    announce("reading or generating the graph");
    graph = workloads::graph::load_graph(source);
  } catch (const std::exception& error) {
    Json results = Json::array();
    for (const registry::RegisteredAllocator* entry : bench.allocators) {
      Json result{{"allocator", entry->traits->id}, {"label", entry->traits->label}};
      set_status(result, Status::failed, error_text(error));
      results.push_back(std::move(result));
    }
    return results;
  }
  bench.graph = graph.name;
  bench.digest = graph.digest;
  bench.host = &graph.graph;
  if (!graph.is_symmetric) std::erase(bench.settings.phases, GraphPhase::triangles);
  Json results = Json::array();
  for (const GraphRow& row : run_graph(bench, on_step(announce)))
    results.push_back(graph_result(row));
  return results;
}

ReproduceCase graph_case(const PaperGraph& graph, const GraphPlan& plan,
                         const ReproduceSetup& setup) {
  const std::string file = find_graph(setup.scenes, graph.name);
  const std::string source = file.empty() ? graph.stand_in : file;
  GraphBench bench;
  bench.device = setup.device;
  bench.layouts = parse_layouts(plan.layouts);
  bench.allocators = chosen_allocators(setup.allocators, plan.only);
  GraphSettings& settings = bench.settings;
  settings.phases = parse_phases(plan.phases);
  settings.updates = plan.updates;
  settings.init = plan.init;
  settings.batches = {setup.full ? 100000u : 1000u};
  settings.rounds = setup.full ? 2 : 1;
  settings.runs = setup.full ? 5 : 3;
  settings.iterations = setup.full ? 5 : 2;
  settings.budget_seconds = setup.seconds;
  // CudaMalloc needs seconds for millions of vertices; stopped, it would keep their blocks.
  settings.seconds = 5 * setup.seconds;
  settings.pool = parse_pool("auto");
  // The name of a file without its folder, as in the other keys.
  const std::string label = file.empty() ? source : std::filesystem::path(file).filename().string();
  ReproduceCase one{fmt::format("graph {} init={} phases={} updates={} batch={} rounds={} runs={}",
                                label, name(plan.init), plan.phases, name(plan.updates),
                                settings.batches.front(), settings.rounds, settings.runs),
                    bench.allocators};
  one.about = {{"graph", graph.name},
               {"source", label},
               {"procedural", file.empty()},
               {"init", name(plan.init)},
               {"updates", name(plan.updates)}};
  one.measure = [bench = std::move(bench), source](const Announce& announce) {
    return measure_graph(bench, source, announce);
  };
  return one;
}

}  // namespace

Experiment graphs(const GraphPlan& plan) {
  return [plan](const ReproduceSetup& setup) {
    std::vector<ReproduceCase> cases;
    for (const PaperGraph& graph : setup.full ? plan.full : plan.quick)
      cases.push_back(graph_case(graph, plan, setup));
    return cases;
  };
}

}  // namespace heapwood::bench
