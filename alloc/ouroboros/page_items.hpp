// SPDX-License-Identifier: MIT
// Ouroboros with queues of pages (section 4.1, "P"): the queue of a class has an entry for each of
// its free pages. A bulk semaphore counts them and decides which thread adds a chunk; that thread
// keeps a page and puts the others into the queue.
//
// Differs from the paper:
//   - a failure to get a chunk is reported to the semaphore (published: ignored, after which memory
//     without an owner is written);
//   - a slot of the queue is reserved before a page is put into it, and pages without a slot are
//     kept in lists (PageSpill). They are not units of the semaphore. A thread that finds the
//     queue empty takes a whole list, keeps the pages it needs and puts the others into the queue,
//     for the threads that wait;
//   - places in the queue are reserved before the semaphore is signalled, so that waiting threads
//     have their own slots while the pages are put;
//   - lanes that call together act as one: one wait for all their units, one fetch_add for all
//     their tickets, and they share the work of putting a chunk's pages.
//
// As published, a chunk stays with its class permanently.
#pragma once

#include <algorithm>
#include <cstring>

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/ouroboros/chunks.hpp"
#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

// Free pages for which their class's queue has no slot: one list per chunk, whose links are stored
// in the pages themselves. So a free needs no memory, where the published queues overflow, and a
// queue does not need a slot for every page of its class.
//
// Pages are added one at a time or as a row, and a list is always taken as a whole by one exchange.
// No thread therefore follows a link into a page that it does not own, and no page is reused while
// it is read. The first page, the last page and the length are in one word, so a list is returned
// in part without reading its rest.
//
// One bitmap per class holds the chunks with such pages. The thread that adds the first page of a
// list sets the bit; the thread that takes the bit takes the list, and sets the bit again if it
// returns a part of it. Overhead: 4 bytes and 10 bits per chunk.
class PageSpill {
 public:
  // The bitmaps of these lists are Chunks::map(q).
  std::size_t plan(const Shape& shape, std::size_t offset) {
    lists_at_ = offset;
    return offset + shape.chunks * sizeof(std::uint32_t);
  }

  // Adds pages [i, i + n) of chunk c, of class q; the lanes of the group share the work.
  template <class Thread>
  HEAPWOOD_INLINE void put(const Chunks& chunks, const LaneGroup<Thread>& group, std::uint32_t q,
                           std::uint32_t c, std::uint32_t i, std::uint32_t n) const {
    for (std::uint32_t k = group.rank(); k + 1 < n; k += group.size())
      *link(chunks, q, c, i + k) = i + k + 2;
    group.sync();
    if (group.rank() == 0) add_list(chunks, q, c, make_list(i, i + n - 1, n));
  }

  // Takes the list of one chunk as a whole: {chunk:32, list:32}, or 0 if there are none. Each
  // thread starts at a chunk of its own, so that threads do not contend for the first list.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t take_list(const Chunks& chunks, const Thread& thread,
                                          std::uint32_t q) const {
    const SumMap map = chunks.map(q);
    HEAPWOOD_ROLLED
    for (std::uint32_t c = scaled(seed_of(thread), chunks.shape().chunks);
         (c = map.find(c)) != SumMap::none;) {
      if (map.take(c) == 0) continue;
      // acquire: makes the links visible, and orders the pages' last users before their next ones.
      const std::uint32_t list = Word32(*list_at(chunks, c)).exchange(0, simt::acquire);
      if (list != 0) return std::uint64_t{c} << 32 | list;
    }
    return 0;
  }
  static HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint64_t found) { return high(found); }
  static HEAPWOOD_INLINE std::uint32_t list_of(std::uint64_t found) { return low(found); }
  static HEAPWOOD_INLINE std::uint32_t first_of(std::uint32_t list) {
    return (list & (max_pages - 1)) - 1;
  }
  static HEAPWOOD_INLINE std::uint32_t length_of(std::uint32_t list) {
    return list >> 2 * page_bits;
  }
  // The page that follows `page` in a list that has been taken. The last one has none.
  HEAPWOOD_INLINE std::uint32_t next(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                     std::uint32_t page) const {
    return *link(chunks, q, c, page) - 1;
  }
  // Returns the last n pages of a list, which begin with `page`.
  HEAPWOOD_INLINE void put_back(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                std::uint32_t page, std::uint32_t n, std::uint32_t list) const {
    add_list(chunks, q, c, make_list(page, last_of(list), n));
  }

  // Whether there may be any pages.
  HEAPWOOD_INLINE bool may_have_pages(const Chunks& chunks, std::uint32_t q) const {
    return chunks.map(q).hinted();
  }

  // Calls visit(chunk, page) on the host.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, Visitor visit) const {
    const auto lists = host.read(list_at(chunks, 0), chunks.shape().chunks);
    const auto states = chunks.read_states(host);
    for (std::uint32_t c = 0; c < chunks.shape().chunks; ++c) {
      if (lists[c] == 0) continue;
      const std::uint32_t q = Chunks::kind_of(states[c]) - 1, shift = chunks.shape().page_shift(q);
      const auto copy = host.read(chunks.chunk(c), std::size_t{1} << chunks.shape().chunk_shift);
      for (std::uint32_t page = first_of(lists[c]);;) {
        visit(c, page);
        if (page == last_of(lists[c])) break;
        std::uint32_t next = 0;
        std::memcpy(&next, copy.data() + (std::size_t{page} << shift), sizeof(next));
        page = next - 1;
      }
    }
  }

 private:
  // A list is {length:10, last page:10, first page + 1:10}, or 0 if it is empty. The link of a page
  // is the next page + 1; that of the last page is undefined.
  static constexpr unsigned page_bits = 10;
  static constexpr std::uint32_t max_pages = 1u << page_bits;  // pages per chunk are below this
  static HEAPWOOD_INLINE std::uint32_t make_list(std::uint32_t first, std::uint32_t last,
                                                 std::uint32_t length) {
    return length << 2 * page_bits | last << page_bits | (first + 1);
  }
  static HEAPWOOD_INLINE std::uint32_t last_of(std::uint32_t list) {
    return list >> page_bits & (max_pages - 1);
  }
  HEAPWOOD_INLINE std::uint32_t* list_at(const Chunks& chunks, std::uint32_t c) const {
    return as<std::uint32_t>(chunks.base() + lists_at_) + c;
  }
  static HEAPWOOD_INLINE std::uint32_t* link(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                             std::uint32_t i) {
    return as<std::uint32_t>(chunks.page(c, q, i));
  }

  // Prepends the list to the chunk's present one.
  HEAPWOOD_INLINE void add_list(const Chunks& chunks, std::uint32_t q, std::uint32_t c,
                                std::uint32_t list) const {
    const Word32 word(*list_at(chunks, c));
    std::uint32_t seen = word.load(simt::relaxed), next = 0;
    HEAPWOOD_ROLLED
    do {
      next = list;
      if (seen != 0) {
        *link(chunks, q, c, last_of(list)) = first_of(seen) + 1;
        next = make_list(first_of(list), last_of(seen), length_of(list) + length_of(seen));
      }
      // release: hands pages and links over. As a read-modify-write it continues the release
      // sequence of the pages already there.
    } while (!word.compare_exchange_weak(seen, next, simt::release, simt::relaxed));
    chunks.map(q).set(c);
  }

  std::size_t lists_at_ = 0;
};

template <class Queue>
class PageItems {
 public:
  static constexpr AllocatorSetting settings[3] = {
      chunk_setting, search_setting,
      setting_of<&AllocatorOptions::queue_slots>(
          {.key = "slots",
           .json = "queue_slots",
           .about = "max slots of a class's queue of pages; published: 2000000",
           .min = 32,
           .max = 1 << 28,
           .is_bytes = false})};

  // Sets the parts of the chunks' shape that this type of queue determines. The queue of a class
  // has `queue_slots` slots (at most `max_slots`), rounded up to a power of two or to whole pieces.
  // If that is 0, pieces may occupy 1/32 of the chunks.
  static void choose(Shape& shape, std::size_t pool, std::size_t queue_slots) {
    shape.slots = 32;
    const std::size_t wanted =
        queue_slots != 0 ? std::min(queue_slots, max_slots) : pool / 4096 + 1;
    while (shape.slots < wanted) shape.slots *= 2;
    shape.pieces = Queue::in_pieces ? std::clamp(shape.chunks / 4096, 2u, 64u) : 0;
    shape.max_pieces = shape.pieces + shape.chunks / 32;
    if (queue_slots == 0) return;
    const std::size_t slots_each = std::size_t{1} << (shape.chunk_shift - 2),
                      pieces = std::min<std::size_t>((wanted + slots_each - 1) / slots_each,
                                                     shape.chunks);
    shape.max_pieces = std::max(shape.pieces, static_cast<std::uint32_t>(pieces));
  }
  // Lays out the tables from `offset` on and returns the offset at which they end.
  std::size_t plan(const Shape& shape, std::size_t offset) {
    offset = chunks_.plan(shape, shape.classes(), offset);
    return queue_.plan(shape, true, spill_.plan(shape, offset));
  }
  template <class Device>
  void reset(std::byte* base, const Buddy* buddy, std::byte* memory, const Device& device) {
    chunks_.initialize(base, buddy, memory, device);
    queue_.reset(chunks_, device);
  }

  HEAPWOOD_INLINE const Chunks& chunks() const { return chunks_; }

  // `self` is the copy of this object in device memory, for functions that are not inlined.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(const PageItems* self, Thread& thread, std::uint32_t q) const {
    const LaneGroup<Thread> group(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    const auto answer = static_cast<Units::Wait>(group.once([&] {
      const Units::Wait got =
          units(q).wait(thread, group.size(), chunks_.shape().pages(q), chunks_.exhausted_word());
      return static_cast<std::uint32_t>(got);
    }));
    if (answer == Units::Wait::got) return take(self, thread, group, q);
    return allocate_slow(self, thread, group.lanes(), q, answer == Units::Wait::grow);
  }

  // Frees the page at `offset` in chunk c, of class q.
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(const PageItems* self, Thread& thread, std::uint32_t c,
                                  std::uint32_t offset, std::uint32_t q) const {
    const std::uint32_t i = offset >> chunks_.shape().page_shift(q);
    const LaneGroup<Thread> group(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    const bool has_space = group.once([&] {
      return std::uint32_t{
          queue_.reserve_slots(chunks_, thread, q, group.size(), &self->queue_, &self->chunks_)};
    }) != 0;
    if (!has_space) return spill(self, thread, c, i, q);
    queue_.put(chunks_, thread, group, q, entry_of(c, i), &self->queue_, &self->chunks_);
    group.sync();
    if (group.rank() == 0) units(q).signal(group.size(), 0);
  }
  // Takes a free chunk as pages of class q, all in use. `none` if there is no free chunk.
  template <class Thread>
  static HEAPWOOD_OUTLINE std::uint32_t take_whole_chunk(const PageItems* self, Thread thread,
                                                         std::uint32_t q) {
    const std::uint32_t c = self->chunks_.take(thread);
    // relaxed: the pages are handed out by the caller, not through a queue.
    if (c != Chunks::none) self->chunks_.state(c).store(Chunks::of_kind(q + 1), simt::relaxed);
    return c;
  }
  // Releases memory that is kept although it is free. Queues of pages keep none.
  template <class Thread>
  static HEAPWOOD_INLINE bool collect(const PageItems*, Thread&) {
    return false;
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const Shape& shape = chunks_.shape();
    std::vector<bool> free(std::size_t{shape.chunks} << 9);
    for (std::uint32_t q = 0; q < shape.classes(); ++q) {
      queue_.read(host, chunks_, q, [&](std::uint32_t entry) {
        const std::size_t i = entry >> 1;
        if (entry == Queue::empty || i >= free.size() || free[i]) {
          throw Error(Exit::failed,
                      "ouroboros: queue " + std::to_string(q) + " has no page, or one twice");
        }
        free[i] = true;
      });
    }
    spill_.read(host, chunks_, [&](std::uint32_t c, std::uint32_t i) {
      if (free[(std::size_t{c} << 9) + i])
        throw Error(Exit::failed, "ouroboros: a free page is in two places");
      free[(std::size_t{c} << 9) + i] = true;
    });
    chunks_.walk(
        host, visit, [](std::uint32_t) { return false; },
        [&](std::uint32_t c, std::uint32_t, std::uint32_t i) {
          return !free[(std::size_t{c} << 9) + i];
        });
  }

 private:
  static constexpr std::size_t max_slots = std::size_t{1} << 28;
  using Units = BasicBulkSemaphore<false>;  // pages are handed over in the slots

  // An entry is {chunk:22, page:9, fresh:1}. A fresh page is unused since its chunk was added; the
  // chunk's state hands the earlier accesses to its memory over, once for all pages.
  static constexpr std::uint32_t fresh = 1;
  static HEAPWOOD_INLINE std::uint32_t entry_of(std::uint32_t c, std::uint32_t i) {
    return c << 10 | i << 1;
  }

  HEAPWOOD_INLINE Units units(std::uint32_t q) const {
    return Units(chunks_.word_at(q, Chunks::units));
  }

  // Takes a page for each lane of the group, for which the group holds units.
  template <class Thread>
  HEAPWOOD_INLINE void* take(const PageItems* self, Thread& thread, const LaneGroup<Thread>& group,
                             std::uint32_t q) const {
    const std::uint32_t entry =
        queue_.take(chunks_, thread, group, q, &self->queue_, &self->chunks_);
    if (entry == Queue::empty) return nullptr;
    const std::uint32_t c = entry >> 10;
    if ((entry & fresh) != 0 && !wait_for_chunk(thread, c, q)) return nullptr;
    return chunks_.page(c, q, entry >> 1 & 511);
  }
  // Waits until the thread that adds the chunk has published it. False if aborted.
  template <class Thread>
  HEAPWOOD_INLINE bool wait_for_chunk(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    // acquire: makes the chunk's class visible to the thread that frees the page, and orders the
    // chunk's last users before the page's.
    const auto known = [&] {
      return chunks_.state(c).load(simt::acquire) == Chunks::of_kind(q + 1);
    };
    return simt::wait_until(thread, known);
  }

  // Takes the thread by value: the address of a thread kept in registers must not escape.
  template <class Thread>
  static HEAPWOOD_OUTLINE void spill(const PageItems* self, Thread thread, std::uint32_t c,
                                     std::uint32_t i, std::uint32_t q) {
    const LaneGroup<Thread> single(thread, 1u << thread.lane());
    self->spill_.put(self->chunks_, single, q, c, i, 1);
  }

  // Slow path: the semaphore has told the group to add chunks (`grows`), or that no thread will add
  // any. If there are too few pages for all lanes, the first lanes get those that are free by now.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const PageItems* self, Thread thread,
                                              std::uint32_t lanes, std::uint32_t q, bool grows) {
    LaneGroup<Thread> group(thread, lanes);
    // Pages of the last chunk that this group does not need; other threads wait for them.
    const std::uint32_t pages = self->chunks_.shape().pages(q),
                        after = (0 - group.size()) & (pages - 1);
    std::uint32_t promised = grows ? after : 0, served = 0;
    void* page = nullptr;
    // Take pages that have no slot in the queue.
    if (group.once([&] { return std::uint32_t{self->spill_.may_have_pages(self->chunks_, q)}; }) !=
        0) {
      // A list that has been taken is hidden until its pages are signalled. The promise makes
      // threads that look for one meanwhile wait instead of fail.
      if (!grows && group.rank() == 0) self->units(q).promise(after);
      promised = after;
      page = self->take_spilled(thread, group, q, served, promised);
    }
    // Add chunks for the lanes without a page, or for the threads that were promised pages.
    const bool all_served = served == group.size();
    if (all_served && promised == 0) return page;
    if (!all_served) {
      group = group.part(page != nullptr);
      if (page != nullptr) return page;
    }
    void* const added = self->grow(thread, group, q, all_served ? 0 : group.size(), promised);
    if (all_served) return page;
    page = added;
    // Without a chunk, the first lanes take the units that are free by now.
    group = group.part(page != nullptr);
    if (page != nullptr) return page;
    const bool has_unit =
        group.rank() < group.once([&] { return self->units(q).take_some(group.size()); });
    group = group.part(has_unit);
    return has_unit ? self->take(self, thread, group, q) : nullptr;
  }

  // Takes lists of pages without a slot until each lane has a page and as many others as `promised`
  // are in the queue, or until there are no lists. Returns the lane's page if it is one of the
  // first `served` lanes. Reduces `promised` by what it has signalled. Called on the copy of this
  // object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE void* take_spilled(Thread& thread, const LaneGroup<Thread>& group,
                                     std::uint32_t q, std::uint32_t& served,
                                     std::uint32_t& promised) const {
    void* page = nullptr;
    HEAPWOOD_ROLLED
    while (served < group.size() || promised > 0) {
      const std::uint64_t found = group.once([&] { return spill_.take_list(chunks_, thread, q); });
      if (found == 0) break;
      group.sync();  // makes the acquired links visible to all lanes
      // Divide the list into pages for the group and others for the queue.
      const std::uint32_t c = PageSpill::chunk_of(found), list = PageSpill::list_of(found),
                          count = PageSpill::length_of(list), missing = group.size() - served,
                          own = count < missing ? count : missing, others = count - own;
      const bool queues = others > 0 && group.once([&] {
        return std::uint32_t{queue_.reserve_slots(chunks_, thread, q, others, &queue_, &chunks_)};
      }) != 0;
      // Reserve positions in the queue and signal the units.
      std::uint64_t position = 0;
      if (queues) {
        const std::uint32_t kept = others < promised ? others : promised;
        position = group.once([&] {
          const std::uint64_t first = queue_.reserve(chunks_, q, others);
          units(q).signal(others, kept);
          return first;
        });
        promised -= kept;
      }
      // Walk the list; the lanes take turns in putting its pages.
      std::uint32_t current = PageSpill::first_of(list), turn = missing > 0 ? served : 0;
      HEAPWOOD_ROLLED
      for (std::uint32_t k = 0; k < own + (queues ? others : 0); ++k) {
        const std::uint32_t next = k + 1 < count ? spill_.next(chunks_, q, c, current) : 0;
        group.sync();  // all lanes have read the link, so the page may be written
        if (turn == group.rank()) {
          if (k < own) {
            page = chunks_.page(c, q, current);
          } else {
            queue_.put(chunks_, thread, q, position + (k - own), entry_of(c, current));
          }
        }
        if (++turn == group.size()) turn = 0;
        current = next;
      }
      served += own;
      if (others > 0 && !queues) {
        // The queue has no slot: all of its pages have been signalled, so no thread waits for more.
        if (group.rank() == 0) {
          spill_.put_back(chunks_, q, c, current, others, list);
          if (promised > 0) units(q).signal(0, promised);
        }
        promised = 0;
      }
    }
    return page;
  }

  // Adds as many chunks as hold `needed` pages, which is the size of the group or 0, and at least
  // one. Returns a page for each lane, or nullptr if no chunk was free or no page is needed. Called
  // on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE void* grow(Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q,
                             std::uint32_t needed, std::uint32_t promised) const {
    const std::uint32_t pages = chunks_.shape().pages(q);
    const std::uint32_t i = needed > 0 ? group.rank() & (pages - 1) : group.rank();
    // The first lane of each chunk takes it.
    std::uint32_t c = Chunks::none;
    if (i == 0) c = chunks_.take(thread);
    // release: hands the chunk over to the threads that take its fresh pages.
    if (i == 0 && c != Chunks::none) chunks_.state(c).store(Chunks::of_kind(q + 1), simt::release);
    c = lane_value(thread, group, group.rank() - i, c);
    group.sync();  // makes the chunks visible to all lanes
    // Put the pages after those of the group, all in the last chunk, into the queue or a list.
    const std::uint32_t last = needed > 0 ? (needed - 1) & ~(pages - 1) : 0, kept = needed - last,
                        others = pages - kept;
    const std::uint32_t from = lane_value(thread, group, last, c);
    if (others > 0 && from != Chunks::none) {
      const bool has_space = group.once([&] {
        return std::uint32_t{queue_.reserve_slots(chunks_, thread, q, others, &queue_, &chunks_)};
      }) != 0;
      if (has_space) {
        const std::uint64_t first = group.once([&] {
          const std::uint64_t position = queue_.reserve(chunks_, q, others);
          units(q).signal(others, promised);
          return position;
        });
        promised = 0;
        queue_.put(chunks_, thread, group, q, first, others, entry_of(from, kept) | fresh,
                   entry_of(0, 1));
      } else {
        spill_.put(chunks_, group, q, from, kept, others);
      }
    }
    if (promised != 0 && group.rank() == 0) units(q).signal(0, promised);
    return needed == 0 || c == Chunks::none ? nullptr : chunks_.page(c, q, i);
  }

  Chunks chunks_;
  PageSpill spill_;
  Queue queue_;
};

}  // namespace heapwood::alloc::ouroboros
