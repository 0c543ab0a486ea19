// SPDX-License-Identifier: MIT
// Headers of the circular lists as published (RegEff section 5.2): in the pool, in front of each
// block. A chunk is identified by its position in units of 16 bytes; its header is a flag and a
// link to the next chunk, in two words (CMalloc) or fused into one (CFMalloc). A flag is a state,
// and for a free chunk the grace period after which it may be handed out (Grace).
//
// Differs from the paper: a header occupies the last 8 bytes of a unit, so a fused one has 64 bits
// instead of 32; besides free and used there are two states. busy = locked by a search that may
// unlock it, or being freed: another search that meets a large enough one must look again before it
// refuses. dead = merged with the chunk before it: its link remains valid until all searches have
// left. Only the owner of a chunk stores to a header that is not free. All other threads only
// exchange a free state for a busy one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "alloc/allocator.hpp"
#include "alloc/bulk/rcu.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"

namespace heapwood::alloc::published {

enum class State : std::uint32_t { free, used, busy, dead };

struct Header {
  State state = State::used;
  std::uint32_t period = 0, link = 0;
};

// in_pool: headers lie in front of their blocks, as published. table: they lie in a table beside
// the memory, and never become user data.
enum class Storage { in_pool, table };

namespace flag {
inline constexpr unsigned state_shift = 30;
inline constexpr std::uint32_t period_mask = (1u << state_shift) - 1;
HEAPWOOD_INLINE constexpr std::uint32_t of(State state, std::uint32_t period) {
  return static_cast<std::uint32_t>(state) << state_shift | period;
}
HEAPWOOD_INLINE constexpr State state(std::uint32_t flag) {
  return static_cast<State>(flag >> state_shift);
}
}  // namespace flag

// Where headers lie. A header has 8 bytes in both representations: {link:32, flag:32}.
template <Storage storage>
struct HeaderLayout {
  static constexpr std::size_t stride = storage == Storage::in_pool ? granule : 8;
  std::byte* first = nullptr;  // the header at position 0

  HEAPWOOD_INLINE std::byte* address(std::uint32_t position) const {
    return first + std::size_t{position} * stride;
  }
  // Decodes a copy of the header's 8 bytes.
  static Header decode(const std::byte* copy) {
    std::uint32_t words[2];
    std::memcpy(words, copy, sizeof(words));
    return {flag::state(words[1]), words[1] & flag::period_mask, words[0]};
  }
};

// CFMalloc's form: flag and link in one word. One access reads or changes both.
template <Storage storage>
struct FusedHeaders : HeaderLayout<storage> {
  // Writes a header that only the caller can reach.
  HEAPWOOD_INLINE void init(std::uint32_t position, State state, std::uint32_t link) const {
    store(position, state, 0, link, simt::relaxed);
  }
  // Locks the chunk if it is free, whatever its size, and reads its header as it was.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    // acquire: synchronizes with the last owner's release and the header at the link.
    std::uint64_t seen = word(position).load(simt::acquire);
    HEAPWOOD_ROLLED
    while (unpacked(seen).state == State::free) {
      h = unpacked(seen);
      // acquire, both: synchronizes with the last owner, and with the initialization of the linked
      // header.
      if (word(position).compare_exchange_strong(seen, packed(State::busy, 0, h.link),
                                                 simt::acquire, simt::acquire))
        return true;
    }
    h = unpacked(seen);
    return false;
  }
  // Flag and link as they were together at one moment.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    return unpacked(word(position).load(simt::acquire));  // acquire: see try_lock
  }
  // relaxed: only the chunk's owner stores to its link.
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return unpacked(word(position).load(simt::relaxed)).link;
  }
  // Called by the owner. release: publishes the header at the link, and a free chunk's memory.
  HEAPWOOD_INLINE void publish(std::uint32_t position, State state, std::uint32_t period,
                               std::uint32_t link) const {
    store(position, state, period, link, simt::release);
  }

 private:
  static HEAPWOOD_INLINE std::uint64_t packed(State state, std::uint32_t period,
                                              std::uint32_t link) {
    return std::uint64_t{flag::of(state, period)} << 32 | link;
  }
  static HEAPWOOD_INLINE Header unpacked(std::uint64_t word) {
    return {flag::state(high(word)), high(word) & flag::period_mask, low(word)};
  }
  HEAPWOOD_INLINE Word64 word(std::uint32_t position) const {
    return Word64(*as<std::uint64_t>(this->address(position)));
  }
  HEAPWOOD_INLINE void store(std::uint32_t position, State state, std::uint32_t period,
                             std::uint32_t link, cuda::memory_order order) const {
    word(position).store(packed(state, period, link), order);
  }
};

// CMalloc's form: two words that change one after the other.
template <Storage storage>
struct TwoWordHeaders : HeaderLayout<storage> {
  HEAPWOOD_INLINE void init(std::uint32_t position, State state, std::uint32_t link) const {
    link_at(position).store(link, simt::relaxed);
    flag_at(position).store(flag::of(state, 0), simt::relaxed);
  }
  // In the published order: exchanges the flag first, then reads the link.
  HEAPWOOD_INLINE bool try_lock(std::uint32_t position, Header& h) const {
    std::uint32_t seen = flag::of(State::free, 0);
    HEAPWOOD_ROLLED
    do {
      h.period = seen & flag::period_mask;
      // acquire, both: synchronizes with the last owner's release.
      if (flag_at(position).compare_exchange_strong(seen, flag::of(State::busy, 0), simt::acquire,
                                                    simt::acquire)) {
        h.state = State::free;
        h.link = link_at(position).load(simt::relaxed);  // only this thread may change the link
        return true;
      }
    } while (flag::state(seen) == State::free);
    h = {flag::state(seen), 0, load_link(position)};
    return false;
  }
  // Flag and link as they were at one moment. A header that changes meanwhile counts as busy.
  HEAPWOOD_INLINE Header snapshot(std::uint32_t position) const {
    // acquire: the link is read after the flag, so it is at least as new.
    const std::uint32_t seen = flag_at(position).load(simt::acquire);
    const std::uint32_t link = load_link(position);
    // relaxed: the link was read by an acquire, so this flag is at least as new as the link.
    const bool same = flag_at(position).load(simt::relaxed) == seen;
    return {same ? flag::state(seen) : State::busy, seen & flag::period_mask, link};
  }
  HEAPWOOD_INLINE std::uint32_t link_of_owned(std::uint32_t position) const {
    return link_at(position).load(simt::relaxed);
  }
  HEAPWOOD_INLINE void publish(std::uint32_t position, State state, std::uint32_t period,
                               std::uint32_t link) const {
    // A block that is being freed becomes busy before its link changes, which then leads past the
    // chunk merged with it. In all other cases the link is stored first.
    if (state == State::busy) flag_at(position).store(flag::of(state, period), simt::relaxed);
    // release: publishes the header at the link, and `busy` to a thread that reads this link.
    link_at(position).store(link, simt::release);
    // release: publishes the link, and a free chunk's memory.
    if (state != State::busy) flag_at(position).store(flag::of(state, period), simt::release);
  }

 private:
  HEAPWOOD_INLINE std::uint32_t* words(std::uint32_t position) const {
    return as<std::uint32_t>(this->address(position));
  }
  HEAPWOOD_INLINE Word32 link_at(std::uint32_t position) const {
    return Word32(words(position)[0]);
  }
  HEAPWOOD_INLINE Word32 flag_at(std::uint32_t position) const {
    return Word32(words(position)[1]);
  }
  HEAPWOOD_INLINE std::uint32_t load_link(std::uint32_t position) const {
    return link_at(position).load(simt::acquire);  // acquire: makes the header at the link visible
  }
};

// Grace periods for headers that lie in the pool. A merged chunk has the header of its second half
// in its middle; it is not handed out before all searches that were under way at the merge have
// left. The paper assumes that no thread is stopped for that long between reading a link and
// following it (RegEff section 5.2).
//
// Searches are read sections (alloc/bulk/rcu.hpp) in up to 16 groups; a grace period spans all
// groups. A merged chunk carries the number of the first grace period that begins after the merge.
// The chunk may be handed out once that period has ended. Threads that meet such a chunk begin and
// end periods by polling: no thread waits for another one. Each period begins by moving the offsets
// that lead to a dead header. A thread stores a position to an offset only before the chunk there
// can be merged, so a dead position is never stored after that.
//
// Limits: 2^29 grace periods between a merge and the next use of the chunk.

// The words of a group of readers, stored in the pool and initially zero.
struct alignas(32) GraceGroup {
  RcuState readers;
  std::uint64_t entered;  // readers up to this grace period's begin; `all_left` once they have left
};
struct GraceWords {
  std::uint32_t periods;  // begun and ended: odd during a grace period
  std::uint32_t driver;   // 1 while a thread polls
};

struct Section {
  std::uint32_t group = 0, parity = 0;
};

class Grace {
 public:
  static constexpr std::uint32_t max_groups = 16;

  Grace() = default;
  Grace(GraceWords* words, GraceGroup* groups, std::uint32_t count)
      : words_(words), groups_(groups), count_(count) {}

  template <class Thread>
  HEAPWOOD_INLINE Section enter(Thread& thread) const {
    const std::uint32_t group = thread.sm() % count_;
    return {group, Rcu(&groups_[group].readers).enter()};
  }
  HEAPWOOD_INLINE void leave(Section section) const {
    Rcu(&groups_[section.group].readers).leave(section.parity);
  }

  // The number, never 0, of the period after which a chunk merged just now may be handed out.
  HEAPWOOD_INLINE std::uint32_t reusable_after() const {
    // A read-modify-write, because a load would not order the merge before the next period.
    // release: later readers see the merged list. acquire: keeps the order of earlier merges.
    return first_after(periods().fetch_add(0, simt::acq_rel));
  }
  // Whether a chunk with this period may be handed out: the period has ended, or is 0 (no period).
  HEAPWOOD_INLINE bool has_passed(std::uint32_t period) const {
    // acquire: synchronizes with the end of the period, and so with the searches that have left.
    return period == 0 || ((periods().load(simt::acquire) / 2 - period) & flag::period_mask) <=
                              flag::period_mask / 2;
  }

  // Begins a grace period if none is in progress; otherwise ends it if its readers have left. For
  // threads outside a read section. move_offsets() moves offsets away from dead headers.
  template <class F>
  HEAPWOOD_INLINE void poll(F move_offsets) const {
    const Word32 driver(words_->driver);
    // acquire: makes `entered` visible as the last driver left it.
    if (driver.load(simt::relaxed) != 0 || driver.exchange(1, simt::acquire) != 0) return;
    if ((periods().load(simt::relaxed) & 1) == 0) {
      periods().fetch_add(1, simt::acq_rel);  // acq_rel: see reusable_after()
      move_offsets();
      HEAPWOOD_ROLLED
      for (std::uint32_t g = 0; g < count_; ++g)
        groups_[g].entered = Rcu(&groups_[g].readers).begin_period();
    } else {
      std::uint32_t waiting = 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t g = 0; g < count_; ++g) {
        if (groups_[g].entered == all_left) continue;
        if (Rcu(&groups_[g].readers).is_over(groups_[g].entered)) {
          groups_[g].entered = all_left;
        } else {
          ++waiting;
        }
      }
      // release: synchronizes with has_passed().
      if (waiting == 0) periods().fetch_add(1, simt::acq_rel);
    }
    driver.store(0, simt::release);  // release: publishes `entered`
  }

 private:
  static constexpr std::uint64_t all_left = ~std::uint64_t{0};

  static HEAPWOOD_INLINE std::uint32_t first_after(std::uint32_t periods) {
    const std::uint32_t period = ((periods + 1) / 2 + 1) & flag::period_mask;
    return period == 0 ? 1 : period;  // one period later than necessary
  }
  HEAPWOOD_INLINE Word32 periods() const { return Word32(words_->periods); }

  GraceWords* words_ = nullptr;
  GraceGroup* groups_ = nullptr;
  std::uint32_t count_ = 1;
};

// The initial chunks of a circular list as published. All are free.
//   - Heap (RegEff section 5.2, equation 1): a binary heap of chunks. Level d has 2^d chunks of
//     root/2^d units, so every level totals `root`. The root is as large as the pool allows with
//     the given smallest chunk: 16 bytes or, as in the authors' tests, that of a request. With one
//     offset per multiprocessor there are as many heaps, one after the other.
//   - Uniform (RegEff section 8): as many chunks of one size as fit, each a heap of one level. The
//     offsets are spread evenly over them.
//   - From the root, as in the authors' builders: per offset, as many as fit of 2 chunks for the
//     build's first array, 4 of 0.8 times their size, 8 of 0.64 times, and so on.
// The memory after the heaps is the last chunk. Limits: a uniform list serves no request above its
// chunk, because the last chunk is smaller, until frees have merged chunks.

struct Shape {
  std::uint32_t units = 0;  // of all chunks; also the position of the tail
  std::uint32_t heaps = 1;
  std::uint32_t levels = 0;    // per heap
  std::uint32_t smallest = 1;  // units of a chunk of the last level
  std::uint32_t offsets = 1;   // where searches begin, one every heaps/offsets heaps
  // From the root: units of the first chunk; chunks per offset, and their units.
  std::uint32_t first = 0, chunks = 0, chunk_units = 0;

  static Shape choose(std::uint32_t units, std::uint32_t offsets, std::uint32_t smallest) {
    Shape s{.units = units, .heaps = offsets, .smallest = smallest, .offsets = offsets};
    const std::uint64_t share = units / offsets;
    const auto total = [&](std::uint32_t n) { return n * (std::uint64_t{smallest} << (n - 1)); };
    while (s.levels < 28 && total(s.levels + 1) <= share) ++s.levels;
    return s;
  }

  // A uniform pre-split: chunks of `chunk` units, at most `units` together; each has <= 1 offset.
  static Shape uniform(std::uint32_t units, std::uint32_t offsets, std::uint32_t chunk) {
    const std::uint32_t chunks = units / chunk;
    return {.units = units,
            .heaps = chunks,
            .levels = 1,
            .smallest = chunk,
            .offsets = offsets < chunks ? offsets : chunks};
  }

  static Shape from_root(std::uint32_t units, std::uint32_t offsets, std::uint32_t first) {
    Shape s{.units = units, .heaps = offsets, .offsets = offsets, .first = first};
    for (std::uint32_t n = 2, size = first;; n *= 2, size = next_size(size)) {
      const std::uint32_t fitting = std::min(n, (units / offsets - s.chunk_units) / size);
      s.chunks += fitting;
      s.chunk_units += fitting * size;
      if (fitting < n) return s;
    }
  }
  HEAPWOOD_INLINE static std::uint32_t next_size(std::uint32_t size) {
    return size - size / 5 + (size % 5 <= 2);  // 0.8 of it and a header of half a unit, rounded up
  }

  HEAPWOOD_INLINE std::uint32_t root() const { return levels == 0 ? 0 : smallest << (levels - 1); }
  HEAPWOOD_INLINE std::uint32_t heap_units() const {
    return first != 0 ? chunk_units : levels * root();
  }
  HEAPWOOD_INLINE std::uint32_t heap_chunks() const {
    return first != 0 ? chunks : (1u << levels) - 1;
  }
  HEAPWOOD_INLINE std::uint32_t end_of_heaps() const { return heaps * heap_units(); }
  HEAPWOOD_INLINE std::uint32_t heaps_per_offset() const { return heaps / offsets; }
  // Units between the initial positions of two offsets.
  std::uint32_t units_per_offset() const { return heaps_per_offset() * heap_units(); }

  struct Chunk {
    std::uint32_t position, size;  // units
  };
  // Chunk i of a heap; i counts from 1, as in RegEff's equation 1.
  HEAPWOOD_INLINE Chunk chunk(std::uint32_t heap, std::uint32_t i) const {
    Chunk c{heap * heap_units(), first};
    if (first == 0) {
      const unsigned level = simt::highest_bit(i);
      c.size = root() >> level;
      c.position += level * root() + (i - (1u << level)) * c.size;
    } else {
      std::uint32_t left = i - 1;
      HEAPWOOD_ROLLED
      for (std::uint32_t n = 2; left >= n; n *= 2, c.size = next_size(c.size)) {
        c.position += n * c.size;
        left -= n;
      }
      c.position += left * c.size;
    }
    return c;
  }
  // The chunks of a heap with at least `wanted` units are 1 ... fits(wanted); none from the root,
  // so that searches draw no chunk.
  HEAPWOOD_INLINE std::uint32_t fits(std::uint32_t wanted) const {
    if (wanted > root()) return 0;
    const unsigned level = simt::highest_bit(root() / wanted);
    return (2u << (level < levels ? level : levels - 1)) - 1;
  }

  // Headers to write: those of the heaps' chunks, of the last chunk and of the tail.
  std::size_t headers() const { return std::size_t{heaps} * heap_chunks() + 2; }
};

// Writes header i, and the position of its previous chunk if headers record that.
template <class Headers, class Previous>
struct WriteHeaders {
  Headers headers;
  Previous previous;
  Shape shape;

  HEAPWOOD_FN void operator()(std::size_t i) const {
    const std::uint32_t chunks = shape.heaps * shape.heap_chunks(), last = shape.end_of_heaps();
    if (i < chunks) {
      const auto heap = static_cast<std::uint32_t>(i / shape.heap_chunks());
      const auto [position, size] =
          shape.chunk(heap, static_cast<std::uint32_t>(i % shape.heap_chunks()) + 1);
      const std::uint32_t next = position + size;
      headers.init(position, State::free, next);
      previous.store(next, position);
      if (i == 0) previous.store(0, 0);
    } else if (i == chunks) {
      if (last == shape.units) return;
      headers.init(last, State::free, shape.units);
      previous.store(shape.units, last);
      if (last == 0) previous.store(0, 0);
    } else {
      headers.init(shape.units, State::used, 0);  // the tail leads back to the start
    }
  }
};

}  // namespace heapwood::alloc::published
