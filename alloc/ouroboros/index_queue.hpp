// SPDX-License-Identifier: MIT
// The index queue of Ouroboros (section 3.3, algorithm 1): entries of 32 bits in slots, each
// accessed with a ticket. A slot is empty or holds an entry. A thread that puts an entry waits
// until the slot is empty, a thread that takes one waits until it is not. Both wait for a thread
// that already has its ticket and is therefore running. The template argument determines where the
// slots are.
//
// Differs from the paper: the queue does not check a count of entries. The caller guarantees, with
// a count or a semaphore, that there is an entry for each thread that takes one (or that a running
// thread is about to put it), and that there are free slots.
#pragma once

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc::ouroboros {

// Returns the value of the lane with this rank in the group.
template <class Thread>
HEAPWOOD_INLINE std::uint32_t lane_value(const Thread& thread, const LaneGroup<Thread>& group,
                                         std::uint32_t rank, std::uint32_t value) {
  return group.has_one_lane() ? value
                              : thread.shfl(group.lanes(), value, nth_bit(group.lanes(), rank));
}

template <class Slots>
class IndexQueue {
 public:
  static constexpr std::uint32_t empty = ~0u;
  static constexpr bool in_pieces = Slots::in_pieces;

  std::size_t plan(const Shape& shape, bool counts, std::size_t offset) {
    return slots_.plan(shape, counts, offset);
  }
  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    slots_.reset(chunks, device);
  }
  // `self` and `chunks_copy`: see take().
  template <class Thread>
  HEAPWOOD_INLINE bool reserve_slots(const Chunks& chunks, Thread& thread, std::uint32_t q,
                                     std::uint32_t n, const IndexQueue* self,
                                     const Chunks* chunks_copy) const {
    return slots_.reserve_slots(&self->slots_, chunks, chunks_copy, thread, q, n);
  }

  // Reserves n consecutive positions, for entries whose slots the caller has reserved.
  HEAPWOOD_INLINE std::uint64_t reserve(const Chunks& chunks, std::uint32_t q,
                                        std::uint32_t n) const {
    // relaxed: each position is handed out once.
    return chunks.word(q, Chunks::placed).fetch_add(n, simt::relaxed);
  }

  // Puts an entry for each lane of the group, unless the launch is aborted. `self` and
  // `chunks_copy`: see take().
  template <class Thread>
  HEAPWOOD_INLINE void put(const Chunks& chunks, Thread& thread, const LaneGroup<Thread>& group,
                           std::uint32_t q, std::uint32_t entry, const IndexQueue* self,
                           const Chunks* chunks_copy) const {
    const std::uint64_t first = group.once([&] { return reserve(chunks, q, group.size()); });
    const Location location = slots_.template find<true>(chunks, thread, q, first + group.rank(),
                                                         &self->slots_, chunks_copy);
    if (location.slot != nullptr)
      simt::wait_until(thread, [&] { return fill<true>(location.slot, entry); });
  }

  // Puts an entry at a reserved position, unless aborted. Called on the object's copy in device
  // memory.
  template <class Thread>
  HEAPWOOD_INLINE void put(const Chunks& chunks, Thread& thread, std::uint32_t q,
                           std::uint64_t position, std::uint32_t entry) const {
    const Location location =
        slots_.template find<true>(chunks, thread, q, position, &slots_, &chunks);
    if (location.slot != nullptr)
      simt::wait_until(thread, [&] { return fill<true>(location.slot, entry); });
  }

  // Puts the entries e, e + step, e + 2 step, ... at n reserved positions; the lanes share the
  // work. The entries hand no memory over. Called on this object's copy in device memory.
  template <class Thread>
  HEAPWOOD_INLINE void put(const Chunks& chunks, Thread& thread, const LaneGroup<Thread>& group,
                           std::uint32_t q, std::uint64_t begin, std::uint32_t n,
                           std::uint32_t entry, std::uint32_t step) const {
    const std::uint32_t lanes = group.size();
    HEAPWOOD_ROLLED
    for (std::uint32_t run = 0; n > 0; n -= run, begin += run, entry += run * step) {
      run = slots_.adjacent(q, begin);
      if (run > n) run = n;
      // A lane without an entry in this piece must not look for it: the piece may be emptied, and
      // have a new number, before the lane does.
      if (group.rank() >= run) continue;
      const Location location =
          slots_.template find<true>(chunks, thread, q, begin, &slots_, &chunks);
      if (location.slot == nullptr) return;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = group.rank(); i < run; i += in_flight * lanes) {
        // All exchanges are issued before the first result is used.
        std::uint32_t missed = 0;
        HEAPWOOD_UNROLLED
        for (std::uint32_t k = 0; k < in_flight; ++k) {
          const std::uint32_t index = i + k * lanes;
          const bool filled =
              index >= run || fill<false>(location.slot + index, entry + index * step);
          missed |= (filled ? 0u : 1u) << k;
        }
        // Waits for the slots that were full. The threads that will empty them are running.
        HEAPWOOD_ROLLED
        for (; missed != 0; missed &= missed - 1) {
          const std::uint32_t index = i + simt::lowest_bit(missed) * lanes;
          const auto filled = [&] {
            return fill<false>(location.slot + index, entry + index * step);
          };
          if (!simt::wait_until(thread, filled)) return;
        }
      }
    }
  }

  // Returns the next entry for each lane of the group, or `empty` if the launch is aborted. `self`
  // and `chunks_copy` are the copies of this object and of the chunks in device memory, for
  // functions that are not inlined.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take(const Chunks& chunks, Thread& thread,
                                     const LaneGroup<Thread>& group, std::uint32_t q,
                                     const IndexQueue* self, const Chunks* chunks_copy) const {
    // relaxed: each ticket is handed out once.
    const std::uint64_t first = group.once(
        [&] { return chunks.word(q, Chunks::taken).fetch_add(group.size(), simt::relaxed); });
    const std::uint64_t position = first + group.rank();
    std::uint32_t entry = empty;
    const Location location =
        slots_.template find<false>(chunks, thread, q, position, &self->slots_, chunks_copy);
    if (location.slot != nullptr) {
      const Word32 slot(*location.slot);
      const auto full = [&] { return slot.load(simt::relaxed) != empty; };
      HEAPWOOD_ROLLED
      do {
        // acquire: synchronizes with the entry's put(). Exchanging an empty slot has no effect.
        entry = slot.exchange(empty, simt::acquire);
      } while (entry == empty && simt::wait_until(thread, full));
    }
    if constexpr (!in_pieces) {
      if (group.rank() == 0) slots_.release_slots(chunks, q, group.size());
    } else {
      // The lanes count the slots that they emptied separately for each piece, so that the release
      // of a piece does not wait for lanes at a later one.
      const LaneGroup<Thread> mates = group.part(slots_.is_same_piece(position, first));
      mates.sync();  // orders the lanes' exchanges before the release in leave()
      if (mates.rank() == 0 && location.slot != nullptr &&
          slots_.leave(chunks, location, mates.size())) {
        on_piece_emptied(self, chunks_copy, thread, q, position, location);
      }
    }
    return entry;
  }

  // Visits the entries in the queue.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, Visitor visit) const {
    slots_.read(host, chunks, q, host.read(chunks.word_at(q, Chunks::taken)),
                host.read(chunks.word_at(q, Chunks::placed)), visit);
  }

 private:
  using Location = typename Slots::Location;
  static constexpr std::uint32_t in_flight = 16;

  template <class Thread>
  static HEAPWOOD_OUTLINE void on_piece_emptied(const IndexQueue* self, const Chunks* chunks,
                                                Thread thread, std::uint32_t q,
                                                std::uint64_t position, Location location) {
    self->slots_.on_piece_emptied(*chunks, thread, q, position, location);
  }

  // Fills the slot if it is empty. Uses compare-and-swap because two threads may want the same
  // slot, one lap apart: their order does not matter, but neither may overwrite the other's entry.
  //
  // release: hands over what the entry represents. An entry of a new chunk hands nothing over, but
  // its slot may be in a piece, whose memory later belongs to users.
  template <bool hands_over>
  static HEAPWOOD_INLINE bool fill(std::uint32_t* slot, std::uint32_t entry) {
    constexpr auto order = hands_over ? simt::release : simt::order_by_coherence();
    std::uint32_t seen = empty;
    return Word32(*slot).compare_exchange_strong(seen, entry, order, simt::relaxed);
  }

  Slots slots_;
};

}  // namespace heapwood::alloc::ouroboros
