// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/graph_bench.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/row_bench.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/store.hpp"

namespace heapwood::bench {

namespace {

using namespace workloads::graph;

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
    GraphRow copy = row(i);  // an interrupted run adds nothing
    execute(i, false, copy);
    row(i) = std::move(copy);
    return {};
  }

  void keep_warm_up(std::size_t i) override {
    row(i).phases = warm_ups_[i]->phases;
    row(i).reset_ms = warm_ups_[i]->reset_ms;
  }

  std::string time_limit_text() const override {
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
        throw_error(Exit::usage,
                    "graph: {} rounds would insert more vertices than a "
                    "graph can have (2^32); use fewer --rounds or a "
                    "smaller --batch",
                    settings.rounds);
      }
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      row(i).pool_bytes = pool_bytes;
      const Allocator* entry = candidates_[i].entry;
      if (entry == nullptr) continue;
      const std::string reason = reason_not_to_run(*entry, bench_.device, pool_bytes);
      if (!reason.empty())
        skip(i, reason);
      else if (!entry->traits->keeps_live_memory)
        skip(i, "may hand out memory in use");
    }
    if (!any_running()) return;
    rows_ = DeviceRows(bench_.device.id, *bench_.host);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (row(i).layout == GraphLayout::csr) continue;
      memory_ = simt::Memory(bench_.device.id, pool_bytes);
      break;
    }
  }

  // Blocks can be freed.
  bool has_updates(std::size_t i) const {
    return row(i).layout != GraphLayout::blocks || row(i).frees == alloc::Frees::individually;
  }

  void execute(std::size_t i, bool inspects, GraphRow& to) {
    const std::unique_ptr<GraphStore> store = make_store(i);
    execute_phases({bench_, rows_, has_updates(i), inspects}, *store, to);
  }

  std::unique_ptr<GraphStore> make_store(std::size_t i) {
    HeapJob job;
    job.device = bench_.device.id;
    job.pool = {memory_.data(), memory_.bytes()};
    job.seconds = bench_.settings.seconds;
    if (candidates_[i].entry) job.options = candidates_[i].entry->options;
    const auto max_vertices = static_cast<std::uint32_t>(max_vertices_);
    std::unique_ptr<DeviceSteps> steps = device_steps(job.device, job.seconds);
    if (row(i).layout == GraphLayout::pages)
      return std::make_unique<PageGraph>(job.device, std::move(steps), job.pool, max_vertices);
    if (row(i).layout == GraphLayout::csr)
      return std::make_unique<CsrGraph>(job.device, std::move(steps), max_vertices);
    return std::make_unique<BlockGraph>(
        job, candidates_[i].entry->on(bench_.device.id.kind)->adjacency_heap(job), std::move(steps),
        max_vertices, bench_.settings.init);
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
  std::vector<std::optional<GraphRow>> warm_ups_;  // their samples; none if not complete
  simt::Memory memory_;
  DeviceRows rows_;
  std::uint64_t max_vertices_ = 0;
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
