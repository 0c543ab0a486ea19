// SPDX-License-Identifier: MIT
// Properties of Heapwood beyond the contract of all allocators: private arenas, blocks freed
// through the other interface, exhaustion to the last granule, and superblocks that become one free
// block again.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/alloc/conformance.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

template <class Warp>
std::uint64_t passed_on(Warp& warp, std::uint64_t& slot, std::uint64_t block) {
  std::uint64_t old = 0;
  warp.sync();
  // acq_rel: publishes the new block and its contents, and acquires those of the old one.
  if (warp.lane() == 0) old = simt::atomic_ref<std::uint64_t>(slot).exchange(block, simt::acq_rel);
  old = warp.shfl(old, 0);
  warp.sync();
  return old;
}

struct Draw {
  std::uint32_t state;
  std::uint32_t operator()(std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::uint32_t>((std::uint64_t{state} * below) >> 32);
  }
};

// Every warp puts blocks of its private arena into shared slots and frees the blocks that it finds
// there, most of which are another warp's. A slot holds {granule of the pool + 1:32 | bytes:32}.
// Requests are for one block or a pair.
struct Trade {
  const Heapwood& heap;
  std::byte* base;
  std::vector<std::uint64_t>& slots;
  std::uint32_t rounds, largest;
  std::uint64_t &wrong, &refused, &split_blocks, &repeated;

  template <class Warp, class Own>
  void operator()(Warp& warp, Own& own) const {
    Draw draw{warp.worker() * 2654435769u + 1};
    for (std::uint32_t i = 0; i < rounds && !warp.aborted(); ++i) {
      const std::uint32_t bytes = draw(draw(8) == 0 ? largest : 100) + 1;
      if (draw(2) == 0) {
        trade(warp, own, draw, static_cast<std::byte*>(own.allocate(warp, granules_of(bytes))),
              bytes);
        continue;
      }
      if (draw(3) == 0) {
        split(warp, own, draw, bytes);
        continue;
      }
      const std::uint32_t left = draw(3) == 0 ? 0 : bytes, right = draw(3) == 0 ? 0 : draw(100) + 1;
      const BlockPair blocks = own.allocate_pair(warp, granules_of(left), granules_of(right));
      if (warp.lane() == 0 && blocks.first == nullptr && blocks.second != nullptr)
        test::count(wrong);
      if (warp.lane() == 0 && blocks.first != nullptr && right != 0 && blocks.second == nullptr)
        test::count(wrong);
      if (left != 0) trade(warp, own, draw, static_cast<std::byte*>(blocks.first), left);
      if (right != 0) trade(warp, own, draw, static_cast<std::byte*>(blocks.second), right);
      warp.sync();
      if (draw(8) == 0) own.release_if_scarce(warp);
    }
  }

 private:
  static std::uint32_t granules_of(std::uint32_t bytes) { return (bytes + granule - 1) / granule; }
  template <class Warp, class Own>
  void trade(Warp& warp, Own& own, Draw& draw, std::byte* block, std::uint32_t bytes) const {
    if (block == nullptr) {
      if (warp.lane() == 0) test::count(refused);
    } else {
      write(warp, block, bytes);
    }
    // Some blocks are freed immediately, so that whole arenas become empty.
    const bool keep = draw(4) != 0;
    const std::uint64_t mine = block == nullptr ? 0 : (granule_of(block) + 1) << 32 | bytes;
    std::uint64_t other = mine;
    if (keep) {
      other = passed_on(warp, slots[draw(static_cast<std::uint32_t>(slots.size()))], mine);
    } else {
      warp.sync();
    }
    if (other != 0) release(warp, own, other, draw(2) == 0);
  }
  // Allocates a block next to one that then shrinks to some part of itself.
  template <class Warp, class Own>
  void split(Warp& warp, Own& own, Draw& draw, std::uint32_t bytes) const {
    auto* const block = static_cast<std::byte*>(own.allocate(warp, granules_of(bytes)));
    if (block == nullptr) {
      if (warp.lane() == 0) test::count(refused);
      warp.sync();
      return;
    }
    const std::uint32_t other_bytes = draw(5) == 0 ? 0 : draw(100) + 1;
    void* other = nullptr;
    const auto attempt = [&] {
      const bool done = own.try_allocate(warp, granules_of(other_bytes), other);
      warp.sync();
      return done;
    };
    bool done = attempt();
    if (!done && own.make_room(warp, granules_of(other_bytes))) {
      warp.sync();
      done = attempt();
      if (warp.lane() == 0 && done) test::count(repeated);
    }
    warp.sync();
    std::byte* part = block;
    if (own.may_shrink(granules_of(bytes))) {
      const std::uint32_t before = draw(granules_of(bytes));
      part += std::size_t{before} * granule;
      bytes -= before * static_cast<std::uint32_t>(granule);
      bytes -= draw(bytes);
      if (warp.lane() == 0 && done) test::count(split_blocks);
    }
    write(warp, part, bytes);
    if (done && other_bytes != 0) {
      write(warp, static_cast<std::byte*>(other), other_bytes);
      warp.sync();
      trade(warp, own, draw, static_cast<std::byte*>(other), other_bytes);
    }
    warp.sync();
    if (draw(2) == 0) {
      trade(warp, own, draw, part, bytes);
    } else if (own.try_deallocate(warp, part, granules_of(bytes))) {
      check(warp, part, bytes);  // a freed block can still be read
    } else {
      own.deallocate(warp, part, granules_of(bytes));
    }
    warp.sync();
  }
  template <class Warp>
  void write(Warp& warp, std::byte* block, std::uint32_t bytes) const {
    for (std::uint32_t k = warp.lane(); k < bytes; k += Warp::width)
      block[k] = pattern(granule_of(block), k);
  }
  template <class Warp>
  void check(Warp& warp, const std::byte* block, std::uint32_t bytes) const {
    for (std::uint32_t k = warp.lane(); k < bytes; k += Warp::width) {
      if (block[k] != pattern(granule_of(block), k)) test::count(wrong);
    }
  }
  std::uint64_t granule_of(const std::byte* block) const {
    return static_cast<std::uint64_t>(block - base) / granule;
  }
  static std::byte pattern(std::uint64_t granule_index, std::uint32_t k) {
    return static_cast<std::byte>(granule_index * 7 + k);
  }
  template <class Warp, class Own>
  void release(Warp& warp, Own& own, std::uint64_t slot, bool sized) const {
    const std::uint64_t granule_index = (slot >> 32) - 1;
    const auto bytes = static_cast<std::uint32_t>(slot);
    std::byte* const block = base + granule_index * granule;
    check(warp, block, bytes);
    warp.sync();
    if (sized) {
      own.deallocate(warp, block, granules_of(bytes));
      warp.sync();
    } else if (warp.lane() == 0) {
      heap.deallocate(warp, block);
    }
  }
};

// Frees the blocks in the slots.
void drain(const Heapwood& heap, std::byte* base, const std::vector<std::uint64_t>& slots) {
  test::launch_alone([&](auto& warp) {
    for (const std::uint64_t slot : slots) {
      if (slot != 0) heap.deallocate(warp, base + ((slot >> 32) - 1) * granule);
    }
  });
}

template <class Device>
void trade(const Device& device, std::size_t pool_bytes, std::uint32_t largest,
           std::uint32_t rounds, bool tight, const AllocatorOptions& options) {
  const test::OwnPool<Heapwood> own(pool_bytes, options, device);
  const Heapwood& heap = own.heap;
  std::vector<std::uint64_t> slots(12);
  std::uint64_t wrong = 0, refused = 0, split_blocks = 0, repeated = 0;
  const Trade trade{heap,  own.pool.base, slots,        rounds,  largest,
                    wrong, refused,       split_blocks, repeated};
  for (int launch = 0; launch < 3; ++launch) test::launch_with_context(device, 4, heap, trade);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(refused > 0, tight);
  if (!tight) {
    EXPECT_GT(split_blocks, 0u);
    // In larger pools arenas always have room.
    if (pool_bytes <= 512 << 10) {
      EXPECT_GT(repeated, 0u);
    }
  }
  drain(heap, own.pool.base, slots);
  test::expect_all_freed(own.regions());
}

constexpr AllocatorOptions persistent{.has_persistent_warps = true};

TEST(Arena, WarpsTradeBlocksOnThreads) {
  trade(simt::Cpu({.threads = 4}), 256 << 10, 3000, 200, false, persistent);
  trade(simt::Cpu({.threads = 4}), 4096, 900, 60, true, persistent);
}
TEST(Arena, WarpsTradeBlocksOnSimulatedWarps) {
  trade(simt::Lockstep<4>(4), 256 << 10, 3000, 40, false, persistent);
  trade(simt::Lockstep<4>(4), 4096, 900, 15, true, persistent);
  trade(simt::Lockstep<8>(2), 512 << 10, 40000, 20, false, persistent);
}
// Arenas of 32 KiB: pairs larger than one are allocated as runs.
constexpr std::size_t many_arenas = std::size_t{400} << 20;
constexpr AllocatorOptions with_spare(std::size_t bytes) {
  return {.has_persistent_warps = true, .spare_bytes_for_warps = bytes};
}
TEST(Arena, WarpsThatStayTradeBlocksOfManyArenas) {
#if defined(__SANITIZE_THREAD__)  // 20 times as slow
  constexpr std::uint32_t rounds = 60;
#else
  constexpr std::uint32_t rounds = 200;
#endif
  const simt::Cpu threads({.threads = 4});
  for (const std::size_t spare : {std::size_t{0}, many_arenas / 4})
    trade(threads, many_arenas, 600'000, rounds, false, with_spare(spare));
  // With spare memory also runs of more than a superblock, from the reserve while it lasts.
  for (const std::uint32_t largest : {600'000, 1'500'000})
    trade(threads, many_arenas, largest, rounds, false, with_spare(many_arenas / 2));
  // Arenas of 64 KiB.
  trade(threads, 2 * many_arenas, 600'000, rounds, false, with_spare(2 * many_arenas));
}
TEST(Arena, LockstepWarpsThatStayTradeBlocksOfManyArenas) {
  for (const std::size_t spare : {std::size_t{0}, many_arenas / 4})
    trade(simt::Lockstep<8>(4), many_arenas, 200'000, 30, false, with_spare(spare));
  trade(simt::Lockstep<8>(2), many_arenas, 1'500'000, 40, false, with_spare(many_arenas / 2));
}
// A warp allocates more pairs of runs than fit into the range for runs, frees every third, and
// allocates as many again between those in use.
TEST(Arena, RunsMeetRunsAndNothingIsLost) {
  constexpr std::size_t pool_bytes = many_arenas;
  constexpr std::uint32_t arenas = pool_bytes >> 15, most = arenas / 12;
  const simt::Cpu device({.threads = 1});
  const test::OwnPool<Heapwood> pool(pool_bytes, with_spare(pool_bytes / 4));
  const Heapwood& heap = pool.heap;
  std::vector<void*> blocks(2 * most);
  std::uint32_t taken = 0, again = 0;
  test::launch_with_context(device, 1, heap, [&](auto& warp, auto& own) {
    constexpr std::uint32_t first = 2500, second = 4000;  // granules: 2 arenas each
    const auto take = [&](std::uint32_t i) {
      const BlockPair pair = own.allocate_pair(warp, first, second);
      if (warp.lane() == 0) {
        blocks[2 * i] = pair.first;
        blocks[2 * i + 1] = pair.second;
      }
      warp.sync();
      return pair.first != nullptr;
    };
    const auto give = [&](std::uint32_t i) {
      own.deallocate(warp, blocks[2 * i], first);
      warp.sync();
      own.deallocate(warp, blocks[2 * i + 1], second);
      warp.sync();
    };
    std::uint32_t n = 0, replaced = 0;
    while (n < most && take(n)) ++n;
    for (std::uint32_t i = 0; i < n; i += 3) give(i);
    for (std::uint32_t i = 0; i < n; i += 3) replaced += take(i) ? 1 : 0;
    if (warp.lane() == 0) {
      taken = n;
      again = replaced;
    }
  });
  EXPECT_EQ(taken, most);
  EXPECT_EQ(again, (taken + 2) / 3);
  blocks.resize(std::size_t{2} * taken);
  std::vector<void*> sorted = blocks;
  std::ranges::sort(sorted);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto apart = static_cast<std::byte*>(sorted[i]) - static_cast<std::byte*>(sorted[i - 1]);
    ASSERT_GE(apart, std::ptrdiff_t{2} << 15);
  }
  test::launch_alone([&](auto& warp) {
    for (void* const block : blocks) heap.deallocate(warp, block);
  });
  test::expect_all_freed(pool.regions());
}
// One thread alone: a request is refused only if there is no memory. Allocates blocks of `bytes`, a
// divisor of the arena size, until the pool is exhausted, through the context in a pool for
// persistent warps. Then allocates all of the pool as one block.
void gets_everything(std::size_t pool_bytes, std::size_t bytes, const AllocatorOptions& options) {
  const simt::Cpu device({.threads = 1});
  const test::OwnPool<Heapwood> pool(pool_bytes, options);
  const Heapwood& heap = pool.heap;
  const std::vector<Region> regions = pool.regions();
  const std::size_t largest = test::largest_free(regions);
  const std::size_t most = test::bytes_in(regions, Region::State::free) / bytes;
  test::launch_with_context(device, 1, heap, [&](auto& warp, auto& own) {
    std::vector<void*> blocks;
    const auto take_all = [&] {
      while (void* block = options.has_persistent_warps
                               ? own.allocate(warp, static_cast<std::uint32_t>(bytes / granule))
                               : heap.allocate(warp, bytes))
        blocks.push_back(block);
      EXPECT_EQ(blocks.size(), most) << pool_bytes;
    };
    const auto free_all = [&] {
      for (void* block : blocks) heap.deallocate(warp, block);
      blocks.clear();
    };
    take_all();
    // An arena that becomes free is found again.
    std::rotate(blocks.begin(), blocks.end() - 1, blocks.end());
    for (int turn = 0; turn < 2; ++turn) {
      free_all();
      own.end(warp);  // ends the refusals of its warp's slot
      if (turn == 0) take_all();
    }
    void* const all = heap.allocate(warp, largest);
    EXPECT_NE(all, nullptr) << pool_bytes;
    heap.deallocate(warp, all);
  });
  test::expect_all_freed(pool.regions());
}
TEST(Arena, OneThreadGetsEveryGranuleAndThenOneLargeBlock) {
  for (const std::size_t pool_bytes : {4096u, 65536u, 100'000u, 1u << 20}) {
    gets_everything(pool_bytes, granule, {});
    gets_everything(pool_bytes, granule, persistent);
  }
}
// A search for space must not take the contents of blocks for the marks of pages: a pool for
// persistent warps has no pages.
TEST(Arena, ASearchForALargeBlockLeavesOpenArenasAlone) {
  const test::OwnPool<Heapwood> pool(1 << 20, persistent);
  const Heapwood& heap = pool.heap;
  test::launch_with_context(simt::Cpu({.threads = 1}), 1, heap, [&](auto& warp, auto& own) {
    std::vector<std::byte*> blocks;
    while (void* block = own.allocate(warp, 4)) blocks.push_back(static_cast<std::byte*>(block));
    for (std::byte* block : blocks) std::fill_n(block, 4 * granule, std::byte{0xff});
    EXPECT_EQ(heap.allocate(warp, 1 << 19), nullptr);
    for (std::byte* block : blocks)
      ASSERT_EQ(std::count(block, block + 4 * granule, std::byte{0xff}), 4 * granule);
  });
}
// The counts of the reserve begin as taken; requests that need the reserve get it.
TEST(Arena, OneThreadGetsTheReserve) {
  gets_everything(many_arenas, 32 << 10, with_spare(many_arenas / 2));
}
TEST(Arena, AReserveIsHalfOfWhatIsSpareAtMost) {
  for (const std::size_t mebibytes : {400, 4000, 64 << 10}) {
    for (const std::size_t spare : {std::size_t{0}, mebibytes / 8, mebibytes / 2}) {
      const arena::Arenas a =
          arena::Layout::plan({nullptr, mebibytes << 20}, true, spare << 20).pages.arenas;
      EXPECT_LE(std::size_t{a.reserve} << a.shift, (spare << 20) / 2);
      if (spare == mebibytes / 2) {
        EXPECT_GT(a.reserve, 0u) << mebibytes;
      }
    }
  }
}

// Threads that take runs of n arenas from the reserve, and one that releases its rest after a
// failed search, in every order.
TEST(Arena, EachReservedArenaHasOneOwnerOrIsReleased) {
  constexpr std::uint32_t reserve = 4, searcher = 0;
  for (std::vector<std::uint32_t> roles : std::vector<std::vector<std::uint32_t>>{
           {searcher, 1, 3}, {searcher, 2, 3}, {searcher, 1, 4}, {1, 3, 3}, {2, 2, 2}}) {
    do {
      std::uint64_t tickets[2] = {};
      std::vector<std::uint32_t> counts(reserve, arena::body), owners(reserve);
      arena::Arenas a;
      a.counts = counts.data();
      a.run_tickets = tickets;
      a.reserve = reserve;
      for (const std::uint32_t n : roles) {
        const auto below = static_cast<std::uint32_t>(tickets[0]);
        if (n == searcher) {
          EXPECT_EQ(a.release_reserve(arena::SingleLane()), reserve - std::min(below, reserve));
          continue;
        }
        tickets[0] += n;
        if (below >= reserve || !a.take_reserved(arena::SingleLane(), below, n, 0)) continue;
        ASSERT_LE(below + n, reserve);
        for (std::uint32_t i = below; i < below + n; ++i) EXPECT_EQ(++owners[i], 1u);
      }
      for (std::uint32_t i = 0; i < reserve; ++i)
        EXPECT_EQ(counts[i] != 0, owners[i] == 1 || i >= tickets[0]) << i;
    } while (std::next_permutation(roles.begin(), roles.end()));
  }
}

// In pools of 48 MiB and more, each of an H200's 2,112 warps can keep two arenas and have filled a
// third. Arenas exceed 32 KiB only if memory is spare for warps. Numbers are in MiB, those of
// arenas in bytes.
TEST(Arena, SizesGrowWithThePool) {
  struct Case {
    std::size_t pool, arena_bytes;
    bool has_persistent_warps = false;
    std::size_t for_warps = 0;
  };
  for (const auto& [pool, arena_bytes, has_persistent_warps, for_warps] :
       {Case{1, 512},
        {8, 4096},
        {47, 4096},
        {48, 8192},
        {96, 16384},
        {64 << 10, 16384},
        {9, 2048, true},
        {10, 4096, true},
        {23, 4096, true},
        {24, 8192, true},
        {383, 16384, true},
        {384, 32768, true},
        {64 << 10, 32768, true},
        {70, 8192, true, 59},
        {70, 16384, true, 60},
        {300, 16384, true, 118},
        {300, 32768, true, 119},
        {64 << 10, 32768, true, 237},
        {500, 65536, true, 238},
        {1000, 131072, true, 475},
        {2000, 262144, true, 950},
        {64 << 10, 262144, true, 64 << 10},
        {64 << 10, 16384, false, 64 << 10}}) {
    EXPECT_EQ(arena::Layout::plan({nullptr, pool << 20}, has_persistent_warps, for_warps << 20)
                  .pages.arenas.arena_bytes(),
              arena_bytes)
        << pool << ' ' << has_persistent_warps << ' ' << for_warps;
  }
}

// Spans of superblocks come from the end of the pool and need superblocks that are not split.
TEST(Arena, RunsEndBeforeTheLastQuarter) {
  for (const std::size_t mebibytes : {1, 34, 68, 136, 272, 400, 4000}) {
    for (const bool has_persistent_warps : {false, true}) {
      const arena::Arenas a =
          arena::Layout::plan({nullptr, mebibytes << 20}, has_persistent_warps).pages.arenas;
      EXPECT_LE(a.run_first + a.run_capacity, a.arenas / 4 * 3) << mebibytes;
      EXPECT_GE(a.run_first, a.arenas / 4 * 2) << mebibytes;
    }
  }
}

// The number of warps on an H100, and pools of 2, 4 and 8 times the 17 MiB that blocks need at
// once. The caller expects that they need 26 MiB.
TEST(Arena, FewerWarpsArePreferredWhereArenasAreScarce) {
  constexpr std::uint32_t resident = 2640;
  const auto plan = [](std::size_t mebibytes) {
    return arena::Layout::plan({nullptr, mebibytes << 20}, true, (mebibytes - 26) << 20);
  };
  EXPECT_LT(plan(34).max_ample_warps, resident);
  EXPECT_LT(plan(51).max_ample_warps, resident);
  EXPECT_GE(plan(136).max_ample_warps, resident);
  EXPECT_EQ(plan(34).preferred_warps(resident), 465u);   // 8 MiB are spare, arenas have 8 KiB
  EXPECT_EQ(plan(51).preferred_warps(resident), 1450u);  // 25 MiB are spare, arenas have 8 KiB
  EXPECT_EQ(plan(136).preferred_warps(resident), resident);
  // A pool of 16 times the 4 MiB that a smaller scene needs: larger arenas are just ample.
  EXPECT_GE(arena::Layout::plan({nullptr, std::size_t{66} << 20}, true, 60 << 20).max_ample_warps,
            resident);
  EXPECT_EQ(plan(51).preferred_warps(1000), 1000u);
  // Of small arenas fewer are enough.
  const auto small = arena::Layout::plan({nullptr, std::size_t{18} << 20}, true, 12 << 20);
  EXPECT_EQ(small.pages.arenas.arena_bytes(), 4096u);
  EXPECT_EQ(small.preferred_warps(10'000), small.spare_arenas / 5 * 3);
  // If no memory is spare, arenas are scarce for any number of warps.
  EXPECT_EQ(arena::Layout::plan({nullptr, std::size_t{68} << 20}, true).max_ample_warps, 0u);
}

// In a large pool that a search has shown to be full, each request looks at another part of 8
// arenas, so a freed block is found after as many refusals as there are parts.
TEST(Arena, AFullPoolFindsABlockThatIsFreed) {
  constexpr std::size_t pool_bytes = 7 << 19;  // 3.5 MiB: arenas of 1 KiB, over 100 superblocks
  const test::OwnPool<Heapwood> pool(pool_bytes);
  const Heapwood& heap = pool.heap;
  std::vector<void*> blocks;
  std::size_t refused = 0;  // refused requests since a block was freed
  test::launch_alone([&](auto& warp) {
    while (void* block = heap.allocate(warp, 256)) blocks.push_back(block);
    heap.deallocate(warp, blocks[blocks.size() / 2]);
    while (refused < blocks.size() && heap.allocate(warp, 256) == nullptr) ++refused;
  });
  EXPECT_GT(blocks.size(), pool_bytes / 256 * 95 / 100);
  EXPECT_LE(refused, pool_bytes / 1024 / 8 + 1);
}

}  // namespace
}  // namespace heapwood::alloc
