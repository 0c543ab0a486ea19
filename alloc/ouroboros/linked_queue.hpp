// SPDX-License-Identifier: MIT
// The virtualized linked-chunk queue of Ouroboros (section 5.2, "VL"): the pieces
// (queue_pieces.hpp) of a class's queue form a list in the order of their numbers, from `first` to
// `end`. Threads start at `last`, which a thread that put an entry has recently found. To take an
// entry with an earlier number they start at `front`, a hint at the first piece that is not
// emptied. From there they walk to the piece with their number. Pieces are emptied in any order.
//
// Differs from the paper:
//   - emptied pieces stay where they are until a thread needs a piece after the last one. Then
//     those at the beginning get the next numbers and move to the end, and other threads only walk
//     meanwhile. A surplus piece is released from the beginning of the list;
//   - a link names its class. A thread that arrives at a chunk that has been released, and may be a
//     piece of another queue, sees this and restarts from `first`;
//   - the list is changed by one thread at a time. Other threads check whether their piece has
//     appeared; they wait for their turn only if they hold a new piece;
//   - a slot that has not been left keeps its piece and all later ones in the list, so every thread
//     finds its piece; a thread that finds a number beyond its own restarts from `first`.
//
// Overhead: 8 bytes per chunk.
#pragma once

#include "alloc/ouroboros/queue_pieces.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

class LinkedQueue : public QueuePieces<LinkedQueue> {
 public:
  std::size_t plan(const Shape& shape, bool counts, std::size_t offset) {
    links_at_ = round_up(plan_pieces(shape, counts, offset), 256);
    return links_at_ + shape.chunks * sizeof(std::uint64_t);
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    reset_pieces(chunks, device);
    const std::uint32_t n = chunks.shape().pieces;
    for (std::uint32_t q = 0; q < chunks.shape().classes(); ++q) {
      const std::uint32_t c = q * n;
      std::vector<std::uint64_t> links;
      for (std::uint32_t i = 0; i < n; ++i)
        links.push_back(link(q, i, i + 1 < n ? c + i + 1 : Chunks::none));
      const std::uint64_t first = link(q, 0, c), end = link(q, n - 1, c + n - 1);
      simt::device_upload(device.id(), link_at(chunks, c), links.data(), n * sizeof(links[0]));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::first), &first, sizeof(first));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::front), &first, sizeof(first));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::last), &first, sizeof(first));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::end), &end, sizeof(end));
    }
  }

  template <bool puts, class Thread>
  HEAPWOOD_INLINE std::uint32_t piece_of(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                         std::uint32_t number, const LinkedQueue* self,
                                         const Chunks* chunks_copy) const {
    // relaxed: only where the search starts: at `last`, unless the wanted number is before it.
    std::uint64_t from = chunks.word(q, Chunks::last).load(simt::relaxed);
    if (!puts) {
      const std::uint64_t front = chunks.word(q, Chunks::front).load(simt::relaxed);
      if (static_cast<std::int32_t>(number - number_in(from)) < 0) from = front;
    }
    std::uint32_t c = piece_in(from), hops = 0;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;;) {
      // acquire: makes slots and link of this piece visible as they are for its present number.
      const std::uint64_t seen = link_of(chunks, c).load(simt::acquire);
      const auto distance = static_cast<std::int32_t>(number - number_in(seen));
      const bool is_in_list = class_in(seen) == q;
      if (is_in_list && distance == 0) break;
      if (is_in_list && distance > 0 && piece_in(seen) != Chunks::none) {
        c = piece_in(seen);
        ++hops;
        continue;
      }
      if (!is_in_list || distance < 0) {
        // The piece has left the list or has a new number, or the wanted piece lies before `last`.
        c = piece_in(chunks.word(q, Chunks::first).load(simt::relaxed));
      } else if (puts && recycle_emptied(self, chunks_copy, q)) {
        continue;
      }
      // Another thread is about to link the wanted piece, or to empty one.
      if ((turn & 63) == 63 && thread.aborted()) return Chunks::none;
      if (turn > 0) thread.pause(turn);
      ++turn;
    }
    // Lets other threads find this piece in one hop. Of concurrent stores any may win.
    if (puts && hops > 0) chunks.word(q, Chunks::last).store(link(q, number, c), simt::relaxed);
    return c;
  }

  // Adds a piece whose slots are empty to the list.
  template <class Thread>
  HEAPWOOD_INLINE void attach(const Chunks& chunks, Thread& thread, std::uint32_t q,
                              std::uint32_t piece) const {
    if (!simt::wait_until(thread, [&] { return begin_linking(chunks, q); })) return;
    const std::uint64_t end = chunks.word(q, Chunks::end).load(simt::relaxed);
    chunks.word(q, Chunks::end).store(append(chunks, q, end, piece), simt::relaxed);
    end_linking(chunks, q);
  }

  // Makes the slots of an emptied piece available, and releases surplus pieces.
  template <class Thread>
  HEAPWOOD_INLINE void recycle(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t,
                               std::uint32_t) const {
    advance_front(chunks, q);
    return_slots(chunks, q);
    release_surplus(chunks, thread, q);
  }

  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin,
            std::uint64_t end, Visitor visit) const {
    const auto links = host.read(link_at(chunks, 0), chunks.shape().chunks);
    std::uint32_t c = piece_in(host.read(chunks.word_at(q, Chunks::first)));
    read_pieces(host, chunks, begin, end, visit, [&](std::uint32_t number) {
      while (c != Chunks::none && number_in(links[c]) != number) c = piece_in(links[c]);
      if (c == Chunks::none)
        throw Error(Exit::failed, "ouroboros: a piece of a queue is not in its list");
      return c;
    });
  }

 private:
  static constexpr std::uint32_t max_pieces_per_call = 64;

  // The link of a piece: {its number:32, its class:8, next piece + 1:24}. The words `first` to
  // `end` have the same form, but contain the piece itself instead of the next one.
  static constexpr unsigned class_shift = 24;
  static constexpr std::uint32_t no_class = 0xff;
  static_assert(Chunks::max_chunks < (1u << class_shift));
  static HEAPWOOD_INLINE std::uint64_t link(std::uint32_t q, std::uint32_t number,
                                            std::uint32_t piece) {
    return std::uint64_t{number} << 32 | (q << class_shift | (piece + 1));
  }
  static HEAPWOOD_INLINE std::uint32_t number_in(std::uint64_t link) { return high(link); }
  static HEAPWOOD_INLINE std::uint32_t class_in(std::uint64_t link) {
    return low(link) >> class_shift;
  }
  static HEAPWOOD_INLINE std::uint32_t piece_in(std::uint64_t link) {
    return (low(link) & ((1u << class_shift) - 1)) - 1;
  }
  HEAPWOOD_INLINE std::uint64_t* link_at(const Chunks& chunks, std::uint32_t piece) const {
    return as<std::uint64_t>(chunks.base() + links_at_) + piece;
  }
  HEAPWOOD_INLINE Word64 link_of(const Chunks& chunks, std::uint32_t piece) const {
    return Word64(*link_at(chunks, piece));
  }

  // Gives the caller the right to change the list, `first` and `end`. Returns false if another
  // thread is changing them. acquire: makes the last thread's changes visible.
  HEAPWOOD_INLINE bool begin_linking(const Chunks& chunks, std::uint32_t q) const {
    const Word64 busy = chunks.word(q, Chunks::linking);
    return busy.load(simt::relaxed) == 0 && busy.exchange(1, simt::acquire) == 0;
  }
  HEAPWOOD_INLINE void end_linking(const Chunks& chunks, std::uint32_t q) const {
    chunks.word(q, Chunks::linking).store(0, simt::release);  // release: publishes the changes
  }

  // Links an empty piece after `end` and returns the new end. release: publishes that the slots are
  // empty, which the count also states.
  HEAPWOOD_INLINE std::uint64_t append(const Chunks& chunks, std::uint32_t q, std::uint64_t end,
                                       std::uint32_t piece) const {
    const std::uint32_t number = number_in(end) + 1;
    link_of(chunks, piece).store(link(q, number, Chunks::none), simt::release);
    link_of(chunks, piece_in(end)).store(link(q, number_in(end), piece), simt::release);
    return link(q, number, piece);
  }

  // Whether the first piece of the list is emptied and not the last one. `next`: the second piece.
  // acquire: makes the slots visible as empty; all threads that used them have left.
  HEAPWOOD_INLINE bool is_first_emptied(const Chunks& chunks, std::uint32_t piece,
                                        std::uint32_t& next) const {
    next = piece_in(link_of(chunks, piece).load(simt::relaxed));
    return next != Chunks::none && taken_of(chunks, piece).load(simt::acquire) == slots();
  }

  // Releases emptied pieces from the beginning of the list while the class has more slots than it
  // should keep. relaxed: the stored links only lead threads elsewhere.
  template <class Thread>
  HEAPWOOD_INLINE void release_surplus(const Chunks& chunks, Thread& thread,
                                       std::uint32_t q) const {
    if (!take_surplus(chunks, q)) return;
    if (!simt::wait_until(thread, [&] { return begin_linking(chunks, q); })) return;
    const Word64 first = chunks.word(q, Chunks::first);
    HEAPWOOD_ROLLED
    for (bool has_surplus = true; has_surplus; has_surplus = take_surplus(chunks, q)) {
      const std::uint64_t begin = first.load(simt::relaxed);
      const std::uint32_t piece = piece_in(begin);
      std::uint32_t next = 0;
      if (!is_first_emptied(chunks, piece, next)) {
        return_slots(chunks, q);
        break;
      }
      first.store(link(q, number_in(begin) + 1, next), simt::relaxed);
      link_of(chunks, piece).store(link(no_class, 0, Chunks::none), simt::relaxed);
      release_piece(chunks, q, piece);
    }
    end_linking(chunks, q);
  }

  // Moves emptied pieces from the beginning of the list to its end. Returns false if there are
  // none, or if another thread is changing the list.
  static HEAPWOOD_OUTLINE bool recycle_emptied(const LinkedQueue* self, const Chunks* chunks,
                                               std::uint32_t q) {
    if (!self->begin_linking(*chunks, q)) return false;
    const Word64 first = chunks->word(q, Chunks::first), last = chunks->word(q, Chunks::end);
    std::uint64_t begin = first.load(simt::relaxed), end = last.load(simt::relaxed);
    std::uint32_t n = 0;
    HEAPWOOD_ROLLED
    for (; n < max_pieces_per_call; ++n) {
      const std::uint32_t piece = piece_in(begin);
      std::uint32_t next = 0;
      if (!self->is_first_emptied(*chunks, piece, next)) break;
      begin = link(q, number_in(begin) + 1, next);
      first.store(begin, simt::relaxed);
      self->taken_of(*chunks, piece).store(0, simt::relaxed);
      end = self->append(*chunks, q, end, piece);
    }
    last.store(end, simt::relaxed);
    self->end_linking(*chunks, q);
    return n > 0;
  }

  // Advances `front` past emptied pieces. relaxed: `front` is a hint.
  HEAPWOOD_INLINE void advance_front(const Chunks& chunks, std::uint32_t q) const {
    const Word64 front = chunks.word(q, Chunks::front);
    const std::uint64_t from = front.load(simt::relaxed);
    std::uint64_t to = from;
    HEAPWOOD_ROLLED
    for (;;) {
      const std::uint32_t piece = piece_in(to);
      const std::uint64_t next = link_of(chunks, piece).load(simt::relaxed);
      const bool is_emptied = taken_of(chunks, piece).load(simt::relaxed) == slots();
      if (class_in(next) != q || number_in(next) != number_in(to)) {
        // The piece has left its position: continues at the list's beginning if that is later.
        const std::uint64_t first = chunks.word(q, Chunks::first).load(simt::relaxed);
        if (static_cast<std::int32_t>(number_in(first) - number_in(to)) <= 0) return;
        to = first;
      } else if (is_emptied && piece_in(next) != Chunks::none) {
        to = link(q, number_in(to) + 1, piece_in(next));
      } else {
        break;
      }
    }
    std::uint64_t seen = from;
    if (to != from) front.compare_exchange_strong(seen, to, simt::relaxed, simt::relaxed);
  }

  std::size_t links_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
