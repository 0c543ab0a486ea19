// SPDX-License-Identifier: MIT
// run_bench() with allocators that misbehave on purpose: real builds with modified results.

#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/results/result.hpp"
#include "bench/trace_bench.hpp"
#include "kdtree/build/driver.hpp"
#include "tests/app/executable.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::bench {
namespace {

std::vector<std::string> calls;  // ids in the order of their builds

const registry::CompiledAllocator& real() { return *registry::find("atomic")->cpu; }

template <int milliseconds>
kdtree::BuildRun build_taking(kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
  calls.push_back(std::to_string(milliseconds));
  kdtree::BuildRun run = real().build(workspace, options);
  run.ms = milliseconds;
  return run;
}

kdtree::BuildRun build_stuck(kdtree::Workspace&, const kdtree::BuildOptions&) {
  throw simt::Stopped(simt::Stopped::Reason::time_limit, "stuck: stopped after 1 s");
}

kdtree::BuildRun build_interrupted(kdtree::Workspace& workspace,
                                   const kdtree::BuildOptions& options) {
  // The warm-up passes; the interruption happens in the second timed run.
  if (std::ranges::count(calls, "interrupted") == 2) simt::interrupt();
  calls.push_back("interrupted");
  return real().build(workspace, options);
}

// Reports an incomplete tree until the pool has four times its initial size.
kdtree::BuildRun build_greedy(kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
  kdtree::BuildRun run = real().build(workspace, options);
  static const std::size_t first = workspace.pool().bytes;
  run.incomplete = workspace.pool().bytes < 4 * first;
  run.failed_splits = run.incomplete ? 7 : 0;
  run.failed_bytes = run.incomplete ? 4096 : 0;
  return run;
}

// Reports an incomplete tree from the second timed run on, unless the pool has grown.
std::vector<std::size_t> pools;
kdtree::BuildRun build_late(kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
  pools.push_back(workspace.pool().bytes);
  kdtree::BuildRun run = real().build(workspace, options);
  run.incomplete = pools.size() > 2 && pools.back() == pools.front();
  return run;
}

// A builder that takes some time and never completes.
std::vector<kdtree::BuildOptions> limits;
kdtree::BuildRun build_insatiable(kdtree::Workspace& workspace,
                                  const kdtree::BuildOptions& options) {
  limits.push_back(options);
  tests::TurnedClock::turn(0.02);
  // The real driver checks the limit between its launches.
  kdtree::BuildDeadline("insatiable: build", options).check();
  kdtree::BuildRun run = real().build(workspace, options);
  run.incomplete = true;
  return run;
}

// A builder of a wrong tree, with costs that were not requested.
kdtree::BuildRun build_other(kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
  kdtree::BuildOptions other = options;
  other.costs.traversal = 100;
  return real().build(workspace, other);
}

class Fake {
 public:
  Fake(const char* id, kdtree::BuildRun (*build)(kdtree::Workspace&, const kdtree::BuildOptions&),
       bool lower_bound = false) {
    traits_ = *registry::find("atomic")->traits;
    traits_.id = traits_.label = id;
    traits_.lower_bound = lower_bound;
    compiled_ = real();
    compiled_.traits = &traits_;
    compiled_.build = build;
    entry_ = {&traits_, &compiled_, nullptr};
  }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;
  const registry::RegisteredAllocator* entry() const { return &entry_; }
  alloc::AllocatorTraits& traits() { return traits_; }

 private:
  alloc::AllocatorTraits traits_;
  registry::CompiledAllocator compiled_;
  registry::RegisteredAllocator entry_{};
};

class BenchRunner : public testing::Test {
 protected:
  void SetUp() override {
    calls.clear();
    simt::clear_interrupt();
    tests::write_file(folder_ / "one.obj", tests::obj_text(300));
    job_.scenes = {folder_ / "one.obj"};
    job_.settings.runs = 3;
    job_.device = simt::find_device("cpu", 2);
    job_.pool_probe = registry::find("atomic");
  }
  void TearDown() override { simt::clear_interrupt(); }

  tests::Folder folder_;
  BenchJob job_;
};

TEST_F(BenchRunner, InterleavesRunsAndComputesSlowdowns) {
  const Fake atomic("atomic", build_taking<10>, true), fast("fast", build_taking<15>),
      slow("slow", build_taking<30>);
  job_.allocators = {atomic.entry(), fast.entry(), slow.entry()};
  std::size_t last = 0, total = 0;
  BenchEvents events;
  events.progress = [&](std::size_t done, std::size_t of, const std::string&) {
    EXPECT_GE(done, last);
    last = done;
    total = of;
  };
  const BenchResult bench = run_bench(job_, events);
  EXPECT_EQ(calls, (std::vector<std::string>{"10", "15", "30", "10", "15", "30", "10", "15", "30",
                                             "10", "15", "30"}));
  EXPECT_EQ(total, 15u);  // three allocators: warm-up, three runs, instrumented
  ASSERT_EQ(bench.results.size(), 3u);
  EXPECT_FALSE(bench.interrupted);
  for (const Result& result : bench.results) {
    EXPECT_EQ(result.status, Status::ok) << result.reason;
    EXPECT_EQ(result.runs_ms.size(), 3u);
    EXPECT_EQ(result.triangles, 300u);
    EXPECT_EQ(result.pool_bytes, bench.results[0].pool_bytes);
    EXPECT_EQ(result.tree->hash, bench.results[0].tree->hash);
    EXPECT_TRUE(result.requests && result.at_end);
    EXPECT_EQ(result.slowdown_over, "atomic");
  }
  EXPECT_DOUBLE_EQ(*bench.results[1].slowdown, 1.5);
  EXPECT_DOUBLE_EQ(*bench.results[2].slowdown, 3);

  const std::string text = to_text(slowdown_table(bench.results));
  tests::expect_words(text, {"atomic *", "1.50 ◂"});
  EXPECT_EQ(text.find("3.00 ◂"), std::string::npos) << text;
}

TEST_F(BenchRunner, ALowerBoundIsNeverTheFastest) {
  const Fake bound("bound", build_taking<1>, true), one("one", build_taking<10>),
      two("two", build_taking<20>);
  job_.allocators = {bound.entry(), one.entry(), two.entry()};
  const BenchResult bench = run_bench(job_, {});
  // Without AtomicMalloc the first allocator that frees is the reference, with a note in the table.
  EXPECT_DOUBLE_EQ(*bench.results[0].slowdown, 0.1);
  EXPECT_EQ(bench.results[2].slowdown_over, "one");
  const std::string text = to_text(slowdown_table(bench.results));
  EXPECT_EQ(text.find("0.10 ◂"), std::string::npos) << text;
  tests::expect_words(text, {"10.00 ms [1] ◂", "slowdowns are over one"});
}

TEST_F(BenchRunner, AHangingAllocatorDoesNotStopTheOthers) {
  const Fake atomic("atomic", build_taking<10>, true), stuck("stuck", build_stuck),
      good("good", build_taking<20>);
  job_.allocators = {atomic.entry(), stuck.entry(), good.entry()};
  const BenchResult bench = run_bench(job_, {});
  EXPECT_EQ(bench.results[1].status, Status::failed);
  EXPECT_EQ(bench.results[1].reason, "stuck: stopped after 1 s");
  EXPECT_TRUE(bench.results[1].runs_ms.empty());
  EXPECT_DOUBLE_EQ(*bench.results[2].slowdown, 2);
  const std::string text = to_text(slowdown_table(bench.results));
  tests::expect_words(text, {"failed [1]", "stopped after 1 s"});
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST_F(BenchRunner, AnotherTreeIsAnError) {
  const Fake atomic("atomic", build_taking<10>, true), other("other", build_other);
  job_.allocators = {other.entry(), atomic.entry()};
  const BenchResult bench = run_bench(job_, {});
  EXPECT_EQ(bench.results[0].status, Status::failed);
  EXPECT_TRUE(bench.results[0].wrong_tree);
  EXPECT_FALSE(bench.results[0].slowdown);
  EXPECT_EQ(bench.results[1].status, Status::ok);
  tests::expect_words(to_text(slowdown_table(bench.results)), {"WRONG TREE [1]"});
}

TEST_F(BenchRunner, ThePoolGrowsUntilTheBuildCompletes) {
  const Fake greedy("greedy", build_greedy);
  job_.allocators = {greedy.entry()};
  job_.pool_probe = nullptr;
  const BenchResult bench = run_bench(job_, {});
  EXPECT_EQ(bench.results[0].status, Status::ok) << bench.results[0].reason;
  // A pool of fixed size does not grow.
  job_.settings.pool = parse_pool("1M");
  const BenchResult small = run_bench(job_, {});
  EXPECT_EQ(small.results[0].status, Status::incomplete);
  EXPECT_EQ(small.results[0].pool_bytes, 1u << 20);
  EXPECT_EQ(small.results[0].runs_ms.size(), 3u);
  EXPECT_FALSE(small.results[0].slowdown);
  tests::expect_words(small.results[0].reason, {"4.00 KiB request refused, 7 nodes not split"});
}

TEST_F(BenchRunner, ARunThatLacksMemoryInAnAutomaticPoolIsMadeAgainInALargerOne) {
  const Fake late("late", build_late), ten("ten", build_taking<10>);
  job_.allocators = {ten.entry(), late.entry()};
  job_.pool_probe = nullptr;
  job_.settings.pool = parse_pool("auto");
  pools.clear();
  for (const Result& result : run_bench(job_, {}).results) {
    EXPECT_EQ(result.status, Status::ok) << result.reason;
    EXPECT_EQ(result.runs_ms.size(), 3u);
    EXPECT_EQ(result.pool_bytes, pools.back());
  }
  EXPECT_GT(pools.back(), pools.front());
  EXPECT_GE(pools.size(), 3 + 3u);

  job_.settings.pool = parse_pool("4M");
  pools.clear();
  EXPECT_EQ(run_bench(job_, {}).results[1].status, Status::incomplete);
}

// Repeated builds in larger pools share one time limit.
TEST_F(BenchRunner, LargerPoolsShareTheTimeLimit) {
  const Fake insatiable("insatiable", build_insatiable);
  job_.allocators = {insatiable.entry()};
  job_.pool_probe = nullptr;
  job_.settings.timeout = 0.1;
  limits.clear();
  const tests::TurnedClock clock;
  const BenchResult bench = run_bench(job_, {});
  EXPECT_EQ(bench.results[0].status, Status::failed);
  tests::expect_words(bench.results[0].reason, {"not finished after 0.1 s"});
  EXPECT_EQ(limits.size(), 5u);
  for (const kdtree::BuildOptions& options : limits) {
    EXPECT_EQ(options.seconds, 0.1);
    EXPECT_EQ(options.started, limits.front().started);
    EXPECT_TRUE(options.started.has_value());
  }
}

// The size of an automatic pool for such an allocator is known only after the builds of the others.
TEST_F(BenchRunner, AnAllocatorThatOverwritesLiveMemoryIsBuiltLastInTheFinalPool) {
  const Fake greedy("greedy", build_greedy);
  Fake careless("careless", build_taking<10>);
  careless.traits().keeps_live_memory = false;
  job_.allocators = {careless.entry(), greedy.entry()};
  job_.pool_probe = nullptr;
  std::vector<std::string> built;
  BenchEvents events;
  events.tree_built = [&](const PreparedScene&, const Result& result) {
    built.push_back(result.allocator);
  };
  const BenchResult bench = run_bench(job_, events);
  EXPECT_EQ(built, (std::vector<std::string>{"greedy", "careless"}));
  ASSERT_EQ(bench.results.size(), 2u);
  for (const Result& result : bench.results) {
    EXPECT_EQ(result.status, Status::ok) << result.reason;
    EXPECT_EQ(result.pool_bytes, bench.results[1].pool_bytes);
  }
}

TEST_F(BenchRunner, AnAllocatorThatOverwritesLiveMemoryIsNotRunInASmallPool) {
  Fake careless("careless", build_taking<10>);
  careless.traits().keeps_live_memory = false;
  job_.allocators = {careless.entry()};
  job_.settings.pool = parse_pool("8K");
  const BenchResult bench = run_bench(job_, {});
  EXPECT_EQ(bench.results[0].status, Status::skipped);
  tests::expect_words(bench.results[0].reason, {"overwrite"});
  EXPECT_TRUE(calls.empty());
  job_.settings.pool = parse_pool("auto");
  EXPECT_EQ(run_bench(job_, {}).results[0].status, Status::ok);
}

TEST_F(BenchRunner, AnInterruptionKeepsResults) {
  const Fake atomic("atomic", build_taking<10>, true), last("last", build_interrupted);
  tests::write_file(folder_ / "two.obj", tests::obj_text(50));
  job_.scenes.push_back(folder_ / "two.obj");
  job_.allocators = {atomic.entry(), last.entry()};
  int scenes = 0;
  BenchEvents events;
  events.scene_done = [&](const BenchResult&) { ++scenes; };
  const BenchResult bench = run_bench(job_, events);
  EXPECT_TRUE(bench.interrupted);
  EXPECT_EQ(scenes, 2);
  ASSERT_EQ(bench.results.size(), 4u);
  EXPECT_EQ(bench.results[0].status, Status::ok);
  EXPECT_EQ(bench.results[0].reason, "interrupted after 2 of 3 runs");
  EXPECT_EQ(bench.results[2].status, Status::skipped);
  EXPECT_EQ(bench.results[2].runs_ms.size(), 0u);
  EXPECT_EQ(to_text(slowdown_table(bench.results)).find("nan"), std::string::npos);
}

TEST_F(BenchRunner, AnInterruptionWhileLoadingIsNotAFailure) {
  const Fake atomic("atomic", build_taking<10>, true);
  job_.allocators = {atomic.entry()};
  job_.scenes = {"statue:500k", folder_ / "one.obj"};
  BenchEvents events;
  events.progress = [](std::size_t, std::size_t, const std::string&) { simt::interrupt(); };
  int scenes = 0;
  events.scene_done = [&](const BenchResult&) { ++scenes; };
  const BenchResult bench = run_bench(job_, events);
  EXPECT_TRUE(bench.interrupted);
  EXPECT_FALSE(bench.scene_error) << bench.scene_error->what();
  EXPECT_EQ(scenes, 2);
  ASSERT_EQ(bench.results.size(), 2u);
  for (const Result& result : bench.results)
    EXPECT_EQ(result.status, Status::skipped) << result.reason;
}

// `trace` builds its tree several times before its rays.
TraceResult trace_late(const char* pool) {
  pools.clear();
  registry::CompiledAllocator compiled = real();
  compiled.build = build_late;
  const registry::RegisteredAllocator entry{compiled.traits, &compiled, nullptr};
  TraceBench bench;
  bench.scene = "atrium:1k";
  bench.entry = &entry;
  bench.device = simt::find_device("cpu", 2);
  bench.settings.runs = 3;
  bench.settings.pool = parse_pool(pool);
  bench.size = {64, 32};
  bench.diffuse = false;
  return run_trace(bench, [](const std::string&) {});
}

TEST(TraceBench, ATimedBuildThatLacksMemoryIsReported) {
  const TraceResult result = trace_late("16M");
  EXPECT_TRUE(result.incomplete);
  EXPECT_EQ(result.first_ray.build_ms.size(), 3u);
}

TEST(TraceBench, AllTimedBuildsHaveTheEnlargedPool) {
  const TraceResult result = trace_late("auto");
  EXPECT_FALSE(result.incomplete);
  EXPECT_EQ(result.first_ray.build_ms.size(), 3u);
  ASSERT_GE(pools.size(), 3u);
  EXPECT_GT(pools.back(), pools.front());
  for (std::size_t i = pools.size() - 3; i < pools.size(); ++i) EXPECT_EQ(pools[i], pools.back());
}

}  // namespace
}  // namespace heapwood::bench
