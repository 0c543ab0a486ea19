// SPDX-License-Identifier: MIT
// The common part of the virtualized queues of Ouroboros (section 5): their slots are in pieces,
// which are chunks, and position p of a queue is in piece number p / (slots per piece). The derived
// class finds a piece by its number: through an array of pointers ("VA") or a list ("VL"). A piece
// that has been filled and emptied, according to its count, is released as a chunk if the class has
// the free slots of one (VL) or two (VA) more pieces than at the start. Otherwise it is attached
// again after the last piece, with a new number: immediately (VA) or when it is needed (VL).
//
// Differs from the paper:
//   - a thread that puts entries reserves slots for them before it takes tickets, with a bulk
//     semaphore of slots whose batch is a piece. So a free that finds no memory for a piece learns
//     this in time. Chunks in queues of chunks (C) reserve a slot once, when they join the class,
//     so a free never needs one;
//   - a piece is released when its count says that every thread that had a position in it has left,
//     so no thread accesses its slots afterwards. Chunks in queues of chunks keep their slots, so
//     those pieces stay;
//   - a piece counts only the entries taken: each of them had been put before;
//   - each class has a few pieces from the start, for the first thousands of threads.
//
// Overhead: 4 bytes per entry in the queue, up to two more pieces than at the start per class, 4
// bytes per chunk.
#pragma once

#include <algorithm>

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

template <class Derived>
class QueuePieces {
 public:
  static constexpr bool in_pieces = true;

  struct Location {
    std::uint32_t* slot = nullptr;  // nullptr: the launch is aborted
    std::uint32_t piece = 0;        // the chunk that is the piece
  };

  // The number of adjacent slots from a position on.
  HEAPWOOD_INLINE std::uint32_t adjacent(std::uint32_t, std::uint64_t position) const {
    return slots() - index_of(position);
  }
  // Returns the slot of a position that is the caller's: other positions' pieces may have left the
  // queue. puts: the caller puts an entry; otherwise it takes one.
  template <bool puts, class Thread>
  HEAPWOOD_INLINE Location find(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                std::uint64_t position, const Derived* self,
                                const Chunks* chunks_copy) const {
    const std::uint32_t piece = derived().template piece_of<puts>(
        chunks, thread, q, number_of(position), self, chunks_copy);
    if (piece == Chunks::none) return {};
    return {slots_of(chunks, piece) + index_of(position), piece};
  }

  // Records that n slots of the piece at `location` have been emptied. Returns true if the whole
  // piece is now empty; the caller must then call on_piece_emptied().
  HEAPWOOD_INLINE bool leave(const Chunks& chunks, const Location& location,
                             std::uint32_t n) const {
    // release: publishes the slots as empty. acquire: makes the others visible as empty.
    return taken_of(chunks, location.piece).fetch_add(n, simt::acq_rel) + n == slots();
  }
  HEAPWOOD_INLINE bool is_same_piece(std::uint64_t a, std::uint64_t b) const {
    return number_of(a) == number_of(b);
  }
  template <class Thread>
  HEAPWOOD_INLINE void on_piece_emptied(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                        std::uint64_t position, const Location& location) const {
    derived().recycle(chunks, thread, q, number_of(position), location.piece);
  }

  // Reserves slots for n entries (at most the slots of a piece), which the caller then puts.
  // Returns false if there are none. `self` and `chunks_copy` are the copies of this object and of
  // the chunks in device memory, for functions that are not inlined.
  template <class Thread>
  HEAPWOOD_INLINE bool reserve_slots(const Derived* self, const Chunks& chunks,
                                     const Chunks* chunks_copy, Thread& thread, std::uint32_t q,
                                     std::uint32_t n) const {
    const FreeSlots free_slots(chunks.word_at(q, Chunks::free_slots));
    // A class that has all its pieces gets no more slots: waiting for one would take `patience`
    // turns per free. relaxed: if a piece is being added or released, the count may be one too
    // high, and then a page goes into a list.
    if (counts_ &&
        chunks.word(q, Chunks::pieces).load(simt::relaxed) >= chunks.shape().max_pieces) {
      return free_slots.try_wait(n);
    }
    const FreeSlots::Wait answer = free_slots.wait(thread, n, slots(), chunks.exhausted_word());
    return answer == FreeSlots::Wait::got ||
           (answer == FreeSlots::Wait::grow && add_piece(self, chunks_copy, thread, q, n));
  }
  // Does nothing: the slots of a piece become free together, in return_slots().
  HEAPWOOD_INLINE void release_slots(const Chunks&, std::uint32_t, std::uint32_t) const {}

 protected:
  std::size_t plan_pieces(const Shape& shape, bool counts, std::size_t offset) {
    slot_shift_ = shape.chunk_shift - 2;
    counts_ = counts;
    taken_at_ = round_up(offset, 256);
    return taken_at_ + shape.chunks * sizeof(std::uint32_t);
  }
  // The first chunks of the pool become the first pieces, class by class.
  template <class Device>
  void reset_pieces(const Chunks& chunks, const Device& device) const {
    const Shape& shape = chunks.shape();
    simt::device_fill(device.id(), slots_of(chunks, 0), 0xff,
                      (std::size_t{shape.classes()} * shape.pieces) << shape.chunk_shift);
    // Without counts no slots return, and the next position may already be in a piece beyond the
    // queue's entries: n entries then occupy up to (n - 1) / slots() + 2 pieces. So the slots of
    // one piece are not offered.
    const std::uint64_t pieces = shape.pieces,
                        free_slots =
                            FreeSlots::initial((shape.pieces - (counts_ ? 0 : 1)) << slot_shift_);
    for (std::uint32_t q = 0; q < shape.classes(); ++q) {
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::free_slots), &free_slots,
                          sizeof(free_slots));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::pieces), &pieces, sizeof(pieces));
    }
  }

  HEAPWOOD_INLINE std::uint32_t slots() const { return 1u << slot_shift_; }
  HEAPWOOD_INLINE std::uint32_t number_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position >> slot_shift_);
  }
  HEAPWOOD_INLINE std::uint32_t index_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position) & (slots() - 1);
  }
  HEAPWOOD_INLINE std::uint32_t* slots_of(const Chunks& chunks, std::uint32_t piece) const {
    return as<std::uint32_t>(chunks.chunk(piece));
  }
  // The number of the piece's entries that have been taken.
  HEAPWOOD_INLINE Word32 taken_of(const Chunks& chunks, std::uint32_t piece) const {
    return Word32(as<std::uint32_t>(chunks.base() + taken_at_)[piece]);
  }
  // Makes the slots of an emptied piece available.
  HEAPWOOD_INLINE void return_slots(const Chunks& chunks, std::uint32_t q) const {
    if (counts_) FreeSlots(chunks.word_at(q, Chunks::free_slots)).signal(slots(), 0);
  }
  // Takes a piece's slots out of use, if enough others are free; the caller then releases it.
  HEAPWOOD_INLINE bool take_surplus(const Chunks& chunks, std::uint32_t q) const {
    return counts_ && FreeSlots(chunks.word_at(q, Chunks::free_slots))
                          .try_wait(slots(), chunks.shape().pieces << slot_shift_);
  }
  // Releases an emptied piece that no thread can find any more.
  HEAPWOOD_INLINE void release_piece(const Chunks& chunks, std::uint32_t q,
                                     std::uint32_t piece) const {
    // relaxed, all three: the bitmap publishes that the chunk is free and its count 0.
    taken_of(chunks, piece).store(0, simt::relaxed);
    chunks.state(piece).fetch_sub(Chunks::of_kind(Chunks::queue_piece), simt::relaxed);
    chunks.word(q, Chunks::pieces).fetch_sub(1, simt::relaxed);
    chunks.give_back(piece);
  }

  // Visits the slots of positions [begin, end); piece(number) finds a piece, on the host.
  template <class Visitor, class Piece>
  void read_pieces(const HostView& host, const Chunks& chunks, std::uint64_t begin,
                   std::uint64_t end, Visitor visit, Piece piece) const {
    while (begin < end) {
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(adjacent(0, begin), end - begin));
      for (const std::uint32_t entry :
           host.read(slots_of(chunks, piece(number_of(begin))) + index_of(begin), count))
        visit(entry);
      begin += count;
    }
  }

 private:
  // The semaphore only counts slots; the pieces themselves are handed over where they are attached.
  using FreeSlots = BasicBulkSemaphore<false>;

  // Adds a piece that the caller has announced to the semaphore; the caller keeps n of its slots.
  template <class Thread>
  static HEAPWOOD_OUTLINE bool add_piece(const Derived* self, const Chunks* chunks, Thread thread,
                                         std::uint32_t q, std::uint32_t n) {
    const FreeSlots free_slots(chunks->word_at(q, Chunks::free_slots));
    const std::uint32_t others = self->slots() - n;
    const Word64 pieces = chunks->word(q, Chunks::pieces);
    // relaxed: the count orders no accesses.
    const bool is_allowed = pieces.fetch_add(1, simt::relaxed) < chunks->shape().max_pieces;
    const std::uint32_t piece = is_allowed ? chunks->take(thread) : Chunks::none;
    if (piece == Chunks::none) {
      pieces.fetch_sub(1, simt::relaxed);
      free_slots.signal(0, others);
      return false;
    }
    // acquire: synchronizes with the last users of its pages.
    chunks->state(piece).fetch_add(Chunks::of_kind(Chunks::queue_piece), simt::acquire);
    HEAPWOOD_UNROLLED_4
    for (std::uint32_t i = 0; i < self->slots(); ++i) {
      Word32(self->slots_of(*chunks, piece)[i]).store(~0u, simt::relaxed);
    }
    self->attach(*chunks, thread, q, piece);
    free_slots.signal(others, others);
    return true;
  }
  HEAPWOOD_INLINE const Derived& derived() const { return static_cast<const Derived&>(*this); }

  unsigned slot_shift_ = 0;
  // Whether free slots are counted: in queues of pages, because their number of entries varies. In
  // queues of chunks each chunk keeps its slot.
  bool counts_ = false;
  std::size_t taken_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
