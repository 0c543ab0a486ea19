// SPDX-License-Identifier: MIT
// Model checker for the circular lists as published (alloc/circular_list_published): explores all
// interleavings of two or three threads that allocate and free in a pool of three or four units,
// with an offset for each of two multiprocessors. A step is one access to shared memory; names are
// those used there. Checks in every state that no unit is handed out twice and that no thread reads
// a header where there is user data, at each refusal that no memory was large enough and available
// during the whole call, and in every final state that nothing is lost. The read sections
// (alloc/bulk/rcu.hpp) are modelled as exact counts of readers. The model is sequentially
// consistent: memory orders are covered by ThreadSanitizer. The checker must detect broken versions
// of the protocol.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/exploration.hpp"

namespace heapwood {
namespace {

constexpr int max_units = 4, offsets = 2, max_threads = 3, max_polls = 1;

enum class Bug {
  no,
  reuse_at_once,              // merged chunks wait for no grace period
  period_before_merge,        // the period is read before the link leads past the merged chunk
  period_in_progress_counts,  // a period that began before the merge counts
  offsets_not_moved,          // offsets are not moved away from dead headers
  sections_before_offsets,    // the new sections begin before offsets are moved
  offset_after_free,          // the offset is stored after the merged chunk is free
  link_before_header,         // the link to the rest of a split chunk precedes its header
  offset_before_link,         // the offset leads to the rest before the chunk before it does
  merge_without_lock,
  busy_is_used,           // a search refuses although it has met a large enough busy chunk
  flag_is_not_read_again  // only for headers of two words
};
enum class Form { fused, two_words };
enum class Chunk : std::int8_t { free, used, busy, dead };

enum class Step : std::int8_t {
  begin,
  // search() and lap()
  offset,
  flag,
  link,
  flag_again,
  lock,
  passed,
  restore,
  leave,
  // take()
  init_rest,
  link_rest,
  publish_link,
  publish_flag,
  free_rest,
  store_offset,
  leave_with_block,
  // Grace::poll()
  poll,
  begin_period,
  read_offset,
  follow,
  move_offset,
  begin_sections,
  check_sections,
  end_period,
  end_poll,
  // deallocate()
  lock_next,
  mark_busy,
  skip_next,
  kill_next,
  free_offset,
  read_period,
  publish_free,
  late_offset
};

struct Header {
  Chunk state = Chunk::used;
  Byte periods_left = 0;  // grace periods that have to end before the chunk may be handed out
  Byte link = 0;
  bool exists = false;  // false: user data, or never written
};

struct Thread {
  Byte call = 0, block = -1;
  Step next_step = Step::begin;
  Byte position = 0, end = 0, start = 0, section = 0, periods_left = 0, polls = 0, next = 0, o = 0;
  Header seen = {};
  bool refusing = false, wrapped = false, seen_busy = false, merges = false;
  // This chunk is merged and not reusable; the call has met such a chunk; the lap stops at one.
  bool pending = false, merged = false, stops = false;
  // Units that have been part of large enough free memory at every moment since the call began.
  std::uint8_t fitting = 0;
};

struct State {
  Header header[max_units + 1];
  std::uint8_t live = 0;  // units
  Byte offset[offsets] = {0, 0}, inside[2] = {0, 0}, parity = 0;
  bool grace = false, driver = false;
  Thread thread[max_threads];
};

struct Setting {
  std::vector<int> chunks;
  Byte begins[offsets];
  std::vector<std::vector<int>> programs;
  bool begun = false;  // the second thread has locked the first chunk for its request
};

// A program: n > 0 requests n units, 0 frees the thread's block.
class Model : public ProgramModel<State, int> {
 public:
  Model(Form form, const Setting& setting, Bug bug)
      : ProgramModel(setting.programs), form_(form), setting_(setting), bug_(bug) {
    for (const int size : setting.chunks) units_ += size;
  }

 private:
  State start() override {
    State first;
    int position = 0;
    for (const int size : setting_.chunks) {
      first.header[position] = {Chunk::free, 0, Byte(position + size), true};
      position += size;
    }
    first.header[position] = {Chunk::used, 0, 0, true};
    std::copy(std::begin(setting_.begins), std::end(setting_.begins), first.offset);
    if (setting_.begun) {
      Thread& t = first.thread[1];
      t.seen = first.header[0];
      first.header[0].state = Chunk::busy;
      ++first.inside[0];
      t.next_step = hand_out(first, t, programs_[1][0]);
    }
    return first;
  }
  bool step(State& s, int thread, int) override {
    Thread& t = s.thread[thread];
    t.next_step = next(s, t, call_of(s, thread));
    note_fitting(s);
    return true;
  }
  static std::uint8_t mask(int from, int to) {
    return static_cast<std::uint8_t>((1 << to) - (1 << from));
  }

  // Every chunk is a block or free, none is lost, and the offset leads to a header.
  void check_end(const State& s) override {
    int position = 0;
    std::uint8_t live = 0;
    while (position < units_ && s.header[position].exists && s.header[position].link > position &&
           (s.header[position].state == Chunk::free || s.header[position].state == Chunk::used)) {
      if (s.header[position].state == Chunk::used) live |= mask(position, s.header[position].link);
      position = s.header[position].link;
    }
    if (position != units_ || s.live != live) wrong_ = "memory is lost";
    for (const int offset : s.offset) {
      if (!s.header[offset].exists) wrong_ = "an offset leads into user data";
    }
    if (s.inside[0] != 0 || s.inside[1] != 0) wrong_ = "a section has not been left";
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
        if (next <= position) break;  // is being written
        int first = position;         // not live: of a chunk that is being split, the rest
        while (first < next && (s.live >> first & 1) != 0) ++first;
        if (next - first >= wanted) now |= mask(first, next);
      }
      t.fitting &= now;
    }
  }

  // The first thread runs on the first multiprocessor.
  static Byte& my_offset(State& s, const Thread& t) { return s.offset[&t == &s.thread[0] ? 0 : 1]; }
  Header& header(State& s, int position) {
    if (!s.header[position].exists) wrong_ = "a header is read where there is user data";
    return s.header[position];
  }
  static Step end_call(Thread& t) {
    t = {.call = Byte(t.call + 1), .block = t.block};
    return Step::begin;
  }
  static bool is_large(const Thread& t, int wanted) { return t.seen.link - t.position >= wanted; }
  // A chunk was read: t.seen is its header.
  Step decide(Thread& t, int wanted) {
    const bool locks = t.refusing && is_large(t, wanted) && t.seen.state == Chunk::free;
    return locks ? Step::lock : hop(t, wanted);
  }
  Step hop(Thread& t, int wanted) {
    if (is_large(t, wanted) && t.seen.state != Chunk::used && bug_ != Bug::busy_is_used)
      t.seen_busy = true;
    if (t.seen.link < t.position) t.wrapped = true;
    if (t.wrapped && t.seen.link >= t.start) return Step::leave;
    t.position = t.seen.link;
    return t.refusing ? Step::flag : Step::lock;
  }
  static void set_free(Header& h, Byte periods) {
    h.state = Chunk::free;
    h.periods_left = periods;
  }

  // Makes the thread's step and returns its next one.
  Step next(State& s, Thread& t, int wanted) {
    switch (t.next_step) {
      case Step::begin:
        if (wanted == 0) {
          if (t.block < 0) return end_call(t);  // was refused
          t.position = t.block;
          t.end = s.header[t.block].link;
          return Step::lock_next;
        }
        if (t.block >= 0) return end_call(t);  // has polled after it found the block
        if (t.fitting == 0 && t.polls == 0 && !t.refusing && !t.merged)
          t.fitting = mask(0, units_);  // at the first turn of the call
        t.stops = t.merged && t.polls < max_polls;
        t.section = s.parity;
        ++s.inside[t.section];
        return Step::offset;
      case Step::offset:
        t.position = t.start = t.refusing ? Byte{0} : my_offset(s, t);
        t.wrapped = t.seen_busy = false;
        return t.refusing ? Step::flag : Step::lock;
      case Step::flag:
        t.seen = header(s, t.position);
        return form_ == Form::two_words ? Step::link : decide(t, wanted);
      case Step::link:
        t.seen.link = header(s, t.position).link;
        if (!t.refusing) return hop(t, wanted);
        return bug_ == Bug::flag_is_not_read_again ? decide(t, wanted) : Step::flag_again;
      case Step::flag_again: {
        const Header& h = header(s, t.position);
        if (h.state != t.seen.state || h.periods_left != t.seen.periods_left)
          t.seen.state = Chunk::busy;
        return decide(t, wanted);
      }
      case Step::lock: {
        Header& h = header(s, t.position);
        t.seen = h;
        if (h.state != Chunk::free) return form_ == Form::two_words ? Step::link : hop(t, wanted);
        h.state = Chunk::busy;
        h.periods_left = 0;
        t.pending = false;
        return is_large(t, wanted) ? Step::passed : Step::restore;
      }
      case Step::passed:
        if (t.seen.periods_left == 0 || bug_ == Bug::reuse_at_once) return hand_out(s, t, wanted);
        t.pending = t.merged = true;
        return Step::restore;
      case Step::restore:
        set_free(header(s, t.position), t.seen.periods_left);
        if (t.pending && t.stops) return Step::leave;
        t.pending = false;
        return hop(t, wanted);
      case Step::leave:
        --s.inside[t.section];
        t.position = t.end = t.start = t.section = 0;
        t.seen = {};
        t.wrapped = false;
        return after_leaving(t);

      // ---- take()
      case Step::init_rest:
        s.header[t.next] = {bug_ == Bug::offset_before_link ? Chunk::free : Chunk::busy, 0, t.end,
                            true};
        return bug_ == Bug::link_before_header   ? Step::publish_flag
               : bug_ == Bug::offset_before_link ? Step::store_offset
                                                 : first_of_publish();
      case Step::link_rest:
        header(s, t.position).link = t.next;
        return Step::init_rest;
      case Step::publish_link:
        header(s, t.position).link = t.next;
        return Step::publish_flag;
      case Step::publish_flag:
        header(s, t.position).link = t.next;
        header(s, t.position).state = Chunk::used;
        return bug_ == Bug::offset_before_link ? Step::leave_with_block
               : t.next != t.end               ? Step::free_rest
                                               : Step::store_offset;
      case Step::free_rest:
        header(s, t.next).state = Chunk::free;
        return Step::store_offset;
      case Step::store_offset:
        my_offset(s, t) = t.next;
        return bug_ == Bug::offset_before_link ? first_of_publish() : Step::leave_with_block;
      case Step::leave_with_block:
        --s.inside[t.section];
        t.block = t.position;
        if (!t.merged) return end_call(t);
        t = {.call = t.call, .block = t.block};
        return Step::poll;

      // ---- Grace::poll()
      case Step::poll:
        if (s.driver) return Step::begin;
        s.driver = true;
        return s.grace ? Step::check_sections : Step::begin_period;
      case Step::begin_period:
        s.grace = true;
        return bug_ == Bug::sections_before_offsets || bug_ == Bug::offsets_not_moved
                   ? Step::begin_sections
                   : Step::read_offset;
      case Step::read_offset:
        t.position = t.next = s.offset[t.o];
        return Step::follow;
      case Step::follow:
        if (header(s, t.next).state != Chunk::dead) return Step::move_offset;
        t.next = header(s, t.next).link;
        return Step::follow;
      case Step::move_offset:
        if (s.offset[t.o] == t.position) s.offset[t.o] = t.next;
        t.position = t.next = 0;
        if (++t.o < offsets) return Step::read_offset;
        t.o = 0;
        return bug_ == Bug::sections_before_offsets ? Step::end_poll : Step::begin_sections;
      case Step::begin_sections:
        s.parity = 1 - s.parity;
        return bug_ == Bug::sections_before_offsets ? Step::read_offset : Step::end_poll;
      case Step::check_sections:
        return s.inside[1 - s.parity] == 0 ? Step::end_period : Step::end_poll;
      case Step::end_period:
        s.grace = false;
        for (Header& h : s.header) h.periods_left -= h.periods_left > 0;
        for (Thread& other : s.thread) {
          other.periods_left -= other.periods_left > 0;
          other.seen.periods_left -= other.seen.periods_left > 0;
        }
        return Step::end_poll;
      case Step::end_poll:
        s.driver = false;
        t.position = t.next = 0;
        return Step::begin;

      // ---- deallocate()
      case Step::lock_next: {
        Header& h = header(s, t.end);
        t.merges = h.state == Chunk::free;
        if (!t.merges) return Step::publish_free;
        t.next = h.link;
        if (bug_ != Bug::merge_without_lock) h.state = Chunk::busy;
        if (bug_ != Bug::merge_without_lock) h.periods_left = 0;
        return bug_ == Bug::period_before_merge ? Step::read_period : Step::mark_busy;
      }
      case Step::mark_busy:
        s.live &= static_cast<std::uint8_t>(~mask(t.position, t.end));
        header(s, t.position).state = Chunk::busy;
        if (form_ == Form::two_words) return Step::skip_next;
        [[fallthrough]];
      case Step::skip_next:
        header(s, t.position).link = t.next;
        return Step::kill_next;
      case Step::kill_next:
        header(s, t.end).state = Chunk::dead;
        return bug_ == Bug::offset_after_free ? Step::read_period : Step::free_offset;
      case Step::free_offset:
        my_offset(s, t) = t.next;
        return bug_ == Bug::period_before_merge ? Step::publish_free : Step::read_period;
      case Step::read_period:
        t.periods_left = s.grace && bug_ != Bug::period_in_progress_counts ? 2 : 1;
        return bug_ == Bug::period_before_merge ? Step::mark_busy : Step::publish_free;
      case Step::publish_free:
        if (!t.merges) s.live &= static_cast<std::uint8_t>(~mask(t.position, t.end));
        set_free(header(s, t.position), t.periods_left);
        t.block = -1;
        return bug_ == Bug::offset_after_free && t.merges ? Step::late_offset : end_call(t);
      case Step::late_offset:
        my_offset(s, t) = t.next;
        return end_call(t);
    }
    return t.next_step;
  }
  Step after_leaving(Thread& t) {
    const bool seen_busy = t.seen_busy;
    t.seen_busy = false;
    if (t.pending) {
      ++t.polls;
      t.pending = false;
      return Step::poll;
    }
    if (!t.refusing) {
      t.refusing = !t.merged || t.stops || t.polls > 0;
      return t.merged ? Step::poll : Step::begin;
    }
    if (seen_busy) return Step::poll;
    if (t.fitting != 0) wrong_ = "a request is refused although there is memory";
    t.block = -1;
    return end_call(t);
  }

  // The locked chunk is large enough: from here on its units are a block or the rest.
  Step hand_out(State& s, Thread& t, int wanted) {
    const int position = t.position, size = t.seen.link - position;
    const bool splits = size > wanted && size >= 2 * wanted;
    t.end = t.seen.link;
    t.next = splits ? position + wanted : t.seen.link;
    if ((s.live & mask(position, t.next)) != 0) wrong_ = "a unit is handed out twice";
    s.live |= mask(position, t.next);
    // The headers of chunks merged before become user data.
    for (int p = position + 1; p < t.end; ++p) s.header[p] = {};
    if (splits) return bug_ == Bug::link_before_header ? Step::link_rest : Step::init_rest;
    return bug_ == Bug::offset_before_link ? Step::store_offset : first_of_publish();
  }
  Step first_of_publish() const {
    return form_ == Form::two_words ? Step::publish_link : Step::publish_flag;
  }

  Form form_;
  Setting setting_;
  Bug bug_;
  int units_ = 0;
};

// One chunk is split and merged again; a chunk dies at which the other thread's walk begins; it
// dies while a thread still has to store its position; three threads want more than there is; the
// rest of a chunk is taken and merged with the chunk behind it while a third thread walks there.
const Setting split_and_merge{{4}, {0, 0}, {{1, 0, 2, 0}, {1, 0}}},
    dead_offset{{2, 2}, {2, 0}, {{2}, {2, 0, 4, 0}}},
    late_offset{{1, 1, 1}, {0, 0}, {{2, 0, 3}, {1, 0}}}, crowd{{2, 1}, {0, 0}, {{2, 0}, {1}, {2}}},
    taken_rest{{2, 1}, {0, 0}, {{1}, {1}, {1, 0, 2}}, true};

TEST(PublishedListModel, NothingOverlapsAndNothingIsLost) {
  for (const Form form : {Form::fused, Form::two_words}) {
    for (const Setting* setting :
         {&split_and_merge, &dead_offset, &late_offset, &crowd, &taken_rest}) {
      // With words that change one after the other, three threads take a million states.
      if (form == Form::two_words && setting->programs.size() > 2) continue;
      Model model(form, *setting, Bug::no);
      EXPECT_EQ(model.explore(), "");
    }
  }
}

TEST(PublishedListModel, BrokenProtocolsAreFoundOut) {
  const auto find = [](Bug bug, const Setting& setting, Form form = Form::fused) {
    return Model(form, setting, bug).explore();
  };
  const std::string reads = "a header is read where there is user data",
                    refuses = "a request is refused although there is memory";
  EXPECT_EQ(find(Bug::reuse_at_once, split_and_merge), reads);
  EXPECT_EQ(find(Bug::period_before_merge, split_and_merge), reads);
  EXPECT_EQ(find(Bug::period_in_progress_counts, split_and_merge), reads);
  EXPECT_EQ(find(Bug::offsets_not_moved, dead_offset), reads);
  EXPECT_EQ(find(Bug::sections_before_offsets, dead_offset), reads);
  EXPECT_EQ(find(Bug::offset_after_free, late_offset), reads);
  EXPECT_EQ(find(Bug::link_before_header, split_and_merge), reads);
  EXPECT_EQ(find(Bug::offset_before_link, taken_rest), reads);
  EXPECT_EQ(find(Bug::merge_without_lock, dead_offset), "a unit is handed out twice");
  EXPECT_EQ(find(Bug::busy_is_used, split_and_merge), refuses);
  EXPECT_EQ(find(Bug::flag_is_not_read_again, split_and_merge, Form::two_words), refuses);
}

}  // namespace
}  // namespace heapwood
