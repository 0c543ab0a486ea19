// SPDX-License-Identifier: MIT
// FDGMalloc as published: when the memory of a slot returns, frees by other warps, large requests,
// exhaustion, stopped launches, and warps that share slots.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "alloc/allocators/fdg_published.hpp"
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
  // Blocks of `bytes` until the heap is exhausted.
  std::vector<void*> fill(std::size_t bytes) {
    std::vector<void*> blocks;
    while (void* block = allocate(bytes)) blocks.push_back(block);
    return blocks;
  }

  const simt::DeviceId id_{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4};
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

// As in the test AD: each pair takes a superblock from malloc and returns it.
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

// A heap with a superblock's memory left, but not its header's, keeps nothing.
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

// Every lane puts its blocks into shared places and frees what it finds there, so that most blocks
// are freed by other warps. A block holds its place's number.
TYPED_TEST(FdgPublishedWarps, AnyWarpFreesAndAllMemoryReturns) {
  const TypeParam device = [] {
    if constexpr (std::is_same_v<TypeParam, simt::Cpu>) {
      return TypeParam({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4});
    } else {
      return TypeParam(3);
    }
  }();
  for (const std::size_t bytes : {small_pool, std::size_t{32} << 10, std::size_t{4} << 20}) {
    const simt::Memory memory({}, bytes);
    const Pool pool{memory.data(), bytes};
    const FdgPublished heap = FdgPublished::create(pool, {}, device);
    const ReleaseAtEnd<FdgPublished, TypeParam> release(pool, device);
    constexpr std::uint32_t places = 24;
    std::uint64_t mail[places] = {};
    std::uint32_t wrong = 0, served = 0;
    const std::uint32_t requests = std::is_same_v<TypeParam, simt::Cpu> ? 20'000 : 500;
    test::launch(device, 0, [&](auto& warp) {
      FdgPublished a = heap;
      std::uint32_t state =
          (warp.worker() * TypeParam::Warp::width + warp.lane()) * 2654435769u + 1;
      for (std::uint32_t r = 0; r < requests && !warp.aborted(); ++r) {
        state = state * 1664525u + 1013904223u;
        const std::uint32_t place = (state >> 8) % places;
        const std::uint32_t words = 2 + (state >> 16) % ((state >> 29) == 0 ? 400 : 60);
        std::uint32_t* block = nullptr;
        if ((state >> 26 & 3) != 0) {
          block = static_cast<std::uint32_t*>(a.allocate(warp, std::size_t{words} * 4));
          if (block != nullptr) test::count(served);
        }
        if (block != nullptr) {
          block[0] = words;
          for (std::uint32_t w = 1; w < words; ++w) block[w] = place;
        }
        // acq_rel: the block's contents.
        auto* old = reinterpret_cast<std::uint32_t*>(
            simt::atomic_ref<std::uint64_t>(mail[place])
                .exchange(reinterpret_cast<std::uintptr_t>(block), simt::acq_rel));
        if (old == nullptr) continue;
        for (std::uint32_t w = 1; w < old[0]; ++w) {
          if (old[w] != place) test::count(wrong);
        }
        a.deallocate(warp, old);
      }
    });
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(served, requests / 2);
    simt::Control control{};
    simt::SerialWarp thread{0, 1, &control};
    FdgPublished a = heap;
    for (std::uint64_t word : mail)
      a.deallocate(thread, reinterpret_cast<void*>(static_cast<std::uintptr_t>(word)));
    const auto* head = reinterpret_cast<const BuiltinHeap::Head<32>*>(pool.base);
    EXPECT_EQ(head->live, 0u) << "bytes in use after all blocks were freed, pool of " << bytes;
  }
}

}  // namespace
}  // namespace heapwood::alloc
