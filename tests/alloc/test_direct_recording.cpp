// SPDX-License-Identifier: MIT
// The block history of a recording agrees with the allocator's walk, with a yield possible before
// every atomic operation (yielding/): otherwise the test misses frees that are recorded too late.
#include "tests/workloads/block_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "alloc/adaptors/recorded.hpp"
#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/circular_lists.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {

namespace {

using Kind = RecordedEvent::Kind;

RecordedEvent event(Kind kind, std::uint64_t offset, std::uint64_t bytes = 0) {
  return RecordedEvent::make(kind, 0, 3, offset / granule, bytes);
}

TEST(Recording, AnEventKeepsWhatWasPutIn) {
  const std::uint64_t far = (std::uint64_t{1} << 39) - 1;  // 8 TiB in granules
  const RecordedEvent e = RecordedEvent::make(Kind::free, 31, 0x1fffe, far, 123456789012);
  EXPECT_EQ(e.kind(), Kind::free);
  EXPECT_EQ(e.lane(), 31u);
  EXPECT_EQ(e.warp(), 0x1fffeu);
  EXPECT_EQ(e.offset(), far * granule);
  EXPECT_EQ(e.bytes, 123456789012u);
}

TEST(Recording, HistoryHasEveryLife) {
  const std::vector<RecordedEvent> events = {event(Kind::allocate, 0, 40),
                                             event(Kind::allocate, 64, 16), event(Kind::free, 0),
                                             event(Kind::allocate, 0, 16), event(Kind::free, 32)};
  const workloads::BlockHistory r = workloads::block_history(events, Frees::individually);
  ASSERT_EQ(r.blocks.size(), 3u);
  EXPECT_EQ(r.blocks[0].released, 2u);
  EXPECT_EQ(r.blocks[0].died, 2u);
  EXPECT_EQ(r.blocks[1].released, workloads::never);
  EXPECT_EQ(r.blocks[2].born, 3u);
  EXPECT_EQ(r.unmatched_frees, 1u);
  EXPECT_EQ(r.overlaps, 0u);
  EXPECT_TRUE(r.blocks[0].in_use(1));
  EXPECT_TRUE(r.blocks[0].in_use(2));
  EXPECT_FALSE(r.blocks[0].in_use(0));
  EXPECT_FALSE(r.blocks[0].in_use(3));
}

TEST(Recording, HistoryCountsMemoryHandedOutTwice) {
  const std::vector<RecordedEvent> events = {
      event(Kind::allocate, 32, 32), event(Kind::allocate, 48, 64), event(Kind::allocate, 16, 16)};
  EXPECT_EQ(workloads::block_history(events, Frees::individually).overlaps, 1u);
  // A block freed in an allocator that never frees occupies its memory until that is handed out
  // again.
  const std::vector<RecordedEvent> round = {event(Kind::allocate, 0, 32), event(Kind::free, 0),
                                            event(Kind::allocate, 0, 16)};
  const workloads::BlockHistory r = workloads::block_history(round, Frees::never);
  EXPECT_EQ(r.overlaps, 0u);
  EXPECT_EQ(r.blocks[0].released, 1u);
  EXPECT_EQ(r.blocks[0].died, 2u);
  EXPECT_TRUE(r.blocks[0].occupies(2));
}

// Compares gaps with a bitmap of granules, on random allocations and frees.
TEST(Recording, GapsAgreeWithAMapOfGranules) {
  constexpr std::size_t granules = 64;
  workloads::HistoryBuilder builder(Frees::individually, granules * granule);
  std::vector<int> owner(granules, 0);
  std::map<std::size_t, std::size_t> live;  // offset -> size, in granules
  std::size_t mark = 0;
  std::uint32_t state = 7;
  for (unsigned step = 0; step < 4000; ++step) {
    state = state * 1664525u + 1013904223u;
    const std::size_t first = state >> 26, size = 1 + (state >> 20 & 7);
    if (const auto found = live.find(first); found != live.end()) {
      std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(first), found->second, 0);
      live.erase(found);
      builder.add(event(Kind::free, first * granule));
    } else if (first + size <= granules &&
               std::all_of(owner.begin() + static_cast<std::ptrdiff_t>(first),
                           owner.begin() + static_cast<std::ptrdiff_t>(first + size),
                           [](int o) { return o == 0; })) {
      std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(first), size, 1);
      live[first] = size;
      mark = std::max(mark, first + size);
      builder.add(event(Kind::allocate, first * granule, size * granule - step % granule));
    }
    std::size_t all = 0, largest = 0, below = 0, largest_below = 0, run = 0, run_below = 0;
    for (std::size_t i = 0; i < granules; ++i) {
      run = owner[i] ? 0 : run + 1;
      run_below = owner[i] || i >= mark ? 0 : run_below + 1;
      all += owner[i] == 0;
      below += owner[i] == 0 && i < mark;
      largest = std::max(largest, run);
      largest_below = std::max(largest_below, run_below);
    }
    const workloads::Gaps now = builder.gaps();
    ASSERT_EQ(now.gap_bytes, all * granule) << step;
    ASSERT_EQ(now.largest_gap_bytes, largest * granule) << step;
    ASSERT_EQ(now.mark_bytes, mark * granule) << step;
    ASSERT_EQ(now.below_bytes, below * granule) << step;
    ASSERT_EQ(now.largest_below_bytes, largest_below * granule) << step;
    ASSERT_EQ(now.blocks, live.size()) << step;
    const auto share = [](std::size_t of_one, std::size_t of_all) {
      return of_all == 0 ? 0 : 1 - static_cast<double>(of_one) / static_cast<double>(of_all);
    };
    ASSERT_DOUBLE_EQ(now.external(), share(largest, all));
    ASSERT_DOUBLE_EQ(now.external_below(), share(largest_below, below));
  }
  EXPECT_EQ(builder.history().overlaps, 0u);
  EXPECT_EQ(builder.history().unmatched_frees, 0u);
}

TEST(Recording, ServedBytesAreTheSmallestDistance) {
  workloads::HistoryBuilder builder(Frees::individually, 1024);
  EXPECT_EQ(builder.served_bytes(20), 32u);  // no next block is known, so the size is only padded
  builder.add(event(Kind::allocate, 0, 20));
  builder.add(event(Kind::allocate, 256, 20));
  EXPECT_EQ(builder.served_bytes(20), 256u);
  builder.add(event(Kind::allocate, 64, 40));  // lies between the first two blocks
  EXPECT_EQ(builder.served_bytes(20), 64u);
  EXPECT_EQ(builder.served_bytes(40), 192u);
  builder.add(event(Kind::free, 64));
  builder.add(event(Kind::allocate, 512, 20));
  EXPECT_EQ(builder.served_bytes(20), 64u);
}

// Every worker allocates and frees at random and ends with live blocks.
template <class A>
void churn(const simt::Cpu& device, const A& allocator, unsigned rounds) {
  test::launch(device, 0, [&](auto& warp) {
    A mine = allocator;
    void* held[16] = {};
    std::uint32_t state = 12345 + 7919 * warp.worker();
    for (unsigned i = 0; i < rounds; ++i) {
      state = state * 1664525u + 1013904223u;
      void*& slot = held[state >> 28];
      if (slot != nullptr) mine.deallocate(warp, slot);
      slot = slot != nullptr ? nullptr : mine.allocate(warp, 1 + (state >> 16 & 1023u));
    }
  });
}

struct ChurnRun {
  std::vector<RecordedEvent> events;
  std::uint64_t total = 0;
  std::vector<Region> regions;
};

template <class A>
ChurnRun churn(int threads, unsigned rounds, std::size_t capacity) {
  const simt::Cpu device({.threads = threads});
  const test::OwnPool<A> own(std::size_t{8} << 20, {}, device);
  const RecordedMemory recorded({}, capacity);
  churn(device, Recorded<A>::create(own.heap, own.pool, recorded), rounds);
  return {recorded.events(), recorded.total(), own.regions()};
}

template <class A>
class RecordedChurn : public ::testing::Test {};
using Freeing = ::testing::Types<CMalloc, CfmMalloc>;
TYPED_TEST_SUITE(RecordedChurn, Freeing);

TYPED_TEST(RecordedChurn, EndsWithTheUsedRegionsOfTheWalk) {
  for (int repetition = 0; repetition < 5; ++repetition) {
    const ChurnRun run = churn<TypeParam>(4, 4000, 1 << 20);
    ASSERT_EQ(run.total, run.events.size());
    const workloads::BlockHistory r = workloads::block_history(run.events, Frees::individually);
    EXPECT_EQ(r.unmatched_frees, 0u);
    EXPECT_EQ(r.overlaps, 0u);
    std::map<std::uint64_t, std::uint64_t> live;
    for (const workloads::Block& block : r.blocks) {
      if (block.died == workloads::never) live[block.offset] = block.bytes;
    }
    ASSERT_GT(live.size(), 0u);
    // Each block lies in one used region, and each used region has one block.
    std::size_t used = 0;
    for (const Region& region : run.regions) {
      if (region.state != Region::State::used) continue;
      ++used;
      const auto block = live.lower_bound(region.offset);
      ASSERT_NE(block, live.end());
      EXPECT_LE(block->first + block->second, region.offset + region.bytes);
    }
    EXPECT_EQ(used, live.size());
  }
}

TEST(Recorded, CountsEventsBeyondItsCapacity) {
  const ChurnRun run = churn<CMalloc>(2, 1000, 100);
  EXPECT_EQ(run.events.size(), 100u);
  EXPECT_GT(run.total, 1500u);
}

TEST(Recorded, CapacityZeroRecordsNothing) {
  const ChurnRun run = churn<CMalloc>(2, 1000, 0);
  EXPECT_EQ(run.total, 0u);
  EXPECT_TRUE(run.events.empty());
}

TEST(Recorded, BlocksOfAtomicMallocCoverItsUsedRegion) {
  const ChurnRun run = churn<Atomic>(3, 2000, 1 << 16);
  const workloads::BlockHistory r = workloads::block_history(run.events, Frees::never);
  EXPECT_EQ(r.unmatched_frees, 0u);
  std::uint64_t sum = 0, used = 0;
  for (const workloads::Block& block : r.blocks) {
    EXPECT_EQ(block.died, workloads::never);
    sum += padded(block.bytes);
  }
  for (const Region& region : run.regions)
    used += region.state == Region::State::used ? region.bytes : 0;
  EXPECT_EQ(sum, used);
}

}  // namespace

}  // namespace heapwood::alloc
