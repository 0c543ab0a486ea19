// SPDX-License-Identifier: MIT
// Model checker for the circular lists as published (alloc/circular_list_published): explores all
// interleavings of two or three threads that allocate and free in a pool of three or four units,
// with an offset for each of two multiprocessors. A step is one access to shared memory; names are
// those used there. Checks in every state that no unit is handed out twice and that no link leads
// out of the pool, at each refusal that no memory was large enough and available during the whole
// call, and in every final state that nothing is lost. The model is sequentially consistent, but
// for the relaxed loads of links, which may read any earlier link, and for stores that are not
// ordered; other memory orders are covered by ThreadSanitizer. The checker must detect broken
// versions of the protocol.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int max_units = 4, offsets = 2, max_threads = 3;

enum class Bug {
  no,
  merge_without_lock,
  link_before_header,    // the link to the rest of a split chunk precedes its header
  rest_is_not_busy,      // the link to the rest may precede its only store
  busy_is_used,          // a search refuses although it has met a large enough busy chunk
  size_is_not_rechecked  // a refusing search takes the chunk that it has locked, whatever its size
};
enum class TwoWordBug {
  no,
  none_is_used,            // a search refuses although it has met a header that is not written
  flag_is_not_read_again,  // after the link
  link_is_not_compared,    // with a second load, for a flag that changes back
  link_is_not_read_again,  // after the lock
  used_before_link,        // a split chunk's flag precedes its link
  link_before_busy         // the link past a merged chunk precedes the flag
};
enum class Chunk : std::int8_t { none, used, free, busy };

enum class Step : std::int8_t {
  begin,
  // search() and lap()
  flag,
  link,
  flag_again,
  link_again,
  lock,
  old_link,
  unlock,
  // take()
  link_of_rest,
  busy_of_rest,
  header_of_rest,
  flag_of_rest,
  link_to_rest,
  flag_of_block,
  store_offset,
  // deallocate()
  lock_next,
  mark_busy,
  skip_next,
  free_offset,
  publish_free
};

struct Header {
  Chunk state = Chunk::none;
  Byte link = 0;
  std::uint8_t links = 1;  // a bit for each link that was stored here, and for 0

  void set_link(int to) {
    link = Byte(to);
    links |= static_cast<std::uint8_t>(1 << to);
  }
};

struct Thread {
  Byte call = 0, block = -1;
  Step next_step = Step::begin;
  Byte position = 0, end = 0, start = 0, next = 0;
  Chunk seen_state = Chunk::none;
  Byte seen_link = 0;
  bool refusing = false, wrapped = false, seen_busy = false;
  // One of the two unordered stores of a split has been made.
  bool half = false;
  // Units that have been part of large enough free memory at every moment since the call began.
  std::uint8_t fitting = 0;
};

struct State {
  Header header[max_units + 1];
  std::uint8_t live = 0;  // units
  Byte offset[offsets] = {0, 0};
  Thread thread[max_threads];
};

struct Setting {
  std::vector<int> chunks;
  Byte begins[offsets];
  std::vector<std::vector<int>> programs;
  std::vector<int> merged = {};  // positions and links of merged headers
};

// A program: n > 0 requests n units, 0 frees the thread's block.
class Model : public ProgramModel<State, int> {
 public:
  Model(bool two_words, const Setting& setting, Bug bug, TwoWordBug other = TwoWordBug::no)
      : ProgramModel(setting.programs),
        two_words_(two_words),
        setting_(setting),
        bug_(bug),
        other_(other) {
    for (const int size : setting.chunks) units_ += size;
  }

 private:
  State start() override {
    State first;
    int position = 0;
    for (const int size : setting_.chunks) {
      first.header[position].state = Chunk::free;
      first.header[position].set_link(position + size);
      position += size;
    }
    first.header[position].state = Chunk::used;
    for (std::size_t i = 0; i < setting_.merged.size(); i += 2) {
      first.header[setting_.merged[i]].state = Chunk::busy;
      first.header[setting_.merged[i]].set_link(setting_.merged[i + 1]);
    }
    std::copy(std::begin(setting_.begins), std::end(setting_.begins), first.offset);
    return first;
  }
  bool step(State& s, int thread, int choice) override {
    Thread& t = s.thread[thread];
    t.next_step = next(s, t, call_of(s, static_cast<std::size_t>(thread)), choice);
    note_fitting(s);
    return true;
  }
  static std::uint8_t mask(int from, int to) {
    return static_cast<std::uint8_t>((1 << to) - (1 << from));
  }

  // Every chunk is a block or free, and none is lost.
  void check_end(const State& s) override {
    int position = 0;
    std::uint8_t live = 0;
    while (position < units_ && s.header[position].link > position &&
           (s.header[position].state == Chunk::free || s.header[position].state == Chunk::used)) {
      if (s.header[position].state == Chunk::used) live |= mask(position, s.header[position].link);
      position = s.header[position].link;
    }
    if (position != units_ || s.live != live) wrong_ = "memory is lost";
  }
  // Removes from `fitting` the units that are not available to the thread's request.
  void note_fitting(State& s) const {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      Thread& t = s.thread[i];
      if (t.fitting == 0) continue;
      const int wanted = call_of(s, i);
      std::uint8_t now = 0;
      for (int position = 0, next = 0; position < units_; position = next) {
        next = s.header[position].link;
        for (const Thread& other : s.thread) {  // splits: the header of its rest may not be written
          if (other.next == position && position > other.position && other.end > position)
            next = other.end;
        }
        int first = position;  // not live: of a chunk that is being split, the rest
        while (first < next && (s.live >> first & 1) != 0) ++first;
        if (next - first >= wanted) now |= mask(first, next);
      }
      t.fitting &= now;
    }
  }

  // The first thread runs on the first multiprocessor.
  static Byte& my_offset(State& s, const Thread& t) { return s.offset[&t == &s.thread[0] ? 0 : 1]; }
  static Step end_call(Thread& t) {
    t = {.call = Byte(t.call + 1), .block = t.block};
    return Step::begin;
  }
  // A link back is large, because the difference is unsigned there.
  static bool is_large(const Thread& t, int wanted) {
    return t.seen_link < t.position || t.seen_link - t.position >= wanted;
  }
  Step decide(Thread& t, int wanted) const {
    return t.seen_state == Chunk::free && is_large(t, wanted) ? Step::lock : hop(t, wanted);
  }
  Step hop(Thread& t, int wanted) const {
    const bool is_used = t.seen_state == Chunk::used ||
                         (t.seen_state == Chunk::busy && bug_ == Bug::busy_is_used) ||
                         (t.seen_state == Chunk::none && other_ == TwoWordBug::none_is_used);
    if (t.refusing && is_large(t, wanted) && !is_used) t.seen_busy = true;
    if (t.seen_link < t.position) t.wrapped = true;
    t.position = t.seen_link;
    t.seen_state = Chunk::none;
    t.seen_link = 0;
    if (!t.wrapped || t.position < t.start) return t.refusing ? Step::flag : Step::lock;
    t.wrapped = false;
    if (t.refusing && !t.seen_busy) {
      if (t.fitting != 0) return Step::begin;  // found out there
      t.block = -1;
      return end_call(t);
    }
    t.refusing = true;
    t.seen_busy = false;
    t.position = t.start = 0;
    return Step::flag;
  }
  // The locked chunk is large enough: from here on its units are a block or the rest.
  Step hand_out(State& s, Thread& t, int wanted) {
    const int size = t.seen_link - t.position;
    const bool splits = size > wanted && size >= 2 * wanted;
    t.end = t.seen_link;
    t.next = splits ? Byte(t.position + wanted) : t.end;
    t.seen_link = 0;
    t.seen_state = Chunk::none;
    t.wrapped = t.seen_busy = t.refusing = false;
    t.fitting = 0;
    if (t.next - t.position < wanted) wrong_ = "a block is too small";
    if ((s.live & mask(t.position, t.next)) != 0) wrong_ = "a unit is handed out twice";
    s.live |= mask(t.position, t.next);
    if (!splits) return Step::flag_of_block;
    if (two_words_) return Step::link_of_rest;
    return bug_ == Bug::link_before_header ? Step::link_to_rest : Step::busy_of_rest;
  }

  // Makes the thread's step and returns its next one.
  Step next(State& s, Thread& t, int wanted, int choice) {
    Header& h = s.header[t.position];
    switch (t.next_step) {
      case Step::begin:
        if (t.fitting != 0) {
          wrong_ = "a request is refused although there is memory";
          return Step::begin;
        }
        if (wanted == 0) {
          if (t.block < 0) return end_call(t);  // was refused
          t.position = t.block;
          t.end = s.header[t.block].link;
          return Step::lock_next;
        }
        t.fitting = mask(0, units_);
        t.position = t.start = my_offset(s, t);
        return Step::lock;
      case Step::flag:
        t.seen_state = h.state;
        if (two_words_) return Step::link;
        t.seen_link = h.link;
        return decide(t, wanted);
      case Step::link:
        t.seen_link = h.link;
        return other_ == TwoWordBug::flag_is_not_read_again ? decide(t, wanted) : Step::flag_again;
      case Step::flag_again:
        if (h.state != t.seen_state) t.seen_state = Chunk::busy;
        return other_ == TwoWordBug::link_is_not_compared ? decide(t, wanted) : Step::link_again;
      case Step::link_again:
        if (h.link != t.seen_link) t.seen_state = Chunk::busy;
        return decide(t, wanted);
      case Step::lock:
        if (h.state != Chunk::free) {
          if (t.refusing) return hop(t, wanted);  // with the header that was read before
          t.seen_state = h.state;
          if (two_words_) return Step::old_link;
          t.seen_link = h.link;
          return hop(t, wanted);
        }
        h.state = Chunk::busy;
        t.seen_state = Chunk::free;
        if (other_ != TwoWordBug::link_is_not_read_again || !t.refusing) t.seen_link = h.link;
        return is_large(t, wanted) || (t.refusing && bug_ == Bug::size_is_not_rechecked)
                   ? hand_out(s, t, wanted)
                   : Step::unlock;
      case Step::old_link: {
        std::vector<int> links;
        for (int to = 0; to <= units_; ++to) {
          if ((h.links >> to & 1) != 0) links.push_back(to);
        }
        choices_ = static_cast<int>(links.size());
        t.seen_link = Byte(links[static_cast<std::size_t>(choice)]);
        return hop(t, wanted);
      }
      case Step::unlock:
        h.state = Chunk::free;
        return hop(t, wanted);

      // ---- take()
      case Step::busy_of_rest:
        if (bug_ != Bug::rest_is_not_busy) {
          s.header[t.next].set_link(t.end);
          s.header[t.next].state = Chunk::busy;
        }
        choices_ = 2;
        return choice == 0 ? Step::header_of_rest : Step::link_to_rest;
      case Step::header_of_rest:
        s.header[t.next].set_link(t.end);
        s.header[t.next].state = Chunk::free;
        return after_one(t, Step::link_to_rest);
      case Step::link_of_rest:
        if (bug_ != Bug::link_before_header) s.header[t.next].set_link(t.end);
        choices_ = 2;
        return other_ == TwoWordBug::used_before_link ? Step::flag_of_block
               : choice == 0                          ? Step::flag_of_rest
                                                      : Step::link_to_rest;
      case Step::flag_of_rest:
        if (bug_ == Bug::link_before_header) s.header[t.next].set_link(t.end);
        s.header[t.next].state = Chunk::free;
        return after_one(t, Step::link_to_rest);
      case Step::link_to_rest:
        h.set_link(t.next);
        if (!two_words_) h.state = Chunk::used;
        return after_one(t, two_words_ ? Step::flag_of_rest : Step::header_of_rest);
      case Step::flag_of_block:
        h.state = Chunk::used;
        return other_ == TwoWordBug::used_before_link && t.next != t.end && h.link != t.next
                   ? Step::flag_of_rest
                   : Step::store_offset;
      case Step::store_offset:
        my_offset(s, t) = t.next;
        t.block = t.position;
        return end_call(t);

      // ---- deallocate()
      case Step::lock_next: {
        Header& next = s.header[t.end];
        if (next.state != Chunk::free) return Step::publish_free;
        t.next = next.link;
        if (bug_ != Bug::merge_without_lock) next.state = Chunk::busy;
        if (!two_words_) return Step::free_offset;
        return other_ == TwoWordBug::link_before_busy ? Step::skip_next : Step::mark_busy;
      }
      case Step::mark_busy:
        h.state = Chunk::busy;
        return other_ == TwoWordBug::link_before_busy ? Step::free_offset : Step::skip_next;
      case Step::skip_next:
        h.set_link(t.next);
        return other_ == TwoWordBug::link_before_busy ? Step::mark_busy : Step::free_offset;
      case Step::free_offset:
        my_offset(s, t) = t.next;
        return Step::publish_free;
      case Step::publish_free:
        s.live &= static_cast<std::uint8_t>(~mask(t.position, t.end));
        if (t.next != 0) h.set_link(t.next);
        h.state = Chunk::free;
        t.block = -1;
        return end_call(t);
    }
    return t.next_step;
  }
  // After one of the unordered stores comes the other one, then the next store.
  Step after_one(Thread& t, Step other) const {
    t.half = !t.half;
    return t.half ? other : two_words_ ? Step::flag_of_block : Step::store_offset;
  }

  bool two_words_;
  Setting setting_;
  Bug bug_;
  TwoWordBug other_;
  int units_ = 0;
};

// One chunk is split and merged again; chunks are merged at which the other thread's walk begins;
// three threads want more than there is; the chunk that a refusing search has found is split before
// it is locked; a chunk is split where there are old headers; the rest of a chunk is taken and
// merged with the chunk behind it while a third thread walks there.
const std::vector<Setting> settings{
    {{4}, {0, 0}, {{1, 0, 2}, {1, 0}}},       {{2, 2}, {2, 0}, {{2}, {2, 0, 4, 0}}},
    {{1, 1, 1}, {0, 0}, {{2, 0, 3}, {1, 0}}}, {{2, 1}, {0, 0}, {{2, 0}, {1}, {2}}},
    {{2}, {0, 0}, {{2}, {1, 0, 1}, {1, 0}}},  {{4}, {0, 0}, {{1}, {3}}, {1, 2, 2, 4}}},
    // With two words, the second load of both may find the values of the first again.
    settings_of_one_word{{{4}, {0, 0}, {{1, 0, 2, 0}, {1, 0}}},
                         {{1, 3}, {0, 1}, {{1, 0, 1}, {2, 0, 2}}},
                         {{2, 1}, {0, 0}, {{1, 0}, {1, 0}, {1, 0, 2}}}};

std::vector<Setting> all(bool two_words) {
  std::vector<Setting> list = settings;
  if (!two_words) list.insert(list.end(), settings_of_one_word.begin(), settings_of_one_word.end());
  return list;
}

class PublishedListModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Words, PublishedListModel, testing::Bool(),
                         [](const auto& info) { return info.param ? "Two" : "One"; });

TEST_P(PublishedListModel, NothingOverlapsAndNothingIsLost) {
  for (const Setting& setting : all(GetParam())) {
    Model model(GetParam(), setting, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
  }
}

TEST_P(PublishedListModel, BrokenProtocolsAreFoundOut) {
  const auto find = [&](Bug bug, TwoWordBug other = TwoWordBug::no) {
    for (const Setting& setting : all(GetParam())) {
      const std::string found = Model(GetParam(), setting, bug, other).explore();
      if (!found.empty()) return found;
    }
    return std::string();
  };
  const std::string small = "a block is too small",
                    refuses = "a request is refused although there is memory";
  EXPECT_NE(find(Bug::merge_without_lock), "");
  EXPECT_EQ(find(Bug::link_before_header), refuses);
  EXPECT_EQ(find(Bug::busy_is_used), refuses);
  EXPECT_EQ(find(Bug::size_is_not_rechecked), small);
  if (!GetParam()) {
    EXPECT_EQ(find(Bug::rest_is_not_busy), refuses);
    return;
  }
  EXPECT_EQ(find(Bug::no, TwoWordBug::none_is_used), refuses);
  EXPECT_EQ(find(Bug::no, TwoWordBug::flag_is_not_read_again), refuses);
  EXPECT_EQ(find(Bug::no, TwoWordBug::link_is_not_compared), refuses);
  EXPECT_EQ(find(Bug::no, TwoWordBug::link_is_not_read_again), "a unit is handed out twice");
  EXPECT_EQ(find(Bug::no, TwoWordBug::used_before_link), refuses);
  EXPECT_EQ(find(Bug::no, TwoWordBug::link_before_busy), refuses);
}

}  // namespace
}  // namespace heapwood
