// SPDX-License-Identifier: MIT
// The command graph: measures a dynamic graph whose adjacencies are blocks of an allocator, like
// Ouroboros section 6.2 (docs/workloads.md).
#include <cstdint>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "app/output/tables.hpp"
#include "bench/graph_bench.hpp"
#include "bench/record_trace.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::app {

namespace {

constexpr const char* graph_examples = R"(Examples:
  heapwood graph rgg:100k                            all phases, every allocator
  heapwood graph uniform:1m:16 --layout all          also linked pages and rebuilt rows
  heapwood graph roads.mtx --phase insert,delete --batch 1K,100K,1M
  heapwood graph rmat:16 --phase mixed --rounds 1000 --runs 1   memory over rounds
  heapwood graph rgg:100k --updates pressure         all updates within 1,000 vertices
  heapwood graph rgg:1m --phase init --init counted  size classes counted before allocation
Batches are numbers of edges separated by commas.)";

struct GraphCommand {
  std::string graph, layouts = "blocks", phases = "all", batches = "100K", updates = "random",
                     init = "each", pool = "auto", trace;
  GraphSettings settings;
  MeasuringOptions measuring;
};

// Keeps the cases of a shard; a case is an allocator or another layout.
void keep_shard(GraphBench& bench, const Shard& shard) {
  using Case = std::pair<GraphLayout, const Allocator*>;
  std::vector<Case> cases;
  for (const GraphLayout layout : bench.layouts) {
    if (layout != GraphLayout::blocks) cases.emplace_back(layout, nullptr);
    for (const auto* entry : bench.allocators) {
      if (layout == GraphLayout::blocks) cases.emplace_back(layout, entry);
    }
  }
  bench.layouts.clear();
  bench.allocators.clear();
  for (const auto& [layout, entry] : shard_of(cases, shard)) {
    if (entry) bench.allocators.push_back(entry);
    if (bench.layouts.empty() || bench.layouts.back() != layout) bench.layouts.push_back(layout);
  }
}

Exit graph(const GraphCommand& command, const std::vector<std::string>& argv) {
  if (command.graph.empty())
    throw Error(Exit::usage,
                "graph: no graph given: try 'heapwood graph rgg:100k', or 'heapwood list graphs'");
  GraphBench bench;
  bench.settings = command.settings;
  bench.settings.phases = parse_phases(command.phases);
  bench.settings.batches = parse_batches(command.batches);
  bench.settings.updates = parse_updates(command.updates);
  bench.settings.init = parse_init(command.init);
  bench.settings.pool = parse_graph_pool(command.pool);
  bench.layouts = parse_layouts(command.layouts);
  bench.allocators = find_allocators(command.measuring.allocators);
  Measuring measuring("graph", command.measuring);
  keep_shard(bench, measuring.shard());
  bench.device = measuring.start(bench.allocators);
  workloads::graph::GraphSource source = workloads::graph::load_graph(command.graph);
  bench.graph = source.name;
  bench.digest = source.digest;
  bench.host = &source.graph;
  if (!source.is_symmetric && std::erase(bench.settings.phases, GraphPhase::triangles) != 0)
    source.notes.push_back("triangles are not counted: the graph is directed");
  if (!command.trace.empty())
    return write_trace(command.trace, [&] { return record_graph(bench); });
  if (bench.layouts.empty())
    return measuring.finish_empty_shard(report_head(graph_schema, argv, bench.device));
  bench.kept = measuring.resume(
      [&] { return read_graphs(command.measuring.json, bench.device, graph_row_head(bench)); });
  const std::vector<GraphRow> rows =
      measuring.measure([&](const OnStep& on_step) { return run_graph(bench, on_step); });
  return measuring.finish(rows, report_of(graph_schema, argv, bench.device, rows),
                          {.csv_columns = graph_columns,
                           .tables = {graph_time_table(rows), graph_memory_table(rows)},
                           .notes = source.notes,
                           .csv_list = "phases"});
}

}  // namespace

void add_graph(Program& program, Invocation& invocation) {
  auto options = std::make_shared<GraphCommand>();
  MeasuringOptions& measuring = options->measuring;
  GraphSettings& settings = options->settings;
  CommandOptions command(program, "graph", "dynamic graph with every allocator", graph_examples);
  command.text("graph", options->graph, "a generator with its size, or a file", "GRAPH");
  add_allocators(command, measuring.allocators);
  command.text("--layout", options->layouts,
               "blocks (of each allocator), pages (linked, 64 bytes),\ncsr (rows, rebuilt by each "
               "update), all",
               "LIST");
  command.text("--phase", options->phases, "all; init, pagerank, triangles, insert, delete, mixed",
               "LIST");
  command.text("--batch", options->batches, "edges per update: 1000, 100K, 1M", "LIST");
  command.number("--rounds", settings.rounds, "updates of each kind per run", {1, 1000000});
  command.choice("--updates", options->updates,
                 "random: sources uniform; pressure: within 1,000\nvertices",
                 {"random", "pressure"});
  command.choice("--init", options->init,
                 "each: one malloc per vertex, in order; counted: the\nblocks of each size class "
                 "are counted first, then\nrequested class by class",
                 {"each", "counted"});
  command.number("--iterations", settings.iterations, "of PageRank", {1, 100000});
  command.text("--pool", options->pool,
               "memory for the allocator: auto (four times the blocks),\na size, or Nx: N times "
               "the blocks",
               "auto|SIZE|Nx");
  command.number("--seed", settings.seed, "seed of the updates", {0, UINT32_MAX});
  command.number("--runs", settings.runs, "timed runs: initialization and all phases", {1, 100000});
  command.number("--seconds", settings.seconds, "time limit of a kernel", {0.001, 86400}, "S");
  command.number("--budget", settings.budget_seconds,
                 "seconds per allocator for all runs: a slow one has\nfewer runs; 0: no limit",
                 {0, 1e6}, "S");
  command.flag("--strict", measuring.strict, "exit code 5 if the pool was exhausted");
  add_report(command, measuring, "phase");
  add_resume(command, measuring);
  command.text("--record-trace", options->trace,
               "write the requests of the initialization and of --rounds\nbatches to a file for "
               "'heapwood replay', untimed\n(docs/workloads.md)",
               "FILE");
  command.exclude("--record-trace", "--json");
  add_shard_and_device(command, measuring);
  command.when_chosen([options, &invocation] {
    invocation.files.reads(options->graph);
    invocation.files.writes(options->measuring.json, options->trace);
    invocation.action = [options, &invocation] { return graph(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
