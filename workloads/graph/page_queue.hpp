// SPDX-License-Identifier: MIT
// A queue of free pages, as faimGraph has it: a ring of page numbers with one ticket each for
// taking and returning. Pages that have never been used come from a counter. It serves one size and
// nothing else, which makes it the lower bound for linked pages.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/warp.hpp"
#include "workloads/graph/vertex_table.hpp"

namespace heapwood::workloads::graph {

struct PageQueueState {
  alignas(64) std::uint64_t taken;     // tickets
  alignas(64) std::uint64_t returned;  // tickets
  alignas(64) std::int64_t available;  // returned pages that no thread has claimed
  // Pages below it are no longer fresh; beyond the capacity: none is.
  alignas(64) std::uint64_t fresh;
};

struct PageQueue {
  PageQueueState* state;
  std::uint32_t* ring;     // LinkedPage::none: empty
  std::uint32_t capacity;  // pages, and entries of the ring

  // A page, or LinkedPage::none if all are in use.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take(Thread& thread) const {
    const simt::atomic_ref<std::int64_t> available(state->available);
    // relaxed: only a count; the entry hands the page over.
    if (available.load(simt::relaxed) > 0) {
      if (available.fetch_sub(1, simt::relaxed) > 0) return take_returned(thread);
      available.fetch_add(1, simt::relaxed);
    }
    const std::uint64_t page = take_fresh(1);
    return page == none_left ? LinkedPage::none : static_cast<std::uint32_t>(page);
  }
  // `count` pages in a row that have never been used, or none_left. Threads that are refused at the
  // same time may leave fewer pages than one of them requested unused.
  HEAPWOOD_INLINE std::uint64_t take_fresh(std::uint32_t count) const {
    const simt::atomic_ref<std::uint64_t> fresh(state->fresh);
    if (fresh.load(simt::relaxed) + count > capacity) return none_left;
    const std::uint64_t first = fresh.fetch_add(count, simt::relaxed);
    if (first + count <= capacity) return first;
    // Roll back only if no other thread has added since; otherwise leak a few pages.
    std::uint64_t seen = first + count;
    fresh.compare_exchange_strong(seen, first, simt::relaxed, simt::relaxed);
    return none_left;
  }
  template <class Thread>
  HEAPWOOD_INLINE void give_back(Thread& thread, std::uint32_t page) const {
    const std::uint64_t ticket =
        simt::atomic_ref<std::uint64_t>(state->returned).fetch_add(1, simt::relaxed);
    const simt::atomic_ref<std::uint32_t> entry(ring[ticket % capacity]);
    // A thread that is about to empty the entry has its ticket already, so it is running.
    const bool placed = simt::wait_until(thread, [&] {
      std::uint32_t seen = LinkedPage::none;
      // release: hands over the page.
      return entry.compare_exchange_strong(seen, page, simt::release, simt::relaxed);
    });
    if (placed) simt::atomic_ref<std::int64_t>(state->available).fetch_add(1, simt::relaxed);
  }

  static constexpr std::uint64_t none_left = ~std::uint64_t{0};

 private:
  // The count guarantees that a thread has placed, or is placing, the page of this ticket.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take_returned(Thread& thread) const {
    const std::uint64_t ticket =
        simt::atomic_ref<std::uint64_t>(state->taken).fetch_add(1, simt::relaxed);
    const simt::atomic_ref<std::uint32_t> entry(ring[ticket % capacity]);
    std::uint32_t page = LinkedPage::none;
    simt::wait_until(thread, [&] {
      // acquire: the previous owner's accesses to the page.
      page = entry.exchange(LinkedPage::none, simt::acquire);
      return page != LinkedPage::none;
    });
    return page;
  }
};

}  // namespace heapwood::workloads::graph
