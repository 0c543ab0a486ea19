// SPDX-License-Identifier: MIT
// Read-copy-update for thousands of readers (Gelado and Garland 2019, section 4.2.1, after
// McKenney's sleepable RCU). Readers walk a structure while a writer unlinks elements of it. An
// element is reclaimed at the end of a grace *period*, when all readers that may have seen it have
// left. There is no per-thread state, only counters over all readers.
//
// Differs from the paper: the period number and the count of readers that entered it share one
// word, so one read-modify-write both enters and determines the period. (With the two counters and
// the epoch of sleepable RCU a reader has to check the epoch again, and everything must be
// sequentially consistent.) Readers that leave are counted by period parity. A period is over when
// as many have left as had entered.
//
// Correctness: begin_period() and enter() are read-modify-writes of the same word. A reader that
// comes after begin_period() synchronizes with it and sees the unlinked state; one that came before
// it is among the readers that the writer waits for.
//
// Limits: 2^40 readers per period. begin_period() and is_over() are for one thread at a time, which
// waits for each period to end before it begins the next.
#pragma once

#include <cstdint>

#include "alloc/bulk/delegation.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Initially zero.
struct RcuState {
  std::uint64_t current = 0;       // {period number:24, readers that entered it:40}
  std::uint64_t left[2] = {0, 0};  // readers of even and odd periods that have left
};

class Rcu {
 public:
  HEAPWOOD_INLINE explicit Rcu(RcuState* state) : state_(state) {}

  // A read section; the result of enter() is passed to leave(). Within it a reader must neither
  // wait nor call begin_period().
  HEAPWOOD_INLINE std::uint32_t enter() const {
    // acquire: elements unlinked before the period began are not seen.
    return parity(Word64(state_->current).fetch_add(1, simt::acquire));
  }
  HEAPWOOD_INLINE void leave(std::uint32_t section) const {
    // release: orders this reader's accesses before is_over().
    Word64(state_->left[section]).fetch_add(1, simt::release);
  }

  // Starts a new period for later readers. The caller has unlinked the elements it wants to
  // reclaim.
  HEAPWOOD_INLINE std::uint64_t begin_period() const {
    const Word64 current(state_->current);
    const std::uint64_t next = (current.load(simt::relaxed) / one_period + 1) * one_period;
    // release: readers of the next period see the unlinked state.
    return current.exchange(next, simt::acq_rel);
  }
  // Whether all readers that were present at begin_period() have left.
  HEAPWOOD_INLINE bool is_over(std::uint64_t period) const {
    const Word64 left(state_->left[parity(period)]);
    // acquire: orders those readers' accesses before the caller's next ones.
    if (left.load(simt::acquire) != period % one_period) return false;
    // relaxed: this counter is not used again before the period after next, whose readers see the
    // store through begin_period() and enter().
    left.store(0, simt::relaxed);
    return true;
  }

  // The plain barrier: waits for all current readers. For one thread at a time. Returns false if
  // the launch is aborted.
  template <class Thread>
  HEAPWOOD_INLINE bool barrier(Thread& thread) const {
    const std::uint64_t period = begin_period();
    return simt::wait_until(thread, [&] { return is_over(period); });
  }

  // The delegated barrier: calls reclaim(item) after the item's readers have left. Waits for them
  // only if no other thread is waiting; otherwise that thread takes over the item. The caller has
  // unlinked the item. Returns false if the launch is aborted.
  template <class Thread, class Link, class Reclaim>
  HEAPWOOD_INLINE bool retire(Thread& thread, const Delegation& waiting, std::uint32_t item,
                              Link link, Reclaim reclaim) const {
    if (!waiting.post(item, link)) return true;
    HEAPWOOD_ROLLED
    do {
      std::uint32_t next = waiting.take();
      if (!barrier(thread)) return false;
      HEAPWOOD_ROLLED
      while (next != 0) {
        const std::uint32_t i = next - 1;
        next = Delegation::next_after(i, link);
        reclaim(i);
      }
    } while (!waiting.finish());
    return true;
  }

 private:
  static constexpr std::uint64_t one_period = std::uint64_t{1} << 40;
  static HEAPWOOD_INLINE std::uint32_t parity(std::uint64_t word) {
    return static_cast<std::uint32_t>(word / one_period) & 1;
  }

  RcuState* state_;
};

}  // namespace heapwood::alloc
