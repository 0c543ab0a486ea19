// SPDX-License-Identifier: MIT
// Model checker for Heapwood's arenas: explores all interleavings of a few threads on two arenas of
// two granules, one superblock and one slot. A step is one atomic operation of alloc/heapwood/;
// names are those used there. Checks in every state that no granule is handed out twice, and in
// every final state that nothing is lost. The model is sequentially consistent: memory orders are
// covered by ThreadSanitizer and docs/own-allocator.md. The checker must detect broken versions of
// the protocol.
#include "tests/model/arena_model.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood::arena_model {
namespace {

using Program = std::vector<Call>;
using Programs = std::vector<Program>;

class Model : public Exploration<State> {
 public:
  Model(Programs programs, Bug bug)
      : Exploration(programs.size()), programs_(std::move(programs)), bug_(bug) {
    for (Program& program : programs_) program.push_back(Call::end);
  }
  std::size_t found_again = 0;  // how often a thread that the slot refused saw a free arena

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
    Thread& t = s.thread[thread];
    step(s, t, call_of(s, thread));
    const bool reads_before = t.at == At::close_old || t.at == At::idle_count ||
                              t.at == At::vacate || t.at == At::close_idle;
    if (!reads_before) t.before = {};
    return true;
  }

  // Each arena is free, or in the slot with all of its blocks freed; the superblock is neither
  // locked nor in a span.
  void check_end(const State& s) override {
    if (s.super != whole && s.super != split) wrong_ = "the superblock is lost";
    for (int a = 0; a < arenas; ++a) {
      const bool idle =
          s.slot.arena == a && !s.slot.exhausted() && s.count[a] == open - s.slot.blocks;
      if (s.count[a] != 0 && !idle) wrong_ = "arena " + std::to_string(a) + " is lost";
    }
  }

  void hand_out(State& s, Thread& t, int a, int g) {
    if (a < 0 || s.live[a][g] || s.live_whole) {
      wrong_ = "a granule is handed out twice";
      return;
    }
    s.live[a][g] = true;
    t.mine_arena = static_cast<std::int8_t>(a);
    t.mine_granule = static_cast<std::int8_t>(g);
    done(t);
  }
  static void done(Thread& t) {
    const Thread old = t;
    t = {};
    t.call = static_cast<std::int8_t>(old.call + 1);
    t.mine_arena = old.mine_arena;
    t.mine_granule = old.mine_granule;
    t.mine_whole = old.mine_whole;
  }
  static void refused(Thread& t) {
    t.mine_arena = none;
    t.mine_whole = false;
    done(t);
  }

  void step(State& s, Thread& t, Call call) {
    const auto claim = [&] {
      t.i = 0;
      t.a = none;
      t.at = At::take;
    };
    const auto claimed = [&] {  // t.a, or none
      if (call == Call::own_arena) {
        if (t.a == none) {
          refused(t);
        } else {
          hand_out(s, t, t.a,
                   0);  // the thread cuts its other blocks later, without shared words
        }
      } else {
        t.at = At::install;
      }
    };
    switch (t.at) {
      case At::begin:
        switch (call) {
          case Call::allocate:
            t.before = s.slot;
            s.slot.used += 1;
            s.slot.blocks += 1;
            if (t.before.used + 1 <= granules) {
              hand_out(s, t, t.before.arena, t.before.used);
              break;
            }
            if (t.before.refuses()) {
              t.at = At::sight;
              break;
            }
            t.crosses = t.before.used <= granules;
            t.vacant = t.before.arena == none;
            t.at = t.crosses && t.before.arena != none ? At::close_old : At::look;
            break;
          case Call::free:
          case Call::free_own:
            if (t.mine_arena != none) {
              s.live[t.mine_arena][t.mine_granule] = false;
              // A private arena: its one block is freed and the arena is closed, by two adds. Their
              // order does not matter.
              s.count[t.mine_arena] = static_cast<std::int16_t>(s.count[t.mine_arena] - 1);
              if (call == Call::free_own && t.turn == 0) {
                t.turn = 1;
                t.at = At::keep;
                break;
              }
              t.mine_arena = none;
            }
            done(t);
            break;
          case Call::whole_block:
            t.at = At::super_look;
            step(s, t, call);
            break;
          case Call::free_whole:
            if (t.mine_whole) {
              s.live_whole = false;
              s.super -= span;
              t.mine_whole = false;
            }
            done(t);
            break;
          case Call::own_arena:
            claim();
            step(s, t, call);
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
            s.count[t.i] = static_cast<std::int16_t>(s.count[t.i] - (t.i == 0 ? run : body));
            if (++t.i == arenas) {
              t.mine_whole = false;
              done(t);
            }
            break;
          case Call::end:
            break;
        }
        break;

      // ---- SharedArenas::renew_slot
      case At::sight:
        if (s.count[t.call % arenas] != 0) {
          refused(t);
        } else {
          ++found_again;
          claim();
        }
        break;
      case At::close_old:
        s.count[t.before.arena] = static_cast<std::int16_t>(
            s.count[t.before.arena] + (bug_ == Bug::close_without_blocks ? 0 : t.before.blocks) -
            open);
        t.at = At::look;
        break;
      case At::look:
        if (s.slot.needs_renewal()) {
          claim();
        } else {
          t.at = At::begin;
        }
        break;
      case At::install:
        // Models a loop of compare-and-swaps that ends when one succeeds or the slot needs no
        // renewal. A thread whose search fails makes the slot vacant, or refusing if it was vacant.
        if (t.a != none ? s.slot.exhausted() : s.slot.needs_renewal()) {
          s.slot = t.a != none ? Slot{t.a, 1, 1}
                   : t.vacant  ? Slot{fruitless, 0, granules + 1}
                               : Slot{};
          if (t.a == none) {
            refused(t);
          } else {
            hand_out(s, t, t.a, 0);
          }
          break;
        }
        t.at = t.a == none ? At::begin : t.round + 1 >= max_rounds ? At::keep : At::give_up;
        if (t.round < max_rounds) t.round += 1;
        break;
      case At::give_up:
        s.count[t.a] = static_cast<std::int16_t>(s.count[t.a] - open);
        t.at = At::begin;
        break;
      case At::keep:
        if (call == Call::free_own) {
          s.count[t.mine_arena] = static_cast<std::int16_t>(s.count[t.mine_arena] + 1 - open);
          t.mine_arena = none;
          done(t);
          break;
        }
        s.count[t.a] = static_cast<std::int16_t>(s.count[t.a] + 1 - open);
        hand_out(s, t, t.a, 0);
        break;

      // ---- Arenas::claim, for arena t.i
      case At::take:
        if (t.i == arenas) {
          t.at = At::idle_slot;
          if (t.turn != 0) claimed();
          break;
        }
        if (s.count[t.i] != 0) {
          t.i += 1;
          break;
        }
        s.count[t.i] = open;
        t.at = At::enter;
        if (bug_ == Bug::no_look_at_superblock) {
          t.a = t.i;
          claimed();
        }
        break;
      case At::enter:
        if (s.super >= span) {
          t.at = At::undo;
        } else if (s.super == whole) {
          t.at = At::enter_split;
        } else {
          t.a = t.i;
          claimed();
        }
        break;
      case At::enter_split:
        if (s.super == whole) {
          s.super = split;
          t.a = t.i;
          claimed();
        } else {
          t.at = At::enter;
        }
        break;
      case At::undo:
        s.count[t.i] = static_cast<std::int16_t>(s.count[t.i] - open);
        t.i += 1;
        t.at = At::take;
        break;

      // ---- SharedArenas::retire_idle_slots, once
      case At::idle_slot: {
        t.turn = 1;
        t.before = s.slot;
        const bool may_be = !t.before.exhausted() && t.before.arena != none;
        t.at = may_be ? At::idle_count : At::close_idle;
        if (!may_be) nothing_retired(t, call, claimed);
        break;
      }
      case At::idle_count:
        if (s.count[t.before.arena] == open - t.before.blocks) {
          t.at = At::vacate;
        } else {
          nothing_retired(t, call, claimed);
        }
        break;
      case At::vacate:
        if (s.slot == t.before) {
          s.slot = {};
          t.at = At::close_idle;
        } else {
          nothing_retired(t, call, claimed);
        }
        break;
      case At::close_idle:
        s.count[t.before.arena] =
            static_cast<std::int16_t>(s.count[t.before.arena] + t.before.blocks - open);
        if (call == Call::whole_block) {
          t.at = At::super_look;
        } else {
          claim();
        }
        break;

      // ---- Arenas::claim_superblocks and unsplit
      case At::super_look:
      case At::super_again:
        if (s.super == whole) {
          t.at = At::super_take;
        } else if (s.super == split && t.at == At::super_look) {
          t.at = At::lock;
        } else {
          no_whole(t);
        }
        break;
      case At::super_take:
        if (s.super != whole) {
          no_whole(t);
          break;
        }
        s.super = span;
        for (const auto& arena : s.live) {
          if (arena[0] || arena[1]) wrong_ = "a granule is handed out twice";
        }
        s.live_whole = t.mine_whole = true;
        done(t);
        break;
      case At::lock:
        if (bug_ == Bug::unsplit_without_lock) {
          s.super = whole;  // as if all counts were still 0
          t.at = At::super_again;
        } else if (s.super != split) {
          no_whole(t);
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
        s.count[t.taken] = static_cast<std::int16_t>(s.count[t.taken] - body);
        if (t.taken == 0) t.at = At::unlock;
        break;
      case At::unlock:  // t.i != 0: all counts were taken
        s.super -= t.i != 0 ? locked : locked - split;
        if (t.i == 0) {
          no_whole(t);
        } else {
          t.at = bug_ == Bug::counts_before_superblock ? At::super_again : At::give;
        }
        break;
      case At::give:
        t.taken -= 1;
        s.count[t.taken] = static_cast<std::int16_t>(s.count[t.taken] - body);
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
        s.count[t.i] =
            static_cast<std::int16_t>(s.count[t.i] + (t.i == 0 ? run : body) - collected);
        if (++t.i < arenas) break;
        s.collects = false;
        t.mine_whole = true;
        done(t);
        break;
      case At::scatter:
        if ((t.taken >> t.i & 1) != 0)
          s.count[t.i] = static_cast<std::int16_t>(s.count[t.i] - collected);
        if (++t.i < arenas) break;
        s.collects = false;
        refused(t);
        break;
    }
  }
  // Both arenas as one block.
  void take_all(State& s) {
    for (const auto& arena : s.live) {
      if (arena[0] || arena[1] || s.live_whole) wrong_ = "a granule is handed out twice";
    }
    set_live(s, true);
  }
  static void set_live(State& s, bool live) {
    for (auto& arena : s.live) arena[0] = arena[1] = live;
  }

  template <class Claimed>
  static void nothing_retired(Thread& t, Call call, Claimed claimed) {
    if (call == Call::whole_block) {
      refused(t);
    } else {
      t.a = none;
      claimed();
    }
  }
  // No whole superblock found: retires idle arenas and retries once.
  static void no_whole(Thread& t) {
    if (t.turn == 0) {
      t.at = At::idle_slot;
    } else {
      refused(t);
    }
  }

  Programs programs_;
  Bug bug_;
};

const Program block{Call::allocate, Call::free};
const Program two_blocks{Call::allocate, Call::free, Call::allocate, Call::free};
const Program large{Call::whole_block, Call::free_whole};
const Program worker{Call::own_arena, Call::free_own};
const Program collector{Call::collect, Call::free_run};

std::vector<Programs> settings() {
  return {{block, large, large},          {two_blocks, worker, large},
          {two_blocks, block, large},     {two_blocks, two_blocks, large},
          {two_blocks, two_blocks},       {block, block, block},
          {collector, large, large},      {collector, worker, large},
          {collector, two_blocks, large}, {collector, collector, worker}};
}

TEST(ArenaModel, NothingOverlapsAndNothingIsLost) {
  std::size_t found_again = 0;
  for (const Programs& programs : settings()) {
    Model model(programs, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
    found_again += model.found_again;
  }
  EXPECT_GT(found_again, 0u);
}

TEST(ArenaModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::collect_without_look, settings(), [](Bug bug, const Programs& programs) {
    return Model(programs, bug).explore();
  });
}

}  // namespace
}  // namespace heapwood::arena_model
