// SPDX-License-Identifier: MIT
// The slots of a class's queue as one array (Ouroboros section 4, "S"). Position p is slot p modulo the array's length.
// Differs from the paper: the length follows the pool's, and a queue of pages counts the slots that are left. So a free
// learns that there is none, before it has a ticket; the published array has 2,000,000 slots, and the program stops when
// a free finds it full. Overhead: pages in the queue: at most 1.3% of the pool; chunks in it: 4 bytes a chunk and class.
#pragma once

#include "alloc/ouroboros/chunks.hpp"

namespace heapwood::alloc::ouroboros {

class StaticQueue {
 public:
  static constexpr bool in_pieces = false;

  // A slot, and the piece of the queue that it is in.
  struct Place {
    std::uint32_t* slot = nullptr;
    std::uint32_t piece = 0;
  };

  // counts: entries come and go, and must not be more than there are slots. Else there is a slot for every chunk.
  std::size_t plan(const Shape& shape, bool counts, std::size_t at) {
    counts_ = counts;
    length_ = counts ? shape.slots : 1;
    while (!counts && length_ < shape.chunks) length_ *= 2;
    few_ = counts && length_ > 128 ? length_ / 4 : length_;
    slots_at_ = round_up(at, 256);
    return slots_at_ + sizeof(std::uint32_t) * first(shape.classes());
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    const std::uint32_t classes = chunks.shape().classes();
    simt::device_fill(device.id(), slots(chunks), 0xff, sizeof(std::uint32_t) * first(classes));
    for (std::uint32_t q = 0; q < classes; ++q) {
      const std::uint64_t room = length(q);
      simt::device_upload(device.id(), chunks.word_at(q, Chunks::room), &room, sizeof(room));
    }
  }

  // The slot of a position, and in `run` how many slots follow each other from there on. puts: for who puts an entry.
  template <bool puts, class Thread>
  SIMT_INLINE Place find(const Chunks& chunks, Thread&, std::uint32_t q, std::uint64_t position, std::uint32_t& run,
                         const StaticQueue*, const Chunks*) const {
    const std::uint32_t n = length(q), at = static_cast<std::uint32_t>(position) & (n - 1);
    run = n - at;
    return {slots(chunks) + first(q) + at, 0};
  }
  // Slots that have been emptied need no care.
  SIMT_INLINE bool leave(const Chunks&, const Place&, std::uint32_t) const { return false; }
  SIMT_INLINE bool same_piece(std::uint64_t, std::uint64_t) const { return true; }
  template <class Thread>
  SIMT_INLINE void emptied(const Chunks&, Thread&, std::uint32_t, std::uint64_t, const Place&) const {}

  // Room for n entries, which are then put. False: there is none.
  template <class Thread>
  SIMT_INLINE bool make_room(const StaticQueue*, const Chunks& chunks, const Chunks*, Thread&, std::uint32_t q,
                             std::uint32_t n) const {
    if (!counts_) return true;
    // relaxed: a number. By subtraction: a compare-and-swap succeeds about once a trip to the L2 cache. Who sees too little
    // for a moment, because another thread was too late, does without.
    const simt::atomic_ref<std::uint64_t> room = chunks.word(q, Chunks::room);
    if (static_cast<std::int64_t>(room.fetch_sub(n, simt::relaxed)) >= std::int64_t{n}) return true;
    room.fetch_add(n, simt::relaxed);
    return false;
  }
  // The entries of n tickets have been taken, or are about to.
  SIMT_INLINE void give_room(const Chunks& chunks, std::uint32_t q, std::uint32_t n) const {
    if (counts_) chunks.word(q, Chunks::room).fetch_add(n, simt::relaxed);
  }

  // The slots of positions [begin, end), which are not more than there are slots.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin, std::uint64_t end,
            Visitor visit) const {
    while (begin < end) {
      std::uint32_t run = 0;
      const Place place = find<false>(chunks, host, q, begin, run, this, &chunks);
      const auto count = end - begin < run ? static_cast<std::uint32_t>(end - begin) : run;
      for (const std::uint32_t entry : host.read(place.slot, count)) visit(entry);
      begin += count;
    }
  }

 private:
  // Pages of up to 256 bytes are many.
  static constexpr std::uint32_t long_queues = 5;
  SIMT_INLINE std::uint32_t length(std::uint32_t q) const { return q < long_queues ? length_ : few_; }
  // The first slot of a class.
  SIMT_INLINE std::size_t first(std::uint32_t q) const {
    const std::uint32_t many = q < long_queues ? q : long_queues;
    return std::size_t{many} * length_ + std::size_t{q - many} * few_;
  }
  SIMT_INLINE std::uint32_t* slots(const Chunks& chunks) const {
    return reinterpret_cast<std::uint32_t*>(chunks.base() + slots_at_);
  }

  std::uint32_t length_ = 0, few_ = 0;  // powers of two
  bool counts_ = false;
  std::size_t slots_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
