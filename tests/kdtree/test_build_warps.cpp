// SPDX-License-Identifier: MIT
// The builder's template without the engine: on simulated warps of several widths, whose lanes are threads that race, the tree
// is the one that plain threads build. ThreadSanitizer sees here what the GPU's lanes would do.
#include <gtest/gtest.h>

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/cfmalloc.hpp"
#include "kdtree/build_driver.hpp"
#include "kdtree/quality.hpp"
#include "simt/cpu.hpp"
#include "simt/lockstep.hpp"
#include "tests/kdtree/soup.hpp"

namespace heapwood::kdtree {
namespace {

constexpr std::size_t pool_bytes = std::size_t{16} << 20;

// Just above shared_limit, so that the root is split by all warps; random, and with many equal bounds.
Soup small_soup(std::uint64_t seed) {
  Soup soup = random_soup(900, seed, 0.01f);
  const Soup grid = grid_soup(300, seed + 1, 8);
  for (const Triangle& t : grid.triangles)
    soup.add(grid.vertices[t.v[0]], grid.vertices[t.v[1]], grid.vertices[t.v[2]]);
  return soup;
}

// The time limit makes a hang a failure.
template <class Allocator, class Device>
std::uint64_t hash_of(const Device& device, Workspace& workspace) {
  BuildOptions options;
  options.seconds = 100;
  const BuildRun run = build<Allocator>(device, workspace, options);
  EXPECT_FALSE(run.incomplete);
  return measure(workspace.download(), {}).hash;
}

simt::Cpu threads(int count) { return simt::Cpu({.kind = simt::DeviceKind::cpu, .index = 0, .threads = count}); }

struct Case {
  explicit Case(RefKind kind, std::uint64_t seed = 41, const WorkspaceLimits& limits = {})
      : soup(small_soup(seed)), mesh({}, soup.view()), workspace(mesh, kind, pool_bytes, limits) {
    want = hash_of<alloc::Atomic>(threads(1), workspace);
  }
  Soup soup;
  DeviceMesh mesh;
  Workspace workspace;
  std::uint64_t want = 0;
};

template <class Allocator>
struct BuildWarps : ::testing::Test {};
using Allocators = ::testing::Types<alloc::Atomic, alloc::CfMalloc, alloc::AwMallocSafe>;
TYPED_TEST_SUITE(BuildWarps, Allocators);

TYPED_TEST(BuildWarps, Threads) {
  for (const RefKind kind : all_ref_kinds) {
    Case c(kind);
    for (const int count : {1, 2, 4, 4, 4, 7}) {
      EXPECT_EQ(hash_of<TypeParam>(threads(count), c.workspace), c.want) << name(kind) << ", " << count << " threads";
    }
  }
}

TYPED_TEST(BuildWarps, LockstepClipped) {
  Case c(RefKind::clipped);
  EXPECT_EQ(hash_of<TypeParam>(simt::Lockstep<4>(3), c.workspace), c.want);
  EXPECT_EQ(hash_of<TypeParam>(simt::Lockstep<8>(2), c.workspace), c.want);
}

TYPED_TEST(BuildWarps, LockstepIds) {
  Case c(RefKind::ids);
  EXPECT_EQ(hash_of<TypeParam>(simt::Lockstep<4>(2), c.workspace), c.want);
}

TYPED_TEST(BuildWarps, LockstepInstrumented) {
  Case c(RefKind::clipped);
  const InstrumentedRun whole = build_instrumented<TypeParam>(simt::Lockstep<4>(2), c.workspace, {});
  EXPECT_EQ(measure(c.workspace.download(), {}).hash, c.want);
  EXPECT_EQ(whole.requests.allocations, whole.requests.deallocations);
  BuildOptions options;
  options.fail_at = 50;
  const InstrumentedRun failing = build_instrumented<TypeParam>(simt::Lockstep<4>(2), c.workspace, options);
  EXPECT_TRUE(failing.run.incomplete);
  EXPECT_EQ(failing.requests.allocations, 49u);
  EXPECT_EQ(failing.requests.deallocations, 49u);
}

// A full ring and no shared nodes, with lanes that race.
TEST(BuildWarpsFallback, Lockstep) {
  WorkspaceLimits limits;
  limits.ring = 8;
  limits.shared_nodes = 1;
  Case c(RefKind::clipped, 43, limits);
  EXPECT_EQ(hash_of<alloc::CfMalloc>(simt::Lockstep<4>(2), c.workspace), c.want);
  EXPECT_EQ(hash_of<alloc::CfMalloc>(threads(2), c.workspace), c.want);
}

// A GPU's width, once, on few triangles.
TEST(BuildWarpsFallback, FullWidth) {
  const Soup soup = random_soup(60, 44, 0.05f);
  const DeviceMesh mesh({}, soup.view());
  for (const RefKind kind : all_ref_kinds) {
    Workspace workspace(mesh, kind, pool_bytes);
    const std::uint64_t want = hash_of<alloc::Atomic>(threads(1), workspace);
    EXPECT_EQ(hash_of<alloc::Atomic>(simt::Lockstep<32>(1), workspace), want) << name(kind);
  }
}

TEST(BuildWarpsFallback, EmptyMesh) {
  const Soup soup;
  const DeviceMesh mesh({}, soup.view());
  Workspace workspace(mesh, RefKind::clipped, pool_bytes);
  EXPECT_FALSE(build<alloc::Atomic>(simt::Lockstep<4>(2), workspace, {}).incomplete);
  EXPECT_EQ(workspace.download().nodes.size(), 2u);
}

}  // namespace
}  // namespace heapwood::kdtree
