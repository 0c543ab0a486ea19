// SPDX-License-Identifier: MIT
// Dynamic graphs (Ouroboros section 6.2): the runner of `heapwood graph` over the graphs of the
// paper's table 1, or over generated ones of the same size.
#include <fmt/format.h>

#include <filesystem>

#include "bench/graph_bench.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/case_results.hpp"
#include "bench/scene_bench.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::bench {

namespace {

// What the page needs. It takes results with "frees" for those of allocators, which the layouts
// `pages` and `csr` are not.
Json graph_result(const GraphRow& row) {
  Json json = described(row);
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

ReproduceCase graph_case(const std::string& name_and_stand_in, const Experiment& experiment,
                         const ReproduceSetup& setup) {
  const std::size_t slash = name_and_stand_in.find('/');
  const std::string graph = name_and_stand_in.substr(0, slash),
                    stand_in = name_and_stand_in.substr(slash + 1),
                    file = find_file(setup.scenes, graph, {".mtx", ".graph", ".txt"}),
                    source = file.empty() ? stand_in : file;
  GraphBench bench;
  bench.device = setup.device;
  bench.layouts = parse_layouts(experiment.text("layouts", "all"));
  bench.allocators = experiment.allocators(setup);
  GraphSettings& settings = bench.settings;
  settings.phases = parse_phases(experiment.text("phases"));
  settings.updates = parse_updates(experiment.text("updates", "random"));
  settings.init = parse_init(experiment.text("init", "each"));
  settings.batches = {setup.full ? 100000u : 1000u};
  settings.rounds = setup.full ? 2 : 1;
  settings.runs = experiment.runs(setup);
  settings.iterations = setup.full ? 5 : 2;
  settings.budget_seconds = setup.seconds;
  // CudaMalloc needs seconds for millions of vertices; stopped, it would keep their blocks.
  settings.seconds = 5 * setup.seconds;
  settings.pool = parse_pool("auto");
  // The name of a file without its folder, as in the other keys.
  const std::string label = file.empty() ? source : std::filesystem::path(file).filename().string();
  ReproduceCase one{
      fmt::format("graph {} init={} phases={} updates={} batch={} rounds={} runs={}", label,
                  name(settings.init), experiment.text("phases"), name(settings.updates),
                  settings.batches.front(), settings.rounds, settings.runs),
      bench.allocators};
  one.about = {{"graph", graph},
               {"source", label},
               {"procedural", file.empty()},
               {"init", name(settings.init)},
               {"updates", name(settings.updates)}};
  one.measure = [bench = std::move(bench), source](const Announce& announce) {
    return measure_graph(bench, source, announce);
  };
  return one;
}

}  // namespace

ReproduceCases graph_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  ReproduceCases cases;
  for (const std::string& graph : split(experiment.list("graphs", setup), ','))
    cases.push_back(graph_case(graph, experiment, setup));
  return cases;
}

}  // namespace heapwood::bench
