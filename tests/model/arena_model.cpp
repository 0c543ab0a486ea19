// SPDX-License-Identifier: MIT
// Model checker for Heapwood's arenas: explores all interleavings of a few threads on two arenas of
// one superblock. A step is one atomic operation of alloc/heapwood/; names are those used there.
// Checks in every state that no arena is handed out twice, and in every final state that nothing is
// lost. The model is sequentially consistent: memory orders are
// covered by ThreadSanitizer and docs/own-allocator.md. The checker must detect broken versions of
// the protocol.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int arenas = 2, max_threads = 3, max_rounds = 2;
constexpr int open = 100, body = 50, collected = 60, run = 70;  // values of an arena's count
constexpr int whole = 0, split = 1, locked = 2, span = 40;      // and of the superblock's word
constexpr std::int8_t none = -1;

enum class Bug {
  no,
  no_look_at_superblock,
  counts_before_superblock,
  unsplit_without_lock,
  collect_without_look
};

// A thread's program is a list of calls, each of several steps.
enum class Call : std::int8_t {
  whole_block,
  free_whole,
  own_arena,
  free_own,
  collect,
  free_run,
  end
};

enum class At : std::int8_t {
  begin,
  close,  // an own arena
  // claim(), of an arena
  take,
  enter,
  enter_split,
  undo,
  // the superblock as one block
  super_look,
  super_take,
  lock,
  seize,
  unseize,
  unlock,
  give,
  super_again,
  // RunCollector, of both arenas as one block
  prepare,
  prepare_split,
  gather,
  look_again,
  make_run,
  scatter,
};

struct Thread {
  std::int8_t call = 0;
  At at = At::begin;
  std::int8_t i = 0, taken = 0, round = 0;
  std::int8_t mine = none;  // the thread's own arena
  bool mine_whole = false;
};

struct State {
  std::int8_t count[arenas] = {};
  std::int8_t super = whole;
  bool live[arenas] = {};
  bool live_whole = false, collects = false;
  Thread thread[max_threads];
};

using Program = std::vector<Call>;
using Programs = std::vector<Program>;

class Model : public Exploration<State> {
 public:
  Model(Programs programs, Bug bug)
      : Exploration(programs.size()), programs_(std::move(programs)), bug_(bug) {
    for (Program& program : programs_) program.push_back(Call::end);
  }

 private:
  State start() override { return {}; }
  Call call_of(const State& s, int thread) const {
    return programs_[static_cast<std::size_t>(thread)]
                    [static_cast<std::size_t>(s.thread[thread].call)];
  }
  bool has_ended(const State& s, int thread) const override {
    return call_of(s, thread) == Call::end;
  }
  bool step(State& s, int thread, int) override {
    step(s, s.thread[thread], call_of(s, thread));
    return true;
  }

  // Each arena is free; the superblock is neither locked nor in a span.
  void check_end(const State& s) override {
    if (s.super != whole && s.super != split) wrong_ = "the superblock is lost";
    for (int a = 0; a < arenas; ++a) {
      if (s.count[a] != 0) wrong_ = "arena " + std::to_string(a) + " is lost";
    }
  }

  void claimed(State& s, Thread& t) {
    if (s.live[t.i] || s.live_whole) wrong_ = "an arena is handed out twice";
    s.live[t.i] = true;
    t.mine = t.i;
    done(t);
  }
  static void done(Thread& t) {
    const Thread old = t;
    t = {};
    t.call = static_cast<std::int8_t>(old.call + 1);
    t.mine = old.mine;
    t.mine_whole = old.mine_whole;
  }
  static void refused(Thread& t) {
    t.mine = none;
    t.mine_whole = false;
    done(t);
  }

  void step(State& s, Thread& t, Call call) {
    switch (t.at) {
      case At::begin:
        switch (call) {
          case Call::own_arena:
            t.at = At::take;
            step(s, t, call);
            break;
          case Call::free_own:  // frees its one block and closes the arena, by two adds
            if (t.mine == none) {
              done(t);
              break;
            }
            s.live[t.mine] = false;
            s.count[t.mine] = static_cast<std::int8_t>(s.count[t.mine] - 1);
            t.at = At::close;
            break;
          case Call::whole_block:
            t.at = At::super_look;
            step(s, t, call);
            break;
          case Call::free_whole:
            if (t.mine_whole) {
              s.live_whole = false;
              s.super = static_cast<std::int8_t>(s.super - span);
              t.mine_whole = false;
            }
            done(t);
            break;
          case Call::collect:
            if (s.collects) {
              refused(t);
            } else {
              s.collects = true;
              t.at = At::prepare;
            }
            break;
          case Call::free_run:
            if (!t.mine_whole) {
              done(t);
              break;
            }
            if (t.i == 0) set_live(s, false);
            s.count[t.i] = static_cast<std::int8_t>(s.count[t.i] - (t.i == 0 ? run : body));
            if (++t.i == arenas) {
              t.mine_whole = false;
              done(t);
            }
            break;
          case Call::end:
            break;
        }
        break;

      case At::close:
        s.count[t.mine] = static_cast<std::int8_t>(s.count[t.mine] + 1 - open);
        t.mine = none;
        done(t);
        break;

      // ---- Arenas::claim, for arena t.i
      case At::take:
        if (t.i == arenas) {
          refused(t);
        } else if (s.count[t.i] != 0) {
          t.i += 1;
        } else {
          s.count[t.i] = open;
          t.at = At::enter;
          if (bug_ == Bug::no_look_at_superblock) claimed(s, t);
        }
        break;
      case At::enter:
        if (s.super >= span) {
          t.at = At::undo;
        } else if (s.super == whole) {
          t.at = At::enter_split;
        } else {
          claimed(s, t);
        }
        break;
      case At::enter_split:
        if (s.super == whole) {
          s.super = split;
          claimed(s, t);
        } else {
          t.at = At::enter;
        }
        break;
      case At::undo:
        s.count[t.i] = static_cast<std::int8_t>(s.count[t.i] - open);
        t.i += 1;
        t.at = At::take;
        break;

      // ---- Arenas::claim_superblocks and unsplit
      case At::super_look:
      case At::super_again:
        if (s.super == whole) {
          t.at = At::super_take;
        } else if (s.super == split && t.at == At::super_look) {
          t.at = At::lock;
        } else {
          refused(t);
        }
        break;
      case At::super_take:
        if (s.super != whole) {
          refused(t);
          break;
        }
        s.super = span;
        for (const bool live : s.live) {
          if (live) wrong_ = "an arena is handed out twice";
        }
        s.live_whole = t.mine_whole = true;
        done(t);
        break;
      case At::lock:
        if (bug_ == Bug::unsplit_without_lock) {
          s.super = whole;  // as if all counts were still 0
          t.at = At::super_again;
        } else if (s.super != split) {
          refused(t);
        } else {
          s.super = locked;
          t.taken = 0;
          t.at = At::seize;
        }
        break;
      case At::seize:
        if (s.count[t.taken] != 0) {
          t.at = At::unseize;
          if (t.taken == 0) t.at = At::unlock;
          t.i = 0;
        } else {
          s.count[t.taken] = body;
          if (++t.taken == arenas) {
            t.at = bug_ == Bug::counts_before_superblock ? At::give : At::unlock;
            t.i = 1;
          }
        }
        break;
      case At::unseize:
        t.taken -= 1;
        s.count[t.taken] = static_cast<std::int8_t>(s.count[t.taken] - body);
        if (t.taken == 0) t.at = At::unlock;
        break;
      case At::unlock:  // t.i != 0: all counts were taken
        s.super = static_cast<std::int8_t>(s.super - (t.i != 0 ? locked : locked - split));
        if (t.i == 0) {
          refused(t);
        } else {
          t.at = bug_ == Bug::counts_before_superblock ? At::super_again : At::give;
        }
        break;
      case At::give:
        t.taken -= 1;
        s.count[t.taken] = static_cast<std::int8_t>(s.count[t.taken] - body);
        if (t.taken == 0)
          t.at = bug_ == Bug::counts_before_superblock ? At::unlock : At::super_again;
        break;

      // ---- RunCollector: t.taken has a bit for each arena taken
      case At::prepare:
      case At::look_again:
        if (s.super >= span && !(t.at == At::look_again && bug_ == Bug::collect_without_look)) {
          t.at = At::scatter;
        } else if (s.super == whole && bug_ != Bug::collect_without_look) {
          t.at = At::prepare_split;
        } else if (t.taken == 0) {
          t.at = At::gather;
        } else {
          take_all(s);
          t.at = At::make_run;
        }
        t.i = 0;
        break;
      case At::prepare_split:
        if (s.super == whole) s.super = split;
        t.at = t.taken == 0 ? At::prepare : At::look_again;
        break;
      case At::gather:
        if (s.count[t.i] == 0) {
          s.count[t.i] = collected;
          t.taken = static_cast<std::int8_t>(t.taken | 1 << t.i);
        }
        if (++t.i < arenas) break;
        t.i = 0;
        if (t.taken == (1 << arenas) - 1) {
          t.at = At::look_again;
        } else if (++t.round == max_rounds) {
          t.at = At::scatter;
        }
        break;
      case At::make_run:
        s.count[t.i] = static_cast<std::int8_t>(s.count[t.i] + (t.i == 0 ? run : body) - collected);
        if (++t.i < arenas) break;
        s.collects = false;
        t.mine_whole = true;
        done(t);
        break;
      case At::scatter:
        if ((t.taken >> t.i & 1) != 0)
          s.count[t.i] = static_cast<std::int8_t>(s.count[t.i] - collected);
        if (++t.i < arenas) break;
        s.collects = false;
        refused(t);
        break;
    }
  }
  // Both arenas as one block.
  void take_all(State& s) {
    for (const bool live : s.live) {
      if (live || s.live_whole) wrong_ = "an arena is handed out twice";
    }
    set_live(s, true);
  }
  static void set_live(State& s, bool live) {
    for (bool& arena : s.live) arena = live;
  }

  Programs programs_;
  Bug bug_;
};

const Program large{Call::whole_block, Call::free_whole};
const Program worker{Call::own_arena, Call::free_own};
const Program two_arenas{Call::own_arena, Call::free_own, Call::own_arena, Call::free_own};
const Program collector{Call::collect, Call::free_run};

std::vector<Programs> settings() {
  return {{worker, large, large},          {two_arenas, worker, large},
          {two_arenas, two_arenas, large}, {worker, worker, worker},
          {collector, large, large},       {collector, worker, large},
          {collector, two_arenas, large},  {collector, collector, worker}};
}

TEST(ArenaModel, NothingOverlapsAndNothingIsLost) {
  for (const Programs& programs : settings()) {
    Model model(programs, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
  }
}

TEST(ArenaModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::collect_without_look, settings(), [](Bug bug, const Programs& programs) {
    return Model(programs, bug).explore();
  });
}

}  // namespace
}  // namespace heapwood
