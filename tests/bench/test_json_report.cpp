// SPDX-License-Identifier: MIT
// The JSON format of docs/measuring.md: keys, absent figures, reading.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/program/output_file.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "tests/app/executable.hpp"

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
  result.tree = kdtree::TreeStats{};
  result.tree->inner = 10;
  result.tree->leaves = 11;
  result.tree->refs = 4500;
  result.tree->hash = 0xfedcba9876543210;
  result.tree->sah_cost = 61.5;
  result.requests = alloc::RequestStats{};
  result.requests->allocations = 20;
  result.requests->deallocations = 20;
  result.requests->mean_bytes = 40.5;
  result.requests->sigma_bytes = 300.25;
  result.requests->high_water_bytes = 5000;
  result.requests->address_high_water_bytes = 6000;
  result.requests->histogram[5] = 20;
  result.at_end = alloc::Fragmentation{};
  result.at_end->external = 0.95;
  result.at_end->external_merged = 0.5;
  result.at_end->free_bytes = 1 << 20;
  result.kernel = registry::KernelUse{128, 0, 4096, 16};
  result.calls = registry::CallUse{{24, 0}, {16, 0}, {26, 8}};
  result.pool_bytes = 1 << 20;
  result.workspace_bytes = 2 << 20;
  return result;
}

Result per_level_result() {
  Result result = full_result();
  result.builder = Builder::per_level;
  result.allocator = "tlsf";
  result.label = "TLSF";
  result.reset_ms.clear();
  result.requests.reset();
  result.at_end.reset();
  result.kernel.reset();
  result.calls.reset();
  result.pool_bytes.reset();
  result.workspace_bytes.reset();
  result.warps = 0;
  result.levels = LevelFigures{};
  result.levels->run.levels = 40;
  result.levels->run.launches = 130;
  result.levels->run.allocations = 170;
  result.levels->run.requested_bytes = 1 << 20;
  result.levels->run.peak_bytes = 300000;
  result.levels->run.tree_bytes = 100000;
  result.levels->allocation_ms = {0.3, 0.2, 0.4};  // of 3, 1, 2 ms
  result.levels->mapped_bytes = 16 << 20;
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
  EXPECT_FALSE(result.at("calls").contains("own"));  // only of allocators with per-warp state
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
  const std::vector<Result> results{atomic, full_result(), incomplete, per_level_result()};
  std::vector<Result> read;
  for (const Result& result : results)
    read.push_back(result_from_json(Json::parse(json_text(to_json(result)))));
  EXPECT_EQ(to_text(slowdown_table(read)), to_text(slowdown_table(results)));
  EXPECT_EQ(to_text(fragmentation_table(read)), to_text(fragmentation_table(results)));
  EXPECT_EQ(to_csv(flat_table(read)), to_csv(flat_table(results)));
  EXPECT_EQ(to_text(builder_table(read)), to_text(builder_table(results)));
  // Registers appear for every allocator, including AtomicMalloc in its own block.
  const std::string csv = to_csv(slowdown_table(read));
  std::size_t registers = 0;
  for (std::size_t at = 0; (at = csv.find("24 / 16 / 26", at)) != std::string::npos; ++at)
    ++registers;
  EXPECT_EQ(registers, 3u) << csv;
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(to_json(read[i]), to_json(results[i]));
  EXPECT_EQ(to_json(read[0]).at("calls").at("own"), Json({{"registers", 32}, {"stack_bytes", 16}}));
}

// An allocator is marked only if its quartiles lie below those of all others that free.
TEST(BenchTable, NamesNoFastestWhereQuartilesOverlap) {
  Result one = full_result(), two = full_result(), bound = full_result();
  one.runs_ms = {10, 11, 12, 13, 14};  // quartiles 11 and 13
  two.allocator = "two";
  two.label = "Two";
  two.runs_ms = {12, 13.5, 15, 16, 17};  // from 13.5
  bound.allocator = "atomic";
  bound.lower_bound = true;
  bound.runs_ms = {9, 10, 12, 13, 14};  // lower bounds do not compete
  const char* note = "no clear winner: quartiles overlap\n";
  std::string text = to_text(slowdown_table({bound, one, two}));
  EXPECT_NE(text.find("◂ fastest allocator that frees"), std::string::npos) << text;
  EXPECT_EQ(text.find(note), std::string::npos) << text;

  two.runs_ms[1] = 12.5;
  text = to_text(slowdown_table({bound, one, two}));
  EXPECT_EQ(text.find("◂"), std::string::npos) << text;
  EXPECT_NE(text.find(note), std::string::npos) << text;

  // With several scenes the note names those without a clear winner.
  Result other_one = one, other_two = two;
  other_one.source = other_two.source = other_one.scene = other_two.scene = "statue";
  other_two.runs_ms = {20, 21, 22};
  text = to_text(slowdown_table({bound, one, two, other_one, other_two}));
  EXPECT_NE(text.find("◂ fastest allocator that frees"), std::string::npos) << text;
  EXPECT_NE(text.find("no clear winner in atrium: quartiles overlap"), std::string::npos) << text;
}

TEST(JsonReport, PerLevel) {
  const Json json = to_json(per_level_result());
  EXPECT_EQ(json.at("builder"), "per-level");
  EXPECT_EQ(json.at("per_level").at("launches"), 130);
  EXPECT_EQ(json.at("per_level").at("host_allocation_ms"), Json({0.3, 0.2, 0.4}));
  EXPECT_DOUBLE_EQ(json.at("per_level").at("host_allocation_share").get<double>(), 0.2);
  EXPECT_EQ(json.at("memory").at("peak_bytes"), 300000);
  for (const char* key : {"pool_bytes", "high_water_bytes", "workspace_bytes"}) {
    EXPECT_FALSE(json.at("memory").contains(key)) << key;
  }
  EXPECT_FALSE(json.contains("allocations"));
  EXPECT_FALSE(to_json(full_result()).contains("per_level"));
}

TEST(JsonReport, BuilderTable) {
  EXPECT_TRUE(builder_table({full_result()}).columns.empty());
  Result slow = full_result(), bound = full_result();
  slow.label = "Slow";
  slow.runs_ms = {8};
  bound.label = "Bound";
  bound.lower_bound = true;
  bound.runs_ms = {1};
  // The fastest allocator that frees takes 2 ms, as the per-level builder does.
  Table table = builder_table({bound, slow, full_result(), per_level_result()});
  ASSERT_EQ(table.rows.size(), 1u);
  std::vector<std::string> cells;
  for (const Cell& cell : table.rows[0].cells) cells.push_back(cell.text);
  EXPECT_EQ(cells,
            (std::vector<std::string>{"atrium", "2.00 [1]", "2.00", "1.00", "40", "130", "20.0%",
                                      "2.00 MiB", "293 KiB", "3.00 MiB", "16.0 MiB"}));
  EXPECT_EQ(table.notes.back(), "[1] CFMMalloc: lowest median of the allocators that free");
  // A failure is shown with its reason.
  Result failed = per_level_result();
  failed.status = Status::failed;
  failed.reason = "no room";
  table = builder_table({failed});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].cells[1].text, missing);
  EXPECT_EQ(table.rows[0].cells[2].text, "failed [1]");
  EXPECT_EQ(table.rows[0].cells.size(), table.columns.size());
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
  for (const char* text : {"", "{", "[]", "5", "{}", R"({"schema":"heapwood.bench/1"})",
                           R"({"schema":7,"results":[]})"}) {
    tests::write_file(folder / "b.json", text);
    EXPECT_THROW(read_report(folder / "b.json", device()), Error) << text;
  }
}

TEST(OutputFile, ReplacesTheFileAsAWhole) {
  tests::Folder folder;
  const std::string path = folder / "out.json";
  tests::write_file(path, "old");
  {
    OutputFile file(path);
    EXPECT_EQ(tests::read_file(path), "old");
    file.write("new");
    file.write("newer");
  }
  EXPECT_EQ(tests::read_file(path), "newer");
  { OutputFile unused(folder / "unused"); }
  // No temporary file remains, and the check alone creates no file.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(OutputFile, ReportsAtOnceThatItCannotBeWritten) {
  tests::Folder folder;
  EXPECT_THROW(OutputFile(folder / "no/such/folder.json"), Error);
  EXPECT_THROW(OutputFile(folder.path().string()), Error);
}

TEST(OutputFile, ReportsAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  OutputFile file("/dev/full");
  try {
    file.write("x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::failed);
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heapwood::bench
