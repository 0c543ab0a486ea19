// SPDX-License-Identifier: MIT
// Model checker for the tickets of a cooperative search (alloc/heapwood/arenas.hpp,
// find_free_arena): explores all interleavings of groups that take tickets for pieces, look at
// them, and return their tickets after they have found something. A step is one atomic operation.
// Checks that a group that ends without a find ends only after each piece has been taken by some
// group since it began. The checker must detect broken versions of the protocol.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "alloc/heapwood/words.hpp"

namespace heapwood {
namespace {

constexpr std::uint32_t pieces = 3, all_pieces = (1u << pieces) - 1, max_groups = 3;

enum class Bug { no, over_before_the_first_ticket, returns_without_a_look };

enum At : std::uint32_t { begin, draw, look, count_later, give_back, done };

// Only words of 32 bits, so that the bytes of a state have no padding.
struct Group {
  std::uint32_t at = begin;
  std::uint32_t first_ticket = 0, ticket = 0, next = 0;
  std::uint32_t taken = 0;  // a bit for each piece that a group has taken since this one began
};
struct State {
  std::uint32_t word = 0;
  std::array<std::uint32_t, pieces> free{};
  std::array<Group, max_groups> group{};
};

class Model {
 public:
  // `sizes`: lanes of each group, which searches once.
  Model(std::vector<std::uint32_t> sizes, std::uint32_t max_returned, Bug bug)
      : sizes_(std::move(sizes)), max_returned_(max_returned), bug_(bug) {}

  // Returns the first violation, or an empty string.
  std::string explore(std::uint32_t word, const std::array<std::uint32_t, pieces>& free) {
    State state;
    state.word = word;
    state.free = free;
    visit(state);
    return wrong_;
  }
  std::size_t fruitless = 0,
              returned = 0;  // how often a search ended so, and tickets were returned

 private:
  void visit(const State& s) {
    const auto* const bytes = reinterpret_cast<const char*>(&s);
    if (!wrong_.empty() || !seen_.insert(std::string(bytes, sizeof(s))).second) return;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (s.group[i].at == done) continue;
      State next = s;
      step(next, next.group[i], sizes_[i]);
      visit(next);
    }
  }

  static std::uint32_t piece(const Group& g, std::uint32_t rank) {
    return (g.ticket + rank) % pieces;
  }
  bool is_over(const Group& g) const {
    if (bug_ != Bug::over_before_the_first_ticket)
      return alloc::arena::is_search_over(g.first_ticket, g.ticket, pieces);
    return g.ticket - g.first_ticket >= (g.ticket < g.first_ticket ? 2 * pieces : pieces);
  }
  static void end(Group& g) {
    g = {};
    g.at = done;
  }

  void step(State& s, Group& g, std::uint32_t size) {
    switch (g.at) {
      case begin:
        g.first_ticket = s.word;
        g.at = draw;
        break;
      case draw:
        g.ticket = s.word;
        s.word += size;
        for (Group& other : s.group) {
          for (std::uint32_t rank = 0; rank < size && other.at != begin && other.at != done; ++rank)
            other.taken |= 1u << piece(g, rank);
        }
        g.at = look;
        break;
      case look: {
        std::uint32_t rank = 0;
        while (rank < size && s.free[piece(g, rank)] == 0) ++rank;
        if (rank < size) {
          --s.free[piece(g, rank)];
          g.at = count_later;
        } else if (is_over(g)) {
          if (g.taken != all_pieces) wrong_ = "a piece was not taken since the search began";
          ++fruitless;
          end(g);
        } else {
          g.at = draw;
        }
        break;
      }
      case count_later:
        g.next = s.word;
        if (g.next - g.ticket < max_returned_) {
          g.at = give_back;
        } else {
          end(g);
        }
        break;
      case give_back:
        if (s.word == g.next || bug_ == Bug::returns_without_a_look) {
          s.word = g.ticket;
          ++returned;
        }
        end(g);
        break;
      default:
        break;
    }
  }

  std::vector<std::uint32_t> sizes_;
  std::uint32_t max_returned_;
  Bug bug_;
  std::string wrong_;
  std::unordered_set<std::string> seen_;
};

// Calls check(model, word, free) for groups of one and two lanes, tickets from 0 and before the
// wrap, and few free arenas.
template <class F>
void for_settings(Bug bug, F check) {
  for (const std::vector<std::uint32_t>& sizes :
       {std::vector{1u, 1u, 1u}, std::vector{1u, 2u}, std::vector{2u, 1u, 1u}}) {
    for (const std::uint32_t max_returned : {2u, 1024u}) {
      for (const std::uint32_t word : {0u, 0u - 2u}) {
        for (const auto& free : {std::array{0u, 0u, 0u}, std::array{0u, 2u, 0u}, {1u, 0u, 1u}}) {
          Model model(sizes, max_returned, bug);
          check(model, model.explore(word, free));
        }
      }
    }
  }
}

TEST(SearchModel, ASearchInVainEndsAfterEachPieceWasTaken) {
  std::size_t fruitless = 0, returned = 0;
  for_settings(Bug::no, [&](const Model& model, const std::string& wrong) {
    EXPECT_EQ(wrong, "");
    fruitless += model.fruitless;
    returned += model.returned;
  });
  EXPECT_GT(fruitless, 0u);
  EXPECT_GT(returned, 0u);
}

TEST(SearchModel, BrokenProtocolsAreFoundOut) {
  for (const Bug bug : {Bug::over_before_the_first_ticket, Bug::returns_without_a_look}) {
    bool found = false;
    for_settings(bug, [&](const Model&, const std::string& wrong) { found |= !wrong.empty(); });
    EXPECT_TRUE(found) << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace heapwood
