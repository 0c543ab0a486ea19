// SPDX-License-Identifier: MIT
// heapwood graph: a dynamic graph whose adjacencies are blocks of an allocator, as Ouroboros
// section 6.2 (docs/workloads.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "alloc/recording/trace_file.hpp"
#include "app/commands.hpp"
#include "app/measured_device.hpp"
#include "app/output/graph_tables.hpp"
#include "app/output/print_tables.hpp"
#include "app/report_options.hpp"
#include "bench/graph_bench.hpp"
#include "bench/graph_json.hpp"
#include "bench/program/output_file.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/record_trace.hpp"
#include "bench/shard.hpp"
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
  std::string graph, allocators = "all", layouts = "blocks", phases = "all", batches = "100K";
  std::string updates = "random", init = "each", pool = "auto", format = "table", json, trace,
              shard;
  bool resume = false, strict = false;
  bench::GraphSettings settings;
  bench::DeviceOptions device;
};

void print_report(const GraphCommand& command, const bench::GraphBench& bench,
                  const std::vector<bench::GraphRow>& rows, const std::vector<std::string>& remarks,
                  const bench::Json& report) {
  if (command.format == "json") {
    fmt::print("{}", bench::json_text(report));
    return;
  }
  if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(graph_flat_table(rows)));
    return;
  }
  std::vector<bench::Table> tables{graph_time_table(rows)};
  for (bench::Table& table : std::vector{graph_rate_table(rows), graph_memory_table(rows)}) {
    if (!table.columns.empty()) tables.push_back(std::move(table));
  }
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(bench.device), bench::version_line()));
  notes.insert(notes.end(), remarks.begin(), remarks.end());
  print_tables(tables, command.format);
}

// A case is an allocator or another layout.
void keep_shard(bench::GraphBench& bench, const bench::Shard& shard) {
  using Case = std::pair<bench::GraphLayout, const registry::RegisteredAllocator*>;
  std::vector<Case> cases;
  for (const bench::GraphLayout layout : bench.layouts) {
    if (layout != bench::GraphLayout::blocks) cases.emplace_back(layout, nullptr);
    for (const auto* entry : bench.allocators) {
      if (layout == bench::GraphLayout::blocks) cases.emplace_back(layout, entry);
    }
  }
  bench.layouts.clear();
  bench.allocators.clear();
  for (const auto& [layout, entry] : bench::shard_of(cases, shard)) {
    if (entry) bench.allocators.push_back(entry);
    if (bench.layouts.empty() || bench.layouts.back() != layout) bench.layouts.push_back(layout);
  }
}

Exit graph(const GraphCommand& command, const std::vector<std::string>& argv) {
  if (command.graph.empty())
    throw Error(Exit::usage,
                "graph: no graph given: try 'heapwood graph rgg:100k', or 'heapwood list graphs'");
  if (command.resume && command.json.empty())
    throw Error(Exit::usage, "graph: --resume needs the file to continue: add --json FILE");
  bench::GraphBench bench;
  bench.settings = command.settings;
  bench.settings.phases = bench::parse_phases(command.phases);
  bench.settings.batches = bench::parse_batches(command.batches);
  bench.settings.updates = bench::parse_updates(command.updates);
  bench.settings.init = bench::parse_init(command.init);
  bench.settings.pool = bench::parse_graph_pool(command.pool);
  bench.layouts = bench::parse_layouts(command.layouts);
  bench.allocators = bench::find_allocators(command.allocators);
  const bench::Shard shard = bench::chosen_shard(command.shard);
  bench::check_shard_file(command.json, shard);
  keep_shard(bench, shard);
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  bench.device = choose_measured_device(command.device);
  workloads::graph::GraphSource source = workloads::graph::load_graph(command.graph);
  bench.graph = source.name;
  bench.digest = source.digest;
  bench.host = &source.graph;
  if (!source.is_symmetric && std::erase(bench.settings.phases, bench::GraphPhase::triangles) != 0)
    source.notes.push_back("triangles are not counted: the graph is directed");
  if (!command.trace.empty()) {
    bench::OutputFile trace_file(command.trace);
    const alloc::ProgramTrace trace = bench::record_graph(bench);
    trace_file.write(alloc::program_trace_file(trace));
    fmt::print("{}\n", bench::recorded_text(command.trace, trace));
    return Exit::done;
  }
  if (bench.layouts.empty()) {
    bench::finish_empty_shard(file.get(), bench::graph_report(argv, bench.device, {}), shard);
    return Exit::done;
  }
  bench::Earlier<bench::GraphRow> earlier;
  if (command.resume) {
    earlier = bench::read_graphs(command.json, bench.device, bench::graph_row_head(bench));
    bench.kept = earlier.kept;
  }

  std::vector<bench::GraphRow> rows;
  {
    bench::Progress progress;
    rows =
        bench::run_graph(bench, [&](std::size_t done, std::size_t total, const std::string& what) {
          progress.update(done, total, what);
        });
  }
  bench::Json report = bench::graph_report(argv, bench.device, rows);
  bench::add_shard(report, shard);
  const std::size_t better = bench::add_earlier(report, earlier.results);
  const std::optional<Error> write_error = write_report(file.get(), report);
  print_report(command, bench, rows, source.notes, report);
  note_better(command.json, better);
  if (write_error) throw *write_error;
  check_rows("graph", rows, command.strict);
  return Exit::done;
}

}  // namespace

void add_graph(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<GraphCommand>();
  CLI::App* command = app.add_subcommand("graph", "dynamic graph with every allocator");
  command->footer(graph_examples);
  command->add_option("graph", options->graph, "a generator with its size, or a file")
      ->type_name("GRAPH");
  add_allocators_option(*command, options->allocators);
  command
      ->add_option("--layout", options->layouts,
                   "blocks (of each allocator), pages (linked, 64 bytes),\ncsr (rows, rebuilt by "
                   "each update), all")
      ->capture_default_str()
      ->type_name("LIST");
  command
      ->add_option("--phase", options->phases,
                   "all; init, pagerank, triangles, bfs, insert, delete,\nmixed, "
                   "insert-vertices, delete-vertices, vertices (both)")
      ->capture_default_str()
      ->type_name("LIST");
  command->add_option("--batch", options->batches, "edges per update: 1000, 100K, 1M")
      ->capture_default_str()
      ->type_name("LIST");
  bench::GraphSettings& settings = options->settings;
  command->add_option("--rounds", settings.rounds, "updates of each kind per run")
      ->capture_default_str()
      ->transform(bench::between(1, 1000000))
      ->type_name("N");
  command
      ->add_option("--updates", options->updates,
                   "random: sources uniform; pressure: within 1,000\nvertices")
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember({"random", "pressure"})))
      ->type_name("random|pressure");
  command
      ->add_option("--init", options->init,
                   "each: one malloc per vertex, in order; counted: the\nblocks of each size class "
                   "are counted first, then\nrequested class by class")
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember({"each", "counted"})))
      ->type_name("each|counted");
  command->add_option("--iterations", settings.iterations, "of PageRank")
      ->capture_default_str()
      ->transform(bench::between(1, 100000))
      ->type_name("N");
  command
      ->add_option(
          "--pool", options->pool,
          "memory for the allocator: auto (four times the blocks),\na size, or Nx: N times "
          "the blocks")
      ->capture_default_str()
      ->type_name("auto|SIZE|Nx");
  command->add_option("--seed", settings.seed, "seed of the updates")
      ->transform(bench::between(0, UINT32_MAX))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--runs", settings.runs, "timed runs: initialization and all phases")
      ->capture_default_str()
      ->transform(bench::between(1, 100000))
      ->type_name("N");
  command->add_option("--seconds", settings.seconds, "time limit of a kernel")
      ->capture_default_str()
      ->transform(bench::between(0.001, 86400.0))
      ->type_name("S");
  command
      ->add_option("--budget", settings.budget_seconds,
                   "seconds per allocator for all runs: a slow one has\nfewer runs; 0: no limit")
      ->capture_default_str()
      ->transform(bench::between(0, 1e6))
      ->type_name("S");
  command->add_flag("--strict", options->strict, "exit code 5 if the pool was exhausted");
  add_report_options(*command, "phase", options->format, options->json);
  add_resume_option(*command, options->resume);
  command
      ->add_option(
          "--record-trace", options->trace,
          "write the requests of the initialization and of --rounds\nbatches to a file for "
          "'heapwood replay', untimed\n(docs/workloads.md)")
      ->excludes(command->get_option("--json"))
      ->type_name("FILE");
  bench::add_shard_option(*command, options->shard);
  add_measured_device_options(*command, options->device);
  command->callback([options, &invocation] {
    invocation.files.reads(options->graph);
    for (const std::string& path : {options->json, options->trace}) invocation.files.writes(path);
    invocation.action = [options, &invocation] { return graph(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
