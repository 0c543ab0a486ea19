// SPDX-License-Identifier: MIT
// heapwood reproduce: its cases, results.json, continuing a run, and errors.
#include <set>

#include "bench/bench_runner.hpp"
#include "bench/compare/compare.hpp"
#include "bench/program/options.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/stress.hpp"
#include "tests/app/executable.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::tests {
namespace {

class Reproduce : public Executable {
 protected:
  std::string reproduce(const std::string& more,
                        const std::string& allocators = "atomic,cfmmalloc") const {
    return "reproduce " + more + " --out " + out_ + " --device cpu --threads 2 --allocators " +
           allocators;
  }
  json results() const { return json::parse(read_file(out_ + "/results.json")); }
  static const json& find(const json& all, const std::string& id) {
    for (const json& item : all.at("items")) {
      if (item.at("id") == id) return item;
    }
    throw std::out_of_range(id);
  }

  const std::string out_ = folder_ / "results";
};

bench::ReproduceSetup setup_of(const char* allocators, int threads = 2) {
  bench::ReproduceSetup setup;
  setup.device = simt::find_device("cpu", threads);
  setup.allocators = bench::find_allocators(allocators);
  return setup;
}

// A stress test at one point.
bench::StressBench stress_of(const char* allocators, const bench::StressPoint& point,
                             int threads = 1) {
  bench::StressBench stress;
  stress.device = simt::find_device("cpu", threads);
  stress.allocators = bench::find_allocators(allocators);
  stress.points = {point};
  return stress;
}

TEST(ReproduceItems, EveryItemHasCasesOrAReason) {
  bench::ReproduceSetup setup = setup_of("all");
  std::set<std::string> ids;
  for (const bench::ReproduceItem& item : bench::reproduce_items()) {
    EXPECT_TRUE(ids.insert(item.id).second) << item.id;
    for (const bool full : {false, true}) {
      setup.full = full;
      const std::size_t cases = bench::reproduce_cases({&item}, setup).size();
      const bool derived = item.id == "regeff-t5";
      EXPECT_EQ(cases > 0, item.absent.empty() && !derived) << item.id;
    }
  }
}

TEST(ReproduceItems, CasesThatItemsShareAreMeasuredOnce) {
  const bench::ReproduceSetup setup = setup_of("atomic");
  const auto count = [&](const char* list) {
    return bench::reproduce_cases(bench::find_items(list), setup).size();
  };
  EXPECT_EQ(count("regeff-3a"), count("regeff-3a,regeff-5a,regeff-5b"));
  EXPECT_EQ(count("bulk-5,bulk-6,bulk-7"), count("bulk"));
  EXPECT_GT(count("all"), count("regeff") + count("ouroboros"));
}

TEST(ReproduceItems, SlowAllocatorsHaveFewerRuns) {
  bench::StressBench stress =
      stress_of("atomic", {.payload = 16, .pool_bytes = 1 << 20, .blocks = 1}, 2);
  stress.settings.runs = 3;
  stress.settings.inspect = false;
  bench::BenchJob bench;
  bench.device = stress.device;
  bench.allocators = bench::find_allocators("atomic,cfmmalloc");
  bench.scenes = {"atrium:1k"};
  bench.settings.runs = 3;
  bench.instrument_all = false;
  for (const bool slow : {true, false}) {
    // No run fits a budget of nearly 0: the warm-up is the only result.
    stress.settings.budget_seconds = bench.budget_seconds = slow ? 1e-9 : 60;
    const auto expect = [&](const auto& row) {
      EXPECT_EQ(row.status, bench::Status::ok) << row.reason;
      EXPECT_EQ(row.runs_ms.size(), slow ? 1u : 3u);
      EXPECT_EQ(row.reason, slow ? "slow: only the warm-up" : "");
    };
    const bench::StressRow row = bench::run_stress(stress, {}).front();
    expect(row);
    EXPECT_FALSE(row.overlaps || row.end);
    EXPECT_GE(1e3 * row.seconds, bench::sum(row.runs_ms));
    const std::vector<bench::Result> built = bench::run_bench(bench, {}).results;
    ASSERT_EQ(built.size(), 2u);
    for (const bench::Result& result : built) expect(result);
    EXPECT_TRUE(built.front().requests && !built.back().requests);
  }
}

// The budget includes an allocator's time on the host: here it suffices for a few runs.
TEST(ReproduceItems, TheBudgetIncludesTimeOnTheHost) {
  bench::StressBench bench =
      stress_of("atomic", {.payload = 16, .pool_bytes = 1 << 20, .requests = 100});
  bench.settings.test = workloads::StressTest::each;
  bench.settings.inspect = false;
  bench.settings.runs = 200;
  const TurnedClock clock(1e-3);
  bench.settings.budget_seconds = 0.2;
  const bench::StressRow row = bench::run_stress(bench, {}).front();
  EXPECT_EQ(row.status, bench::Status::ok) << row.reason;
  EXPECT_LT(row.runs_ms.size(), 200u);
  expect_words(row.reason, {"slow: only"});
  EXPECT_LT(row.seconds, 0.4);
}

TEST(ReproduceItems, AnAllocatorThatReachesTheLimitIsNotRunAgain) {
  static int runs;
  runs = 0;
  registry::CompiledAllocator slow = *registry::find("atomic")->cpu;
  slow.stress = [](const workloads::StressJob&) -> workloads::StressResult {
    ++runs;
    throw simt::Stopped(simt::Stopped::Reason::time_limit, "late");
  };
  const registry::RegisteredAllocator entry{slow.traits, &slow, nullptr};
  bench::StressBench bench;
  bench.device = simt::find_device("cpu", 1);
  bench.allocators = {&entry};
  bench.points = {{.payload = 16, .pool_bytes = 1 << 20, .requests = 100}};
  bench.settings.test = workloads::StressTest::each;
  bench.settings.runs = 20;
  bench.settings.seconds = bench.settings.budget_seconds = 0.001;
  const bench::StressRow row = bench::run_stress(bench, {}).front();
  EXPECT_EQ(row.status, bench::Status::failed);
  EXPECT_EQ(row.reason, "not finished after 0.001 s (--seconds)");
  EXPECT_TRUE(row.runs_ms.empty());
  EXPECT_EQ(runs, 1);
}

// Churn and range could take hours with an allocator that slows down.
TEST(ReproduceItems, TestsOfSpaceEndWithTheBudget) {
  bench::StressBench bench =
      stress_of("atomic,cuda",
                {.payload = 16, .pool_bytes = 512 << 20, .iterations = 60000, .requests = 1000});
  bench.settings.runs = 1;
  bench.settings.seconds = bench.settings.budget_seconds = 0.2;
  const TurnedClock clock(1e-3);
  for (const auto test : {workloads::StressTest::churn, workloads::StressTest::range}) {
    bench.settings.test = test;
    for (const bench::StressRow& row : bench::run_stress(bench, {})) {
      SCOPED_TRACE(row.allocator);
      EXPECT_EQ(row.status, bench::Status::incomplete);
      ASSERT_EQ(row.steps.size(), 1u);
      EXPECT_GT(row.steps[0].size(), 0u);
      EXPECT_LT(row.steps[0].size(), 60000u);
      const bool churn = test == workloads::StressTest::churn;
      expect_words(row.reason,
                   {churn ? "not full after 0.200 s" : "of 60000 iterations after 0.200 s"});
      EXPECT_EQ(row.reason.find(std::to_string(row.steps[0].size()) + " of") == 0, !churn)
          << row.reason;
      EXPECT_LT(row.seconds, 0.5);
    }
  }
}

// Curves contain a subset of the iterations; figures are computed from all of them.
TEST(ReproduceItems, FiguresAreOfAllIterations) {
  const bench::ReproduceSetup setup = setup_of("atomic", 1);
  const auto cases =
      stress_cases({"stress churn runs=1", "payload=16 pool=1M requests=100"}, setup);
  ASSERT_EQ(cases.size(), 1u);
  const bench::Json results = cases.front().measure([](const std::string&) {});
  EXPECT_EQ(results.at(0).at("space").at("steps").at(0).size(), 200u);
  EXPECT_EQ(results.at(0).at("space").at("iterations"),
            ((1 << 20) - 256) / 1600);  // AtomicMalloc keeps all blocks
  EXPECT_GT(results.at(0).at("seconds").get<double>(), 0);
}

TEST_F(Reproduce, MeasuresPartsAndTheirTime) {
  const std::string first = output(reproduce("regeff-3d --shard 1/2"));
  const std::size_t all = find(results(), "regeff-3d").at("cases").size(),
                    half = results().at("cases").size();
  EXPECT_EQ(half, (all + 1) / 2);
  expect_words(first, {"seconds"});
  expect_words(first, {std::to_string(half) + " cases measured"});
  output(reproduce("regeff-3d --shard 2/2"));
  const json whole = results();
  EXPECT_EQ(whole.at("cases").size(), all);
  double seconds = 0;
  for (const json& one : whole.at("cases")) seconds += one.at("seconds").get<double>();
  EXPECT_GT(seconds, 0);
}

TEST_F(Reproduce, ACaseWithNeedsHasAProcessOfItsOwn) {
  output(reproduce("regeff-heap,bulk-heap,regeff-3b", "cuda"));
  const json all = results();
  ASSERT_EQ(all.at("runs").size(), 3u);
  for (const json& one : all.at("cases"))
    EXPECT_EQ(one.at("run") != 0, has(one.at("key"), " heap=pool")) << one.at("key");
}

TEST_F(Reproduce, ListsItsItems) {
  expect_words(output("reproduce --list --device cpu"),
               {"regeff-t3", "ouroboros-churn", "bulk-7", "host-3", "own-pool"});
}

TEST_F(Reproduce, WritesResultsAndContinues) {
  output(reproduce("regeff-3b"));
  const json first = results();
  EXPECT_EQ(first.at("schema"), "heapwood.reproduce/1");
  EXPECT_EQ(first.at("scale"), "quick");
  EXPECT_EQ(first.at("device").at("kind"), "cpu");
  for (const char* key : {"argv", "version", "git", "device", "compilers", "started"})
    EXPECT_TRUE(first.at("runs").at(0).contains(key)) << key;
  ASSERT_EQ(first.at("cases").size(), find(first, "regeff-3b").at("cases").size());
  for (const json& one : first.at("cases")) {
    ASSERT_EQ(one.at("results").size(), 2u);
    EXPECT_EQ(one.at("results").at(0).at("runs_ms").size(), 3u);
  }

  expect_words(output(reproduce("regeff-3b,bulk-5,regeff-t3,own-pool,own-trace,own-profile")),
               {std::to_string(first.at("cases").size()) + " reused"});
  const json second = results();
  EXPECT_EQ(second.at("runs").size(), 2u);
  EXPECT_EQ(second.at("cases").at(0), first.at("cases").at(0));
  bool tree = false, curve = false, rays = false, profile = false;
  for (const json& one : second.at("cases")) {
    const json& last = one.at("results").back();
    EXPECT_EQ(last.at("status"), "ok") << last.dump();
    tree |= last.contains("tree") && one.at("about").at("procedural") == true;
    rays |= last.value("kind", "") == "diffuse" && last.at("mrays_per_second") > 0;
    if (last.contains("phases")) {
      double phases = 0;
      for (const json& phase : last.at("phases")) phases += phase.at("warp_ms").get<double>();
      EXPECT_NEAR(phases, last.at("warp_ms"), 1e-6 * phases);
      profile = last.at("timeline").at("shares").at("wait").size() > 1;
    }
    curve |= last.contains("points") && last.at("points").size() > 100;
  }
  EXPECT_TRUE(tree && curve && rays && profile);
  // With another allocator the cases are measured again for all.
  output(reproduce("regeff-3b", "atomic,cfmmalloc,cmalloc"));
  EXPECT_EQ(results().at("cases").at(0).at("results").size(), 3u);
}

// The items of the dynamic graph share their cases; layouts without an allocator have results too.
TEST_F(Reproduce, DynamicGraphsHaveResultsOfEveryLayout) {
  write_file(folder_ / "luxembourg_osm.txt", "1 2\n2 3\n3 1\n4 1\n");
  output(
      reproduce("ouroboros-graph-init,ouroboros-graph-updates,ouroboros-graph-triangles --scenes @",
                "cfmmalloc,heapwood"));
  const json all = results();
  const std::size_t graphs = find(all, "ouroboros-graph-triangles").at("cases").size();
  EXPECT_GE(graphs, 3u);
  EXPECT_EQ(all.at("cases").size(), 3 * graphs);  // updates random, pressure, counted
  bool file = false;
  for (const json& one : all.at("cases")) {
    const json& about = one.at("about");
    file |= about.at("source") == "luxembourg_osm.txt" && about.at("procedural") == false;
    const bool counted = about.at("init") == "counted";
    ASSERT_EQ(one.at("results").size(), counted ? 2u : 4u);
    for (const json& result : one.at("results")) {
      EXPECT_EQ(result.at("status"), "ok") << result.dump();
      EXPECT_EQ(result.contains("frees"), result.at("layout") == "blocks");
      EXPECT_EQ(result.at("phases").at(0).at("runs_ms").size(), 3u);
    }
  }
  EXPECT_TRUE(file);
}

TEST(ReproduceItems, KeysTellVariantsOfATestApart) {
  const bench::ReproduceSetup setup = setup_of("atomic,scatter");
  const auto has = [&](const char* item, const std::string& text) {
    const auto cases = bench::reproduce_cases(bench::find_items(item), setup);
    return std::ranges::any_of(cases, [&](const bench::ReproduceCase& one) {
      return one.key.find(text) != std::string::npos;
    });
  };
  for (const char* page : {" page=4096", " page=8192", " page=16384"}) {
    EXPECT_TRUE(has("regeff-t3-pages", page)) << page;
    EXPECT_TRUE(has("regeff-t4-pages", page)) << page;
  }
  EXPECT_TRUE(has("own-pools", " pool=live:2,live:4,live:8,20x,200x,fast "));
  EXPECT_TRUE(has("ouroboros-8k", " rounds=2 "));
  EXPECT_TRUE(has("regeff-3d-quarter", " probability=0.25 "));
  // The default is not in the key, so earlier results stay valid.
  EXPECT_FALSE(has("regeff-3d", " probability="));
  EXPECT_TRUE(has("regeff-large", " large=builtin "));
  EXPECT_TRUE(has("regeff-recorded", "refs=ids pool=200x"));
}

TEST(ReproduceItems, UniformListsAreOfThePublishedOnes) {
  bench::ReproduceSetup setup = setup_of("all");
  setup.full = true;
  const bench::ReproduceItem* item = bench::find_items("regeff-uniform").front();
  const auto cases = bench::reproduce_cases({item}, setup);
  const bool compiled = registry::find("cmalloc-published") != nullptr;
  EXPECT_EQ(item->absent.empty(), compiled);
  EXPECT_EQ(cases.size(), compiled ? 7u : 0u);
  for (const bench::ReproduceCase& one : cases) {
    expect_words(one.key, {" presplit=uniform "});
    for (const registry::RegisteredAllocator* entry : one.allocators)
      EXPECT_TRUE(std::string(entry->traits->id).ends_with("-published")) << entry->traits->id;
  }
}

TEST_F(Reproduce, RejectsResultsOfAnotherKind) {
  std::filesystem::create_directories(out_);
  write_file(out_ + "/results.json", "{\"schema\": \"heapwood.bench/1\"}");
  expect_error(reproduce("regeff-3b"), 1, {"results.json", "heapwood.reproduce/1"});
  std::filesystem::remove(out_ + "/results.json");
  output(reproduce("regeff-t1"));
  EXPECT_EQ(results().at("cases").at(0).at("results").at(0).at("status"), "skipped");
  expect_error(reproduce("regeff-t1 --full"), 2, {"results.json", "quick"});
}

TEST_F(Reproduce, CtrlCKeepsResults) {
  const std::string file = out_ + "/results.json";
  Running running = start(reproduce("ouroboros", "all"));
  const auto cases = [&] {
    const json all =
        std::filesystem::exists(file) ? json::parse(read_file(file), nullptr, false) : json();
    return all.is_object() ? all.at("cases").size() : 0;
  };
  while (cases() < 2 && !running.ended())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  running.send(SIGINT);
  const Outcome outcome = running.wait();
  EXPECT_EQ(outcome.exit, 1) << outcome.out;
  expect_words(outcome.err, {"interrupted"});
  EXPECT_GE(cases(), 2u);
}

}  // namespace
}  // namespace heapwood::tests
