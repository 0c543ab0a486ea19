// SPDX-License-Identifier: MIT
// The kernels of heapwood stress on simulated warps, where one lane or all four lanes of a warp
// allocate.
#include <gtest/gtest.h>

#include "alloc/allocators/circular_lists.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::alloc {
namespace {

template <class A>
void expect_all_served() {
  constexpr std::size_t pool_bytes = 1 << 18;
  const simt::Memory memory({}, pool_bytes);
  const simt::Lockstep<4> device(4);
  for (const unsigned lanes : {1u, 4u, 32u}) {
    for (const workloads::StressTest test :
         {workloads::StressTest::alloc_dealloc, workloads::StressTest::cycle,
          workloads::StressTest::probability, workloads::StressTest::each}) {
      for (const bool touch : {false, true}) {
        workloads::StressJob job;
        job.pool = {memory.data(), pool_bytes};
        job.test = test;
        job.lanes = lanes;
        job.threads = lanes == 1 ? 3 : 14;  // 14: the last warp is not full
        job.iterations = test == workloads::StressTest::cycle ? 3 : 4;
        job.touch = touch;
        job.payload = 40;
        const workloads::StressResult result = test::stress<A>(device, job);
        EXPECT_EQ(result.counts.failures + result.split_failures + result.damaged, 0u);
        if (test != workloads::StressTest::probability) {
          EXPECT_EQ(result.counts.allocations,
                    job.threads * (test == workloads::StressTest::cycle ? 3u : 1u));
          EXPECT_EQ(result.counts.deallocations, result.counts.allocations);
        }
        job.inspect = true;
        EXPECT_EQ(test::stress<A>(device, job).overlaps, 0u);
      }
    }
  }
}

// A pool that is large enough serves every request, even if the lanes of a warp diverge.
template <class A>
void expect_space_used() {
  constexpr std::size_t pool_bytes = 1 << 18;
  const simt::Memory memory({}, pool_bytes);
  const simt::Lockstep<4> device(4);
  for (const workloads::StressTest test :
       {workloads::StressTest::mixed, workloads::StressTest::utilization,
        workloads::StressTest::range, workloads::StressTest::churn}) {
    workloads::StressJob job;
    job.pool = {memory.data(),
                test == workloads::StressTest::utilization ? pool_bytes / 16 : pool_bytes};
    job.test = test;
    job.lanes = 4;
    job.threads = 14;
    job.iterations = 5;
    job.touch = true;
    job.payload = 40;
    const workloads::StressResult result = test::stress<A>(device, job);
    EXPECT_EQ(result.damaged + result.overlaps, 0u);
    if (test == workloads::StressTest::mixed) {
      EXPECT_EQ(result.counts.deallocations, 14u);
    } else if (test == workloads::StressTest::utilization) {
      EXPECT_EQ(result.counts.failures, 14u);
      EXPECT_EQ(result.counts.allocations, result.steps.at(0).blocks);
    } else {
      EXPECT_EQ(result.counts.failures, 0u);
      EXPECT_EQ(result.counts.allocations, 70u);
      EXPECT_EQ(result.steps.size(), 5u);
    }
  }
}

TEST(DirectStress, SpaceOfCMalloc) { expect_space_used<CMalloc>(); }
TEST(DirectStress, SpaceOfCfmMalloc) { expect_space_used<CfmMalloc>(); }

TEST(DirectStress, CMalloc) { expect_all_served<CMalloc>(); }
TEST(DirectStress, CfmMalloc) { expect_all_served<CfmMalloc>(); }

}  // namespace
}  // namespace heapwood::alloc
