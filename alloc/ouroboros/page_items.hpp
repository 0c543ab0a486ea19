// SPDX-License-Identifier: MIT
// Ouroboros with queues of pages (section 4.1, "P"): the queue of a class has an entry for each of its free pages. A
// bulk semaphore counts them and says who brings a chunk; such a thread keeps a page and puts the others into the queue.
// Differs from the paper:
// - a chunk that cannot be had is said to the semaphore (published: ignored, and then memory is written that is nobody's);
// - the queue has room for every page of the class before that page can be freed (static_queue.hpp, queue_pieces.hpp);
// - places in the queue are reserved before the semaphore is told, so that waiting threads have their slots and do not
//   crowd at one word, while the pages are put;
// - lanes that call together act as one: one wait for all their units, one add for all their tickets, and they share the
//   work of putting a chunk's pages.
// As published a chunk stays with its class for good.
#pragma once

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"
#include "alloc/primitives/lane_group.hpp"

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
    const LaneGroup<Thread> group(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    const auto answer = static_cast<Units::Wait>(group.once([&] {
      const Units::Wait got = units(q).wait(thread, group.size(), chunks_.shape().pages(q), chunks_.dry_word());
      return static_cast<std::uint32_t>(got);
    }));
    if (answer == Units::Wait::got) return take(self, thread, group, q);
    return bring(self, thread, group.lanes(), q, answer == Units::Wait::grow);
  }

  template <class Thread>
  SIMT_INLINE void deallocate(const PageItems*, Thread& thread, void* block) const {
    std::uint32_t offset = 0;
    const std::uint32_t c = chunks_.chunk_of(block, offset);
    // relaxed: constant by now.
    const std::uint32_t q = Chunks::kind_of(chunks_.state(c).load(simt::relaxed)) - 1;
    const LaneGroup<Thread> group(thread, thread.together(chunks_.word_at(q, Chunks::units)));
    queue_.put(chunks_, thread, group, q, entry_of(c, offset >> chunks_.shape().page_shift(q)));
    group.sync();
    if (group.rank() == 0) units(q).signal(group.size(), 0);
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

  // A page for each lane of the group, which has units for them.
  template <class Thread>
  SIMT_INLINE void* take(const PageItems* self, Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q) const {
    const std::uint32_t entry = queue_.take(chunks_, thread, group, q, &self->queue_, &self->chunks_);
    if (entry == Queue::empty) return nullptr;
    const std::uint32_t c = entry >> 10;
    if ((entry & fresh) != 0) know(c, q);
    return chunks_.page(c, q, entry >> 1 & 511);
  }
  // relaxed: whoever frees a page learns its class through the thread that has got it, which therefore writes it too.
  SIMT_INLINE void know(std::uint32_t c, std::uint32_t q) const {
    chunks_.state(c).store(Chunks::of_kind(q + 1), simt::relaxed);
  }

  // The group has been told to bring chunks (`grows`), or that there are none. Where there are too few pages for all, the
  // first lanes get those that are free by now.
  template <class Thread>
  static SIMT_OUTLINE void* bring(const PageItems* self, Thread thread, std::uint32_t lanes, std::uint32_t q,
                                  bool grows) {
    LaneGroup<Thread> group(thread, lanes);
    if (grows) {
      void* const page = self->grow(thread, group, q);
      group = group.part(page != nullptr);
      if (page != nullptr) return page;
    }
    const bool seated = group.rank() < group.once([&] { return self->units(q).take_some(group.size()); });
    group = group.part(seated);
    return seated ? self->take(self, thread, group, q) : nullptr;
  }

  // Brings as many chunks as the group needs; a page for each lane, nullptr where there was none. On the copy in device
  // memory.
  template <class Thread>
  SIMT_INLINE void* grow(Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q) const {
    const std::uint32_t pages = chunks_.shape().pages(q), i = group.rank() & (pages - 1);
    std::uint32_t c = Chunks::none;
    if (i == 0) {
      c = chunks_.take(thread);
      if (c != Chunks::none && !queue_.make_room(chunks_, thread, q)) {
        chunks_.put_back(c);
        c = Chunks::none;
      }
    }
    c = lane_value(thread, group, group.rank() - i, c);
    if (c != Chunks::none) know(c, q);
    // The pages behind those of the group, all of the last chunk.
    const std::uint32_t last = (group.size() - 1) & ~(pages - 1), kept = group.size() - last, others = pages - kept;
    if (others > 0) {
      const std::uint32_t from = lane_value(thread, group, last, c);
      const std::uint64_t at = group.once([&] {
        const std::uint64_t position = from == Chunks::none ? 0 : queue_.reserve(chunks_, q, others);
        units(q).signal(from == Chunks::none ? 0 : others, others);
        return position;
      });
      if (from != Chunks::none) {
        queue_.put(chunks_, thread, group, q, at, others, entry_of(from, kept) | fresh, entry_of(0, 1));
      }
    }
    return c == Chunks::none ? nullptr : chunks_.page(c, q, i);
  }

  Chunks chunks_;
  Queue queue_;
};

}  // namespace heapwood::alloc::ouroboros
