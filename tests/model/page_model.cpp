// SPDX-License-Identifier: MIT
// Model checker for pages (alloc/heapwood/pages.hpp, shared_pages.hpp, page_search.hpp): explores
// all interleavings of a few threads on two arenas of four granules, with two words of marks each,
// and a slot per class. Blocks of classes 0 and 1 have one and two granules in pages of one arena;
// those of class 2 have three in a page of both arenas. A step is one atomic operation. Checks in
// every state that no granule is handed out twice and that no page in use is released, and in every
// final state that no block is lost. Waiting is not modelled: any request that finds its slot
// exhausted may renew it at once. The checker must detect broken versions of the protocol.
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int arenas = 2, granules = 4, words = 2, classes = 3, max_threads = 3;
constexpr Byte none = -1;

enum class Bug {
  no,
  class_is_not_checked,
  class_is_read_before_the_exchange,
  release_trusts_the_look,
  release_takes_one_word,
  page_in_use_is_replaced,
  marks_are_stored
};
enum class Call : std::int8_t { allocate0, allocate1, allocate2, free, release, empty };

enum class Step : std::int8_t {
  begin,
  // SharedPages::allocate(), renew()
  look_at_spare,
  take_spare,
  look_at_slot,
  // Pages::take_word()
  read_class,
  exchange,
  check_class,
  give_back,
  keep_rest,
  vacate,
  // claim and installation of a page
  claim,
  claim_second,
  undo_first,
  install,
  undo,
  mark_rest,
  // PageSearch::release_if_free()
  release_look,
  release_word,
  release_check,
  release_back,
  release_count,
  // PageSlots::empty_slot()
  empty_spare,
  empty_slot
};

struct Slot {
  Byte arena = none, limit = 0, position = 0;
  Byte spare_word = none, spare_marks = 0;
  bool exhausted() const { return position >= limit; }
};
struct Held {
  Byte blocks = 0, block[2] = {}, block_class[2] = {};
};
struct Thread {
  Byte call = 0;
  Step next_step = Step::begin;
  Byte c = 0, word = 0, tries = 0, bits = 0, page = 0, a = 0, position = 0, limit = 0,
       seen_word = none, seen_marks = 0;
  Held held;
};
struct State {
  Byte count[arenas] = {};
  Byte marks[arenas * words] = {};
  Slot slot[classes] = {};
  Byte live[arenas * granules] = {};
  Thread thread[max_threads] = {};
};

constexpr int size_of(int c) { return c + 1; }
constexpr int arenas_of(int c) { return c == 2 ? 2 : 1; }
constexpr int blocks_of(int c) { return arenas_of(c) * granules / size_of(c); }
constexpr int step_of(int c) { return c == 1 ? 2 : 1; }
// The count of an arena of a page.
constexpr Byte page_word(int c, int arena_in_page) { return 1 + 2 * c + arena_in_page; }
constexpr int class_of(int count) { return (count - 1) / 2; }
// Granule g of the pool has bit g % granules / words of word_of(g).
constexpr int word_of(int g) { return g / granules * words + g % words; }
constexpr int bit_of(int g) { return 1 << (g % granules / words); }
constexpr int granule_of(int word, int bit) {
  return word / words * granules + bit * words + word % words;
}
// The marks in a word, counted from the page's first one, of a page without a block in use.
constexpr int all_marks(int c, int word) {
  int bits = 0;
  for (int b = 0; b < blocks_of(c); ++b)
    if (word_of(b * size_of(c)) == word) bits |= bit_of(b * size_of(c));
  return bits;
}

class Model : public ProgramModel<State, Call> {
 public:
  Model(const Programs& programs, Bug bug) : ProgramModel(programs), bug_(bug) {}

 private:
  State start() override { return State(); }
  bool step(State& s, int thread, int choice) override {
    Thread& t = s.thread[thread];
    t.next_step = next(s, t, call_of(s, thread), choice);
    return true;
  }
  // Every block of a page is in use, marked, or held by a slot, exactly once; a free arena has no
  // marks.
  void check_end(const State& s) override {
    int found[arenas * granules] = {};
    const auto find = [&](int word, int bits) {
      for (int b = 0; b < granules / words; ++b)
        if ((bits >> b & 1) != 0) ++found[granule_of(word, b)];
    };
    for (int w = 0; w < arenas * words; ++w) find(w, s.marks[w]);
    for (int c = 0; c < classes; ++c) {
      const Slot& slot = s.slot[c];
      if (slot.spare_marks != 0) find(slot.spare_word, slot.spare_marks);
      for (int g = slot.position; g + size_of(c) <= slot.limit; g += size_of(c))
        ++found[slot.arena * granules + g];
    }
    for (int g = 0; g < arenas * granules; ++g) found[g] += s.live[g] > 1 ? 1 : 0;
    for (int a = 0; a < arenas; ++a) {
      const int count = s.count[a], c = class_of(count);
      const int arena_in_page = count == 0 ? 0 : (count - 1) % 2;
      for (int g = 0; g < granules; ++g) {
        const int in_page = arena_in_page * granules + g;
        const bool is_block = count != 0 && in_page % size_of(c) == 0 &&
                              in_page + size_of(c) <= arenas_of(c) * granules;
        if (found[a * granules + g] != (is_block ? 1 : 0))
          wrong_ = "a block is lost, or is free twice";
      }
    }
  }

  Step hand_out(State& s, Thread& t, int g) {
    for (int k = 0; k < size_of(t.c); ++k) {
      const int granule = g + k;
      if (granule >= arenas * granules || s.live[granule] != 0) {
        wrong_ = "a granule is handed out twice";
        return t.next_step;
      }
      s.live[granule] = k == 0 ? 2 : 1;  // 2: the first granule of a block
    }
    t.held.block[t.held.blocks] = g;
    t.held.block_class[t.held.blocks++] = t.c;
    return done(t);
  }
  // Clears the registers, so that states with the same future compare equal.
  static Step done(Thread& t) {
    t = {.call = Byte(t.call + 1), .held = t.held};
    return Step::begin;
  }
  void change_count(State& s, int a, int subtrahend) {
    auto& count = s.count[a];
    count -= subtrahend;
    bool in_use = count != 0;
    for (int g = 0; g < granules; ++g) in_use = in_use || s.live[a * granules + g] != 0;
    if (in_use) wrong_ = "a page in use is released";
  }
  void add_marks(State& s, int word, int bits) {
    auto& marks = s.marks[word];
    marks = bug_ == Bug::marks_are_stored ? bits : marks | bits;
  }
  static Step next_arena(Thread& t) {
    t.word = 0;
    return ++t.a == arenas ? done(t) : Step::release_look;
  }
  Step first_of_word() const {
    return bug_ == Bug::class_is_read_before_the_exchange ? Step::read_class : Step::exchange;
  }
  Step next_word(Thread& t) const {
    t.word = (t.word + 1) % (arenas * words);
    if (++t.tries < arenas * words) return first_of_word();
    t.a = 0;
    return Step::claim;
  }
  Step after_release_word(const Thread& t) const {
    const bool is_last = t.word >= arenas_of(class_of(t.page)) * words;
    return is_last || bug_ == Bug::release_takes_one_word ? Step::release_count
                                                          : Step::release_word;
  }
  Step begin(State& s, Thread& t, Call call);
  Step next(State& s, Thread& t, Call call, int choice);

  Bug bug_;
};

Step Model::begin(State& s, Thread& t, Call call) {
  if (call == Call::release) return Step::release_look;
  if (call == Call::empty) return Step::empty_spare;
  if (call == Call::free) {
    if (t.held.blocks == 0) return done(t);
    const int last = --t.held.blocks, g = t.held.block[last];
    for (int k = 0; k < size_of(t.held.block_class[last]); ++k) s.live[g + k] = 0;
    add_marks(s, word_of(g), bit_of(g));
    t.held.block[last] = t.held.block_class[last] = 0;
    return done(t);
  }
  t.c = static_cast<Byte>(call);
  Slot& slot = s.slot[t.c];
  const int before = slot.position, behind = before + size_of(t.c);
  const bool fits = behind <= slot.limit;
  slot.position = fits ? behind : slot.limit + 1;  // all positions behind the limit are alike
  return fits ? hand_out(s, t, slot.arena * granules + before) : Step::look_at_spare;
}

// Makes the thread's step and returns its next one.
Step Model::next(State& s, Thread& t, Call call, int choice) {
  Slot& slot = s.slot[t.c];
  Byte& marks = s.marks[t.word];
  const int size = size_of(t.c), page_granules = arenas_of(t.c) * granules;
  const auto close_slot = [&] {
    slot.arena = none;
    slot.limit = 0;
    slot.position = 1;
  };
  switch (t.next_step) {
    case Step::begin:
      return begin(s, t, call);
    case Step::look_at_spare:
      t.seen_word = slot.spare_word;
      t.seen_marks = slot.spare_marks;
      return t.seen_marks != 0 ? Step::take_spare : Step::look_at_slot;
    case Step::take_spare: {
      choices_ = 2;
      const int wanted =
          choice == 0 || t.seen_marks != 3 ? t.seen_marks & -t.seen_marks : t.seen_marks & 2;
      const int got = slot.spare_marks & wanted;
      t.seen_word = slot.spare_word;
      t.seen_marks = slot.spare_marks;
      slot.spare_marks &= ~wanted;
      if (got != 0) return hand_out(s, t, granule_of(slot.spare_word, got - 1));
      return t.seen_marks == 0 ? Step::look_at_slot : Step::take_spare;
    }
    case Step::look_at_slot:
      if (!slot.exhausted()) return Step::begin;
      choices_ = arenas * words;  // any word is the first to be tried
      t.word = choice;
      t.tries = 0;
      return first_of_word();

    case Step::read_class:
      t.page = s.count[t.word / words];
      return Step::exchange;
    case Step::exchange:
      t.bits = marks;
      marks = 0;
      return t.bits == 0 ? next_word(t) : Step::check_class;
    case Step::check_class: {
      const int page =
          bug_ == Bug::class_is_read_before_the_exchange ? t.page : s.count[t.word / words];
      const bool fits = bug_ == Bug::class_is_not_checked || class_of(page) == t.c;
      return fits ? Step::keep_rest : Step::give_back;
    }
    case Step::give_back:
      add_marks(s, t.word, t.bits);
      return next_word(t);
    case Step::keep_rest: {  // the other blocks go to the slot, or back
      const int mine = t.bits & -t.bits, rest = t.bits & ~mine;
      if (slot.spare_marks == 0 && slot.spare_word == t.seen_word) {
        slot.spare_word = t.word;
        slot.spare_marks = rest;
      } else {
        add_marks(s, t.word, rest);
      }
      t.bits = mine;
      return Step::vacate;
    }
    case Step::vacate:
      if (slot.exhausted() && slot.arena != none) close_slot();
      return hand_out(s, t, granule_of(t.word, t.bits - 1));

    case Step::claim:
      if (s.count[t.a] == 0 && t.a + arenas_of(t.c) <= arenas) {
        s.count[t.a] = page_word(t.c, 0);
        return arenas_of(t.c) > 1 ? Step::claim_second : Step::install;
      }
      return ++t.a == arenas ? done(t) : Step::claim;  // done: refused
    case Step::claim_second:
      if (s.count[1] != 0) return Step::undo_first;
      s.count[1] = page_word(t.c, 1);
      return Step::install;
    case Step::undo_first:
      change_count(s, t.a, page_word(t.c, 0));
      return done(t);  // refused
    case Step::install:
      if (slot.exhausted() || bug_ == Bug::page_in_use_is_replaced) {
        slot.arena = t.a;
        slot.limit = page_granules;
        slot.position = size;
        return hand_out(s, t, t.a * granules);
      }
      choices_ = 2;  // another page has been installed: frees this one, or keeps it for one block
      t.position = size;
      t.limit = page_granules;
      t.word = arenas_of(t.c) - 1;
      return choice == 0 ? Step::undo : Step::mark_rest;
    case Step::undo:
      change_count(s, t.a + t.word, page_word(t.c, t.word));
      if (t.word == 0) return Step::begin;
      --t.word;
      return Step::undo;
    case Step::mark_rest:
      if (t.position + size <= t.limit) {
        const int g = t.a * granules + t.position;
        add_marks(s, word_of(g), bit_of(g));
        t.position += size;
        return Step::mark_rest;
      }
      if (call != Call::empty) return hand_out(s, t, t.a * granules);
      t.position = t.limit = t.a = 0;
      return ++t.c == classes ? done(t) : Step::empty_spare;

    case Step::release_look:
      t.page = s.count[t.a];
      return t.page == 0 || (t.page - 1) % 2 != 0 ? next_arena(t) : Step::release_word;
    case Step::release_word: {
      Byte& taken = s.marks[t.a * words + t.word];
      if (taken != all_marks(class_of(t.page), t.word))
        return t.word == 0 ? next_arena(t) : Step::release_back;
      taken = 0;
      t.word += step_of(class_of(t.page));
      return bug_ == Bug::release_trusts_the_look ? after_release_word(t) : Step::release_check;
    }
    case Step::release_check:
      return s.count[t.a] != t.page ? Step::release_back : after_release_word(t);
    case Step::release_back:
      t.word -= step_of(class_of(t.page));
      add_marks(s, t.a * words + t.word, all_marks(class_of(t.page), t.word));
      return t.word == 0 ? next_arena(t) : Step::release_back;
    case Step::release_count: {  // from the page's last arena to its first
      const int c = class_of(t.page), arena_in_page = t.limit == 0 ? arenas_of(c) - 1 : t.limit - 1;
      change_count(s, t.a + arena_in_page, page_word(c, arena_in_page));
      t.limit = arena_in_page;
      return arena_in_page == 0 ? next_arena(t) : Step::release_count;
    }

    case Step::empty_spare:
      if (slot.spare_marks != 0) {
        t.word = slot.spare_word;
        t.bits = slot.spare_marks;
        slot.spare_marks = 0;
        slot.spare_word = none;
      }
      return Step::empty_slot;
    case Step::empty_slot:  // the marks first, in a step of their own
      if (t.bits != 0) {
        add_marks(s, t.word, t.bits);
        t.bits = t.word = 0;
        return Step::empty_slot;
      }
      if (!slot.exhausted()) {
        t.a = slot.arena;
        t.position = slot.position;
        t.limit = slot.limit;
        close_slot();
      }
      return Step::mark_rest;
  }
  return t.next_step;
}

std::vector<Model::Programs> settings() {
  using enum Call;
  return {
      {{allocate0, allocate0, free, free}, {allocate0, free, release}},
      {{allocate1, allocate1, free, free}, {allocate0, free, empty, release}},
      {{allocate1, free, empty, release, allocate0, allocate0, free, allocate0}, {allocate1}},
      {{allocate2, free, empty, release}, {allocate1, free}, {allocate0}},
      {{allocate2, free, empty, release}, {allocate2, allocate2, free, free}, {release}},
      {{allocate0, free, empty, release, allocate1, free}, {empty, release, allocate0}},
      {{allocate1, free, empty, release, empty}, {allocate0, free, allocate0, free}, {release}}};
}

TEST(PageModel, HandsOutEachGranuleOnceAndDetectsBrokenVersions) {
  expect_sound<Model>(Bug::marks_are_stored, settings());
}

}  // namespace
}  // namespace heapwood
