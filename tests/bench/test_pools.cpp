// SPDX-License-Identifier: MIT
// bench with several sizes of the pool, and pools that are multiples of the bytes in use.

#include "bench/bench_runner.hpp"
#include "bench/prepared_scene.hpp"
#include "bench/program/options.hpp"
#include "bench/results/result.hpp"
#include "tests/app/executable.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::bench {
namespace {

BenchJob job_of(const char* allocators, const char* pools) {
  BenchJob job;
  job.scenes = {"atrium:5k"};
  job.allocators = find_allocators(allocators);
  job.settings.runs = 1;
  job.device = simt::find_device("cpu", 2);
  job.pool_probe = registry::find("atomic");
  job.pools = parse_pools(pools);
  job.settings.pool = job.pools.front();
  return job;
}

TEST(Pools, EachSceneIsMeasuredInEachPoolInTurn) {
  BenchJob job = job_of("atomic,cfmmalloc", "live:2,live:8,64K,fast");
  const BenchResult bench = run_bench(job, {});
  ASSERT_EQ(bench.results.size(), 4 * 2u);
  std::vector<const Result*> lists;
  for (const Result& result : bench.results) {
    if (result.allocator == "cfmmalloc") lists.push_back(&result);
  }
  ASSERT_EQ(lists.size(), 4u);
  const char* const texts[] = {"live:2", "live:8", "64K", "fast"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(lists[i]->settings.pool.text, texts[i]);
  EXPECT_EQ(lists[1]->status, Status::ok) << lists[1]->reason;
  EXPECT_EQ(lists[2]->status, Status::incomplete);
  EXPECT_EQ(lists[3]->status, Status::ok) << lists[3]->reason;
  // Pools are rounded to their unit. The bytes in use at once vary with the order of the warps.
  const auto bytes = [&](std::size_t i) { return static_cast<double>(*lists[i]->pool_bytes); };
  EXPECT_NEAR(bytes(1) / bytes(0), 4, 0.6);
  EXPECT_NEAR(bytes(1) / static_cast<double>(*lists[1]->high_water_bytes()), 8, 2.5);
  EXPECT_EQ(bytes(2), 65536);
  // AtomicMalloc never frees: the multiples are of what other allocators need.
  EXPECT_EQ(bench.results[0].allocator, "atomic");
  EXPECT_EQ(bench.results[0].status, Status::incomplete);

  const Table table = pool_table(bench.results);
  ASSERT_EQ(table.columns.size(), 5u);
  EXPECT_EQ(table.columns[1].title, "live:2");
  EXPECT_EQ(table.rows.back().cells.size(), 5u);
  tests::expect_words(to_text(table), {"incomplete"});
  // With one size of the pool there is no such table.
  job.pools.clear();
  job.settings.pool = parse_pool("fast");
  EXPECT_TRUE(pool_table(run_bench(job, {}).results).columns.empty());
}

// The reason names the pool's size, not what the allocators make of no pool.
TEST(Pools, ALivePoolLargerThanTheMachineIsAnError) {
  const BenchResult bench = run_bench(job_of("atomic,cfmmalloc", "live:1e9"), {});
  ASSERT_TRUE(bench.scene_error);
  tests::expect_words(std::string(bench.scene_error->what()), {"cannot allocate"});
  for (const Result& result : bench.results) EXPECT_EQ(result.status, Status::failed);
}

TEST(Pools, ABuildInALivePoolSizesItFirst) {
  BuildSettings settings;
  settings.pool = parse_pool("live:6");
  const simt::DeviceInfo device = simt::find_device("cpu", 2);
  const registry::RegisteredAllocator& entry = *registry::find("cfmmalloc");
  PreparedScene scene("atrium:5k", device, settings, pool_needs({&entry}));
  EXPECT_FALSE(scene.live_bytes());
  EXPECT_FALSE(scene.build(entry).incomplete);
  ASSERT_TRUE(scene.live_bytes());
  EXPECT_NEAR(static_cast<double>(scene.pool_bytes()),
              6.0 * static_cast<double>(*scene.live_bytes()), 65536);
  const std::size_t sized = scene.pool_bytes();
  EXPECT_FALSE(scene.build_growing(entry).incomplete);
  EXPECT_EQ(scene.pool_bytes(), sized);
  // The bytes in use are known from another pool of the scene.
  PreparedScene other("atrium:5k", device, settings, pool_needs({&entry}));
  other.set_live_bytes(1 << 20);
  EXPECT_EQ(other.pool_bytes(), 6u << 20);
}

// Otherwise a build in a pool of the initial size would be reported as one in the requested pool.
TEST(Pools, ABuildFailsIfThePoolCannotBeSized) {
  registry::CompiledAllocator compiled = *registry::find("cfmmalloc")->cpu;
  compiled.build_recorded = [](kdtree::Workspace&, const kdtree::BuildOptions&,
                               std::size_t) -> kdtree::RecordedRun {
    throw simt::Stopped(simt::Stopped::Reason::time_limit, "late");
  };
  const registry::RegisteredAllocator entry{compiled.traits, &compiled, nullptr};
  BuildSettings settings;
  settings.pool = parse_pool("live:2");
  PreparedScene scene("atrium:1k", simt::find_device("cpu", 2), settings, pool_needs({&entry}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(scene.build(entry), simt::Stopped);
    EXPECT_FALSE(scene.has_sized_pool());
  }
  EXPECT_FALSE(scene.build(*registry::find("heapwood")).incomplete);
  EXPECT_TRUE(scene.has_sized_pool());

  BenchJob job = job_of("cfmmalloc", "live:2");
  job.scenes = {"atrium:50k"};  // takes far longer than the first look at the clock after 20 ms
  job.settings.timeout = 1e-3;
  const tests::TurnedClock clock(1);  // each reading of the clock is a second later
  const BenchResult bench = run_bench(job, {});
  EXPECT_EQ(bench.results[0].status, Status::failed);
  EXPECT_FALSE(bench.results[0].pool_bytes);
}

// The bytes in use vary from build to build: a second pool of the same name would have another
// size.
TEST(Pools, AResumedBenchmarkKeepsTheSizeOfALivePool) {
  BenchJob job = job_of("cfmmalloc,heapwood", "live:4");
  Result kept = run_bench(job, {}).results[0];
  *kept.pool_bytes += 5 << 16;
  job.kept = {kept};
  const BenchResult bench = run_bench(job, {});
  EXPECT_EQ(bench.results[1].status, Status::ok) << bench.results[1].reason;
  EXPECT_EQ(bench.results[1].pool_bytes, kept.pool_bytes);
}

TEST(Pools, ASceneIsLoadedOnce) {
  BenchJob job = job_of("cfmmalloc", "fast,8M,live:8,200x");
  BenchEvents events;
  int loads = 0;
  std::string last;
  events.progress = [&](std::size_t, std::size_t, const std::string& what) {
    loads += what != last && what.ends_with(": loading");
    last = what;
  };
  const BenchResult bench = run_bench(job, events);
  EXPECT_EQ(loads, 1);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bench.results[i].status, Status::ok) << bench.results[i].reason;
    job.pools = {job.pools[i]};
    job.settings.pool = job.pools[0];
    // The bytes in use, of which the third pool is a multiple, vary from build to build.
    if (i != 2) {
      EXPECT_EQ(run_bench(job, {}).results[0].pool_bytes, bench.results[i].pool_bytes);
    }
    job = job_of("cfmmalloc", "fast,8M,live:8,200x");
  }
}

class PoolsCommand : public tests::Executable {};

TEST_F(PoolsCommand, PrintsSlowdownsOverThePoolAndContinues) {
  const std::string file = folder_ / "pools.json";
  const auto bench = [&](const std::string& pools) {
    return "bench atrium:1k --pool " + pools +
           " --allocators atomic,cfmmalloc --runs 1 --device cpu --threads 2 --resume --json " +
           file;
  };
  tests::expect_words(output(bench("live:4,fast")), {"Slowdown over the size of the pool", "live:4",
                                                     "pool / peak bytes", "--pool fast"});
  const nlohmann::json before = nlohmann::json::parse(tests::read_file(file));
  ASSERT_EQ(before.at("results").size(), 4u);
  EXPECT_EQ(before.at("results").at(0).at("settings").at("pool"), "live:4");
  tests::expect_words(run(bench("live:4,fast")).err, {"of 4 results reused"});
  EXPECT_EQ(nlohmann::json::parse(tests::read_file(file)).at("results").size(), 4u);
  output(bench("fast,200x"));
  EXPECT_EQ(nlohmann::json::parse(tests::read_file(file)).at("results").size(), 6u);
}

// The report on standard output and that in the file are the same.
TEST_F(PoolsCommand, ResumedReportsHaveEarlierResultsOfOtherScenes) {
  const std::string file = folder_ / "report.json", bad = folder_ / "bad.obj";
  tests::write_file(bad, "v 0 0 0\nv 1 0 0\nf 1 2 3\n");
  const auto bench = [&](const std::string& scenes) {
    return "bench " + scenes + " --allocators atomic --runs 1 --device cpu --threads 2 --json " +
           file;
  };
  output(bench("atrium:1k"));
  const tests::Outcome outcome = run(bench(bad + " atrium:1k") + " --resume --format json", 3);
  const nlohmann::json printed = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(printed.at("results"), nlohmann::json::parse(tests::read_file(file)).at("results"));
  EXPECT_EQ(printed.at("results").size(), 2u);
}

}  // namespace
}  // namespace heapwood::bench
