// SPDX-License-Identifier: MIT
// The per-level builder makes the same tree as the single kernel on every device and width of a
// warp, and frees its memory, also if a request is refused or the build is stopped.
#include "kdtree/levels/builder.hpp"

#include "kdtree/levels/driver.hpp"
#include "tests/errors.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/kdtree/plain_host.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

class LevelBuilderBuilds : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      const simt::DeviceInfo found = tests::test_device();
      if (!found.usable) GTEST_SKIP() << found.reason;
      device = found.id;
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { simt::clear_interrupt(); }

  simt::DeviceId device;
};

Soup small_soup() {
  Soup soup = random_soup(sanitized ? 1200 : 3000, 51, 0.02f);
  soup.add(grid_soup(200, 52, 8));
  return soup;
}

TEST_F(LevelBuilderBuilds, GiveTheTreeOfTheSingleKernel) {
  for (const RefKind kind : all_ref_kinds) {
    for (const auto& [title, soup] : soups(kind)) {
      SCOPED_TRACE(std::string(name(kind)) + ", " + title);
      const Expected want = expected(soup.view(), kind);
      const DeviceMesh mesh(device, soup.view());
      PlainHost host(device);
      {
        LevelBuilder builder(mesh, kind, host);
        for (int again = 0; again < 2; ++again) {
          const LevelRun run = builder.build();
          const Tree tree = builder.download();
          const TreeStats stats = measure(tree, {});
          EXPECT_EQ(stats.hash, want.built.stats.hash);
          EXPECT_EQ(tree.bounds, want.built.tree.bounds);
          EXPECT_EQ(run.levels, stats.depth + 1);
          EXPECT_EQ(tree.nodes.size(), stats.inner + stats.leaves + 1);  // nodes[1] is unused
          EXPECT_EQ(tree.refs.size(), stats.refs);
          EXPECT_EQ(host.statistics().requested_bytes, run.tree_bytes);
          EXPECT_EQ(run.tree_bytes, 8 * tree.nodes.size() + 4 * tree.refs.size());
        }
      }
      EXPECT_EQ(host.statistics().live_blocks, 0u);
    }
  }
}

TEST_F(LevelBuilderBuilds, OfFewTrianglesGiveTheSameTree) {
  Soup equal, flat, points;
  for (int i = 0; i < 1500; ++i) {
    const float x = static_cast<float>(i);
    equal.add({0, 0, 0}, {1, 0, 0}, {0, 1, 1});
    flat.add({x, 0, 0}, {x + 1, 0, 0}, {x, 0, 1});
    points.add({1, 2, 3}, {1, 2, 3}, {1, 2, 3});
  }
  for (const Soup& soup : {Soup{}, random_soup(1, 53), random_soup(33, 54), random_soup(1024, 55),
                           random_soup(1025, 56), equal, flat, points}) {
    for (const RefKind kind : all_ref_kinds) {
      SCOPED_TRACE(std::to_string(soup.triangles.size()) + ", " + name(kind));
      const DeviceMesh mesh(device, soup.view());
      PlainHost host(device);
      LevelBuilder builder(mesh, kind, host);
      builder.build();
      EXPECT_EQ(measure(builder.download(), {}).hash, expected(soup.view(), kind).built.stats.hash);
    }
  }
}

// The counts agree with the allocator's. Peak use is more than the refs of one level and less than
// all requests together.
TEST_F(LevelBuilderBuilds, CountWhatTheAllocatorCounts) {
  const Soup soup = small_soup();
  const DeviceMesh mesh(device, soup.view());
  PlainHost host(device);
  LevelBuilder builder(mesh, RefKind::clipped, host);
  const LevelRun run = builder.build();
  EXPECT_EQ(run.allocations, host.statistics().allocations);
  EXPECT_EQ(run.peak_bytes, host.statistics().peak_requested_bytes);
  EXPECT_GT(run.peak_bytes, soup.triangles.size() * (32 + 48));
  EXPECT_LT(run.peak_bytes, run.requested_bytes);
  EXPECT_GE(run.launches, 3 * run.levels);
  EXPECT_GT(run.allocation_ms, 0.0);
  EXPECT_LT(run.allocation_ms, run.ms);
}

// For every refused request the error is one line, and all memory is freed.
TEST_F(LevelBuilderBuilds, FreeAllIfMemoryIsRefused) {
  const Soup soup = small_soup();
  const DeviceMesh mesh(device, soup.view());
  PlainHost host(device);
  LevelBuilder builder(mesh, RefKind::clipped, host);
  const std::uint64_t requests = builder.build().allocations;
  const std::uint64_t hash = measure(builder.download(), {}).hash;
  for (std::uint64_t k = 1; k <= requests; k += sanitized ? 7 : 1) {
    host.refuse(k);
    tests::expect_error(Exit::failed, {"cannot allocate"}, [&] { builder.build(); });
    EXPECT_EQ(host.statistics().live_blocks, 0u) << k;
    EXPECT_EQ(builder.download().refs.size(), 0u);
  }
  host.refuse(0);
  builder.build();
  EXPECT_EQ(measure(builder.download(), {}).hash, hash);
}

TEST_F(LevelBuilderBuilds, CanBeStoppedAndStartedAgain) {
  const Soup soup = small_soup();
  const DeviceMesh mesh(device, soup.view());
  PlainHost host(device);
  LevelBuilder builder(mesh, RefKind::ids, host);
  BuildOptions options;
  options.seconds = 0;
  const auto expect_stop = [&](simt::Stopped::Reason reason) {
    try {
      builder.build(options);
      ADD_FAILURE() << "not stopped";
    } catch (const simt::Stopped& stopped) {
      EXPECT_EQ(stopped.reason(), reason);
      EXPECT_NE(std::string(stopped.what()).find("per-level"), std::string::npos);
    }
    EXPECT_EQ(host.statistics().live_blocks, 0u);
  };
  expect_stop(simt::Stopped::Reason::time_limit);
  options.seconds = 60;
  simt::interrupt();
  expect_stop(simt::Stopped::Reason::interrupted);
  simt::clear_interrupt();
  builder.build(options);
  EXPECT_EQ(measure(builder.download(), {}).hash,
            expected(soup.view(), RefKind::ids).built.stats.hash);
}

// Concurrent lanes, as on a GPU, for ThreadSanitizer.
template <unsigned width, RefKind kind>
void expect_the_tree(const Soup& soup, unsigned warps) {
  const DeviceMesh mesh({}, soup.view());
  PlainHost host({});
  LevelMemory memory({}, host);
  LevelTree tree;
  // No time limit: simulated warps take minutes on a busy computer.
  BuildOptions options;
  options.seconds = 1e9;
  build_levels_of<kind>(simt::Lockstep<width>(warps), LevelJob{mesh, kind, memory, options}, tree);
  EXPECT_EQ(measure(download(tree), {}).hash, expected(soup.view(), kind).built.stats.hash);
}

TEST(LevelBuilderLockstep, GivesTheSameTree) {
  expect_the_tree<4, RefKind::clipped>(random_soup(1100, 57, 0.01f), 2);
  expect_the_tree<4, RefKind::ids>(random_soup(60, 58, 0.05f), 2);
  expect_the_tree<32, RefKind::clipped>(random_soup(60, 58, 0.05f), 1);
}

}  // namespace
}  // namespace heapwood::kdtree
