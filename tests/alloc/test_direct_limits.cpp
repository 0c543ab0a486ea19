// SPDX-License-Identifier: MIT
// Stress tests that exceed their time limit: all tests share the heap of device malloc(), so what a
// stopped kernel has allocated must be freed for the next one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "simt/cpu.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::alloc {
namespace {

std::atomic<int> taken, returned;

// Each call takes a millisecond; no request is refused.
struct SlowHeap {
  static constexpr AllocatorTraits traits{
      .id = "slow", .label = "SlowHeap", .paper = "", .note = "", .in_pool = false};

  template <class Device>
  static SlowHeap create(Pool, const AllocatorOptions&, const Device&) {
    return {};
  }
  template <class Thread>
  void* allocate(Thread&, std::size_t bytes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++taken;
    return std::malloc(bytes);
  }
  template <class Thread>
  void deallocate(Thread&, void* block) {
    if (block != nullptr) ++returned;
    std::free(block);
  }
  template <class Visitor>
  void walk(const HostView&, Visitor) const {}
};

class Limits : public testing::Test {
 protected:
  void SetUp() override { taken = returned = 0; }
  void TearDown() override {
    EXPECT_GT(taken, 0);
    EXPECT_EQ(taken, returned);
  }
  workloads::StressJob job(workloads::StressTest test, std::uint32_t threads) const {
    workloads::StressJob j;
    j.pool = {memory_.data(), memory_.bytes()};
    j.test = test;
    j.threads = threads;
    j.payload = 16;
    j.iterations = 1000;
    j.rounds = 1000;
    return j;
  }

  const simt::Cpu device_{{.threads = 2}};
  const simt::Memory memory_{{}, 1 << 20};
};

TEST_F(Limits, OneAllocationAThread) {
  for (const workloads::StressTest test :
       {workloads::StressTest::each, workloads::StressTest::mixed}) {
    workloads::StressJob j = job(test, 100000);
    j.seconds = 0.05;
    EXPECT_THROW((workloads::StressRun<SlowHeap, simt::Cpu>(device_, j).run()), simt::Stopped);
  }
}

TEST_F(Limits, InALaterRound) {
  workloads::StressJob j = job(workloads::StressTest::each, 50);
  j.run_seconds = 0.5;
  // No launch is long, and some finish in time. A stopped launch leaves only blocks of its own.
  EXPECT_THROW((workloads::StressRun<SlowHeap, simt::Cpu>(device_, j).run()), simt::Stopped);
}

TEST_F(Limits, Utilization) {
  workloads::StressJob j = job(workloads::StressTest::utilization, 4);
  j.run_seconds = 0.1;
  const workloads::StressResult result =
      workloads::StressSpace<SlowHeap, simt::Cpu>(device_, j).run();
  EXPECT_TRUE(result.out_of_time);
  EXPECT_EQ(result.steps.at(0).blocks, static_cast<std::uint64_t>(taken.load()));
}

TEST_F(Limits, RangeAndChurn) {
  for (const workloads::StressTest test :
       {workloads::StressTest::range, workloads::StressTest::churn}) {
    workloads::StressJob j = job(test, 40);
    j.run_seconds = 0.3;
    const workloads::StressResult result =
        workloads::StressSpace<SlowHeap, simt::Cpu>(device_, j).run();
    EXPECT_TRUE(result.out_of_time);
    EXPECT_GT(result.steps.size(), 0u);
    EXPECT_LT(result.steps.size(), 100u);
    EXPECT_EQ(result.overlaps, 0u);
  }
  // Without a complete first iteration there is no result.
  workloads::StressJob j = job(workloads::StressTest::range, 100000);
  j.run_seconds = 0.05;
  EXPECT_THROW((workloads::StressSpace<SlowHeap, simt::Cpu>(device_, j).run()), simt::Stopped);
}

}  // namespace
}  // namespace heapwood::alloc
