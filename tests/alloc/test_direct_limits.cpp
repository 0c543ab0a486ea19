// SPDX-License-Identifier: MIT
// Stress tests that exceed their time limit: all tests share the heap of device malloc(), so what a
// stopped kernel has allocated must be freed for the next one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/cuda_malloc.hpp"
#include "simt/cpu.hpp"
#include "tests/simt/turned_clock.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::alloc {
namespace {

using workloads::StressJob;
using workloads::StressResult;
using workloads::StressTest;

std::atomic<unsigned> served;

// An allocator whose requests take a millisecond of a TurnedClock, and at least as long of any
// other clock.
template <class A>
struct Slow : A {
  template <class Device>
  static Slow create(Pool pool, const AllocatorOptions& options, const Device& device) {
    return {A::create(pool, options, device)};
  }
  template <class Thread>
  void* allocate(Thread& thread, std::size_t bytes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    tests::TurnedClock::turn(1e-3);
    void* const block = A::allocate(thread, bytes);
    served += block != nullptr ? 1 : 0;
    return block;
  }
};

class Limits : public testing::Test {
 protected:
  StressJob job(StressTest test, std::uint32_t threads) const {
    StressJob j;
    j.pool = {memory_.data(), memory_.bytes()};
    j.test = test;
    j.threads = threads;
    j.payload = 16;
    j.iterations = 1000;
    j.rounds = 1000;
    return j;
  }
  template <template <class, class> class Test, class A = CudaMalloc>
  StressResult run(const StressJob& j) const {
    served = 0;
    const StressResult result = Test<Slow<A>, simt::Cpu>(device_, j).run();
    if constexpr (!A::traits.in_pool) {
      EXPECT_EQ(live(), 0u);
    }
    return result;
  }
  // The number of blocks in the heap outside the pool.
  std::uint64_t live() const {
    return reinterpret_cast<const CudaMalloc::Head*>(memory_.data())->live;
  }

  const tests::TurnedClock clock_;
  const simt::Cpu device_{{.threads = 2}};
  const simt::Memory memory_{{}, 1 << 20};
};

TEST_F(Limits, StopALaunch) {
  struct Case {
    StressTest test;
    bool touch = false, inspect = false;
  };
  for (const Case& c : {Case{StressTest::each}, Case{StressTest::mixed}, Case{StressTest::cycle},
                        Case{StressTest::cycle, false, true}, Case{StressTest::alloc_dealloc, true},
                        Case{StressTest::probability}, Case{StressTest::probability, false, true},
                        Case{StressTest::lifetimes}}) {
    StressJob j = job(c.test, 2000);
    j.touch = c.touch;
    j.inspect = c.inspect;
    j.seconds = 0.01;
    if (c.test == StressTest::lifetimes)
      EXPECT_THROW(run<workloads::StressLifetimes>(j), simt::Stopped);
    else
      EXPECT_THROW(run<workloads::StressRun>(j), simt::Stopped);
    EXPECT_GT(served, 0u);
    EXPECT_EQ(live(), 0u) << static_cast<int>(c.test) << (c.inspect ? ", inspected" : "");
  }
}

TEST_F(Limits, InALaterRound) {
  StressJob j = job(StressTest::each, 50);
  j.run_seconds = 0.5;
  // No launch reaches its limit: the run ends after its tenth round.
  EXPECT_THROW(run<workloads::StressRun>(j), simt::Stopped);
  EXPECT_EQ(served, 500u);
}

// The blocks allocated until the time limit count.
TEST_F(Limits, UtilizationCountsWhatItGot) {
  const auto expect_out_of_time = [&](const StressResult& result) {
    EXPECT_TRUE(result.out_of_time);
    EXPECT_GT(served, 0u);
    EXPECT_EQ(result.steps.at(0).blocks, served);
    EXPECT_EQ(result.counts.allocations, served);
  };
  StressJob j = job(StressTest::utilization, 4);
  j.run_seconds = 0.1;
  expect_out_of_time(run<workloads::StressSpace>(j));
  j.run_seconds = 0;
  j.seconds = 0.01;
  expect_out_of_time(run<workloads::StressSpace>(j));
  expect_out_of_time(run<workloads::StressSpace, Atomic>(j));
}

// Four threads make a refused request of a millisecond each, two at a time: 2 ms.
TEST_F(Limits, ARefusalTakesAsLongAsItShould) {
  StressJob j = job(StressTest::utilization, 4);
  j.pool.bytes = 4096;
  const StressResult result = run<workloads::StressSpace, Atomic>(j);
  EXPECT_FALSE(result.out_of_time);
  EXPECT_NEAR(result.refusal_ms.value_or(0), 2, 1e-6);
}

// The limit of a run covers its launches and the work between them. The run ends after the
// iteration in which the limit is reached.
TEST_F(Limits, StopRangeAndChurn) {
  for (const StressTest test : {StressTest::range, StressTest::churn}) {
    StressJob j = job(test, 40);
    j.run_seconds = 0.3;
    const StressResult result = run<workloads::StressSpace>(j);
    EXPECT_TRUE(result.out_of_time);
    EXPECT_EQ(result.steps.size(), 8u);
    EXPECT_EQ(result.counts.allocations, 8u * 40);
    EXPECT_EQ(result.overlaps, 0u);
    // The next run with enough time is not affected.
    j.iterations = 2;
    const StressResult next = run<workloads::StressSpace>(j);
    EXPECT_FALSE(next.out_of_time);
    EXPECT_EQ(next.steps.size(), 2u);
  }
  // Without a complete first iteration there is no result.
  StressJob j = job(StressTest::range, 100'000);
  j.run_seconds = 0.05;
  EXPECT_THROW(run<workloads::StressSpace>(j), simt::Stopped);
}

}  // namespace
}  // namespace heapwood::alloc
