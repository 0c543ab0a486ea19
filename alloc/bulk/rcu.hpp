// SPDX-License-Identifier: MIT
// Read-copy-update for thousands of readers (Gelado and Garland 2019, section 4.2.1, after
// McKenney's sleepable RCU). Readers walk a structure while a writer unlinks elements of it. An
// element is reclaimed at the end of a grace *period*, when all readers that may have seen it have
// left. There is no per-thread state, only counters over all readers.
//
// Differs from the paper: the period number and the count of readers that entered it share one
// word, so one read-modify-write both enters and determines the period. Readers that leave are
// counted by period parity. A period is over when as many have left as had entered.
//
// Correctness: begin_period() and enter() are read-modify-writes of the same word. A reader that
// comes after begin_period() synchronizes with it and sees the unlinked state; one that came before
// it is among the readers that the writer waits for.
//
// Limits: 2^40 readers per period. begin_period() and is_over() are for one thread at a time, which
// waits for each period to end before it begins the next.
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/config.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Delegated work: items that one thread at a time may process, without any thread waiting for its
// turn (after Gelado and Garland 2019, section 4.2.1). A thread posts its item. If another thread
// is the worker, that thread will find the item and the poster continues. Own design: one word
// {worker present:1, newest item + 1:31}; each item links to the one before it. One operation posts
// an item and returns whether the poster has become the worker: if (work.post(item, link)) do { for
// (items of work.take()) ...; } while (!work.finish());
//
// `link(item)` is a word of the item that belongs to the poster, then to the worker, while the item
// is posted. An item must not be posted twice before it is taken; a flag in the item's own state,
// set together with the reason for posting, ensures that. No operation waits; post() retries only
// after another thread has posted. Limits: items below 2^31 - 1.
class Delegation {
 public:
  HEAPWOOD_INLINE explicit Delegation(std::uint32_t* word) : word_(*word) {}

  // Posts an item. Returns true if the caller has become the worker.
  template <class Link>
  HEAPWOOD_INLINE bool post(std::uint32_t item, Link link) const {
    std::uint32_t seen = word_.load(simt::relaxed);
    do {
      Word32(*link(item)).store(seen & ~working, simt::relaxed);
      // release: publishes the item and its link to the worker. acquire: makes the last worker's
      // changes visible if the caller is the next one.
    } while (
        !word_.compare_exchange_weak(seen, working | (item + 1), simt::acq_rel, simt::relaxed));
    return (seen & working) == 0;
  }

  // Becomes the worker without an item; false if there is one already.
  HEAPWOOD_INLINE bool try_enter() const {
    // acquire: makes the last worker's changes visible.
    return (word_.fetch_or(working, simt::acquire) & working) == 0;
  }

  // Called by the worker: takes all items posted so far and returns the number of the newest + 1,
  // or 0 if there are none. acquire: makes the posters' changes visible.
  HEAPWOOD_INLINE std::uint32_t take() const {
    return word_.exchange(working, simt::acq_rel) & ~working;
  }
  // Returns the number of the next older item + 1. Must be called before the item is processed.
  template <class Link>
  static HEAPWOOD_INLINE std::uint32_t next_after(std::uint32_t item, Link link) {
    return Word32(*link(item)).load(simt::relaxed);
  }

  // Called by the worker: stops being the worker, unless an item has been posted since take().
  HEAPWOOD_INLINE bool finish() const {
    std::uint32_t expected = working;
    // release: publishes this worker's changes to the next one.
    return word_.compare_exchange_strong(expected, 0, simt::release, simt::relaxed);
  }

 private:
  static constexpr std::uint32_t working = 1u << 31;

  Word32 word_;
};

// The words of an Rcu in device memory; initially zero.
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
    // acquire: this reader does not reach elements that were unlinked before the period began.
    return parity(Word64(state_->current).fetch_add(1, simt::acquire));
  }
  HEAPWOOD_INLINE void leave(std::uint32_t section) const {
    // release: orders this reader's accesses before is_over().
    Word64(state_->left[section]).fetch_add(1, simt::release);
  }

  // Starts a new period for later readers. The caller has unlinked the elements to reclaim.
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

  // The plain barrier: waits for all current readers. False if the launch is aborted.
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
