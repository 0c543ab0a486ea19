// SPDX-License-Identifier: MIT
// Ouroboros with queues of chunks (section 4.2, "C"): the queue of a class has an entry for each of its chunks with free
// pages. A bulk semaphore counts the free pages and says who brings a chunk; a thread with a unit looks for a chunk that
// has a page. A chunk all of whose pages are free becomes free.
// Differs from the paper:
// - a chunk's class, count of used pages and membership in the queue are one word, which is only changed by
//   read-modify-writes. The published count is decremented and put back on its own, and chunks get lost or are queued
//   twice; a thread with an outdated index takes pages of a chunk that has another class by now;
// - chunks from which pages are being taken are not peeked at in the front of the queue, but taken out and kept in
//   `heads`, up to eight a class. So the queue is one of tickets as in page_items.hpp, and its front is not passed by
//   threads that have found nothing there;
// - a chunk that is empty leaves its class when somebody needs a chunk and there is none (reclaim()), or one request in
//   two would bring it and each free take it away again;
// - lanes that ask for pages together wait for their units as one; those that free pages together signal their units, and
//   count off those of one chunk, as one.
// Protocol. A page is taken by counting it and then setting a clear bit of the chunk's bitmap, freed by clearing the bit
// and then counting it off, as in primitives/block_pages.hpp: who was counted finds a clear bit. `listed` says that the
// chunk has an entry in the queue of class q, or is a head of it, or in the hands of a thread that took it from there.
// Who removes an entry for good clears `listed`, and puts the chunk back if the word shows free pages; who counts off
// the first free page of a full chunk sets `listed`, and puts the chunk there if it was clear. As the word orders
// the two, a chunk with free pages is found, and has one entry. An entry may be outdated: then its taker removes it.
// Limits: "full" may be said while another thread takes a chunk from its class. Overhead: 8 bytes and a bit a page of 16
// bytes for each chunk.
#pragma once

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::ouroboros {

template <class Queue>
class ChunkItems {
 public:
  // The parts of a shape that are this one's choice. Every chunk may be in a queue.
  static void choose(Shape& shape, std::size_t /*pool*/) {
    shape.pieces = Queue::in_pieces ? 2 : 0;
    shape.most_pieces = shape.pieces + (shape.chunks >> (shape.chunk_shift - 2)) + 1;
  }
  // Where the tables end if they begin at `at`.
  std::size_t plan(const Shape& shape, std::size_t at) {
    at = round_up(queue_.plan(shape, false, chunks_.plan(shape, 1, at)), 256);
    masks_at_ = at;
    mask_words_ = (shape.pages(0) + 63) / 64;
    head_mask_ = 0;
    while ((head_mask_ + 1) * 2 <= Chunks::most_heads && (head_mask_ + 1) * 1024 <= shape.chunks) {
      head_mask_ = head_mask_ * 2 + 1;
    }
    return at + std::size_t{shape.chunks} * mask_words_ * sizeof(std::uint64_t);
  }
  template <class Device>
  void reset(std::byte* base, const Buddy* buddy, std::byte* memory, const Device& device) {
    chunks_.settle(base, buddy, memory, device);
    queue_.reset(chunks_, device);
  }

  SIMT_INLINE const Chunks& chunks() const { return chunks_; }

  // `self` is a copy of this object in device memory, for what is out of line. Lanes that call together wait for their units
  // as one, where a chunk has pages for all of them, and then act for themselves: their chunks differ as soon as malloc and
  // free meet. Where each of them waited, one that brings a chunk would run in the pauses of 31 others.
  template <class Thread>
  SIMT_INLINE void* allocate(const ChunkItems* self, Thread& thread, std::uint32_t q) const {
    const std::uint32_t pages = chunks_.shape().pages(q);
    const bool together = pages >= 32;
    const LaneGroup<Thread> group(
        thread, together ? thread.together(chunks_.word_at(q, Chunks::units)) : alone(thread).lanes());
    const auto answer = static_cast<typename Units::Wait>(group.once(
        [&] { return static_cast<std::uint32_t>(units(q).wait(thread, group.size(), pages, chunks_.dry_word())); }));
    if (answer != Units::Wait::got) return bring(self, thread, group.lanes(), q, answer == Units::Wait::grow);
    // The common case: the own head has a page, and one more.
    const std::uint32_t own = thread.worker() & head_mask_;
    // relaxed: which chunk is tried. Its word orders the rest.
    const std::uint64_t seen = chunks_.word(q, Chunks::heads + own).load(simt::relaxed);
    std::uint32_t before = none;
    if (seen != 0) {
      const std::uint32_t c = static_cast<std::uint32_t>(seen) - 1;
      before = reserve(c, q);
      if (before != none && before + 1 < pages) return page_of(self, thread, c, q, before);
    }
    return serve(self, thread, q, own, seen, before);
  }

  // What begins at `offset` in chunk c, of class q.
  template <class Thread>
  SIMT_INLINE void deallocate(const ChunkItems* self, Thread& thread, std::uint32_t c, std::uint32_t offset,
                              std::uint32_t q) const {
    const std::uint32_t i = offset >> chunks_.shape().page_shift(q);
    // release: hands the page over to who sets this bit.
    mask(c, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
    // Before the pages are counted off: retire() needs their units. Who gets one sooner than the page waits for this thread.
    const LaneGroup<Thread> class_mates(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    if (class_mates.rank() == 0) units(q).signal(class_mates.size(), 0);
    class_mates.sync();
    const LaneGroup<Thread> chunk_mates(thread, thread.together(masks_of(c)));
    chunk_mates.sync();  // what these lanes did with their pages comes before the release in count_off()
    if (chunk_mates.rank() == 0) count_off(self, thread, c, chunk_mates.size());
  }
  // Makes chunks free that are kept although they are empty. False: there are none.
  template <class Thread>
  static SIMT_OUTLINE bool collect(const ChunkItems* self, Thread thread) {
    bool any = false;
    SIMT_ROLLED
    for (std::uint32_t c; (c = reclaim(self, thread)) != Chunks::none; any = true) self->chunks_.give_back(c);
    return any;
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const Shape& shape = chunks_.shape();
    const auto states = chunks_.read_states(host);
    const auto masks = host.read(masks_of(0), std::size_t{shape.chunks} * mask_words_);
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
      std::uint32_t used = 0;
      for (std::uint32_t w = 0; w < mask_words_; ++w) used += simt::popcount(masks[c * mask_words_ + w]);
      if (used != count_of(states[c])) {
        throw Error(Exit::failed, "ouroboros: chunk " + std::to_string(c) + " counts " +
                                      std::to_string(count_of(states[c])) + " pages, not " + std::to_string(used));
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

  // Of a chunk's state: used pages, and a bit a class each for `listed` and for whether its queue has room for the chunk.
  static SIMT_INLINE std::uint32_t count_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static SIMT_INLINE std::uint64_t listed(std::uint32_t q) { return std::uint64_t{1} << (32 + q); }
  static SIMT_INLINE std::uint64_t roomed(std::uint32_t q) { return std::uint64_t{1} << (43 + q); }
  SIMT_INLINE bool has_pages(std::uint64_t state, std::uint32_t q) const {
    return Chunks::kind_of(state) == q + 1 && count_of(state) < chunks_.shape().pages(q);
  }

  SIMT_INLINE Units units(std::uint32_t q) const { return Units(chunks_.word_at(q, Chunks::units)); }
  SIMT_INLINE SumMap empties() const { return chunks_.map(0); }
  SIMT_INLINE std::uint64_t* masks_of(std::uint32_t c) const {
    return reinterpret_cast<std::uint64_t*>(chunks_.base() + masks_at_) + std::size_t{c} * mask_words_;
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> mask(std::uint32_t c, std::uint32_t w) const {
    return simt::atomic_ref<std::uint64_t>(masks_of(c)[w]);
  }

  // Counts a page of class q in the chunk. Returns how many were counted before, or none if all were, or if the chunk is
  // of another class: then it is counted all the same, until count_off().
  SIMT_INLINE std::uint32_t reserve(std::uint32_t c, std::uint32_t q) const {
    // acquire: the chunk may have been of another class before; waits for the last users of its pages.
    const std::uint64_t old = chunks_.state(c).fetch_add(1, simt::acquire);
    return has_pages(old, q) ? count_of(old) : none;
  }

  // The page for who was counted, `before` pages being counted before. nullptr only if the launch is aborted.
  template <class Thread>
  SIMT_INLINE void* page_of(const ChunkItems* self, Thread& thread, std::uint32_t c, std::uint32_t q,
                            std::uint32_t before) const {
    // As long as nothing is freed, the page behind those that are counted is the first one that is free.
    const std::uint64_t bit = std::uint64_t{1} << before % 64;
    // acquire: waits for the last user of the page.
    const std::uint64_t taken = mask(c, before / 64).fetch_or(bit, simt::acquire);
    return (taken & bit) == 0 ? chunks_.page(c, q, before) : other_page(self, thread, c, q, before / 64, taken);
  }
  // Any other. `taken`: pages that were in use in word w.
  template <class Thread>
  static SIMT_OUTLINE void* other_page(const ChunkItems* self, Thread thread, std::uint32_t c, std::uint32_t q,
                                       std::uint32_t w, std::uint64_t taken) {
    const std::uint32_t most = self->chunks_.shape().pages(q), words = (most + 63) / 64;
    SIMT_ROLLED
    for (std::uint32_t turn = 0;;) {
      if (most < 64) taken |= ~std::uint64_t{0} << most;  // there are no such pages
      if (~taken != 0) {
        const unsigned bit = simt::lowest_bit(~taken);
        const std::uint64_t mine = std::uint64_t{1} << bit;
        // acquire: waits for the last user of the page.
        taken = self->mask(c, w).fetch_or(mine, simt::acquire);
        if ((taken & mine) == 0) return self->chunks_.page(c, q, w * 64 + bit);
      } else {
        w = w + 1 == words ? 0 : w + 1;
        taken = self->mask(c, w).load(simt::relaxed);
        if (++turn % words == 0) {
          if (thread.aborted()) return nullptr;  // the page stays counted: the pool ends with the launch
          thread.pause(turn / words);
        }
      }
    }
  }

  // Counts n pages off.
  template <class Thread>
  SIMT_INLINE void count_off(const ChunkItems* self, Thread& thread, std::uint32_t c, std::uint32_t n) const {
    // release: hands the pages over to who is counted next, or gives the chunk another class.
    const std::uint64_t old = chunks_.state(c).fetch_sub(n, simt::release);
    const std::uint32_t q = Chunks::kind_of(old) - 1;
    if (q >= chunks_.shape().classes()) return;
    if (!has_pages(old, q) && has_pages(old - n, q) && (old & listed(q)) == 0) list(self, thread, c, q);
    // By a read-modify-write in any case: who takes the bit later sees the count.
    if (count_of(old) == n) empties().set(c);
  }

  // Puts the chunk into the queue of class q, unless it is listed there.
  template <class Thread>
  static SIMT_OUTLINE void list(const ChunkItems* self, Thread thread, std::uint32_t c, std::uint32_t q) {
    // relaxed, wherever `listed` is changed: it is about this word alone.
    const std::uint64_t old = self->chunks_.state(c).fetch_or(listed(q), simt::relaxed);
    if ((old & listed(q)) == 0) self->push(thread, c, q);
  }
  // On the copy in device memory.
  template <class Thread>
  SIMT_INLINE void push(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    queue_.put(chunks_, thread, alone(thread), q, c, &queue_, &chunks_);
    chunks_.word(q, Chunks::ready).fetch_add(1, simt::relaxed);
  }
  // A listed chunk; none: there is none at the moment, or the launch is aborted. On the copy in device memory.
  template <class Thread>
  SIMT_INLINE std::uint32_t pop(Thread& thread, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> ready = chunks_.word(q, Chunks::ready);
    const auto any = [](std::uint64_t n) { return static_cast<std::int64_t>(n) > 0; };
    if (!any(ready.load(simt::relaxed))) return none;
    if (any(ready.fetch_sub(1, simt::relaxed))) {
      return queue_.take(chunks_, thread, alone(thread), q, &queue_, &chunks_);
    }
    ready.fetch_add(1, simt::relaxed);
    return none;
  }
  template <class Thread>
  static SIMT_INLINE LaneGroup<Thread> alone(const Thread& thread) {
    return LaneGroup<Thread>(thread, 1u << thread.lane());
  }
  // The chunk's entry has been removed.
  template <class Thread>
  SIMT_INLINE void unlist(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    if (has_pages(chunks_.state(c).fetch_and(~listed(q), simt::relaxed), q)) list(this, thread, c, q);
  }

  // A page for who has a unit, from a head or a chunk in the queue. `seen` and `before` are what it found in head h.
  template <class Thread>
  static SIMT_OUTLINE void* serve(const ChunkItems* self, Thread thread, std::uint32_t q, std::uint32_t h,
                                  std::uint64_t seen, std::uint32_t before) {
    SIMT_ROLLED
    for (unsigned turn = 0;; ++turn) {
      const std::uint32_t c = self->step(thread, q, h, seen, before);
      if (c != none) return self->page_of(self, thread, c, q, before);
      // Some other head, or a thread that is inside, has it.
      if ((turn & 63) == 63 && thread.aborted()) return nullptr;
      thread.pause(turn);
      h = (h + 1) & self->head_mask_;
      seen = self->chunks_.word(q, Chunks::heads + h).load(simt::relaxed);
      if (seen != 0) before = self->reserve(static_cast<std::uint32_t>(seen) - 1, q);
    }
  }
  // On the copy in device memory: a chunk in which `before` pages are counted before the caller's: that of head `seen`,
  // where it was counted already, or the next one of the queue.
  template <class Thread>
  SIMT_INLINE std::uint32_t step(Thread& thread, std::uint32_t q, std::uint32_t h, std::uint64_t seen,
                                 std::uint32_t& before) const {
    const simt::atomic_ref<std::uint64_t> head = chunks_.word(q, Chunks::heads + h);
    SIMT_ROLLED
    for (bool queued = seen == 0;; queued = true) {
      const std::uint32_t c = queued ? pop(thread, q) : static_cast<std::uint32_t>(seen) - 1;
      if (c == none) return none;
      if (queued) before = reserve(c, q);
      if (before == none) count_off(this, thread, c, 1);
      std::uint64_t expected = queued ? 0 : seen;
      if (before == none || before + 1 == chunks_.shape().pages(q)) {
        // Nothing is left in the chunk: it is removed by who took it out of the queue, or takes it out of the head.
        if (queued || head.compare_exchange_strong(expected, 0, simt::relaxed, simt::relaxed)) unlist(thread, c, q);
      } else if (queued && !head.compare_exchange_strong(expected, c + 1, simt::relaxed, simt::relaxed)) {
        push(thread, c, q);
      }
      if (before != none) return c;
      if (queued) return none;
    }
  }

  // The group has been told to bring a chunk (`grows`), or that nobody will. Where there are too few pages for all, the
  // first lanes get those that are free by now.
  template <class Thread>
  static SIMT_OUTLINE void* bring(const ChunkItems* self, Thread thread, std::uint32_t lanes, std::uint32_t q,
                                  bool grows) {
    const LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t n = group.size(), others = self->chunks_.shape().pages(q) - n, promised = grows ? others : 0;
    std::uint32_t c = none;  // the first lane's, which gets its first page
    const std::uint32_t seats = group.once([&] {
      c = self->new_chunk(thread, q);
      if (c == none) {
        self->units(q).signal(0, promised);
        return self->units(q).take_some(n);
      }
      if (n + others > 1) list(self, thread, c, q);
      self->units(q).signal(others, promised);
      return n;
    });
    if (c != none) return self->chunks_.page(c, q, 0);
    if (group.rank() >= seats) return nullptr;
    return serve(self, thread, q, thread.worker() & self->head_mask_, 0, none);
  }
  // A chunk of class q, the first page of which is in use. On the copy in device memory.
  template <class Thread>
  SIMT_INLINE std::uint32_t new_chunk(Thread& thread, std::uint32_t q) const {
    std::uint32_t c = chunks_.take(thread);
    if (c == none) c = reclaim(this, thread);
    if (c == none) return none;
    // The room is the chunk's for ever: it may come back to this class, or still have an entry there.
    if ((chunks_.state(c).load(simt::relaxed) & roomed(q)) == 0) {
      const auto make_room = [&] { return queue_.make_room(chunks_, thread, q, 1, &queue_, &chunks_); };
      bool room = make_room();
      if (!room) {
        // There was no chunk for a piece of the queue.
        const std::uint32_t spare = reclaim(this, thread);
        if (spare != none) {
          chunks_.put_back(spare);
          room = make_room();
        }
      }
      if (!room) {
        chunks_.put_back(c);
        return none;
      }
      chunks_.state(c).fetch_or(roomed(q), simt::relaxed);
    }
    // While the chunk has no class, nobody else sets a bit.
    mask(c, 0).fetch_or(1, simt::relaxed);
    // acquire: waits for the last users of the chunk's pages. release: passes those on who had it in a large block.
    // From here on others may count pages of it.
    chunks_.state(c).fetch_add(Chunks::of_kind(q + 1) + 1, simt::acq_rel);
    return c;
  }

  // Takes an empty chunk from its class; none: there is none that its class can do without.
  template <class Thread>
  static SIMT_OUTLINE std::uint32_t reclaim(const ChunkItems* self, Thread thread) {
    const std::uint32_t spread = (thread.worker() * 32 + thread.lane() + 1) * 2654435769u;
    std::uint32_t c = static_cast<std::uint32_t>((std::uint64_t{spread} * self->chunks_.shape().chunks) >> 32);
    SIMT_ROLLED
    for (unsigned misses = 0; misses < 8 && (c = self->empties().find(c)) != SumMap::none;) {
      if (self->empties().take(c) == 0) continue;
      const std::uint64_t seen = self->chunks_.state(c).load(simt::relaxed);
      if (Chunks::kind_of(seen) - 1 >= self->chunks_.shape().classes() || count_of(seen) != 0) continue;
      if (self->retire(c, seen)) return c;
      // Its pages are about to be used.
      self->empties().set(c++);
      ++misses;
    }
    return none;
  }
  // The chunk was empty, in the state `seen`.
  SIMT_INLINE bool retire(std::uint32_t c, std::uint64_t seen) const {
    const std::uint32_t q = Chunks::kind_of(seen) - 1, pages = chunks_.shape().pages(q);
    // Pays for all pages first: no thread with a unit then needs one of them.
    if (!units(q).try_wait(pages)) return false;
    SIMT_ROLLED
    while (Chunks::kind_of(seen) == q + 1 && count_of(seen) == 0) {
      // acq_rel: passes the pages on from their last users to who takes the chunk.
      if (chunks_.state(c).compare_exchange_strong(seen, seen - Chunks::of_kind(q + 1), simt::acq_rel, simt::relaxed)) {
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
