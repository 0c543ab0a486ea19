// SPDX-License-Identifier: MIT
// Runs the dynamic-graph workload (workloads/graph/) and prints nothing. A candidate is an
// allocator in the blocks layout, or another layout. A run initializes the graph and executes all
// phases. There is a warm-up of each candidate, then run 1 of all, run 2 of all, and so on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/earlier_results.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/host_graph.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::bench {

enum class GraphLayout : std::uint8_t { blocks, pages, csr };
enum class GraphPhase : std::uint8_t { init, page_rank, triangles, insert, remove, mixed };
using GraphUpdates = workloads::graph::UpdatePattern;
using GraphInit = workloads::graph::BlockInit;

const char* name(GraphLayout layout);
const char* name(GraphPhase phase);
const char* name(GraphUpdates updates);
const char* name(GraphInit init);

struct GraphSettings {
  std::vector<GraphPhase> phases;  // in the order of the enumeration; `init` always runs
  std::vector<std::uint32_t> batches{100000};
  unsigned rounds = 10;  // rounds of updates per run
  GraphUpdates updates = GraphUpdates::random;
  GraphInit init = GraphInit::each;  // used by the blocks layout
  unsigned iterations = 20;          // iterations of PageRank
  std::uint32_t seed = 1;
  int runs = 5;
  double seconds = 60;  // time limit of a launch
  // Seconds per candidate for its warm-up and runs (row_bench.hpp); 0 = no limit.
  double budget_seconds = 0;
  PoolSize pool;

  bool has(GraphPhase phase) const;
};

// Parse "all" or names separated by commas. Throw Error{Exit::usage} that lists the names.
std::vector<GraphPhase> parse_phases(const std::string& text);
std::vector<GraphLayout> parse_layouts(const std::string& text);
GraphUpdates parse_updates(const std::string& text);
GraphInit parse_init(const std::string& text);
PoolSize parse_graph_pool(const std::string& text);  // "auto", bytes, "4x" (the blocks)
// Parses "1000,100K,1M".
std::vector<std::uint32_t> parse_batches(const std::string& text);

// The samples of one phase with one batch size, from all runs and rounds.
struct PhaseSamples {
  GraphPhase phase = GraphPhase::init;
  std::uint32_t batch = 0;         // edges per batch; 0: the phase has no batch
  std::vector<double> ms;          // for PageRank per iteration
  std::vector<double> prepare_ms;  // time to sort and group a batch
  std::uint64_t edges = 0;         // edges inserted and deleted, over all samples
  std::uint64_t moved = 0, refused = 0, refused_edges = 0;

  std::optional<double> median_ms() const { return median(ms); }
  // Million edges per second at the median, with or without the preparation of batches.
  std::optional<double> rate(bool with_preparation) const;
};

// The pool at the end of a round of mixed updates, recorded in the warm-up.
struct RoundMemory {
  unsigned round = 0;
  std::uint32_t batch = 0;
  workloads::graph::GraphMemory memory;
};

// The results of one candidate. Without blocks, allocator and label are the layout's name.
struct GraphRow : MeasuredRow {
  std::string graph;   // as given
  std::string digest;  // of the graph, if known
  std::uint64_t vertices = 0, edges = 0, max_degree = 0;
  GraphLayout layout = GraphLayout::blocks;
  GraphSettings settings;
  std::uint64_t pool_bytes = 0;

  std::vector<PhaseSamples> phases;
  std::vector<double> reset_ms;
  std::optional<workloads::graph::GraphMemory> memory;  // after init
  std::vector<RoundMemory> rounds;
  std::optional<std::uint64_t> triangles;
  std::vector<std::uint64_t> hashes;  // hash of the edges after each phase of the warm-up
  std::uint64_t refused = 0;          // refused requests of all runs
  // "7 of 1000 rounds of mixed": the rounds executed when the budget ended a phase; "" if it ended
  // none. Each phase after it has one round.
  std::string cut;

  const PhaseSamples* find(GraphPhase phase, std::uint32_t batch) const;
};

struct GraphBench {
  std::string graph, digest;
  const workloads::graph::HostGraph* host = nullptr;
  std::vector<GraphLayout> layouts;
  Allocators allocators;  // used with the blocks layout
  GraphSettings settings;
  simt::DeviceInfo device;
  std::vector<GraphRow> kept;  // rows of an earlier report, which are not measured again
};

// The size of the pool for a graph that grows by batches of at most `max_batch` edges.
std::uint64_t pool_bytes(const PoolSize& pool, const workloads::graph::HostGraph& graph,
                         std::uint64_t max_batch);
std::uint64_t pool_bytes(const GraphBench& bench);
// A row that has only graph and settings.
GraphRow graph_row_head(const GraphBench& bench);
// Returns a row per candidate, in order. A failure of one candidate is reported in its row.
std::vector<GraphRow> run_graph(const GraphBench& bench, const OnStep& on_step);

inline constexpr const char* graph_schema = "heapwood.graph/1";
// Reads or writes a row; its settings are only written.
void describe(JsonFields& fields, GraphRow& row);
Json to_json(const GraphSettings& settings);
// For --resume: the complete rows in a file that are of this graph and these settings.
Earlier<GraphRow> read_graphs(const std::string& path, const simt::DeviceInfo& device,
                              const GraphRow& head);

// The `count` edges to insert in a round. Sources are uniform over all vertices (random) or over
// 1,000 (pressure), destinations over all. No loops; edges may be repeated or exist already.
std::vector<workloads::graph::EdgeKey> update_batch(const GraphSettings& settings,
                                                    std::uint32_t vertices, std::uint32_t count,
                                                    unsigned round);

}  // namespace heapwood::bench
