// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/graph_bench.hpp"
#include "bench/graph_updates.hpp"
#include "bench/interleaved_runner.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/block_graph.hpp"
#include "workloads/graph/csr_graph.hpp"
#include "workloads/graph/page_graph.hpp"

namespace heapwood::bench {

namespace {

using namespace workloads::graph;

struct Candidate {
  const registry::RegisteredAllocator* entry;  // nullptr: a layout without an allocator
  GraphRow* row;
  bool running = true;
  bool updates = true;  // blocks can be freed
  GraphRow warm_up;     // its samples
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

std::uint64_t max_degree(const HostGraph& graph) {
  std::uint64_t degree = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) degree = std::max(degree, graph.degree(v));
  return degree;
}

// Vertices per batch of vertices: with about as many edges as a batch of edges has, and at most a
// tenth of the graph.
std::uint32_t vertex_batch(const HostGraph& graph, std::uint32_t edges) {
  const std::uint64_t mean = std::max<std::uint64_t>(1, graph.edges() / graph.vertices());
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(edges / mean, 1, graph.vertices() / 10 + 1));
}

std::uint64_t pool_size(const GraphBench& bench) {
  const GraphSettings& settings = bench.settings;
  if (settings.pool.kind == PoolSize::Kind::bytes) return settings.pool.bytes;
  const std::uint64_t bytes = requested_bytes(*bench.host);
  std::uint64_t pool = 0;
  if (settings.pool.kind == PoolSize::Kind::root_multiple) {
    pool = static_cast<std::uint64_t>(settings.pool.multiple * static_cast<double>(bytes));
  } else {
    // Blocks grow by powers of two, and the old block is freed after the new one is in use.
    const std::uint64_t batch = *std::max_element(settings.batches.begin(), settings.batches.end());
    pool = 4 * bytes + 64 * batch + (std::uint64_t{64} << 20);
  }
  return std::max<std::uint64_t>((pool + 255) / 256 * 256, 4096);
}

// Executes all phases once.
class GraphRun {
 public:
  GraphRun(const GraphBench& bench, const DeviceRows& rows, GraphStore& store, bool updates,
           bool inspects, GraphRow& row)
      : bench_(bench),
        rows_(rows),
        store_(store),
        inspects_(inspects),
        row_(row),
        updates_(updates) {}

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
    for (PhaseSamples& one : row_.phases) {
      if (one.phase == phase && one.batch == batch) return one;
    }
    row_.phases.push_back({});
    row_.phases.back().phase = phase;
    row_.phases.back().batch = batch;
    return row_.phases.back();
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
      // Other edges than those of insert_and_remove().
      std::vector<EdgeKey> edges =
          update_batch(bench_.settings, rows_.vertices, batch, round + (1u << 16));
      remove_common(edges, old);
      add(GraphPhase::mixed, batch, store_.update(edges, old));
      old = std::move(edges);
      if (inspects_ && (round % steps == 0 || round + 1 == rounds))
        row_.rounds.push_back({round, batch, store_.memory()});
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
    }
    inspect();
  }

  void inspect() {
    if (inspects_) row_.hashes.push_back(store_.edge_hash());
  }

  const GraphBench& bench_;
  const DeviceRows& rows_;
  GraphStore& store_;
  bool inspects_;
  GraphRow& row_;
  bool updates_;
};

class GraphRunner {
 public:
  GraphRunner(const GraphBench& bench, std::vector<Candidate> candidates,
              std::function<void(const std::string&)> step)
      : bench_(bench),
        candidates_(std::move(candidates)),
        runner_(run_candidates(), bench.settings.runs, 1e3 * bench.settings.budget_seconds,
                [this, step = std::move(step)](std::size_t i, const std::string& what) {
                  step(fmt::format("{}: {}", candidates_[i].row->label, what));
                }) {}
  GraphRunner(const GraphRunner&) = delete;  // the callbacks refer to it
  GraphRunner& operator=(const GraphRunner&) = delete;

  void run() {
    prepare();
    runner_.warm_up();
    runner_.measure();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      candidates_[i].row->seconds = runner_.seconds(i);
      judge(i);
    }
    compare();
  }

 private:
  std::vector<RunCandidate> run_candidates() {
    std::vector<RunCandidate> all;
    for (Candidate& candidate : candidates_) {
      RunCandidate one;
      one.warm_up = [this, &candidate] {
        execute(candidate, true, candidate.warm_up);
        GraphRow& row = *candidate.row;
        const GraphRow& seen = candidate.warm_up;
        row.memory = seen.memory;
        row.rounds = seen.rounds;
        row.hashes = seen.hashes;
        row.triangles = seen.triangles;
        row.levels = seen.levels;
        row.refused = seen.refused;
        return std::nullopt;
      };
      one.run = [this, &candidate] {
        execute(candidate, false, *candidate.row);
        return std::nullopt;
      };
      one.keep_warm_up = [&candidate] {
        candidate.row->phases = candidate.warm_up.phases;
        candidate.row->reset_ms = candidate.warm_up.reset_ms;
      };
      one.running = [&candidate] { return candidate.running; };
      one.fail = [this, &candidate](const std::exception& error) {
        candidate.running = false;
        candidate.row->status = Status::failed;
        candidate.row->reason = failure_text(error);
      };
      all.push_back(std::move(one));
    }
    return all;
  }

  std::string failure_text(const std::exception& error) const {
    if (!dynamic_cast<const simt::Stopped*>(&error)) return error.what();
    return fmt::format("a kernel did not finish within {} s (--seconds)",
                       figure_text(bench_.settings.seconds));
  }

  void prepare() {
    const std::uint64_t pool_bytes = pool_size(bench_);
    const GraphSettings& settings = bench_.settings;
    max_vertices_ = bench_.host->vertices();
    if (settings.has(GraphPhase::insert_vertices) || settings.has(GraphPhase::delete_vertices)) {
      max_vertices_ +=
          std::uint64_t{settings.rounds} * vertex_batch(*bench_.host, settings.batches.front());
    }
    for (Candidate& candidate : candidates_) {
      candidate.row->pool_bytes = pool_bytes;
      if (candidate.entry == nullptr) continue;
      const alloc::AllocatorTraits& traits = *candidate.entry->traits;
      if (candidate.entry->on(bench_.device.id.kind) == nullptr) {
        skip(candidate, "not compiled for " + bench_.device.key);
      } else if (pool_bytes < traits.smallest_pool) {
        skip(candidate,
             fmt::format("needs a pool of at least {}", bytes_text(traits.smallest_pool)));
      } else if (!traits.keeps_live_memory) {
        skip(candidate, "may hand out memory in use");
      } else if (traits.frees != alloc::Frees::individually) {
        candidate.updates = false;
      }
    }
    const bool any = std::any_of(candidates_.begin(), candidates_.end(),
                                 [](const Candidate& candidate) { return candidate.running; });
    if (!any) return;
    rows_ = DeviceRows(bench_.device.id, *bench_.host);
    if (std::any_of(candidates_.begin(), candidates_.end(), [](const Candidate& candidate) {
          return candidate.row->layout != GraphLayout::csr;
        }))
      memory_ = simt::Memory(bench_.device.id, pool_bytes);
  }

  void execute(Candidate& candidate, bool inspects, GraphRow& row) {
    const std::unique_ptr<GraphStore> store = make_store(candidate);
    GraphRun(bench_, rows_, *store, candidate.updates, inspects, row).run();
  }

  std::unique_ptr<GraphStore> make_store(const Candidate& candidate) {
    HeapJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.seconds = bench_.settings.seconds;
    const auto max_vertices = static_cast<std::uint32_t>(max_vertices_);
    std::unique_ptr<DeviceSteps> steps = device_steps(job.device, job.seconds);
    if (candidate.row->layout == GraphLayout::pages)
      return std::make_unique<PageGraph>(job.device, std::move(steps), job.pool, max_vertices);
    if (candidate.row->layout == GraphLayout::csr)
      return std::make_unique<CsrGraph>(job.device, std::move(steps), max_vertices);
    return std::make_unique<BlockGraph>(
        job, candidate.entry->on(bench_.device.id.kind)->adjacency_heap(job), std::move(steps),
        max_vertices);
  }

  static void skip(Candidate& candidate, const std::string& reason) {
    candidate.running = false;
    candidate.row->reason = reason;
  }

  void judge(std::size_t i) const {
    const Candidate& candidate = candidates_[i];
    GraphRow& row = *candidate.row;
    if (!candidate.running) return;
    const std::size_t runs = row.reset_ms.size();
    if (runs == 0) {
      row.reason = interrupted_reason;
      return;
    }
    const std::uint64_t overlaps = row.memory ? row.memory->overlaps : 0;
    row.reason.clear();
    if (overlaps > 0) {
      row.status = Status::failed;
      row.reason = fmt::format("{} blocks overlap", count_text(overlaps));
    } else if (row.refused > 0) {
      row.status = Status::incomplete;
      row.reason = fmt::format("pool of {} exhausted: {} requests refused",
                               size_text(row.pool_bytes), count_text(row.refused));
    } else {
      row.status = Status::ok;
      if (!candidate.updates) row.reason = "cannot free single blocks: no updates";
      if (runner_.only_warm_up(i)) {
        row.reason = "slow: only the warm-up";
      } else if (runs < static_cast<std::size_t>(bench_.settings.runs)) {
        row.reason =
            fmt::format("{} {} of {} runs", runner_.stopped() ? "interrupted after" : "slow: only",
                        runs, bench_.settings.runs);
      }
    }
  }

  // All candidates without refusals have the same edges after each phase, and the same triangles.
  void compare() const {
    const GraphRow* first = nullptr;
    for (const Candidate& candidate : candidates_) {
      GraphRow& row = *candidate.row;
      if (row.status != Status::ok || !candidate.updates) continue;
      if (first == nullptr) first = &row;
      const bool levels = row.levels == first->levels,
                 triangles = row.triangles == first->triangles;
      if (row.hashes == first->hashes && levels && triangles) continue;
      row.status = Status::failed;
      row.reason = fmt::format("{} differ from those of {}",
                               !triangles ? "triangles"
                               : !levels  ? "BFS levels"
                                          : "edges",
                               first->label);
    }
  }

  const GraphBench& bench_;
  std::vector<Candidate> candidates_;
  simt::Memory memory_;
  DeviceRows rows_;
  std::uint64_t max_vertices_ = 0;
  InterleavedRunner runner_;
};

}  // namespace

GraphRow graph_row_head(const GraphBench& bench) {
  GraphRow head;
  head.graph = bench.graph;
  head.digest = bench.digest;
  head.vertices = bench.host->vertices();
  head.edges = bench.host->edges();
  head.max_degree = max_degree(*bench.host);
  head.settings = bench.settings;
  head.reason = interrupted_reason;
  return head;
}

std::vector<GraphRow> run_graph(const GraphBench& bench, const GraphEvents& events) {
  if (bench.host->vertices() == 0) throw Error(Exit::failed, "graph: the graph has no vertices");
  const GraphRow head = graph_row_head(bench);
  std::vector<GraphRow> rows;
  std::vector<const registry::RegisteredAllocator*> entries;
  for (const GraphLayout layout : bench.layouts) {
    if (layout != GraphLayout::blocks) {
      rows.push_back(head);
      rows.back().layout = layout;
      rows.back().allocator = rows.back().label = name(layout);
      entries.push_back(nullptr);
      continue;
    }
    for (const registry::RegisteredAllocator* entry : bench.allocators) {
      rows.push_back(head);
      rows.back().allocator = entry->traits->id;
      rows.back().label = entry->traits->label;
      rows.back().frees = entry->traits->frees;
      rows.back().lower_bound = entry->traits->lower_bound;
      entries.push_back(entry);
    }
  }
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto kept =
        std::find_if(bench.kept.begin(), bench.kept.end(), [&](const GraphRow& earlier) {
          return earlier.layout == rows[i].layout && earlier.allocator == rows[i].allocator;
        });
    if (kept != bench.kept.end()) {
      rows[i] = *kept;
    } else {
      candidates.push_back({entries[i], &rows[i], true, true, {}});
    }
  }
  const std::size_t steps = candidates.size() * (static_cast<std::size_t>(bench.settings.runs) + 1);
  std::size_t done = 0;
  GraphRunner runner(bench, std::move(candidates), [&](const std::string& what) {
    if (events.progress) events.progress(done, steps, what);
    ++done;
  });
  runner.run();
  return rows;
}

}  // namespace heapwood::bench
