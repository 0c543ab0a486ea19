// SPDX-License-Identifier: MIT
// Random traces of many warps, reset cycles, and what the adaptors report.
#include <cmath>

#include "tests/alloc/conformance.hpp"

namespace heapwood::alloc::test {

namespace {

struct Trace {
  unsigned warps, lanes;
  std::uint32_t slots, each;
  std::uint32_t small, large;  // max bytes of most requests, and of one in 16
};

// All lanes exchange blocks in shared slots, so most blocks are freed by another warp. Then all
// blocks are freed.
std::vector<ExercisePhase> random_trace(const Trace& t, std::uint64_t seed) {
  const auto size = [&](Random& random) { return random(random(16) == 0 ? t.large : t.small); };
  const std::uint32_t scripts = t.warps * t.lanes;
  return {exchange_at_random(scripts, t.slots, t.each, seed * 1000, size, 8),
          free_all(scripts, t.slots)};
}

}  // namespace

TEST_P(Conformance, ServesRandomTraces) {
  const Trace t{.warps = 4, .lanes = 2, .slots = 40, .each = 400, .small = 200, .large = 3000};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const auto adaptor : {&ExerciseJob::guarded, &ExerciseJob::coalesced}) {
      ExerciseJob j = job(64 << 10, t.warps, t.lanes, t.slots);
      j.phases = random_trace(t, seed);
      // The pool is large enough without reuse.
      if (!target().frees()) j.pool_bytes = std::size_t{2} * t.warps * t.lanes * t.each * t.small;
      j.*adaptor = true;
      const ExerciseResult result = run(j);
      EXPECT_EQ(result.mismatches, 0u) << "words of a block were changed by another owner";
      EXPECT_EQ(result.guard.total(), 0u) << "blocks overlap, or one is not wholly in the pool";
      EXPECT_EQ(result.requests.allocations, result.requests.deallocations)
          << "blocks served and blocks freed differ";
      if (target().frees()) {
        expect_all_freed(result.phases[1].regions);
      } else {
        EXPECT_EQ(result.failures, 0u) << "requests were refused in a pool with memory to spare";
      }
    }
  }
}

TEST_P(Conformance, ServesRandomTracesInATightPool) {
  if (!target().frees()) GTEST_SKIP() << "does not free";
  const Trace t{.warps = 3, .lanes = 4, .slots = 24, .each = 300, .small = 300, .large = 1500};
  for (std::uint64_t seed = 11; seed <= 13; ++seed) {
    ExerciseJob j = job(traits().smallest_pool, t.warps, t.lanes, t.slots);
    j.phases = random_trace(t, seed);
    j.coalesced = seed % 2 == 0;
    const ExerciseResult result = run(j);
    if (target().bounded()) {
      EXPECT_GT(result.failures, 0u) << "no request was refused in a pool of " << j.pool_bytes
                                     << " bytes, although more was asked for at a time";
    }
    expect_all_freed(result.phases[1].regions);
  }
}

// The adaptor Coalesced with lanes that call together and lanes that diverge.
TEST_P(Conformance, CoalescedBlocksAreFreedByOthers) {
  constexpr unsigned warps = 3, lanes = 4, each = 5;
  // Some sizes exceed the largest that is coalesced, and lanes differ in their number of requests.
  const auto size_of = [](unsigned script, unsigned turn) -> std::uint64_t {
    return turn == 2 && script % 3 == 0 ? 1500 : (script * 37 + turn * 90) % 300;
  };
  ExerciseJob j = job(1 << 20, warps, lanes, warps * lanes * each);
  j.coalesced = true;
  for (unsigned round = 0; round < 6; ++round) {
    ExercisePhase fill, drain;
    for (unsigned s = 0; s < warps * lanes; ++s) {
      Script a, b;
      for (unsigned i = 0; i < each - s % 2; ++i) {
        const std::uint32_t slot = s * each + i;
        a.push_back({Kind::allocate, slot, size_of(s, i)});
        if ((s + i + round) % 4 == 0) a.push_back({Kind::free_null});  // makes lanes diverge
      }
      // Each lane frees blocks of the next lane, of another warp, or of all lanes, so that the
      // parts of a group are freed singly or together.
      const unsigned from = round % 3 == 0 ? s ^ 1 : (s + lanes * round) % (warps * lanes);
      for (unsigned i = 0; i < each; ++i) {
        const std::uint32_t slot = round % 2 == 0 ? from * each + i : i * warps * lanes + s;
        b.push_back({Kind::free, slot});
      }
      fill.scripts.push_back(a);
      drain.scripts.push_back(b);
    }
    j.phases.push_back(fill);
    j.phases.push_back(drain);
  }
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u) << "lanes that allocate together were refused in an ample pool";
  expect_disjoint_and_freed(j, result);
}

TEST_P(Conformance, ResetsAllBeginTheSame) {
  ExerciseJob j = job(traits().smallest_pool, 2, 1, 8);
  // Simulated warps, GPUs, and threads without the registry are slow, so they make few cycles.
  const bool is_slow = target().name.ends_with("_lockstep") ||
                       target().name.ends_with("_threads") ||
                       target().name.find("_cuda_") != std::string::npos;
  j.cycles = is_slow ? 100 : 300;
#if defined(HEAPWOOD_LONG_TESTS)
  if (!is_slow && target().name.starts_with("heapwood")) j.cycles = 10'000;
#endif
  j.counted = true;
  ExercisePhase leak;
  for (std::uint32_t s = 0; s < 2; ++s) {
    leak.scripts.push_back({{Kind::allocate, s, 40}, {Kind::allocate, 2 + s, 100}});
    if (s == 0)
      leak.scripts.back().push_back({Kind::free, 2});  // the other blocks are live at the reset
    if (!traits().in_pool) {
      // A heap outside the pool cannot be reset: frees everything.
      leak.scripts.back().push_back({Kind::free, s});
      leak.scripts.back().push_back({Kind::free, 2 + s});
    }
  }
  j.phases = {leak};
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u);
  EXPECT_TRUE(result.same_initial_walk);
  EXPECT_EQ(result.requests.allocations, 4u);  // those of the last cycle
}

TEST_P(Conformance, CountedTellsWhatWasAskedFor) {
  ExerciseJob j = job(64 << 10, 1, 1, 4);
  j.counted = true;
  j.phases = {{{{{Kind::allocate, 0, 100},
                 {Kind::allocate, 1, 200},
                 {Kind::free, 0},
                 {Kind::allocate, 2, 600}}}},
              {{{{Kind::free, 1}, {Kind::free, 2}}}}};
  const ExerciseResult result = run(j);
  EXPECT_EQ(result.requests.allocations, 3u);
  EXPECT_EQ(result.requests.deallocations, 3u);
  EXPECT_EQ(result.requests.failures, 0u);
  EXPECT_DOUBLE_EQ(result.requests.mean_bytes, 300);
  EXPECT_NEAR(result.requests.sigma_bytes, std::sqrt((200 * 200 + 100 * 100 + 300 * 300) / 3.0),
              1e-9);
  EXPECT_EQ(result.requests.high_water_bytes, 800u);
  EXPECT_EQ(result.requests.histogram[7], 1u);
  EXPECT_EQ(result.requests.histogram[8], 1u);
  EXPECT_EQ(result.requests.histogram[10], 1u);
  if (!traits().in_pool) {
    EXPECT_EQ(result.requests.address_high_water_bytes, 0u);
    return;
  }
  std::uint64_t highest = 0;
  for (const unsigned i : {0u, 1u, 3u}) {
    const std::uint64_t bytes = j.phases[0].scripts[0][i].bytes;
    highest = std::max(highest, result.phases[0].ops[0][i].offset + padded(bytes));
  }
  EXPECT_EQ(result.requests.address_high_water_bytes, highest);
  std::uint64_t live = 0;
  for (const std::uint32_t bytes : result.phases[0].requested) live += bytes;
  EXPECT_EQ(live, 800u);
  EXPECT_EQ(result.phases[0].requested.at(result.phases[0].ops[0][1].offset / granule), 200u);
  for (const std::uint32_t bytes : result.phases[1].requested) EXPECT_EQ(bytes, 0u);
}

TEST_P(Conformance, FailingFailsFromTheGivenAllocationOn) {
  ExerciseJob j = job(64 << 10, 1, 1, 10);
  j.counted = true;
  j.phases = {{{of_slots(Kind::allocate, 0, 10, 32)}}, {{of_slots(Kind::free, 0, 10)}}};
  for (const std::uint64_t k : {0u, 1u, 5u, 10u, 11u}) {
    j.fail_at = k;
    const ExerciseResult result = run(j);
    EXPECT_EQ(result.failures, k == 0 || k > 10 ? 0 : 11 - k);
    EXPECT_EQ(result.requests.failures, result.failures);
  }
}

TEST_P(Conformance, AllocatorsThatOverwriteLiveMemoryAreFoundOut) {
  if (traits().keeps_live_memory) GTEST_SKIP() << "does not";
  ExerciseJob j = job(8192, 1, 1, 1);
  j.guarded = true;
  j.phases = {{{Script(1000, Op{Kind::allocate, 0, 64})}}};
  EXPECT_GT(run(j).guard.overlaps, 0u);
}

}  // namespace heapwood::alloc::test
