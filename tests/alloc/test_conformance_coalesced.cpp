// SPDX-License-Identifier: MIT
// Every allocator under Coalesced, with lanes that call together and lanes that diverge.
#include "tests/alloc/conformance.hpp"

namespace heapwood::alloc::test {

namespace {

constexpr unsigned warps = 3, lanes = 4, each = 5;

// The size of a lane's `turn`-th request. Some sizes exceed the largest that is coalesced, and
// lanes differ in their number of requests.
std::uint64_t size_of(unsigned script, unsigned turn) {
  return turn == 2 && script % 3 == 0 ? 1500 : (script * 37 + turn * 90) % 300;
}

}  // namespace

TEST_P(Conformance, CoalescedBlocksAreFreedByOthers) {
  ExerciseJob j = job(1 << 20, warps, lanes, warps * lanes * each);
  j.coalesced = true;
  for (unsigned round = 0; round < 6; ++round) {
    ExercisePhase fill, drain;
    for (unsigned s = 0; s < warps * lanes; ++s) {
      Script a, b;
      for (unsigned i = 0; i < each - s % 2; ++i) {
        const std::uint32_t slot = s * each + i;
        a.push_back({Kind::allocate, slot, size_of(s, i)});
        a.push_back({Kind::fill, slot});
        if ((s + i + round) % 4 == 0) a.push_back({Kind::check, slot});  // makes lanes diverge
      }
      // Each lane frees blocks of the next lane, of another warp, or of all lanes, so that the
      // parts of a group are freed singly or together.
      const unsigned from = round % 3 == 0 ? s ^ 1 : (s + lanes * round) % (warps * lanes);
      for (unsigned i = 0; i < each; ++i) {
        const std::uint32_t slot = round % 2 == 0 ? from * each + i : i * warps * lanes + s;
        b.push_back({Kind::check, slot});
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

TEST_P(Conformance, CoalescedRandomTraces) {
  if (!target().frees()) GTEST_SKIP() << "does not free";
  for (const bool tight : {false, true}) {
    ExerciseJob j = job(tight ? traits().smallest_pool : 256 << 10, warps, lanes, 30);
    j.coalesced = true;
    ExercisePhase mix, drain;
    for (unsigned s = 0; s < warps * lanes; ++s) {
      Random random(s + 77);
      Script ops;
      for (unsigned i = 0; i < 150; ++i) {
        ops.push_back({random(8) == 0 ? Kind::free : Kind::exchange, random(30),
                       random(random(8) == 0 ? 1300 : 150)});
      }
      mix.scripts.push_back(ops);
      drain.scripts.emplace_back();
    }
    for (std::uint32_t slot = 0; slot < 30; ++slot)
      drain.scripts[slot % 12].push_back({Kind::free, slot});
    j.phases = {mix, drain};
    const ExerciseResult result = run(j);
    expect_all_freed(result.phases[1].regions);
  }
}

}  // namespace heapwood::alloc::test
