// SPDX-License-Identifier: MIT
// Model checker for the reserve (alloc/heapwood/arenas.hpp, take_reserved and release_reserve).
// Explores all interleavings of warps that take runs of four reserved arenas by ticket and free
// them, a warp whose search fails and that releases the rest of the reserve, and a warp that claims
// a free arena. A step is one atomic operation. Checks in every state that no arena has two owners,
// and in every final state that each arena is free or has not been reached by a ticket. The checker
// must detect broken versions of the protocol.
#include <array>
#include <cstdint>
#include <vector>

#include "tests/model/exploration.hpp"

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

using Roles = std::vector<int>;

class Model : public Exploration<State> {
 public:
  Model(const Roles& roles, Bug bug) : Exploration(roles.size()), roles_(roles), bug_(bug) {}

 private:
  State start() override {
    State first;
    first.count.fill(body);
    return first;
  }
  bool has_ended(const State& s, int thread) const override {
    return s.thread[static_cast<std::size_t>(thread)].at == Thread::At::done;
  }
  bool step(State& s, int thread, int choice) override {
    const auto i = static_cast<std::size_t>(thread);
    if (s.thread[i].at == Thread::At::begin && roles_[i] == claimer) choices_ = reserve;
    step(s, s.thread[i], roles_[i], choice);
    for (const std::int8_t owners : s.owners) {
      if (owners > 1) wrong_ = "an arena has two owners";
    }
    return true;
  }
  void check_end(const State& s) override {
    for (std::size_t a = 0; a < reserve; ++a) {
      const bool is_left = static_cast<int>(a) >= s.tickets && s.count[a] == body;
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
          s.tickets = static_cast<std::int8_t>(s.tickets + reserve);
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

  const Roles& roles_;
  Bug bug_;
};

std::vector<Roles> settings() {
  return {{1, searcher, claimer}, {3, searcher, claimer}, {3, 2, claimer},
          {2, 3, searcher},       {4, searcher, claimer}, {3, 3, 1}};
}

TEST(ReserveModel, NothingOverlapsAndNothingIsLost) {
  for (const Roles& roles : settings()) {
    Model model(roles, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
  }
}

TEST(ReserveModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::searcher_takes_no_ticket, settings(),
                   [](Bug bug, const Roles& roles) { return Model(roles, bug).explore(); });
}

}  // namespace
}  // namespace heapwood
