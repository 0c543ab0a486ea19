// SPDX-License-Identifier: MIT
// What the virtualised queues of Ouroboros (section 5) have in common: their slots are in pieces, which are chunks, and
// position p of a queue is in the piece with number p / slots of a piece. How a piece is found by its number is the
// derived class's: an array of pointers ("VA") or a list ("VL"). A piece that has been filled and emptied, as a count
// tells, is attached again behind the last one, with a new number: at once (VA) or when it is wanted (VL).
// Differs from the paper:
// - who puts entries has room for them before it takes tickets: a bulk semaphore of slots, whose batch is a piece. So a
//   free that finds no memory for a piece learns it in time, and who looks for the piece of its ticket finds it. Chunks
//   that are in queues of chunks (C) get room once, when they come to the class, so that a free never needs any;
// - pieces stay with their class. So it does no harm to look at a piece that has been emptied meanwhile: what is there
//   is a piece, and its number tells. (The published list leaves ten old pieces alone before they are used for something
//   else, and hopes that no thread is later than that.)
// - one count a piece, of entries taken; an entry that was taken was put;
// - a class has a few pieces from the beginning, for the first thousands of threads.
// Overhead: 4 bytes an entry of the longest queue there was, 4 bytes a chunk.
#pragma once

#include <algorithm>

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"

namespace heapwood::alloc::ouroboros {

template <class Derived>
class QueuePieces {
 public:
  static constexpr bool in_pieces = true;

  struct Place {
    std::uint32_t* slot = nullptr;  // nullptr: the launch is aborted
    std::uint32_t piece = 0;        // a chunk
  };

  // The slot of a position, and in `run` how many slots follow each other from there on. puts: for who puts an entry.
  template <bool puts, class Thread>
  SIMT_INLINE Place find(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint64_t position,
                         std::uint32_t& run, const Derived* self, const Chunks* there) const {
    const auto at = static_cast<std::uint32_t>(position) & (slots() - 1);
    run = slots() - at;
    const std::uint32_t piece = derived().template piece_of<puts>(chunks, thread, q, number_of(position), self, there);
    if (piece == Chunks::none) return {};
    return {slots_of(chunks, piece) + at, piece};
  }

  // Called when n slots of the place's piece have been emptied. True: so has the piece, and the caller has to call emptied().
  SIMT_INLINE bool leave(const Chunks& chunks, const Place& place, std::uint32_t n) const {
    // release: the slots are empty; acquire: so are the others.
    return taken_of(chunks, place.piece).fetch_add(n, simt::acq_rel) + n == slots();
  }
  SIMT_INLINE bool same_piece(std::uint64_t a, std::uint64_t b) const { return number_of(a) == number_of(b); }
  template <class Thread>
  SIMT_INLINE void emptied(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint64_t position,
                           const Place& place) const {
    derived().recycle(chunks, thread, q, number_of(position), place.piece);
  }

  // Room for n entries (not more than a piece has slots), which are then put. False: there is none. `self` and `there`
  // are copies of this object and of the chunks in device memory, for what is out of line.
  template <class Thread>
  SIMT_INLINE bool make_room(const Derived* self, const Chunks& chunks, const Chunks* there, Thread& thread,
                             std::uint32_t q, std::uint32_t n) const {
    const Room::Wait answer = Room(chunks.word_at(q, Chunks::room)).wait(thread, n, slots(), chunks.dry_word());
    return answer == Room::Wait::got || (answer == Room::Wait::grow && bring_piece(self, there, thread, q, n));
  }
  // The slots of a piece come back together.
  SIMT_INLINE void give_room(const Chunks&, std::uint32_t, std::uint32_t) const {}

 protected:
  std::size_t plan_pieces(const Shape& shape, bool counts, std::size_t at) {
    slot_shift_ = shape.chunk_shift - 2;
    counts_ = counts;
    taken_at_ = round_up(at, 256);
    return taken_at_ + shape.chunks * sizeof(std::uint32_t);
  }
  // The first chunks are the first pieces, class by class.
  template <class Device>
  void reset_pieces(const Chunks& chunks, const Device& device) const {
    const Shape& shape = chunks.shape();
    simt::device_fill(device.id(), slots_of(chunks, 0), 0xff,
                      (std::size_t{shape.classes()} * shape.pieces) << shape.chunk_shift);
    // Where room is for ever, T entries and the next position lie in up to (T - 1) / slots + 2 pieces.
    const std::uint64_t pieces = shape.pieces, room = Room::initial((shape.pieces - (counts_ ? 0 : 1)) << slot_shift_);
    for (std::uint32_t q = 0; q < shape.classes(); ++q) {
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::room), &room, sizeof(room));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::pieces), &pieces, sizeof(pieces));
    }
  }

  SIMT_INLINE std::uint32_t slots() const { return 1u << slot_shift_; }
  SIMT_INLINE std::uint32_t number_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position >> slot_shift_);
  }
  SIMT_INLINE std::uint32_t* slots_of(const Chunks& chunks, std::uint32_t piece) const {
    return reinterpret_cast<std::uint32_t*>(chunks.chunk(piece));
  }
  // How many of its entries have been taken.
  SIMT_INLINE simt::atomic_ref<std::uint32_t> taken_of(const Chunks& chunks, std::uint32_t piece) const {
    return simt::atomic_ref<std::uint32_t>(reinterpret_cast<std::uint32_t*>(chunks.base() + taken_at_)[piece]);
  }
  // A piece is there for entries again.
  SIMT_INLINE void piece_back(const Chunks& chunks, std::uint32_t q) const {
    if (counts_) Room(chunks.word_at(q, Chunks::room)).signal(slots(), 0);
  }

  // The slots of positions [begin, end); piece(number) finds a piece, on the host.
  template <class Visitor, class Piece>
  void read_pieces(const HostView& host, const Chunks& chunks, std::uint64_t begin, std::uint64_t end, Visitor visit,
                   Piece piece) const {
    while (begin < end) {
      const auto at = static_cast<std::uint32_t>(begin) & (slots() - 1);
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(slots() - at, end - begin));
      for (const std::uint32_t entry : host.read(slots_of(chunks, piece(number_of(begin))) + at, count)) visit(entry);
      begin += count;
    }
  }

 private:
  using Room = BasicBulkSemaphore<false>;  // counts slots; pieces are handed over where they are attached

  // The caller has promised a piece, and keeps n slots of it.
  template <class Thread>
  static SIMT_OUTLINE bool bring_piece(const Derived* self, const Chunks* chunks, Thread thread, std::uint32_t q,
                                       std::uint32_t n) {
    const Room room(chunks->word_at(q, Chunks::room));
    const std::uint32_t others = self->slots() - n;
    const simt::atomic_ref<std::uint64_t> pieces = chunks->word(q, Chunks::pieces);
    // relaxed: a number.
    const bool allowed = pieces.fetch_add(1, simt::relaxed) < chunks->shape().most_pieces;
    const std::uint32_t piece = allowed ? chunks->take(thread) : Chunks::none;
    if (piece == Chunks::none) {
      pieces.fetch_sub(1, simt::relaxed);
      room.signal(0, others);
      return false;
    }
    // acquire: waits for the last users of its pages.
    chunks->state(piece).fetch_add(Chunks::of_kind(Chunks::queue_piece), simt::acquire);
    SIMT_UNROLLED_4
    for (std::uint32_t i = 0; i < self->slots(); ++i) {
      simt::atomic_ref<std::uint32_t>(self->slots_of(*chunks, piece)[i]).store(~0u, simt::relaxed);
    }
    self->attach(*chunks, thread, q, piece);
    room.signal(others, others);
    return true;
  }
  SIMT_INLINE const Derived& derived() const { return static_cast<const Derived&>(*this); }

  unsigned slot_shift_ = 0;
  bool counts_ = false;
  std::size_t taken_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
