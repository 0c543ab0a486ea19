// SPDX-License-Identifier: MIT
// Bulk semaphore: counts units of a resource that is produced in batches (Gelado and Garland 2019,
// section 3.3; Ouroboros section 3.4). Of thousands of threads that find no units, one in `batch`
// produces a batch, and the others wait for exactly these batches.
//
//   wait(thread, n, batch)   got: n units are the caller's. grow: the caller produces a batch,
//                            keeps n units of it and calls signal(batch - n, batch - n), or
//                            signal(0, batch - n) without one. fail: the launch is aborted, or no
//                            batch can be had (`dry`). All calls pass the same `batch`; if n is
//                            larger, the caller produces as many batches as hold n units.
//   wait_and_transfer(...)   wait() for a caller that divides what it gets: a transfer
//                            (TransferCounter) begins before units are taken; if the result is
//                            `got`, the caller ends it. Units are taken only after a read has seen
//                            enough of them.
//   signal(n, expected)      adds n units, `expected` of which were promised.
//   promise(n)               announces n units, which signal(.., n) will add.
//   take_some(n, each, keep) takes up to n times `each` units without waiting, leaving `keep` and
//                            what waiting threads have reserved; returns how many times.
//   try_wait(n, keep)        takes n units under the same conditions, or none.
//
// The papers keep three counts in a word, which they change by compare-and-swap: available units C,
// expected units E, and units reserved by waiting threads R. This class keeps C and the balance
// V = C + E - R, the units left if all promises were kept and all waiting threads served. Both may
// be negative. Differs from the papers:
// - every change is one fetch_add or fetch_sub;
// - V alone decides which threads grow: requests that find V <= 0 form groups of `batch`, and the
//   first thread of each group grows;
// - a thread that takes units and loses the race returns them. This changes only C, so no other
//   thread sees a shortage that does not exist and grows needlessly;
// - of many waiting threads about as many try to take units as there are units;
// - a waiting thread checks whether units are available, not whether others have reserved them.
//   After a grower has failed, V stays negative; a thread that has seen that for `patience` turns
//   grows in its place. Hence all waiting ends, with units or with a failure of the thread's own
//   batch, or immediately if the caller's word `dry` is not 0: no batch can be had.
//
// Waits only for threads that grow, which are running. Limits: C, V and the sum of all units
// requested at a time are below 2^31.
#pragma once

#include <cstdint>

#include "alloc/primitives/word.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

// Counts transfers of a resource between containers, so that a thread that reads several containers
// can tell whether it missed a resource in transit. A thread that takes the resource out of one
// container and puts it into another begins a transfer before it takes, and ends it after it has
// put. One word holds the number of transfers in progress and the number of ended ones.
//
// An observer reads the count, then the state of all containers, then the count again. If no
// transfer was in progress and none has ended meanwhile, no transfer overlaps its reads: every
// resource that was not in use was in one of the containers.
//
// Memory orders: an observer that reads a container from which a resource has been taken (take with
// release, read with acquire) sees in its second reading of the count that the transfer began. An
// observer whose first reading shows that a transfer has ended also sees what that transfer put.
class TransferCounter {
 public:
  static constexpr bool counted = true;

  HEAPWOOD_INLINE explicit TransferCounter(std::uint64_t* word) : word_(word) {}

  // relaxed: the release of the operation that takes orders this increment before it.
  HEAPWOOD_INLINE void begin() const { word().fetch_add(1, simt::relaxed); }
  // release: orders the put before the end of the transfer.
  HEAPWOOD_INLINE void end() const { word().fetch_add(one_ended - 1, simt::release); }
  // Ends a transfer that moved nothing. release: orders the return of its units before it.
  HEAPWOOD_INLINE void cancel() const { word().fetch_sub(1, simt::release); }

  // acquire: see end() and cancel(). Readings of several counts may be added up: each count grows
  // only when transfers end, and sums are compared only if none is in progress.
  HEAPWOOD_INLINE std::uint64_t read() const { return word().load(simt::acquire); }
  // The observer's second reading. relaxed: its reads of the containers are acquires.
  HEAPWOOD_INLINE std::uint64_t read_again() const { return word().load(simt::relaxed); }
  static HEAPWOOD_INLINE std::uint32_t in_progress(std::uint64_t reading) { return low(reading); }

 private:
  static constexpr std::uint64_t one_ended = std::uint64_t{1} << 32;

  HEAPWOOD_INLINE Word64 word() const { return Word64(*word_); }

  std::uint64_t* word_;
};

// hands_over: signal() also hands over what the units represent to the thread that receives `got`.
// Without it the semaphore only counts, and the caller hands the resource over through other words.
template <bool hands_over>
class BasicBulkSemaphore {
 public:
  enum class Wait : std::uint32_t { got, grow, fail };

  HEAPWOOD_INLINE explicit BasicBulkSemaphore(std::uint64_t* word) : word_(word) {}
  // The initial value of the semaphore's word.
  static HEAPWOOD_INLINE std::uint64_t initial(std::uint32_t available) {
    return counts(available, available);
  }

  template <class Thread>
  HEAPWOOD_INLINE Wait wait(const Thread& thread, std::uint32_t n, std::uint32_t batch,
                            std::uint32_t* dry = nullptr) const {
    // acquire (if `hands_over`): synchronizes with the signal() of the units.
    const std::uint64_t old = word().fetch_sub(counts(n, n), taking);
    return available(old) >= static_cast<std::int32_t>(n)
               ? Wait::got
               : wait_longer(word_, thread, old, n, n, batch, dry, NoTransfers());
  }

  template <class Thread>
  HEAPWOOD_INLINE Wait wait_and_transfer(const Thread& thread, std::uint32_t n, std::uint32_t batch,
                                         std::uint32_t* dry, TransferCounter transfers) const {
    const auto wanted = static_cast<std::int32_t>(n);
    // relaxed: decides only whether to try. A thread that finds no units must not count as a
    // transfer, or threads that fail would wait for each other.
    std::uint64_t old = word().load(simt::relaxed);
    if (available(old) >= wanted) {
      transfers.begin();
      // acquire (if `hands_over`): synchronizes with the signal() of the units. release: orders the
      // transfer's begin before it (TransferCounter).
      old = word().fetch_sub(counts(n, n), transferring);
      if (available(old) >= wanted) return Wait::got;
      word().fetch_add(counts(0, n), simt::relaxed);
      transfers.cancel();
    } else {
      old = word().fetch_sub(counts(n, 0), simt::relaxed);
    }
    return wait_longer(word_, thread, old, n, 0, batch, dry, transfers);
  }

  HEAPWOOD_INLINE void signal(std::uint32_t n, std::uint32_t expected) const {
    // release (if `hands_over`): hands over what the units represent.
    word().fetch_add(counts(std::int64_t{n} - expected, n), giving);
  }
  HEAPWOOD_INLINE void promise(std::uint32_t n) const {
    word().fetch_add(counts(n, 0), simt::relaxed);
  }

  HEAPWOOD_INLINE std::uint32_t take_some(std::uint32_t n, std::uint32_t each = 1,
                                          std::uint32_t keep = 0) const {
    std::uint64_t seen = word().load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (;;) {
      const std::int64_t c = available(seen), spare = std::int64_t{balance(seen)} - keep,
                         takeable = c < spare ? c : spare;
      if (takeable < each) return 0;
      const std::uint32_t times = static_cast<std::uint32_t>(takeable) / each,
                          k = times < n ? times : n;
      const std::int64_t units = std::int64_t{k} * each;
      // acquire (if `hands_over`): synchronizes with the signal() of the units.
      if (word().compare_exchange_weak(seen, seen - counts(units, units), taking, simt::relaxed))
        return k;
    }
  }
  HEAPWOOD_INLINE bool try_wait(std::uint32_t n, std::uint32_t keep = 0) const {
    return take_some(1, n, keep) != 0;
  }

  // For tests: the counts C and V in a word.
  static HEAPWOOD_INLINE std::int32_t available(std::uint64_t word) {
    return static_cast<std::int32_t>(word);
  }
  static HEAPWOOD_INLINE std::int32_t balance(std::uint64_t word) {
    return static_cast<std::int32_t>(
        (word - static_cast<std::uint64_t>(std::int64_t{available(word)})) >> 32);
  }

 private:
  static constexpr auto taking = hands_over ? simt::acquire : simt::relaxed;
  static constexpr auto transferring = hands_over ? simt::acq_rel : simt::release;
  static constexpr auto giving = hands_over ? simt::release : simt::relaxed;
  static constexpr unsigned eager = 8;      // turns before a waiting thread polls less often
  static constexpr unsigned patience = 32;  // turns of waiting while too few units are promised

  struct NoTransfers {
    static constexpr bool counted = false;
    HEAPWOOD_INLINE void begin() const {}
    HEAPWOOD_INLINE void cancel() const {}
  };

  // Changes V and C with one addition. A negative change of C borrows from V's half of the word;
  // balance() corrects for it.
  static HEAPWOOD_INLINE std::uint64_t counts(std::int64_t balance, std::int64_t available) {
    return (static_cast<std::uint64_t>(balance) << 32) + static_cast<std::uint64_t>(available);
  }
  HEAPWOOD_INLINE Word64 word() const { return Word64(*word_); }
  // Number of batches that hold `uncovered` units.
  static HEAPWOOD_INLINE std::uint32_t batches(std::int64_t uncovered, std::uint32_t batch) {
    return uncovered <= 0 ? 0 : (static_cast<std::uint32_t>(uncovered) + batch - 1) / batch;
  }

  // Slow path of wait(): there were not enough units, but `owed` of them have been subtracted from
  // C. `thread` is passed by value: the address of a thread in registers must not escape.
  template <class Thread, class Transfers>
  static HEAPWOOD_OUTLINE Wait wait_longer(std::uint64_t* address, Thread thread, std::uint64_t old,
                                           std::uint32_t n, std::uint32_t owed, std::uint32_t batch,
                                           std::uint32_t* dry, Transfers transfers) {
    const Word64 word(*address);
    const std::int64_t before = balance(old), brought = std::int64_t{batches(n, batch)} * batch;
    // relaxed, here and below, where no units are taken: the counts order no other memory.
    if (batches(n - before, batch) > batches(-before, batch)) {
      word.fetch_add(counts(brought, owed), simt::relaxed);
      return Wait::grow;
    }
    // Returns the units to C. The request itself stays subtracted from V.
    if (owed != 0) word.fetch_add(counts(0, owed), simt::relaxed);
    unsigned uncovered_turns = 0, idle_turns = 0;  // turns with V < 0; turns since the last attempt
    bool gives_up = false;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; !gives_up; ++turn) {
      // Thousands of threads that poll five times per microsecond would use the whole throughput of
      // the word's slice of the L2 cache, which the threads that signal units need as well.
      HEAPWOOD_ROLLED
      for (unsigned rest = turn < eager ? 1 : 8; rest > 0; --rest) thread.pause(turn);
      std::uint64_t seen = word.load(simt::relaxed);
      // A thread tries to take units with a probability such that, of 8,192 waiting threads, about
      // as many try as there are units. It quadruples with each turn without an attempt.
      const std::uint32_t dice = (thread.worker() * 32 + thread.lane() + turn) * 2654435769u >> 19;
      const std::uint32_t turns_away = idle_turns < 7 ? dice & (8191u >> 2 * idle_turns) : 0;
      if (available(seen) >= static_cast<std::int64_t>(n) * (1 + turns_away)) {
        transfers.begin();
        // acquire (if `hands_over`): synchronizes with the signal() of the units. release: orders
        // the transfer's begin before it (TransferCounter).
        constexpr auto order = Transfers::counted ? transferring : taking;
        if (available(word.fetch_sub(counts(0, n), order)) >= static_cast<std::int32_t>(n))
          return Wait::got;
        word.fetch_add(counts(0, n), simt::relaxed);
        transfers.cancel();
        idle_turns = 0;
      } else {
        ++idle_turns;
        if (balance(seen) < 0) {
          gives_up = dry != nullptr && Word32(*dry).load(simt::relaxed) != 0;
          if (++uncovered_turns > patience && !gives_up &&
              word.compare_exchange_strong(seen, seen + counts(brought, 0), simt::relaxed,
                                           simt::relaxed)) {
            return Wait::grow;
          }
        }
      }
      gives_up = gives_up || ((turn & 63) == 63 && thread.aborted());
    }
    word.fetch_add(counts(n, 0), simt::relaxed);
    return Wait::fail;
  }

  std::uint64_t* word_;
};

using BulkSemaphore = BasicBulkSemaphore<true>;

}  // namespace heapwood::alloc
