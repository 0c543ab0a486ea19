// SPDX-License-Identifier: MIT
// The slots of a class's queue as one array (Ouroboros section 4, "S"). Position p is slot p modulo the array's length.
// Differs from the paper: the array has room for all that can ever be in the queue; the published one has 2,000,000
// slots, and the program stops when a free finds it full. Overhead, with pages in the queue: 4 bytes a page of every
// class, half as much as all chunks together; with chunks in it: 4 bytes a chunk and class.
#pragma once

#include "alloc/ouroboros/chunks.hpp"

namespace heapwood::alloc::ouroboros {

class StaticQueue {
 public:
  static constexpr std::uint32_t pieces = 0;  // of a class, at the beginning

  // A slot, and the piece of the queue that it is in.
  struct Place {
    std::uint32_t* slot = nullptr;
    std::uint32_t piece = 0;
  };

  // entry_shift: log2 of the entries that a chunk of class 0 has in the queue. They halve with every class, down to one.
  std::size_t plan(const Shape& shape, unsigned entry_shift, std::size_t at) {
    rows_ = shape.rows;
    entry_shift_ = entry_shift;
    slots_at_ = round_up(at, 256);
    return slots_at_ + sizeof(std::uint32_t) * first(shape.classes());
  }

  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    simt::device_fill(device.id(), slots(chunks), 0xff, sizeof(std::uint32_t) * first(chunks.shape().classes()));
  }

  // The slot of a position, and in `run` how many slots follow each other from there on. puts: for who puts an entry.
  template <bool puts, class Thread>
  SIMT_INLINE Place find(const Chunks& chunks, Thread&, std::uint32_t q, std::uint64_t position,
                         std::uint32_t& run) const {
    const std::uint32_t length = rows_ << (entry_shift_ > q ? entry_shift_ - q : 0);
    const std::uint32_t at = static_cast<std::uint32_t>(position) & (length - 1);
    run = length - at;
    return {slots(chunks) + first(q) + at, 0};
  }
  // Slots that have been emptied need no care.
  SIMT_INLINE bool leave(const Chunks&, const Place&, std::uint32_t) const { return false; }
  SIMT_INLINE bool same_piece(std::uint64_t, std::uint64_t) const { return true; }
  template <class Thread>
  SIMT_INLINE void emptied(const Chunks&, Thread&, std::uint32_t, std::uint64_t, const Place&) const {}

  // Makes room for the entries of one more chunk. There is room for all.
  template <class Thread>
  SIMT_INLINE bool make_room(const Chunks&, Thread&, std::uint32_t) const {
    return true;
  }

  // The slots of positions [begin, end), which are fewer than there are slots.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, std::uint64_t begin, std::uint64_t end,
            Visitor visit) const {
    while (begin < end) {
      std::uint32_t run = 0;
      const Place place = find<false>(chunks, host, q, begin, run);
      const auto count = end - begin < run ? static_cast<std::uint32_t>(end - begin) : run;
      for (const std::uint32_t entry : host.read(place.slot, count)) visit(entry);
      begin += count;
    }
  }

 private:
  // The first slot of a class.
  SIMT_INLINE std::size_t first(std::uint32_t q) const {
    const std::size_t in_front = entry_shift_ == 0 ? q : (2u << entry_shift_) - ((2u << entry_shift_) >> q);
    return rows_ * in_front;
  }
  SIMT_INLINE std::uint32_t* slots(const Chunks& chunks) const {
    return reinterpret_cast<std::uint32_t*>(chunks.base() + slots_at_);
  }

  std::uint32_t rows_ = 0;
  unsigned entry_shift_ = 0;
  std::size_t slots_at_ = 0;
};

}  // namespace heapwood::alloc::ouroboros
