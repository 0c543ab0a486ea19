// SPDX-License-Identifier: MIT
// Semaphores that the bulk semaphore (bulk_semaphore.hpp) is compared with: a counting semaphore,
// and the bulk semaphore as published. No allocator uses them.
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/config.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Collective mutex (Gelado and Garland 2019, section 4.2.2): lanes of a warp that arrive together
// enter a critical section together and share the work in it; to other threads they are one owner.
//
// Differs from the paper, where the members are a thread block: here they are the lanes returned by
// together(), all of which call lock() and unlock(). Inside, they may use the collectives of that
// set.
//
// Limits: if the owners are diverged lanes of the same warp, the waiting lanes rely on independent
// thread scheduling: they pause, and give up when the launch is aborted. For that reason the
// allocators of this project do not use it and delegate instead (rcu.hpp).

class CollectiveMutex {
 public:
  // `word` must be 0 initially.
  HEAPWOOD_INLINE explicit CollectiveMutex(std::uint32_t* word) : word_(*word) {}

  // Returns false to all members if the launch is aborted; then they do not hold the mutex.
  template <class Thread>
  HEAPWOOD_INLINE bool lock(Thread& thread, std::uint32_t lanes) const {
    const unsigned leader = simt::lowest_bit(lanes);
    std::uint32_t owner = 0;
    if (thread.lane() == leader) {
      owner = simt::wait_until(thread, [&] {
        std::uint32_t open = 0;
        // A relaxed read first: waiting threads must not write. acquire: sees the last owner's
        // changes.
        return word_.load(simt::relaxed) == 0 &&
               word_.compare_exchange_strong(open, 1, simt::acquire, simt::relaxed);
      });
    }
    owner = thread.shfl(lanes, owner, leader);
    thread.sync(lanes);  // makes what the leader acquired visible to the other members
    return owner != 0;
  }

  template <class Thread>
  HEAPWOOD_INLINE void unlock(Thread& thread, std::uint32_t lanes) const {
    thread.sync(lanes);  // orders all members' work before the release
    // release: publishes this owner's changes to the next one.
    if (thread.lane() == simt::lowest_bit(lanes)) word_.store(0, simt::release);
  }

 private:
  Word32 word_;
};

// Counting semaphore for two-stage allocation (Gelado and Garland 2019, section 3.2, after Stuart
// and Owens): counts the units of a resource that grows in batches, one batch at a time. A thread
// that finds fewer units than it wants takes the remaining ones and fetches the next batch; all
// other threads wait for that batch. This is the baseline for the bulk semaphore
// (bulk_semaphore.hpp), where as many threads grow the resource as batches are needed.
//
// Differs from the paper: "growing" is a separate bit, not the value -1, so that units can be
// returned while the resource grows. Limits: 2^31 - 1 units.
class CountingSemaphore {
 public:
  static constexpr std::uint32_t failed = ~0u;

  HEAPWOOD_INLINE explicit CountingSemaphore(std::uint32_t* word) : word_(word) {}
  static HEAPWOOD_INLINE std::uint32_t initial(std::uint32_t available) { return available; }

  // Takes n units, or as many as there are, and returns the number taken. If it is less than n, the
  // caller must fetch a batch and call grown(). Returns `failed` if the launch is aborted. Waits
  // only for a thread that fetches a batch, which is running.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t wait(Thread& thread, std::uint32_t n) const {
    const Word32 word(*word_);
    std::uint32_t seen = word.load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;;) {
      if ((seen & growing) != 0) {
        thread.pause(turn++);
        if (turn % 64 == 0 && thread.aborted()) return failed;
        seen = word.load(simt::relaxed);
        continue;
      }
      const std::uint32_t taken = seen < n ? seen : n;
      // acquire: synchronizes with signal(), which hands over what the units represent.
      if (word.compare_exchange_weak(seen, taken < n ? growing : seen - n, simt::acquire,
                                     simt::relaxed))
        return taken;
    }
  }

  // Returns units. release: hands over what they represent.
  HEAPWOOD_INLINE void signal(std::uint32_t n) const { Word32(*word_).fetch_add(n, simt::release); }
  // Ends the growth that wait() left to the caller, and adds n units of the batch for other
  // threads; n is 0 if there is no batch. release: hands over what the units represent.
  HEAPWOOD_INLINE void grown(std::uint32_t n) const {
    Word32(*word_).fetch_add(n - growing, simt::release);
  }

 private:
  static constexpr std::uint32_t growing = 1u << 31;

  std::uint32_t* word_;
};

// The bulk semaphore as published (Gelado and Garland 2019, section 3.3, algorithms 1 and 2): three
// counts in one word, available units C, expected units E and units reserved by waiting threads R,
// which every operation changes by compare-and-swap. bulk_semaphore.hpp is the redesigned one.
//
//   wait(thread, n, batch, grow)  takes n units, or calls grow(), which produces a batch, keeps n
//                                 units of it and calls signal(batch - n, batch - n). Returns false
//                                 if the launch is aborted.
//   signal(n, expected)           adds n units, `expected` of which were promised.
//
// Differs from the paper only in that grow() is called inside the loop of wait(): a lane that has
// left a loop may have to wait there for the other lanes of its warp, which wait for its units. A
// thread leaves its wait when all expected units are reserved, and reserves again immediately if it
// finds that they suffice for it.
//
// Waits only for threads that grow, which are running. Limits: 2^21 - 1 units expected or reserved,
// so 2^20 threads that take one unit each in batches of up to 2^20.
class PublishedBulkSemaphore {
 public:
  HEAPWOOD_INLINE explicit PublishedBulkSemaphore(std::uint64_t* word) : word_(word) {}
  static HEAPWOOD_INLINE std::uint64_t initial(std::uint32_t units) { return units; }

  template <class Thread, class Grow>
  HEAPWOOD_INLINE bool wait(const Thread& thread, std::uint32_t n, std::uint32_t batch,
                            Grow grow) const {
    std::uint64_t seen = word().load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; !gives_up(thread, turn);) {
      const bool grows = available(seen) + expected(seen) < reserved(seen) + n;
      const bool takes = !grows && available(seen) >= n;
      const std::uint64_t next = grows   ? seen + (batch - n) * one_expected
                                 : takes ? seen - n
                                         : seen + n * one_reserved;
      // acquire: synchronizes with the signal() that handed over what the units represent.
      if (!word().compare_exchange_strong(seen, next, simt::acquire, simt::relaxed)) continue;
      if (grows) grow();
      if (grows || takes) return true;
      HEAPWOOD_ROLLED
      for (seen = next; available(seen) < n && reserved(seen) < available(seen) + expected(seen);) {
        // The reservation stays, because no thread continues after an abort.
        if (gives_up(thread, turn)) return false;
        thread.pause(turn);
        seen = word().load(simt::relaxed);
      }
      add(seen, 0 - n * one_reserved, simt::relaxed);
      thread.pause(turn);
    }
    return false;
  }

  HEAPWOOD_INLINE void signal(std::uint32_t n, std::uint32_t promised) const {
    std::uint64_t seen = word().load(simt::relaxed);
    // release: hands over what the units represent.
    add(seen, n - promised * one_expected, simt::release);
  }

  static HEAPWOOD_INLINE std::uint32_t available(std::uint64_t word) {
    return static_cast<std::uint32_t>(word & (one_expected - 1));
  }
  static HEAPWOOD_INLINE std::uint32_t expected(std::uint64_t word) {
    return static_cast<std::uint32_t>((word & (one_reserved - 1)) / one_expected);
  }
  static HEAPWOOD_INLINE std::uint32_t reserved(std::uint64_t word) {
    return static_cast<std::uint32_t>(word / one_reserved);
  }

 private:
  // The word is {R:21, E:21, C:22}.
  static constexpr std::uint64_t one_expected = std::uint64_t{1} << 22,
                                 one_reserved = std::uint64_t{1} << 43;

  // Counts a turn of a loop; returns whether the thread must leave because the launch is aborted. A
  // failed exchange counts as a turn too: among a million threads so few exchanges succeed that an
  // aborted launch would run on for more than 20 s if only successful ones counted.
  template <class Thread>
  HEAPWOOD_INLINE static bool gives_up(const Thread& thread, unsigned& turn) {
    return ++turn % 64 == 0 && thread.aborted();
  }
  HEAPWOOD_INLINE Word64 word() const { return Word64(*word_); }
  // Adds `change` by compare-and-swap, as published. Afterwards `seen` is the new value.
  HEAPWOOD_INLINE void add(std::uint64_t& seen, std::uint64_t change,
                           cuda::memory_order order) const {
    HEAPWOOD_ROLLED
    while (!word().compare_exchange_strong(seen, seen + change, order, simt::relaxed)) {
    }
    seen += change;
  }

  std::uint64_t* word_;
};

}  // namespace heapwood::alloc
