// SPDX-License-Identifier: MIT
// Properties of Heapwood pages beyond the contract of all allocators: exact refusals of one thread,
// pages that become one free block again, small blocks from larger classes, runs of arenas, memory
// held after frees, and slots that are used without end.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "alloc/allocators/heapwood.hpp"
#include "tests/alloc/conformance.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using namespace test;

// Runs scripts one after the other, each as a launch of one thread.
ExerciseResult run_alone(std::size_t pool_bytes, std::uint32_t slots, std::vector<Script> scripts) {
  ExerciseJob job = job_of(pool_bytes, 1, slots);
  for (Script& script : scripts) job.phases.push_back({{std::move(script)}});
  return test::exercise<Heapwood, simt::Cpu>(job);
}

TEST(Pages, OneThreadIsRefusedOnlyIfNothingFits) {
  constexpr std::size_t pool_bytes = 200 << 10;
  for (const std::uint32_t bytes : {16u, 48u, 80u, 512u}) {
    constexpr std::uint32_t step = 3;
    const std::uint32_t all = pool_bytes / bytes;
    const ExerciseResult result = run_alone(pool_bytes, all + 1,
                                            {of_slots(Kind::allocate, 0, all, bytes),
                                             of_slots(Kind::free, 0, all, 0, step),
                                             of_slots(Kind::allocate, 0, all, bytes, step),
                                             {{Kind::allocate, all, bytes}}});
    const std::uint32_t n = served(result.phases[0]);
    EXPECT_GT(std::size_t{n} * bytes, pool_bytes / 100 * 85) << bytes;
    EXPECT_EQ(served(result.phases[2]), (n + step - 1) / step) << bytes;
    EXPECT_EQ(served(result.phases[3]), 0u) << bytes;
  }
}

// A pool in which a slot refuses requests after a failed search.
TEST(Pages, FreedPagesEndARefusal) {
  constexpr std::size_t pool_bytes = 20 << 20;
  constexpr std::uint32_t all = pool_bytes / 1024, more = 40;
  const ExerciseResult result =
      run_alone(pool_bytes, all + more,
                {of_slots(Kind::allocate, 0, all, 1024), of_slots(Kind::allocate, 0, more, 2048),
                 of_slots(Kind::free, 0, all), of_slots(Kind::allocate, 0, more, 2048)});
  EXPECT_EQ(served(result.phases[1]), 0u);
  // A request that is refused looks for an empty page in one place.
  EXPECT_GE(served(result.phases[3]), more - 2);
}

TEST(Pages, FreeBlocksOfLargerClassesServe) {
  constexpr std::size_t pool_bytes = 256 << 10;
  constexpr std::uint32_t all = pool_bytes / 128;
  const ExerciseResult result = run_alone(pool_bytes, all + 1,
                                          {of_slots(Kind::allocate, 0, all, 128),
                                           {{Kind::free, 7, 0}},
                                           {{Kind::allocate, all, 16}},
                                           {{Kind::free, all, 0}},
                                           {{Kind::allocate, 7, 128}}});
  const std::uint64_t freed = result.phases[0].ops[0][7].offset;
  EXPECT_EQ(result.phases[2].ops[0][0].offset, freed);
  EXPECT_EQ(result.phases[4].ops[0][0].offset, freed);
}

// 6 blocks of 10 KiB fill a page of 4 arenas of 16 KiB.
TEST(Pages, OfSeveralArenasWasteLittle) {
  constexpr std::size_t pool_bytes = 96 << 20, bytes = 10 << 10;
  constexpr std::uint32_t all = 240;
  const ExerciseResult result = run_alone(
      pool_bytes, all, {of_slots(Kind::allocate, 0, all, bytes), of_slots(Kind::free, 0, all)});
  EXPECT_EQ(served(result.phases[0]), all);
  EXPECT_LT(used_bytes(result.phases[0]), all * bytes / 100 * 108);
  EXPECT_EQ(used_bytes(result.phases[1]), 0u);
}

// At most 1.3 times the bytes in use are held, in whatever order blocks are freed.
TEST(Pages, LittleIsHeldAfterFrees) {
  constexpr std::size_t pool_bytes = 8 << 20;
  constexpr std::uint32_t all = 12000;
  for (const bool at_random : {true, false}) {
    Random random(5);
    Script allocate, free;
    std::size_t live = 0;
    for (std::uint32_t slot = 0; slot < all; ++slot) {
      const std::uint32_t bytes = 16 + random(1000);
      allocate.push_back({Kind::allocate, slot, bytes});
      const bool stays = at_random ? random(4) == 0 : slot % 4 == 0;
      live += stays ? bytes : 0;
      if (!stays) free.push_back({Kind::free, slot, 0});
    }
    std::shuffle(free.begin(), free.end(), std::mt19937(5));
    const ExerciseResult result = run_alone(pool_bytes, all, {allocate, free});
    EXPECT_EQ(served(result.phases[0]), all);
    EXPECT_LT(static_cast<double>(used_bytes(result.phases[1])), 1.3 * static_cast<double>(live));
  }
}

// Lanes exchange blocks of all sizes in a pool that is sometimes full, and in one whose pages have
// several arenas.
TEST(Pages, LanesExchangeBlocksWithoutOverlaps) {
  constexpr std::uint32_t slots = 96, rounds = 90;
  for (const auto& [pool_bytes, max] : {std::pair{std::size_t{8} << 10, 1600u},
                                        {std::size_t{128} << 10, 1600u},
                                        {std::size_t{16} << 20, 4096u}}) {
    ExerciseJob job = job_of(pool_bytes, 3, slots);
    job.lanes = 8;
    job.guarded = true;
    const auto size = [largest = max](Random& random) { return 1 + random(largest >> random(7)); };
    job.phases = {exchange_at_random(job.warps * job.lanes, slots, rounds, 7, size, 3),
                  free_all(1, slots)};
    const ExerciseResult result = test::exercise<Heapwood, simt::Lockstep<8>>(job);
    EXPECT_EQ(result.guard.total(), 0u);
    EXPECT_EQ(used_bytes(result.phases[1]), 0u);
  }
}

// A slot without a page counts requests that are served otherwise. The count must not wrap.
TEST(Pages, CountsOfSlotsDoNotWrap) {
  constexpr std::size_t pool_bytes = 1 << 20;
  constexpr std::uint32_t count = 20;
  const OwnPool<Heapwood> pool(pool_bytes);
  const auto& shared = *reinterpret_cast<const arena::SharedPages*>(pool.pool.base);
  const arena::BlockClass c = arena::BlockClass::of(1);
  std::vector<void*> blocks;
  const auto allocate = [&](std::uint32_t n) {
    blocks.clear();
    launch_alone([&](auto& warp) {
      for (std::uint32_t i = 0; i < n; ++i) blocks.push_back(pool.heap.allocate(warp, granule));
    });
  };
  allocate(1);
  // The slot gives up the rest of its page, gets a word of its free blocks, and has counted almost
  // 2^32 granules.
  const arena::OpenPage page(shared.open_page(c, 0).load(simt::relaxed));
  ASSERT_TRUE(shared.empty_slot(c, 0));
  const std::uint32_t marks = shared.pages.word(page.arena(), 0).exchange(0, simt::relaxed);
  ASSERT_GT(simt::popcount(marks), 8u);
  shared.spare_blocks(c, 0).store(arena::OwnedBlocks(page.arena(), 0, marks).bits(), simt::relaxed);
  shared.open_page(c, 0).store(arena::OpenPage(arena::OwnedBlocks::no_arena, 0, ~4u).bits(),
                               simt::relaxed);
  allocate(count);
  std::ranges::sort(blocks);
  EXPECT_GE(static_cast<std::byte*>(blocks.front()), shared.pages.arenas.memory);
  EXPECT_LT(static_cast<std::byte*>(blocks.back()), pool.pool.base + pool_bytes);
  EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
}

TEST(Pages, TablesOfAnyPoolFit) {
  auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 20);
  for (const std::uint64_t bytes :
       {std::uint64_t{4096}, std::uint64_t{70001}, std::uint64_t{1} << 31, std::uint64_t{300} << 30,
        std::uint64_t{3} << 40}) {
    const arena::SharedPages shared = arena::Layout::plan({base, bytes});
    const arena::Pages& pages = shared.pages;
    const auto end = pages.arenas.memory + (std::size_t{pages.arenas.arenas} << pages.arenas.shift);
    EXPECT_LE(end, base + bytes);
    EXPECT_LT(pages.arenas.arenas, arena::OwnedBlocks::no_arena);
    EXPECT_GT(pages.arenas.arenas, 0u);
    EXPECT_LE(pages.words(), arena::OwnedBlocks::max_words);
    EXPECT_LE(shared.classes, arena::PageSlots::max_classes);
    for (std::uint32_t k = 0; k < shared.classes; ++k) {
      const arena::BlockClass c(k);
      EXPECT_EQ(arena::BlockClass::of(c.granules()).index(), k);
      EXPECT_LE(c.run_shift(pages.arena_shift), arena::PageWord::max_run);
    }
  }
}

TEST(Pages, ABlockIsOfTheSmallestClassThatFits) {
  for (std::uint32_t n = 1; n <= 4096; ++n) {
    const arena::BlockClass c = arena::BlockClass::of(n);
    EXPECT_GE(c.granules(), n);
    if (c.index() > 0) {
      EXPECT_LT(arena::BlockClass(c.index() - 1).granules(), n);
    }
  }
}

TEST(Pages, OfLargeBlocksAreSmall) {
  auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 20);
  const arena::SharedPages shared = arena::Layout::plan({base, std::uint64_t{1} << 31});
  const arena::Pages& pages = shared.pages;
  const std::uint32_t arena_granules = 1u << pages.arena_shift;
  for (std::uint32_t k = 0; k < shared.classes; ++k) {
    const arena::BlockClass c(k);
    const std::uint32_t run = pages.run_for(c, 0), blocks = pages.blocks_in(c, run);
    const std::uint32_t unused = (arena_granules << run) - blocks * c.granules();
    EXPECT_LE(unused * (c.granules() > 128 ? 40 : 8), arena_granules << run) << c.granules();
    // Whatever the demand, a slot takes at most 32 KiB or four blocks, which it may never use.
    if (pages.has_few_blocks(c)) {
      EXPECT_LE(arena_granules << pages.run_for(c, 1u << 20),
                std::max(2 * arena_granules, 8 * c.granules()))
          << c.granules();
    }
  }
}

// Every piece is visited whatever the first ticket is, also where tickets wrap
// (alloc/heapwood/words.hpp).
TEST(ArenaSearch, VisitsEveryPiece) {
  for (const std::uint32_t pieces : {1u, 3u, 7u, 8u, 20u}) {
    for (std::uint32_t before = 0; before <= 2 * pieces; ++before) {
      std::uint32_t tickets = 0 - before;
      std::vector<unsigned> visits(pieces);
      EXPECT_EQ(arena::cooperative_search(arena::SingleLane(), tickets, pieces,
                                          [&](std::uint32_t piece) {
                                            ++visits[piece];
                                            return arena::none;
                                          }),
                arena::none);
      EXPECT_GT(*std::ranges::min_element(visits), 0u)
          << pieces << " pieces, " << before << " tickets before 2^32";
    }
  }
}

// The general form has no context that the builder could use, and its pool is laid out as for a
// program without persistent warps.
template <class A>
constexpr bool has_context = requires {
  typename A::WarpState;
};
static_assert(has_context<Heapwood> && !has_context<HeapwoodGeneral>);
static_assert(HeapwoodGeneral::traits.cache_bytes_per_warp == 0);

template <class A>
std::vector<std::size_t> layout(const AllocatorOptions& options) {
  const OwnPool<A> pool(std::size_t{512} << 20, options, simt::Cpu({.threads = 2}));
  std::vector<std::size_t> edges;
  for (const Region& region : pool.regions()) edges.push_back(region.offset);
  return edges;
}

TEST(HeapwoodGeneral, HasTheLayoutWithoutPersistentWarps) {
  const AllocatorOptions of_builds{.has_persistent_warps = true,
                                   .spare_bytes_for_warps = std::size_t{500} << 20};
  EXPECT_EQ(layout<HeapwoodGeneral>(of_builds), layout<Heapwood>({}));
  EXPECT_NE(layout<HeapwoodGeneral>(of_builds), layout<Heapwood>(of_builds));
}

// A thread is refused a large block, frees others and requests it again.
void serves_again(std::size_t each, std::size_t wanted) {
  SCOPED_TRACE(each);
  const OwnPool<Heapwood> pool(std::size_t{16} << 20);
  const Heapwood& heap = pool.heap;
  bool was_refused = false, is_served = false;
  launch_alone([&](auto& warp) {
    std::vector<void*> blocks;
    while (void* block = heap.allocate(warp, each)) blocks.push_back(block);
    was_refused = heap.allocate(warp, wanted) == nullptr;
    for (void* block : blocks) heap.deallocate(warp, block);
    is_served = heap.allocate(warp, wanted) != nullptr;
  });
  EXPECT_TRUE(was_refused);
  EXPECT_TRUE(is_served);
}
TEST(Pages, AThreadThatFreesLargeBlocksIsServedAgain) {
  constexpr std::size_t KiB = 1024;
  serves_again(11'000 * KiB, 6'000 * KiB);
  serves_again(300 * KiB, 6'000 * KiB);
  serves_again(300 * KiB, 300 * KiB);
}

}  // namespace
}  // namespace heapwood::alloc
