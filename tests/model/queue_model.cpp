// SPDX-License-Identifier: MIT
// Model checker for the builder's work queue (kdtree/build/task_queue.hpp) with private stacks and
// deferred nodes: explores all interleavings of a few warps that split a complete binary tree. Each
// node has one block of memory; a split needs two more and then frees its node's. A warp may cache
// a freed block. Before it waits, a warp may push an item that makes another warp retry a deferred
// node, as BuildWorker does after the split of a shared node. A step is one atomic operation or one
// access to a payload; names are those of TaskQueue, DeferredNodes and BuildWorker.
//
// Checks in every state that no node is taken twice and that some warp can go on; that no node
// becomes a leaf for lack of memory if one warp alone would have had enough, or while warps that
// wait cache memory; in every final state that no node and no memory is lost; and that a final
// state can be reached from every state.
//
// Limits: a warp that is about to wait may miss a round of trimming, because another one takes two
// of its items, and then keeps what it caches. The model is sequentially consistent: memory orders
// are covered by ThreadSanitizer.
#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int max_warps = 3, max_ring = 16, max_stack = 5, max_deferred = 2;
constexpr Byte none = -1, root = 1;

enum class Bug {
  no,
  writes_into_used_entry,  // the pusher does not wait for the warp that reads the entry
  ignores_lap,             // a warp takes an item of an earlier lap
  frees_entry_early,       // the entry is freed before its payload has been read
  flag_before_payload,
  counts_unit_late,      // the unit is counted after the task can be taken
  ends_with_deferred,    // exit items are sent although nodes are deferred
  deferred_has_no_unit,  // a node that is taken again belongs to no unit
  reads_place_early,     // the reader does not wait for the warp that stores the node
  retries_forever,       // a last try that is refused is deferred again
  sends_one_exit_less,
  keeps_room,            // room is not given back
  trims_after_end,       // a round begins although the last node has been finished meanwhile
  undo_drops_units,      // no warp notices the end of the dropped units
  retries_without_unit,  // the build may end before the item is published
};

struct Setting {
  const char* what;
  int warps, ring, depth, blocks;
  bool caches;
  int places;        // for deferred nodes
  bool is_complete;  // the memory is sufficient: no node may become a leaf for lack of it
  int retries = 0;   // each warp makes another one retry so often before it waits
};

enum class Kind : std::int8_t { none, task, retry, trim, exit };

enum class Step : std::int8_t {
  load_tickets,
  split,
  free_parent,
  // push_task()
  add_pending,
  take_ticket,
  wait_free,
  write_task,
  set_flag,
  // pop()
  pop,
  wait,
  read,
  clear,
  return_room,
  // finish()
  finish,
  load_end,
  exit_wait_free,
  exit_flag,
  ended,
  // defer()
  count_deferred,
  reset_trimmed,
  put_busy,
  put_full,
  // take_deferred()
  count_taken,
  take_busy,
  take_free,
  // trim()
  load_trimmed,
  set_trimmed,
  trim_units,
  reserve_room,
  trim_tickets,
  trim_wait_free,
  trim_flag,
  undo_room,
  undo_units,
  undo_trimmed,
  release_cache,
  // BuildWorker::release_emptied(), push_retry()
  look_deferred,
  hold_unit,
  retry_room,
  retry_undo,
  retry_ticket,
  retry_wait_free,
  retry_flag,
};

// These consist of bytes only, so that a state is its own key.
struct Entry {
  Kind kind = Kind::none;
  Byte lap = 0, task = none;
};
struct DeferredEntry {
  Byte state = 0, node = none;  // free, busy, full
};
struct Warp {
  Step next_step = Step::pop;
  Kind kind = Kind::none;
  Byte node = none, size = 0, stack[max_stack] = {none, none, none, none, none};
  Byte units = 0, ticket = 0, k = 0, entry = 0, cached = 0;
  Byte sees_waiting = 0, refused = 0, last_try = none, all_idle = 0, trims = 0, released = 0,
       retries = 0;
};
struct State {
  Byte pushed = 0, taken = 0, room = 0, units = 0, deferred = 0, trimmed = 0, free = 0;
  Byte missed = 0;    // trimming has missed a warp: another one took two of its items
  Byte done[4] = {};  // a bit per node
  Entry ring[max_ring];
  DeferredEntry deferred_entry[max_deferred];
  Warp warp[max_warps];
};

bool was_deferred = false, was_trimmed = false, was_refused = false, was_retried = false;

class Model : public Exploration<State> {
 public:
  Model(const Setting& setting, Bug bug)
      : Exploration(setting.warps, true), set_(setting), bug_(bug) {}

 private:
  Byte initial_room() const { return set_.ring > 2 * set_.warps ? set_.ring - 2 * set_.warps : 0; }
  State start() override {
    State first;
    first.room = initial_room();
    first.units = 1;
    first.free = set_.blocks - 1;
    first.warp[0].units = 1;
    first.warp[0].node = root;
    first.warp[0].next_step = Step::load_tickets;
    for (Warp& w : first.warp) w.retries = set_.retries;
    return first;
  }
  bool has_ended(const State& s, int warp) const override {
    return s.warp[warp].next_step == Step::ended;
  }
  bool step(State& s, int warp, int) override {
    Warp& w = s.warp[warp];
    const Step before = w.next_step;
    w.next_step = next(s, w);
    return w.next_step != before;
  }

  // ---- the tree: node n has children 2n and 2n + 1 ----------------------------------------------

  bool is_leaf(int n) const { return n >= 1 << (set_.depth - 1); }
  void mark(State& s, int n) {
    if (n <= 0 || n >= 1 << set_.depth || (s.done[n / 8] >> n % 8 & 1) != 0) {
      wrong_ = "a node is taken twice";
      return;
    }
    s.done[n / 8] = s.done[n / 8] | 1 << n % 8;
  }
  void mark_subtree(State& s, int n) {
    mark(s, n);
    if (wrong_.empty() && !is_leaf(n)) mark_subtree(s, 2 * n), mark_subtree(s, 2 * n + 1);
  }
  bool are_all_done(const State& s) const {
    int bits = 0;
    for (const Byte b : s.done) bits += __builtin_popcount(b & 255u);
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
      s.free += 1;
    }
  }
  // BuildWorker::work(): the next node of the stack, else the end of the units, else pop().
  static Step go_on(Warp& w) {
    w.kind = Kind::none;
    w.ticket = w.k = w.entry = w.trims = w.all_idle = w.sees_waiting = 0;
    w.node = none;
    if (w.size == 0)
      return w.units != 0 ? Step::finish : w.retries != 0 ? Step::look_deferred : Step::pop;
    w.node = w.stack[--w.size];
    w.stack[w.size] = none;
    return Step::load_tickets;
  }
  // Publishes the oldest node of the stack if a warp was seen to wait.
  Step publish_oldest(Warp& w) const {
    if (w.sees_waiting == 0 || w.size == 0) return go_on(w);
    w.node = w.stack[0];
    for (int i = 1; i < w.size; ++i) w.stack[i - 1] = w.stack[i];
    w.stack[--w.size] = none;
    return bug_ == Bug::counts_unit_late ? Step::take_ticket : Step::add_pending;
  }
  Step retry(Warp& w, bool all_idle) const {
    const bool refused = w.refused != 0;
    w.refused = 0;
    w.all_idle = all_idle;
    if (refused && !all_idle) return go_on(w);
    return set_.caches && all_idle ? Step::load_trimmed : Step::count_taken;
  }
  static Step end(Warp& w) {
    const Byte cached = w.cached;
    w = {};
    w.cached = cached;
    return Step::ended;
  }
  Step make_leaf(State& s, Warp& w) {
    if (set_.is_complete) wrong_ = "a node is refused although memory suffices";
    mark_subtree(s, w.node);
    s.free += 1;
    w.last_try = none;
    return go_on(w);
  }
  static Step start_task(Warp& w) {
    w.ticket = 0;
    w.kind = Kind::none;
    w.units = 1;
    return Step::load_tickets;
  }

  // ---- one step ---------------------------------------------------------------------------------

  Entry& entry(State& s, int ticket) const { return s.ring[ticket % set_.ring]; }
  Byte lap_of(int ticket) const { return ticket / set_.ring; }
  bool is_free(State& s, int ticket) const {
    return bug_ == Bug::writes_into_used_entry || entry(s, ticket).kind == Kind::none;
  }
  void publish(State& s, int ticket, Kind kind) const {
    entry(s, ticket).kind = kind;
    entry(s, ticket).lap = lap_of(ticket);
  }

  // Makes the warp's step and returns its next one; a warp that waits stays where it is.
  Step next(State& s, Warp& w) {
    switch (w.next_step) {
      case Step::load_tickets:
        w.sees_waiting = s.taken > s.pushed;
        return Step::split;
      case Step::split:
        return split(s, w);
      case Step::free_parent:
        free_block(s, w);
        return publish_oldest(w);

      case Step::add_pending:
        s.units += 1;
        return bug_ == Bug::counts_unit_late ? go_on(w) : Step::take_ticket;
      case Step::take_ticket:
        w.ticket = s.pushed++;
        return Step::wait_free;
      case Step::wait_free:
        if (!is_free(s, w.ticket)) return w.next_step;
        return bug_ == Bug::flag_before_payload ? Step::set_flag : Step::write_task;
      case Step::write_task:
        entry(s, w.ticket).task = w.node;
        return bug_ == Bug::flag_before_payload ? go_on(w) : Step::set_flag;
      case Step::set_flag:
        publish(s, w.ticket, Kind::task);
        if (bug_ == Bug::flag_before_payload) return Step::write_task;
        return bug_ == Bug::counts_unit_late ? Step::add_pending : go_on(w);

      case Step::pop:
        w.ticket = s.taken++;
        return Step::wait;
      case Step::wait: {
        const Entry& own = entry(s, w.ticket);
        if (own.kind == Kind::none) return w.next_step;
        if (own.lap != lap_of(w.ticket) && bug_ != Bug::ignores_lap) return w.next_step;
        w.kind = own.kind;
        if (own.kind == Kind::exit) return end(w);
        return own.kind == Kind::task && bug_ != Bug::frees_entry_early ? Step::read : Step::clear;
      }
      case Step::read:
        w.node = entry(s, w.ticket).task;
        return bug_ == Bug::frees_entry_early ? start_task(w) : Step::clear;
      case Step::clear:
        entry(s, w.ticket).kind = Kind::none;
        if (w.kind != Kind::task) return Step::return_room;
        if (bug_ == Bug::frees_entry_early) return Step::read;
        entry(s, w.ticket).task = none;  // not read again: fewer states
        return start_task(w);
      case Step::return_room:
        if (bug_ != Bug::keeps_room) s.room += 1;
        if (w.kind != Kind::retry) return Step::release_cache;
        w.ticket = 0;
        w.kind = Kind::none;
        return retry(w, false);

      case Step::finish: {
        const bool last = s.units == w.units, some = s.deferred != 0;
        s.units -= w.units;
        w.units = 0;
        if (some && bug_ != Bug::ends_with_deferred) return retry(w, last);
        if (!last) return go_on(w);
        if (!are_all_done(s)) wrong_ = "the build ends before all nodes are done";
        return Step::load_end;
      }
      case Step::load_end:
        w.ticket = s.pushed;
        w.k = set_.warps - 1 - (bug_ == Bug::sends_one_exit_less ? 1 : 0);
        return w.k == 0 ? end(w) : Step::exit_wait_free;
      case Step::exit_wait_free:
        return is_free(s, w.ticket) ? Step::exit_flag : w.next_step;
      case Step::exit_flag:
        publish(s, w.ticket++, Kind::exit);
        return --w.k == 0 ? end(w) : Step::exit_wait_free;
      case Step::ended:
        break;

      case Step::count_deferred:
        if (s.deferred == set_.places) return make_leaf(s, w);
        was_deferred |= bug_ == Bug::no;
        w.entry = s.deferred++;
        return Step::reset_trimmed;
      case Step::reset_trimmed:
        s.trimmed = 0;
        return Step::put_busy;
      case Step::put_busy:
        if (s.deferred_entry[w.entry].state != 0) return w.next_step;
        s.deferred_entry[w.entry].state = 1;
        return Step::put_full;
      case Step::put_full:
        s.deferred_entry[w.entry] = {2, w.node};
        w.refused = 1;
        w.last_try = none;
        return go_on(w);

      case Step::count_taken:
        if (s.deferred == 0) return go_on(w);
        if (bug_ != Bug::deferred_has_no_unit) s.units += 1;
        w.entry = --s.deferred;
        return bug_ == Bug::reads_place_early ? Step::take_free : Step::take_busy;
      case Step::take_busy:
        if (s.deferred_entry[w.entry].state != 2) return w.next_step;
        s.deferred_entry[w.entry].state = 1;
        return Step::take_free;
      case Step::take_free:
        w.stack[0] = s.deferred_entry[w.entry].node;
        s.deferred_entry[w.entry] = {};
        if (w.all_idle != 0) w.last_try = w.stack[0];
        w.units = w.size = 1;
        return go_on(w);

      case Step::load_trimmed:
        w.trims = s.trimmed == 0;
        return Step::set_trimmed;
      case Step::set_trimmed:
        s.trimmed = w.trims;
        if (w.trims == 0) return Step::count_taken;
        s.missed = 0;
        for (Warp& other : s.warp) other.released = 0;
        return Step::trim_units;
      case Step::trim_units:
        if (s.units == 0 && s.deferred == 0 && bug_ != Bug::trims_after_end)
          return Step::count_taken;  // the build has ended
        was_trimmed |= bug_ == Bug::no;
        s.units += set_.warps;
        return Step::reserve_room;
      case Step::reserve_room:
        s.room -= set_.warps - 1;
        return s.room >= 0 ? Step::trim_tickets : Step::undo_room;
      case Step::trim_tickets:
        w.ticket = s.pushed;
        w.k = set_.warps - 1;
        s.pushed += w.k;
        return Step::trim_wait_free;
      case Step::trim_wait_free:
        return is_free(s, w.ticket) ? Step::trim_flag : w.next_step;
      case Step::trim_flag:
        publish(s, w.ticket++, Kind::trim);
        return --w.k == 0 ? Step::release_cache : Step::trim_wait_free;
      case Step::undo_room:
        s.room += set_.warps - 1;
        return Step::undo_units;
      case Step::undo_units:  // keeps one unit, with which it finishes
        s.missed = 1;
        s.units += bug_ == Bug::undo_drops_units ? -set_.warps : 1 - set_.warps;
        return bug_ == Bug::undo_drops_units ? Step::undo_trimmed : Step::release_cache;
      case Step::undo_trimmed:
        s.trimmed = 0;
        return Step::count_taken;
      case Step::release_cache:
        s.free += w.cached;
        w.cached = 0;
        if (w.released != 0) s.missed = 1;
        w.released = w.refused = w.units = 1;
        return go_on(w);

      case Step::look_deferred:
        if (s.deferred == 0) return Step::pop;
        return bug_ == Bug::retries_without_unit ? Step::retry_room : Step::hold_unit;
      case Step::hold_unit:
        if (s.units == 0 && s.deferred == 0) return Step::pop;  // the build has ended
        s.units += 1;
        w.units = 1;
        return Step::retry_room;
      case Step::retry_room:
        w.retries -= 1;
        return s.room-- >= 1 ? Step::retry_ticket : Step::retry_undo;
      case Step::retry_undo:
        s.room += 1;
        return go_on(w);
      case Step::retry_ticket:
        was_retried |= bug_ == Bug::no;
        w.ticket = s.pushed++;
        return Step::retry_wait_free;
      case Step::retry_wait_free:
        return is_free(s, w.ticket) ? Step::retry_flag : w.next_step;
      case Step::retry_flag:
        publish(s, w.ticket, Kind::retry);
        return go_on(w);
    }
    return w.next_step;
  }
  Step split(State& s, Warp& w) {
    if (is_leaf(w.node)) {
      mark(s, w.node);
      free_block(s, w);
      w.last_try = none;
      return go_on(w);
    }
    if (s.free + w.cached >= 2) {
      mark(s, w.node);
      s.free += w.cached - 2;
      w.cached = 0;
      w.stack[w.size++] = 2 * w.node;
      w.stack[w.size++] = 2 * w.node + 1;
      w.last_try = none;
      return Step::free_parent;
    }
    if (w.node != w.last_try || bug_ == Bug::retries_forever) return Step::count_deferred;
    was_refused |= bug_ == Bug::no;
    int cached = 0;
    bool all_wait = true;
    for (int i = 0; i < set_.warps; ++i) {
      cached += s.warp[i].cached;
      all_wait = all_wait && (&s.warp[i] == &w || s.warp[i].next_step == Step::wait);
    }
    if (s.free + cached >= 2 && all_wait && s.missed == 0)
      wrong_ = "a node is refused although memory is cached";
    return make_leaf(s, w);
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
    {"one entry for deferred nodes", 2, 8, 3, 3, true, 1, false},
    {"three warps, too little memory", 3, 12, 3, 3, true, 2, false},
    {"three warps", 3, 2, 4, 99, false, 2, true},
    {"three warps, no space for trimming", 3, 6, 3, 4, true, 2, false},
    {"a retry", 2, 8, 3, 4, false, 2, true, 1},
#if defined(HEAPWOOD_LONG_TESTS)  // a million states
    {"a retry, too little memory", 2, 8, 3, 3, true, 2, false, 1},
    {"a retry, three warps", 3, 12, 3, 4, false, 2, true, 1},
#endif
};

TEST(QueueModel, TakesEveryNodeOnceAndDetectsBrokenVersions) {
  expect_sound<Model>(Bug::retries_without_unit, settings);
  EXPECT_TRUE(was_deferred && was_trimmed && was_refused && was_retried);
}

}  // namespace
}  // namespace heapwood
