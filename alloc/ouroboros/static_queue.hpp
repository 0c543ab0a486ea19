// SPDX-License-Identifier: MIT
// The slots of a class's queue as one array (Ouroboros section 4, "S"). Position p is slot p modulo
// the array's length.
//
// Differs from the paper: the length depends on the pool's size, and a queue of pages counts its
// free slots, so a free learns that there is none before it takes a ticket.
//
// Overhead: for pages in the queue at most 1.3% of the pool; for chunks in it 4 bytes per chunk and
// class.
#pragma once

#include <algorithm>

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc::ouroboros {

class StaticQueue {
 public:
  static constexpr bool in_pieces = false;

  // A slot, and the piece of the queue that contains it.
  struct Location {
    std::uint32_t* slot = nullptr;
    std::uint32_t piece = 0;
  };

  // counts: whether free slots are counted, because the number of entries varies and could exceed
  // the slots. Without it there is a slot for every chunk.
  std::size_t plan(const Shape& shape, bool counts, std::size_t offset) {
    counts_ = counts;
    length_ = counts ? shape.slots : 1;
    while (!counts && length_ < shape.chunks) length_ *= 2;
    short_length_ = counts && length_ > 128 ? length_ / 4 : length_;
    slots_at_ = round_up(offset, 256);
    return slots_at_ + sizeof(std::uint32_t) * first(shape.classes());
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    const std::uint32_t classes = chunks.shape().classes();
    simt::device_fill(device.id(), slots(chunks), 0xff, sizeof(std::uint32_t) * first(classes));
    for (std::uint32_t q = 0; q < classes; ++q) {
      const std::uint64_t free_slots = length(q);
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::free_slots), &free_slots,
                          sizeof(free_slots));
    }
  }

  // The number of adjacent slots from a position on.
  HEAPWOOD_INLINE std::uint32_t adjacent(std::uint32_t q, std::uint64_t position) const {
    return length(q) - index_of(q, position);
  }
  // Returns the slot of a position. puts: the caller puts an entry; otherwise it takes one.
  template <bool puts, class Thread>
  HEAPWOOD_INLINE Location find(const Chunks& chunks, Thread&, std::uint32_t q,
                                std::uint64_t position, const StaticQueue*, const Chunks*) const {
    return {slots(chunks) + first(q) + index_of(q, position), 0};
  }
  // Emptied slots need no further action.
  HEAPWOOD_INLINE bool leave(const Chunks&, const Location&, std::uint32_t) const { return false; }
  HEAPWOOD_INLINE bool is_same_piece(std::uint64_t, std::uint64_t) const { return true; }
  template <class Thread>
  HEAPWOOD_INLINE void on_piece_emptied(const Chunks&, Thread&, std::uint32_t, std::uint64_t,
                                        const Location&) const {}

  // Reserves slots for n entries, which the caller then puts. Returns false if there are none.
  template <class Thread>
  HEAPWOOD_INLINE bool reserve_slots(const StaticQueue*, const Chunks& chunks, const Chunks*,
                                     Thread&, std::uint32_t q, std::uint32_t n) const {
    if (!counts_) return true;
    // relaxed: the count orders no accesses. Uses subtraction because a compare-and-swap succeeds
    // only about once per L2 round trip. A thread that briefly reads too small a value, because
    // another thread is undoing its subtraction, gets no slot.
    const Word64 free_slots = chunks.word(q, Chunks::free_slots);
    if (static_cast<std::int64_t>(free_slots.fetch_sub(n, simt::relaxed)) >= std::int64_t{n})
      return true;
    free_slots.fetch_add(n, simt::relaxed);
    return false;
  }
  // Releases the slots of n tickets whose entries have been taken or are about to be.
  HEAPWOOD_INLINE void release_slots(const Chunks& chunks, std::uint32_t q, std::uint32_t n) const {
    if (counts_) chunks.word(q, Chunks::free_slots).fetch_add(n, simt::relaxed);
  }

  // Visits the slots of positions [begin, end), at most as many as there are slots.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin,
            std::uint64_t end, Visitor visit) const {
    while (begin < end) {
      const Location location = find<false>(chunks, host, q, begin, this, &chunks);
      const auto count =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(adjacent(q, begin), end - begin));
      for (const std::uint32_t entry : host.read(location.slot, count)) visit(entry);
      begin += count;
    }
  }

 private:
  // The first classes, with pages of up to 256 bytes, have many pages and so longer queues.
  static constexpr std::uint32_t long_queues = 5;
  HEAPWOOD_INLINE std::uint32_t length(std::uint32_t q) const {
    return q < long_queues ? length_ : short_length_;
  }
  HEAPWOOD_INLINE std::uint32_t index_of(std::uint32_t q, std::uint64_t position) const {
    return static_cast<std::uint32_t>(position) & (length(q) - 1);
  }
  // The index of the class's first slot.
  HEAPWOOD_INLINE std::size_t first(std::uint32_t q) const {
    const std::uint32_t many = q < long_queues ? q : long_queues;
    return std::size_t{many} * length_ + std::size_t{q - many} * short_length_;
  }
  HEAPWOOD_INLINE std::uint32_t* slots(const Chunks& chunks) const {
    return as<std::uint32_t>(chunks.base() + slots_at_);
  }

  std::uint32_t length_ = 0, short_length_ = 0;  // powers of two
  bool counts_ = false;
  std::size_t slots_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
