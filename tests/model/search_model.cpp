// SPDX-License-Identifier: MIT
// Model checker for the tickets of a cooperative search (alloc/heapwood/arenas.hpp,
// find_free_arena): explores all interleavings of groups that take tickets for pieces, look at
// them, and return their tickets after they have found something. A step is one atomic operation.
// Checks that a group that ends without a find ends only after each piece has been taken by some
// group since it began. The checker must detect broken versions of the protocol.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "alloc/heapwood/words.hpp"
#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr std::uint32_t pieces = 3, all_pieces = (1u << pieces) - 1, max_groups = 3;

enum class Bug { no, over_before_the_first_ticket, returns_without_a_look };

enum At : std::uint32_t { begin, draw, look, count_later, give_back, done };

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

using Free = std::array<std::uint32_t, pieces>;

struct Setting {
  std::vector<std::uint32_t> sizes;  // lanes of each group, which searches once
  std::uint32_t max_returned, word;
  Free free;
};

class Model : public Exploration<State> {
 public:
  Model(const Setting& setting, Bug bug)
      : Exploration(setting.sizes.size()), setting_(setting), bug_(bug) {}
  std::size_t fruitless = 0, returned = 0;  // searches that found nothing, returned tickets

 private:
  State start() override { return {setting_.word, setting_.free, {}}; }
  bool has_ended(const State& s, int group) const override {
    return s.group[static_cast<std::size_t>(group)].at == done;
  }
  void check_end(const State&) override {}

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

  bool step(State& s, int group, int) override {
    Group& g = s.group[static_cast<std::size_t>(group)];
    const std::uint32_t size = setting_.sizes[static_cast<std::size_t>(group)];
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
        if (g.next - g.ticket < setting_.max_returned) {
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
    return true;
  }

  const Setting& setting_;
  Bug bug_;
};

// Groups of one and two lanes, tickets from 0 and before the wrap, and few free arenas.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const std::vector<std::uint32_t>& sizes :
       {std::vector{1u, 1u, 1u}, std::vector{1u, 2u}, std::vector{2u, 1u, 1u}}) {
    for (const std::uint32_t max_returned : {2u, 1024u}) {
      for (const std::uint32_t word : {0u, 0u - 2u}) {
        for (const Free& free : {Free{0, 0, 0}, Free{0, 2, 0}, Free{1, 0, 1}})
          all.push_back({sizes, max_returned, word, free});
      }
    }
  }
  return all;
}

TEST(SearchModel, ASearchInVainEndsAfterEachPieceWasTaken) {
  std::size_t fruitless = 0, returned = 0;
  for (const Setting& setting : settings()) {
    Model model(setting, Bug::no);
    EXPECT_EQ(model.explore(), "");
    fruitless += model.fruitless;
    returned += model.returned;
  }
  EXPECT_GT(fruitless, 0u);
  EXPECT_GT(returned, 0u);
}

TEST(SearchModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::returns_without_a_look, settings(),
                   [](Bug bug, const Setting& setting) { return Model(setting, bug).explore(); });
}

}  // namespace
}  // namespace heapwood
