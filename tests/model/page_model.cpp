// SPDX-License-Identifier: MIT
// Model checker for pages (alloc/heapwood/pages.hpp, shared_pages.hpp, page_search.hpp): explores
// all interleavings of a few threads on two arenas of four granules, with two words of marks each,
// and a slot per class. Blocks of classes 0 and 1 have one and two granules in pages of one arena;
// those of class 2 have three in a page of both arenas. A step is one atomic operation. Checks in
// every state that no granule is handed out twice and that no page in use is released, and in every
// final state that no block is lost. Waiting is not modelled: any request that finds its slot
// exhausted may renew it at once. The checker must detect broken versions of the protocol.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int arenas = 2, granules = 4, words = 2, classes = 3, max_threads = 3;
constexpr std::int8_t none = -1;

enum class Bug {
  no,
  class_is_not_checked,
  class_is_read_before_the_exchange,
  release_trusts_the_look,
  release_takes_one_word,
  page_in_use_is_replaced,
  marks_are_stored
};
enum class Call : std::int8_t { allocate0, allocate1, allocate2, free, release, empty, end };

enum class At : std::int8_t {
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
  std::int8_t arena = none, limit = 0, position = 0;
  std::int8_t spare_word = none, spare_marks = 0;
  bool exhausted() const { return position >= limit; }
};
struct Thread {
  std::int8_t call = 0;
  At at = At::begin;
  std::int8_t c = 0, word = 0, tries = 0, bits = 0, page = 0, a = 0, position = 0, limit = 0,
              seen_word = none, seen_marks = 0;
  std::int8_t blocks = 0;
  std::array<std::int8_t, 2> block{}, block_class{};
};
struct State {
  std::array<std::int8_t, arenas> count{};
  std::array<std::int8_t, arenas * words> marks{};
  std::array<Slot, classes> slot{};
  std::array<std::int8_t, arenas * granules> live{};
  std::array<Thread, max_threads> thread{};
};
using Program = std::vector<Call>;
using Programs = std::vector<Program>;

constexpr int size_of(int c) { return c + 1; }
constexpr int arenas_of(int c) { return c == 2 ? 2 : 1; }
constexpr int blocks_of(int c) { return arenas_of(c) * granules / size_of(c); }
constexpr int step_of(int c) { return c == 1 ? 2 : 1; }
constexpr std::int8_t narrow(int n) { return static_cast<std::int8_t>(n); }
// The count of an arena of a page.
constexpr std::int8_t page_word(int c, int place) { return narrow(1 + 2 * c + place); }
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

class Model : public Exploration<State> {
 public:
  Model(Programs programs, Bug bug)
      : Exploration(programs.size()), programs_(std::move(programs)), bug_(bug) {
    for (Program& program : programs_) program.push_back(Call::end);
  }

 private:
  State start() override { return {}; }
  Call call_of(const State& s, int thread) const {
    const auto i = static_cast<std::size_t>(thread);
    return programs_[i][static_cast<std::size_t>(s.thread[i].call)];
  }
  bool has_ended(const State& s, int thread) const override {
    return call_of(s, thread) == Call::end;
  }
  bool step(State& s, int thread, int choice) override {
    step(s, s.thread[static_cast<std::size_t>(thread)], call_of(s, thread), choice);
    return true;
  }
  // Every block of a page is in use, marked, or held by a slot, exactly once; a free arena has no
  // marks.
  void check_end(const State& s) override {
    std::array<int, arenas * granules> found{};
    const auto find = [&](int word, int bits) {
      for (int b = 0; b < granules / words; ++b)
        if ((bits >> b & 1) != 0) ++found[static_cast<std::size_t>(granule_of(word, b))];
    };
    for (int w = 0; w < arenas * words; ++w) find(w, s.marks[static_cast<std::size_t>(w)]);
    for (int c = 0; c < classes; ++c) {
      const Slot& slot = s.slot[static_cast<std::size_t>(c)];
      if (slot.spare_marks != 0) find(slot.spare_word, slot.spare_marks);
      for (int g = slot.position; g + size_of(c) <= slot.limit; g += size_of(c))
        ++found[static_cast<std::size_t>(slot.arena * granules + g)];
    }
    for (std::size_t g = 0; g < found.size(); ++g) found[g] += s.live[g] > 1 ? 1 : 0;
    for (int a = 0; a < arenas; ++a) {
      const int count = s.count[static_cast<std::size_t>(a)], c = class_of(count);
      const int place = count == 0 ? 0 : (count - 1) % 2;
      for (int g = 0; g < granules; ++g) {
        const int in_page = place * granules + g;
        const bool is_block = count != 0 && in_page % size_of(c) == 0 &&
                              in_page + size_of(c) <= arenas_of(c) * granules;
        if (found[static_cast<std::size_t>(a * granules + g)] != (is_block ? 1 : 0))
          wrong_ = "a block is lost, or is free twice";
      }
    }
  }

  void hand_out(State& s, Thread& t, int g) {
    for (int k = 0; k < size_of(t.c); ++k) {
      const auto at = static_cast<std::size_t>(g + k);
      if (at >= s.live.size() || s.live[at] != 0) {
        wrong_ = "a granule is handed out twice";
        return;
      }
      s.live[at] = narrow(k == 0 ? 2 : 1);  // 2: the first granule of a block
    }
    t.block[static_cast<std::size_t>(t.blocks)] = narrow(g);
    t.block_class[static_cast<std::size_t>(t.blocks++)] = t.c;
    done(t);
  }
  // Clears the registers, so that states with the same future compare equal.
  static void done(Thread& t) {
    Thread next;
    next.call = narrow(t.call + 1);
    next.blocks = t.blocks;
    next.block = t.block;
    next.block_class = t.block_class;
    t = next;
  }
  void change_count(State& s, int a, int subtrahend) {
    auto& count = s.count[static_cast<std::size_t>(a)];
    count = narrow(count - subtrahend);
    bool in_use = count != 0;
    for (int g = 0; g < granules; ++g)
      in_use = in_use || s.live[static_cast<std::size_t>(a * granules + g)] != 0;
    if (in_use) wrong_ = "a page in use is released";
  }
  void add_marks(State& s, int word, int bits) {
    auto& marks = s.marks[static_cast<std::size_t>(word)];
    marks = narrow(bug_ == Bug::marks_are_stored ? bits : marks | bits);
  }
  void next_arena(Thread& t) {
    t.at = At::release_look;
    t.word = 0;
    if (++t.a == arenas) done(t);
  }
  void next_word(Thread& t) {
    t.word = narrow((t.word + 1) % (arenas * words));
    t.at = bug_ == Bug::class_is_read_before_the_exchange ? At::read_class : At::exchange;
    if (++t.tries == arenas * words) {
      t.a = 0;
      t.at = At::claim;
    }
  }
  void step(State& s, Thread& t, Call call, int choice);

  Programs programs_;
  Bug bug_;
};

void Model::step(State& s, Thread& t, Call call, int choice) {
  Slot& slot = s.slot[static_cast<std::size_t>(t.c)];
  auto& marks = s.marks[static_cast<std::size_t>(t.word)];
  const auto count = [&](int a) -> std::int8_t& { return s.count[static_cast<std::size_t>(a)]; };
  switch (t.at) {
    case At::begin:
      if (call <= Call::allocate2) {
        t.c = static_cast<std::int8_t>(call);
        Slot& mine = s.slot[static_cast<std::size_t>(t.c)];
        const Slot before = mine;
        const int behind = before.position + size_of(t.c);
        // All positions behind the limit are alike.
        mine.position = narrow(behind <= before.limit ? behind : before.limit + 1);
        if (behind <= before.limit) {
          hand_out(s, t, before.arena * granules + before.position);
        } else {
          t.at = At::look_at_spare;
        }
      } else if (call == Call::free) {
        if (t.blocks > 0) {
          const auto last = static_cast<std::size_t>(--t.blocks);
          const int g = t.block[last];
          for (int k = 0; k < size_of(t.block_class[last]); ++k)
            s.live[static_cast<std::size_t>(g + k)] = 0;
          add_marks(s, word_of(g), bit_of(g));
          t.block[last] = t.block_class[last] = 0;
        }
        done(t);
      } else {
        t.at = call == Call::release ? At::release_look : At::empty_spare;
      }
      break;

    case At::look_at_spare:
      t.seen_word = slot.spare_word;
      t.seen_marks = slot.spare_marks;
      t.at = t.seen_marks != 0 ? At::take_spare : At::look_at_slot;
      break;
    case At::take_spare: {
      choices_ = 2;
      const int wanted =
          choice == 0 || t.seen_marks != 3 ? t.seen_marks & -t.seen_marks : t.seen_marks & 2;
      const int got = slot.spare_marks & wanted;
      t.seen_word = slot.spare_word;
      t.seen_marks = slot.spare_marks;
      slot.spare_marks = narrow(slot.spare_marks & ~wanted);
      if (got != 0) {
        hand_out(s, t, granule_of(slot.spare_word, got - 1));
      } else if (t.seen_marks == 0) {
        t.at = At::look_at_slot;
      }
      break;
    }
    case At::look_at_slot:
      if (!slot.exhausted()) {
        t.at = At::begin;
        break;
      }
      choices_ = arenas * words;  // any word is the first to be tried
      t.word = narrow(choice);
      t.tries = 0;
      t.at = bug_ == Bug::class_is_read_before_the_exchange ? At::read_class : At::exchange;
      break;

    case At::read_class:
      t.page = count(t.word / words);
      t.at = At::exchange;
      break;
    case At::exchange:
      t.bits = marks;
      marks = 0;
      if (t.bits == 0) {
        next_word(t);
      } else {
        t.at = At::check_class;
      }
      break;
    case At::check_class: {
      const int page =
          bug_ == Bug::class_is_read_before_the_exchange ? t.page : count(t.word / words);
      const bool fits = bug_ == Bug::class_is_not_checked || class_of(page) == t.c;
      t.at = fits ? At::keep_rest : At::give_back;
      break;
    }
    case At::give_back:
      add_marks(s, t.word, t.bits);
      next_word(t);
      break;
    case At::keep_rest: {  // the other blocks go to the slot, or back
      const int mine = t.bits & -t.bits, rest = t.bits & ~mine;
      if (slot.spare_marks == 0 && slot.spare_word == t.seen_word) {
        slot.spare_word = t.word;
        slot.spare_marks = narrow(rest);
      } else {
        add_marks(s, t.word, rest);
      }
      t.bits = narrow(mine);
      t.at = At::vacate;
      break;
    }
    case At::vacate:
      if (slot.exhausted() && slot.arena != none) {
        slot.arena = none;
        slot.limit = 0;
        slot.position = 1;
      }
      hand_out(s, t, granule_of(t.word, t.bits - 1));
      break;

    case At::claim:
      if (count(t.a) == 0 && t.a + arenas_of(t.c) <= arenas) {
        count(t.a) = page_word(t.c, 0);
        t.at = arenas_of(t.c) > 1 ? At::claim_second : At::install;
      } else if (++t.a == arenas) {
        done(t);  // refused
      }
      break;
    case At::claim_second:
      t.at = At::undo_first;
      if (count(1) == 0) {
        count(1) = page_word(t.c, 1);
        t.at = At::install;
      }
      break;
    case At::undo_first:
      change_count(s, t.a, page_word(t.c, 0));
      done(t);  // refused
      break;
    case At::install:
      if (slot.exhausted() || bug_ == Bug::page_in_use_is_replaced) {
        slot.arena = t.a;
        slot.limit = narrow(arenas_of(t.c) * granules);
        slot.position = narrow(size_of(t.c));
        hand_out(s, t, t.a * granules);
        break;
      }
      choices_ = 2;  // another page has been installed: frees this one, or keeps it for one block
      t.position = narrow(size_of(t.c));
      t.limit = narrow(arenas_of(t.c) * granules);
      t.at = choice == 0 ? At::undo : At::mark_rest;
      t.word = narrow(arenas_of(t.c) - 1);
      break;
    case At::undo:
      change_count(s, t.a + t.word, page_word(t.c, t.word));
      if (t.word-- == 0) {
        t.word = 0;
        t.at = At::begin;
      }
      break;
    case At::mark_rest:
      if (t.position + size_of(t.c) <= t.limit) {
        const int g = t.a * granules + t.position;
        add_marks(s, word_of(g), bit_of(g));
        t.position = narrow(t.position + size_of(t.c));
      } else if (call == Call::empty) {
        t.at = At::empty_spare;
        t.position = t.limit = t.a = 0;
        if (++t.c == classes) done(t);
      } else {
        hand_out(s, t, t.a * granules);
      }
      break;

    case At::release_look:
      t.page = count(t.a);
      if (t.page == 0 || (t.page - 1) % 2 != 0) {
        next_arena(t);
      } else {
        t.at = At::release_word;
      }
      break;
    case At::release_word: {
      const int c = class_of(t.page), all = arenas_of(c) * words;
      auto& taken = s.marks[static_cast<std::size_t>(t.a * words + t.word)];
      if (taken == all_marks(c, t.word)) {
        taken = 0;
        t.word = narrow(t.word + step_of(c));
        const bool is_last = t.word >= all || bug_ == Bug::release_takes_one_word;
        t.at = bug_ != Bug::release_trusts_the_look ? At::release_check
               : is_last                            ? At::release_count
                                                    : At::release_word;
      } else if (t.word == 0) {
        next_arena(t);
      } else {
        t.at = At::release_back;
      }
      break;
    }
    case At::release_check: {
      const int c = class_of(t.page), all = arenas_of(c) * words;
      const bool is_last = t.word >= all || bug_ == Bug::release_takes_one_word;
      t.at = count(t.a) != t.page ? At::release_back
             : is_last            ? At::release_count
                                  : At::release_word;
      break;
    }
    case At::release_back:
      t.word = narrow(t.word - step_of(class_of(t.page)));
      add_marks(s, t.a * words + t.word, all_marks(class_of(t.page), t.word));
      if (t.word == 0) next_arena(t);
      break;
    case At::release_count: {  // from the page's last arena to its first
      const int c = class_of(t.page), place = t.limit == 0 ? arenas_of(c) - 1 : t.limit - 1;
      change_count(s, t.a + place, page_word(c, place));
      t.limit = narrow(place);
      if (place == 0) next_arena(t);
      break;
    }

    case At::empty_spare:
      if (slot.spare_marks != 0) {
        t.word = slot.spare_word;
        t.bits = slot.spare_marks;
        slot.spare_marks = 0;
        slot.spare_word = none;
      }
      t.at = At::empty_slot;
      break;
    case At::empty_slot:  // the marks first, in a step of their own
      if (t.bits != 0) {
        add_marks(s, t.word, t.bits);
        t.bits = t.word = 0;
        break;
      }
      if (!slot.exhausted()) {
        t.a = slot.arena;
        t.position = slot.position;
        t.limit = slot.limit;
        slot.arena = none;
        slot.limit = 0;
        slot.position = 1;
      }
      t.at = At::mark_rest;
      break;
  }
}

std::vector<Programs> settings() {
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

TEST(PageModel, NothingOverlapsAndNothingIsLost) {
  for (const Programs& programs : settings()) {
    Model model(programs, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
  }
}

TEST(PageModel, BrokenProtocolsAreFoundOut) {
  expect_all_found(Bug::marks_are_stored, settings(), [](Bug bug, const Programs& programs) {
    return Model(programs, bug).explore();
  });
}

}  // namespace
}  // namespace heapwood
