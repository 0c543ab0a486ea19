// SPDX-License-Identifier: MIT
// Stress tests that exceed their time limit: all tests share the heap of device malloc(), so what a
// stopped kernel has allocated must be freed for the next one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/cuda_malloc.hpp"
#include "alloc/allocators/halloc.hpp"
#include "alloc/allocators/scatter.hpp"
#include "alloc/allocators/xmalloc.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"
#include "tests/simt/turned_clock.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::alloc {

// Allocators whose large requests go to the platform's malloc(): location of blocks, the heap's
// limit, and the release of what was not freed.

namespace {

constexpr std::size_t large = 9000;  // a large request for all of them, in the pools below

template <class A>
class Builtin : public testing::Test {
 protected:
  const simt::DeviceId id{.threads = 2};
  const simt::Cpu device{id};
  simt::Control control{};
  simt::SerialWarp thread{0, 1, &control};
};
using Allocators = testing::Types<Scatter, Halloc, XMalloc, AwMallocSafe>;
TYPED_TEST_SUITE(Builtin, Allocators);

TYPED_TEST(Builtin, LargeBlocksLieOutsideThePool) {
  using A = typename TypeParam::WithBuiltin;
  static_assert(!A::traits.in_pool && TypeParam::traits.in_pool);
  for (const std::size_t bytes : {8192u, 8192u + 16u * 7u, 30'000u}) {
    test::OwnPool<A> own(bytes, {}, this->device);
    A& a = own.heap;
    const ReleaseAtEnd<A, simt::Cpu> release(own.pool, this->device);
    const auto inside = [&](void* block) {
      return block >= own.pool.base && block < own.pool.base + bytes;
    };
    std::size_t offset = 0;
    for (const Region& region : own.regions()) {
      EXPECT_EQ(region.offset, offset);
      offset += region.bytes;
    }
    EXPECT_EQ(offset, bytes);
    void* small = a.allocate(this->thread, 40);
    EXPECT_TRUE(inside(small));
    if (bytes <= large + sizeof(BuiltinHeap::Block)) {
      EXPECT_EQ(a.allocate(this->thread, large), nullptr);
    } else {
      void* block = a.allocate(this->thread, large);
      ASSERT_NE(block, nullptr);
      EXPECT_FALSE(inside(block));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % granule, 0u);
      std::memset(block, 1, large);
      a.deallocate(this->thread, block);
    }
    EXPECT_EQ(a.allocate(this->thread, ~std::size_t{0}), nullptr);
    a.deallocate(this->thread, small);
    EXPECT_EQ(test::bytes_in(own.regions(), Region::State::used), 0u);
  }
}

// The remaining blocks are freed by release(); AddressSanitizer reports them otherwise.
TYPED_TEST(Builtin, TheHeapIsBoundedAndReleased) {
  using A = typename TypeParam::WithBuiltin;
  test::OwnPool<A> own(64 << 10, {}, this->device);
  A& a = own.heap;
  const ReleaseAtEnd<A, simt::Cpu> release(own.pool, this->device);
  std::vector<void*> blocks;
  while (void* block = a.allocate(this->thread, large)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 6u);
  EXPECT_LE(blocks.size(), 7u);
  a.deallocate(this->thread, blocks.back());
  EXPECT_NE(a.allocate(this->thread, large), nullptr);
  EXPECT_EQ(a.allocate(this->thread, large), nullptr);
}

TYPED_TEST(Builtin, StressTakesItWhereItIsAskedFor) {
  simt::Memory memory(this->id, 256 << 10);
  workloads::StressJob job;
  job.device = this->id;
  job.pool = {memory.data(), memory.bytes()};
  job.test = workloads::StressTest::each;
  job.threads = 8;
  job.payload = large;
  job.touch = true;
  for (const bool builtin : {false, true}) {
    job.options.large_backend = builtin ? LargeBackend::builtin : LargeBackend::buddy;
    job.inspect = true;
    const workloads::StressResult result = test::stress<TypeParam>(this->device, job);
    EXPECT_EQ(result.overlaps, 0u);
    ASSERT_TRUE(result.peak.has_value());
    EXPECT_EQ(result.peak->address_bytes > 0, !builtin);
    EXPECT_EQ(result.peak->fragmentation.measured, !builtin);
    job.inspect = false;
    EXPECT_EQ(test::stress<TypeParam>(this->device, job).damaged, 0u);
  }
}

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
