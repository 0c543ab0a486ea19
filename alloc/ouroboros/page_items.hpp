// SPDX-License-Identifier: MIT
// Ouroboros with queues of pages (section 4.1, "P"): the queue of a class has an entry for each of its free pages. A
// bulk semaphore counts them and says who brings a chunk; such a thread keeps a page and puts the others into the queue.
// Differs from the paper:
// - a chunk that cannot be had is said to the semaphore (published: ignored, and then memory is written that is nobody's);
// - the queue has room for every page of the class before that page can be freed (static_queue.hpp, queue_pieces.hpp);
// - places in the queue are reserved before the semaphore is told, so that waiting threads have their slots and do not
//   crowd at one word, while the pages are put one by one.
// As published a chunk stays with its class for good.
#pragma once

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"

namespace heapwood::alloc::ouroboros {

template <class Queue>
class PageItems {
 public:
  static constexpr std::uint32_t pieces = Queue::pieces;

  // Where the tables end if they begin at `at`.
  std::size_t plan(const Shape& shape, std::size_t at) {
    return queue_.plan(shape, shape.chunk_shift - 4, chunks_.plan(shape, at));
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
  SIMT_INLINE void* allocate(const PageItems* self, Thread& thread, std::uint32_t q) const {
    const Units::Wait answer = units(q).wait(thread, 1, chunks_.shape().pages(q));
    if (answer == Units::Wait::grow) return grow(self, thread, q);
    if (answer == Units::Wait::fail) return nullptr;
    const std::uint32_t entry = queue_.take(chunks_, thread, q, &self->queue_, &self->chunks_);
    if (entry == Queue::empty) return nullptr;
    const std::uint32_t c = entry >> 10;
    // relaxed: whoever frees the page learns the class through this thread, not through the one that brought the chunk.
    if ((entry & fresh) != 0) chunks_.state(c).store(Chunks::of_kind(q + 1), simt::relaxed);
    return chunks_.page(c, q, entry >> 1 & 511);
  }

  template <class Thread>
  SIMT_INLINE void deallocate(const PageItems*, Thread& thread, void* block) const {
    std::uint32_t offset = 0;
    const std::uint32_t c = chunks_.chunk_of(block, offset);
    // relaxed: constant by now.
    const std::uint32_t q = Chunks::kind_of(chunks_.state(c).load(simt::relaxed)) - 1;
    queue_.put(chunks_, thread, q, entry_of(c, offset >> chunks_.shape().page_shift(q)));
    units(q).signal(1, 0);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const Shape& shape = chunks_.shape();
    std::vector<bool> free(std::size_t{shape.chunks} << 9);
    for (std::uint32_t q = 0; q < shape.classes(); ++q) {
      queue_.read(host, chunks_, q, [&](std::uint32_t entry) {
        const std::size_t i = entry >> 1;
        if (entry == Queue::empty || i >= free.size() || free[i]) {
          throw Error(Exit::failed, "ouroboros: queue " + std::to_string(q) + " has no page, or one twice");
        }
        free[i] = true;
      });
    }
    chunks_.walk(host, visit,
                 [&](std::uint32_t c, std::uint32_t, std::uint32_t i) { return !free[(std::size_t{c} << 9) + i]; });
  }

 private:
  using Units = BasicBulkSemaphore<false>;  // pages are handed over in the slots

  // An entry is {chunk:22, page:9, fresh:1}. A fresh page was never used.
  static constexpr std::uint32_t fresh = 1;
  static SIMT_INLINE std::uint32_t entry_of(std::uint32_t c, std::uint32_t i) { return c << 10 | i << 1; }

  SIMT_INLINE Units units(std::uint32_t q) const { return Units(chunks_.word_at(q, Chunks::units)); }

  // The caller has been told to bring a chunk.
  template <class Thread>
  static SIMT_OUTLINE void* grow(const PageItems* self, Thread thread, std::uint32_t q) {
    const Chunks& chunks = self->chunks_;
    const std::uint32_t others = chunks.shape().pages(q) - 1;
    const std::uint32_t c = chunks.take(thread);
    const bool room = c != Chunks::none && self->queue_.make_room(chunks, thread, q);
    if (!room) {
      if (c != Chunks::none) chunks.give_back(c);
      self->units(q).signal(0, others);
      return nullptr;
    }
    chunks.state(c).store(Chunks::of_kind(q + 1), simt::relaxed);
    if (others > 0) {
      const std::uint64_t at = self->queue_.reserve(chunks, q, others);
      self->units(q).signal(others, others);
      self->queue_.put(chunks, thread, q, at, others, entry_of(c, 1) | fresh, entry_of(0, 1));
    }
    return chunks.page(c, q, 0);
  }

  Chunks chunks_;
  Queue queue_;
};

}  // namespace heapwood::alloc::ouroboros
