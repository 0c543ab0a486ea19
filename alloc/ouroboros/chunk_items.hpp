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
    const Units::Wait answer = units(q).wait(thread, 1, chunks_.shape().pages(q));
    if (answer == Units::Wait::grow) return grow(self, thread, q);
    if (answer == Units::Wait::fail) return nullptr;
    const std::uint32_t own = thread.worker() & head_mask_;
    const simt::atomic_ref<std::uint64_t> head = chunks_.word(q, Chunks::heads + own);
    // relaxed: which chunk is tried. Its word orders the rest.
    const std::uint64_t seen = head.load(simt::relaxed);
    Seat seat;
    if (seen != 0) seat = reserve(static_cast<std::uint32_t>(seen) - 1, q);
    if (seat.before + 1 >= chunks_.shape().pages(q)) seat = search(self, thread, q, own, seen, seat);
    return seat.before == none ? nullptr : page_of(thread, seat, q);
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
    const std::uint64_t old = count_off(self, thread, c);
    units(q).signal(1, 0);
    if (count_of(old) == 1) retire(self, c, q);
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

  // A page that is counted: where it is becomes known with page_of().
  struct Seat {
    std::uint32_t chunk = Chunks::none;
    std::uint32_t before = none;  // pages that were counted before; none: nothing is counted
  };

  // Of a chunk's state: used pages, and a bit a class each for `listed` and for whether its queue has room for the chunk.
  static SIMT_INLINE std::uint32_t count_of(std::uint64_t state) { return static_cast<std::uint32_t>(state); }
  static SIMT_INLINE std::uint64_t listed(std::uint32_t q) { return std::uint64_t{1} << (32 + q); }
  static SIMT_INLINE std::uint64_t roomed(std::uint32_t q) { return std::uint64_t{1} << (43 + q); }
  SIMT_INLINE bool has_pages(std::uint64_t state, std::uint32_t q) const {
    return Chunks::kind_of(state) == q + 1 && count_of(state) < chunks_.shape().pages(q);
  }

  SIMT_INLINE Units units(std::uint32_t q) const { return Units(chunks_.word_at(q, Chunks::units)); }
  SIMT_INLINE std::uint64_t* masks_of(std::uint32_t c) const {
    return reinterpret_cast<std::uint64_t*>(chunks_.base() + masks_at_) + std::size_t{c} * mask_words_;
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> mask(std::uint32_t c, std::uint32_t w) const {
    return simt::atomic_ref<std::uint64_t>(masks_of(c)[w]);
  }

  // Counts a page of class q in the chunk. Who finds that there is none is counted all the same, until it says so by
  // count_off().
  SIMT_INLINE Seat reserve(std::uint32_t c, std::uint32_t q) const {
    // acquire: the chunk may have been of another class before; waits for the last users of its pages.
    const std::uint64_t old = chunks_.state(c).fetch_add(1, simt::acquire);
    return {c, has_pages(old, q) ? count_of(old) : none};
  }

  // The page of a seat. nullptr only if the launch is aborted.
  template <class Thread>
  SIMT_INLINE void* page_of(Thread& thread, const Seat& seat, std::uint32_t q) const {
    const std::uint32_t most = chunks_.shape().pages(q), words = (most + 63) / 64;
    // As long as nothing is freed, the page behind those that are counted is the first one that is free.
    std::uint32_t w = seat.before / 64, bit = seat.before % 64;
    std::uint64_t taken = 0;
    SIMT_ROLLED
    for (std::uint32_t turn = 0;;) {
      if (most < 64) taken |= ~std::uint64_t{0} << most;  // there are no such pages
      if (~taken != 0) {
        const std::uint64_t behind = ~taken >> bit;
        bit = behind != 0 ? bit + simt::lowest_bit(behind) : simt::lowest_bit(~taken);
        const std::uint64_t mine = std::uint64_t{1} << bit;
        // acquire: waits for the last user of the page.
        taken = mask(seat.chunk, w).fetch_or(mine, simt::acquire);
        if ((taken & mine) == 0) return chunks_.page(seat.chunk, q, w * 64 + bit);
      } else {
        w = w + 1 == words ? 0 : w + 1;
        bit = 0;
        taken = mask(seat.chunk, w).load(simt::relaxed);
        if (++turn % words == 0) {
          if (thread.aborted()) return nullptr;  // the page stays counted: the pool ends with the launch
          thread.pause(turn / words);
        }
      }
    }
  }

  // Counts a page off; returns the state as it was.
  template <class Thread>
  SIMT_INLINE std::uint64_t count_off(const ChunkItems* self, Thread& thread, std::uint32_t c) const {
    // release: hands the page over to who is counted next, or gives the chunk another class.
    const std::uint64_t old = chunks_.state(c).fetch_sub(1, simt::release);
    const std::uint32_t q = Chunks::kind_of(old) - 1;
    if (q < chunks_.shape().classes() && count_of(old) == chunks_.shape().pages(q) && (old & listed(q)) == 0) {
      list(self, thread, c, q);
    }
    return old;
  }

  // After a reserve() in vain.
  template <class Thread>
  SIMT_INLINE static void undo(const ChunkItems* self, Thread& thread, std::uint32_t c) {
    const std::uint64_t old = self->count_off(self, thread, c);
    const std::uint32_t q = Chunks::kind_of(old) - 1;
    if (q < self->chunks_.shape().classes() && count_of(old) == 1) retire(self, c, q);
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
    queue_.put(chunks_, thread, q, c);
    chunks_.word(q, Chunks::ready).fetch_add(1, simt::relaxed);
  }
  // A listed chunk; none: there is none at the moment, or the launch is aborted. On the copy in device memory.
  template <class Thread>
  SIMT_INLINE std::uint32_t pop(Thread& thread, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> ready = chunks_.word(q, Chunks::ready);
    const auto any = [](std::uint64_t n) { return static_cast<std::int64_t>(n) > 0; };
    if (!any(ready.load(simt::relaxed))) return Chunks::none;
    if (any(ready.fetch_sub(1, simt::relaxed))) return queue_.take(chunks_, thread, q, &queue_, &chunks_);
    ready.fetch_add(1, simt::relaxed);
    return Chunks::none;
  }
  // The chunk's entry has been removed.
  template <class Thread>
  SIMT_INLINE void unlist(Thread& thread, std::uint32_t c, std::uint32_t q) const {
    if (has_pages(chunks_.state(c).fetch_and(~listed(q), simt::relaxed), q)) list(this, thread, c, q);
  }

  // A seat for a thread that has a unit, as another head or in a chunk from the queue. `seat` is what it got in the head
  // `seen`: no page, or the last.
  template <class Thread>
  static SIMT_OUTLINE Seat search(const ChunkItems* self, Thread thread, std::uint32_t q, std::uint32_t h,
                                  std::uint64_t seen, Seat seat) {
    const Chunks& chunks = self->chunks_;
    const std::uint32_t most = chunks.shape().pages(q);
    SIMT_ROLLED
    for (unsigned turn = 0;; ++turn) {
      const simt::atomic_ref<std::uint64_t> head = chunks.word(q, Chunks::heads + h);
      if (turn > 0) {
        seen = head.load(simt::relaxed);
        if (seen != 0) seat = self->reserve(static_cast<std::uint32_t>(seen) - 1, q);
      }
      if (seen != 0) {
        if (seat.before + 1 < most) return seat;
        if (seat.before == none) undo(self, thread, seat.chunk);
        // Nothing is left in this head.
        if (head.compare_exchange_strong(seen, 0, simt::relaxed, simt::relaxed)) self->unlist(thread, seat.chunk, q);
        if (seat.before != none) return seat;
      }
      const std::uint32_t c = self->pop(thread, q);
      if (c != Chunks::none) {
        seat = self->reserve(c, q);
        if (seat.before == none) undo(self, thread, c);
        if (seat.before + 1 < most) {
          std::uint64_t nothing = 0;
          if (!head.compare_exchange_strong(nothing, c + 1, simt::relaxed, simt::relaxed)) self->push(thread, c, q);
        } else {
          self->unlist(thread, c, q);
        }
        if (seat.before != none) return seat;
      }
      // Some other head, or a thread that is inside, has it.
      if ((turn & 63) == 63 && thread.aborted()) return {};
      thread.pause(turn);
      h = (h + 1) & self->head_mask_;
    }
  }

  // The caller has been told to bring a chunk.
  template <class Thread>
  static SIMT_OUTLINE void* grow(const ChunkItems* self, Thread thread, std::uint32_t q) {
    const Chunks& chunks = self->chunks_;
    const std::uint32_t others = chunks.shape().pages(q) - 1;
    const std::uint32_t c = chunks.take(thread);
    // The room is the chunk's for ever: it may come back to this class, or still have an entry there.
    const bool room = c != Chunks::none && ((chunks.state(c).load(simt::relaxed) & roomed(q)) != 0 ||
                                            self->queue_.make_room(chunks, thread, q));
    if (!room) {
      if (c != Chunks::none) chunks.give_back(c);
      self->units(q).signal(0, others);
      return nullptr;
    }
    chunks.state(c).fetch_or(roomed(q), simt::relaxed);
    // acquire: waits for the last users of the chunk's pages. From here on others may count pages of it.
    chunks.state(c).fetch_add(Chunks::of_kind(q + 1) + 1, simt::acquire);
    if (others > 0) {
      list(self, thread, c, q);
      self->units(q).signal(others, others);
    }
    return self->page_of(thread, {c, 0}, q);
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
