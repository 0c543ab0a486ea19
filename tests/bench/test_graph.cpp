// SPDX-License-Identifier: MIT
// heapwood graph: phases, layouts, tables, JSON and --resume, exhaustion, and errors.
#include <algorithm>

#include "app/output/tables.hpp"
#include "bench/graph_bench.hpp"
#include "bench/program/options.hpp"
#include "tests/app/executable.hpp"
#include "tests/simt/turned_clock.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::tests {
namespace {

class GraphCommand : public Executable {
 protected:
  // A small graph with few updates.
  static std::string graph(const std::string& more) {
    return "graph uniform:300:6 --device cpu --threads 2 --runs 2 --rounds 2 --batch 200 "
           "--iterations 2 " +
           more;
  }
};

TEST_F(GraphCommand, EveryLayoutHasTheSameEdgesAfterEveryPhase) {
  for (const std::string updates : {"random", "pressure"}) {
    const json report =
        run_json(graph("--allocators atomic,cfmmalloc,heapwood --layout all --updates " + updates +
                       " --format json"));
    EXPECT_EQ(report["schema"], "heapwood.graph/1");
    ASSERT_EQ(report["results"].size(), 5u);
    for (const json& result : report["results"]) {
      EXPECT_EQ(result["status"], "ok") << result.dump(1);
      EXPECT_EQ(result["vertices"], 300);
      const bool updates_run = result["allocator"] != "atomic";
      EXPECT_EQ(result["phases"].size(), updates_run ? 6u : 3u) << result.dump(1);
      EXPECT_EQ(result["triangles"], report["results"][0]["triangles"]);
      for (const json& phase : result["phases"]) {
        EXPECT_GE(phase["runs_ms"].size(), 2u);
        EXPECT_GT(phase["median_ms"], 0);
      }
    }
  }
}

TEST_F(GraphCommand, PrintsTables) {
  expect_words(output(graph("--allocators heapwood --layout all")),
               {"uniform:300:6", "Heapwood", "pages", "csr", "PageRank", "triangles", "after init",
                "after mixed updates"});
  const std::string csv = output(graph("--allocators heapwood --phase insert,delete --format csv"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4) << csv;  // titles, init, insert, delete
}

TEST_F(GraphCommand, ResumesWithTheSameSettings) {
  const auto measure = [&](const std::string& allocators, const std::string& seed) {
    output(graph("--phase insert --json @graph.json --resume --seed " + seed + " --allocators " +
                 allocators));
    return json::parse(read_file(folder_ / "graph.json"))["results"];
  };
  const json first = measure("heapwood", "1");
  ASSERT_EQ(first.size(), 1u);
  const json second = measure("heapwood,cfmmalloc", "1");
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0], first[0]);
  const json third = measure("heapwood", "2");  // other settings: measured, and both stay
  ASSERT_EQ(third.size(), 3u);
  EXPECT_NE(third[0], first[0]);
}

TEST(GraphTables, RowsWithoutPhasesShowTheirStatus) {
  bench::GraphRow row;
  row.label = "Heapwood";
  row.status = bench::Status::failed;
  row.reason = "as a test";
  const bench::Table table = app::graph_time_table({row});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].cells.size(), table.columns.size());
  expect_words(bench::to_text(table), {"failed"});
}

TEST_F(GraphCommand, NotesExplainOnlyWhatWasMeasured) {
  const std::string updates = output(graph("--allocators heapwood --phase insert"));
  expect_words(updates, {"updates of edges: one kernel"});
  EXPECT_EQ(updates.find("PageRank: one iteration"), std::string::npos) << updates;
  const std::string init = output(graph("--allocators heapwood --phase init"));
  EXPECT_EQ(init.find("updates of edges"), std::string::npos) << init;
}

class GraphRuns : public testing::Test {
 protected:
  GraphRuns() {
    bench_.graph = source_.name;
    bench_.host = &source_.graph;
    bench_.layouts = bench::parse_layouts("blocks");
    bench_.allocators = bench::find_allocators("heapwood");
    bench_.device = simt::find_device("cpu", 2);
    bench_.settings.phases = bench::parse_phases("insert");
    bench_.settings.batches = {200};
    bench_.settings.pool = bench::parse_pool("auto");
  }
  void TearDown() override { simt::clear_interrupt(); }

  const workloads::graph::GraphSource source_ = workloads::graph::load_graph("uniform:300:6");
  bench::GraphBench bench_;
};

// One run of many rounds may be longer than the budget: it ends there, and its edges, which differ
// from those of the other allocators, are no failure.
TEST_F(GraphRuns, ABudgetEndsTheRounds) {
  bench_.layouts = bench::parse_layouts("blocks,csr");
  bench_.settings.phases = bench::parse_phases("insert,delete,mixed");
  bench_.settings.rounds = 100000;
  bench_.settings.runs = 1;
  bench_.settings.budget_seconds = 0.05;
  const TurnedClock clock(1e-3);
  for (const bench::GraphRow& row : bench::run_graph(bench_, {})) {
    EXPECT_EQ(row.status, bench::Status::ok) << row.reason;
    EXPECT_TRUE(row.reason.starts_with("slow: only the warm-up, ")) << row.reason;
    EXPECT_TRUE(row.reason.ends_with(" of 100000 rounds of insert")) << row.reason;
    EXPECT_GT(row.find(bench::GraphPhase::insert, 200)->ms.size(), 0u);
    EXPECT_EQ(row.find(bench::GraphPhase::mixed, 200)->ms.size(), 1u);
    EXPECT_EQ(row.rounds.size(), 1u);
    EXPECT_LT(row.seconds, 0.2);
  }
}

// Results of an earlier report count, and those that the budget has cut hide no difference of the
// others.
TEST_F(GraphRuns, ResultsThatAreKeptAreCompared) {
  bench_.layouts = bench::parse_layouts("blocks,pages,csr");
  bench_.settings.runs = 1;
  bench_.kept = bench::run_graph(bench_, {});
  ASSERT_EQ(bench_.kept.size(), 3u);
  for (const bench::GraphRow& row : bench_.kept) {
    ASSERT_EQ(row.status, bench::Status::ok) << row.reason;
    ASSERT_GT(row.hashes.size(), 1u);
  }
  bench_.kept[0].cut = "cut by the test";
  bench_.kept[0].hashes.resize(1);
  bench_.kept[2].hashes.back() ^= 1;
  const std::vector<bench::GraphRow> rows = bench::run_graph(bench_, {});
  EXPECT_EQ(rows[0].status, bench::Status::ok) << rows[0].reason;
  EXPECT_EQ(rows[1].status, bench::Status::ok) << rows[1].reason;
  EXPECT_EQ(rows[2].status, bench::Status::failed);
  EXPECT_EQ(rows[2].reason, "edges differ from those of pages");
}

// If an allocator cannot free, the edges after the initialization are compared.
TEST_F(GraphRuns, AllocatorsThatCannotFreeAreCompared) {
  bench_.allocators = bench::find_allocators("heapwood,atomic");
  bench_.settings.runs = 1;
  bench_.kept = bench::run_graph(bench_, {});
  ASSERT_EQ(bench_.kept.size(), 2u);
  for (const bench::GraphRow& row : bench_.kept)
    ASSERT_EQ(row.status, bench::Status::ok) << row.reason;
  ASSERT_EQ(bench_.kept[1].hashes.size(), 1u);
  bench_.kept[1].hashes[0] ^= 1;
  const std::vector<bench::GraphRow> rows = bench::run_graph(bench_, {});
  EXPECT_EQ(rows[0].status, bench::Status::ok) << rows[0].reason;
  EXPECT_EQ(rows[1].status, bench::Status::failed);
  EXPECT_EQ(rows[1].reason, "edges differ from those of Heapwood");
}

// Interrupts the benchmark at an update of its second heap, which is that of the timed run.
class InterruptedHeap : public workloads::graph::AdjacencyHeap {
 public:
  explicit InterruptedHeap(std::unique_ptr<AdjacencyHeap> heap)
      : heap_(std::move(heap)), number_(++heaps) {}
  const alloc::AllocatorTraits& traits() const override { return heap_->traits(); }
  double reset() override { return heap_->reset(); }
  double allocate(const workloads::graph::AllocateArguments& arguments) override {
    return heap_->allocate(arguments);
  }
  double update(const workloads::graph::UpdateArguments& arguments) override {
    if (number_ == 2) simt::interrupt();
    return heap_->update(arguments);
  }
  std::vector<alloc::Region> regions() const override { return heap_->regions(); }

  static inline int heaps = 0;

 private:
  std::unique_ptr<AdjacencyHeap> heap_;
  int number_;
};

// Phases before the interruption are not taken for a complete run, which --resume would keep.
TEST_F(GraphRuns, AnInterruptedRunAddsNothing) {
  for (const bool ample : {true, false}) {
    registry::CompiledAllocator compiled = *registry::find("heapwood")->cpu;
    InterruptedHeap::heaps = 0;
    compiled.adjacency_heap = [](const workloads::graph::HeapJob& job)
        -> std::unique_ptr<workloads::graph::AdjacencyHeap> {
      return std::make_unique<InterruptedHeap>(
          registry::find("heapwood")->cpu->adjacency_heap(job));
    };
    const registry::RegisteredAllocator entry{compiled.traits, &compiled, nullptr};
    bench_.allocators = {&entry};
    bench_.settings.runs = 1;
    bench_.settings.pool = bench::parse_pool(ample ? "auto" : "8K");
    const bench::GraphRow row = bench::run_graph(bench_, {}).front();
    simt::clear_interrupt();
    EXPECT_EQ(row.status, ample ? bench::Status::ok : bench::Status::incomplete);
    EXPECT_TRUE(row.reason.starts_with("interrupted: only the warm-up")) << row.reason;
    EXPECT_EQ(row.reason.ends_with("requests refused"), !ample) << row.reason;
    ASSERT_NE(row.find(bench::GraphPhase::insert, 200), nullptr);
    EXPECT_FALSE(row.find(bench::GraphPhase::insert, 200)->ms.empty());
  }
}

// Both settings make one graph and request its blocks in different orders. Files without the
// setting are those of `each`.
TEST_F(GraphCommand, CountedInitializationGivesTheSameGraph) {
  json hashes;
  for (const std::string init : {"each", "counted"}) {
    const json report =
        run_json(graph("--allocators cfmmalloc,heapwood --layout all --phase insert --init " +
                       init + " --format json"));
    for (const json& result : report["results"]) {
      EXPECT_EQ(result["status"], "ok") << result.dump(1);
      EXPECT_EQ(result["settings"].value("init", "each"), init);
      EXPECT_EQ(result["edge_hashes"], report["results"][0]["edge_hashes"]);
    }
    if (hashes.empty()) hashes = report["results"][0]["edge_hashes"];
    EXPECT_EQ(report["results"][0]["edge_hashes"], hashes);
  }
  expect_words(output(graph("--allocators heapwood --init counted")), {"size classes are counted"});
}

TEST_F(GraphCommand, ExhaustionIsReported) {
  const std::string small = graph("--allocators cfmmalloc --phase insert --pool 14K");
  expect_words(output(small), {"requests refused"});
  expect_error(small + " --strict", 5, {"cfmmalloc", "refused", "--pool"});
}

}  // namespace
}  // namespace heapwood::tests
