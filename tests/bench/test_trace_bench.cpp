// SPDX-License-Identifier: MIT
// heapwood trace: builds of a tree before its rays.
#include <gtest/gtest.h>

#include "bench/prepared_scene.hpp"
#include "bench/trace_bench.hpp"

namespace heapwood::bench {
namespace {

std::vector<std::size_t> pools;  // of the builds

// Reports an incomplete tree from the second timed build on, unless the pool has grown.
kdtree::BuildRun build_late(kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
  pools.push_back(workspace.pool().bytes);
  kdtree::BuildRun run = registry::find("atomic")->cpu->build(workspace, options);
  run.incomplete = pools.size() > 2 && pools.back() == pools.front();
  return run;
}

TraceResult trace_late(const char* pool) {
  pools.clear();
  registry::CompiledAllocator compiled = *registry::find("atomic")->cpu;
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
