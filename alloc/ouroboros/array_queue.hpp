// SPDX-License-Identifier: MIT
// The virtualized array-hierarchy queue of Ouroboros (section 5.1, "VA"): an array of pointers to
// the pieces (queue_pieces.hpp) of a class's queue. A pointer contains the number of its piece, so
// a piece cannot be confused with the one a lap earlier. Overhead: 3 to 5 bytes per chunk for
// queues of pages, nearly none for queues of chunks.
#pragma once

#include "alloc/ouroboros/queue_pieces.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

class ArrayQueue : public QueuePieces<ArrayQueue> {
 public:
  std::size_t plan(const Shape& shape, bool counts, std::size_t offset) {
    offset = round_up(plan_pieces(shape, counts, offset), 256);
    pointers_at_ = offset;
    pointers_ = 4;
    while (pointers_ < shape.max_pieces) pointers_ *= 2;
    return offset + std::size_t{shape.classes()} * pointers_ * sizeof(std::uint64_t);
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    reset_pieces(chunks, device);
    const std::uint64_t n = chunks.shape().pieces;
    for (std::uint32_t q = 0; q < chunks.shape().classes(); ++q) {
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::attached), &n, sizeof(n));
      std::vector<std::uint64_t> all;
      for (std::uint32_t i = 0; i < pointers_; ++i)
        all.push_back(i < n ? pointer(i, static_cast<std::uint32_t>(q * n) + i)
                            : released_before(i));
      simt::device_upload(device.id(), pointer_at(chunks, q, 0), all.data(),
                          all.size() * sizeof(all[0]));
    }
  }

  template <bool puts, class Thread>
  HEAPWOOD_INLINE std::uint32_t piece_of(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                         std::uint32_t number, const ArrayQueue*,
                                         const Chunks*) const {
    const Word64 entry(*pointer_at(chunks, q, number));
    std::uint64_t seen = 0;
    // acquire: makes the slots of the piece visible as empty.
    const auto is_attached = [&] {
      seen = entry.load(simt::acquire);
      return high(seen) == number && piece_in(seen) != Chunks::none;
    };
    // The entry still has the previous lap's piece, or this one is about to be attached.
    return simt::wait_until(thread, is_attached) ? piece_in(seen) : Chunks::none;
  }

  template <class Thread>
  HEAPWOOD_INLINE void attach(const Chunks& chunks, Thread& thread, std::uint32_t q,
                              std::uint32_t piece) const {
    // relaxed: each number is handed out once.
    const std::uint32_t number = low(chunks.word(q, Chunks::attached).fetch_add(1, simt::relaxed));
    const Word64 entry(*pointer_at(chunks, q, number));
    // Waits for threads that are emptying the previous lap's piece. No other thread changes the
    // entry then. release: the slots are empty.
    const std::uint64_t released = released_before(number);
    if (simt::wait_until(thread, [&] { return entry.load(simt::relaxed) == released; }))
      entry.store(pointer(number, piece), simt::release);
  }

  template <class Thread>
  HEAPWOOD_INLINE void recycle(const Chunks& chunks, Thread& thread, std::uint32_t q,
                               std::uint32_t number, std::uint32_t piece) const {
    Word64(*pointer_at(chunks, q, number)).store(pointer(number, Chunks::none), simt::relaxed);
    if (take_surplus(chunks, q)) {
      release_piece(chunks, q, piece);
    } else {
      taken_of(chunks, piece).store(0, simt::relaxed);
      attach(chunks, thread, q, piece);
    }
    return_slots(chunks, q);
  }

  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin,
            std::uint64_t end, Visitor visit) const {
    const auto all = host.read(pointer_at(chunks, q, 0), pointers_);
    read_pieces(host, chunks, begin, end, visit,
                [&](std::uint32_t number) { return piece_in(all[number & (pointers_ - 1)]); });
  }

 private:
  // A pointer is {number of the piece:32, piece + 1:32}; 0 for the piece if it has been released.
  static HEAPWOOD_INLINE std::uint64_t pointer(std::uint32_t number, std::uint32_t piece) {
    return std::uint64_t{number} << 32 | (piece + 1);
  }
  static HEAPWOOD_INLINE std::uint32_t piece_in(std::uint64_t pointer) { return low(pointer) - 1; }
  // What a pointer is until this number's piece is attached. Pieces are attached in the order of
  // their numbers: that of the next lap waits for a thread that attaches this one.
  HEAPWOOD_INLINE std::uint64_t released_before(std::uint32_t number) const {
    return pointer(number - pointers_, Chunks::none);
  }
  HEAPWOOD_INLINE std::uint64_t* pointer_at(const Chunks& chunks, std::uint32_t q,
                                            std::uint32_t number) const {
    return as<std::uint64_t>(chunks.base() + pointers_at_) + std::size_t{q} * pointers_ +
           (number & (pointers_ - 1));
  }

  std::size_t pointers_at_ = 0;
  std::uint32_t pointers_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
