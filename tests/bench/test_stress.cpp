// SPDX-License-Identifier: MIT
// heapwood stress: sweeps, tables, the JSON format, and errors.

#include "app/output/tables.hpp"
#include "bench/stress.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class StressCommand : public Executable {
 protected:
  static std::string stress(const std::string& more, int threads = 2) {
    return "stress " + more + " --device cpu --runs 2 --threads " + std::to_string(threads);
  }
};

TEST_F(StressCommand, CoalescedRequestsAreNamed) {
  expect_words(
      output(stress("acd --coalesced --lanes 32 --payload 64 --allocators cfmmalloc --touch")),
      {"coalesced"});
}

TEST_F(StressCommand, OnlyAllocatorsOfRegEffHaveACoalescedForm) {
  expect_words(output(stress("ad --coalesced --allocators cfmmalloc,gallatin")),
               {"Gallatin: has no coalesced form"});
}

TEST_F(StressCommand, LargeRequestsMayGoToMalloc) {
  expect_words(output(stress(
                   "alloc --requests 20 --payload 16K --allocators "
                   "scatter:large=builtin,halloc:large=builtin,xmalloc:large=builtin,awmalloc-safe:"
                   "large=builtin --touch")),
               {"built-in malloc"});
}

TEST_F(StressCommand, PrintsTimesAndMemory) {
  const Outcome outcome = run(stress("ad --allocators atomic,cfmmalloc,cuda --touch"), 0);
  EXPECT_EQ(outcome.err, "");
  expect_words(outcome.out, {"malloc-free", "4 KiB", "64 B", "AtomicMalloc *", "CFMMalloc",
                             "CudaMalloc", "only allocates", "only frees", "internal fragmentation",
                             "external fragmentation at the end", "overlaps: 0 by addresses",
                             "0 blocks damaged", "device: cpu"});
  EXPECT_FALSE(has(outcome.out, "nan"));
}

TEST_F(StressCommand, JsonHasTheKeysOfTheContract) {
  const std::string file = folder_ / "stress.json";
  const std::string outcome = output(
      stress("probability --allocators atomic,cfmmalloc --blocks 1,3 --format csv --json " + file));
  EXPECT_EQ(outcome.rfind("test,allocator,label,", 0), 0u) << outcome;
  EXPECT_EQ(std::ranges::count(outcome, '\n'), 5);
  const json report = json::parse(read_file(file));
  EXPECT_EQ(report.at("schema"), "heapwood.stress/1");
  for (const char* key : {"argv", "version", "git", "device"})
    EXPECT_TRUE(report.contains(key)) << key;
  ASSERT_EQ(report.at("results").size(), 4u);
  for (const json& result : report.at("results")) {
    EXPECT_EQ(result.at("test"), "p");
    EXPECT_EQ(result.at("status"), "ok");
    EXPECT_EQ(result.at("runs_ms").size(), 2u);
    EXPECT_EQ(result.at("reset_ms").size(), 2u);
    EXPECT_FALSE(result.contains("allocate_ms"));
    EXPECT_FALSE(result.contains("calls"));  // there are no registers on the CPU
    const json& settings = result.at("settings");
    EXPECT_EQ(settings.at("payload_bytes"), 4);
    EXPECT_EQ(settings.at("request_bytes"), 16);
    EXPECT_EQ(settings.at("iterations"), 10);
    EXPECT_EQ(settings.at("threads"), settings.at("blocks").get<int>() * 8);
    const json& counts = result.at("allocations");
    EXPECT_EQ(counts.at("refused"), 0);
    const json& expected = result.at("expected");
    EXPECT_NEAR(counts.at("count").get<double>(), expected.at("count").get<double>(),
                6 * expected.at("count_sigma").get<double>());
    EXPECT_NEAR(counts.at("deallocations").get<double>(),
                expected.at("deallocations").get<double>(),
                6 * expected.at("deallocations_sigma").get<double>());
    EXPECT_EQ(result.at("overlaps").at("by_address"), 0);
    EXPECT_FALSE(result.at("overlaps").contains("by_content"));
    EXPECT_EQ(result.at("memory").at("end").at("blocks").get<int>(),
              counts.at("count").get<int>() - counts.at("deallocations").get<int>());
    for (const char* key :
         {"live_bytes", "address_bytes", "internal_fragmentation", "external_fragmentation",
          "external_fragmentation_merged", "metadata_bytes"}) {
      EXPECT_TRUE(result.at("memory").at("peak").contains(key)) << key;
    }
  }
}

TEST_F(StressCommand, AllocAndSweepsOfPoolsHaveTheirColumns) {
  const json each = run_json(stress("alloc --requests 1000 --allocators cmalloc --format json"));
  EXPECT_EQ(each.at("results").at(0).at("allocations").at("count"), 1000);
  EXPECT_EQ(each.at("results").at(0).at("allocations").at("deallocations"), 1000);
  EXPECT_EQ(each.at("results").at(0).at("allocate_ms").size(), 2u);
  EXPECT_EQ(each.at("results").at(0).at("settings").at("lanes"), 32);

  expect_words(run(stress("acd --pool 1M,2M --allocators atomic --format markdown --blocks 1")).out,
               {"| allocator | 1 MiB pool | 2 MiB pool |"});
}

TEST_F(StressCommand, ScalingLeavesOutWhatCannotFit) {
  const std::string outcome = output(
      stress("scaling --allocators atomic --pool 1M --payload 32,8K --requests 100,1K,100K"));
  EXPECT_FALSE(has(outcome, "refused")) << outcome;
  expect_words(outcome, {"1K requests",
                         "omitted, larger than the pool: 1K requests of 8 KiB, "
                         "100K requests of 32 B, 100K requests"});
}

// The allocator's tables take a part of the pool, so some requests are refused.
TEST_F(StressCommand, ExhaustFillsThePool) {
  const json results =
      run_json(stress("exhaust --allocators atomic,toy --payload 256,16 --format json"))
          .at("results");
  ASSERT_EQ(results.size(), 4u);
  for (const json& result : results) {
    const json &counts = result.at("allocations"), &settings = result.at("settings");
    EXPECT_EQ(result.at("status"), "ok");
    EXPECT_EQ(settings.at("threads"), 8192);
    EXPECT_EQ(result.at("capacity_bytes"), 8192 * settings.at("payload_bytes").get<int>());
    EXPECT_EQ(counts.at("count").get<int>() + counts.at("refused").get<int>(), 8192);
    EXPECT_GT(counts.at("refused"), 0);
  }
  // 256 bytes are 0.4% of 64 KiB.
  expect_words(run(stress("exhaust --allocators atomic --payload 16 --pool 64K")).out,
               {"4,096 requests", "0.4"});
}

// The second round allocates memory freed by the first.
TEST_F(StressCommand, RoundsShareOnePool) {
  const auto refused = [&](const std::string& more) {
    std::vector<int> counts;
    const json report =
        run_json(stress("alloc --allocators atomic,cfmalloc --payload 64 --pool 96K "
                        "--requests 1000 --touch --format json" +
                        more));
    for (const json& result : report.at("results"))
      counts.push_back(result.at("allocations").at("refused"));
    return counts;
  };
  EXPECT_EQ(refused(""), (std::vector{0, 0}));
  const std::vector<int> second = refused(" --rounds 2");
  EXPECT_GT(second[0], 0);  // AtomicMalloc frees nothing
  EXPECT_EQ(second[1], 0);
}

TEST_F(StressCommand, UtilizationIsASharePerAllocator) {
  const std::string command = "utilization --allocators atomic,awmalloc,toy,cuda --pool 1M";
  expect_words(output(stress(command)), {"of the pool", "99.98%", "65,520", "skipped [",
                                         "never refuses", "blocks", "method:"});
  const json results = run_json(stress(command + " --format json --touch")).at("results");
  const json& space = results.at(0).at("space");
  EXPECT_EQ(results.at(0).at("status"), "ok");
  EXPECT_EQ(results.at(0).at("overlaps").at("by_content"), 0);
  EXPECT_EQ(space.at("capacity_bytes"), 1 << 20);
  EXPECT_DOUBLE_EQ(space.at("utilization"), 1 - 256.0 / (1 << 20));
  EXPECT_EQ(space.at("steps").size(), 2u);  // one entry per run: --runs 2
  EXPECT_EQ(space.at("steps").at(0).at(0).at("blocks"), 65520);
  EXPECT_EQ(results.at(1).at("status"), "skipped");
  EXPECT_FALSE(results.at(1).contains("space"));
  EXPECT_GT(results.at(2).at("space").at("utilization"), 0);
  // Each block of 16 bytes has a header of 32.
  EXPECT_NEAR(results.at(3).at("space").at("utilization"), 1 / 3.0, 0.001);
}

TEST_F(StressCommand, RangeAndChurnReportAddressesAndIterations) {
  expect_words(
      output(stress(
          "range --allocators atomic,cmalloc,fdg --payload 16,1K --iterations 5 --requests 1K")),
      {"AtomicMalloc *", "min possible", "15.6 KiB", "78.1 KiB", "1000 KiB", "4.88 MiB",
       "cannot free single blocks", "addresses of all iterations"});

  // A pool of 1 MiB and AtomicMalloc's head holds 65 times 1,000 blocks of 16 bytes, and 536 more.
  const json results = run_json(stress("churn --allocators atomic,cmalloc --pool 1048832 --touch "
                                       "--requests 1K --format json"))
                           .at("results");
  const json& space = results.at(0).at("space");
  EXPECT_EQ(space.at("iterations"), 65);
  EXPECT_EQ(space.at("steps").at(0).size(), 66u);
  EXPECT_EQ(space.at("steps").at(0).at(65).at("refused"), 1000 - (1048832 - 256) / 16 % 1000);
  EXPECT_EQ(space.at("first_address_bytes"), 16000);
  EXPECT_EQ(results.at(0).at("status"), "ok");
  EXPECT_EQ(results.at(0).at("settings").at("seed"), 1);
  // Half of the blocks are freed, so the pool lasts about twice as long.
  EXPECT_GT(results.at(1).at("space").at("iterations"), 70);
  expect_words(run(stress("churn --allocators cmalloc --iterations 3")).out,
               {"nothing was refused"});
}

TEST_F(StressCommand, LifetimesAndSoakReportHeldOverLive) {
  const json results = run_json(stress("lifetimes --allocators atomic,heapwood --order lifo --pool "
                                       "8M --requests 64 --iterations 2 --format json"))
                           .at("results");
  EXPECT_EQ(results.at(0).at("status"), "skipped");  // this allocator cannot free
  const json& result = results.at(1);
  EXPECT_EQ(result.at("status"), "ok");
  EXPECT_EQ(result.at("settings").at("order"), "lifo");
  EXPECT_EQ(result.at("allocations").at("count"), result.at("allocations").at("deallocations"));
  EXPECT_GE(result.at("space").at("held_over_live"), 1);
  EXPECT_FALSE(result.at("space").contains("utilization"));
  EXPECT_EQ(result.at("memory").at("end").at("blocks"), 0);

  expect_words(output(stress("soak --allocators heapwood --pool 8M --requests 64 --seconds 0.1")),
               {"soak:", "held / live", "Heapwood", "0 by addresses", "0 blocks damaged"});
}

TEST_F(StressCommand, APoolThatIsTooSmallIsReported) {
  // 80 requests of 1 KiB, on one thread: with two, AWMalloc's overlapping blocks would be a data
  // race.
  const json results = run_json(stress("acd --payload 1K --blocks 1 --pool 16K --touch "
                                       "--allocators atomic,awmalloc,toy --format json",
                                       1))
                           .at("results");
  EXPECT_EQ(results.at(0).at("status"), "incomplete");
  EXPECT_TRUE(has(results.at(0).at("reason"), "refused"));
  EXPECT_GT(results.at(0).at("allocations").at("refused"), 0);
  // As published, AWMalloc wraps over live memory, which is detected but not a failure.
  EXPECT_EQ(results.at(1).at("status"), "incomplete");
  EXPECT_TRUE(has(results.at(1).at("reason"), "as published"));
  EXPECT_GT(results.at(1).at("overlaps").at("by_address"), 0);
  EXPECT_GT(results.at(1).at("overlaps").at("by_content"), 0);
  EXPECT_EQ(results.at(2).at("overlaps").at("by_content"), 0);
  // A pool below the minimum size is not a failure either.
  const json skipped =
      run_json(stress("ad --pool 1K --allocators atomic --payload 4 --format json"));
  EXPECT_EQ(skipped.at("results").at(0).at("status"), "skipped");
  EXPECT_FALSE(skipped.at("results").at(0).contains("median_ms"));
}

TEST(StressPoints, ThePapersAreTheDefault) {
  using workloads::StressTest;
  simt::DeviceInfo gpu;
  gpu.id.kind = simt::DeviceKind::cuda;
  gpu.multiprocessors = 132;
  const auto ad = bench::stress_points({}, StressTest::alloc_dealloc, gpu);
  ASSERT_EQ(ad.size(), 32u);  // 16 payloads, two grids
  EXPECT_EQ(ad.front(), (bench::StressPoint{4, std::size_t{2} << 30, 1, 120}));
  EXPECT_EQ(ad.back(), (bench::StressPoint{128 << 10, std::size_t{2} << 30, 1, 1056}));
  bench::StressLists lists;
  lists.blocks = "120";
  lists.pool = "sweep";
  const auto pools = bench::stress_points(lists, StressTest::cycle, gpu);
  ASSERT_EQ(pools.size(), 15u);
  EXPECT_EQ(pools.front(), (bench::StressPoint{4, 128 << 10, 10, 120}));
  lists.pool.clear();
  lists.iterations = "sweep";
  EXPECT_EQ(bench::stress_points(lists, StressTest::cycle, gpu).size(), 10u);
  const auto p = bench::stress_points({}, StressTest::probability, gpu);
  EXPECT_EQ(p.front().blocks, 1u);
  EXPECT_EQ(p[p.size() - 2].blocks, 120u);
  EXPECT_EQ(p.back().blocks, 1056u);
  // The points of Ouroboros' figure 3.
  const auto scaling = bench::stress_points({}, StressTest::scaling, gpu);
  ASSERT_EQ(scaling.size(), 28u);  // 4 payloads, each with 1 to 1M threads
  EXPECT_EQ(scaling.front(), (bench::StressPoint{32, std::size_t{2} << 30, 1, 0, 1}));
  auto fitting = scaling;
  EXPECT_EQ(bench::take_oversized(fitting),
            (std::vector{scaling.back()}));  // 8 KiB, in a million threads
  EXPECT_EQ(fitting.size(), 27u);
  EXPECT_EQ(bench::stress_points({}, StressTest::range, gpu).size(), 10u);
  EXPECT_EQ(bench::stress_points({}, StressTest::utilization, gpu),
            (std::vector{bench::StressPoint{16, std::size_t{2} << 30, 1, 1056}}));
  // The points of bulk's figure 7.
  const auto exhaust = bench::stress_points({}, StressTest::exhaust, gpu);
  ASSERT_EQ(exhaust.size(), 16u);
  EXPECT_EQ(exhaust.front(),
            (bench::StressPoint{512 << 10, std::size_t{512} << 20, 1, 0, 1 << 10}));
  EXPECT_EQ(exhaust.back(), (bench::StressPoint{16, std::size_t{16} << 20, 1, 0, 1 << 20}));
  // The CPU has small defaults.
  simt::DeviceInfo cpu;
  cpu.multiprocessors = 2;
  EXPECT_LE(bench::stress_points({}, StressTest::cycle, cpu).size(), 8u);
  lists.blocks = "120,fill";
  EXPECT_EQ(bench::stress_points(lists, StressTest::cycle, cpu).back().blocks, 1u);
}

// Figures that only GPUs have.
TEST(StressReport, ShowsRegistersAndFailures) {
  bench::StressRow row;
  row.allocator = "cmalloc";
  row.label = "CMalloc";
  row.settings.test = workloads::StressTest::cycle;
  row.point = {64, 1 << 20, 10, 120};
  row.status = bench::Status::ok;
  row.runs_ms = {3, 1, 2};
  row.counts = workloads::StressCounts{9600, 9600, 0};
  row.calls = registry::CallUse{{.registers = 18}, {.registers = 14}, {.registers = 22}};
  bench::StressRow slow = row;
  slow.allocator = "other";
  slow.label = "Other";
  slow.calls.reset();
  slow.status = bench::Status::failed;
  slow.reason = "not finished after 10 s";
  slow.runs_ms.clear();
  slow.counts.reset();
  expect_words(bench::to_text(app::stress_table({row, slow})),
               {"failed [1]", "[1] Other: not finished"});
  const bench::Json json = bench::described(row);
  EXPECT_EQ(json.at("calls").at("both").at("registers"), 22);
  EXPECT_EQ(json.at("median_ms"), 2);
  EXPECT_FALSE(json.contains("memory"));
  EXPECT_FALSE(bench::described(slow).contains("allocations"));
}

bench::StressRow inspected(const char* label, std::size_t payload, double internal, double external,
                           std::uint64_t metadata) {
  bench::StressRow row;
  row.allocator = row.label = label;
  row.settings.test = workloads::StressTest::cycle;
  row.point = {payload, 1 << 20, 10, 120};
  row.status = bench::Status::ok;
  row.runs_ms = {1};
  workloads::PoolState state;
  state.blocks = 9600;
  state.address_bytes = 4096;
  state.fragmentation.internal = internal;
  state.fragmentation.external = external;
  state.fragmentation.metadata_bytes = metadata;
  row.peak = row.end = state;
  return row;
}

TEST(StressReport, UnknownFiguresAreAbsent) {
  std::vector<bench::StressRow> rows;
  for (const std::size_t payload : {4, 64}) {
    double external = 0;
    for (const char* label : {"A", "B", "C", "D"}) {
      const double internal = *label == 'B' && payload == 64 ? 0.5 : 0;
      rows.push_back(inspected(label, payload, internal, external += 0.125, payload * 256));
    }
    rows.push_back(inspected("Heap", payload, 0, 0, 0));
    rows.back().peak.reset();
  }
  const bench::Table table = app::stress_memory_table(rows);
  const std::string csv = bench::to_csv(table);
  EXPECT_EQ(csv,
            "allocator,4 B,64 B\n"
            // Internal fragmentation.
            "A,0.000,0.000\nB,0.000,0.500\nC,0.000,0.000\nD,0.000,0.000\n"
            // External fragmentation.
            "A,0.125,0.125\nB,0.250,0.250\nC,0.375,0.375\nD,0.500,0.500\n"
            "A,4.00 KiB,4.00 KiB\nB,4.00 KiB,4.00 KiB\nC,4.00 KiB,4.00 KiB\n"
            "D,4.00 KiB,4.00 KiB\n"  // highest address
            "A,0.125,0.125\nB,0.250,0.250\nC,0.375,0.375\nD,0.500,0.500\n");
  expect_words(bench::to_text(table), {"not inspected: Heap"});
  // Unknown figures are absent: no line, no key, an empty field.
  for (bench::StressRow& row : rows) {
    if (row.label != "A") continue;
    row.overlaps = 1;
    row.peak->fragmentation.internal.reset();
  }
  EXPECT_NE(bench::to_text(app::stress_memory_table(rows)).find("unknown: A ("), std::string::npos);
  const std::string less = bench::to_csv(app::stress_memory_table(rows));
  EXPECT_EQ(less.find("A,"), less.find("A,0.125,0.125"));
  EXPECT_FALSE(bench::described(rows.front())["memory"]["peak"].contains("internal_fragmentation"));
  EXPECT_TRUE(bench::described(rows[1])["memory"]["peak"].contains("internal_fragmentation"));
}

// Medians over runs; iterations with a refusal are excluded.
TEST(StressReport, ShowsFiguresOfSpace) {
  bench::StressRow row = inspected("A", 64, 0, 0, 0);
  row.settings.test = workloads::StressTest::churn;
  row.point.requests = 100;
  row.capacity_bytes = 12800;
  EXPECT_FALSE(bench::space_figures(row).utilization);
  row.steps = {{{1, 100, 0, 6400}, {3, 150, 0, 9600}, {9, 180, 20, 11520}},
               {{2, 100, 0, 6400}, {4, 150, 0, 9600}, {8, 200, 0, 12800}, {7, 200, 100, 12800}},
               {{5, 60, 40, 6400}}};
  const bench::StressSpaceFigures figures = bench::space_figures(row);
  EXPECT_EQ(figures.iterations, 2);
  EXPECT_EQ(figures.blocks, 180);
  EXPECT_DOUBLE_EQ(*figures.utilization, 0.9);
  EXPECT_EQ(figures.first_address_bytes, 6400);
  EXPECT_EQ(figures.address_bytes, 11520);
  EXPECT_EQ(figures.iteration_ms, 3);  // the mean of 2 and 4
  EXPECT_EQ(figures.last_ms, 5.5);     // the mean of 3 and 8
  EXPECT_EQ(bench::to_csv(app::stress_table({row})),
            "allocator,iterations,at the end of the pool,at the end addresses,iteration [ms] "
            "median,iteration [ms] last\n"
            "A,2,90.00%,11.2 KiB,3.00,5.50\n");
}

// The columns of a group are adjacent.
TEST(StressReport, PointsAreGathered) {
  std::vector<bench::StressRow> rows;
  for (const std::uint32_t requests : {1, 10, 100}) {
    for (const std::size_t payload : {32, 64}) {
      rows.push_back(inspected("A", payload, 0, 0, 0));
      rows.back().settings.test = workloads::StressTest::scaling;
      rows.back().point.requests = requests;
      rows.back().runs_ms = {static_cast<double>(requests) + (payload == 64 ? 0.5 : 0)};
    }
  }
  EXPECT_EQ(
      bench::to_csv(app::stress_table(rows)),
      "allocator,32 B 1 request,32 B 10 requests,32 B 100 requests,64 B 1 request,64 B 10 requests,"
      "64 B 100 requests\n"
      "A,1.00,10.00,100.0,1.50,10.50,100.5\n");
}

}  // namespace
}  // namespace heapwood::tests
