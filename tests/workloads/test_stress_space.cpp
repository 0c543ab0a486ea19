// SPDX-License-Identifier: MIT
// heapwood stress mixed, utilization, range and churn: exact results of an allocator that only
// advances an offset, and properties that hold for every allocator.
#include <cmath>

#include "tests/simt/turned_clock.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/stress_space.hpp"

namespace heapwood::workloads {
namespace {

constexpr std::size_t head = 256;  // metadata of AtomicMalloc's pool

class StressSpace : public StressJobs {
 protected:
  const registry::CompiledAllocator& atomic() const {
    return *registry::find("atomic")->on(device_.kind);
  }
  // The heap of device malloc() has one size for the whole process, and tests of other allocators
  // need a large one.
  bool heap_elsewhere(const registry::CompiledAllocator& compiled) const {
    return !compiled.traits->in_pool && device_.kind == simt::DeviceKind::cuda;
  }
};

TEST_F(StressSpace, UtilizationIsAllButTheHead) {
  for (const std::size_t payload : {16u, 40u}) {
    StressJob j = job(StressTest::utilization, 1 << 20, 4, 32);
    j.payload = payload;
    const StressResult result = atomic().stress(j);
    const std::uint64_t blocks = ((1 << 20) - head) / alloc::padded(payload);
    ASSERT_EQ(result.steps.size(), 1u);
    EXPECT_EQ(result.steps[0].blocks, blocks);
    EXPECT_EQ(result.steps[0].refused, j.threads);
    EXPECT_EQ(result.steps[0].address_bytes, blocks * alloc::padded(payload));
    EXPECT_EQ(result.capacity_bytes, j.pool.bytes);
    EXPECT_EQ(result.counts.allocations, blocks);
    EXPECT_EQ(result.overlaps, 0u);
    EXPECT_GT(result.ms, 0);
  }
}

TEST_F(StressSpace, RangeGrowsWhereNothingIsFreed) {
  StressJob j = job(StressTest::range, 1 << 20, 4, 25);
  j.payload = 20;
  j.iterations = 5;
  const StressResult result = atomic().stress(j);
  ASSERT_EQ(result.steps.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(result.steps[i].address_bytes, (i + 1) * 100 * 32);
    EXPECT_EQ(result.steps[i].blocks, 100u);
    EXPECT_EQ(result.steps[i].refused, 0u);
  }
  EXPECT_EQ(result.counts.deallocations, 500u);
}

// The number of blocks of churn that are live after `launches` launches.
std::uint64_t kept(const StressJob& j, unsigned launches) {
  std::uint64_t count = 0;
  for (unsigned launch = 0; launch < launches; ++launch) {
    for (std::uint32_t t = 0; t < j.threads; ++t) count += !frees_half(draw(j.seed, t, launch));
  }
  return count;
}

TEST_F(StressSpace, ChurnEndsWhereThePoolDoes) {
  StressJob j = job(StressTest::churn, head + 10 * 3200 + 1600, 4, 25);
  j.payload = 32;
  j.seed = 5;
  j.iterations = 1000;
  const StressResult result = atomic().stress(j);
  ASSERT_EQ(result.steps.size(), 11u);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(result.steps[i].refused, 0u);
    EXPECT_EQ(result.steps[i].blocks, kept(j, i) + 100);
  }
  EXPECT_EQ(result.steps[10].refused, 50u);
  EXPECT_EQ(result.steps[10].blocks, kept(j, 10) + 50);
  EXPECT_EQ(result.steps[10].address_bytes, 10u * 3200 + 1600);
  EXPECT_EQ(result.counts.allocations, 1050u);
  EXPECT_EQ(result.counts.deallocations, 1000 - kept(j, 10));
  // About half, within five sigma of 1000 coin tosses.
  EXPECT_NEAR(static_cast<double>(kept(j, 10)), 500, 80);
  // The number of iterations limits the test first.
  j.iterations = 3;
  EXPECT_EQ(atomic().stress(j).steps.size(), 3u);
  EXPECT_EQ(atomic().stress(j).counts.failures, 0u);
}

TEST_F(StressSpace, EveryAllocatorKeepsContents) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    const alloc::AllocatorTraits& traits = *compiled.traits;
    if (!traits.keeps_live_memory || heap_elsewhere(compiled)) return;
    StressJob j = job(StressTest::utilization, 1 << 20, 2, 32);
    j.payload = 64;
    j.touch = true;
    const StressResult filled = compiled.stress(j);
    EXPECT_EQ(filled.damaged + filled.overlaps, 0u);
    EXPECT_EQ(filled.counts.failures, j.threads);
    EXPECT_EQ(filled.counts.allocations, filled.steps.at(0).blocks);
    EXPECT_GT(filled.steps[0].blocks, 0u);
    EXPECT_LE(filled.steps[0].blocks * 64, j.pool.bytes);

    j.test = StressTest::range;
    j.iterations = 4;
    const StressResult range = compiled.stress(j);
    EXPECT_EQ(range.damaged + range.overlaps, 0u);
    ASSERT_EQ(range.steps.size(), 4u);
    EXPECT_EQ(range.counts.deallocations, range.counts.allocations);
    EXPECT_EQ(range.counts.allocations + range.counts.failures, 4u * j.threads);
    EXPECT_GE(range.steps[0].address_bytes, range.steps[0].blocks * 64);
    EXPECT_GE(range.steps[3].address_bytes, range.steps[0].address_bytes);

    j.test = StressTest::churn;
    j.iterations = 1000;
    j.pool.bytes = std::max(std::size_t{1} << 18, traits.smallest_pool);
    const StressResult churn = compiled.stress(j);
    EXPECT_EQ(churn.damaged + churn.overlaps, 0u);
    ASSERT_FALSE(churn.steps.empty());
    // The pool has less than 32 blocks for each of 1000 iterations.
    EXPECT_GT(churn.steps.back().refused, 0u);
    const auto served = static_cast<unsigned>(churn.steps.size() - 1);
    EXPECT_EQ(churn.counts.allocations - churn.counts.deallocations, churn.steps.back().blocks);
    EXPECT_EQ(churn.steps.back().blocks, kept(j, served) + j.threads - churn.steps.back().refused);
  });
}

TEST_F(StressSpace, MixedSizesAreThoseDrawn) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    StressJob j = job(StressTest::mixed, 4 << 20, 2, 32);
    j.payload = 1000;
    j.seed = 3;
    std::uint64_t wanted = 0;
    for (std::uint32_t t = 0; t < j.threads; ++t)
      wanted += mixed_bytes(draw(j.seed, t, 0), j.payload);
    for (const bool touch : {false, true}) {
      j.touch = touch;
      j.inspect = false;
      const StressResult timed = compiled.stress(j);
      EXPECT_EQ(timed.counts.allocations, j.threads);
      EXPECT_EQ(timed.counts.deallocations, j.threads);
      EXPECT_EQ(timed.damaged, 0u);
      EXPECT_EQ(timed.ms, timed.allocate_ms + timed.free_ms);
      j.inspect = true;
      const StressResult seen = compiled.stress(j);
      EXPECT_EQ(seen.overlaps, 0u);
      EXPECT_EQ(seen.peak.value().live_bytes, wanted);
    }
  });
}

TEST(StressDraws, MixedSizesAreUniform) {
  EXPECT_EQ(mixed_bytes(0, 8192), 16u);
  EXPECT_EQ(mixed_bytes(~std::uint32_t{0}, 8192), 8192u);
  EXPECT_EQ(mixed_bytes(~std::uint32_t{0}, 16), 16u);
  double sum = 0;
  for (std::uint32_t t = 0; t < 20000; ++t)
    sum += static_cast<double>(mixed_bytes(draw(1, t, 0), 8192));
  // Within five sigma of the mean of a uniform distribution.
  EXPECT_NEAR(sum / 20000, (16 + 8192) / 2.0, 5 * (8192 - 16) / std::sqrt(12.0 * 20000));
}

TEST(GranuleMap, FindsWhatIsTaken) {
  for (const bool expected : {false, true}) {
    GranuleMap map;
    // Covers the first and the second page, but not the last block.
    if (expected) map.expect((1 << 20) + 100, 1 << 20);
    EXPECT_TRUE(map.take(1 << 20, 16));
    EXPECT_FALSE(map.take(1 << 20, 16));
    EXPECT_TRUE(map.take((1 << 20) + 16, 4096));     // spans many words
    EXPECT_FALSE(map.take((1 << 20) + 4096, 4096));  // overlaps its last granule
    EXPECT_TRUE(map.take((2 << 20) - 32, 64));       // spans two pages
    EXPECT_FALSE(map.take((2 << 20) + 16, 16));
    map.give((2 << 20) - 32, 64);
    EXPECT_TRUE(map.take((2 << 20) + 16, 16));
    EXPECT_TRUE(map.take((2 << 20) - 32, 32));
    EXPECT_TRUE(map.take((1 << 20) - 16, 16));  // below the expected range
    EXPECT_TRUE(map.take(std::uintptr_t{1} << 46, 1));
    EXPECT_FALSE(map.take(std::uintptr_t{1} << 46, 1));
  }
}

TEST_F(StressSpace, LifetimesKeepContentsInEveryOrder) {
  each_allocator([&](const registry::CompiledAllocator& compiled) {
    if (compiled.traits->frees != alloc::Frees::individually || !compiled.traits->keeps_live_memory)
      return;
    if (std::string(compiled.traits->id) == "toy") return;  // has 64 cells
    for (const Lifetimes order : {Lifetimes::random, Lifetimes::lifo, Lifetimes::immortal}) {
      StressJob j = job(StressTest::lifetimes, 8 << 20, 8, 8);
      j.payload = 512;
      j.iterations = 70;
      j.order = order;
      j.touch = true;
      const StressResult result = compiled.stress(j);
      EXPECT_EQ(result.damaged, 0u);
      EXPECT_EQ(result.overlaps, 0u);
      EXPECT_EQ(result.counts.failures, 0u);
      EXPECT_EQ(result.counts.allocations, result.counts.deallocations);
      EXPECT_GT(result.counts.allocations, 64u * 70 * 32 / 4);
      ASSERT_EQ(result.steps.size(), 2u);  // after 64 launches, and at the end
      EXPECT_GT(result.steps[1].blocks, 64u);
      if (!compiled.traits->in_pool) continue;
      EXPECT_GT(result.peak->live_bytes, result.peak->blocks * 16);
      EXPECT_LE(result.peak->live_bytes, result.peak->fragmentation.used_bytes);
      EXPECT_EQ(result.end->blocks, 0u);
    }
  });
}

// A run that is late ends between two launches, and frees its blocks.
TEST_F(StressSpace, LifetimesEndWithTheRun) {
  const tests::TurnedClock clock(1e-3);
  for (const char* id : {"heapwood", "cuda"}) {
    if (registry::find(id) == nullptr) continue;  // not compiled in
    StressJob j = job(StressTest::lifetimes, 8 << 20, 8, 8);
    j.payload = 512;
    j.iterations = 50000;
    j.run_seconds = 0.1;
    const StressResult result = registry::find(id)->on(device_.kind)->stress(j);
    EXPECT_TRUE(result.out_of_time) << id;
    EXPECT_GT(result.counts.allocations, 0u);
    EXPECT_EQ(result.counts.allocations, result.counts.deallocations);
    EXPECT_FALSE(result.steps.empty());
  }
  StressJob j = job(StressTest::lifetimes, 8 << 20, 8, 8);
  j.run_seconds = 60;
  j.iterations = 3;
  EXPECT_FALSE(registry::find("heapwood")->on(device_.kind)->stress(j).out_of_time);
}

TEST_F(StressSpace, SoakLastsAsLongAsItShould) {
  const tests::TurnedClock clock(1e-3);
  StressJob j = job(StressTest::soak, 4 << 20, 4, 8);
  j.payload = 512;
  j.touch = true;
  j.seconds = 0.2;
  const StressResult result = registry::find("heapwood")->on(device_.kind)->stress(j);
  EXPECT_EQ(result.damaged + result.overlaps + result.counts.failures, 0u);
  EXPECT_GT(result.counts.allocations, 1000u);
  EXPECT_EQ(result.counts.allocations, result.counts.deallocations);
}

}  // namespace
}  // namespace heapwood::workloads
