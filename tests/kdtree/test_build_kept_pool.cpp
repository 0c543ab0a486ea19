// SPDX-License-Identifier: MIT
// Builds that continue in the pool of earlier ones, and workspaces whose mesh changes.
#include <gtest/gtest.h>

#include "alloc/allocators/atomic.hpp"
#include "kdtree/build/driver.hpp"
#include "simt/cpu.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

class BuildKeptPool : public PerAllocator {
 protected:
  const Soup soup = random_soup(sanitized ? 400 : 1500, 5, 0.02f);
};

TEST_P(BuildKeptPool, EveryBuildGivesTheSameTree) {
  const Subject& subject = GetParam();
  if (!subject.frees() || !subject.traits->keeps_live_memory)
    GTEST_SKIP() << "its pool cannot be kept";
  Bench bench(subject, soup);
  KeptAllocator kept;
  BuildOptions options;
  options.kept = &kept;
  for (int i = 0; i < 4; ++i) {
    bench.build(options);
    // The heap of device malloc is not in the pool, but on CPU threads it stands in it.
    if (!kept.handle.has_value()) continue;
    ASSERT_TRUE(kept.regions);
    std::size_t bytes = 0;
    for (const alloc::Region& region : kept.regions()) {
      EXPECT_EQ(region.offset, bytes);
      EXPECT_NE(region.state, alloc::Region::State::used) << "a block was not freed";
      bytes = region.offset + region.bytes;
    }
    if (subject.traits->in_pool) {
      EXPECT_EQ(bytes, bench.workspace.pool().bytes);
    }
  }
}

// A build that ends by an exception leaves blocks behind: the next one resets the pool.
TEST_P(BuildKeptPool, AFailedBuildIsNotContinued) {
  const Subject& subject = GetParam();
  if (!subject.frees()) GTEST_SKIP() << "its pool cannot be kept";
  Bench bench(subject, soup, RefKind::clipped, {.nodes = 64});
  KeptAllocator kept;
  BuildOptions options;
  options.kept = &kept;
  options.seconds = 0;
  EXPECT_THROW(subject.compiled->build(bench.workspace, options), simt::Stopped);
  EXPECT_FALSE(kept.handle.has_value());
  options.seconds = 60;
  // Restarts with more nodes begin with an empty pool, too.
  bench.build(options);
}

INSTANTIATE_TEST_SUITE_P(, BuildKeptPool, testing::ValuesIn(subjects()), name_of);

class BuildKeptWorkspace : public BuildKeptPool {};

TEST_P(BuildKeptWorkspace, TheMeshMayChange) {
  const Soup few = random_soup(sanitized ? 150 : 500, 9, 0.1f);
  Bench bench(GetParam(), soup);
  bench.build();
  bench.mesh.vertices.set_size(few.vertices.size());
  bench.mesh.triangles.set_size(few.triangles.size());
  bench.mesh.vertices.upload(few.vertices);
  bench.mesh.triangles.upload(few.triangles);
  const Built built = build(GetParam(), bench.workspace);
  EXPECT_EQ(built.stats.hash, expected(few.view(), RefKind::clipped).built.stats.hash);
  const DeviceTree tree = bench.workspace.device_tree();
  EXPECT_EQ(tree.bounds, built.tree.bounds);
  EXPECT_EQ(tree.ref_count, built.tree.refs.size());
}

INSTANTIATE_TEST_SUITE_P(, BuildKeptWorkspace, testing::ValuesIn(few_subjects()), name_of);

// A time limit applies to the whole build, including restarts with larger output arrays.

struct BuildDeadlineRestarts : ::testing::Test {
  BuildDeadlineRestarts() : soup(random_soup(900, 5, 0.01f)), mesh({}, soup.view()) {
    // Each restart doubles an array: about ten restarts for each of the two.
    limits.nodes = 2;
    limits.output = 1;
    workspace.emplace(mesh, RefKind::clipped, std::size_t{16} << 20, limits);
  }
  ~BuildDeadlineRestarts() override { simt::clear_interrupt(); }

  // Builds with an allocator whose creation takes 20 ms; `made` counts creations.
  BuildRun build(const BuildOptions& options) {
    const simt::Cpu device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 2});
    return build_with<alloc::Atomic, RefKind::clipped>(device, *workspace, options, [&] {
      ++made;
      clock.turn(0.02);
      if (made == interrupt_at) simt::interrupt();
      return alloc::Atomic::create(workspace->pool(), workspace->allocator_options(), device);
    });
  }
  // The message of the exception that stops the build.
  std::string stopped(const BuildOptions& options, simt::Stopped::Reason reason) {
    try {
      build(options);
    } catch (const simt::Stopped& stop) {
      EXPECT_EQ(stop.reason(), reason);
      return stop.what();
    }
    ADD_FAILURE() << "not stopped after " << made << " starts";
    return "";
  }

  const tests::TurnedClock clock;
  Soup soup;
  DeviceMesh mesh;
  WorkspaceLimits limits;
  std::optional<Workspace> workspace;
  int made = 0, interrupt_at = 0;
};

TEST_F(BuildDeadlineRestarts, ThereAreMany) {
  EXPECT_FALSE(build({}).incomplete);
  EXPECT_GE(made, 10);
}

TEST_F(BuildDeadlineRestarts, ShareTheTimeLimit) {
  BuildOptions options;
  options.seconds = 0.1;
  const std::string message = stopped(options, simt::Stopped::Reason::time_limit);
  EXPECT_EQ(
      message,
      "atomic: build: not finished after 0.1 s, stopped; raise --timeout if it may take longer");
  EXPECT_EQ(made, 5);
}

// Time that the caller has spent before the build counts.
TEST_F(BuildDeadlineRestarts, TheLimitBeginsWhenTheCallerSays) {
  BuildOptions options;
  options.started = simt::HostClock::now() - std::chrono::milliseconds(59'970);
  const std::string message = stopped(options, simt::Stopped::Reason::time_limit);
  EXPECT_NE(message.find("after 60 s"), std::string::npos) << message;
  EXPECT_EQ(made, 2);
}

TEST_F(BuildDeadlineRestarts, EndWithAnInterruption) {
  interrupt_at = 3;
  const std::string message = stopped({}, simt::Stopped::Reason::interrupted);
  EXPECT_NE(message.find("interrupted"), std::string::npos) << message;
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace heapwood::kdtree
