// SPDX-License-Identifier: MIT
// Lanes of one warp that allocate from different heaps in the same call.
#include "tests/alloc/conformance.hpp"

namespace heapwood::alloc::test {

// Lanes that request the same size together are served as one by many allocators: those of one heap
// only.
TEST_P(Conformance, LanesOfAWarpUseDifferentHeaps) {
  constexpr unsigned warps = 2, lanes = 32, scripts = warps * lanes;
  workloads::ExerciseJob j = job(16 << 20, warps, lanes, scripts);
  j.two_heaps = true;
  for (const std::uint64_t bytes : {16u, 100u, 700u, 2000u, 5000u, 100u, 16u, 16u}) {
    workloads::ExercisePhase fill, drain;
    for (unsigned s = 0; s < scripts; ++s) {
      fill.scripts.push_back({{Kind::allocate, s, bytes}, {Kind::fill, s}});
      drain.scripts.push_back({{Kind::check, s}, {Kind::free, s}});
    }
    j.phases.push_back(fill);
    j.phases.push_back(drain);
  }
  const workloads::ExerciseResult result = run(j);
  EXPECT_EQ(result.failures, 0u) << "a block is not in its heap, or was refused in an ample pool";
  for (std::size_t p = 0; p < j.phases.size(); p += 2) {
    expect_disjoint(j.phases[p], result.phases[p]);
    if (target().frees()) {
      expect_all_freed(result.phases[p + 1].regions);
    }
  }
}

}  // namespace heapwood::alloc::test
