// SPDX-License-Identifier: MIT
// The checker and the steps of queue_model.hpp. It must detect broken versions of the protocol.
#include "tests/model/queue_model.hpp"

#include "tests/model/exploration.hpp"

namespace heapwood::queue_model {
namespace {

class Model : public Exploration<State> {
 public:
  Model(const Setting& setting, Bug bug)
      : Exploration(static_cast<std::size_t>(setting.warps), true), set_(setting), bug_(bug) {}
  bool was_deferred = false, was_trimmed = false, was_refused = false, was_retried = false;

 private:
  static std::int8_t narrow(int n) { return static_cast<std::int8_t>(n); }
  static void add(std::int8_t& to, int n) { to = narrow(to + n); }

  std::int8_t initial_room() const {
    return narrow(set_.ring > 2 * set_.warps ? set_.ring - 2 * set_.warps : 0);
  }
  State start() override {
    State first;
    first.room = initial_room();
    first.units = 1;
    first.free = narrow(set_.blocks - 1);
    first.warp[0].units = 1;
    first.warp[0].node = root;
    first.warp[0].at = At::load_tickets;
    for (Warp& w : first.warp) w.retries = narrow(set_.retries);
    return first;
  }
  bool has_ended(const State& s, int warp) const override { return s.warp[warp].at == At::ended; }
  bool step(State& s, int warp, int) override { return step(s, s.warp[warp]); }

  // ---- the tree: node n has children 2n and 2n + 1 ----------------------------------------------

  bool is_leaf(int n) const { return n >= 1 << (set_.depth - 1); }
  void mark(State& s, int n) {
    if (n <= 0 || n >= 1 << set_.depth || (s.done[n / 8] >> n % 8 & 1) != 0) {
      wrong_ = "a node is taken twice";
      return;
    }
    s.done[n / 8] = narrow(s.done[n / 8] | 1 << n % 8);
  }
  void mark_subtree(State& s, int n) {
    mark(s, n);
    if (wrong_.empty() && !is_leaf(n)) mark_subtree(s, 2 * n), mark_subtree(s, 2 * n + 1);
  }
  bool are_all_done(const State& s) const {
    int bits = 0;
    for (const std::int8_t b : s.done) bits += __builtin_popcount(b & 255u);
    return bits == (1 << set_.depth) - 1;
  }
  void check_end(const State& s) override {
    if (!are_all_done(s)) wrong_ = "a node is lost";
    int blocks = s.free;
    for (const Warp& w : s.warp) blocks += w.cached;
    if (blocks != set_.blocks) wrong_ = "memory is lost";
    if (s.units != 0 || s.deferred != 0) wrong_ = "a unit remains";
    if (s.room != initial_room()) wrong_ = "the room differs";
  }

  // ---- what follows, without shared memory ------------------------------------------------------

  void free_block(State& s, Warp& w) {
    if (set_.caches && w.cached == 0) {
      w.cached = 1;
    } else {
      add(s.free, 1);
    }
  }
  // BuildWorker::work(): the next node of the stack, else the end of the units, else pop().
  static void go_on(Warp& w) {
    w.ticket = w.k = w.place = w.kind = w.trims = w.all_idle = w.sees_waiting = 0;
    w.node = none;
    if (w.size > 0) {
      w.node = w.stack[--w.size];
      w.stack[w.size] = none;
      w.at = At::load_tickets;
    } else {
      w.at = w.units != 0 ? At::finish : w.retries != 0 ? At::look_deferred : At::pop;
    }
  }
  // Publishes the oldest node of the stack if a warp was seen to wait.
  static void publish_oldest(Warp& w, Bug bug) {
    if (w.sees_waiting != 0 && w.size > 0) {
      w.node = w.stack[0];
      for (int i = 1; i < w.size; ++i) w.stack[i - 1] = w.stack[i];
      w.stack[--w.size] = none;
      w.at = bug == Bug::counts_unit_late ? At::take_ticket : At::add_pending;
    } else {
      go_on(w);
    }
  }
  void retry(Warp& w, bool all_idle) const {
    const bool refused = w.refused != 0;
    w.refused = 0;
    w.all_idle = narrow(all_idle);
    if (refused && !all_idle) {
      go_on(w);
    } else {
      w.at = set_.caches && all_idle ? At::load_trimmed : At::count_taken;
    }
  }
  static void end(Warp& w) {
    const std::int8_t cached = w.cached;
    w = {};
    w.cached = cached;
    w.at = At::ended;
  }
  static void begin_trim(Warp& w) { w.at = At::release_cache; }
  void make_leaf(State& s, Warp& w) {
    if (set_.is_complete) wrong_ = "a node is refused although memory suffices";
    mark_subtree(s, w.node);
    add(s.free, 1);
    w.last_try = none;
    go_on(w);
  }

  // ---- one step; false: the warp waits ----------------------------------------------------------

  Entry& entry(State& s, int ticket) const { return s.ring[ticket % set_.ring]; }
  std::int8_t lap_of(int ticket) const { return narrow(ticket / set_.ring); }
  bool is_free(State& s, int ticket) const {
    return bug_ == Bug::writes_into_used_entry || entry(s, ticket).kind == Kind::none;
  }
  void publish(State& s, int ticket, Kind kind) const {
    entry(s, ticket).kind = kind;
    entry(s, ticket).lap = lap_of(ticket);
  }

  bool step(State& s, Warp& w) {
    switch (w.at) {
      case At::load_tickets:
        w.sees_waiting = s.taken > s.pushed;
        w.at = At::split;
        return true;
      case At::split:
        if (is_leaf(w.node)) {
          mark(s, w.node);
          free_block(s, w);
          w.last_try = none;
          go_on(w);
        } else if (s.free + w.cached >= 2) {
          mark(s, w.node);
          add(s.free, w.cached - 2);
          w.cached = 0;
          w.stack[w.size] = narrow(2 * w.node);
          w.stack[w.size + 1] = narrow(2 * w.node + 1);
          add(w.size, 2);
          w.last_try = none;
          w.at = At::free_parent;
        } else if (w.node == w.last_try && bug_ != Bug::retries_forever) {
          was_refused = true;
          int cached = 0;
          bool all_wait = true;
          for (int i = 0; i < set_.warps; ++i) {
            cached += s.warp[i].cached;
            all_wait = all_wait && (&s.warp[i] == &w || s.warp[i].at == At::wait);
          }
          if (s.free + cached >= 2 && all_wait && s.missed == 0)
            wrong_ = "a node is refused although memory is cached";
          make_leaf(s, w);
        } else {
          w.at = At::count_deferred;
        }
        return true;
      case At::free_parent:
        free_block(s, w);
        publish_oldest(w, bug_);
        return true;

      case At::add_pending:
        add(s.units, 1);
        w.at = At::take_ticket;
        if (bug_ == Bug::counts_unit_late) go_on(w);
        return true;
      case At::take_ticket:
        w.ticket = s.pushed;
        add(s.pushed, 1);
        w.at = At::wait_free;
        return true;
      case At::wait_free:
        if (!is_free(s, w.ticket)) return false;
        w.at = bug_ == Bug::flag_before_payload ? At::set_flag : At::write_task;
        return true;
      case At::write_task:
        entry(s, w.ticket).task = w.node;
        w.at = At::set_flag;
        if (bug_ == Bug::flag_before_payload) go_on(w);
        return true;
      case At::set_flag:
        publish(s, w.ticket, Kind::task);
        if (bug_ == Bug::flag_before_payload) {
          w.at = At::write_task;
        } else if (bug_ == Bug::counts_unit_late) {
          w.at = At::add_pending;
        } else {
          go_on(w);
        }
        return true;

      case At::pop:
        w.ticket = s.taken;
        add(s.taken, 1);
        w.at = At::wait;
        return true;
      case At::wait: {
        const Entry& own = entry(s, w.ticket);
        if (own.kind == Kind::none) return false;
        if (own.lap != lap_of(w.ticket) && bug_ != Bug::ignores_lap) return false;
        w.kind = static_cast<std::int8_t>(own.kind);
        if (own.kind == Kind::exit) {
          end(w);
        } else {
          w.at = own.kind == Kind::task && bug_ != Bug::frees_entry_early ? At::read : At::clear;
        }
        return true;
      }
      case At::read:
        w.node = entry(s, w.ticket).task;
        w.at = At::clear;
        if (bug_ == Bug::frees_entry_early) start_task(w);
        return true;
      case At::clear:
        entry(s, w.ticket).kind = Kind::none;
        if (w.kind != static_cast<std::int8_t>(Kind::task)) {
          w.at = At::return_room;
        } else if (bug_ == Bug::frees_entry_early) {
          w.at = At::read;
        } else {
          entry(s, w.ticket).task = none;  // not read again: fewer states
          start_task(w);
        }
        return true;
      case At::return_room:
        if (bug_ != Bug::keeps_room) add(s.room, 1);
        if (w.kind == static_cast<std::int8_t>(Kind::retry)) {
          w.ticket = w.kind = 0;
          retry(w, false);
        } else {
          begin_trim(w);
        }
        return true;

      case At::finish: {
        const bool last = s.units == w.units, some = s.deferred != 0;
        add(s.units, -w.units);
        w.units = 0;
        if (!last && !some) {
          go_on(w);
        } else if (some && bug_ != Bug::ends_with_deferred) {
          retry(w, last);
        } else if (last) {
          if (!are_all_done(s)) wrong_ = "the build ends before all nodes are done";
          w.at = At::load_end;
        } else {
          go_on(w);
        }
        return true;
      }
      case At::load_end:
        w.ticket = s.pushed;
        w.k = narrow(set_.warps - 1 - (bug_ == Bug::sends_one_exit_less ? 1 : 0));
        w.at = At::exit_wait_free;
        if (w.k == 0) end(w);
        return true;
      case At::exit_wait_free:
        if (!is_free(s, w.ticket)) return false;
        w.at = At::exit_flag;
        return true;
      case At::exit_flag:
        publish(s, w.ticket, Kind::exit);
        add(w.ticket, 1);
        add(w.k, -1);
        w.at = At::exit_wait_free;
        if (w.k == 0) end(w);
        return true;
      case At::ended:
        return false;

      case At::count_deferred:
        if (s.deferred == set_.places) {
          make_leaf(s, w);
          return true;
        }
        was_deferred = true;
        w.place = s.deferred;
        add(s.deferred, 1);
        w.at = At::reset_trimmed;
        return true;
      case At::reset_trimmed:
        s.trimmed = 0;
        w.at = At::put_busy;
        return true;
      case At::put_busy:
        if (s.place[w.place].state != 0) return false;
        s.place[w.place].state = 1;
        w.at = At::put_full;
        return true;
      case At::put_full:
        s.place[w.place] = {2, w.node};
        w.refused = 1;
        w.last_try = none;
        go_on(w);
        return true;

      case At::count_taken:
        if (s.deferred == 0) {
          go_on(w);
          return true;
        }
        add(s.deferred, -1);
        if (bug_ != Bug::deferred_has_no_unit) add(s.units, 1);
        w.place = s.deferred;
        w.at = bug_ == Bug::reads_place_early ? At::take_free : At::take_busy;
        return true;
      case At::take_busy:
        if (s.place[w.place].state != 2) return false;
        s.place[w.place].state = 1;
        w.at = At::take_free;
        return true;
      case At::take_free: {
        const std::int8_t node = s.place[w.place].node;
        s.place[w.place] = {};
        w.units = 1;
        if (w.all_idle != 0) w.last_try = node;
        w.stack[0] = node;
        w.size = 1;
        go_on(w);
        return true;
      }

      case At::load_trimmed:
        w.trims = s.trimmed == 0;
        w.at = At::set_trimmed;
        return true;
      case At::set_trimmed:
        s.trimmed = w.trims;
        if (w.trims != 0) s.missed = 0;
        for (Warp& other : s.warp) other.released = w.trims != 0 ? 0 : other.released;
        w.at = w.trims != 0 ? At::trim_units : At::count_taken;
        return true;
      case At::trim_units:
        if (s.units == 0 && s.deferred == 0 && bug_ != Bug::trims_after_end) {
          w.at = At::count_taken;  // the build has ended
          return true;
        }
        was_trimmed = true;
        add(s.units, set_.warps);
        w.at = At::reserve_room;
        return true;
      case At::reserve_room: {
        const bool fits = s.room >= set_.warps - 1;
        add(s.room, 1 - set_.warps);
        w.at = fits ? At::trim_tickets : At::undo_room;
        return true;
      }
      case At::trim_tickets:
        w.ticket = s.pushed;
        w.k = narrow(set_.warps - 1);
        add(s.pushed, w.k);
        w.at = At::trim_wait_free;
        return true;
      case At::trim_wait_free:
        if (!is_free(s, w.ticket)) return false;
        w.at = At::trim_flag;
        return true;
      case At::trim_flag:
        publish(s, w.ticket, Kind::trim);
        add(w.ticket, 1);
        add(w.k, -1);
        w.at = At::trim_wait_free;
        if (w.k == 0) begin_trim(w);
        return true;
      case At::undo_room:
        add(s.room, set_.warps - 1);
        w.at = At::undo_units;
        return true;
      case At::undo_units:  // keeps one unit, with which it finishes
        s.missed = 1;
        add(s.units, bug_ == Bug::undo_drops_units ? -set_.warps : 1 - set_.warps);
        w.at = At::release_cache;
        if (bug_ == Bug::undo_drops_units) w.at = At::undo_trimmed;
        return true;
      case At::undo_trimmed:
        s.trimmed = 0;
        w.at = At::count_taken;
        return true;
      case At::release_cache:
        add(s.free, w.cached);
        w.cached = 0;
        if (w.released != 0) s.missed = 1;
        w.released = w.refused = w.units = 1;
        go_on(w);
        return true;

      case At::look_deferred:
        w.at = s.deferred == 0                     ? At::pop
               : bug_ == Bug::retries_without_unit ? At::retry_room
                                                   : At::hold_unit;
        return true;
      case At::hold_unit:
        if (s.units == 0 && s.deferred == 0) {
          w.at = At::pop;  // the build has ended
          return true;
        }
        add(s.units, 1);
        w.units = 1;
        w.at = At::retry_room;
        return true;
      case At::retry_room:
        add(w.retries, -1);
        w.at = s.room >= 1 ? At::retry_ticket : At::retry_undo;
        add(s.room, -1);
        return true;
      case At::retry_undo:
        add(s.room, 1);
        go_on(w);
        return true;
      case At::retry_ticket:
        was_retried = true;
        w.ticket = s.pushed;
        add(s.pushed, 1);
        w.at = At::retry_wait_free;
        return true;
      case At::retry_wait_free:
        if (!is_free(s, w.ticket)) return false;
        w.at = At::retry_flag;
        return true;
      case At::retry_flag:
        publish(s, w.ticket, Kind::retry);
        go_on(w);
        return true;
    }
    return false;
  }
  static void start_task(Warp& w) {
    w.ticket = w.kind = 0;
    w.units = 1;
    w.at = At::load_tickets;
  }

  const Setting& set_;
  Bug bug_;
};

constexpr Setting settings[] = {
    {"two warps", 2, 4, 4, 99, false, 2, true},
    {"memory of one warp", 2, 8, 3, 4, false, 2, true},
    {"memory of one warp, cached", 2, 8, 3, 4, true, 2, true},
    {"too little memory", 2, 8, 3, 3, false, 2, false},
    {"too little memory, cached", 2, 8, 3, 3, true, 2, false},
    {"no space for trimming", 2, 4, 3, 3, true, 2, false},
    {"one place for deferred nodes", 2, 8, 3, 3, true, 1, false},
    {"three warps, too little memory", 3, 12, 3, 3, true, 2, false},
    {"three warps", 3, 2, 4, 99, false, 2, true},
    {"three warps, no space for trimming", 3, 6, 3, 4, true, 2, false},
    {"a retry", 2, 8, 3, 4, false, 2, true, 1},
    {"a retry, too little memory", 2, 8, 3, 3, true, 2, false, 1},
    {"a retry, three warps", 3, 12, 3, 4, false, 2, true, 1},
};

TEST(QueueModel, TakesEveryNodeOnce) {
  bool deferred = false, trimmed = false, refused = false, retried = false;
  for (const Setting& setting : settings) {
    Model model(setting, Bug::no);
    EXPECT_EQ(model.explore(), "") << setting.what;
    deferred = deferred || model.was_deferred;
    trimmed = trimmed || model.was_trimmed;
    refused = refused || model.was_refused;
    retried = retried || model.was_retried;
    RecordProperty(setting.what, static_cast<int>(model.states()));
  }
  EXPECT_TRUE(deferred && trimmed && refused && retried);
}

TEST(QueueModel, BrokenProtocolsAreDetected) {
  expect_all_found(Bug::retries_without_unit, settings,
                   [](Bug bug, const Setting& setting) { return Model(setting, bug).explore(); });
}

}  // namespace
}  // namespace heapwood::queue_model
