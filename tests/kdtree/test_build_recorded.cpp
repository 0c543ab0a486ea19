// SPDX-License-Identifier: MIT
// A recorded build with every allocator: the tree is the same, each free matches an allocation, and
// the recorded nodes are the tree's.
#include "tests/kdtree/build_support.hpp"
#include "tests/workloads/block_history.hpp"

namespace heapwood::kdtree::test {

namespace {

class BuildRecorded : public PerAllocator {};

TEST_P(BuildRecorded, IsTheSameBuildWithEveryEventOnce) {
  using Kind = alloc::RecordedEvent::Kind;
  const Subject& subject = GetParam();
  const Soup soup = random_soup(sanitized ? 700 : 3000, 11);
  const Expected expected = test::expected(soup.view(), RefKind::clipped);
  const DeviceMesh mesh(subject.device, soup.view());
  Workspace workspace(mesh, RefKind::clipped, ample_pool(subject, expected));
  const RecordedRun recorded =
      subject.compiled->build_recorded(workspace, {}, std::size_t{1} << 20);
  const Built built = finish(workspace, recorded.instrumented.run);
  EXPECT_EQ(built.stats.hash, expected.built.stats.hash);
  EXPECT_FALSE(recorded.truncated());

  std::uint64_t allocated = 0, freed = 0, inner = 0, leaves = 0, refs = 0;
  unsigned deepest = 0;
  for (const alloc::RecordedEvent& event : recorded.events) {
    allocated += event.kind() == Kind::allocate;
    freed += event.kind() == Kind::free;
    inner += event.kind() == Kind::inner;
    leaves += event.kind() == Kind::leaf;
    if (event.kind() == Kind::leaf) {
      refs += event.bytes;
      deepest = std::max(deepest, event.depth());
    }
  }
  EXPECT_EQ(allocated, expected.allocations);
  EXPECT_EQ(allocated, recorded.instrumented.requests.allocations);
  EXPECT_EQ(freed, recorded.instrumented.requests.deallocations);
  EXPECT_EQ(inner, built.stats.inner);
  EXPECT_EQ(leaves, built.stats.leaves);
  EXPECT_EQ(refs, built.stats.refs);
  EXPECT_EQ(deepest, built.stats.depth);

  // Addresses are meaningless if an allocator hands out live memory or memory outside the pool.
  if (!subject.traits->keeps_live_memory || !subject.traits->in_pool) return;
  const workloads::BlockHistory history =
      workloads::block_history(recorded.events, subject.traits->frees);
  EXPECT_EQ(history.unmatched_frees, 0u);
  EXPECT_EQ(history.overlaps, 0u);
  for (const workloads::Block& block : history.blocks) {
    EXPECT_NE(block.released, workloads::never);
    EXPECT_LE(block.offset + block.bytes, workspace.pool().bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildRecorded, ::testing::ValuesIn(subjects()), name_of);

class BuildRecordedInPart : public PerAllocator {};

TEST_P(BuildRecordedInPart, EndsWhereTheBufferEnds) {
  const Subject& subject = GetParam();
  const Soup soup = random_soup(200, 5);
  const Expected expected = test::expected(soup.view(), RefKind::clipped);
  const DeviceMesh mesh(subject.device, soup.view());
  Workspace workspace(mesh, RefKind::clipped, ample_pool(subject, expected));
  const RecordedRun recorded = subject.compiled->build_recorded(workspace, {}, 50);
  EXPECT_TRUE(recorded.truncated());
  EXPECT_EQ(recorded.events.size(), 50u);
  EXPECT_GT(recorded.events_in_all, 2 * expected.allocations);
  EXPECT_EQ(finish(workspace, recorded.instrumented.run).stats.hash, expected.built.stats.hash);
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildRecordedInPart, ::testing::ValuesIn(few_subjects()),
                         name_of);

}  // namespace

}  // namespace heapwood::kdtree::test
