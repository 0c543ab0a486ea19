// SPDX-License-Identifier: MIT
#include "bench/graph_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simt/clock.hpp"
#include "workloads/graph/generate.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::bench {

namespace {

using workloads::graph::edge_key;
using workloads::graph::EdgeKey;
using workloads::graph::HostGraph;

// The numbers of a sequence, one after another.
class Random {
 public:
  explicit Random(std::uint64_t seed) : draws_(seed) {}
  std::uint64_t next() { return draws_.bits(drawn_++); }
  std::uint32_t below(std::uint32_t limit) { return workloads::graph::below(next(), limit); }

 private:
  workloads::graph::Draws draws_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

std::vector<EdgeKey> update_batch(const GraphSettings& settings, std::uint32_t vertices,
                                  std::uint32_t count, unsigned round) {
  const std::uint64_t seed =
      std::uint64_t{settings.seed} << 40 ^ std::uint64_t{count} << 20 ^ round;
  std::vector<EdgeKey> edges;
  for (const workloads::graph::Edge& edge :
       workloads::graph::make_batch(vertices, count, settings.updates, seed))
    edges.push_back(edge_key(edge.source, edge.destination));
  return edges;
}

std::vector<EdgeKey> existing_edges(const HostGraph& graph, std::uint32_t count,
                                    std::uint32_t seed) {
  std::vector<EdgeKey> edges;
  if (graph.edges() == 0) return edges;
  Random random(seed);
  std::vector<std::uint64_t> positions(count);
  for (std::uint64_t& position : positions) position = random.next() % graph.edges();
  std::sort(positions.begin(), positions.end());
  std::uint32_t source = 0;
  for (const std::uint64_t position : positions) {
    while (graph.offsets[source + std::size_t{1}] <= position) ++source;
    edges.push_back(edge_key(source, graph.destinations[position]));
  }
  return edges;
}

void remove_common(std::vector<EdgeKey>& edges, std::vector<EdgeKey>& others) {
  std::sort(others.begin(), others.end());
  std::erase_if(edges,
                [&](EdgeKey key) { return std::binary_search(others.begin(), others.end(), key); });
}

HostGraph new_vertices(std::uint32_t first, std::uint32_t count, std::uint32_t degree,
                       std::uint32_t targets, std::uint32_t seed) {
  HostGraph graph;
  Random random(seed);
  std::vector<std::uint32_t> row;
  for (std::uint32_t v = 0; v < count; ++v) {
    row.clear();
    for (std::uint32_t i = 0; i < degree; ++i) {
      const std::uint32_t to = random.below(targets);
      if (to != first + v) row.push_back(to);
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    graph.destinations.insert(graph.destinations.end(), row.begin(), row.end());
    graph.offsets.push_back(graph.destinations.size());
  }
  return graph;
}

std::vector<std::uint32_t> drawn_vertices(std::uint32_t count, std::uint32_t vertices,
                                          std::uint32_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> drawn(count);
  for (std::uint32_t& v : drawn) v = random.below(vertices);
  return drawn;
}

namespace {

using namespace workloads::graph;

// Executes all phases once.
class GraphRun {
 public:
  GraphRun(const GraphPhases& phases, GraphStore& store, GraphRow& row)
      : bench_(phases.bench),
        rows_(phases.rows),
        store_(store),
        inspects_(phases.inspects),
        row_(row),
        updates_(phases.updates) {}

  void run() {
    init();
    algorithms();
    if (!updates_) return;
    for (const std::uint32_t batch : bench_.settings.batches) {
      if (has(GraphPhase::insert) || has(GraphPhase::remove)) insert_and_remove(batch);
      if (has(GraphPhase::mixed)) mixed(batch);
    }
    if (has(GraphPhase::insert_vertices) || has(GraphPhase::delete_vertices))
      vertices(bench_.settings.batches.front());
  }

 private:
  bool has(GraphPhase phase) const { return bench_.settings.has(phase); }

  PhaseSamples& samples(GraphPhase phase, std::uint32_t batch = 0) {
    if (const PhaseSamples* found = row_.find(phase, batch))
      return const_cast<PhaseSamples&>(*found);
    PhaseSamples& added = row_.phases.emplace_back();
    added.phase = phase;
    added.batch = batch;
    return added;
  }

  void init() {
    const InitResult result = store_.init(rows_);
    row_.reset_ms.push_back(result.reset_ms);
    PhaseSamples& to = samples(GraphPhase::init);
    to.ms.push_back(result.ms());
    to.edges += rows_.edges() - result.refused_edges;
    to.refused += result.refused;
    to.refused_edges += result.refused_edges;
    row_.refused += result.refused;
    if (inspects_) row_.memory = store_.memory();
    inspect();
  }

  void algorithms() {
    if (has(GraphPhase::page_rank)) {
      const PageRankResult result = store_.page_rank(bench_.settings.iterations, 0.85f);
      std::vector<double>& ms = samples(GraphPhase::page_rank).ms;
      ms.insert(ms.end(), result.iterations_ms.begin(), result.iterations_ms.end());
    }
    if (has(GraphPhase::triangles)) {
      const TriangleResult result = store_.triangles();
      samples(GraphPhase::triangles).ms.push_back(result.ms);
      row_.triangles = result.triangles;
    }
    if (has(GraphPhase::bfs)) {
      const SearchResult result = store_.breadth_first(search_source());
      samples(GraphPhase::bfs).ms.push_back(result.ms);
      row_.levels = result.levels;
    }
  }

  // A vertex of the largest degree: in all generated graphs it reaches most others.
  std::uint32_t search_source() const {
    std::uint32_t source = 0;
    const HostGraph& graph = *bench_.host;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
      if (graph.degree(v) > graph.degree(source)) source = v;
    }
    return source;
  }

  void add(GraphPhase phase, std::uint32_t batch, const UpdateResult& result) {
    PhaseSamples& to = samples(phase, batch);
    to.ms.push_back(result.ms);
    if (phase == GraphPhase::insert || phase == GraphPhase::remove || phase == GraphPhase::mixed)
      to.prepare_ms.push_back(result.prepare_ms);
    to.edges += result.inserted + result.deleted;
    to.moved += result.moved;
    to.refused += result.refused;
    to.refused_edges += result.refused_edges;
    row_.refused += result.refused;
  }

  void insert_and_remove(std::uint32_t batch) {
    for (unsigned round = 0; round < bench_.settings.rounds; ++round) {
      const std::vector<EdgeKey> edges =
          update_batch(bench_.settings, rows_.vertices, batch, round);
      const UpdateResult inserted = store_.update(edges, {});
      if (has(GraphPhase::insert)) add(GraphPhase::insert, batch, inserted);
      if (round == 0) inspect();
      const UpdateResult deleted = store_.update({}, edges);
      if (has(GraphPhase::remove)) add(GraphPhase::remove, batch, deleted);
      if (is_late(round, has(GraphPhase::insert) ? GraphPhase::insert : GraphPhase::remove)) break;
    }
    inspect();
  }

  // Each round inserts a batch and deletes that of the previous round, so the graph keeps its size.
  void mixed(std::uint32_t batch) {
    // An inspection reads the table of all vertices and the whole pool on the host.
    constexpr std::uint32_t small_graph = 1 << 22;
    const unsigned rounds = bench_.settings.rounds,
                   steps = rows_.vertices <= small_graph ? std::max(1u, rounds / 20) : rounds;
    std::vector<EdgeKey> old = existing_edges(*bench_.host, batch, bench_.settings.seed);
    for (unsigned round = 0; round < rounds; ++round) {
      // Different edges from those of insert_and_remove().
      std::vector<EdgeKey> edges =
          update_batch(bench_.settings, rows_.vertices, batch, round + (1u << 16));
      remove_common(edges, old);
      add(GraphPhase::mixed, batch, store_.update(edges, old));
      old = std::move(edges);
      const bool is_last = is_late(round, GraphPhase::mixed) || round + 1 == rounds;
      if (inspects_ && (round % steps == 0 || is_last))
        row_.rounds.push_back({round, batch, store_.memory()});
      if (is_last) break;
    }
    inspect();
  }

  void vertices(std::uint32_t edges) {
    const HostGraph& graph = *bench_.host;
    const std::uint32_t count = vertex_batch(graph, edges);
    const auto degree =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, graph.edges() / graph.vertices()));
    std::uint32_t total = graph.vertices();
    for (unsigned round = 0; round < bench_.settings.rounds; ++round) {
      const std::uint32_t seed = bench_.settings.seed + 2 * round;
      const UpdateResult inserted = store_.insert_vertices(
          DeviceRows(bench_.device.id, new_vertices(total, count, degree, total, seed)));
      total += count;
      if (has(GraphPhase::insert_vertices)) add(GraphPhase::insert_vertices, count, inserted);
      const UpdateResult deleted = store_.delete_vertices(drawn_vertices(count, total, seed + 1));
      if (has(GraphPhase::delete_vertices)) add(GraphPhase::delete_vertices, count, deleted);
      if (is_late(round, GraphPhase::insert_vertices)) break;
    }
    inspect();
  }

  // After a cut the edges are not those of the other candidates.
  void inspect() {
    if (inspects_ && row_.cut.empty()) row_.hashes.push_back(store_.edge_hash());
  }

  // Whether the budget ends the rounds of a phase after this one; the phases that follow have one
  // round each.
  bool is_late(unsigned round, GraphPhase phase) {
    const double budget = bench_.settings.budget_seconds;
    const unsigned rounds = bench_.settings.rounds;
    if (budget <= 0 || simt::seconds_since(start_) < budget || round + 1 == rounds) return false;
    if (row_.cut.empty())
      row_.cut = fmt::format("{} of {} rounds of {}", round + 1, rounds, name(phase));
    return true;
  }

  const GraphBench& bench_;
  const simt::HostClock::time_point start_ = simt::HostClock::now();
  const DeviceRows& rows_;
  GraphStore& store_;
  bool inspects_;
  GraphRow& row_;
  bool updates_;
};

}  // namespace

void execute_phases(const GraphPhases& phases, GraphStore& store, GraphRow& row) {
  GraphRun(phases, store, row).run();
}

std::uint32_t vertex_batch(const HostGraph& graph, std::uint32_t edges) {
  const std::uint64_t mean = std::max<std::uint64_t>(1, graph.edges() / graph.vertices());
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(edges / mean, 1, graph.vertices() / 10 + 1));
}

}  // namespace heapwood::bench
