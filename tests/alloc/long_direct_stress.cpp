// SPDX-License-Identifier: MIT
// The kernels of heapwood stress on simulated warps, where one lane or all four lanes of a warp
// allocate.
#include <gtest/gtest.h>

#include "alloc/allocators/circular_lists.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::alloc {
namespace {

using workloads::StressJob;
using workloads::StressResult;
using enum workloads::StressTest;

template <class A>
class DirectStress : public testing::Test {
 protected:
  StressJob job(workloads::StressTest test, unsigned lanes, unsigned iterations) const {
    StressJob j;
    j.pool = {memory_.data(), test == utilization ? memory_.bytes() / 16 : memory_.bytes()};
    j.test = test;
    j.lanes = lanes;
    j.threads = lanes == 1 ? 3 : 14;  // 14: the last warp is not full
    j.iterations = iterations;
    j.touch = true;
    j.payload = 40;
    return j;
  }
  StressResult run(const StressJob& j) const { return test::stress<A>(device_, j); }

  const simt::Memory memory_{{}, 1 << 18};
  const simt::Lockstep<4> device_{4};
};
using Lists = testing::Types<CMalloc, CfmMalloc>;
TYPED_TEST_SUITE(DirectStress, Lists);

TYPED_TEST(DirectStress, EveryRequestIsServed) {
  for (const unsigned lanes : {1u, 4u, 32u}) {
    for (const workloads::StressTest test : {alloc_dealloc, cycle, probability, each}) {
      StressJob job = this->job(test, lanes, test == cycle ? 3 : 4);
      for (const bool touch : {false, true}) {
        job.touch = touch;
        job.inspect = false;
        const StressResult result = this->run(job);
        EXPECT_EQ(result.counts.failures + result.split_failures + result.damaged, 0u);
        if (test != probability) {
          EXPECT_EQ(result.counts.allocations, job.threads * (test == cycle ? 3u : 1u));
          EXPECT_EQ(result.counts.deallocations, result.counts.allocations);
        }
        job.inspect = true;
        EXPECT_EQ(this->run(job).overlaps, 0u);
      }
    }
  }
}

// A pool that is large enough serves every request, even if the lanes of a warp diverge.
TYPED_TEST(DirectStress, AllMemoryIsUsed) {
  for (const workloads::StressTest test : {mixed, utilization, range, churn}) {
    const StressResult result = this->run(this->job(test, 4, 5));
    EXPECT_EQ(result.damaged + result.overlaps, 0u);
    EXPECT_EQ(result.counts.failures, test == utilization ? 14u : 0u);
    if (test == utilization) {
      EXPECT_EQ(result.counts.allocations, result.steps.at(0).blocks);
    } else {
      EXPECT_EQ(result.counts.allocations, test == mixed ? 14u : 70u);
    }
  }
}

}  // namespace
}  // namespace heapwood::alloc
