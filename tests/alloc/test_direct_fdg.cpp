// SPDX-License-Identifier: MIT
// FDGMalloc as published: when the memory of a slot returns, frees by other warps, large requests,
// exhaustion, stopped launches, and warps that share slots.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "alloc/allocators/fdg_published.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

// A pool with one or two slots, whose heap holds a header and seven superblocks of 512 bytes, each
// with the heap's own header: 21 blocks of 100 bytes.
constexpr std::size_t small_pool = 4352, max_blocks = 21;

class FdgPublishedList : public testing::Test {
 protected:
  FdgPublished create(std::size_t bytes, AllocatorOptions options = {}) {
    pool_ = simt::Memory({}, bytes);
    heap_ = FdgPublished::create({pool_.data(), bytes}, options, device_);
    return heap_;
  }
  void TearDown() override { FdgPublished::release({pool_.data(), pool_.bytes()}, id_); }
  void* allocate(std::size_t bytes) { return heap_.allocate(thread_, bytes); }
  void deallocate(void* block) { heap_.deallocate(thread_, block); }
  // Allocates blocks of `bytes` until the heap is exhausted.
  std::vector<void*> fill(std::size_t bytes) {
    std::vector<void*> blocks;
    while (void* block = allocate(bytes)) blocks.push_back(block);
    return blocks;
  }

  const simt::DeviceId id_{.threads = 4};
  const simt::Cpu device_{id_};
  simt::Control control_{};
  simt::SerialWarp thread_{0, 1, &control_};
  simt::Memory pool_;
  FdgPublished heap_;
};

TEST_F(FdgPublishedList, TheLastFreeReturnsAllMemoryOfTheSlot) {
  create(small_pool);
  const std::vector<void*> blocks = fill(100);
  ASSERT_EQ(blocks.size(), max_blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i) deallocate(blocks[i]);
  EXPECT_EQ(allocate(400), nullptr) << "a block in use keeps all superblocks";
  deallocate(blocks[0]);
  EXPECT_EQ(fill(100).size(), max_blocks);
}

// Each pair of malloc and free takes a superblock from the heap and returns it.
TEST_F(FdgPublishedList, PairsOfMallocAndFreeDoNotUseUpTheHeap) {
  create(small_pool);
  for (int i = 0; i < 1000; ++i) {
    void* block = allocate(64);
    ASSERT_NE(block, nullptr) << i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % granule, 0u);
    deallocate(block);
  }
  deallocate(nullptr);
}

TEST_F(FdgPublishedList, LargeRequestsLeaveTheCurrentSuperblock) {
  create(small_pool);
  auto* first = static_cast<std::byte*>(allocate(16));
  auto* large = static_cast<std::byte*>(allocate(2000));
  ASSERT_NE(large, nullptr);
  std::memset(large, 1, 2000);
  EXPECT_EQ(allocate(16), first + 2 * granule);
  EXPECT_EQ(allocate(3000), nullptr);
  EXPECT_EQ(allocate(small_pool + 1), nullptr);
  EXPECT_EQ(allocate(~std::size_t{0}), nullptr);
  deallocate(large);
  EXPECT_EQ(allocate(3000), nullptr) << "it returns with the slot's last block";
  deallocate(first + 2 * granule);
  deallocate(first);
  EXPECT_NE(allocate(3000), nullptr);
}

// If the heap has memory for a superblock, but not for the header, a refused request keeps nothing.
TEST_F(FdgPublishedList, ARefusalKeepsNoMemory) {
  create(small_pool);
  const std::size_t most = small_pool - 2 * sizeof(BuiltinHeap::Block) - 4 * granule - 16;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(allocate(small_pool - 40), nullptr);
  void* block = allocate(most);
  EXPECT_NE(block, nullptr);
  deallocate(block);
}

TEST_F(FdgPublishedList, AStoppedLaunchLeavesNothingBehind) {
  create(small_pool, {.wait_when_full = true});
  const auto fill_pool = [this](auto& warp) {
    FdgPublished a = heap_;
    while (a.allocate(warp, 100) != nullptr) {
    }
  };
  EXPECT_THROW(test::launch(device_, 4, fill_pool, 0.05), simt::Stopped);
  FdgPublished::release({pool_.data(), pool_.bytes()}, id_);
  create(small_pool);
  EXPECT_EQ(fill(100).size(), max_blocks);
}

template <class Device>
class FdgPublishedWarps : public testing::Test {};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(FdgPublishedWarps, Devices);

// Lanes exchange blocks in shared slots, so that most blocks are freed by other warps.
TYPED_TEST(FdgPublishedWarps, AnyWarpFreesAndAllMemoryReturns) {
  using namespace test;
  constexpr unsigned warps = 4, lanes = TypeParam::Warp::width;
  constexpr std::uint32_t slots = 24, requests = lanes == 1 ? 20'000 : 250, max_filled = 300;
  for (const std::size_t bytes : {small_pool, std::size_t{32} << 10, std::size_t{4} << 20}) {
    const ExercisePhase fill{{of_slots(Kind::allocate, slots, slots + max_filled, bytes / 50)}},
        empty{{of_slots(Kind::free, slots, slots + max_filled)}};
    const auto size = [](Random& random) { return 4 * (2 + random(random(8) == 0 ? 400 : 60)); };
    ExerciseJob job =
        job_of(bytes, warps, slots + max_filled,
               {fill, empty, exchange_at_random(warps * lanes, slots, requests, 1, size),
                free_all(warps * lanes, slots), fill, empty});
    job.lanes = lanes;
    const ExerciseResult result = exercise<FdgPublished, TypeParam>(job);
    // Few, if a warp that holds most of a small pool is interrupted: others are refused meanwhile.
    EXPECT_GT(served(result.phases[2]), slots);
    EXPECT_LT(served(result.phases[0]), max_filled) << "the pool is too large for this test";
    EXPECT_EQ(served(result.phases[4]), served(result.phases[0])) << "in a pool of " << bytes;
  }
}

}  // namespace
}  // namespace heapwood::alloc
