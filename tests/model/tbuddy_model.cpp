// SPDX-License-Identifier: MIT
// The steps of the model of TBuddy, and the settings that are explored. The checker must detect
// broken versions of the protocol.
#include "tests/model/tbuddy_model.hpp"

namespace heapwood::tbuddy_model {

void Model::step(State& s, Thread& t, int program, int choice) {
  const auto add = [](std::int8_t& n, int change) { n = static_cast<std::int8_t>(n + change); };
  const auto set = [](std::int8_t& n, int value) { n = static_cast<std::int8_t>(value); };
  const int wanted = setting_.program[program].pages_wanted;
  std::int8_t &c = s.c[t.k], &v = s.v[t.k];  // of the order that units are taken from
  std::int8_t &free_c = s.c[t.free_k], &free_v = s.v[t.free_k];  // of the freed or merged block
  const int below = (1 << t.order) - 1, rest = (1 << (top - t.order)) - 1;
  switch (t.at) {
    case At::begin:
      if (t.page != none) {
        s.live = static_cast<std::int8_t>(s.live & ~(((1 << wanted) - 1) << t.page));
        t.freeing = 1;
        give_back(t, t.page, wanted, 0);
        t.page = none;
      } else {
        while ((1 << t.order) < wanted) ++t.order;
        set(t.tail, (1 << t.order) - wanted);
        if (t.tail != 0) {
          t.at = At::promise_tail;
        } else {
          attempt(t);
        }
      }
      break;
    case At::promise_tail:
      add(s.v[0], 1);
      attempt(t);
      break;

    // ---- BasicBulkSemaphore::wait(), wait_and_move()
    case At::arrive:
    case At::take:
      t.before = v;
      t.owed = t.at == At::arrive;
      add(c, -1), add(v, -1);
      if (c >= 0) {
        got(t);
      } else {
        t.at = t.owed != 0 ? At::longer : At::restore;
      }
      break;
    case At::peek:
      t.at = c >= 1 ? At::begin_move : At::reserve;
      break;
    case At::begin_move:
      add(s.moves[t.k], 1);
      t.at = At::take;
      break;
    case At::restore:
      add(c, 1);
      t.at = At::cancel;
      break;
    case At::cancel:
      add(s.moves[t.k], -1);
      t.at = At::longer;
      break;
    case At::reserve:
      t.before = v;
      add(v, -1);
      t.owed = 0;
      t.at = At::longer;
      break;
    case At::longer:
      add(c, t.owed);
      t.at = At::wait;
      if (batches(1 - t.before, batch(t)) > batches(-t.before, batch(t))) {
        add(v, batch(t));
        grow(t);
      }
      t.before = t.owed = 0;
      break;
    case At::wait:
      if (c >= 1) {
        t.at = is_move(t) ? At::wait_begin_move : At::wait_take;
      } else if (v < 0) {
        choices_ = 2;
        if (choice == 1) {  // stops waiting
          add(v, batch(t));
          grow(t);
        } else if (t.first_attempt != 0) {
          t.at = At::look_if_full;
        }
      }
      break;
    case At::look_if_full:
      t.at = s.full != 0 ? At::leave : At::wait;
      break;
    case At::leave:
      add(v, 1);
      fail(t);
      break;
    case At::wait_begin_move:
      add(s.moves[t.k], 1);
      t.at = At::wait_take;
      break;
    case At::wait_take:
      add(c, -1);
      if (c >= 0) {
        got(t);
      } else {
        t.at = At::wait_restore;
      }
      break;
    case At::wait_restore:
      add(c, 1);
      t.at = is_move(t) ? At::wait_cancel : At::wait;
      break;
    case At::wait_cancel:
      add(s.moves[t.k], -1);
      t.at = At::wait;
      break;

    // ---- take_unit()
    case At::unit_peek:
      if (c < 1) {
        next_order(t);
      } else {
        t.at = is_move(t) ? At::unit_begin_move : At::unit_pay_peek;
      }
      break;
    case At::unit_begin_move:
      add(s.moves[t.k], 1);
      t.at = At::unit_pay_peek;
      break;
    case At::unit_pay_peek:
      t.at = c >= 1 && v >= 1 ? At::unit_pay : At::unit_cancel;
      break;
    case At::unit_pay:
      add(c, -1), add(v, -1);
      if (c >= 0 && v >= 0) {
        got(t);
      } else {
        t.at = At::unit_restore;
      }
      break;
    case At::unit_restore:
      add(c, 1), add(v, 1);
      t.at = At::unit_cancel;
      break;
    case At::unit_cancel:
      if (is_move(t)) add(s.moves[t.k], -1);
      next_order(t);
      break;

    // ---- take_block(), after taking a unit of order k or none
    case At::find:
      choices_ = __builtin_popcount(static_cast<unsigned>(s.map[t.k]));
      for (int b = 0; b < pages; ++b) {
        if ((s.map[t.k] >> b & 1) == 0 || choice-- != 0) continue;
        set(s.map[t.k], s.map[t.k] & ~(1 << b));
        set(t.b, b);
        if (t.k > t.order) {
          t.at = At::signal_rest;
        } else {
          have_block(s, t);
        }
        break;
      }
      break;
    case At::signal_rest: {
      const int n = 1 << (t.k - t.order);
      add(s.c[t.order], n - 1);
      add(s.v[t.order], n - 1 - rest);
      t.at = At::raise_rest;
      break;
    }
    case At::raise_rest: {
      const int n = 1 << (t.k - t.order);
      set(t.b, t.b << (t.k - t.order));
      set(s.map[t.order], s.map[t.order] | ((1 << n) - 2) << t.b);
      if (n > 2) {
        t.at = At::note_rest;
      } else {
        have_block(s, t);
      }
      break;
    }
    case At::note_rest:
      set(s.missed, s.missed | 1 << t.order);
      have_block(s, t);
      break;
    case At::break_batch:
      add(s.v[t.order], -rest);
      slow(t);
      break;
    case At::end_move:
      end_move(s, t.from);
      done(t);
      break;

    // ---- sweep()
    case At::sweep_begin:
      add(s.moves[top], 1);
      t.at = At::sweep_clear;
      break;
    case At::sweep_clear:
      set(t.sweeping, s.missed & below);
      set(s.missed, s.missed & ~below);
      t.at = t.sweeping != 0 ? At::sweep_read : At::sweep_end;
      if (t.sweeping != 0) set(t.sweep_order, __builtin_ctz(static_cast<unsigned>(t.sweeping)));
      break;
    case At::sweep_read:
      set(t.pairs, s.map[t.sweep_order] & s.map[t.sweep_order] >> 1 & 5);
      next_pair(t);
      break;
    case At::sweep_end:
      if (bug_ != Bug::sweeps_outside_moves) end_move(s, top);
      look_at_supply(t);
      break;

    // ---- supply()
    case At::supply_moves:
      if (s.moves[t.k] != 0) t.moving = 1;
      t.at = At::supply_units;
      break;
    case At::supply_units:
      if (c > 0) {
        if (s.full != 0) {
          t.at = At::clear_full;
        } else {
          attempt(t);
        }
        break;
      }
      t.at = At::supply_moves;
      if (t.k > t.order) {
        --t.k;
        break;
      }
      t.at = At::supply_pairs;
      if (bug_ == Bug::forgets_pairs) after_pairs(t, program);
      break;
    case At::supply_pairs:
      if ((s.missed & below) == 0) {
        after_pairs(t, program);
      } else {
        t.at = bug_ == Bug::sweeps_outside_moves ? At::sweep_clear : At::sweep_begin;
      }
      break;
    case At::supply_again:
      if (s.moves[t.k] != 0) t.moving = 1;
      if (t.k < top) {
        ++t.k;
      } else {
        after_supply(t, program);
      }
      break;
    case At::set_full:
      s.full = 1;
      refuse(t, program);
      break;
    case At::clear_full:
      s.full = 0;
      attempt(t);
      break;
    case At::break_tail:
      add(s.v[0], -1);
      t = {};
      break;

    // ---- give_back(), free_block()
    case At::signal:
      add(free_c, 1), add(free_v, 1 - t.promised);
      t.at = t.merged != 0 && bug_ != Bug::merges_outside_moves ? At::end_merge : At::set_bit;
      break;
    case At::end_merge:
      end_move(s, t.free_k);
      t.at = At::set_bit;
      break;
    case At::set_bit: {
      const int old = s.map[t.free_k];
      set(s.map[t.free_k], old | 1 << t.free_b);
      if (t.free_k < top && (old >> (t.free_b ^ 1) & 1) != 0) {
        t.at = merge_at();
      } else {
        settled(t);
      }
      break;
    }

    // ---- merge()
    case At::merge_begin:
      add(s.moves[t.free_k + 1], 1);
      t.at = At::merge_promise;
      break;
    case At::merge_promise:
      add(s.v[t.free_k + 1], 1);
      t.at = At::merge_take;
      break;
    case At::merge_take:
      set(t.taken, s.map[t.free_k] & pair_of(t.free_b));
      set(s.map[t.free_k], s.map[t.free_k] & ~t.taken);
      t.at = t.taken == 0                   ? At::merge_break
             : t.taken == pair_of(t.free_b) ? At::merge_pay_peek
                                            : At::merge_raise;
      break;
    case At::merge_pay_peek:
      t.at = free_c >= 2 && free_v >= 2 ? At::merge_pay : At::merge_raise;
      break;
    case At::merge_pay:
      add(free_c, -2), add(free_v, -2);
      if (free_c >= 0 && free_v >= 0) {
        ++t.free_k;
        set(t.free_b, t.free_b / 2);
        t.promised = t.merged = 1;
        t.at = At::signal;
      } else {
        t.at = At::merge_restore;
      }
      break;
    case At::merge_restore:
      add(free_c, 2), add(free_v, 2);
      t.at = At::merge_raise;
      break;
    case At::merge_raise: {
      const int old = s.map[t.free_k], pair = pair_of(t.free_b);
      set(s.map[t.free_k], old | t.taken);
      t.at = t.taken == pair                ? At::merge_note
             : (old & pair & ~t.taken) == 0 ? At::merge_break
                                            : At::merge_take;
      break;
    }
    case At::merge_note:
      set(s.missed, s.missed | 1 << t.free_k);
      t.at = At::merge_break;
      break;
    case At::merge_break:
      add(s.v[t.free_k + 1], -1);
      t.at = At::merge_end;
      if (bug_ == Bug::merges_outside_moves) settled(t);
      break;
    case At::merge_end:
      end_move(s, t.free_k + 1);
      settled(t);
      break;

    case At::freed_full:
      s.full = 0;
      t = {};
      break;
  }
}

namespace {

constexpr Setting settings[] = {
    {"halves", {{2, true}, {2, true}}},
    {"halves of pieces", {{2, true}, {2, true}}, true},
    {"three pages and one", {{3, false}, {1, true}}},
    {"half and page", {{2, true}, {1, true}}},
    {"more than there is", {{4, false}, {2, false}}},
    {"three pages twice", {{3, false}, {3, false}}},
};

TEST(TBuddyModel, RefusesOnlyWhatIsNotThere) {
  for (const Setting& setting : settings) {
    Model model(setting, Bug::no);
    EXPECT_EQ(model.explore(), "") << setting.what;
    EXPECT_GT(model.ends(), 0u) << setting.what;
  }
}

TEST(TBuddyModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::forgets_pairs, settings,
                   [](Bug bug, const Setting& setting) { return Model(setting, bug).explore(); });
}

}  // namespace
}  // namespace heapwood::tbuddy_model
