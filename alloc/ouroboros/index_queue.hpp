// SPDX-License-Identifier: MIT
// The index queue of Ouroboros (section 3.3, algorithm 1): entries of 32 bits in slots, which are reached through a
// ticket each. A slot is empty or has an entry. Who puts an entry waits until the slot is empty, who takes one until it
// is not: both wait for a thread that has its ticket and so is inside. Where the slots are is the template argument.
// Differs from the paper: no count of entries is checked here. The caller says, with a count or a semaphore, that there
// is an entry for each that takes one (or that a running thread is about to put it), and that there is room.
#pragma once

#include "alloc/ouroboros/chunks.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc::ouroboros {

// What the lane of the group with this rank brings.
template <class Thread>
SIMT_INLINE std::uint32_t lane_value(const Thread& thread, const LaneGroup<Thread>& group, std::uint32_t rank,
                                     std::uint32_t value) {
  return group.alone() ? value : thread.shfl(group.lanes(), value, nth_bit(group.lanes(), rank));
}

template <class Slots>
class IndexQueue {
 public:
  static constexpr std::uint32_t empty = ~0u;
  static constexpr bool in_pieces = Slots::in_pieces;

  std::size_t plan(const Shape& shape, bool counts, std::size_t at) { return slots_.plan(shape, counts, at); }
  template <class Device>
  void reset(const Chunks& chunks, const Device& device) const {
    slots_.reset(chunks, device);
  }
  // `self` and `there`: as in take().
  template <class Thread>
  SIMT_INLINE bool make_room(const Chunks& chunks, Thread& thread, std::uint32_t q, std::uint32_t n,
                             const IndexQueue* self, const Chunks* there) const {
    return slots_.make_room(&self->slots_, chunks, there, thread, q, n);
  }

  // n consecutive positions for entries for which there is room; they must then be put.
  SIMT_INLINE std::uint64_t reserve(const Chunks& chunks, std::uint32_t q, std::uint32_t n) const {
    // relaxed: a number that is handed out once.
    return chunks.word(q, Chunks::placed).fetch_add(n, simt::relaxed);
  }

  // Puts an entry for each lane of the group, unless the launch is aborted. `self` and `there`: as in take().
  template <class Thread>
  SIMT_INLINE void put(const Chunks& chunks, Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q,
                       std::uint32_t entry, const IndexQueue* self, const Chunks* there) const {
    const std::uint64_t first = group.once([&] { return reserve(chunks, q, group.size()); });
    std::uint32_t run = 0;
    const Place place = slots_.template find<true>(chunks, thread, q, first + group.rank(), run, &self->slots_, there);
    if (place.slot != nullptr) simt::wait_until(thread, [&] { return fill<true>(place.slot, entry); });
  }

  // Puts n entries, `step` apart, at reserved positions; the lanes of the group share the work. They hand nothing over. On
  // the copy in device memory.
  template <class Thread>
  SIMT_INLINE void put(const Chunks& chunks, Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q,
                       std::uint64_t begin, std::uint32_t n, std::uint32_t entry, std::uint32_t step) const {
    const std::uint32_t lanes = group.size();
    SIMT_ROLLED
    for (std::uint32_t run = 0; n > 0; n -= run, begin += run, entry += run * step) {
      const Place place = slots_.template find<true>(chunks, thread, q, begin, run, &slots_, &chunks);
      if (place.slot == nullptr) return;
      if (run > n) run = n;
      SIMT_ROLLED
      for (std::uint32_t i = group.rank(); i < run; i += in_flight * lanes) {
        // Each is on its way before it is known what came of the one in front.
        std::uint32_t missed = 0;
        SIMT_UNROLLED
        for (std::uint32_t k = 0; k < in_flight; ++k) {
          const std::uint32_t at = i + k * lanes;
          const bool filled = at >= run || fill<false>(place.slot + at, entry + at * step);
          missed |= (filled ? 0u : 1u) << k;
        }
        // Who is to empty these is inside.
        SIMT_ROLLED
        for (; missed != 0; missed &= missed - 1) {
          const std::uint32_t at = i + simt::lowest_bit(missed) * lanes;
          const auto filled = [&] { return fill<false>(place.slot + at, entry + at * step); };
          if (!simt::wait_until(thread, filled)) return;
        }
      }
    }
  }

  // The next entry for each lane of the group; empty only if the launch is aborted. `self` and `there` are copies of this
  // object and of the chunks in device memory, for what is out of line.
  template <class Thread>
  SIMT_INLINE std::uint32_t take(const Chunks& chunks, Thread& thread, const LaneGroup<Thread>& group, std::uint32_t q,
                                 const IndexQueue* self, const Chunks* there) const {
    // relaxed: a number that is handed out once.
    const std::uint64_t first =
        group.once([&] { return chunks.word(q, Chunks::taken).fetch_add(group.size(), simt::relaxed); });
    const std::uint64_t position = first + group.rank();
    std::uint32_t run = 0, entry = empty;
    const Place place = slots_.template find<false>(chunks, thread, q, position, run, &self->slots_, there);
    if (place.slot != nullptr) {
      const simt::atomic_ref<std::uint32_t> slot(*place.slot);
      const auto full = [&] { return slot.load(simt::relaxed) != empty; };
      SIMT_ROLLED
      do {
        // acquire: takes over what the entry stands for. An exchange with an empty slot changes nothing.
        entry = slot.exchange(empty, simt::acquire);
      } while (entry == empty && simt::wait_until(thread, full));
    }
    if constexpr (!in_pieces) {
      if (group.rank() == 0) slots_.give_room(chunks, q, group.size());
    } else {
      // Each piece is left for itself, so that leaving one needs no later one.
      const LaneGroup<Thread> mates = group.part(slots_.same_piece(position, first));
      mates.sync();  // before the release in leave()
      if (mates.rank() == 0 && place.slot != nullptr && slots_.leave(chunks, place, mates.size())) {
        emptied(self, there, thread, q, position, place);
      }
    }
    return entry;
  }

  // What is in the queue.
  template <class Visitor>
  void read(const HostView& host, const Chunks& chunks, std::uint32_t q, Visitor visit) const {
    slots_.read(host, chunks, q, host.read(chunks.word_at(q, Chunks::taken)),
                host.read(chunks.word_at(q, Chunks::placed)), visit);
  }

 private:
  using Place = typename Slots::Place;
  static constexpr std::uint32_t in_flight = 16;

  template <class Thread>
  static SIMT_OUTLINE void emptied(const IndexQueue* self, const Chunks* chunks, Thread thread, std::uint32_t q,
                                   std::uint64_t position, Place place) {
    self->slots_.emptied(*chunks, thread, q, position, place);
  }

  // Fills the slot if it is empty. By compare-and-swap, as two may want the same slot, a lap apart: which of them is the
  // first does not matter, but none may overwrite.
  template <bool hands_over>
  static SIMT_INLINE bool fill(std::uint32_t* slot, std::uint32_t entry) {
    std::uint32_t seen = empty;
    // release: hands over what the entry stands for.
    return simt::atomic_ref<std::uint32_t>(*slot).compare_exchange_strong(
        seen, entry, hands_over ? simt::release : simt::relaxed, simt::relaxed);
  }

  Slots slots_;
};

}  // namespace heapwood::alloc::ouroboros
