// SPDX-License-Identifier: MIT
// What the virtualised queues of Ouroboros (section 5) have in common: their slots are in pieces, which are chunks, and
// position p of a queue is in the piece with number p / slots of a piece. How a piece is found by its number is the
// derived class's: an array of pointers ("VA") or a list ("VL"). A piece that has been filled and emptied, as a count
// tells, is attached again behind the last one, with a new number.
// Differs from the paper:
// - a free must never need memory, since there may be none. So room is made when a class gets a chunk, not when
//   an entry is put: a bulk semaphore of room, whose batch is a piece. Position p is put when fewer than T entries are
//   in the queue, T being what the class's chunks can bring; they and p lie in (T - 1) / slots + 2 pieces at most,
//   which is how many there are: the first two have room for as many entries as one has slots. All pieces in front of these are being emptied by running threads, and
//   then are attached again, so that who waits for a piece waits for running threads;
// - pieces stay with their class. So it does no harm to look at a piece that has been emptied meanwhile: what is there
//   is a piece, and its number tells. (The published list leaves ten old pieces alone before they are used for something
//   else, and hopes that no thread is later than that.)
// - one count a piece, of entries taken; an entry that was taken was put.
// Overhead: 4 bytes an entry that the chunks in use can bring, two chunks a class, 4 bytes a chunk.
#pragma once

#include <algorithm>

#include "alloc/ouroboros/index_queue.hpp"
#include "alloc/primitives/bulk_semaphore.hpp"

namespace heapwood::alloc::ouroboros {

template <class Derived>
class QueuePieces {
 public:
  static constexpr std::uint32_t pieces = 2;

  struct Place {
    std::uint32_t* slot = nullptr;  // nullptr: the launch is aborted
    std::uint32_t piece = 0;        // a chunk
  };

  template <bool puts, class Thread>
  SIMT_INLINE Place find(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint64_t position,
                         std::uint32_t& run) const {
    const auto at = static_cast<std::uint32_t>(position) & (slots() - 1);
    run = slots() - at;
    const std::uint32_t piece = derived().template piece_of<puts>(chunks, thread, q, number_of(position));
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

  template <class Thread>
  SIMT_INLINE bool make_room(const Chunks& chunks, Thread& thread, std::uint32_t q) const {
    const Room room(chunks.word_at(q, Chunks::room));
    const std::uint32_t batch = chunks_of_piece(q);
    const Room::Wait answer = room.wait(thread, 1, batch);
    if (answer != Room::Wait::grow) return answer == Room::Wait::got;
    const std::uint32_t piece = chunks.take(thread);
    if (piece == Chunks::none) {
      room.signal(0, batch - 1);
      return false;
    }
    // acquire: waits for the last users of its pages.
    chunks.state(piece).fetch_add(Chunks::of_kind(Chunks::queue_piece), simt::acquire);
    SIMT_UNROLLED_4
    for (std::uint32_t i = 0; i < slots(); ++i) {
      simt::atomic_ref<std::uint32_t>(slots_of(chunks, piece)[i]).store(~0u, simt::relaxed);
    }
    derived().attach(chunks, thread, q, piece);
    room.signal(batch - 1, batch - 1);
    return true;
  }

 protected:
  std::size_t plan_pieces(const Shape& shape, unsigned entry_shift, std::size_t at) {
    slot_shift_ = shape.chunk_shift - 2;
    entry_shift_ = entry_shift;
    taken_at_ = round_up(at, 256);
    return taken_at_ + shape.chunks * sizeof(std::uint32_t);
  }
  // The first chunks are the pieces with numbers 0 and 1 of each class.
  template <class Device>
  void reset_pieces(const Chunks& chunks, const Device& device) const {
    const std::uint32_t classes = chunks.shape().classes();
    simt::device_fill(device.id(), slots_of(chunks, 0), 0xff,
                      (std::size_t{classes} * pieces) << chunks.shape().chunk_shift);
    const std::uint64_t two = pieces;
    for (std::uint32_t q = 0; q < classes; ++q) {
      const std::uint64_t room = Room::initial(chunks_of_piece(q));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::room), &room, sizeof(room));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::attached), &two, sizeof(two));
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
  // The number for a piece that is attached.
  SIMT_INLINE std::uint32_t next_number(const Chunks& chunks, std::uint32_t q) const {
    return static_cast<std::uint32_t>(chunks.word(q, Chunks::attached).fetch_add(1, simt::relaxed));
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
  using Room = BasicBulkSemaphore<false>;  // counts chunks whose entries have room

  SIMT_INLINE std::uint32_t chunks_of_piece(std::uint32_t q) const {
    return slots() >> (entry_shift_ > q ? entry_shift_ - q : 0);
  }
  SIMT_INLINE const Derived& derived() const { return static_cast<const Derived&>(*this); }

  unsigned slot_shift_ = 0, entry_shift_ = 0;
  std::size_t taken_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
