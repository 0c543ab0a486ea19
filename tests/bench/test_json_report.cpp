// SPDX-License-Identifier: MIT
// The JSON format of docs/measuring.md: keys, absent figures, reading.

#include <cmath>

#include "app/output/tables.hpp"
#include "bench/host_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_fields.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "bench/stress.hpp"
#include "tests/app/executable.hpp"
#include "tests/errors.hpp"

namespace heapwood::bench {
namespace {

Result full_result() {
  Result result;
  result.source = "dir/atrium.obj";
  result.scene = "atrium";
  result.triangles = 1000;
  result.degenerate = 3;
  result.allocator = "cfmmalloc";
  result.label = "CFMMalloc";
  result.settings.runs = 3;
  result.settings.pool = parse_pool("200x");
  result.settings.prefer = &parse_prefer("build");
  result.settings.refs = kdtree::RefKind::ids;
  result.status = Status::ok;
  result.runs_ms = {3, 1, 2};
  result.reset_ms = {0.1, 0.2, 0.3};
  result.slowdown = 1.25;
  result.slowdown_over = "atomic";
  result.warps = 8;
  result.tree = {
      .inner = 10, .leaves = 11, .refs = 4500, .sah_cost = 61.5, .hash = 0xfedcba9876543210};
  result.requests = {20, 20, 0, 40.5, 300.25, 5000, 6000, {}};
  result.requests->histogram[5] = 20;
  result.at_end = {.internal = {}, .external = 0.95, .external_merged = 0.5, .free_bytes = 1 << 20};
  result.kernel = registry::KernelUse{128, 0, 4096, 16};
  result.calls = registry::CallUse{{24, 0}, {16, 0}, {26, 8}};
  result.pool_bytes = 1 << 20;
  result.workspace_bytes = 2 << 20;
  return result;
}

simt::DeviceInfo device(const char* name = "A processor") {
  simt::DeviceInfo info;
  info.key = "cpu";
  info.name = name;
  info.multiprocessors = 2;
  return info;
}

TEST(JsonReport, HasTheKeysOfTheContract) {
  const Json report = bench_report({"heapwood", "bench"}, device(), {full_result()});
  EXPECT_EQ(report.at("schema"), "heapwood.bench/1");
  EXPECT_EQ(report.at("argv"), Json({"heapwood", "bench"}));
  EXPECT_TRUE(report.at("git").at("sha").is_string());
  EXPECT_TRUE(report.at("git").at("dirty").is_boolean() || report.at("git").at("dirty").is_null());
  EXPECT_EQ(report.at("device").at("kind"), "cpu");
  EXPECT_EQ(report.at("device").at("name"), "A processor");
  const Json& result = report.at("results").at(0);
  for (const char* key :
       {"scene", "triangles", "allocator", "label", "builder", "runs_ms", "median_ms", "slowdown",
        "status", "tree", "allocations", "memory", "registers"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  for (const char* key : {"hash", "nodes", "leaves", "refs", "refs_per_triangle", "sah_cost",
                          "sah_cost_1_1", "depth"}) {
    EXPECT_TRUE(result.at("tree").contains(key)) << key;
  }
  for (const char* key : {"count", "mean_bytes", "sigma_bytes"})
    EXPECT_TRUE(result.at("allocations").contains(key)) << key;
  for (const char* key : {"pool_bytes", "high_water_bytes", "address_high_water_bytes",
                          "external_fragmentation", "external_fragmentation_merged"}) {
    EXPECT_TRUE(result.at("memory").contains(key)) << key;
  }
  EXPECT_EQ(result.at("runs_ms"), Json({3.0, 1.0, 2.0}));
  EXPECT_EQ(result.at("median_ms"), 2.0);
  EXPECT_EQ(result.at("status"), "ok");
  EXPECT_EQ(result.at("tree").at("hash"), "fedcba9876543210");
  EXPECT_EQ(result.at("tree").at("nodes"), 21);
  EXPECT_EQ(result.at("tree").at("refs_per_triangle"), 4.5);
  EXPECT_EQ(result.at("settings").at("prefer"), "build");
  EXPECT_EQ(result.at("settings").at("empty_bonus").dump(), "0.15");
  EXPECT_EQ(result.at("registers"), 128);
  EXPECT_EQ(result.at("calls").at("malloc").at("registers"), 24);
  EXPECT_EQ(result.at("calls").at("both").at("stack_bytes"), 8);
  EXPECT_FALSE(result.at("calls").contains("own"));  // only allocators with state per warp have it
}

TEST(JsonReport, UnmeasuredFiguresAreAbsent) {
  Result skipped;
  skipped.scene = skipped.source = "atrium";
  skipped.allocator = "fdg";
  skipped.reason = "frees all at once";
  const Json json = to_json(skipped);
  for (const char* key : {"triangles", "median_ms", "slowdown", "tree", "allocations", "memory",
                          "registers", "calls"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  EXPECT_EQ(json.at("status"), "skipped");
  EXPECT_EQ(json.at("reason"), "frees all at once");
  Result odd = full_result();
  odd.tree->sah_cost = NAN;
  odd.triangles = 0;
  const std::string text = json_text(to_json(odd));
  EXPECT_FALSE(Json::parse(text).at("tree").contains("sah_cost"));
  EXPECT_FALSE(Json::parse(text).at("tree").contains("refs_per_triangle"));
}

TEST(JsonReport, TablesCanBeWrittenAgainFromTheFile) {
  Result atomic = full_result(), incomplete = full_result();
  atomic.allocator = "atomic";
  atomic.label = "AtomicMalloc";
  atomic.lower_bound = true;
  atomic.frees = alloc::Frees::never;
  atomic.at_end->internal = 0.01;
  atomic.calls->own = registry::KernelUse{32, 16};
  incomplete.allocator = "small";
  incomplete.label = "Small";
  incomplete.status = Status::incomplete;
  incomplete.reason = "pool exhausted";
  incomplete.slowdown.reset();
  incomplete.slowdown_over.clear();
  incomplete.refused_splits = 5;
  const std::vector<Result> results{atomic, full_result(), incomplete};
  std::vector<Result> read;
  for (const Result& result : results)
    read.push_back(result_from_json(Json::parse(json_text(to_json(result)))));
  EXPECT_EQ(to_text(slowdown_table(read)), to_text(slowdown_table(results)));
  EXPECT_EQ(to_text(fragmentation_table(read)), to_text(fragmentation_table(results)));
  EXPECT_EQ(to_csv(flat_table(read)), to_csv(flat_table(results)));
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(to_json(read[i]), to_json(results[i]));
  EXPECT_EQ(to_json(read[0]).at("calls").at("own"), Json({{"registers", 32}, {"stack_bytes", 16}}));
}

// An allocator is marked only if its quartiles lie below those of all others that free.
TEST(BenchTable, NamesNoFastestWhereQuartilesOverlap) {
  Result one = full_result(), two = full_result(), bound = full_result();
  one.runs_ms = {10, 11, 12, 13, 14};  // quartiles 11 and 13
  two.allocator = "two";
  two.label = "Two";
  two.runs_ms = {12, 13.5, 15, 16, 17};  // lower quartile 13.5
  bound.allocator = "atomic";
  bound.lower_bound = true;
  bound.runs_ms = {9, 10, 12, 13, 14};  // the fastest, but lower bounds do not compete
  const std::string clear = to_text(slowdown_table({bound, one, two}));
  tests::expect_words(clear, {"◂ fastest allocator that frees"});
  two.runs_ms[1] = 12.5;
  std::string text = to_text(slowdown_table({bound, one, two}));
  EXPECT_EQ(text.find("◂"), text.npos) << text;
  tests::expect_words(text, {"no clear winner: quartiles overlap\n"});

  // With several scenes the note names those without a clear winner.
  Result other_one = one, other_two = two;
  other_one.source = other_two.source = other_one.scene = other_two.scene = "statue";
  other_two.runs_ms = {20, 21, 22};
  text = to_text(slowdown_table({bound, one, two, other_one, other_two}));
  tests::expect_words(
      text, {"◂ fastest allocator that frees", "no clear winner in atrium: quartiles overlap"});
}

TEST(JsonReport, OnlyCompleteResultsOfTheSameSettingsAreReused) {
  const Result result = full_result();
  EXPECT_TRUE(reusable(to_json(result), result.settings));
  BuildSettings other = result.settings;
  other.runs = 5;
  EXPECT_FALSE(reusable(to_json(result), other));
  other = result.settings;
  other.costs.traversal = 2;
  EXPECT_FALSE(reusable(to_json(result), other));
  Result partial = result;
  partial.runs_ms.pop_back();
  EXPECT_FALSE(reusable(to_json(partial), result.settings));
  Result failed = result;
  failed.status = Status::failed;
  EXPECT_FALSE(reusable(to_json(failed), result.settings));
  EXPECT_FALSE(reusable(Json::object(), result.settings));
  EXPECT_FALSE(reusable(Json(5), result.settings));
}

TEST(JsonReport, ReadsOnlyReportsOfTheSameDevice) {
  tests::Folder folder;
  EXPECT_TRUE(read_report(folder / "none.json", device()).results.empty());
  tests::write_file(folder / "a.json", json_text(bench_report({}, device(), {full_result()})));
  EXPECT_EQ(read_report(folder / "a.json", device()).results.size(), 1u);
  EXPECT_THROW(read_report(folder / "a.json", device("Another")), Error);
  // The name in a file may be of any length.
  const std::string long_name(3000, 'y');
  tests::write_file(folder / "long.json",
                    json_text(bench_report({}, device(long_name.c_str()), {})));
  const auto error = tests::caught<Error>([&] { read_report(folder / "long.json", device()); });
  EXPECT_LT(std::string(error.what()).size(), folder.path().string().size() + 250) << error.what();
  for (const char* text : {"", "{", "[]", "5", "{}", R"({"schema":"heapwood.bench/1"})",
                           R"({"schema":7,"results":[]})"}) {
    tests::write_file(folder / "b.json", text);
    EXPECT_THROW(read_report(folder / "b.json", device()), Error) << text;
  }
}

// The CSV tables with one column per figure: titles, their order, and a row with every figure.

// Almost every figure differs from the others, so that no two columns can be exchanged unnoticed.
TEST(FlatTable, HasEveryFigureOfBuilds) {
  Result measured = full_result();
  measured.lower_bound = true;
  measured.status = Status::incomplete;
  measured.reason = "pool exhausted, \"full\"";
  measured.tree->depth = 7;
  measured.tree->sah_cost_1_1 = 62.5;
  measured.at_end->internal = 0.0625;
  Result no_requests = measured;
  no_requests.requests = alloc::RequestStats{};
  no_requests.at_end->internal.reset();
  EXPECT_EQ(to_csv(flat_table({measured, no_requests, Result{}})),
            "scene,triangles,allocator,label,lower_bound,builder,refs,status,reason,runs,"
            "median_ms,q1_ms,q3_ms,reset_ms,slowdown,slowdown_over,refs_per_triangle,sah_cost,"
            "sah_cost_1_1,nodes,leaves,depth,hash,allocations,mean_bytes,sigma_bytes,pool_bytes,"
            "high_water_bytes,internal_fragmentation,external_fragmentation,registers,source\n"
            "atrium,1000,cfmmalloc,CFMMalloc,yes,single-kernel,ids,incomplete,\"pool exhausted,"
            " \"\"full\"\"\",3,2,1.5,2.5,0.2,1.25,atomic,4.5,61.5,62.5,21,11,7,fedcba9876543210,"
            "20,40.5,300.25,1048576,5000,0.0625,0.95,128,dir/atrium.obj\n"
            "atrium,1000,cfmmalloc,CFMMalloc,yes,single-kernel,ids,incomplete,\"pool exhausted,"
            " \"\"full\"\"\",3,2,1.5,2.5,0.2,1.25,atomic,4.5,61.5,62.5,21,11,7,fedcba9876543210,0,"
            ",,1048576,0,,0.95,128,dir/atrium.obj\n"
            ",,,,no,single-kernel,clipped,skipped,,0,,,,,,,,,,,,,,,,,,,,,,\n");
}

StressRow measured_row() {
  StressRow row;
  row.allocator = "cmalloc";
  row.label = "CMalloc";
  row.lower_bound = true;
  row.settings.test = workloads::StressTest::churn;
  row.settings.lanes = 3;
  row.settings.touch = true;
  row.settings.allocator.page_bytes = 4096;
  row.point = {64, 1 << 20, 10, 120, 77};
  row.status = Status::failed;
  row.reason = "2 blocks overlap, 3 damaged";
  row.runs_ms = {4, 1, 2};
  row.allocate_ms = {5};
  row.free_ms = {6};
  row.reset_ms = {7};
  row.floor_ms = {8};
  row.counts = workloads::StressCounts{9600, 9500, 9400};
  row.damaged = 11;
  row.overlaps = 12;
  const alloc::Fragmentation at_peak{.internal = 0.125, .external = 0.25, .metadata_bytes = 14};
  row.peak = {.blocks = 1, .address_bytes = 13, .fragmentation = at_peak};
  row.end = {.fragmentation = {.internal = {}, .external = 0.375}};
  row.calls = registry::CallUse{{.registers = 18}, {.registers = 14}, {.registers = 22}};
  row.steps = {{{1, 10, 0, 640}, {3, 15, 0, 960}, {9, 18, 2, 1152}}};
  row.capacity_bytes = 12800;
  return row;
}

TEST(FlatTable, HasEveryFigureOfStressTests) {
  StressRow no_fragmentation = measured_row();
  no_fragmentation.peak->fragmentation.internal.reset();
  no_fragmentation.settings.touch = false;
  no_fragmentation.settings.coalesced = true;
  EXPECT_EQ(to_csv(table_of_json(
                {described(measured_row()), described(no_fragmentation), described(StressRow{})},
                app::stress_columns)),
            "test,allocator,label,lower_bound,payload_bytes,pool_bytes,iterations,blocks,"
            "requests,threads,lanes,page_bytes,touch,coalesced,status,reason,runs,median_ms,"
            "q1_ms,q3_ms,allocate_ms,free_ms,reset_ms,floor_ms,allocations,deallocations,refused,"
            "overlaps_by_address,overlaps_by_content,internal_fragmentation,"
            "external_fragmentation,external_fragmentation_end,address_bytes,metadata_bytes,"
            "utilization,first_range_bytes,range_bytes,iterations_served,iteration_ms,"
            "last_iteration_ms,registers_malloc,registers_free,registers_both\n"
            "churn,cmalloc,CMalloc,yes,64,1048576,10,,77,77,3,4096,yes,no,failed,"
            "\"2 blocks overlap, 3 damaged\",3,2,1.5,3,5,6,7,8,9600,9500,9400,12,11,0.125,0.25,"
            "0.375,13,14,0.09,640,1152,2,2,3,18,14,22\n"
            "churn,cmalloc,CMalloc,yes,64,1048576,10,,77,77,3,4096,no,yes,failed,"
            "\"2 blocks overlap, 3 damaged\",3,2,1.5,3,5,6,7,8,9600,9500,9400,12,,,0.25,0.375,13,"
            "14,0.09,640,1152,2,2,3,18,14,22\n"
            "ad,,,no,4,0,1,0,,0,1,,no,no,skipped,,0,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
}

TEST(FlatTable, HasEveryFigureOfHostAllocators) {
  HostBenchRow row;
  row.allocator = "tlsf";
  row.label = "TLSF";
  row.status = Status::ok;
  row.passes.resize(2);
  HostBenchPass& pass = row.passes[0];
  for (int i = 0; i <= 1000; ++i) {
    pass.latencies.allocate.push_back(i);
    pass.latencies.free.push_back(i + 2000);
    pass.latencies.both.push_back(i + 4000);
  }
  pass.peak_requested_bytes = 1000;
  pass.peak_mapped_bytes = 1500;
  pass.mean_ratio = 1.75;
  pass.mappings = 5;
  pass.refused = 6;
  HostBenchRow failed;
  failed.allocator = "mmap";
  failed.label = "mmap";
  failed.status = Status::failed;
  failed.reason = "out of memory";
  const Json report = host_bench_report({}, {}, {row, failed});
  EXPECT_EQ(to_csv(table_of_json(report["results"], app::host_bench_columns, "passes")),
            "allocator,label,status,reason,pass,allocate_p50_us,allocate_p99_us,"
            "allocate_p99_9_us,allocate_max_us,free_p50_us,free_p99_us,free_p99_9_us,free_max_us,"
            "both_p50_us,both_p99_us,both_p99_9_us,both_max_us,peak_requested_bytes,"
            "peak_mapped_bytes,mapped_over_requested_peak,mapped_over_requested_mean,mappings,"
            "refused\n"
            "tlsf,TLSF,ok,,1,500,990,999,1000,2500,2990,2999,3000,4500,4990,4999,5000,1000,1500,"
            "1.5,1.75,5,6\n"
            "tlsf,TLSF,ok,,2,,,,,,,,,,,,,0,,,,0,0\n"
            "mmap,mmap,failed,out of memory,,,,,,,,,,,,,,,,,,,\n");
}

}  // namespace
}  // namespace heapwood::bench
