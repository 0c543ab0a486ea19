// SPDX-License-Identifier: MIT
// How Heapwood's slots refuse requests in an exhausted pool: by the slot's own word, without a
// search, for a limited number of requests, and never a request smaller than the one searched for.
// Pools of 3.5 MiB have arenas of 1 KiB and more than 100 superblocks.
#include <gtest/gtest.h>

#include <vector>

#include "tests/alloc/conformance.hpp"
#include "tests/alloc/interrupt.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using arena::Slot;

constexpr std::size_t pool_bytes = 7 << 19;
constexpr std::uint32_t large = 16, medium = 12, small = 4;  // granules; an arena has 64

// The internals of the pool that the tests read.
struct Inside {
  arena::SharedArenas shared;

  explicit Inside(Pool pool) : shared(arena::Layout::plan(pool)) {}
  HEAPWOOD_INLINE Slot slot(std::uint32_t i) const {
    return Slot(shared.slot_word(i).load(simt::relaxed));
  }
  HEAPWOOD_INLINE bool refusing(Slot slot, std::uint32_t n) const {
    return slot.arena() == Slot::no_arena - n;
  }
  // Search tickets drawn so far, one per visited superblock.
  HEAPWOOD_INLINE std::uint32_t pieces() const {
    return arena::Arenas::Word(*shared.arenas.search_tickets).load(simt::relaxed);
  }
  std::uint64_t arena_of(const void* block) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) -
                                      shared.arenas.memory) >>
           shared.arenas.shift;
  }
  // The number of blocks of n granules that the arenas in slots have space for.
  std::uint64_t room(std::uint32_t n) const {
    std::uint64_t blocks = 0;
    for (std::uint32_t i = 0; i <= shared.slot_mask; ++i) {
      if (slot(i).granules() <= shared.arenas.granules())
        blocks += (shared.arenas.granules() - slot(i).granules()) / n;
    }
    return blocks;
  }
};

// A warp whose requests go to slot i.
template <class Warp>
struct AtSlot : Warp {
  std::uint32_t i;
  AtSlot(const Warp& warp, std::uint32_t slot) : Warp(warp), i(slot) {}
  // As SharedArenas::slot_index() of a pool with few slots.
  unsigned worker() const { return i % 8; }
  unsigned sm() const { return i / 8; }
};

// A pool used by one thread, whose requests go to slot 0.
class AFullPool : public testing::Test {
 protected:
  // Fills the pool with blocks of n granules.
  template <class Warp>
  void fill(Warp& warp, std::uint32_t n) {
    while (void* block = heap.allocate(warp, n * granule)) blocks.push_back(block);
  }

  const simt::Memory memory{{}, pool_bytes};
  const Pool pool{memory.data(), pool_bytes};
  const simt::Cpu device{{.threads = 1}};
  Heapwood heap = Heapwood::create(pool, {}, device);
  const Inside inside{pool};
  std::vector<void*> blocks;
};
using ArenaRefusals = AFullPool;

TEST_F(ArenaRefusals, AreCountedBySlotsWithoutASearch) {
  test::launch_alone([this](auto& warp) {
    fill(warp, large);
    EXPECT_EQ(heap.allocate(warp, large * granule), nullptr);
    ASSERT_TRUE(inside.refusing(inside.slot(0), large));
    const std::uint32_t pieces = inside.pieces(), most = inside.shared.arenas.superblocks;
    ASSERT_GT(most, 64u);
    for (std::uint32_t i = 1; i + 1 < most; ++i) {
      EXPECT_EQ(heap.allocate(warp, large * granule), nullptr);
      ASSERT_TRUE(inside.refusing(inside.slot(0), large)) << i;
      EXPECT_EQ(inside.slot(0).blocks(), i);
    }
    EXPECT_EQ(inside.pieces(), pieces);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(heap.allocate(warp, large * granule), nullptr);
    EXPECT_GE(inside.pieces() - pieces, most);
  });
}

TEST_F(ArenaRefusals, OfOneSlotNeverOverflowItsWord) {
  test::launch_alone([this](auto& warp) {
    fill(warp, large);
    const std::uint32_t before = inside.pieces(), groups = inside.shared.arenas.superblocks;
    const std::uint32_t begin = inside.shared.arenas.granules() + (1u << 16);
    for (std::uint32_t i = 0; i < 100'000; ++i) {
      ASSERT_EQ(heap.allocate(warp, large * granule), nullptr);
      const Slot slot = inside.slot(0);
      ASSERT_TRUE(slot.bits() == inside.shared.vacant() || inside.refusing(slot, large)) << i;
      ASSERT_LT(slot.blocks(), groups);
      ASSERT_LE(slot.granules(), begin + slot.blocks() * large);
      ASSERT_GE(slot.granules(), inside.shared.arenas.granules() + slot.blocks() * large);
    }
    // A search visits each superblock, and its last ticket shows that none is left.
    EXPECT_LE(inside.pieces() - before, (100'000 / groups + 1) * (groups + 1));
  });
}

TEST_F(ArenaRefusals, EndWhenAnArenaIsFreed) {
  test::launch_alone([this](auto& warp) {
    fill(warp, large);
    const std::uint32_t groups = inside.shared.arenas.superblocks;
    for (std::uint32_t turn = 0; turn < 20; ++turn) {
      for (std::uint32_t i = 0; i < turn * 7; ++i)
        EXPECT_EQ(heap.allocate(warp, large * granule), nullptr);
      const std::size_t in_arena = 4, first = blocks.size() / 2 / in_arena * in_arena;
      for (std::size_t i = 0; i < in_arena; ++i) heap.deallocate(warp, blocks[first + i]);
      std::uint32_t vain = 0;
      void* block = nullptr;
      while ((block = heap.allocate(warp, large * granule)) == nullptr && vain <= groups) ++vain;
      EXPECT_LE(vain, groups);
      blocks[first] = block;
      for (std::size_t i = 1; i < in_arena; ++i)
        blocks[first + i] = heap.allocate(warp, large * granule);
      for (std::size_t i = 0; i < in_arena; ++i) ASSERT_NE(blocks[first + i], nullptr);
    }
  });
}

TEST_F(ArenaRefusals, AreNotForSmallerRequests) {
  test::launch_alone([this](auto& warp) {
    // Each slot has an arena with five medium blocks and space for one small block.
    for (std::uint32_t i = 0; i <= inside.shared.slot_mask; ++i) {
      AtSlot other(warp, i);
      EXPECT_NE(heap.allocate(other, medium * granule), nullptr);
    }
    fill(warp, medium);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(heap.allocate(warp, medium * granule), nullptr);
    ASSERT_TRUE(inside.refusing(inside.slot(0), medium));
    const std::uint64_t room = inside.room(small);
    ASSERT_GT(room, 60u);
    std::uint64_t served = 0;
    while (heap.allocate(warp, small * granule) != nullptr) ++served;
    EXPECT_EQ(served, room);
    // A failed search for small requests also holds for larger ones.
    EXPECT_EQ(heap.allocate(warp, small * granule), nullptr);
    ASSERT_TRUE(inside.refusing(inside.slot(0), small));
    EXPECT_EQ(heap.allocate(warp, medium * granule), nullptr);
    EXPECT_EQ(inside.slot(0).blocks(), 1u);
    // A request too large for slots finds an arena, which ends the slots' refusals.
    void* one = nullptr;
    const std::uint64_t arena = inside.arena_of(blocks[100]);
    for (void* block : blocks) {
      if (inside.arena_of(block) == arena) heap.deallocate(warp, block);
    }
    for (std::uint32_t i = 0; one == nullptr && i <= inside.shared.arenas.superblocks; ++i) {
      one = heap.allocate(warp, (large + 1) * granule);
    }
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(inside.slot(0).bits(), inside.shared.vacant());
  });
}

// Two lanes of a group request different sizes. The first one fits the slot's arena; the second one
// is larger than blocks that are requested alone from a slot, and is refused by it.
TEST_F(ArenaRefusals, OfALaneOfAGroupEnd) {
  constexpr std::uint32_t rest = 4, refused = 20;
  test::launch_alone([this](auto& warp) {
    blocks.push_back(heap.allocate(warp, medium * granule));
    AtSlot other(warp, 1);
    fill(other, large);
    ASSERT_EQ(inside.slot(0).granules() + rest, inside.shared.arenas.granules());
    EXPECT_EQ(heap.allocate(warp, (large + 1) * granule), nullptr);
  });
  const auto pair = [this](auto& warp) {
    void* const block = heap.allocate(warp, (warp.lane() == 0 ? rest : refused) * granule);
    EXPECT_EQ(block != nullptr, warp.lane() == 0);
  };
  test::launch(simt::Lockstep<2>(1, simt::Meeting::of_all_lanes), 1, pair);
  ASSERT_TRUE(inside.refusing(inside.slot(0), refused));
  test::launch_alone([this](auto& warp) {
    const std::uint64_t arena = inside.arena_of(blocks[100]);
    for (void* block : blocks) {
      if (inside.arena_of(block) == arena) heap.deallocate(warp, block);
    }
    void* one = nullptr;
    for (std::uint32_t i = 0; one == nullptr && i <= inside.shared.arenas.superblocks; ++i)
      one = heap.allocate(warp, (large + 1) * granule);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(inside.slot(0).bits(), inside.shared.vacant());
  });
}

// A search is due. Another thread, which had seen space in slot 0, finds it exhausted and vacates
// it at any point of the request that searches. After that the next search is due no later than
// after any other one.
TEST_F(ArenaRefusals, EndAlsoIfTheSlotIsVacatedDuringTheSearch) {
  test::launch_alone([this](auto& warp) {
    fill(warp, large);
    const std::uint32_t groups = inside.shared.arenas.superblocks;
    const auto slot = inside.shared.slot_word(0);
    std::uint64_t& refusals = inside.shared.slots[1];
    bool is_within = true;
    for (unsigned k = 0; is_within; k += 61) {
      slot.store(inside.shared.vacant(), simt::relaxed);
      refusals = std::uint64_t{groups} << 32 | large;
      std::uint32_t pieces = inside.pieces();
      is_within = test::interrupt(
          k, [&] { EXPECT_EQ(heap.allocate(warp, large * granule), nullptr); },
          [&] {
            if (inside.slot(0).granules() > inside.shared.arenas.granules())
              slot.store(inside.shared.vacant(), simt::relaxed);
          });
      ASSERT_NE(inside.pieces(), pieces) << k;
      pieces = inside.pieces();
      std::uint32_t requests = 0;
      for (; inside.pieces() == pieces && requests <= 2 * groups; ++requests)
        EXPECT_EQ(heap.allocate(warp, large * granule), nullptr);
      ASSERT_LE(requests, 2 * groups) << "no search is due any more, k " << k;
    }
  });
}

// Lanes hold a few blocks each of a nearly exhausted pool and request more.
template <class Device>
void crowd(const Device& device, unsigned warps, std::uint32_t requests) {
  constexpr std::uint32_t held = 6;
  const simt::Memory memory({}, pool_bytes);
  const Pool pool{memory.data(), pool_bytes};
  std::uint64_t wrong = 0, refused = 0;
  Heapwood heap = Heapwood::create(pool, {}, device);
  const Inside inside(pool);
  std::vector<void*> blocks;
  test::launch_alone([&](auto& warp) {
    while (void* block = heap.allocate(warp, large * granule)) blocks.push_back(block);
    for (std::size_t i = 0; i < 20; ++i) {  // frees arenas, too few for all
      heap.deallocate(warp, blocks.back());
      blocks.pop_back();
    }
  });
  test::launch(device, warps, [&](auto& warp) {
    AtSlot lane(warp, 0);
    const std::uint32_t id = warp.worker() * Device::Warp::width + warp.lane() + 1;
    std::uint32_t state = id * 2654435769u;
    std::uint32_t* mine[held] = {};
    const auto give = [&](std::uint32_t*& block) {
      if (block != nullptr && *block != id) test::count(wrong);
      heap.deallocate(lane, block);
      block = nullptr;
    };
    for (std::uint32_t i = 0; i < requests && !warp.aborted(); ++i) {
      state = state * 1664525u + 1013904223u;
      const std::uint32_t n = (state >> 28) == 0 ? large + 1 : (state >> 20) % large + 1;
      std::uint32_t*& block = mine[(state >> 8) % held];
      if ((state >> 16) % 16 == 0) give(block);
      if (block != nullptr) continue;
      block = static_cast<std::uint32_t*>(heap.allocate(lane, n * granule));
      if (block == nullptr) test::count(refused);
      if (block != nullptr) *block = id;
      const Slot slot = inside.slot(0);
      const bool live = slot.arena() < inside.shared.arenas.arenas;
      // A lane of a group with different sizes may request more than max_slot_request.
      const bool refusing = Slot::no_arena - slot.arena() <= large + 1;
      if (!live && !refusing) test::count(wrong);
      if (!live && slot.blocks() > inside.shared.arenas.superblocks + 64) test::count(wrong);
    }
    for (auto& block : mine) give(block);
  });
  EXPECT_EQ(wrong, 0u);
  // Four or two warps request; they may run one after another.
  EXPECT_GT(refused, requests / 4);
  test::launch_alone([&](auto& warp) {
    for (void* block : blocks) heap.deallocate(warp, block);
  });
  EXPECT_EQ(test::bytes_in(regions_of(heap, {}), Region::State::used), 0u);
}

TEST(ArenaRefusalsOfACrowd, AtOneSlotOnThreads) { crowd(simt::Cpu({.threads = 4}), 4, 30'000); }
TEST(ArenaRefusalsOfACrowd, AtOneSlotOnSimulatedWarps) { crowd(simt::Lockstep<4>(2), 2, 1'000); }

// The second word of a slot.
TEST(ArenaRefusalsBesideASlot, AreCountedFromAVainSearch) {
  std::uint64_t word = arena::Refusals::none;
  const arena::Refusals refusals(word);
  constexpr std::uint32_t some = arena::Refusals::recorded, most = 100;
  for (const std::uint32_t requests : {1u, 1u << 31, 1u << 31, 5u})
    EXPECT_EQ(refusals.refuse(7, requests, most), 0u);
  refusals.record_failed_search(8);
  EXPECT_EQ(refusals.refuse(8, 1, most), some | 1u);
  EXPECT_EQ(refusals.refuse(7, 1, most), some);
  EXPECT_EQ(refusals.refuse(9, 90, most), some | 92u);
  EXPECT_EQ(refusals.refuse(8, 8, most), some | 100u);
  EXPECT_EQ(refusals.refuse(8, 1, most), some);
  refusals.clear();
  EXPECT_EQ(refusals.refuse(8, 1, most), 0u);
}

}  // namespace
}  // namespace heapwood::alloc
