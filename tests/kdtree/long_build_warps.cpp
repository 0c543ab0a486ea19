// SPDX-License-Identifier: MIT
// The builder with other allocators on simulated warps of several widths: the tree is the same, and
// instrumented builds free all memory.
#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/circular_lists.hpp"
#include "tests/kdtree/warps.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

template <class Allocator>
struct BuildWidths : ::testing::Test {};
using Allocators = ::testing::Types<alloc::Atomic, alloc::CfMalloc, alloc::AwMallocSafe>;
TYPED_TEST_SUITE(BuildWidths, Allocators);

TYPED_TEST(BuildWidths, BuildTheSameTrees) {
  Case clipped(RefKind::clipped), ids(RefKind::ids), boxes(RefKind::boxes);
  expect_the_tree<TypeParam, RefKind::clipped>(simt::Lockstep<4>(3), clipped);
  expect_the_tree<TypeParam, RefKind::clipped>(simt::Lockstep<8>(2), clipped);
  expect_the_tree<TypeParam, RefKind::ids>(simt::Lockstep<4>(2), ids);
  expect_the_tree<TypeParam, RefKind::ids>(simt::Lockstep<4>(2), boxes);
}

TYPED_TEST(BuildWidths, InstrumentedBuildsBalanceAndStop) {
  Case c(RefKind::clipped);
  const InstrumentedRun whole =
      build_recorded<TypeParam>(simt::Lockstep<4>(2), c.workspace, unlimited(), 0).instrumented;
  EXPECT_EQ(c.hash(), c.want);
  EXPECT_EQ(whole.requests.allocations, whole.requests.deallocations);
  BuildOptions options = unlimited();
  options.fail_at = 50;
  const InstrumentedRun failing =
      build_recorded<TypeParam>(simt::Lockstep<4>(2), c.workspace, options, 0).instrumented;
  EXPECT_TRUE(failing.run.incomplete);
  EXPECT_EQ(failing.requests.allocations, 49u);
  EXPECT_EQ(failing.requests.deallocations, 49u);
}

// The width of a GPU's warp, on few triangles.
TEST(BuildFullWidth, BuildsTheTreeOfOneLane) {
  const Soup soup = random_soup(60, 44, 0.05f);
  Case clipped(soup, RefKind::clipped), ids(soup, RefKind::ids);
  expect_the_tree<alloc::Atomic, RefKind::clipped>(simt::Lockstep<32>(1), clipped);
  expect_the_tree<alloc::Atomic, RefKind::ids>(simt::Lockstep<32>(1), ids);
}

}  // namespace
}  // namespace heapwood::kdtree
