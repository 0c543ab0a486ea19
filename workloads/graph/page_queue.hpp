// SPDX-License-Identifier: MIT
// A queue of free pages, as in faimGraph: a ring of page numbers, with one counter of tickets for
// taking and one for returning pages. Pages that have never been used come from a third counter.
// The queue serves pages of one size only, so its cost is the lower bound for linked pages.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

struct PageQueueState {
  alignas(64) std::uint64_t taken;     // number of tickets for taking
  alignas(64) std::uint64_t returned;  // number of tickets for returning
  alignas(64) std::int64_t available;  // returned pages that no thread has claimed
  // Pages from this number on have never been used; beyond the capacity there are none.
  alignas(64) std::uint64_t fresh;
};

struct PageQueue {
  PageQueueState* state;
  std::uint32_t* ring;     // LinkedPage::none marks an empty entry
  std::uint32_t capacity;  // number of pages, and of entries of the ring

  // Takes a page; returns LinkedPage::none if all are in use.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take(Thread& thread) const {
    const simt::atomic_ref<std::int64_t> available(state->available);
    // relaxed: the count orders nothing; the entry of the ring hands the page over.
    if (available.load(simt::relaxed) > 0) {
      if (available.fetch_sub(1, simt::relaxed) > 0) return take_returned(thread);
      available.fetch_add(1, simt::relaxed);
    }
    const std::uint64_t page = take_fresh(1);
    return page == none_left ? LinkedPage::none : static_cast<std::uint32_t>(page);
  }
  // Takes `count` adjacent pages that have never been used, or returns none_left. If several
  // threads are refused at the same time, a few unused pages may be lost.
  HEAPWOOD_INLINE std::uint64_t take_fresh(std::uint32_t count) const {
    const simt::atomic_ref<std::uint64_t> fresh(state->fresh);
    if (fresh.load(simt::relaxed) + count > capacity) return none_left;
    const std::uint64_t first = fresh.fetch_add(count, simt::relaxed);
    if (first + count <= capacity) return first;
    // Rolls back only if no other thread has added since; otherwise a few pages are lost.
    std::uint64_t seen = first + count;
    fresh.compare_exchange_strong(seen, first, simt::relaxed, simt::relaxed);
    return none_left;
  }
  template <class Thread>
  HEAPWOOD_INLINE void give_back(Thread& thread, std::uint32_t page) const {
    const std::uint64_t ticket =
        simt::atomic_ref<std::uint64_t>(state->returned).fetch_add(1, simt::relaxed);
    const simt::atomic_ref<std::uint32_t> entry(ring[ticket % capacity]);
    // Waits while the entry is full: the thread that will empty it has a ticket and is running.
    const bool placed = simt::wait_until(thread, [&] {
      std::uint32_t seen = LinkedPage::none;
      // release: hands over the page.
      return entry.compare_exchange_strong(seen, page, simt::release, simt::relaxed);
    });
    if (placed) simt::atomic_ref<std::int64_t>(state->available).fetch_add(1, simt::relaxed);
  }

  static constexpr std::uint64_t none_left = ~std::uint64_t{0};

 private:
  // Takes a returned page: by the count, a thread has stored or is storing one for this ticket.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take_returned(Thread& thread) const {
    const std::uint64_t ticket =
        simt::atomic_ref<std::uint64_t>(state->taken).fetch_add(1, simt::relaxed);
    const simt::atomic_ref<std::uint32_t> entry(ring[ticket % capacity]);
    std::uint32_t page = LinkedPage::none;
    simt::wait_until(thread, [&] {
      // acquire: orders the previous owner's accesses to the page before this thread's.
      page = entry.exchange(LinkedPage::none, simt::acquire);
      return page != LinkedPage::none;
    });
    return page;
  }
};

}  // namespace heapwood::workloads::graph
