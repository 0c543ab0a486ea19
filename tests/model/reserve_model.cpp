// SPDX-License-Identifier: MIT
// Model checker for the reserve and for fresh arenas (alloc/heapwood/arenas.hpp, take_reserved,
// take_fresh and release_reserve), which differ in how a searching warp takes what is left: by an
// add to the tickets, or by a max that raises them to the end. Explores all interleavings of warps
// that take runs of four reserved arenas by ticket and free them, a warp whose search fails and
// that releases the rest of the reserve, and a warp that claims a free arena. A step is one atomic
// operation. Checks in every state that no arena has two owners, and in every final state that each
// arena is free or has not been reached by a ticket. The checker must detect broken versions of the
// protocol.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace heapwood {
namespace {

constexpr int reserve = 4, max_threads = 3;
constexpr std::int8_t body = 100, span = 50;  // values of an arena's count

enum class Bug {
  no,
  ticket_across_the_end_is_kept,
  ticket_across_the_end_is_forgotten,
  searcher_takes_no_ticket
};

// Roles of threads: n > 0 takes a run of n arenas; the searcher releases the reserve; the claimer
// claims any one free arena.
constexpr int searcher = 0, claimer = -1;

struct Thread {
  enum class At : std::int8_t {
    begin,
    store_head,
    free,
    give_up,
    claim,
    give_back,
    done
  } at = At::begin;
  std::int8_t first = 0, next = 0;
};
struct State {
  std::array<std::int8_t, reserve> count{}, owners{};
  std::array<Thread, max_threads> thread{};
  std::int8_t tickets = 0;
};

class Model {
 public:
  Model(std::vector<int> roles, bool raises, Bug bug)
      : roles_(std::move(roles)), raises_(raises), bug_(bug) {}

  // Returns the first violation, or an empty string.
  std::string explore() {
    State begin;
    begin.count.fill(body);
    visit(begin);
    return wrong_;
  }
  std::size_t ends = 0;

 private:
  void visit(const State& s) {
    const auto* const bytes = reinterpret_cast<const char*>(&s);
    if (!wrong_.empty() || !seen_.insert(std::string(bytes, sizeof(s))).second) return;
    bool moved = false;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (s.thread[i].at == Thread::At::done) continue;
      moved = true;
      const int choices = s.thread[i].at == Thread::At::begin && roles_[i] == claimer ? reserve : 1;
      for (int choice = 0; choice < choices; ++choice) {
        State next = s;
        step(next, next.thread[i], roles_[i], choice);
        for (const std::int8_t owners : next.owners) {
          if (owners > 1) wrong_ = "an arena has two owners";
        }
        visit(next);
      }
    }
    if (moved) return;
    ++ends;
    for (int a = 0; a < reserve; ++a) {
      const bool is_left = a >= s.tickets && s.count[a] == body;
      if (s.count[a] != 0 && !is_left) wrong_ = "an arena is lost";
    }
  }

  std::int8_t head(int n) const { return static_cast<std::int8_t>(n == 1 ? 1 : span + n); }

  void step(State& s, Thread& t, int role, int choice) {
    using At = Thread::At;
    switch (t.at) {
      case At::begin:
        if (role == claimer) {
          t.first = static_cast<std::int8_t>(choice);
          t.at = At::claim;
          break;
        }
        t.first = t.next = s.tickets;
        if (role != searcher) {
          s.tickets = static_cast<std::int8_t>(s.tickets + role);
        } else if (bug_ != Bug::searcher_takes_no_ticket) {
          const int added = raises_ ? std::max(reserve - s.tickets, 0) : reserve;
          s.tickets = static_cast<std::int8_t>(s.tickets + added);
        }
        if (t.first >= reserve) {
          t.at = At::done;
        } else if (role == searcher) {
          t.at = At::give_up;
        } else if (t.first + role <= reserve || bug_ == Bug::ticket_across_the_end_is_kept) {
          for (int a = t.first; a < t.first + role && a < reserve; ++a) ++s.owners[a];
          t.at = At::store_head;
        } else {
          t.at = bug_ == Bug::ticket_across_the_end_is_forgotten ? At::done : At::give_up;
        }
        break;
      case At::store_head:
        s.count[t.first] = head(role);
        t.at = At::free;
        break;
      case At::free:
        --s.owners[t.next];
        s.count[t.next] =
            static_cast<std::int8_t>(s.count[t.next] - (t.next == t.first ? head(role) : body));
        if (++t.next == t.first + role || t.next == reserve) {
          t.at = t.next == t.first + role ? At::done : At::free;
          if (t.next == reserve && t.at == At::free) {
            wrong_ = "a run ends beyond the reserve";
            t.at = At::done;
          }
        }
        break;
      case At::give_up:
        s.count[t.next] = static_cast<std::int8_t>(s.count[t.next] - body);
        if (++t.next == reserve) t.at = At::done;
        break;
      case At::claim:
        t.at = At::done;
        if (s.count[t.first] == 0) {
          s.count[t.first] = 1;
          ++s.owners[t.first];
          t.at = At::give_back;
        }
        break;
      case At::give_back:
        --s.owners[t.first];
        s.count[t.first] = static_cast<std::int8_t>(s.count[t.first] - 1);
        t.at = At::done;
        break;
      case At::done:
        break;
    }
  }

  std::vector<int> roles_;
  bool raises_;  // fresh arenas
  Bug bug_;
  std::string wrong_;
  std::unordered_set<std::string> seen_;
};

std::vector<std::vector<int>> settings() {
  return {{1, searcher, claimer}, {3, searcher, claimer}, {3, 2, claimer},
          {2, 3, searcher},       {4, searcher, claimer}, {3, 3, 1}};
}

TEST(ReserveModel, NothingOverlapsAndNothingIsLost) {
  for (const std::vector<int>& roles : settings()) {
    for (const bool raises : {false, true}) {
      Model model(roles, raises, Bug::no);
      EXPECT_EQ(model.explore(), "");
      EXPECT_GT(model.ends, 0u);
    }
  }
}

TEST(ReserveModel, BrokenProtocolsAreFoundOut) {
  for (const Bug bug : {Bug::ticket_across_the_end_is_kept, Bug::ticket_across_the_end_is_forgotten,
                        Bug::searcher_takes_no_ticket}) {
    for (const bool raises : {false, true}) {
      bool found = false;
      for (const std::vector<int>& roles : settings())
        found = found || !Model(roles, raises, bug).explore().empty();
      EXPECT_TRUE(found) << static_cast<int>(bug);
    }
  }
}

}  // namespace
}  // namespace heapwood
