// SPDX-License-Identifier: MIT
// Model checker for TBuddy (alloc/bulk/tbuddy.hpp): explores all interleavings of two threads that
// allocate and free forever, on four pages of orders 0 to 2. A step (tbuddy_model.cpp) is one
// atomic operation; names are those of TBuddy.
//
// Checks in every state that no page is handed out twice and that no request that is entitled to a
// block is refused, however long the other thread is delayed; that from every state one can be
// reached in which both threads are idle; and in every idle state that all pages are free and
// counted once.
//
// The model is sequentially consistent: moves.hpp explains the memory orders. It does not count the
// iterations of waits: a thread may stop waiting at any moment.
#pragma once

#include <cstdint>

#include "tests/model/exploration.hpp"

namespace heapwood::tbuddy_model {

inline constexpr int orders = 3, top = orders - 1, pages = 1 << top, threads = 2;
inline constexpr std::int8_t none = -1;

enum class Bug {
  no,
  attempts_are_bounded,  // refuses although supply() is not none
  ignores_moves,         // refuses although a move is in progress
  reads_moves_once,
  merges_outside_moves,
  splits_outside_moves,
  tails_outside_moves,
  sweeps_outside_moves,
  forgets_pairs,
};

// What each thread does, any number of times: it allocates a block of `pages_wanted` pages and
// frees it.
struct Program {
  int pages_wanted;
  bool entitled;  // must never be refused
};
struct Setting {
  const char* what;
  Program program[threads];
  bool in_pieces = false;  // starts with single pages, recorded in `missed`, not with one block
};

enum class At : std::int8_t {
  begin,
  promise_tail,
  // take_block()
  arrive,
  peek,
  begin_move,
  take,
  restore,
  cancel,
  reserve,
  longer,
  wait,
  look_if_full,
  leave,
  wait_begin_move,
  wait_take,
  wait_restore,
  wait_cancel,
  unit_peek,
  unit_begin_move,
  unit_pay_peek,
  unit_pay,
  unit_restore,
  unit_cancel,
  find,
  signal_rest,
  raise_rest,
  note_rest,
  break_batch,
  end_move,
  // take_block_slow()
  sweep_begin,
  sweep_clear,
  sweep_read,
  sweep_end,
  supply_moves,
  supply_units,
  supply_pairs,
  supply_again,
  set_full,
  clear_full,
  break_tail,
  // give_back(), free_block() and merge()
  signal,
  end_merge,
  set_bit,
  merge_begin,
  merge_promise,
  merge_take,
  merge_pay_peek,
  merge_pay,
  merge_restore,
  merge_raise,
  merge_note,
  merge_break,
  merge_end,
  freed_full,
};

struct Thread {
  At at = At::begin;
  std::int8_t order = 0, tail = 0, page = none;
  std::int8_t k = 0, before = 0, owed = 0, b = 0, from = none;
  std::int8_t first_attempt = 1;
  // supply()
  std::int8_t moving = 0;
  // sweep()
  std::int8_t sweeping = 0, pairs = 0, sweep_order = 0;
  // free_block(): the block, then the pages that remain to be freed
  std::int8_t free_k = 0, free_b = 0, promised = 0, merged = 0, taken = 0, rest = 0, rest_first = 0,
              freeing = 0;
};

struct State {
  std::int8_t c[orders] = {}, v[orders] = {}, map[orders] = {}, moves[orders] = {};
  std::int8_t missed = 0, full = 0, live = 0;
  Thread thread[threads];
};

class Model : public Exploration<State> {
 public:
  Model(const Setting& setting, Bug bug)
      : Exploration(threads, true), setting_(setting), bug_(bug) {}

 private:
  State start() override {
    State first;
    if (setting_.in_pieces) {
      first.c[0] = first.v[0] = pages;
      first.map[0] = (1 << pages) - 1;
      first.missed = 1;
    } else {
      first.c[top] = first.v[top] = first.map[top] = 1;
    }
    return first;
  }
  bool has_ended(const State&, int) const override { return false; }
  bool is_end(const State& s) const override {
    for (const Thread& t : s.thread) {
      if (t.at != At::begin || t.page != none) return false;
    }
    return true;
  }
  bool step(State& s, int thread, int choice) override {
    step(s, s.thread[thread], thread, choice);
    return true;
  }
  // Both threads are idle.
  void check_end(const State& s) override {
    int there = 0;
    for (int k = 0; k < orders; ++k) {
      const int bits = __builtin_popcount(static_cast<unsigned>(s.map[k]));
      there += bits << k;
      if (s.c[k] != bits || s.v[k] != bits) wrong_ = "units and bits differ";
      if (s.moves[k] != 0) wrong_ = "a move has not ended";
    }
    if (there != pages) wrong_ = "pages are lost";
  }

  static int batches(int uncovered, int batch) {
    return uncovered <= 0 ? 0 : (uncovered + batch - 1) / batch;
  }
  static int batch(const Thread& t) { return 1 << (top - t.k); }
  static int pair_of(int b) { return 3 << (b & ~1); }

  // Whether the thread must take its unit within a move: if the order is not the request's own, or
  // if the block has a tail to free.
  bool is_move(const Thread& t) const {
    if (t.k != t.order) return bug_ != Bug::splits_outside_moves;
    return t.tail != 0 && bug_ != Bug::tails_outside_moves;
  }
  // Replaces the count of ended moves: sets `moving` of each thread between whose two readings of
  // this order the move ends.
  static void end_move(State& s, int k) {
    --s.moves[k];
    for (Thread& t : s.thread) {
      const bool first = ((t.at == At::supply_units || t.at == At::supply_pairs) && k >= t.k) ||
                         (t.at == At::supply_moves && k > t.k);
      const bool second = t.at == At::supply_again && k >= t.k;
      if (first || second) t.moving = 1;
    }
  }

  void arrive(Thread& t, int k) const {
    t.k = static_cast<std::int8_t>(k);
    t.at = is_move(t) ? At::peek : At::arrive;
  }
  void attempt(Thread& t) const {
    t.moving = 0;
    forget_freed(t);
    arrive(t, t.order);
  }
  static void forget_freed(Thread& t) {
    t.free_k = t.free_b = t.promised = t.merged = t.taken = t.rest = t.rest_first = t.pairs =
        t.sweep_order = 0;
  }
  void got(Thread& t) const {
    t.before = t.owed = t.first_attempt = 0;
    t.from = is_move(t) ? t.k : none;
    t.at = At::find;
  }
  // The caller must create a batch, from a unit of the next order.
  void grow(Thread& t) const {
    if (t.k == top) return fail(t);
    next_order(t);
  }
  void next_order(Thread& t) const {
    ++t.k;
    if (t.k == top) {
      arrive(t, top);
    } else {
      t.at = At::unit_peek;
    }
  }
  // No block found: withdraws promised batches.
  void fail(Thread& t) const {
    if (t.k > t.order) {
      t.at = At::break_batch;
    } else {
      slow(t);
    }
  }
  void slow(Thread& t) const {
    t.first_attempt = 0;
    look_at_supply(t);
  }
  void refuse(Thread& t, int program) {
    if (setting_.program[program].entitled) wrong_ = "a request is refused";
    if (t.tail != 0) {
      t.at = At::break_tail;
    } else {
      t = {};
    }
  }
  static void look_at_supply(Thread& t) {
    t.k = top;
    t.moving = 0;
    forget_freed(t);
    t.at = At::supply_moves;
  }
  void have_block(State& s, Thread& t) {
    const int first = t.b << t.order, mask = ((1 << ((1 << t.order) - t.tail)) - 1) << first;
    if ((s.live & mask) != 0) wrong_ = "a page is handed out twice";
    s.live = static_cast<std::int8_t>(s.live | mask);
    t.page = static_cast<std::int8_t>(first);
    if (t.tail != 0) {
      give_back(t, (t.b << t.order) + (1 << t.order) - t.tail, t.tail, 1);
    } else {
      after_tail(t);
    }
  }
  static void after_tail(Thread& t) {
    if (t.from != none) {
      t.at = At::end_move;
    } else {
      done(t);
    }
  }
  // Clears registers, here and elsewhere, so that states with the same future compare equal.
  static void done(Thread& t) {
    const std::int8_t page = t.page;
    t = {};
    t.page = page;
  }

  // Frees the next maximal aligned block of `rest` pages.
  void give_back(Thread& t, int first, int rest, int promised) {
    if (rest == 0) {
      if (t.freeing != 0) {
        t.at = At::freed_full;
      } else {
        after_tail(t);
      }
      return;
    }
    int k = 0;
    while ((first >> k & 1) == 0 && (2 << k) <= rest) ++k;
    t.free_k = static_cast<std::int8_t>(k);
    t.free_b = static_cast<std::int8_t>(first >> k);
    t.promised = static_cast<std::int8_t>(promised);
    t.merged = 0;
    t.rest_first = static_cast<std::int8_t>(first + (1 << k));
    t.rest = static_cast<std::int8_t>(rest - (1 << k));
    t.at = At::signal;
  }
  // A freed block cannot be merged further.
  void settled(Thread& t) {
    if (t.sweeping != 0) {
      next_pair(t);
    } else {
      give_back(t, t.rest_first, t.rest, t.freeing != 0 ? 0 : 1);
    }
  }

  void after_pairs(Thread& t, int program) {
    if (t.moving != 0 || bug_ == Bug::reads_moves_once) {
      after_supply(t, program);
    } else {
      t.at = At::supply_again;
    }
  }
  void after_supply(Thread& t, int program) {
    if (t.moving == 0 || bug_ == Bug::ignores_moves) {
      t.at = At::set_full;
    } else if (bug_ == Bug::attempts_are_bounded) {
      refuse(t, program);
    } else {
      slow(t);
    }
  }

  void next_pair(Thread& t) {
    if (t.pairs != 0) {
      t.free_k = t.sweep_order;
      t.free_b = static_cast<std::int8_t>(__builtin_ctz(static_cast<unsigned>(t.pairs)));
      t.pairs = static_cast<std::int8_t>(t.pairs & (t.pairs - 1));
      t.merged = 0;
      t.at = merge_at();
      return;
    }
    t.sweeping = static_cast<std::int8_t>(t.sweeping & (t.sweeping - 1));
    if (t.sweeping != 0)
      t.sweep_order = static_cast<std::int8_t>(__builtin_ctz(static_cast<unsigned>(t.sweeping)));
    t.at = t.sweeping != 0 ? At::sweep_read : At::sweep_end;
  }
  At merge_at() const {
    return bug_ == Bug::merges_outside_moves ? At::merge_promise : At::merge_begin;
  }

  void step(State& s, Thread& t, int program, int choice);

  const Setting& setting_;
  Bug bug_;
};

}  // namespace heapwood::tbuddy_model
