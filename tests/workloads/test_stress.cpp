// SPDX-License-Identifier: MIT
// heapwood stress: counts, the rule of P, detection of overlapping blocks, and primitives.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "simt/error.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood::workloads {
namespace {

using Stress = StressJobs;

// At most 64 blocks are live, which every allocator can serve.
TEST_F(Stress, EveryThreadGetsItsBlocks) {
  for (const bool touch : {false, true}) {
    for (const unsigned lanes : {1u, 32u}) {
      each_allocator([&](const registry::CompiledAllocator& compiled) {
        StressJob j = job(StressTest::alloc_dealloc, 1 << 20, lanes == 1 ? 6 : 1, lanes);
        j.touch = touch;
        for (const StressTest test :
             {StressTest::alloc_dealloc, StressTest::each, StressTest::cycle}) {
          j.test = test;
          j.iterations = test != StressTest::cycle ? 1 : lanes == 1 ? 10 : 2;
          const StressResult result = compiled.stress(j);
          EXPECT_EQ(result.counts.allocations, j.iterations * j.threads);
          EXPECT_EQ(result.counts.deallocations, j.iterations * j.threads);
          EXPECT_EQ(result.counts.failures + result.split_failures + result.damaged, 0u);
          EXPECT_GT(result.ms, 0);
          if (test == StressTest::each) {
            EXPECT_EQ(result.ms, result.allocate_ms + result.free_ms);
          }
          if (test == StressTest::alloc_dealloc) {
            EXPECT_GT(std::min(result.allocate_ms, result.free_ms), 0);
          }
        }
      });
    }
  }
}

TEST_F(Stress, EveryRequestOfManyThreadsIsServedOrCounted) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    StressJob j = job(StressTest::cycle, 4 << 20, 40, 32);
    j.iterations = 5;
    j.touch = true;
    const StressResult result = compiled.stress(j);
    EXPECT_EQ(result.counts.allocations + result.counts.failures, 5u * j.threads);
    EXPECT_EQ(result.counts.deallocations, result.counts.allocations);
    EXPECT_EQ(result.damaged, 0u);
    // The RegEff allocators are limited only by the pool, which holds three times as much.
    if (std::string(compiled.traits->paper).starts_with("RegEff")) {
      EXPECT_EQ(result.counts.failures, 0u);
    }
  });
}

TEST_F(Stress, InspectedPoolsHoldAllBlocks) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    for (const std::size_t payload : {4u, 100u, 4096u}) {
      StressJob j = job(StressTest::cycle, 4 << 20, 6, 1);
      j.iterations = 10;
      j.payload = payload;
      j.inspect = true;
      const StressResult result = compiled.stress(j);
      EXPECT_EQ(result.overlaps, 0u);
      EXPECT_EQ(result.counts.allocations, 60u);
      ASSERT_TRUE(result.peak && result.end);
      EXPECT_EQ(result.peak->blocks, 60u);
      EXPECT_EQ(result.peak->live_bytes, 60 * payload);
      EXPECT_EQ(result.end->blocks, 0u);
      const alloc::AllocatorTraits& traits = *compiled.traits;
      EXPECT_EQ(result.peak->fragmentation.measured, traits.in_pool);
      if (!traits.in_pool) continue;
      EXPECT_GE(result.peak->address_bytes, 60 * alloc::padded(payload));
      EXPECT_LE(result.peak->address_bytes, j.pool.bytes);
      ASSERT_TRUE(result.peak->fragmentation.internal);
      // A block occupies at least its padded size, and headers come on top.
      EXPECT_GE(
          *result.peak->fragmentation.internal,
          1 - static_cast<double>(payload) / static_cast<double>(alloc::padded(payload)) - 1e-9);
      EXPECT_GE(result.peak->fragmentation.used_bytes, 60 * alloc::padded(payload));
      EXPECT_FALSE(result.end->fragmentation.internal);
      if (traits.frees == alloc::Frees::individually) {
        EXPECT_EQ(result.end->fragmentation.used_bytes, 0u);
      }
      EXPECT_LE(result.end->fragmentation.external_merged, result.end->fragmentation.external);
    }
  });
}

TEST_F(Stress, RefusedRequestsAreCounted) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    const alloc::AllocatorTraits& traits = *compiled.traits;
    if (!traits.keeps_live_memory || (!traits.in_pool && device_.kind == simt::DeviceKind::cuda))
      return;
    StressJob j = job(StressTest::each, 1 << 16, 100, 1);
    j.payload = 4096;
    j.touch = true;
    const StressResult result = compiled.stress(j);
    EXPECT_EQ(result.counts.allocations + result.counts.failures, 100u);
    EXPECT_GE(result.counts.failures, 84u);
    EXPECT_EQ(result.counts.deallocations, result.counts.allocations);
    EXPECT_EQ(result.damaged, 0u);
  });
}

// A request that waits for frees of other threads is not refused. A kernel without frees does not
// wait.
TEST_F(Stress, WaitingIsForFreesOfTheSameKernel) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "all warps may wait for each other";
  device_.threads = 1;
  for (const char* id : {"cmalloc", "cfmmalloc"}) {
    if (registry::find(id) == nullptr) continue;  // not in every preset
    const registry::CompiledAllocator& compiled = *registry::find(id)->cpu;
    StressJob j = job(StressTest::cycle, 1 << 16, 100, 1);
    j.options.wait_when_full = true;
    j.payload = 4096;
    j.seconds = 5;
    EXPECT_EQ(compiled.stress(j).counts.failures, 0u);
    j.test = StressTest::alloc_dealloc;
    const StressResult ad = compiled.stress(j);
    EXPECT_EQ(ad.counts.failures, 0u);
    EXPECT_GT(ad.split_failures, 80u);
    j.inspect = true;
    EXPECT_LT(compiled.stress(j).peak->blocks, 16u);
  }
}

// The counts that the draws of P imply if no request fails.
struct Replay {
  std::uint64_t allocations = 0, deallocations = 0;
  Replay(std::uint32_t seed, std::uint32_t threads, unsigned launches, std::uint32_t chance) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      bool holds = false;
      for (unsigned launch = 0; launch < launches; ++launch) {
        if (draw(seed, thread, launch) >= chance) continue;
        ++(holds ? deallocations : allocations);
        holds = !holds;
      }
    }
  }
};

TEST_F(Stress, ProbabilityFollowsItsRule) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    if (!compiled.traits->keeps_live_memory) return;
    StressJob j = job(StressTest::probability, 1 << 20, 60, 1);
    j.iterations = 10;
    j.touch = true;
    j.seed = 7;
    for (const bool inspect : {false, true}) {
      j.inspect = inspect;
      j.chance = chance_of(inspect ? 0.25 : 0.75);
      const Replay replay(j.seed, j.threads, j.iterations, j.chance);
      const StressResult result = compiled.stress(j);
      EXPECT_EQ(result.counts.allocations, replay.allocations);
      EXPECT_EQ(result.counts.deallocations, replay.deallocations);
      EXPECT_EQ(result.counts.failures + result.damaged + result.overlaps, 0u);
      if (!inspect) continue;
      ASSERT_TRUE(result.peak && result.end);
      EXPECT_EQ(result.end->blocks, replay.allocations - replay.deallocations);
      EXPECT_GE(result.peak->blocks, result.end->blocks);
    }
  });
}

TEST(StressRule, ExpectedCountsOfPAreExact) {
  // The mean, by the recurrence of the fraction h of threads that hold a block:
  // h' = h + 3/4 (1 - 2h).
  double holding = 0, allocations = 0;
  for (int launch = 0; launch < 10; ++launch) {
    allocations += 0.75 * (1 - holding);
    holding += 0.75 * (1 - 2 * holding);
  }
  const ExpectedCounts expected = expected_counts(10, 0.75);
  EXPECT_NEAR(expected.allocations, allocations, 1e-12);
  EXPECT_NEAR(expected.allocations - expected.deallocations, holding, 1e-12);
  EXPECT_NEAR(960 * expected.allocations, 3839.8, 0.3);
  // The counts of RegEff table 2, 1450 and 986, are those of a probability of 1/4.
  EXPECT_NEAR(960 * expected_counts(10, 0.25).allocations, 1439.8, 0.05);
  EXPECT_NEAR(960 * expected_counts(10, 0.25).deallocations, 960.2, 0.05);
  EXPECT_EQ(chance_of(0.75), 3u << 30);
  EXPECT_EQ(chance_of(1), ~0u);
  // One launch is a Bernoulli trial.
  EXPECT_NEAR(expected_counts(1, 0.75).allocations, 0.75, 1e-12);
  EXPECT_NEAR(expected_counts(1, 0.75).allocations_sigma, std::sqrt(0.75 * 0.25), 1e-12);
  EXPECT_EQ(expected_counts(1, 0.75).deallocations, 0);
  // For few launches: all sequences of calls, weighted by their probability.
  for (unsigned launches = 0; launches <= 12; ++launches) {
    double sum[2] = {}, squares[2] = {};
    for (unsigned calls = 0; calls < 1u << launches; ++calls) {
      const int k = std::popcount(calls);
      const double chance = std::pow(0.75, k) * std::pow(0.25, static_cast<int>(launches) - k);
      const double counts[2] = {(k + 1) / 2 * 1.0, k / 2 * 1.0};
      for (int i = 0; i < 2; ++i) {
        sum[i] += chance * counts[i];
        squares[i] += chance * counts[i] * counts[i];
      }
    }
    const ExpectedCounts few = expected_counts(launches, 0.75);
    EXPECT_NEAR(few.allocations, sum[0], 1e-12);
    EXPECT_NEAR(few.deallocations, sum[1], 1e-12);
    EXPECT_NEAR(few.allocations_sigma * few.allocations_sigma, squares[0] - sum[0] * sum[0], 1e-12);
    EXPECT_NEAR(few.deallocations_sigma * few.deallocations_sigma, squares[1] - sum[1] * sum[1],
                1e-12);
  }
  // A table calls it once per allocator, even after Ctrl-C: a loop over the launches would take
  // minutes here.
  for (int i = 0; i < 100; ++i)
    EXPECT_NEAR(expected_counts(1u << 31, 0.75).allocations, 0.375 * (1u << 31), 1);

  // The generator agrees: five sigma of 20,000 threads, for several seeds.
  for (const std::uint32_t seed : {1u, 2u, 77u}) {
    const Replay replay(seed, 20000, 10, chance_of(0.75));
    EXPECT_NEAR(static_cast<double>(replay.allocations), 20000 * expected.allocations,
                5 * std::sqrt(20000.0) * expected.allocations_sigma);
    EXPECT_NEAR(static_cast<double>(replay.deallocations), 20000 * expected.deallocations,
                5 * std::sqrt(20000.0) * expected.deallocations_sigma);
  }
}

// AWMalloc wraps over live memory. One thread, so that sanitizers report no race.
TEST_F(Stress, OverlapsAreFound) {
  const registry::RegisteredAllocator* entry = registry::find("awmalloc");
  if (entry == nullptr) GTEST_SKIP() << "not in this preset";
  const registry::CompiledAllocator* compiled = entry->on(device_.kind);
  if (device_.kind == simt::DeviceKind::cpu) device_.threads = 1;
  StressJob j = job(StressTest::cycle, 4096 + 256, 4, 1);
  j.iterations = 10;
  j.payload = 512;  // eight such blocks fit into the pool
  j.touch = true;
  EXPECT_GT(compiled->stress(j).damaged, 0u);
  j.touch = false;
  EXPECT_EQ(compiled->stress(j).damaged, 0u);
  j.inspect = true;
  // 40 blocks at eight places: all but the first at each.
  EXPECT_EQ(compiled->stress(j).overlaps, 32u);
  j.pool.bytes = std::size_t{1} << 12;
  j.iterations = 1;
  EXPECT_EQ(compiled->stress(j).overlaps, 0u);  // four blocks are live at once
  j = job(StressTest::range, 4096 + 256, 10, 1);
  j.payload = 512;
  j.iterations = 3;
  EXPECT_EQ(compiled->stress(j).overlaps, 3u * 2);
  // An allocator that never refuses ends with one block per thread.
  j.test = StressTest::utilization;
  const StressResult result = compiled->stress(j);
  EXPECT_EQ(result.counts.failures, 0u);
  EXPECT_EQ(result.steps.at(0).blocks, 10u);
  EXPECT_EQ(result.overlaps, 2u);
}

TEST(StressRule, OverlappingIntervalsAreCounted) {
  EXPECT_EQ(alloc::count_overlaps({}), 0u);
  const std::vector<alloc::LiveBlock> apart{{0, 16}, {16, 4}, {32, 1}};
  EXPECT_EQ(count_overlaps(apart), 0u);
  const std::vector<alloc::LiveBlock> nested{{0, 100}, {16, 4}, {32, 4}, {112, 4}};
  EXPECT_EQ(count_overlaps(nested), 2u);
}

TEST_F(Stress, PrimitivesDoWhatTheyMeasure) {
  for (const PrimitiveTest test :
       {PrimitiveTest::counting_semaphore, PrimitiveTest::bulk_semaphore, PrimitiveTest::plain_rcu,
        PrimitiveTest::delegated_rcu, PrimitiveTest::published_semaphore}) {
    for (const std::uint32_t threads : {1u, 7u, 64u, 1000u}) {
      for (const std::uint32_t readers : {1u, 3u, 10000u}) {
        PrimitiveJob job;
        job.device = device_;
        job.test = test;
        job.threads = threads;
        job.readers = readers;
        job.batch = 8;
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(test) << ' ' << threads << ' ' << readers);
        const PrimitiveResult result = run_primitive(job);
        const bool semaphore =
            test <= PrimitiveTest::bulk_semaphore || test == PrimitiveTest::published_semaphore;
        EXPECT_EQ(result.wanted, semaphore ? threads : (threads + readers - 1) / readers);
        EXPECT_EQ(result.done, result.wanted);
      }
    }
  }
}

}  // namespace
}  // namespace heapwood::workloads
