// SPDX-License-Identifier: MIT
// The tickets of Heapwood's searches (alloc/heapwood/words.hpp).
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

}  // namespace
}  // namespace heapwood::alloc
