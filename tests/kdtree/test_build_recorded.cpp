// SPDX-License-Identifier: MIT
// A recorded build with every allocator: the tree is the same, and each free matches an allocation.
#include <numeric>

#include "kdtree/build/profile.hpp"
#include "tests/kdtree/build_support.hpp"
#include "tests/workloads/block_history.hpp"

namespace heapwood::kdtree::test {
namespace {

class BuildRecorded : public PerAllocator {};

TEST_P(BuildRecorded, IsTheSameBuildWithEveryEventOnce) {
  using Kind = alloc::RecordedEvent::Kind;
  const Subject& subject = GetParam();
  Bench bench(subject, random_soup(sanitized ? 700 : 3000, 11));
  const RecordedRun recorded =
      subject.compiled->build_recorded(bench.workspace, {}, std::size_t{1} << 20);
  const Built built = finish(bench.workspace, recorded.instrumented.run);
  EXPECT_EQ(built.stats.hash, bench.want.built.stats.hash);
  EXPECT_FALSE(recorded.truncated());

  std::uint64_t allocated = 0, freed = 0;
  for (const alloc::RecordedEvent& event : recorded.events) {
    allocated += event.kind() == Kind::allocate;
    freed += event.kind() == Kind::free;
  }
  EXPECT_EQ(allocated, bench.want.allocations);
  EXPECT_EQ(allocated, recorded.instrumented.requests.allocations);
  EXPECT_EQ(freed, recorded.instrumented.requests.deallocations);

  // Addresses are meaningless if an allocator hands out live memory or memory outside the pool.
  if (!subject.traits->keeps_live_memory || !subject.traits->in_pool) return;
  const workloads::BlockHistory history =
      workloads::block_history(recorded.events, subject.traits->frees);
  EXPECT_EQ(history.unmatched_frees, 0u);
  EXPECT_EQ(history.overlaps, 0u);
  for (const workloads::Block& block : history.blocks) {
    EXPECT_NE(block.released, workloads::never);
    EXPECT_LE(block.offset + block.bytes, bench.workspace.pool().bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildRecorded, ::testing::ValuesIn(subjects()), name_of);

class BuildRecordedInPart : public PerAllocator {};

TEST_P(BuildRecordedInPart, EndsWhereTheBufferEnds) {
  Bench bench(GetParam(), random_soup(200, 5));
  const RecordedRun recorded = GetParam().compiled->build_recorded(bench.workspace, {}, 50);
  EXPECT_TRUE(recorded.truncated());
  EXPECT_EQ(recorded.events.size(), 50u);
  EXPECT_EQ(recorded.events_in_all, 2 * bench.want.allocations);
  EXPECT_EQ(finish(bench.workspace, recorded.instrumented.run).stats.hash,
            bench.want.built.stats.hash);
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildRecordedInPart, ::testing::ValuesIn(few_subjects()),
                         name_of);

// The builder's profile: its sums agree with each other, with the lifetimes of the warps and with
// the tree.

class Profile : public ::testing::TestWithParam<const char*> {};

std::uint64_t sum(const std::uint64_t* words, std::size_t count) {
  return std::accumulate(words, words + count, std::uint64_t{0});
}

TEST_P(Profile, SumsAgreeWithTheWhole) {
  const simt::DeviceId device = tests::test_device().id;
  const Soup soup = random_soup(3000, 7);
  const DeviceMesh mesh(device, soup.view());
  Workspace workspace(mesh, RefKind::clipped, std::size_t{64} << 20);
  const registry::RegisteredAllocator* entry = registry::find(GetParam());
  ASSERT_NE(entry, nullptr);
  const BuildProfile profile = entry->on(device.kind)->build_profiled(workspace, {});
  ASSERT_FALSE(profile.run.incomplete);
  ASSERT_EQ(profile.warps.size(), profile.run.warps);

  const std::uint64_t lifetime = profile.lifetime_ns();
  EXPECT_GT(lifetime, 0u);
  EXPECT_EQ(sum(profile.sums.ns, profile_levels * phase_count), lifetime);
  EXPECT_EQ(sum(&profile.sums.by_time[0][0], profile_buckets * phase_count), lifetime);
  std::uint64_t phases = 0;
  for (unsigned i = 0; i < phase_count; ++i) {
    const auto phase = static_cast<Phase>(i);
    std::uint64_t over_time = 0;
    for (const auto& bucket : profile.sums.by_time) over_time += bucket[i];
    EXPECT_EQ(over_time, profile.phase_ns(phase)) << name(phase);
    phases += profile.phase_ns(phase);
  }
  EXPECT_EQ(phases, lifetime);
  EXPECT_LE(lifetime, profile.wall_ns() * profile.run.warps);
  EXPECT_LT(profile.wall_ns(), profile.bucket_ns * profile_buckets);
  EXPECT_LE(static_cast<double>(profile.wall_ns()), 1.01e6 * profile.run.ms + 1e4);
  EXPECT_LE(sum(profile.sums.waits, wait_buckets), profile.phase_visits(Phase::wait));

  // The tree is the same as without the probe, and each of its nodes was visited.
  const TreeStats tree = measure(workspace.download(), {});
  const std::uint64_t visits = profile.phase_visits(Phase::choose) +
                               profile.phase_visits(Phase::binned) +
                               profile.phase_visits(Phase::exact);
  if (device.kind == simt::DeviceKind::cpu) {
    const std::uint64_t nodes = tree.inner + tree.leaves - tree.empty_leaves;
    EXPECT_GE(visits, nodes);
    // A node that makes its warp change the arena is visited once more.
    EXPECT_LE(visits, GetParam() == std::string("heapwood") ? nodes + nodes / 10 : nodes);
    EXPECT_EQ(profile.phase_visits(Phase::leaf), tree.leaves - tree.empty_leaves);
  }
  for (const Phase phase : {Phase::bounds, Phase::init, Phase::choose, Phase::move, Phase::binned,
                            Phase::exact, Phase::allocate, Phase::free, Phase::give, Phase::wait}) {
    EXPECT_GT(profile.phase_visits(phase), 0u) << name(phase);
  }
  entry->on(device.kind)->build(workspace, {});
  EXPECT_EQ(measure(workspace.download(), {}).hash, tree.hash);
}
INSTANTIATE_TEST_SUITE_P(Allocators, Profile, ::testing::Values("atomic", "heapwood"));

TEST(ProfileOf, MemoryAtNoCostBuildsWholeTrees) {
  const simt::DeviceId cpu = simt::find_device("cpu", 4).id;
  const Soup soup = random_soup(3000, 7);
  const DeviceMesh mesh(cpu, soup.view());
  NoCostBuilder builds(mesh, {});
  const BuildRun run = builds.build();
  EXPECT_FALSE(run.incomplete);
  EXPECT_GT(run.ms, 0);
}

TEST(ProfileOf, OtherRefsAreAnError) {
  const Soup soup = random_soup(10, 7);
  const DeviceMesh mesh(simt::find_device("cpu", 1).id, soup.view());
  Workspace ids(mesh, RefKind::ids, std::size_t{1} << 20);
  EXPECT_THROW(registry::find("heapwood")->cpu->build_profiled(ids, {}), Error);
}

}  // namespace
}  // namespace heapwood::kdtree::test
