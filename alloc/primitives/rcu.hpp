// SPDX-License-Identifier: MIT
// Read-copy-update for thousands of readers (Gelado and Garland 2019, section 4.2.1, after McKenney's sleepable RCU).
// Readers walk a structure while a writer unlinks elements of it; an element is given back when a *period* is over: all
// readers that may have seen it have left. There are no words a thread, only counters of all readers.
// Differs from the paper: the number of the period and the readers that entered it are one word, so entering is one
// read-modify-write that also says which period it was. (With the two counters and the epoch of sleepable RCU a reader
// has to look at the epoch again, and all of it has to be sequentially consistent.) Readers that leave are counted by
// period parity; a period is over when as many have left as had entered.
// Why that is enough: begin() and enter() are read-modify-writes of the same word. A reader that comes behind a
// begin() synchronizes with it and sees what was unlinked before; one that came before is among those it waits for.
// Limits: 2^40 readers a period. begin() and over() are for one thread at a time, who waits for each period before it
// begins the next.
#pragma once

#include <cstdint>

#include "alloc/primitives/delegation.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// All zero in the beginning.
struct RcuState {
  std::uint64_t now = 0;           // {number of the period:24, readers that entered it:40}
  std::uint64_t left[2] = {0, 0};  // readers of even and odd periods that have left
};

class Rcu {
 public:
  SIMT_INLINE explicit Rcu(RcuState* state) : state_(state) {}

  // A reader's section; what enter() returns is for leave(). A reader neither waits nor calls begin() in between.
  SIMT_INLINE std::uint32_t enter() const {
    // acquire: what was unlinked before the period began is not seen any more.
    return parity(simt::atomic_ref<std::uint64_t>(state_->now).fetch_add(1, simt::acquire));
  }
  SIMT_INLINE void leave(std::uint32_t section) const {
    // release: this reader's accesses come before over().
    simt::atomic_ref<std::uint64_t>(state_->left[section]).fetch_add(1, simt::release);
  }

  // Ends the period for those that come from now on; the caller has unlinked what it wants to give back.
  SIMT_INLINE std::uint64_t begin() const {
    const simt::atomic_ref<std::uint64_t> now(state_->now);
    const std::uint64_t next = (now.load(simt::relaxed) / one_period + 1) * one_period;
    // release: readers of the next period see what has been unlinked.
    return now.exchange(next, simt::acq_rel);
  }
  // Have all readers left that were there at begin()?
  SIMT_INLINE bool over(std::uint64_t period) const {
    const simt::atomic_ref<std::uint64_t> left(state_->left[parity(period)]);
    // acquire: those readers' accesses come before what the caller does next.
    if (left.load(simt::acquire) != period % one_period) return false;
    // relaxed: nobody counts here until the period after next, whose readers see this through begin() and enter().
    left.store(0, simt::relaxed);
    return true;
  }

  // The plain barrier: waits for all readers that are there now. False: the launch is aborted. For one thread at a time.
  template <class Thread>
  SIMT_INLINE bool barrier(Thread& thread) const {
    const std::uint64_t period = begin();
    return simt::wait_until(thread, [&] { return over(period); });
  }

  // The delegated barrier: gives `item` back with reclaim(item) once its readers have left, and waits for that only if
  // nobody else is waiting just now; whoever is will do it. The caller has unlinked the item. False: the launch is
  // aborted.
  template <class Thread, class Link, class Reclaim>
  SIMT_INLINE bool retire(Thread& thread, const Delegation& waiting, std::uint32_t item, Link link,
                          Reclaim reclaim) const {
    if (!waiting.post(item, link)) return true;
    SIMT_ROLLED
    do {
      std::uint32_t next = waiting.take();
      if (!barrier(thread)) return false;
      SIMT_ROLLED
      while (next != 0) {
        const std::uint32_t i = next - 1;
        next = Delegation::behind(i, link);
        reclaim(i);
      }
    } while (!waiting.finish());
    return true;
  }

 private:
  static constexpr std::uint64_t one_period = std::uint64_t{1} << 40;
  static SIMT_INLINE std::uint32_t parity(std::uint64_t word) {
    return static_cast<std::uint32_t>(word / one_period) & 1;
  }

  RcuState* state_;
};

}  // namespace heapwood::alloc
