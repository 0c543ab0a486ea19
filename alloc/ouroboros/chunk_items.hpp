// SPDX-License-Identifier: MIT
// Ouroboros with queues of chunks (section 4.2, "C"): the queue of a class has an entry for each of
// its chunks with free pages. A bulk semaphore counts the free pages and decides which thread adds
// a chunk; a thread with a unit looks for a chunk that has a page. A chunk whose pages are all free
// becomes free.
//
// Differs from the paper:
//   - a chunk's class, its count of used pages and its membership in the queue share one word,
//     which is only changed by read-modify-writes, so that no chunk is lost or queued twice;
//   - chunks from which pages are being taken are not read in place at the front of the queue, but
//     removed from it and kept in `heads`, up to eight per class. The queue is therefore one of
//     tickets as in page_items.hpp;
//   - an empty chunk leaves its class only when a thread needs a chunk and there is none
//     (reclaim());
//   - lanes that request pages together wait for their units as one; lanes that free pages together
//     signal their units as one, and subtract those of one chunk as one.
//
// Protocol. A page is taken by counting it and then setting a clear bit of the chunk's bitmap; it
// is freed by clearing the bit and then subtracting it from the count: a thread that was counted
// finds a clear bit. `listed` means that the chunk has an entry in the queue of class q, is a head
// of it, or is held by a thread that took it from there. A thread that removes an entry permanently
// clears `listed`, and adds the chunk again if the word shows free pages. A thread that frees the
// first page of a full chunk sets `listed`, and adds the chunk if it was clear. The word orders the
// two, so a chunk with free pages is always found and has exactly one entry. A thread that takes an
// outdated entry removes it.
//
// Limits: an allocation may fail while another thread takes a chunk from its class. Overhead: 8
// bytes per chunk and one bit per 16 bytes.
#pragma once

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

template <class Queue>
class ChunkItems {
 public:
  static constexpr AllocatorSetting settings[2] = {chunk_setting, search_setting};

  // Sets what this type of queue determines of the chunks' shape. Any chunk may be in a queue.
  static void choose(Shape& shape, std::size_t /*pool*/, std::size_t /*queue_slots*/) {
    shape.pieces = Queue::in_pieces ? 2 : 0;
    shape.max_pieces = shape.pieces + (shape.chunks >> (shape.chunk_shift - 2)) + 1;
  }
  // Lays out the tables from `offset` on and returns the offset at which they end.
  std::size_t plan(const Shape& shape, std::size_t offset) {
    offset = round_up(queue_.plan(shape, false, chunks_.plan(shape, 1, offset)), 256);
    masks_at_ = offset;
    mask_words_ = (shape.pages(0) + 63) / 64;
    head_mask_ = 0;
    while ((head_mask_ + 1) * 2 <= Chunks::max_heads && (head_mask_ + 1) * 1024 <= shape.chunks) {
      head_mask_ = head_mask_ * 2 + 1;
    }
    return offset + std::size_t{shape.chunks} * mask_words_ * sizeof(std::uint64_t);
  }
  template <class Device>
  void reset(std::byte* base, const Buddy* buddy, std::byte* memory, const Device& device) {
    chunks_.initialize(base, buddy, memory, device);
    queue_.reset(chunks_, device);
  }

  HEAPWOOD_INLINE const Chunks& chunks() const { return chunks_; }

  // `self` is the copy of this object in device memory, for functions that are not inlined.
  //
  // Lanes that call together wait for their units as one if a chunk has pages for all of them, and
  // then act separately: their chunks differ as soon as malloc and free mix. If each lane waited,
  // the lane that adds a chunk would run only in the pauses of 31 others.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(const ChunkItems* self, Thread& thread, std::uint32_t q) const {
    const std::uint32_t pages = chunks_.shape().pages(q);
    const bool shares_wait = pages >= 32;
    const LaneGroup<Thread> group(thread, shares_wait
                                              ? thread.together(chunks_.word_at(q, Chunks::units))
                                              : single_lane(thread).lanes());
    const auto answer = static_cast<typename Units::Wait>(group.once([&] {
      return static_cast<std::uint32_t>(
          units(q).wait(thread, group.size(), pages, chunks_.exhausted_word()));
    }));
    if (answer != Units::Wait::got)
      return allocate_slow(self, thread, group.lanes(), q, answer == Units::Wait::grow);
    // Fast path: the head for this thread has a page, and at least one more.
    const std::uint32_t own = thread.worker() & head_mask_;
    // relaxed: only selects a chunk, whose state orders all accesses to it.
    const std::uint64_t seen = chunks_.word(q, Chunks::heads + own).load(simt::relaxed);
    std::uint32_t before = none;
    if (seen != 0) {
      const std::uint32_t c = low(seen) - 1;
      before = reserve(c, q);
      if (before != none && before + 1 < pages) return page_of(self, thread, c, q, before);
    }
    return allocate_from_queue(self, thread, q, own, seen, before);
  }

  // Frees the page at `offset` in chunk c, of class q.
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(const ChunkItems* self, Thread& thread, std::uint32_t c,
                                  std::uint32_t offset, std::uint32_t q) const {
    const std::uint32_t i = offset >> chunks_.shape().page_shift(q);
    // release: hands the page over to the thread that sets this bit.
    mask(c, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
    // The semaphore is signalled before the pages are subtracted from the count, because retire()
    // needs their units. A thread that gets a unit before the page is free waits for this thread.
    const LaneGroup<Thread> class_mates(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    if (class_mates.rank() == 0) units(q).signal(class_mates.size(), 0);
    class_mates.sync();
    const LaneGroup<Thread> chunk_mates(thread, thread.together(masks_of(c)));
    // Orders these lanes' accesses to their pages before the release in release_pages().
    chunk_mates.sync();
    if (chunk_mates.rank() == 0) release_pages(self, thread, c, chunk_mates.size());
  }
  // Takes a free chunk as pages of class q, all in use. `none` if there is no free chunk.
  template <class Thread>
  static HEAPWOOD_OUTLINE std::uint32_t take_whole_chunk(const ChunkItems* self, Thread thread,
                                                         std::uint32_t q) {
    return self->new_chunk(thread, q, self->chunks_.shape().pages(q));
  }
  // Frees empty chunks that their classes have kept. Returns false if there are none.
  template <class Thread>
  static HEAPWOOD_OUTLINE bool collect(const ChunkItems* self, Thread thread) {
    bool any = false;
    HEAPWOOD_ROLLED
    for (std::uint32_t c; (c = reclaim(self, thread)) != Chunks::none; any = true)
      self->chunks_.give_back(c);
    return any;
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const Shape& shape = chunks_.shape();
    const auto states = chunks_.read_states(host);
    const auto masks = host.read(masks_of(0), std::size_t{shape.chunks} * mask_words_);
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
      std::uint32_t used = 0;
      for (std::uint32_t w = 0; w < mask_words_; ++w)
        used += simt::popcount(masks[c * mask_words_ + w]);
      if (used != count_of(states[c])) {
        throw Error(Exit::failed, "ouroboros: chunk " + std::to_string(c) + " counts " +
                                      std::to_string(count_of(states[c])) +
                                      " pages in use, its bitmap has " + std::to_string(used));
      }
    }
    chunks_.walk(
        host, visit, [&](std::uint32_t c) { return count_of(states[c]) == 0; },
        [&](std::uint32_t c, std::uint32_t, std::uint32_t i) {
          return (masks[std::size_t{c} * mask_words_ + i / 64] >> i % 64 & 1) != 0;
        });
  }

 private:
  using Units = BasicBulkSemaphore<false>;  // pages are handed over by their bits
  static constexpr std::uint32_t none = ~0u;

  // Parts of a chunk's state: the number of used pages, and two bits per class: `listed`, and
  // whether the class's queue has a slot for the chunk.
  static HEAPWOOD_INLINE std::uint32_t count_of(std::uint64_t state) { return low(state); }
  static HEAPWOOD_INLINE std::uint64_t listed(std::uint32_t q) {
    return std::uint64_t{1} << (32 + q);
  }
  static HEAPWOOD_INLINE std::uint64_t has_slot(std::uint32_t q) {
    return std::uint64_t{1} << (43 + q);
  }
  HEAPWOOD_INLINE bool has_pages(std::uint64_t state, std::uint32_t q) const {
    return Chunks::kind_of(state) == q + 1 && count_of(state) < chunks_.shape().pages(q);
  }

  HEAPWOOD_INLINE Units units(std::uint32_t q) const {
    return Units(chunks_.word_at(q, Chunks::units));
  }
  HEAPWOOD_INLINE SumMap empties() const { return chunks_.map(0); }
  HEAPWOOD_INLINE std::uint64_t* masks_of(std::uint32_t c) const {
    return as<std::uint64_t>(chunks_.base() + masks_at_) + std::size_t{c} * mask_words_;
  }
  HEAPWOOD_INLINE Word64 mask(std::uint32_t c, std::uint32_t w) const {
    return Word64(masks_of(c)[w]);
  }

  // Counts a page of class q in the chunk. Returns the previous count, or `none` if all pages were
  // counted or the chunk has another class; the page then remains counted until release_pages().
  HEAPWOOD_INLINE std::uint32_t reserve(std::uint32_t c, std::uint32_t q) const {
    // acquire: the chunk may have had another class; synchronizes with the last users of its pages.
    const std::uint64_t old = chunks_.state(c).fetch_add(1, simt::acquire);
    return has_pages(old, q) ? count_of(old) : none;
  }

  // Returns a page to a thread that was counted after `before` others; nullptr if aborted.
  template <class Thread>
  HEAPWOOD_INLINE void* page_of(const ChunkItems* self, Thread& thread, std::uint32_t c,
                                std::uint32_t q, std::uint32_t before) const {
    // As long as no page is freed, page number `before` is the first free one.
    const std::uint64_t bit = std::uint64_t{1} << before % 64;
    // acquire: synchronizes with the last user of the page.
    const std::uint64_t taken = mask(c, before / 64).fetch_or(bit, simt::acquire);
    return (taken & bit) == 0 ? chunks_.page(c, q, before)
                              : find_other_page(self, thread, c, q, before / 64, taken);
  }
  // Finds any other free page. `taken`: pages of word w of the bitmap that were in use.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* find_other_page(const ChunkItems* self, Thread thread,
                                                std::uint32_t c, std::uint32_t q, std::uint32_t w,
                                                std::uint64_t taken) {
    const std::uint32_t page_count = self->chunks_.shape().pages(q), words = (page_count + 63) / 64;
    HEAPWOOD_ROLLED
    for (std::uint32_t turn = 0;;) {
      // Bits for which there are no pages.
      if (page_count < 64) taken |= ~std::uint64_t{0} << page_count;
      if (~taken != 0) {
        const unsigned bit = simt::lowest_bit(~taken);
        const std::uint64_t mine = std::uint64_t{1} << bit;
        // acquire: synchronizes with the last user of the page.
        taken = self->mask(c, w).fetch_or(mine, simt::acquire);
        if ((taken & mine) == 0) return self->chunks_.page(c, q, w * 64 + bit);
      } else {
        w = w + 1 == words ? 0 : w + 1;
        taken = self->mask(c, w).load(simt::relaxed);
        if (++turn % words == 0) {
          // The page stays counted: the pool is not used after an aborted launch.
          if (thread.aborted()) return nullptr;
          thread.pause(turn / words);
        }
      }
    }
  }

  // Subtracts n freed pages from the chunk's count.
  template <class Thread>
  HEAPWOOD_INLINE void release_pages(const ChunkItems* self, Thread& thread, std::uint32_t c,
                                     std::uint32_t n) const {
    // release: hands the pages to the next thread that is counted or changes the chunk's class.
    const std::uint64_t old = chunks_.state(c).fetch_sub(n, simt::release);
    const std::uint32_t q = Chunks::kind_of(old) - 1;
    if (q >= chunks_.shape().classes()) return;
    if (!has_pages(old, q) && has_pages(old - n, q) && (old & listed(q)) == 0)
      add_to_queue(self, thread, c, q);
    // SumMap::set() is a read-modify-write: a thread that takes the bit later sees the new count.
    if (count_of(old) == n) empties().set(c);
  }

  // Adds the chunk to the queue of class q, unless it is listed there.
  template <class Thread>
  static HEAPWOOD_OUTLINE void add_to_queue(const ChunkItems* self, Thread thread, std::uint32_t c,
                                            std::uint32_t q) {
    // relaxed, wherever `listed` is changed: it orders no accesses outside this word.
    const std::uint64_t old = self->chunks_.state(c).fetch_or(listed(q), simt::relaxed);
    if ((old & listed(q)) == 0) self->push(thread, c, q);
  }
  // Puts chunk c into the queue of class q. Called on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE void push(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    queue_.put(chunks_, thread, single_lane(thread), q, c, &queue_, &chunks_);
    chunks_.word(q, Chunks::ready).fetch_add(1, simt::relaxed);
  }
  // Takes a chunk from the queue of class q. Returns `none` if the queue has none at the moment, or
  // if the launch is aborted. Called on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t pop(Thread& thread, std::uint32_t q) const {
    const Word64 ready = chunks_.word(q, Chunks::ready);
    const auto any = [](std::uint64_t n) { return static_cast<std::int64_t>(n) > 0; };
    if (!any(ready.load(simt::relaxed))) return none;
    if (any(ready.fetch_sub(1, simt::relaxed))) {
      return queue_.take(chunks_, thread, single_lane(thread), q, &queue_, &chunks_);
    }
    ready.fetch_add(1, simt::relaxed);
    return none;
  }
  template <class Thread>
  static HEAPWOOD_INLINE LaneGroup<Thread> single_lane(const Thread& thread) {
    return LaneGroup<Thread>(thread, 1u << thread.lane());
  }
  // Called after the chunk's entry was removed. Adds the chunk again if it has free pages.
  template <class Thread>
  HEAPWOOD_INLINE void remove_from_queue(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    if (has_pages(chunks_.state(c).fetch_and(~listed(q), simt::relaxed), q))
      add_to_queue(this, thread, c, q);
  }

  // Takes a page for a thread that holds a unit, from a head or a chunk in the queue. `seen` and
  // `before` are what the thread found in head h.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_from_queue(const ChunkItems* self, Thread thread,
                                                    std::uint32_t q, std::uint32_t h,
                                                    std::uint64_t seen, std::uint32_t before) {
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;; ++turn) {
      const std::uint32_t c = self->next_chunk(thread, q, h, seen, before);
      if (c != none) return self->page_of(self, thread, c, q, before);
      // The page is in another head, or in a chunk that a running thread holds.
      if ((turn & 63) == 63 && thread.aborted()) return nullptr;
      thread.pause(turn);
      h = (h + 1) & self->head_mask_;
      seen = self->chunks_.word(q, Chunks::heads + h).load(simt::relaxed);
      if (seen != 0) before = self->reserve(low(seen) - 1, q);
    }
  }
  // Reserves a page for the caller; returns its chunk, or `none`. Tries the chunk that head h had
  // when read (`seen`; `before`: what reserve() returned for it), then one from the queue, for
  // which `before` gets that value. Called on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t next_chunk(Thread& thread, std::uint32_t q, std::uint32_t h,
                                           std::uint64_t seen, std::uint32_t& before) const {
    const Word64 head = chunks_.word(q, Chunks::heads + h);
    HEAPWOOD_ROLLED
    for (bool queued = seen == 0;; queued = true) {
      const std::uint32_t c = queued ? pop(thread, q) : low(seen) - 1;
      if (c == none) return none;
      // Count a page in the chunk; undo that if the chunk is full or has another class.
      if (queued) before = reserve(c, q);
      if (before == none) release_pages(this, thread, c, 1);
      std::uint64_t expected = queued ? 0 : seen;
      if (before == none || before + 1 == chunks_.shape().pages(q)) {
        // The chunk is full. It is removed by the thread that took it out of the queue, or by the
        // one that removes it from the head.
        if (queued || head.compare_exchange_strong(expected, 0, simt::relaxed, simt::relaxed))
          remove_from_queue(thread, c, q);
        // The chunk has more pages: makes it the head, or puts it back into the queue.
      } else if (queued &&
                 !head.compare_exchange_strong(expected, c + 1, simt::relaxed, simt::relaxed)) {
        push(thread, c, q);
      }
      if (before != none) return c;
      if (queued) return none;
    }
  }

  // Slow path: the semaphore has told the group to add a chunk (`grows`), or that no thread will.
  // If there are too few pages for all lanes, the first lanes get those that are free by now.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const ChunkItems* self, Thread thread,
                                              std::uint32_t lanes, std::uint32_t q, bool grows) {
    const LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t n = group.size(), others = self->chunks_.shape().pages(q) - n,
                        promised = grows ? others : 0;
    std::uint32_t c = none;  // set in the first lane, which gets the chunk's first page
    // Adds a chunk: its first page is for the first lane, the others for all threads that hold
    // units. If there is no chunk, withdraws the promise and takes the units that are free by now.
    const std::uint32_t seats = group.once([&] {
      c = self->new_chunk(thread, q, 1);
      if (c == none) {
        self->units(q).signal(0, promised);
        return self->units(q).take_some(n);
      }
      if (n + others > 1) add_to_queue(self, thread, c, q);
      self->units(q).signal(others, promised);
      return n;
    });
    if (c != none) return self->chunks_.page(c, q, 0);
    if (group.rank() >= seats) return nullptr;
    return allocate_from_queue(self, thread, q, thread.worker() & self->head_mask_, 0, none);
  }
  // Turns a free chunk into one of class q, whose first `used` pages (one, or all) are in use.
  // Called on the copy of this object in device memory.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t new_chunk(Thread& thread, std::uint32_t q,
                                          std::uint32_t used) const {
    // Take a free chunk, or an empty chunk of any class.
    std::uint32_t c = chunks_.take(thread);
    if (c == none) c = reclaim(this, thread);
    if (c == none) return none;
    // Reserve a slot for it in the class's queue, unless it has one. The slot belongs to the chunk
    // permanently: the chunk may return to this class, or its entry may still be there.
    if ((chunks_.state(c).load(simt::relaxed) & has_slot(q)) == 0) {
      const auto reserve_slots = [&] {
        return queue_.reserve_slots(chunks_, thread, q, 1, &queue_, &chunks_);
      };
      bool has_space = reserve_slots();
      if (!has_space) {
        // No chunk was free to become a piece of the queue. Reclaim an empty one for that.
        const std::uint32_t unneeded = reclaim(this, thread);
        if (unneeded != none) {
          chunks_.put_back(unneeded);
          has_space = reserve_slots();
        }
      }
      if (!has_space) {
        chunks_.put_back(c);
        return none;
      }
      chunks_.state(c).fetch_or(has_slot(q), simt::relaxed);
    }
    // Plain order suffices: while the chunk has no class, no other thread sets a bit of it.
    for (std::uint32_t i = 0; i < used; i += 64) {
      const std::uint32_t n = used - i;
      mask(c, i / 64).fetch_or(n < 64 ? (std::uint64_t{1} << n) - 1 : ~std::uint64_t{0},
                               simt::relaxed);
    }
    // acquire: synchronizes with the last users of the chunk's pages. release: passes their order
    // on to later users of the chunk. From here on other threads may count pages of it.
    chunks_.state(c).fetch_add(Chunks::of_kind(q + 1) + used, simt::acq_rel);
    return c;
  }

  // Takes an empty chunk away from its class. Returns `none` if each class needs its chunks.
  template <class Thread>
  static HEAPWOOD_OUTLINE std::uint32_t reclaim(const ChunkItems* self, Thread thread) {
    std::uint32_t c = scaled(seed_of(thread), self->chunks_.shape().chunks);
    HEAPWOOD_ROLLED
    for (unsigned misses = 0; misses < 8 && (c = self->empties().find(c)) != SumMap::none;) {
      if (self->empties().take(c) == 0) continue;
      const std::uint64_t seen = self->chunks_.state(c).load(simt::relaxed);
      if (Chunks::kind_of(seen) - 1 >= self->chunks_.shape().classes() || count_of(seen) != 0)
        continue;
      if (self->retire(c, seen)) return c;
      // The class needs this chunk: threads that hold units are about to use its pages.
      self->empties().set(c++);
      ++misses;
    }
    return none;
  }
  // Removes an empty chunk from its class. `seen`: the state in which it was empty.
  HEAPWOOD_INLINE bool retire(std::uint32_t c, std::uint64_t seen) const {
    const std::uint32_t q = Chunks::kind_of(seen) - 1, pages = chunks_.shape().pages(q);
    // Takes the units of all its pages first: then no thread that holds a unit needs one of them.
    if (!units(q).try_wait(pages)) return false;
    HEAPWOOD_ROLLED
    while (Chunks::kind_of(seen) == q + 1 && count_of(seen) == 0) {
      // acq_rel: orders the last users of the pages before the thread that takes the chunk.
      if (chunks_.state(c).compare_exchange_strong(seen, seen - Chunks::of_kind(q + 1),
                                                   simt::acq_rel, simt::relaxed)) {
        return true;
      }
    }
    units(q).signal(pages, 0);
    return false;
  }

  Chunks chunks_;
  Queue queue_;
  std::size_t masks_at_ = 0;
  std::uint32_t mask_words_ = 0, head_mask_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
