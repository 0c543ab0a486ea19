// SPDX-License-Identifier: MIT
#include "bench/graph_bench.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "scenes/random.hpp"
#include "simt/clock.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

namespace {

using namespace workloads::graph;
using scenes::Random;

// Draws `count` edges of the graph, with repetition.
std::vector<EdgeKey> existing_edges(const HostGraph& graph, std::uint32_t count,
                                    std::uint32_t seed) {
  std::vector<EdgeKey> edges;
  if (graph.edges() == 0) return edges;
  Random random(seed);
  std::vector<std::uint64_t> positions(count);
  for (std::uint64_t& position : positions) position = random.bits() % graph.edges();
  std::ranges::sort(positions);
  std::uint32_t source = 0;
  for (const std::uint64_t position : positions) {
    while (graph.offsets[source + std::size_t{1}] <= position) ++source;
    edges.push_back(edge_key(source, graph.destinations[position]));
  }
  return edges;
}

}  // namespace

std::vector<EdgeKey> update_batch(const GraphSettings& settings, std::uint32_t vertices,
                                  std::uint32_t count, unsigned round) {
  const std::uint64_t seed =
      std::uint64_t{settings.seed} << 40 ^ std::uint64_t{count} << 20 ^ round;
  std::vector<EdgeKey> edges;
  for (const Edge& edge : make_batch(vertices, count, settings.updates, seed))
    edges.push_back(edge_key(edge.source, edge.destination));
  return edges;
}

namespace {

// Executes all phases once. A budget in the settings limits the rounds (GraphRow::cut).
class GraphRun {
 public:
  // updates: also runs phases that change the graph. inspects: measures memory and hashes the
  // edges, outside the timed parts. Adds samples and inspections to the row.
  GraphRun(const GraphBench& bench, const DeviceRows& rows, GraphStore& store, GraphRow& row,
           bool updates, bool inspects)
      : bench_(bench),
        rows_(rows),
        store_(store),
        row_(row),
        updates_(updates),
        inspects_(inspects) {}

  void run() {
    init();
    algorithms();
    if (!updates_) return;
    for (const std::uint32_t batch : bench_.settings.batches) {
      if (has(GraphPhase::insert) || has(GraphPhase::remove)) insert_and_remove(batch);
      if (has(GraphPhase::mixed)) mixed(batch);
    }
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
  }

  void add(GraphPhase phase, std::uint32_t batch, const UpdateResult& result) {
    PhaseSamples& to = samples(phase, batch);
    to.ms.push_back(result.ms);
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

  // Each round inserts a batch and deletes the previous round's, so the graph keeps its size.
  void mixed(std::uint32_t batch) {
    // Large graphs are inspected less often: an inspection copies the vertex table and the pool.
    constexpr std::uint32_t small_graph = 1 << 22;
    const unsigned rounds = bench_.settings.rounds,
                   steps = rows_.vertices <= small_graph ? std::max(1u, rounds / 20) : rounds;
    std::vector<EdgeKey> old = existing_edges(*bench_.host, batch, bench_.settings.seed);
    for (unsigned round = 0; round < rounds; ++round) {
      // Other numbers than insert_and_remove() uses, and so other edges.
      std::vector<EdgeKey> edges =
          update_batch(bench_.settings, rows_.vertices, batch, round + (1u << 16));
      std::ranges::sort(old);
      std::erase_if(edges, [&](EdgeKey key) { return std::ranges::binary_search(old, key); });
      add(GraphPhase::mixed, batch, store_.update(edges, old));
      old = std::move(edges);
      const bool is_last = is_late(round, GraphPhase::mixed) || round + 1 == rounds;
      if (inspects_ && (round % steps == 0 || is_last))
        row_.rounds.push_back({round, batch, store_.memory()});
      if (is_last) break;
    }
    inspect();
  }

  // After a cut the graph has other edges than those of the other candidates, so it is not hashed.
  void inspect() {
    if (inspects_ && row_.cut.empty()) row_.hashes.push_back(store_.edge_hash());
  }

  // Whether the budget ends the phase after this round; each later phase has one round.
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
  GraphRow& row_;
  bool updates_, inspects_;
};

// The memory that the blocks of all adjacencies need, without any overhead.
std::uint64_t requested_bytes(const HostGraph& graph) {
  std::uint64_t bytes = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    if (const auto degree = static_cast<std::uint32_t>(graph.degree(v)))
      bytes += block_bytes(class_of(degree));
  }
  return bytes;
}

class GraphRunner : public RowBench {
 public:
  GraphRunner(const GraphBench& bench, std::vector<Candidate> candidates, const Step& step)
      : RowBench(std::move(candidates), bench.settings.runs, bench.settings.budget_seconds, step),
        bench_(bench),
        warm_ups_(candidates_.size()) {}

  void run_all() {
    prepare();
    warm_up_all();
    measure();
    finish();
  }

 private:
  GraphRow& row(std::size_t i) const { return static_cast<GraphRow&>(*candidates_[i].row); }

  std::optional<double> warm_up(std::size_t i) override {
    GraphRow seen = row(i);
    execute(i, true, seen);
    warm_ups_[i] = seen;
    seen.phases.clear();
    seen.reset_ms.clear();
    row(i) = std::move(seen);
    return {};
  }

  std::optional<double> run(std::size_t i) override {
    GraphRow copy = row(i);  // a copy, so that an interrupted run adds nothing
    execute(i, false, copy);
    row(i) = std::move(copy);
    return {};
  }

  void keep_warm_up(std::size_t i) override {
    row(i).phases = warm_ups_[i]->phases;
    row(i).reset_ms = warm_ups_[i]->reset_ms;
  }

  std::string time_limit_text() const override { return late_text(bench_.settings.seconds); }

  void prepare() {
    const std::uint64_t pool_bytes = bench::pool_bytes(bench_);
    for (std::size_t i = 0; i < candidates_.size(); ++i) row(i).pool_bytes = pool_bytes;
    skip_unusable(bench_.device, pool_bytes);
    if (!any_running()) return;
    rows_ = DeviceRows(bench_.device.id, *bench_.host);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (row(i).layout == GraphLayout::csr) continue;
      memory_ = simt::Memory(bench_.device.id, pool_bytes);
      break;
    }
  }

  // Whether the candidate can free blocks, which updates require.
  bool has_updates(std::size_t i) const {
    return row(i).layout != GraphLayout::blocks || row(i).frees == alloc::Frees::individually;
  }

  void execute(std::size_t i, bool inspects, GraphRow& to) {
    const std::unique_ptr<GraphStore> store = make_store(i);
    GraphRun(bench_, rows_, *store, to, has_updates(i), inspects).run();
  }

  std::unique_ptr<GraphStore> make_store(std::size_t i) {
    HeapJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.seconds = bench_.settings.seconds;
    if (candidates_[i].entry) job.options = candidates_[i].entry->options;
    std::unique_ptr<DeviceSteps> steps = device_steps(job.device, job.seconds);
    if (row(i).layout == GraphLayout::pages)
      return std::make_unique<PageGraph>(job.device, std::move(steps), job.pool);
    if (row(i).layout == GraphLayout::csr)
      return std::make_unique<CsrGraph>(job.device, std::move(steps));
    return std::make_unique<BlockGraph>(
        job, candidates_[i].entry->on(bench_.device.id.kind)->adjacency_heap(job), std::move(steps),
        bench_.settings.init);
  }

  void judge(std::size_t i) override {
    GraphRow& row = this->row(i);
    std::string reason = reason_of_few_runs(i, row.reset_ms.size());
    if (row.reset_ms.empty()) {  // interrupted
      if (!warm_ups_[i]) return;
      keep_warm_up(i);
      reason = "interrupted: only the warm-up";
    }
    if (const std::uint64_t overlaps = row.memory ? row.memory->overlaps : 0; overlaps > 0) {
      row.status = Status::failed;
      row.reason = fmt::format("{} blocks overlap", count_text(overlaps));
      return;
    }
    if (!row.cut.empty()) reason += (reason.empty() ? "slow: " : ", ") + row.cut;
    row.status = Status::ok;
    if (row.refused > 0) {
      row.status = Status::incomplete;
      reason +=
          fmt::format("{}pool of {} exhausted: {} requests refused", reason.empty() ? "" : "; ",
                      size_text(row.pool_bytes), count_text(row.refused));
    } else if (reason.empty() && !has_updates(i)) {
      reason = "cannot free single blocks: no updates";
    }
    row.reason = std::move(reason);
  }

  const GraphBench& bench_;
  // Rows with the samples of warm-ups; none if not complete.
  std::vector<std::optional<GraphRow>> warm_ups_;
  simt::Memory memory_;
  DeviceRows rows_;
};

// Whether a row has the hash of the edges after each phase. It has not if the budget has cut it, or
// if an allocator that cannot free has no updates.
bool is_whole(const GraphRow& row) {
  return row.cut.empty() &&
         (row.layout != GraphLayout::blocks || row.frees == alloc::Frees::individually);
}

bool has_same_edges(const GraphRow& a, const GraphRow& b) {
  if (is_whole(a) && is_whole(b)) return a.hashes == b.hashes;
  const std::size_t shared = std::min(a.hashes.size(), b.hashes.size());
  return std::equal(a.hashes.begin(), a.hashes.begin() + static_cast<std::ptrdiff_t>(shared),
                    b.hashes.begin());
}

// Checks that all rows without refusals, including those of an earlier report, have the same edges
// after each phase and the same number of triangles.
void compare(std::vector<GraphRow>& rows) {
  const auto is_compared = [](const GraphRow& row) { return row.status == Status::ok; };
  // The reference is the first of the rows that are cut least.
  const GraphRow* reference = nullptr;
  for (const GraphRow& row : rows) {
    if (is_compared(row) && (reference == nullptr || row.hashes.size() > reference->hashes.size()))
      reference = &row;
  }
  for (GraphRow& row : rows) {
    if (!is_compared(row)) continue;
    const bool triangles = row.triangles == reference->triangles;
    if (has_same_edges(row, *reference) && triangles) continue;
    row.status = Status::failed;
    row.reason = fmt::format("{} differ from those of {}", triangles ? "edges" : "triangles",
                             reference->label);
  }
}

}  // namespace

std::uint64_t pool_bytes(const PoolSize& pool, const HostGraph& graph, std::uint64_t max_batch) {
  if (pool.kind == PoolSize::Kind::bytes) return pool.bytes;
  const std::uint64_t requested = requested_bytes(graph);
  // Automatic: 4 times the blocks, which grow by powers of two and are freed after their copy.
  const std::uint64_t bytes =
      pool.kind == PoolSize::Kind::root_multiple
          ? static_cast<std::uint64_t>(pool.multiple * static_cast<double>(requested))
          : 4 * requested + 64 * max_batch + (std::uint64_t{64} << 20);
  return std::max<std::uint64_t>((bytes + 255) / 256 * 256, 4096);
}

std::uint64_t pool_bytes(const GraphBench& bench) {
  const std::vector<std::uint32_t>& batches = bench.settings.batches;
  return pool_bytes(bench.settings.pool, *bench.host, *std::ranges::max_element(batches));
}

GraphRow graph_row_head(const GraphBench& bench) {
  GraphRow head;
  head.graph = bench.graph;
  head.digest = bench.digest;
  head.vertices = bench.host->vertices();
  head.edges = bench.host->edges();
  for (std::uint32_t v = 0; v < head.vertices; ++v)
    head.max_degree = std::max(head.max_degree, bench.host->degree(v));
  head.settings = bench.settings;
  head.reason = interrupted_reason;
  return head;
}

std::vector<GraphRow> run_graph(const GraphBench& bench, const OnStep& on_step) {
  if (bench.host->vertices() == 0) throw Error(Exit::failed, "graph: the graph has no vertices");
  const GraphRow head = graph_row_head(bench);
  std::vector<GraphRow> rows;
  Allocators entries;
  for (const GraphLayout layout : bench.layouts) {
    const bool is_blocks = layout == GraphLayout::blocks;
    for (const Allocator* entry : is_blocks ? bench.allocators : Allocators{nullptr}) {
      GraphRow& row = rows.emplace_back(head);
      row.layout = layout;
      row.allocator = row.label = name(layout);
      if (entry != nullptr) row.set_allocator(*entry->traits);
      entries.push_back(entry);
    }
  }
  std::vector<RowBench::Candidate> candidates =
      candidates_for(rows, entries, bench.kept, [](const GraphRow& earlier, const GraphRow& row) {
        return earlier.layout == row.layout && earlier.allocator == row.allocator;
      });
  const std::size_t steps = candidates.size() * (static_cast<std::size_t>(bench.settings.runs) + 1);
  GraphRunner runner(bench, std::move(candidates), counted_steps(on_step, steps));
  runner.run_all();
  compare(rows);
  return rows;
}

}  // namespace heapwood::bench
