// SPDX-License-Identifier: MIT
// Settings of allocators in builds; the table of build kernels.
#include <gtest/gtest.h>

#include "bench/prepared_scene.hpp"
#include "bench/program/allocator_names.hpp"
#include "bench/results/bench_table.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {
namespace {

TEST(BuildOptions, AllocatorSettingsReachTheWorkspace) {
  BuildSettings settings;
  settings.pool = parse_pool("8M");
  settings.allocator.queue_slots = 5000;  // of the job, for all allocators
  PreparedScene scene("atrium:1k", simt::find_device("cpu", 1), settings, {});
  const registry::RegisteredAllocator& list = find_allocator("cfmmalloc:smallest=64");
  EXPECT_FALSE(scene.build(list).incomplete);
  alloc::AllocatorOptions options = scene.workspace().allocator_options();
  EXPECT_EQ(options.smallest_chunk, 64u);
  EXPECT_EQ(options.queue_slots, 5000u);
  EXPECT_TRUE(options.has_persistent_warps);
  for (const char* name : {"scatter:page=4K", "scatter:page=16K", "atomic"}) {
    EXPECT_FALSE(scene.build(find_allocator(name)).incomplete);
    options = scene.workspace().allocator_options();
    EXPECT_EQ(options.page_bytes, find_allocator(name).options.page_bytes);
    EXPECT_EQ(options.smallest_chunk, 0u);
  }
}

// `bench --resume` and `compare` tell results with different settings apart.
TEST(BuildOptions, AllocatorSettingsAreInTheReportIfTheyWereGiven) {
  Result result;
  for (const char* key : {"page_bytes", "smallest_chunk", "chunk_search"})
    EXPECT_FALSE(to_json(BuildSettings{}).contains(key)) << key;
  EXPECT_EQ(to_json(BuildSettings{}).contains("uncapped"), !kdtree::limits_registers);
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      alloc::AllocatorOptions& options = result.settings.allocator = {};
      setting.set(options, setting.words ? 1 : setting.min);
      const Json json = to_json(result);
      EXPECT_TRUE(json.at("settings").contains(setting.json)) << setting.json;
      const Result read = result_from_json(json);
      EXPECT_EQ(setting.get(read.settings.allocator), setting.get(options)) << setting.json;
    }
  }
}

TEST(KernelTable, ShowsRegistersOfEachAllocatorOnce) {
  std::vector<Result> results;
  for (const char* scene : {"a", "b"}) {
    for (const int registers : {64, 96}) {
      Result result;
      result.source = result.scene = scene;
      result.allocator = result.label = registers == 64 ? "light" : "heavy";
      result.status = Status::ok;
      result.runs_ms = {1.5};
      result.kernel = registry::KernelUse{registers, 32, 4096, 20};
      results.push_back(result);
    }
  }
  results.back().status = Status::failed;
  const Table table = kernel_table(results);
  ASSERT_EQ(table.columns.size(), 6u);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1].cells[0].text, "heavy");
  EXPECT_EQ(table.rows[1].cells[1].text, "96");
  EXPECT_EQ(table.rows[1].cells[3].text, "20");
  EXPECT_EQ(table.rows[0].cells[5].text, "1.50");
  EXPECT_EQ(table.rows[1].cells[5].text, missing);
  for (Result& result : results) result.kernel.reset();
  EXPECT_TRUE(kernel_table(results).columns.empty());
}

}  // namespace
}  // namespace heapwood::bench
