// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/graph_bench.hpp"
#include "bench/graph_phases.hpp"
#include "bench/interleaved_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/csr_graph.hpp"
#include "workloads/graph/page_graph.hpp"

namespace heapwood::bench {

namespace {

using namespace workloads::graph;

struct Candidate {
  const registry::RegisteredAllocator* entry;  // nullptr: a layout without an allocator
  GraphRow* row;
  bool running = true;
  bool updates = true;       // blocks can be freed
  GraphRow warm_up;          // its samples
  bool has_warm_up = false;  // complete
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
        row.cut = seen.cut;
        candidate.has_warm_up = true;
        return std::nullopt;
      };
      one.run = [this, &candidate] {
        GraphRow row = *candidate.row;  // an interrupted run adds nothing
        execute(candidate, false, row);
        *candidate.row = std::move(row);
        return std::nullopt;
      };
      one.keep_warm_up = [&candidate] { keep_warm_up(candidate); };
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

  static void keep_warm_up(const Candidate& candidate) {
    candidate.row->phases = candidate.warm_up.phases;
    candidate.row->reset_ms = candidate.warm_up.reset_ms;
  }

  std::string failure_text(const std::exception& error) const {
    if (!dynamic_cast<const simt::Stopped*>(&error)) return reason_text(error);
    return fmt::format("a kernel did not finish within {} s (--seconds)",
                       figure_text(bench_.settings.seconds));
  }

  void prepare() {
    const GraphSettings& settings = bench_.settings;
    const std::uint64_t pool_bytes = bench::pool_bytes(bench_);
    max_vertices_ = bench_.host->vertices();
    if (settings.has(GraphPhase::insert_vertices) || settings.has(GraphPhase::delete_vertices)) {
      max_vertices_ +=
          std::uint64_t{settings.rounds} * vertex_batch(*bench_.host, settings.batches.front());
      if (max_vertices_ > ~std::uint32_t{0}) {
        throw Error(Exit::usage, fmt::format("graph: {} rounds would insert more vertices than a "
                                             "graph can have (2^32); use fewer --rounds or a "
                                             "smaller --batch",
                                             settings.rounds));
      }
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
    execute_phases({bench_, rows_, candidate.updates, inspects}, *store, row);
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
        max_vertices, bench_.settings.init);
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
    const bool only_warm_up = runs == 0 && candidate.has_warm_up;  // interrupted
    if (only_warm_up) keep_warm_up(candidate);
    if (runs == 0 && !only_warm_up) {
      row.reason = interrupted_reason;
      return;
    }
    const std::uint64_t overlaps = row.memory ? row.memory->overlaps : 0;
    if (overlaps > 0) {
      row.status = Status::failed;
      row.reason = fmt::format("{} blocks overlap", count_text(overlaps));
      return;
    }
    const bool has_all_runs = runs >= static_cast<std::size_t>(bench_.settings.runs);
    std::string reason;
    if (only_warm_up) {
      reason = "interrupted: only the warm-up";
    } else if (runner_.only_warm_up(i)) {
      reason = "slow: only the warm-up";
    } else if (!has_all_runs) {
      reason =
          fmt::format("{} {} of {} runs", runner_.stopped() ? "interrupted after" : "slow: only",
                      runs, bench_.settings.runs);
    }
    if (!row.cut.empty()) reason += (reason.empty() ? "slow: " : ", ") + row.cut;
    row.status = Status::ok;
    if (row.refused > 0) {
      row.status = Status::incomplete;
      reason +=
          fmt::format("{}pool of {} exhausted: {} requests refused", reason.empty() ? "" : "; ",
                      size_text(row.pool_bytes), count_text(row.refused));
    } else if (reason.empty() && !candidate.updates) {
      reason = "cannot free single blocks: no updates";
    }
    row.reason = std::move(reason);
  }

  const GraphBench& bench_;
  std::vector<Candidate> candidates_;
  simt::Memory memory_;
  DeviceRows rows_;
  std::uint64_t max_vertices_ = 0;
  InterleavedRunner runner_;
};

// Whether a row has the edges after each phase: not if the budget has cut it, nor if an allocator
// that cannot free has no updates.
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

// All rows without refusals have the same edges after each phase, and the same triangles; also
// those of an earlier report.
void compare(std::vector<GraphRow>& rows) {
  const auto is_compared = [](const GraphRow& row) { return row.status == Status::ok; };
  // The first one of those that are cut least.
  const GraphRow* reference = nullptr;
  for (const GraphRow& row : rows) {
    if (is_compared(row) && (reference == nullptr || row.hashes.size() > reference->hashes.size()))
      reference = &row;
  }
  for (GraphRow& row : rows) {
    if (!is_compared(row)) continue;
    const bool levels = row.levels == reference->levels,
               triangles = row.triangles == reference->triangles;
    if (has_same_edges(row, *reference) && levels && triangles) continue;
    row.status = Status::failed;
    row.reason = fmt::format("{} differ from those of {}",
                             !triangles ? "triangles"
                             : !levels  ? "BFS levels"
                                        : "edges",
                             reference->label);
  }
}

}  // namespace

std::uint64_t pool_bytes(const PoolSize& pool, const HostGraph& graph, std::uint64_t max_batch) {
  if (pool.kind == PoolSize::Kind::bytes) return pool.bytes;
  const std::uint64_t requested = requested_bytes(graph);
  // Blocks grow by powers of two, and the old block is freed after the new one is in use.
  const std::uint64_t bytes =
      pool.kind == PoolSize::Kind::root_multiple
          ? static_cast<std::uint64_t>(pool.multiple * static_cast<double>(requested))
          : 4 * requested + 64 * max_batch + (std::uint64_t{64} << 20);
  return std::max<std::uint64_t>((bytes + 255) / 256 * 256, 4096);
}

std::uint64_t pool_bytes(const GraphBench& bench) {
  const std::vector<std::uint32_t>& batches = bench.settings.batches;
  return pool_bytes(bench.settings.pool, *bench.host,
                    *std::max_element(batches.begin(), batches.end()));
}

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
  compare(rows);
  return rows;
}

}  // namespace heapwood::bench
