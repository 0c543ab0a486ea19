// SPDX-License-Identifier: MIT
// Model checker for TBuddy (alloc/bulk/tbuddy.hpp): explores all interleavings of two threads that
// allocate and free forever, on four pages of orders 0 to 2. A step is one atomic operation; names
// are those of TBuddy.
//
// Checks in every state that no page is handed out twice and that no request that is entitled to a
// block is refused, however long the other thread is delayed; that from every state one can be
// reached in which both threads are idle; and in every idle state that all pages are free and
// counted once.
//
// The model is sequentially consistent: bulk_semaphore.hpp explains the memory orders. It does not
// count the iterations of waits: a thread may stop waiting at any moment.
#include <algorithm>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int orders = 3, top = orders - 1, pages = 1 << top, threads = 2;
constexpr Byte none = -1;

enum class Bug {
  no,
  attempts_are_bounded,  // a request is refused although supply() is not none
  ignores_moves,         // a request is refused although a move is in progress
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

enum class Step : std::int8_t {
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
  Step next_step = Step::begin;
  Byte order = 0, tail = 0, page = none;
  Byte k = 0, before = 0, owed = 0, b = 0, from = none;
  Byte first_attempt = 1;
  // supply()
  Byte moving = 0;
  // sweep()
  Byte sweeping = 0, pairs = 0, sweep_order = 0;
  // free_block(): the block, then the pages that remain to be freed
  Byte free_k = 0, free_b = 0, promised = 0, merged = 0, taken = 0, rest = 0, rest_first = 0,
       freeing = 0;
};

struct State {
  Byte c[orders] = {}, v[orders] = {}, map[orders] = {}, moves[orders] = {};
  Byte missed = 0, full = 0, live = 0;
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
      if (t.next_step != Step::begin || t.page != none) return false;
    }
    return true;
  }
  bool step(State& s, int thread, int choice) override {
    Thread& t = s.thread[thread];
    t.next_step = next(s, t, setting_.program[thread], choice);
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
      const bool first =
          ((t.next_step == Step::supply_units || t.next_step == Step::supply_pairs) && k >= t.k) ||
          (t.next_step == Step::supply_moves && k > t.k);
      const bool second = t.next_step == Step::supply_again && k >= t.k;
      if (first || second) t.moving = 1;
    }
  }

  Step arrive(Thread& t, int k) const {
    t.k = k;
    return is_move(t) ? Step::peek : Step::arrive;
  }
  Step attempt(Thread& t) const {
    t.moving = 0;
    forget_freed(t);
    return arrive(t, t.order);
  }
  static void forget_freed(Thread& t) {
    t.free_k = t.free_b = t.promised = t.merged = t.taken = t.rest = t.rest_first = t.pairs =
        t.sweep_order = 0;
  }
  Step got(Thread& t) const {
    t.before = t.owed = t.first_attempt = 0;
    t.from = is_move(t) ? t.k : none;
    return Step::find;
  }
  // The caller must create a batch, from a unit of the next order.
  Step grow(Thread& t) const { return t.k == top ? fail(t) : next_order(t); }
  Step next_order(Thread& t) const {
    ++t.k;
    return t.k == top ? arrive(t, top) : Step::unit_peek;
  }
  // No block found: withdraws promised batches.
  static Step fail(Thread& t) { return t.k > t.order ? Step::break_batch : slow(t); }
  static Step slow(Thread& t) {
    t.first_attempt = 0;
    return look_at_supply(t);
  }
  Step refuse(Thread& t, const Program& program) {
    if (program.entitled) wrong_ = "a request is refused";
    return t.tail != 0 ? Step::break_tail : idle(t);
  }
  static Step look_at_supply(Thread& t) {
    t.k = top;
    t.moving = 0;
    forget_freed(t);
    return Step::supply_moves;
  }
  Step have_block(State& s, Thread& t) {
    const int first = t.b << t.order, mask = ((1 << ((1 << t.order) - t.tail)) - 1) << first;
    if ((s.live & mask) != 0) wrong_ = "a page is handed out twice";
    s.live |= mask;
    t.page = first;
    if (t.tail == 0) return after_tail(t);
    return give_back(t, (t.b << t.order) + (1 << t.order) - t.tail, t.tail, 1);
  }
  static Step after_tail(Thread& t) { return t.from != none ? Step::end_move : idle(t, t.page); }
  // Clears registers, here and elsewhere, so that states with the same future compare equal.
  static Step idle(Thread& t, Byte page = none) {
    t = {};
    t.page = page;
    return Step::begin;
  }

  // Frees the next maximal aligned block of `rest` pages.
  static Step give_back(Thread& t, int first, int rest, int promised) {
    if (rest == 0) return t.freeing != 0 ? Step::freed_full : after_tail(t);
    int k = 0;
    while ((first >> k & 1) == 0 && (2 << k) <= rest) ++k;
    t.free_k = k;
    t.free_b = first >> k;
    t.promised = promised;
    t.merged = 0;
    t.rest_first = first + (1 << k);
    t.rest = rest - (1 << k);
    return Step::signal;
  }
  // A freed block cannot be merged further.
  Step settled(Thread& t) const {
    if (t.sweeping != 0) return next_pair(t);
    return give_back(t, t.rest_first, t.rest, t.freeing != 0 ? 0 : 1);
  }

  Step after_pairs(Thread& t, const Program& program) {
    const bool is_over = t.moving != 0 || bug_ == Bug::reads_moves_once;
    return is_over ? after_supply(t, program) : Step::supply_again;
  }
  Step after_supply(Thread& t, const Program& program) {
    if (t.moving == 0 || bug_ == Bug::ignores_moves) return Step::set_full;
    return bug_ == Bug::attempts_are_bounded ? refuse(t, program) : slow(t);
  }

  Step next_pair(Thread& t) const {
    if (t.pairs == 0) {
      t.sweeping &= t.sweeping - 1;
      return next_sweep(t);
    }
    t.free_k = t.sweep_order;
    t.free_b = __builtin_ctz(static_cast<unsigned>(t.pairs));
    t.pairs &= t.pairs - 1;
    t.merged = 0;
    return merge_at();
  }
  static Step next_sweep(Thread& t) {
    if (t.sweeping == 0) return Step::sweep_end;
    t.sweep_order = __builtin_ctz(static_cast<unsigned>(t.sweeping));
    return Step::sweep_read;
  }
  Step merge_at() const {
    return bug_ == Bug::merges_outside_moves ? Step::merge_promise : Step::merge_begin;
  }

  // Makes the thread's step and returns its next one.
  Step next(State& s, Thread& t, const Program& program, int choice) {
    const int wanted = program.pages_wanted;
    Byte &c = s.c[t.k], &v = s.v[t.k];  // of the order that units are taken from
    Byte &free_c = s.c[t.free_k], &free_v = s.v[t.free_k];  // of the freed or merged block
    Byte &moves = s.moves[t.k], &free_map = s.map[t.free_k];
    const int below = (1 << t.order) - 1, rest = (1 << (top - t.order)) - 1;
    const int n = 1 << std::max(0, t.k - t.order);  // blocks of the order wanted in one of order k
    switch (t.next_step) {
      case Step::begin:
        if (t.page != none) {
          const int page = t.page;
          s.live &= ~(((1 << wanted) - 1) << page);
          t.freeing = 1;
          t.page = none;
          return give_back(t, page, wanted, 0);
        }
        while ((1 << t.order) < wanted) ++t.order;
        t.tail = (1 << t.order) - wanted;
        return t.tail != 0 ? Step::promise_tail : attempt(t);
      case Step::promise_tail:
        s.v[0] += 1;
        return attempt(t);

      // ---- BasicBulkSemaphore::wait(), wait_and_transfer()
      case Step::arrive:
      case Step::take:
        t.before = v;
        t.owed = t.next_step == Step::arrive;
        c -= 1, v -= 1;
        if (c >= 0) return got(t);
        return t.owed != 0 ? Step::longer : Step::restore;
      case Step::peek:
        return c >= 1 ? Step::begin_move : Step::reserve;
      case Step::begin_move:
        moves += 1;
        return Step::take;
      case Step::restore:
        c += 1;
        return Step::cancel;
      case Step::cancel:
        moves -= 1;
        return Step::longer;
      case Step::reserve:
        t.before = v;
        v -= 1;
        t.owed = 0;
        return Step::longer;
      case Step::longer: {
        c += t.owed;
        const bool grows = batches(1 - t.before, batch(t)) > batches(-t.before, batch(t));
        t.before = t.owed = 0;
        if (!grows) return Step::wait;
        v += batch(t);
        return grow(t);
      }
      case Step::wait:
        if (c >= 1) return is_move(t) ? Step::wait_begin_move : Step::wait_take;
        if (v >= 0) return Step::wait;
        choices_ = 2;
        if (choice == 0) return t.first_attempt != 0 ? Step::look_if_full : Step::wait;
        v += batch(t);  // stops waiting
        return grow(t);
      case Step::look_if_full:
        return s.full != 0 ? Step::leave : Step::wait;
      case Step::leave:
        v += 1;
        return fail(t);
      case Step::wait_begin_move:
        moves += 1;
        return Step::wait_take;
      case Step::wait_take:
        c -= 1;
        return c >= 0 ? got(t) : Step::wait_restore;
      case Step::wait_restore:
        c += 1;
        return is_move(t) ? Step::wait_cancel : Step::wait;
      case Step::wait_cancel:
        moves -= 1;
        return Step::wait;

      // ---- take_unit()
      case Step::unit_peek:
        if (c < 1) return next_order(t);
        return is_move(t) ? Step::unit_begin_move : Step::unit_pay_peek;
      case Step::unit_begin_move:
        moves += 1;
        return Step::unit_pay_peek;
      case Step::unit_pay_peek:
        return c >= 1 && v >= 1 ? Step::unit_pay : Step::unit_cancel;
      case Step::unit_pay:
        c -= 1, v -= 1;
        return c >= 0 && v >= 0 ? got(t) : Step::unit_restore;
      case Step::unit_restore:
        c += 1, v += 1;
        return Step::unit_cancel;
      case Step::unit_cancel:
        if (is_move(t)) moves -= 1;
        return next_order(t);

      // ---- take_block(), after taking a unit of order k or none
      case Step::find: {
        choices_ = __builtin_popcount(static_cast<unsigned>(s.map[t.k]));
        if (choices_ == 0) return Step::find;
        int b = 0;
        while ((s.map[t.k] >> b & 1) == 0 || choice-- != 0) ++b;
        s.map[t.k] &= ~(1 << b);
        t.b = b;
        return t.k > t.order ? Step::signal_rest : have_block(s, t);
      }
      case Step::signal_rest:
        s.c[t.order] += n - 1;
        s.v[t.order] += n - 1 - rest;
        return Step::raise_rest;
      case Step::raise_rest:
        t.b = t.b << (t.k - t.order);
        s.map[t.order] |= ((1 << n) - 2) << t.b;
        return n > 2 ? Step::note_rest : have_block(s, t);
      case Step::note_rest:
        s.missed |= 1 << t.order;
        return have_block(s, t);
      case Step::break_batch:
        s.v[t.order] -= rest;
        return slow(t);
      case Step::end_move:
        end_move(s, t.from);
        return idle(t, t.page);

      // ---- sweep()
      case Step::sweep_begin:
        s.moves[top] += 1;
        return Step::sweep_clear;
      case Step::sweep_clear:
        t.sweeping = s.missed & below;
        s.missed &= ~below;
        return next_sweep(t);
      case Step::sweep_read:
        t.pairs = s.map[t.sweep_order] & s.map[t.sweep_order] >> 1 & 5;
        return next_pair(t);
      case Step::sweep_end:
        if (bug_ != Bug::sweeps_outside_moves) end_move(s, top);
        return look_at_supply(t);

      // ---- supply()
      case Step::supply_moves:
        if (moves != 0) t.moving = 1;
        return Step::supply_units;
      case Step::supply_units:
        if (c > 0) return s.full != 0 ? Step::clear_full : attempt(t);
        if (t.k > t.order) {
          --t.k;
          return Step::supply_moves;
        }
        return bug_ == Bug::forgets_pairs ? after_pairs(t, program) : Step::supply_pairs;
      case Step::supply_pairs:
        if ((s.missed & below) == 0) return after_pairs(t, program);
        return bug_ == Bug::sweeps_outside_moves ? Step::sweep_clear : Step::sweep_begin;
      case Step::supply_again:
        if (moves != 0) t.moving = 1;
        if (t.k == top) return after_supply(t, program);
        ++t.k;
        return Step::supply_again;
      case Step::set_full:
        s.full = 1;
        return refuse(t, program);
      case Step::clear_full:
        s.full = 0;
        return attempt(t);
      case Step::break_tail:
        s.v[0] -= 1;
        return idle(t);

      // ---- give_back(), free_block()
      case Step::signal:
        free_c += 1, free_v += 1 - t.promised;
        return t.merged != 0 && bug_ != Bug::merges_outside_moves ? Step::end_merge : Step::set_bit;
      case Step::end_merge:
        end_move(s, t.free_k);
        return Step::set_bit;
      case Step::set_bit: {
        const bool merges = t.free_k < top && (free_map >> (t.free_b ^ 1) & 1) != 0;
        free_map |= 1 << t.free_b;
        return merges ? merge_at() : settled(t);
      }

      // ---- merge()
      case Step::merge_begin:
        s.moves[t.free_k + 1] += 1;
        return Step::merge_promise;
      case Step::merge_promise:
        s.v[t.free_k + 1] += 1;
        return Step::merge_take;
      case Step::merge_take:
        t.taken = free_map & pair_of(t.free_b);
        free_map &= ~t.taken;
        if (t.taken == 0) return Step::merge_break;
        return t.taken == pair_of(t.free_b) ? Step::merge_pay_peek : Step::merge_raise;
      case Step::merge_pay_peek:
        return free_c >= 2 && free_v >= 2 ? Step::merge_pay : Step::merge_raise;
      case Step::merge_pay:
        free_c -= 2, free_v -= 2;
        if (free_c < 0 || free_v < 0) return Step::merge_restore;
        ++t.free_k;
        t.free_b = t.free_b / 2;
        t.promised = t.merged = 1;
        return Step::signal;
      case Step::merge_restore:
        free_c += 2, free_v += 2;
        return Step::merge_raise;
      case Step::merge_raise: {
        const int old = free_map, pair = pair_of(t.free_b);
        free_map |= t.taken;
        if (t.taken == pair) return Step::merge_note;
        return (old & pair & ~t.taken) == 0 ? Step::merge_break : Step::merge_take;
      }
      case Step::merge_note:
        s.missed |= 1 << t.free_k;
        return Step::merge_break;
      case Step::merge_break:
        s.v[t.free_k + 1] -= 1;
        return bug_ == Bug::merges_outside_moves ? settled(t) : Step::merge_end;
      case Step::merge_end:
        end_move(s, t.free_k + 1);
        return settled(t);

      case Step::freed_full:
        s.full = 0;
        return idle(t);
    }
    return t.next_step;
  }

  const Setting& setting_;
  Bug bug_;
};

constexpr Setting settings[] = {
    {"halves", {{2, true}, {2, true}}},
    {"halves of pieces", {{2, true}, {2, true}}, true},
    {"three pages and one", {{3, false}, {1, true}}},
    {"half and page", {{2, true}, {1, true}}},
    {"more than there is", {{4, false}, {2, false}}},
    {"three pages twice", {{3, false}, {3, false}}},
};

TEST(TBuddyModel, RefusesOnlyWhatIsNotFreeAndDetectsBrokenVersions) {
  expect_sound<Model>(Bug::forgets_pairs, settings);
}

}  // namespace
}  // namespace heapwood
