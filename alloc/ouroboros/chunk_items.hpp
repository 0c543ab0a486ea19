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
// - the last empty chunk of a class stays, or one request in two would bring it and each free take it away again.
// Protocol. A page is taken by counting it and then setting a clear bit of the chunk's bitmap, freed by clearing the bit
// and then counting it off, as in primitives/block_pages.hpp: who was counted finds a clear bit. `listed` says that the
// chunk has an entry in the queue of class q, or is a head of it, or in the hands of a thread that took it from there.
// Who removes an entry for good clears `listed`, and puts the chunk back if the word shows free pages; who counts off
// the first free page of a full chunk sets `listed`, and puts the chunk there if it was clear. As the word orders
// the two, a chunk with free pages is found, and has one entry. An entry may be outdated: then its taker removes it.
// Limits: an empty chunk stays with its class. "Full" may be said while another thread gives a chunk back. Overhead: 8
// bytes and a bit a page of 16 bytes for each chunk.
#pragma once

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"
#include "alloc/primitives/lane_group.hpp"

namespace heapwood::alloc::ouroboros {

template <class Queue>
class ChunkItems {
 public:
  static constexpr std::uint32_t pieces = Queue::pieces;

  std::size_t plan(const Shape& shape, std::size_t at) {
    at = round_up(queue_.plan(shape, 0, chunks_.plan(shape, at)), 256);
    masks_at_ = at;
    mask_words_ = (shape.pages(0) + 63) / 64;
    head_mask_ = 0;
    while ((head_mask_ + 1) * 2 <= Chunks::most_heads && (head_mask_ + 1) * 1024 <= shape.chunks) {
      head_mask_ = head_mask_ * 2 + 1;
    }
    return at + std::size_t{shape.chunks} * mask_words_ * sizeof(std::uint64_t);
  }
  std::size_t settle(std::byte* base, std::size_t tables_end) { return chunks_.settle(base, tables_end); }
  template <class Device>
  void reset(const Device& device) const {
    chunks_.reset(device);
    queue_.reset(chunks_, device);
  }

  SIMT_INLINE const Chunks& chunks() const { return chunks_; }

  // `self` is a copy of this object in device memory, for what is out of line.
  template <class Thread>
  SIMT_INLINE void* allocate(const ChunkItems* self, Thread& thread, std::uint32_t q) const {
    const LaneGroup<Thread> group = alone(thread);
    const std::uint32_t n = group.size(), pages = chunks_.shape().pages(q);
    const auto answer = static_cast<Units::Wait>(
        group.once([&] { return static_cast<std::uint32_t>(units(q).wait(thread, n, pages, chunks_.dry_word())); }));
    if (answer != Units::Wait::got) return bring(self, thread, group.lanes(), q, answer == Units::Wait::grow);
    // The common case: the own head has pages for all, and one more.
    const std::uint32_t own = thread.worker() & head_mask_;
    // relaxed: which chunk is tried. Its word orders the rest.
    const std::uint64_t seen = group.once([&] { return chunks_.word(q, Chunks::heads + own).load(simt::relaxed); });
    std::uint32_t before = none;
    if (seen != 0) {
      const std::uint32_t c = static_cast<std::uint32_t>(seen) - 1;
      before = group.once([&] { return reserve(c, q, n); });
      if (before < pages - n && n < pages) return page_of(self, thread, group, c, q, before);
    }
    return serve(self, thread, group.lanes(), q, own, seen, before);
  }

  template <class Thread>
  SIMT_INLINE void deallocate(const ChunkItems* self, Thread& thread, void* block) const {
    std::uint32_t offset = 0;
    const std::uint32_t c = chunks_.chunk_of(block, offset);
    // relaxed: constant while a page is in use.
    const std::uint32_t q = Chunks::kind_of(chunks_.state(c).load(simt::relaxed)) - 1;
    const std::uint32_t i = offset >> chunks_.shape().page_shift(q);
    // release: hands the page over to who sets this bit.
    mask(c, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
    // Before the page is counted off: retire() needs its unit. Who gets that sooner than the page waits for this thread.
    units(q).signal(1, 0);
    if (count_off(self, thread, c, 1) == 0) retire(self, c, q);
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
    chunks_.walk(host, visit, [&](std::uint32_t c, std::uint32_t, std::uint32_t i) {
      return (masks[std::size_t{c} * mask_words_ + i / 64] >> i % 64 & 1) != 0;
    });
  }

 private:
  using Units = BasicBulkSemaphore<false>;  // pages are handed over by their bits
  static constexpr std::uint32_t none = ~0u - 1;

  // Of a chunk's state: used pages, and a bit a class each for `listed` and for whether its queue has room for the chunk.
  static SIMT_INLINE std::uint32_t count_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static SIMT_INLINE std::uint64_t listed(std::uint32_t q) { return std::uint64_t{1} << (32 + q); }
  static SIMT_INLINE std::uint64_t roomed(std::uint32_t q) { return std::uint64_t{1} << (43 + q); }
  SIMT_INLINE bool has_pages(std::uint64_t state, std::uint32_t q) const {
    return Chunks::kind_of(state) == q + 1 && count_of(state) < chunks_.shape().pages(q);
  }

  // Lanes act for themselves: their chunks differ as soon as malloc and free meet.
  template <class Thread>
  static SIMT_INLINE LaneGroup<Thread> alone(const Thread& thread) {
    return LaneGroup<Thread>(thread, 1u << thread.lane());
  }
  SIMT_INLINE Units units(std::uint32_t q) const { return Units(chunks_.word_at(q, Chunks::units)); }
  SIMT_INLINE std::uint64_t* masks_of(std::uint32_t c) const {
    return reinterpret_cast<std::uint64_t*>(chunks_.base() + masks_at_) + std::size_t{c} * mask_words_;
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> mask(std::uint32_t c, std::uint32_t w) const {
    return simt::atomic_ref<std::uint64_t>(masks_of(c)[w]);
  }

  // Counts n pages of class q in the chunk. Returns how many were counted before, or none if all were, or if the chunk is
  // of another class. What is more than there are pages is counted all the same, until undo().
  SIMT_INLINE std::uint32_t reserve(std::uint32_t c, std::uint32_t q, std::uint32_t n) const {
    // acquire: the chunk may have been of another class before; waits for the last users of its pages.
    const std::uint64_t old = chunks_.state(c).fetch_add(n, simt::acquire);
    return has_pages(old, q) ? count_of(old) : none;
  }

  // The pages for the lanes of a group, `before` pages being counted before theirs. nullptr only if the launch is aborted.
  template <class Thread>
  SIMT_INLINE void* page_of(const ChunkItems* self, Thread& thread, const LaneGroup<Thread>& group, std::uint32_t c,
                            std::uint32_t q, std::uint32_t before) const {
    // As long as nothing is freed, the pages behind those that are counted are the first ones that are free.
    const std::uint32_t i = before + group.rank(), w = i / 64;
    // The lanes with pages in the same word follow each other.
    const LaneGroup<Thread> mates = group.part(w == before / 64);
    const std::uint64_t row = ((std::uint64_t{1} << mates.size()) - 1) << (w == before / 64 ? before % 64 : 0);
    // acquire: waits for the last users of the pages.
    const std::uint64_t taken = mates.once([&] { return mask(c, w).fetch_or(row, simt::acquire); });
    group.sync();  // passes that on, and the acquire of who has counted
    return (taken >> i % 64 & 1) == 0 ? chunks_.page(c, q, i) : other_page(self, thread, c, q, w, taken | row);
  }

  // Of a lane for itself: any page. `taken`: pages that were in use in word w.
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

  // Counts n pages off; returns how many are left.
  template <class Thread>
  SIMT_INLINE std::uint32_t count_off(const ChunkItems* self, Thread& thread, std::uint32_t c, std::uint32_t n) const {
    // release: hands the pages over to who is counted next, or gives the chunk another class.
    const std::uint64_t old = chunks_.state(c).fetch_sub(n, simt::release);
    const std::uint32_t q = Chunks::kind_of(old) - 1;
    if (q < chunks_.shape().classes() && !has_pages(old, q) && has_pages(old - n, q) && (old & listed(q)) == 0) {
      list(self, thread, c, q);
    }
    return count_of(old) - n;
  }
  // After a reserve() of n pages too many.
  template <class Thread>
  static SIMT_INLINE void undo(const ChunkItems* self, Thread& thread, std::uint32_t c, std::uint32_t n) {
    if (self->count_off(self, thread, c, n) != 0) return;
    const std::uint32_t q = Chunks::kind_of(self->chunks_.state(c).load(simt::relaxed)) - 1;
    if (q < self->chunks_.shape().classes()) retire(self, c, q);
  }

  // Puts the chunk into the queue of class q, unless it is listed there.
  template <class Thread>
  static SIMT_OUTLINE void list(const ChunkItems* self, Thread thread, std::uint32_t c, std::uint32_t q) {
    // relaxed, wherever `listed` is changed: it is about this word alone.
    const std::uint64_t old = self->chunks_.state(c).fetch_or(listed(q), simt::relaxed);
    if ((old & listed(q)) == 0) self->push(thread, c, q);
  }
  template <class Thread>
  SIMT_INLINE void push(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    queue_.put(chunks_, thread, alone(thread), q, c);
    chunks_.word(q, Chunks::ready).fetch_add(1, simt::relaxed);
  }
  // A listed chunk; none: there is none at the moment, or the launch is aborted. On the copy in device memory.
  template <class Thread>
  SIMT_INLINE std::uint32_t pop(Thread& thread, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> ready = chunks_.word(q, Chunks::ready);
    const auto any = [](std::uint64_t n) { return static_cast<std::int64_t>(n) > 0; };
    if (!any(ready.load(simt::relaxed))) return Chunks::none;
    if (any(ready.fetch_sub(1, simt::relaxed))) {
      return queue_.take(chunks_, thread, alone(thread), q, &queue_, &chunks_);
    }
    ready.fetch_add(1, simt::relaxed);
    return Chunks::none;
  }
  // The chunk's entry has been removed.
  template <class Thread>
  SIMT_INLINE void unlist(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    if (has_pages(chunks_.state(c).fetch_and(~listed(q), simt::relaxed), q)) list(this, thread, c, q);
  }

  // Pages for a group that has units for them, from a head or a chunk in the queue. `seen` and `before` are what it found
  // in head h.
  template <class Thread>
  static SIMT_OUTLINE void* serve(const ChunkItems* self, Thread thread, std::uint32_t lanes, std::uint32_t q,
                                  std::uint32_t h, std::uint64_t seen, std::uint32_t before) {
    LaneGroup<Thread> group(thread, lanes);
    bool reserved = seen != 0;
    SIMT_ROLLED
    for (unsigned turn = 0;; ++turn) {
      // {chunk:32, pages counted before:16, pages for the group:16}
      const std::uint64_t seats = group.once([&] {
        if (!reserved) {
          seen = self->chunks_.word(q, Chunks::heads + h).load(simt::relaxed);
          if (seen != 0) before = self->reserve(static_cast<std::uint32_t>(seen) - 1, q, group.size());
        }
        return self->step(thread, q, h, seen, before, group.size());
      });
      reserved = false;
      const auto count = static_cast<std::uint32_t>(seats & 0xffff);
      if (count > 0) {
        const bool seated = group.rank() < count;
        group = group.part(seated);
        const auto first = static_cast<std::uint32_t>(seats >> 16 & 0xffff);
        if (seated) return self->page_of(self, thread, group, static_cast<std::uint32_t>(seats >> 32), q, first);
        continue;
      }
      // Some other head, or a thread that is inside, has them.
      if ((turn & 63) == 63 && group.once([&] { return std::uint32_t{thread.aborted()}; }) != 0) return nullptr;
      thread.pause(turn);
      h = (h + 1) & self->head_mask_;
    }
  }
  // For one thread, on the copy in device memory: up to n seats in the head `seen`, in which n were reserved, or in the
  // next chunk of the queue.
  template <class Thread>
  SIMT_INLINE std::uint64_t step(Thread& thread, std::uint32_t q, std::uint32_t h, std::uint64_t seen,
                                 std::uint32_t before, std::uint32_t n) const {
    const simt::atomic_ref<std::uint64_t> head = chunks_.word(q, Chunks::heads + h);
    const std::uint32_t pages = chunks_.shape().pages(q);
    SIMT_ROLLED
    for (bool queued = seen == 0;; queued = true) {
      const std::uint32_t c = queued ? pop(thread, q) : static_cast<std::uint32_t>(seen) - 1;
      if (c == Chunks::none) return 0;
      if (queued) before = reserve(c, q, n);
      const std::uint32_t left = before == none ? 0 : pages - before, count = left < n ? left : n;
      if (count < n) undo(this, thread, c, n - count);
      std::uint64_t expected = queued ? 0 : seen;
      if (count == 0 || count == left) {
        // Nothing is left in the chunk: it is removed by who took it out of the queue, or takes it out of the head.
        if (queued || head.compare_exchange_strong(expected, 0, simt::relaxed, simt::relaxed)) unlist(thread, c, q);
      } else if (queued && !head.compare_exchange_strong(expected, c + 1, simt::relaxed, simt::relaxed)) {
        push(thread, c, q);
      }
      if (count > 0) return std::uint64_t{c} << 32 | before << 16 | count;
      if (queued) return 0;
    }
  }

  // The group has been told to bring chunks (`grows`), or that there are none. Where there are too few pages for all, the
  // first lanes get those that are free by now.
  template <class Thread>
  static SIMT_OUTLINE void* bring(const ChunkItems* self, Thread thread, std::uint32_t lanes, std::uint32_t q,
                                  bool grows) {
    LaneGroup<Thread> group(thread, lanes);
    if (grows) {
      void* const page = self->grow(thread, group, q);
      group = group.part(page != nullptr);
      if (page != nullptr) return page;
    }
    const bool seated = group.rank() < group.once([&] { return self->units(q).take_some(group.size()); });
    group = group.part(seated);
    return seated ? serve(self, thread, group.lanes(), q, thread.worker() & self->head_mask_, 0, none) : nullptr;
  }

  // Brings as many chunks as the group needs; a page for each lane, nullptr where there was none. On the copy in device
  // memory.
  template <class Thread>
  SIMT_INLINE void* grow(Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q) const {
    const std::uint32_t pages = chunks_.shape().pages(q), i = group.rank() & (pages - 1), rest = group.size();
    std::uint32_t c = Chunks::none;
    if (i == 0) {
      const std::uint32_t behind = rest - group.rank(), kept = behind < pages ? behind : pages;
      c = new_chunk(thread, q, kept);
    }
    c = lane_value(thread, group, group.rank() - i, c);
    group.sync();  // passes the acquire in new_chunk() on
    // The pages behind those of the group, all of the last chunk.
    const std::uint32_t last = (rest - 1) & ~(pages - 1), others = pages - (rest - last);
    const std::uint32_t from = lane_value(thread, group, last, c);
    if (others > 0 && group.rank() == 0) {
      if (from != Chunks::none) list(this, thread, from, q);
      units(q).signal(from == Chunks::none ? 0 : others, others);
    }
    return c == Chunks::none ? nullptr : chunks_.page(c, q, i);
  }
  // A chunk of class q, the first `kept` pages of which (up to 32) are in use.
  template <class Thread>
  SIMT_INLINE std::uint32_t new_chunk(Thread& thread, std::uint32_t q, std::uint32_t kept) const {
    const std::uint32_t c = chunks_.take(thread);
    if (c == Chunks::none) return c;
    // The room is the chunk's for ever: it may come back to this class, or still have an entry there.
    if ((chunks_.state(c).load(simt::relaxed) & roomed(q)) == 0) {
      if (!queue_.make_room(chunks_, thread, q)) {
        chunks_.put_back(c);
        return Chunks::none;
      }
      chunks_.state(c).fetch_or(roomed(q), simt::relaxed);
    }
    // While the chunk has no class, nobody else sets a bit.
    mask(c, 0).fetch_or((std::uint64_t{1} << kept) - 1, simt::relaxed);
    // acquire: waits for the last users of the chunk's pages. From here on others may count pages of it.
    chunks_.state(c).fetch_add(Chunks::of_kind(q + 1) + kept, simt::acquire);
    return c;
  }

  // Makes the chunk free if none of its pages is in use, and the class has others.
  static SIMT_OUTLINE void retire(const ChunkItems* self, std::uint32_t c, std::uint32_t q) {
    const std::uint32_t pages = self->chunks_.shape().pages(q);
    // Pays for all pages first: no thread with a unit then needs one of them.
    if (!self->units(q).try_wait(pages, pages)) return;
    const simt::atomic_ref<std::uint64_t> state = self->chunks_.state(c);
    std::uint64_t seen = state.load(simt::relaxed);
    SIMT_ROLLED
    while (Chunks::kind_of(seen) == q + 1 && count_of(seen) == 0) {
      // acq_rel: passes the pages on from their last users to who takes the chunk.
      if (state.compare_exchange_strong(seen, seen - Chunks::of_kind(q + 1), simt::acq_rel, simt::relaxed)) {
        return self->chunks_.give_back(c);
      }
    }
    self->units(q).signal(pages, 0);
  }

  Chunks chunks_;
  Queue queue_;
  std::size_t masks_at_ = 0;
  std::uint32_t mask_words_ = 0, head_mask_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
