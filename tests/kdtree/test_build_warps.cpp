// SPDX-License-Identifier: MIT
// The builder template without the registry: on simulated warps of several widths, whose lanes are
// concurrent threads, the tree is the same as on plain threads. Here ThreadSanitizer checks the
// accesses of a GPU's lanes.
#include <gtest/gtest.h>

#include <type_traits>

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/circular_lists.hpp"
#include "kdtree/build/driver.hpp"
#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "simt/cpu.hpp"
#include "tests/kdtree/families.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::kdtree {
namespace {

constexpr std::size_t pool_bytes = std::size_t{16} << 20;

// Just above shared_limit, so that all warps split the root; random triangles, and some with many
// equal bounds.
Soup small_soup(std::uint64_t seed) {
  Soup soup = random_soup(900, seed, 0.01f);
  soup.add(grid_soup(300, seed + 1, 8));
  return soup;
}

// The time limit turns a hang into a failure.
template <class Allocator, class Device>
std::uint64_t hash_of(const Device& device, Workspace& workspace) {
  BuildOptions options;
  options.seconds = 100;
  const BuildRun run = build<Allocator>(device, workspace, options);
  EXPECT_FALSE(run.incomplete);
  return measure(workspace.download(), {}).hash;
}

simt::Cpu threads(int count) {
  return simt::Cpu({.kind = simt::DeviceKind::cpu, .index = 0, .threads = count});
}

struct Case {
  explicit Case(RefKind kind, std::uint64_t seed = 41, const WorkspaceLimits& limits = {})
      : Case(small_soup(seed), kind, limits) {}
  Case(Soup made, RefKind kind, const WorkspaceLimits& limits = {})
      : soup(std::move(made)), mesh({}, soup.view()), workspace(mesh, kind, pool_bytes, limits) {
    want = hash_of<alloc::Atomic>(threads(1), workspace);
  }
  Soup soup;
  DeviceMesh mesh;
  Workspace workspace;
  std::uint64_t want = 0;
};

template <class Allocator>
struct BuildWarps : ::testing::Test {};
#if defined(HEAPWOOD_LONG_TESTS)
constexpr bool is_long = !sanitized;
#else
constexpr bool is_long = false;
#endif
using Allocators =
    std::conditional_t<is_long,
                       ::testing::Types<alloc::Atomic, alloc::CfMalloc, alloc::AwMallocSafe>,
                       ::testing::Types<alloc::CfMalloc>>;
TYPED_TEST_SUITE(BuildWarps, Allocators);

TYPED_TEST(BuildWarps, Threads) {
  for (const RefKind kind : all_ref_kinds) {
    Case c(kind);
    for (const int count : {1, 2, 4, 4, 4, 7}) {
      EXPECT_EQ(hash_of<TypeParam>(threads(count), c.workspace), c.want)
          << name(kind) << ", " << count << " threads";
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
  const InstrumentedRun whole =
      build_recorded<TypeParam>(simt::Lockstep<4>(2), c.workspace, {}, 0).instrumented;
  EXPECT_EQ(measure(c.workspace.download(), {}).hash, c.want);
  EXPECT_EQ(whole.requests.allocations, whole.requests.deallocations);
  BuildOptions options;
  options.fail_at = 50;
  const InstrumentedRun failing =
      build_recorded<TypeParam>(simt::Lockstep<4>(2), c.workspace, options, 0).instrumented;
  EXPECT_TRUE(failing.run.incomplete);
  EXPECT_EQ(failing.requests.allocations, 49u);
  EXPECT_EQ(failing.requests.deallocations, 49u);
}

// Refuses some requests of a build, by number.
template <class Base>
struct Refusing {
  static constexpr alloc::AllocatorTraits traits = Base::traits;
  Base base;
  std::uint64_t *calls, *refused;
  std::uint64_t first, end;  // refuses requests [first, end)
  bool half;                 // refuses every second other request too

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint64_t call =
        simt::atomic_ref<std::uint64_t>(*calls).fetch_add(1, simt::relaxed) + 1;
    if ((call >= first && call < end) || (half && call % 2 == 0 && call > 3)) {
      simt::atomic_ref<std::uint64_t>(*refused).fetch_add(1, simt::relaxed);
      return nullptr;
    }
    return base.allocate(thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    base.deallocate(thread, block);
  }
};

template <class Device>
BuildRun build_refusing(const Device& device, Case& c, std::uint64_t first, std::uint64_t end,
                        bool half, std::uint64_t& refused) {
  simt::Buffer<std::uint64_t> counters({}, 2);
  counters.fill(0);
  BuildOptions options;
  options.seconds = 100;
  const auto make = [&] {
    return Refusing<alloc::CfMalloc>{alloc::CfMalloc::create(c.workspace.pool(), {}, device),
                                     counters.data(),
                                     counters.data() + 1,
                                     first,
                                     end,
                                     half};
  };
  const BuildRun run =
      build_with<alloc::CfMalloc, RefKind::clipped>(device, c.workspace, options, make);
  refused = counters.download()[1];
  return run;
}

// A node whose request is refused while other warps have work is split later.
TEST(BuildWarpsRefusals, OfAWhileChangeNothing) {
  Case c(RefKind::clipped);
  const auto check = [&](const auto& device, std::uint64_t first, std::uint64_t count) {
    SCOPED_TRACE(first);
    std::uint64_t refused = 0;
    const BuildRun run = build_refusing(device, c, first, first + count, false, refused);
    EXPECT_EQ(refused, count);
    EXPECT_FALSE(run.incomplete);
    EXPECT_EQ(measure(c.workspace.download(), {}).hash, c.want);
  };
  for (const std::uint64_t first : {100, 300, 1000}) {
    for (const std::uint64_t count : {1, 2}) {
      check(threads(1), first, count);
      check(threads(4), first, count);
      if (is_long || count == 1) check(simt::Lockstep<4>(3), first, count);
    }
  }
}

// A node that is split in its middle, and whose request is refused, is split there later.
TEST(BuildWarpsRefusals, OfSplitsInTheMiddleChangeNothing) {
  for (const test::Family& family : test::nasty_families) {
    Case c(family.make(1000), RefKind::clipped);
    for (std::uint64_t first = 2; first < 40; first += 2) {
      SCOPED_TRACE(family.name + std::string(", request ") + std::to_string(first));
      std::uint64_t refused = 0;
      const BuildRun run = build_refusing(threads(2), c, first, first + 1, false, refused);
      EXPECT_FALSE(run.incomplete);
      EXPECT_EQ(measure(c.workspace.download(), {}).hash, c.want);
    }
  }
}

// More refusals than other work can make up for.
TEST(BuildWarpsRefusals, EndTheBuildAllTheSame) {
  Case c(RefKind::clipped);
  const auto check = [&](const auto& device, std::uint64_t first, std::uint64_t end, bool half) {
    std::uint64_t refused = 0;
    const BuildRun run = build_refusing(device, c, first, end, half, refused);
    const Tree tree = c.workspace.download();
    EXPECT_TRUE(validate(tree, c.soup.view()).empty());
    EXPECT_GT(refused, run.failed_splits);
    return run.failed_splits;
  };
  // The two requests of the first split, and their repetition.
  EXPECT_EQ(check(threads(1), 2, 6, false), 1u);
  EXPECT_EQ(check(threads(4), 2, 6, false), 1u);
  for (const int count : {1, 4, 7}) EXPECT_GT(check(threads(count), 0, 0, true), 0u);
  EXPECT_GT(check(threads(4), 50, ~std::uint64_t{0}, false), 0u);
  check(simt::Lockstep<4>(3), 0, 0, true);
}

// A full queue and no free shared nodes, with concurrent lanes.
TEST(BuildWarpsFallback, Lockstep) {
  WorkspaceLimits limits;
  limits.ring = 8;
  limits.shared_nodes = 1;
  Case c(RefKind::clipped, 43, limits);
  EXPECT_EQ(hash_of<alloc::CfMalloc>(simt::Lockstep<4>(2), c.workspace), c.want);
  EXPECT_EQ(hash_of<alloc::CfMalloc>(threads(2), c.workspace), c.want);
}

// Once with the width of a GPU's warp, on few triangles.
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
