// SPDX-License-Identifier: MIT
// The tickets of Heapwood's searches for a free arena (alloc/heapwood/words.hpp, arenas.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

// Whatever the first ticket, also where tickets wrap.
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
      EXPECT_GT(*std::min_element(visits.begin(), visits.end()), 0u)
          << pieces << " pieces, " << before << " tickets before 2^32";
    }
  }
}

// Tickets that were returned do not end a search.
TEST(ArenaSearch, IsNotOverBeforeItsFirstTicket) {
  for (const std::uint32_t begin : {3u, 40u, 0u - 3u}) {
    EXPECT_FALSE(arena::is_search_over(begin, begin - 8, 16));
    EXPECT_FALSE(arena::is_search_over(begin, begin, 16));
    EXPECT_TRUE(arena::is_search_over(begin, begin + 32, 16));
  }
}

TEST(ArenaSearch, OfAGroupFindsTheOnlyFreeArena) {
  constexpr std::size_t bytes = 384 << 10;
  const simt::Memory memory({}, bytes);
  Heapwood::create({memory.data(), bytes}, {}, simt::Cpu());
  const arena::Arenas arenas = arena::Layout::plan({memory.data(), bytes}).arenas;
  ASSERT_NE(arenas.superblocks & (arenas.superblocks - 1), 0u);
  std::uint32_t missed = 0;
  const auto find_each = [&](auto& warp) {
    const LaneGroup all(warp, (1u << warp.width) - 1);
    for (std::uint32_t s = 0; s < arenas.superblocks; ++s) {
      warp.sync();
      if (warp.lane() == 0) {
        std::fill_n(arenas.counts, arenas.arenas, 1u);
        arenas.counts[s * arena::Arenas::per_superblock] = 0;
        *arenas.search_tickets = 0 - arenas.superblocks / 2;
      }
      warp.sync();
      if (arenas.find_free_arena(all) != s * arena::Arenas::per_superblock && warp.lane() == 0)
        ++missed;
    }
  };
  test::launch_alone(find_each);
  test::launch(simt::Lockstep<4>(1), 1, find_each);
  EXPECT_EQ(missed, 0u);
}

// Takes all arenas of two adjacent superblocks, the only free ones. Counts the tickets.
TEST(ArenaSearch, OfAGroupStaysWhereMoreArenasAreFree) {
  constexpr std::size_t bytes = 384 << 10;
  const simt::Memory memory({}, bytes);
  Heapwood::create({memory.data(), bytes}, {}, simt::Cpu());
  const arena::Arenas arenas = arena::Layout::plan({memory.data(), bytes}).arenas;
  const auto take_neighbours = [&](auto& warp) {
    constexpr std::uint32_t free = 2 * arena::Arenas::per_superblock;
    const LaneGroup all(warp, (1u << warp.width) - 1);
    if (warp.lane() == 0) {
      std::fill_n(arenas.counts, arenas.arenas, 1u);
      std::fill_n(arenas.counts + free, free, 0u);
      *arenas.search_tickets = 0;
    }
    warp.sync();
    for (std::uint32_t i = 0; i < free; ++i) {
      const std::uint32_t a = arenas.find_free_arena(all);
      warp.sync();
      if (warp.lane() == 0 && a != arena::none) arenas.counts[a] = 1;
      warp.sync();
    }
    if (warp.lane() == 0) {
      EXPECT_LE(*arenas.search_tickets, 4u);
      for (std::uint32_t i = 0; i < free; ++i) EXPECT_EQ(arenas.counts[free + i], 1u);
    }
  };
  test::launch_alone(take_neighbours);
  test::launch(simt::Lockstep<4>(1), 1, take_neighbours);
}

}  // namespace
}  // namespace heapwood::alloc
