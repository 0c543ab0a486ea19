// SPDX-License-Identifier: MIT
// The virtualised linked-chunk queue of Ouroboros (section 5.2, "VL"): the pieces (queue_pieces.hpp) of a class's queue
// are a list. Those that take entries begin at `front`, a piece that is not yet emptied or was not a moment ago, those
// that put them at `last`, a piece where such a thread was before; from there a thread walks to the piece with its
// number. Pieces are emptied in any order, and leave the list from its beginning, `first`.
// Differs from the paper: numbers come from a ticket, so each piece has one predecessor, which links it, and no two
// threads link the same; a thread that finds a number behind its own starts again from `first`. A slot that has not been
// left keeps its piece in the list, and all behind it, so that every thread finds its piece. Overhead: 8 bytes a chunk.
#pragma once

#include "alloc/ouroboros/queue_pieces.hpp"

namespace heapwood::alloc::ouroboros {

class LinkedQueue : public QueuePieces<LinkedQueue> {
 public:
  std::size_t plan(const Shape& shape, bool counts, std::size_t at) {
    links_at_ = round_up(plan_pieces(shape, counts, at), 256);
    return links_at_ + shape.chunks * sizeof(std::uint64_t);
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    reset_pieces(chunks, device);
    const std::uint32_t n = chunks.shape().pieces;
    for (std::uint32_t q = 0; q < chunks.shape().classes(); ++q) {
      const std::uint32_t c = q * n;
      std::vector<std::uint64_t> links;
      for (std::uint32_t i = 0; i < n; ++i) links.push_back(link(i, i + 1 < n ? c + i + 1 : Chunks::none));
      const std::uint64_t first = link(0, c);
      simt::device_upload(device.id(), link_at(chunks, c), links.data(), n * sizeof(links[0]));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::first), &first, sizeof(first));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::front), &first, sizeof(first));
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::last), &first, sizeof(first));
    }
  }

  template <bool puts, class Thread>
  SIMT_INLINE std::uint32_t piece_of(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                     std::uint32_t number) const {
    // relaxed: a place to begin, a piece at any rate. `last` unless it lies behind.
    std::uint64_t from = chunks.word(q, Chunks::last).load(simt::relaxed);
    if (!puts) {
      const std::uint64_t front = chunks.word(q, Chunks::front).load(simt::relaxed);
      if (static_cast<std::int32_t>(number - number_in(from)) < 0) from = front;
    }
    std::uint32_t c = piece_in(from), hops = 0;
    SIMT_ROLLED
    for (unsigned turn = 0;;) {
      // acquire: the slots of this piece, and the link of the next, are those of their numbers.
      const std::uint64_t seen = link_of(chunks, c).load(simt::acquire);
      const auto behind = static_cast<std::int32_t>(number - number_in(seen));
      if (behind == 0) break;
      if (behind > 0 && piece_in(seen) != Chunks::none) {
        c = piece_in(seen);
        ++hops;
        continue;
      }
      // About to be linked; or it was emptied and has a new number, or lies in front of `last`.
      if (behind < 0) c = piece_in(chunks.word(q, Chunks::first).load(simt::relaxed));
      if ((turn & 63) == 63 && thread.aborted()) return Chunks::none;
      if (turn > 0) thread.pause(turn);
      ++turn;
    }
    // Others find it in one hop. Which of several stores remains does not matter.
    if (puts && hops > 0) chunks.word(q, Chunks::last).store(link(number, c), simt::relaxed);
    return c;
  }

  // Called with a piece whose slots are empty.
  template <class Thread>
  SIMT_INLINE void attach(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t piece) const {
    append(chunks, thread, q, piece);
    if (!counts()) attach_emptied(chunks, thread, q);
  }

  // A piece has been emptied. Where room is counted it stays where it is until room is wanted.
  template <class Thread>
  SIMT_INLINE void recycle(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t, std::uint32_t) const {
    if (counts()) {
      pass_emptied(chunks, q);
    } else {
      attach_emptied(chunks, thread, q);
    }
  }
  // Where room is counted: attaches the pieces again that have been emptied at the beginning of the list. How many.
  template <class Thread>
  SIMT_INLINE std::uint32_t reuse(const Chunks& chunks, Thread& thread, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> first = chunks.word(q, Chunks::first);
    // acquire, here and below: their links, and that their slots are empty.
    std::uint64_t seen = first.load(simt::acquire);
    const std::uint32_t begin = piece_in(seen);
    std::uint32_t n = 0, c = begin;
    SIMT_ROLLED
    for (; n < most_at_once; ++n) {
      const std::uint64_t next = link_of(chunks, c).load(simt::acquire);
      if (number_in(next) != number_in(seen) + n) return 0;  // another thread was faster
      if (piece_in(next) == Chunks::none || taken_of(chunks, c).load(simt::acquire) != slots()) break;
      c = piece_in(next);
    }
    // acq_rel: as in pop_emptied(). The pieces up to c are this thread's from here on.
    if (n == 0 || !first.compare_exchange_strong(seen, link(number_in(seen) + n, c), simt::acq_rel, simt::relaxed)) {
      return 0;
    }
    const std::uint32_t number = next_number(chunks, q, n);
    std::uint32_t at = begin;
    SIMT_ROLLED
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t next = piece_in(link_of(chunks, at).load(simt::relaxed));
      taken_of(chunks, at).store(0, simt::relaxed);
      // release: the slots are empty, and so says the count.
      link_of(chunks, at).store(link(number + i, i + 1 < n ? next : Chunks::none), simt::release);
      at = next;
    }
    link_behind(chunks, thread, q, number - 1, begin);
    return n;
  }

  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin, std::uint64_t end,
            Visitor visit) const {
    const auto links = host.read(link_at(chunks, 0), chunks.shape().chunks);
    std::uint32_t c = piece_in(host.read(chunks.word_at(q, Chunks::first)));
    read_pieces(host, chunks, begin, end, visit, [&](std::uint32_t number) {
      while (c != Chunks::none && number_in(links[c]) != number) c = piece_in(links[c]);
      if (c == Chunks::none) throw Error(Exit::failed, "ouroboros: a piece of a queue is not in its list");
      return c;
    });
  }

 private:
  static constexpr std::uint32_t most_at_once = 64;

  // A piece's {number:32, next piece + 1:32}; `first` has the same form, with the piece itself.
  static SIMT_INLINE std::uint64_t link(std::uint32_t number, std::uint32_t piece) {
    return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(piece + 1);
  }
  static SIMT_INLINE std::uint32_t number_in(std::uint64_t link) { return static_cast<std::uint32_t>(link >> 32); }
  static SIMT_INLINE std::uint32_t piece_in(std::uint64_t link) { return static_cast<std::uint32_t>(link) - 1; }
  SIMT_INLINE std::uint64_t* link_at(const Chunks& chunks, std::uint32_t piece) const {
    return reinterpret_cast<std::uint64_t*>(chunks.base() + links_at_) + piece;
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> link_of(const Chunks& chunks, std::uint32_t piece) const {
    return simt::atomic_ref<std::uint64_t>(*link_at(chunks, piece));
  }

  // The piece behind which this one comes cannot be emptied and leave before it has a next one.
  template <class Thread>
  SIMT_INLINE void append(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t piece) const {
    const std::uint32_t number = next_number(chunks, q);
    // release, here and below: the slots are empty, and so says the count.
    link_of(chunks, piece).store(link(number, Chunks::none), simt::release);
    link_behind(chunks, thread, q, number - 1, piece);
  }
  template <class Thread>
  SIMT_INLINE void link_behind(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t number,
                               std::uint32_t piece) const {
    const std::uint32_t before = piece_of<true>(chunks, thread, q, number);
    if (before != Chunks::none) link_of(chunks, before).fetch_add(piece + 1, simt::acq_rel);
  }

  template <class Thread>
  SIMT_INLINE void attach_emptied(const Chunks& chunks, Thread& thread, std::uint32_t q) const {
    SIMT_ROLLED
    for (std::uint32_t piece; (piece = pop_emptied(chunks, q)) != Chunks::none;) append(chunks, thread, q, piece);
  }

  // Moves `front` over pieces that have been emptied. relaxed: it is a hint.
  SIMT_INLINE void pass_emptied(const Chunks& chunks, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> front = chunks.word(q, Chunks::front);
    const std::uint64_t from = front.load(simt::relaxed);
    std::uint64_t to = from;
    SIMT_ROLLED
    for (;;) {
      const std::uint32_t piece = piece_in(to);
      const std::uint64_t next = link_of(chunks, piece).load(simt::relaxed);
      const bool emptied = taken_of(chunks, piece).load(simt::relaxed) == slots();
      if (number_in(next) != number_in(to)) {
        // It has left the list.
        const std::uint64_t first = chunks.word(q, Chunks::first).load(simt::relaxed);
        if (static_cast<std::int32_t>(number_in(first) - number_in(to)) <= 0) return;
        to = first;
      } else if (emptied && piece_in(next) != Chunks::none) {
        to = link(number_in(to) + 1, piece_in(next));
      } else {
        break;
      }
    }
    std::uint64_t seen = from;
    if (to != from) front.compare_exchange_strong(seen, to, simt::relaxed, simt::relaxed);
  }

  // Takes the first piece out of the list if it has been emptied and has a next one; else none. Whoever makes one of
  // these true, or makes a piece the first, looks here afterwards. `first` and the count are read by read-modify-writes:
  // so of two that do so at the same time the later one sees what the other did.
  SIMT_INLINE std::uint32_t pop_emptied(const Chunks& chunks, std::uint32_t q) const {
    const simt::atomic_ref<std::uint64_t> first = chunks.word(q, Chunks::first);
    // acq_rel, here and below: as above.
    std::uint64_t seen = first.fetch_add(0, simt::acq_rel);
    SIMT_ROLLED
    for (;;) {
      const std::uint32_t piece = piece_in(seen);
      if (taken_of(chunks, piece).fetch_add(0, simt::acq_rel) != slots()) return Chunks::none;
      const std::uint64_t next = link_of(chunks, piece).load(simt::acquire);
      // Another thread has taken it out meanwhile: then `first` has changed, and that thread looks on.
      if (number_in(next) != number_in(seen) || piece_in(next) == Chunks::none) return Chunks::none;
      const std::uint64_t moved = link(number_in(seen) + 1, piece_in(next));
      if (first.compare_exchange_strong(seen, moved, simt::acq_rel, simt::acquire)) {
        taken_of(chunks, piece).store(0, simt::relaxed);
        return piece;
      }
    }
  }

  std::size_t links_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
