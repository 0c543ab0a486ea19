// SPDX-License-Identifier: MIT
// heapwood replay and build --record-trace: tables, JSON and --resume, exhaustion, errors; the
// choice of two allocators.
#include <algorithm>

#include "alloc/recording/trace_file.hpp"
#include "bench/program/options.hpp"
#include "bench/replay_bench.hpp"
#include "tests/app/executable.hpp"
#include "tests/workloads/program_traces.hpp"

namespace heapwood::tests {
namespace {

class ReplayCommand : public Executable {
 protected:
  void SetUp() override {
    Executable::SetUp();
    trace_ = folder_ / "program.trace";
    write_file(trace_, alloc::program_trace_file(
                           random_trace({.warps = 4, .lanes = 2, .kernels = 2, .events = 500})));
  }
  std::string replay(const std::string& more, int runs = 3,
                     const std::string& allocators = "atomic,cmalloc,heapwood") const {
    return "replay " + trace_ + " --device cpu --threads 2 --runs " + std::to_string(runs) +
           " --allocators " + allocators + " " + more;
  }

  std::string trace_;
};

TEST_F(ReplayCommand, RefusesUnreadableTraces) {
  const std::string good = read_file(trace_), bad = folder_ / "bad.trace";
  write_file(bad, good.substr(0, good.size() / 2));
  expect_error("replay " + bad, 3, {"bad.trace", "truncated"});
  write_file(bad, good.substr(0, good.size() - 1) + "\x7f");
  expect_error("replay " + bad, 3, {"bad.trace", "checksum"});
  write_file(bad, "");
  expect_error("replay " + bad, 3, {"bad.trace", "not a program trace"});
  write_file(bad, alloc::program_trace_file({}));
  expect_error("replay " + bad, 3, {"bad.trace", "no requests"});
}

// heapwood-replay, which a build with CUDA makes only on request.
TEST_F(ReplayCommand, IsAlsoAProgram) {
  if (!std::filesystem::exists(HEAPWOOD_REPLAY)) GTEST_SKIP() << "heapwood-replay is not built";
  const std::string measured = trace_ + " --device cpu --runs 1 --allocators halloc,heapwood";
  for (const auto& arguments : std::initializer_list<std::string>{
           "", "--help", "list", "none.trace", "--nonsense", trace_ + " --dry-run", measured}) {
    Outcome command = run("replay " + arguments),
            program = Running(HEAPWOOD_REPLAY, arguments_of(arguments)).wait();
    EXPECT_EQ(program.exit, command.exit) << arguments;
    EXPECT_EQ(program.err, command.err);
    if (arguments == measured) {  // the times differ, the line above the table does not
      expect_words(program.out, {"Halloc", "Heapwood", "For speed"});
      for (Outcome* const one : {&command, &program}) one->out.resize(one->out.find('\n'));
    }
    EXPECT_EQ(program.out, command.out);
  }
}

TEST_F(ReplayCommand, PrintsTables) {
  expect_words(output(replay("--pool auto,2x")), {"program.trace", "AtomicMalloc *", "Heapwood",
                                                  "held [MiB]", "pool ", "(2x)", "speed"});
  expect_words(output(replay("--format markdown", 1)), {"| Heapwood", "fewer than three runs"});
}

TEST_F(ReplayCommand, SaysWhatATraceContains) {
  expect_words(output("replay " + trace_ + " --dry-run"),
               {"requests", "in use at the peak", "size of a request", "up to 256 B",
                "events from a request to its free"});
  // One note says of each kind of event what is missing.
  alloc::ProgramTrace cut = random_trace({});
  cut.dropped = 5;
  write_file(trace_, alloc::program_trace_file(cut));
  expect_words(run("replay " + trace_ + " --dry-run").err, {"5 events are missing"});
}

TEST_F(ReplayCommand, WritesAndResumesJson) {
  const std::string path = folder_ / "replay.json";
  output(replay("--json " + path, 3, "cmalloc"));
  const json before = json::parse(read_file(path));
  EXPECT_EQ(before["schema"], "heapwood.replay/1");
  const json& result = before["results"][0];
  EXPECT_EQ(result["status"], "ok") << result.dump(1);
  EXPECT_EQ(result["runs_ms"].size(), 3u);
  EXPECT_EQ(result["refused"], 0);
  EXPECT_EQ(result["memory"]["peak_held_bytes"].size(), 3u);
  EXPECT_GE(result["memory"]["held_over_live"], 1.0);
  EXPECT_GE(result["memory"]["over_time"].size(), 32u);
  EXPECT_EQ(result["memory"]["peak"]["live_bytes"], before["trace"]["peak_bytes"]);
  output(replay("--json " + path + " --resume"));
  const json after = json::parse(read_file(path));
  ASSERT_EQ(after["results"].size(), 3u);
  EXPECT_EQ(after["results"][1]["runs_ms"], result["runs_ms"]);
  // Results with another number of runs are replaced, so that the file can be compared.
  output(replay("--json " + path + " --resume", 1));
  EXPECT_EQ(json::parse(read_file(path))["results"].size(), 3u);
  output("compare " + path + " " + path);
}

class ReplayRuns : public testing::Test {
 protected:
  ReplayRuns() : trace_(random_trace({})) {
    bench_.name = "program.trace";
    bench_.trace = &trace_;
    bench_.summary = workloads::summarize(trace_);
    bench_.allocators = bench::find_allocators("heapwood");
    bench_.settings.runs = 1;
    bench_.settings.samples = 2;
    bench_.device = simt::find_device("cpu", 2);
  }
  void TearDown() override { simt::clear_interrupt(); }

  // Runs two pools; the earlier report has a result in this one.
  void keep_result_in(const std::string& pool) {
    bench_.settings.pools = bench::parse_peak_pools("3x,4x", true);
    bench::ReplayRow kept;
    kept.allocator = "heapwood";
    kept.pool = pool;
    kept.status = bench::Status::ok;
    kept.runs_ms = {1234.5};
    bench_.kept = {kept};
  }

  alloc::ProgramTrace trace_;
  bench::ReplayBench bench_;
};

TEST_F(ReplayRuns, AnInterruptionKeepsEarlierRowsOfLaterPools) {
  keep_result_in("4x");
  const std::vector<bench::ReplayRow> rows = bench::run_replay(
      bench_, [](std::size_t, std::size_t, const std::string&) { simt::interrupt(); });
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].status, bench::Status::skipped);
  EXPECT_EQ(rows[1].status, bench::Status::ok);
  EXPECT_EQ(rows[1].runs_ms, std::vector<double>{1234.5});
}

// The memory of a row comes from all inspections: --resume would keep fewer for good.
TEST_F(ReplayRuns, AnInterruptedInspectionLeavesNoMemory) {
  static int inspections;
  inspections = 0;
  registry::CompiledAllocator compiled = *bench_.allocators.front()->cpu;
  compiled.replay = [](const workloads::ReplayJob& job) -> workloads::ReplayResult {
    if (job.inspected != nullptr && ++inspections == 2) simt::interrupt();
    return registry::find("heapwood")->cpu->replay(job);
  };
  const registry::RegisteredAllocator entry{compiled.traits, &compiled, nullptr};
  bench_.allocators = {&entry};
  const bench::ReplayRow row = bench::run_replay(bench_, {}).front();
  EXPECT_EQ(inspections, 2);
  EXPECT_EQ(row.status, bench::Status::ok);
  EXPECT_EQ(row.reason, "interrupted before the memory was inspected");
  EXPECT_EQ(row.runs_ms.size(), 1u);
  EXPECT_TRUE(row.samples.empty());
  EXPECT_TRUE(row.peak_held_bytes.empty());
}

TEST_F(ReplayRuns, ProgressCountsOnlyWhatIsMeasured) {
  keep_result_in("3x");
  std::size_t steps = 0, last = 0, total = 0;
  const auto count = [&](std::size_t done, std::size_t of, const std::string&) {
    ++steps;
    last = done;
    total = of;
  };
  bench::run_replay(bench_, count);
  EXPECT_EQ(last + 1, steps);
  EXPECT_EQ(total, steps);
}

TEST_F(ReplayRuns, APoolThatCannotBeAllocatedFailsItsRowsOnly) {
  bench_.settings.pools = bench::parse_peak_pools("4x,900T,5x", true);
  const std::vector<bench::ReplayRow> rows = bench::run_replay(bench_, {});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].status, bench::Status::ok) << rows[0].reason;
  EXPECT_EQ(rows[1].status, bench::Status::failed);
  EXPECT_FALSE(rows[1].reason.empty());
  EXPECT_EQ(rows[2].status, bench::Status::ok) << rows[2].reason;
}

TEST_F(ReplayCommand, RefusedRequestsAreReported) {
  write_file(trace_, alloc::program_trace_file(random_trace({.max_bytes = 3000})));
  expect_words(output(replay("--pool 32K", 1, "cmalloc")),
               {"requests refused, first one of", "Undecided"});
  EXPECT_EQ(run(replay("--pool 32K --strict", 1, "cmalloc")).exit, 5);
}

TEST_F(ReplayCommand, CsvHasALinePerAllocatorAndPool) {
  const std::string outcome = output(replay("--format csv --pool 1M,64x --samples 2", 1));
  EXPECT_EQ(std::ranges::count(outcome, '\n'), 7) << outcome;
}

TEST_F(ReplayCommand, RecordsABuild) {
  const std::string scene = folder_ / "scene.obj", path = folder_ / "build.trace";
  write_file(scene, obj_text(300));
  expect_words(output("build " + scene + " --device cpu --threads 2 --record-trace " + path),
               {"in 1 kernel"});
  const alloc::ProgramTrace trace = alloc::read_program_trace(read_file(path), path);
  EXPECT_EQ(trace.dropped + trace.refused + trace.unmatched, 0u);
  EXPECT_GT(trace.requests, 100u);
  EXPECT_EQ(trace.events.size(), 2u * trace.requests);  // a build frees everything
  expect_words(trace.source, {"build scene"});
  trace_ = path;
  output(replay("", 1));
  expect_error("build " + scene + " --record-trace " + scene, 2, {"already used"});
}

// A trace of a graph and one of a stress test: several kernels, and requests of single lanes.
TEST_F(ReplayCommand, RecordsAGraphAndAStressTest) {
  trace_ = folder_ / "other.trace";
  output("graph uniform:300:6 --device cpu --threads 2 --rounds 2 --batch 200 --record-trace " +
         trace_);
  const alloc::ProgramTrace graph = alloc::read_program_trace(read_file(trace_), trace_);
  EXPECT_EQ(graph.kernel_ends.size(), 5u);  // the initialization, two insertions, two deletions
  EXPECT_GE(graph.kernel_ends.front(), 290u);
  EXPECT_EQ(graph.dropped + graph.refused + graph.unmatched, 0u);
  output(replay("", 1));
  std::uint64_t pools[2];
  for (const unsigned i : {0u, 1u}) {
    output({"graph", "uniform:300:6", "--device", "cpu", "--threads", "2", "--rounds", "1",
            "--batch", "200", "--pool", i == 0 ? "16x" : "32x", "--record-trace", trace_});
    pools[i] = alloc::read_program_trace(read_file(trace_), trace_).pool_bytes;
  }
  EXPECT_NEAR(static_cast<double>(pools[1]) / static_cast<double>(pools[0]), 2, 0.01);
  output("stress lifetimes --device cpu --threads 2 --requests 60 --iterations 3 --record-trace " +
         trace_);
  const alloc::ProgramTrace stress = alloc::read_program_trace(read_file(trace_), trace_);
  EXPECT_EQ(stress.kernel_ends.size(), 4u);
  EXPECT_EQ(stress.events.size(), 2u * stress.requests);  // the last kernel frees everything
  output(replay("", 1));
}

bench::ReplayRow row_of(const std::string& id, std::vector<double> ms, std::vector<double> held,
                        std::uint64_t pool = 1 << 20, std::uint64_t tables = 0) {
  bench::ReplayRow row;
  row.allocator = id;
  row.label = id;
  row.pool_bytes = pool;
  row.status = bench::Status::ok;
  row.runs_ms = std::move(ms);
  row.peak_held_bytes = std::move(held);
  workloads::ReplaySample peak;
  peak.pool.live_bytes = 100;
  peak.pool.fragmentation.metadata_bytes = tables;
  row.samples = {peak};
  row.peak_sample = 0;
  return row;
}

TEST(ReplayChoice, NamesWhatIsClearlyBest) {
  bench::ReplayRow refused = row_of("a", {1, 1, 1}, {100, 100, 100}), never_frees = refused;
  refused.status = bench::Status::incomplete;
  never_frees.lower_bound = true;
  const struct {
    std::vector<bench::ReplayRow> rows;
    const char *fastest, *smallest;
    std::vector<std::string> words;
  } cases[] = {
      {{row_of("a", {1, 1.1, 1.2}, {200, 200, 201}), row_of("b", {2, 2.1, 2.2}, {110, 110, 111}),
        row_of("c", {4, 4.1, 4.2}, {150, 150, 151})},
       "a",
       "b",
       {"For speed, use a: 1.1", "times as fast as b", "For memory, use b: 1.1"}},
      // One allocator is best in both, so a second one is named.
      {{row_of("a", {1, 1.1, 1.2}, {100, 100, 101}), row_of("b", {2, 2.1, 2.2}, {110, 110, 111}),
        row_of("c", {2, 2.1, 2.3}, {150, 150, 151})},
       "a",
       "a",
       {"Second: a tie of b and c."}},
      // The samples overlap.
      {{row_of("a", {1, 2, 3}, {100, 120, 140}), row_of("b", {1.5, 2.1, 2.2}, {110, 125, 130})},
       "",
       "",
       {"speed: a tie of a and b.", "memory: a tie of a and b, 1.20 bytes"}},
      // Tables count as memory; samples that differ by less than 1% tie.
      {{row_of("a", {1, 1, 1}, {100, 100, 100}, 1 << 20, 30),
        row_of("b", {1.005, 1.005, 1.005}, {110, 110, 110}, 1 << 20, 1),
        row_of("c", {2, 2, 2}, {150, 150, 150})},
       "",
       "b",
       {"speed: a tie of a and b.", "use b: 1.11 bytes", "tables included; 1.30 with a"}},
      {{refused, never_frees}, "", "", {"Undecided: no allocator"}},
      {{refused, never_frees, row_of("c", {1, 1, 1}, {100, 100, 100})},
       "",
       "",
       {"Undecided: only c served every request."}}};
  for (const auto& one : cases) {
    const bench::ReplayChoice choice = bench::choose_allocators(one.rows);
    EXPECT_EQ(choice.fastest, one.fastest) << choice.text;
    EXPECT_EQ(choice.smallest, one.smallest) << choice.text;
    expect_words(choice.text, one.words);
  }
}

// The allocator that serves the program in the smallest pool needs the least memory.
TEST(ReplayChoice, SmallPoolsDecide) {
  bench::ReplayRow refused = row_of("a", {1, 1, 1}, {100, 100, 100}, 1 << 16);
  refused.status = bench::Status::incomplete;
  const bench::ReplayChoice choice = bench::choose_allocators(
      {refused, row_of("b", {3, 3, 3}, {140, 140, 140}, 1 << 16),
       row_of("a", {1, 1.1, 1.2}, {100, 100, 100}), row_of("b", {2, 2.1, 2.2}, {140, 140, 140})});
  EXPECT_EQ(choice.fastest, "a");
  EXPECT_EQ(choice.smallest, "b");
  expect_words(choice.text, {"the only one that serves every request in 64 KiB"});
}

}  // namespace
}  // namespace heapwood::tests
