// SPDX-License-Identifier: MIT
// Model checker for Heapwood's arenas: explores all interleavings of a few threads on two arenas of
// one superblock. A step is one atomic operation of alloc/heapwood/; names are those used there.
// Checks in every state that no arena is handed out twice, and in every final state that nothing is
// lost. The model is sequentially consistent: memory orders are
// covered by ThreadSanitizer and docs/own-allocator.md. The checker must detect broken versions of
// the protocol.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int arenas = 2, max_threads = 3, max_rounds = 2;
constexpr int open = 100, body = 50, collected = 60, run = 70;  // values of an arena's count
constexpr int whole = 0, split = 1, locked = 2, span = 40;      // and of the superblock's word
constexpr Byte none = -1;

enum class Bug {
  no,
  no_look_at_superblock,
  counts_before_superblock,
  unsplit_without_lock,
  collect_without_look
};

// A thread's program is a list of calls, each of several steps.
enum class Call : std::int8_t { whole_block, free_whole, own_arena, free_own, collect, free_run };

enum class Step : std::int8_t {
  begin,
  close,  // closes the own arena
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
  Byte call = 0;
  Step next_step = Step::begin;
  Byte i = 0, taken = 0, round = 0;
  Byte mine = none;  // the thread's own arena
  bool mine_whole = false;
};

struct State {
  Byte count[arenas] = {};
  Byte super = whole;
  bool live[arenas] = {};
  bool live_whole = false, collects = false;
  Thread thread[max_threads];
};

class Model : public ProgramModel<State, Call> {
 public:
  Model(const Programs& programs, Bug bug) : ProgramModel(programs), bug_(bug) {}

 private:
  State start() override { return {}; }
  bool step(State& s, int thread, int) override {
    Thread& t = s.thread[thread];
    t.next_step = next(s, t, call_of(s, thread));
    return true;
  }

  // Each arena is free; the superblock is neither locked nor in a span.
  void check_end(const State& s) override {
    if (s.super != whole && s.super != split) wrong_ = "the superblock is lost";
    for (int a = 0; a < arenas; ++a) {
      if (s.count[a] != 0) wrong_ = "arena " + std::to_string(a) + " is lost";
    }
  }

  Step claimed(State& s, Thread& t) {
    if (s.live[t.i] || s.live_whole) wrong_ = "an arena is handed out twice";
    s.live[t.i] = true;
    t.mine = t.i;
    return done(t);
  }
  static Step done(Thread& t) {
    t = {.call = Byte(t.call + 1), .mine = t.mine, .mine_whole = t.mine_whole};
    return Step::begin;
  }
  static Step refused(Thread& t) {
    t.mine = none;
    t.mine_whole = false;
    return done(t);
  }

  // Makes the thread's step and returns its next one.
  Step next(State& s, Thread& t, Call call) {
    switch (t.next_step) {
      case Step::begin:
        return begin(s, t, call);
      case Step::close:
        s.count[t.mine] += 1 - open;
        t.mine = none;
        return done(t);

      // ---- Arenas::claim, for arena t.i
      case Step::take:
        if (t.i == arenas) return refused(t);
        if (s.count[t.i] != 0) {
          ++t.i;
          return Step::take;
        }
        s.count[t.i] = open;
        return bug_ == Bug::no_look_at_superblock ? claimed(s, t) : Step::enter;
      case Step::enter:
        if (s.super >= span) return Step::undo;
        return s.super == whole ? Step::enter_split : claimed(s, t);
      case Step::enter_split:
        if (s.super != whole) return Step::enter;
        s.super = split;
        return claimed(s, t);
      case Step::undo:
        s.count[t.i++] -= open;
        return Step::take;

      // ---- Arenas::claim_superblocks and unsplit
      case Step::super_look:
      case Step::super_again:
        if (s.super == whole) return Step::super_take;
        return s.super == split && t.next_step == Step::super_look ? Step::lock : refused(t);
      case Step::super_take:
        if (s.super != whole) return refused(t);
        s.super = span;
        for (const bool live : s.live) {
          if (live) wrong_ = "an arena is handed out twice";
        }
        s.live_whole = t.mine_whole = true;
        return done(t);
      case Step::lock:
        if (bug_ == Bug::unsplit_without_lock) {
          s.super = whole;  // as if all counts were still 0
          return Step::super_again;
        }
        if (s.super != split) return refused(t);
        s.super = locked;
        t.taken = 0;
        return Step::seize;
      case Step::seize:
        if (s.count[t.taken] != 0) {
          t.i = 0;
          return t.taken == 0 ? Step::unlock : Step::unseize;
        }
        s.count[t.taken] = body;
        if (++t.taken < arenas) return Step::seize;
        t.i = 1;
        return bug_ == Bug::counts_before_superblock ? Step::give : Step::unlock;
      case Step::unseize:
        s.count[--t.taken] -= body;
        return t.taken == 0 ? Step::unlock : Step::unseize;
      case Step::unlock:  // t.i != 0: all counts were taken
        s.super -= t.i != 0 ? locked : locked - split;
        if (t.i == 0) return refused(t);
        return bug_ == Bug::counts_before_superblock ? Step::super_again : Step::give;
      case Step::give:
        s.count[--t.taken] -= body;
        if (t.taken != 0) return Step::give;
        return bug_ == Bug::counts_before_superblock ? Step::unlock : Step::super_again;

      // ---- RunCollector: t.taken has a bit for each arena taken
      case Step::prepare:
      case Step::look_again:
        t.i = 0;
        if (s.super >= span &&
            !(t.next_step == Step::look_again && bug_ == Bug::collect_without_look))
          return Step::scatter;
        if (s.super == whole && bug_ != Bug::collect_without_look) return Step::prepare_split;
        if (t.taken == 0) return Step::gather;
        take_all(s);
        return Step::make_run;
      case Step::prepare_split:
        if (s.super == whole) s.super = split;
        return t.taken == 0 ? Step::prepare : Step::look_again;
      case Step::gather:
        if (s.count[t.i] == 0) {
          s.count[t.i] = collected;
          t.taken |= 1 << t.i;
        }
        if (++t.i < arenas) return Step::gather;
        t.i = 0;
        if (t.taken == (1 << arenas) - 1) return Step::look_again;
        return ++t.round == max_rounds ? Step::scatter : Step::gather;
      case Step::make_run:
        s.count[t.i] += (t.i == 0 ? run : body) - collected;
        if (++t.i < arenas) return Step::make_run;
        s.collects = false;
        t.mine_whole = true;
        return done(t);
      case Step::scatter:
        if ((t.taken >> t.i & 1) != 0) s.count[t.i] -= collected;
        if (++t.i < arenas) return Step::scatter;
        s.collects = false;
        return refused(t);
    }
    return t.next_step;
  }
  Step begin(State& s, Thread& t, Call call) {
    switch (call) {
      case Call::own_arena:
      case Call::whole_block:
        t.next_step = call == Call::own_arena ? Step::take : Step::super_look;
        return next(s, t, call);
      case Call::free_own:  // frees its one block and closes the arena, by two adds
        if (t.mine == none) return done(t);
        s.live[t.mine] = false;
        s.count[t.mine] -= 1;
        return Step::close;
      case Call::free_whole:
        if (t.mine_whole) s.super -= span, s.live_whole = false;
        t.mine_whole = false;
        return done(t);
      case Call::collect:
        if (s.collects) return refused(t);
        s.collects = true;
        return Step::prepare;
      case Call::free_run:
        if (!t.mine_whole) return done(t);
        if (t.i == 0) set_live(s, false);
        s.count[t.i] -= t.i == 0 ? run : body;
        if (++t.i < arenas) return Step::begin;
        t.mine_whole = false;
        return done(t);
    }
    return t.next_step;
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

  Bug bug_;
};

const Model::Program large{Call::whole_block, Call::free_whole};
const Model::Program worker{Call::own_arena, Call::free_own};
const Model::Program two_arenas{Call::own_arena, Call::free_own, Call::own_arena, Call::free_own};
const Model::Program collector{Call::collect, Call::free_run};

TEST(ArenaModel, HandsOutEachArenaOnceAndDetectsBrokenVersions) {
  expect_sound<Model>(Bug::collect_without_look,
                      std::vector<Model::Programs>{{worker, large, large},
                                                   {two_arenas, worker, large},
                                                   {two_arenas, two_arenas, large},
                                                   {worker, worker, worker},
                                                   {collector, large, large},
                                                   {collector, worker, large},
                                                   {collector, two_arenas, large},
                                                   {collector, collector, worker}});
}

}  // namespace
}  // namespace heapwood
