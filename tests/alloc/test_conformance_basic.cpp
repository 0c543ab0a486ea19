// SPDX-License-Identifier: MIT
// The allocator's contract, one clause per test. HEAPWOOD_TEST_DEVICE=cuda:0 runs the tests on a
// GPU.
#include "tests/alloc/conformance.hpp"
#include "tests/errors.hpp"

namespace heapwood::alloc::test {

TEST_P(Conformance, BlocksAreAlignedDisjointAndKeepTheirContents) {
  const std::uint64_t edge_sizes[] = {0, 1, 15, 16, 17, 31, 32, 33, 100, 127, 128, 129, 1000};
  constexpr std::uint32_t each = 3;
  ExerciseJob j = job(512 << 10, 4, 4, 16 * each);
  j.phases = {
      allocate_shares(16, each,
                      [&](std::uint32_t slot) { return edge_sizes[slot % std::size(edge_sizes)]; }),
      of_shares(16, each, Kind::free)};
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u) << "requests were refused in a pool with memory to spare";
  expect_disjoint_and_freed(j, result);
}

TEST_P(Conformance, FreesByAnotherWarpInAnotherKernel) {
  if (!target().frees()) GTEST_SKIP() << "does not free";
  // With an offset for each of 132 multiprocessors, the chunks of a published list's pre-split have
  // at most 512 bytes, and all larger blocks come from the last chunk. In a pool of 512 KiB that
  // chunk has 110 KiB or more, enough for three rounds even if nothing is merged; in 256 KiB it has
  // only 2 KiB if the headers are in a table.
  ExerciseJob j = job(512 << 10, 4, 2, 64);
  for (int round = 0; round < 3; ++round) {
    j.phases.push_back(
        allocate_shares(8, 8, [](std::uint32_t slot) { return 40 + 100 * (slot % 8); }));
    j.phases.push_back(of_shares(8, 8, Kind::free, 0, 3));
  }
  j.guarded = true;
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u) << "requests were refused in a pool with memory to spare";
  EXPECT_EQ(result.guard.total(), 0u) << "blocks overlap, or one is not wholly in the pool";
  EXPECT_EQ(result.requests.allocations, 3 * 64u);
  EXPECT_EQ(result.requests.deallocations, 3 * 64u);
  expect_disjoint_and_freed(j, result);
}

// Many allocators serve lanes that request the same size together as one, but only lanes of one
// heap.
TEST_P(Conformance, LanesOfAWarpUseDifferentHeaps) {
  constexpr unsigned warps = 2, lanes = 32;
  ExerciseJob j = job(16 << 20, warps, lanes, warps * lanes);
  j.two_heaps = true;
  for (const std::uint64_t bytes : {16u, 100u, 700u, 2000u, 5000u, 100u, 16u, 16u}) {
    j.phases.push_back(of_shares(warps * lanes, 1, Kind::allocate, bytes));
    j.phases.push_back(of_shares(warps * lanes, 1, Kind::free));
  }
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u) << "a block is not in its heap, or was refused in an ample pool";
  expect_disjoint_and_freed(j, result);
}

TEST_P(Conformance, SaysFullAndServesAgainAfterFrees) {
  if (!traits().keeps_live_memory) GTEST_SKIP() << "never says full";
  if (!target().bounded()) GTEST_SKIP() << "the heap is not bounded by the pool";
  constexpr std::uint32_t each = 290;  // the pool has fewer blocks than four times as many
  ExerciseJob j = job(64 << 10, 4, 1, 4 * each);
  const ExercisePhase fill = of_shares(4, each, Kind::allocate, 64),
                      drain = of_shares(4, each, Kind::free);
  j.phases = {fill, drain, fill, drain};
  const ExerciseResult result = run(j);
  const std::uint32_t first = served(result.phases[0]);
  const std::uint32_t second = served(result.phases[2]);
  EXPECT_GT(result.failures, 0u) << "more blocks were served than the pool has memory for";
  // An allocator of few, large units may serve fewer blocks if they fill the pool.
  const std::size_t used = used_bytes(result.phases[0]);
  EXPECT_TRUE(first > 350 || (first > 60 && used > j.pool_bytes / 10 * 9))
      << "a pool of 64 KiB served only " << first << " blocks of 64 bytes, in " << used
      << " bytes that walk() reports as used";
  expect_disjoint(j.phases[0], result.phases[0]);
  if (!target().frees()) return;
  EXPECT_GE(second, first * 9 / 10) << "after all blocks had been freed, fewer were served";
  expect_disjoint(j.phases[2], result.phases[2]);
  expect_all_freed(result.phases[3].regions);
}

TEST_P(Conformance, ServesTheLargestFreeRegionAndNoMore) {
  if (!traits().in_pool) GTEST_SKIP() << "cannot be walked";
  ExerciseJob j = job(100'000, 1, 1, 2);
  j.phases = {{{{}}}};
  const std::uint64_t most = largest_free(run(j).initial);
  ASSERT_GT(most, 0u) << "walk() reports no free region in a new pool";
  j.phases = {{{{{Kind::allocate, 0, most}, {Kind::free, 0}}}}};
  EXPECT_EQ(run(j).failures, 0u) << "walk() reports a free region of " << most
                                 << " bytes; a request of that size was refused";
  for (const std::uint64_t more :
       {most + 1, std::uint64_t{100'000}, ~std::uint64_t{0} - 15, ~std::uint64_t{0}}) {
    j.phases = {{{{{Kind::allocate, 0, more}, {Kind::allocate, 1, 16}, {Kind::free, 1}}}}};
    const ExerciseResult result = run(j);
    EXPECT_EQ(result.phases[0].ops[0][0].offset, OpResult::failed)
        << "a request of " << more << " bytes was served, but the largest free region that "
        << "walk() reports has " << most;
    EXPECT_NE(result.phases[0].ops[0][1].offset, OpResult::failed)
        << "after a request of " << more << " bytes, one of 16 was refused";
  }
}

TEST_P(Conformance, FreeingNothingDoesNothing) {
  ExerciseJob j = job(64 << 10, 2, 2, 1);
  j.phases = {{{{{Kind::free_null}}, {{Kind::free, 0}}, {{Kind::free_null}}}}};
  EXPECT_EQ(run(j).failures, 0u);
}

TEST_P(Conformance, SmallestPoolServesAndSmallerIsRefused) {
  ExerciseJob j = job(traits().smallest_pool, 1, 1, 1);
  j.phases = {{{{{Kind::allocate, 0, 16}, {Kind::free, 0}}}}};
  EXPECT_EQ(run(j).failures, 0u);
  j.pool_bytes = traits().smallest_pool - 16;
  tests::expect_error(Exit::usage, {traits().id}, [&] { target().run(j); });
}

TEST_P(Conformance, EveryPoolSizeIsCoveredExactly) {
  if (!traits().in_pool) GTEST_SKIP() << "cannot be walked";
  for (std::size_t bytes = traits().smallest_pool; bytes < traits().smallest_pool * 8;
       bytes = bytes * 9 / 8 + 7) {
    ExerciseJob j = job(bytes, 1, 1, 1);
    j.phases = {{{{{Kind::allocate, 0, 48}, {Kind::free, 0}}}}};
    EXPECT_EQ(run(j).failures, 0u)
        << "a new pool of " << j.pool_bytes << " bytes refused a request of 48";
  }
}

TEST_P(Conformance, WaitsWhenAskedTo) {
  if (!target().frees()) GTEST_SKIP() << "does not free";
  if (!traits().in_pool) GTEST_SKIP() << "the largest request is not known";
  ExerciseJob j = job(64 << 10, 2, 1, 2);
  j.phases = {{{{}}}};
  const std::uint64_t most = largest_free(run(j).initial);
  j.options.wait_when_full = true;
  // One warp waits for the block that the other one frees.
  j.phases = {{{{{Kind::allocate, 0, most}}}}, {{{{Kind::free, 0}}, {{Kind::allocate, 1, most}}}}};
  EXPECT_EQ(run(j).failures, 0u) << "wait_when_full: a request of " << most
                                 << " bytes was refused, not served after the free";
  // No thread frees memory: the time limit ends the wait.
  j.seconds = 0.2;
  Script all;
  for (std::uint32_t i = 0; i <= j.pool_bytes / most; ++i) all.push_back({Kind::allocate, i, most});
  j.slots = static_cast<std::uint32_t>(all.size());
  j.phases = {{{all}}};
  EXPECT_THROW(target().run(j), simt::Stopped)
      << "wait_when_full: a request was refused though no block had been freed";
}

INSTANTIATE_TEST_SUITE_P(Allocators, Conformance, testing::ValuesIn(targets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace heapwood::alloc::test
