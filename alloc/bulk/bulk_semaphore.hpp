// SPDX-License-Identifier: MIT
// Bulk semaphore: counts units of a resource that is made in batches (bulk section 3.3; Ouroboros section 3.4). Who
// asks for n units gets them, or waits for units that another thread has promised, or is told to make a batch itself.
// So of thousands of threads that find nothing, one in `batch` makes a batch, and the others wait for just these.
//
//   wait(thread, n, batch)   got: n units are the caller's. grow: the caller brings a batch, keeps n units of it and
//                            calls signal(batch - n, batch - n), or signal(0, batch - n) if it could not be had.
//                            fail: the launch is aborted, or nothing can be had (below). batch is the same in all
//                            calls; if n is more, the caller brings as many batches as hold n units.
//   signal(n, expected)      n units more, `expected` of which were promised.
//   wait_and_move(...)       the same for a caller that divides what it gets: a move (moves.hpp) begins before the units are
//                            taken, and if they are got, the caller ends it. Units are taken only where some are seen.
//   promise(n)               n units will come, by signal(.., n): others then wait for them.
//   take_some(n, each, keep) up to n times `each` units, as they are there, nobody waits for them, and `keep` stay.
//   try_wait(n, keep)        n units, in the same way, or none.
//
// The papers keep three counts in a word: available C, expected E, reserved by waiting threads R. Here there are two,
// C and V = C + E - R, the units that would be left if all promises were kept and all waiting threads served. Both may
// be negative.
// Differs from the papers:
// - an arrival is one fetch_sub of both counts, and waiting, promising and taking are fetch_adds. A published arrival is
//   a compare-and-swap, which succeeds about once a trip to the L2 cache, however many threads try;
// - who grows is told by V alone: arrivals that find V <= 0 would come in groups of `batch`, and the first of each group
//   grows. There are always as many growers, counting those that have not announced their batch yet, as uncovered
//   arrivals need, as only an arrival that is told to grow increases that need by a batch;
// - a taker that was too late puts its units back. That changes C only, and who grows is decided by V: no thread sees a
//   shortage that does not exist, and grows for nothing;
// - of many waiting threads about as many try to take units as there are; each thread that was too late tries less often;
// - a waiting thread looks whether units are there, not whether others reserved them (the papers' condition leaves and
//   reserves again and again while R = C + E). Where a grower has failed V stays negative; who has seen that for
//   `patience` turns grows in its place. So all waiting ends: with units, or with a failure of one's own. A caller that
//   can tell that no batch can be had gives wait() a word, `dry`, that is not 0 then: waiting ends at once.
// Waits only for threads that grow, which are running. Limits: C, V and the sum of all units asked for at a time are
// below 2^31.
#pragma once

#include <cstdint>

#include "alloc/bulk/moves.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

// hands_over: what the units stand for is handed over by signal() and taken over with `got`. Otherwise it is handed over
// elsewhere, and the semaphore only counts.
template <bool hands_over>
class BasicBulkSemaphore {
 public:
  enum class Wait : std::uint32_t { got, grow, fail };

  SIMT_INLINE explicit BasicBulkSemaphore(std::uint64_t* word) : word_(word) {}
  // The word at the beginning.
  static SIMT_INLINE std::uint64_t initial(std::uint32_t available) {
    return counts(available, available);
  }

  template <class Thread>
  SIMT_INLINE Wait wait(const Thread& thread, std::uint32_t n, std::uint32_t batch,
                        std::uint32_t* dry = nullptr) const {
    // acquire: what the units stand for.
    const std::uint64_t old = word().fetch_sub(counts(n, n), taking);
    return available(old) >= static_cast<std::int32_t>(n)
               ? Wait::got
               : wait_longer(word_, thread, old, n, n, batch, dry, NoMoves());
  }

  template <class Thread>
  SIMT_INLINE Wait wait_and_move(const Thread& thread, std::uint32_t n, std::uint32_t batch,
                                 std::uint32_t* dry, Moves moves) const {
    const auto wanted = static_cast<std::int32_t>(n);
    // relaxed: whether to try. A thread that finds nothing must not appear as a move, or threads that fail would wait
    // for each other.
    std::uint64_t old = word().load(simt::relaxed);
    if (available(old) >= wanted) {
      moves.begin();
      // acquire: what the units stand for. release: see moves.hpp.
      old = word().fetch_sub(counts(n, n), moving);
      if (available(old) >= wanted) return Wait::got;
      word().fetch_add(counts(0, n), simt::relaxed);
      moves.cancel();
    } else {
      old = word().fetch_sub(counts(n, 0), simt::relaxed);
    }
    return wait_longer(word_, thread, old, n, 0, batch, dry, moves);
  }

  SIMT_INLINE void signal(std::uint32_t n, std::uint32_t expected) const {
    // release: what the units stand for.
    word().fetch_add(counts(std::int64_t{n} - expected, n), giving);
  }
  SIMT_INLINE void promise(std::uint32_t n) const { word().fetch_add(counts(n, 0), simt::relaxed); }

  SIMT_INLINE std::uint32_t take_some(std::uint32_t n, std::uint32_t each = 1,
                                      std::uint32_t keep = 0) const {
    std::uint64_t seen = word().load(simt::relaxed);
    SIMT_ROLLED
    for (;;) {
      const std::int64_t c = available(seen), spare = std::int64_t{balance(seen)} - keep,
                         most = c < spare ? c : spare;
      if (most < each) return 0;
      const std::uint32_t times = static_cast<std::uint32_t>(most) / each,
                          k = times < n ? times : n;
      const std::int64_t units = std::int64_t{k} * each;
      // acquire: what the units stand for.
      if (word().compare_exchange_weak(seen, seen - counts(units, units), taking, simt::relaxed))
        return k;
    }
  }
  SIMT_INLINE bool try_wait(std::uint32_t n, std::uint32_t keep = 0) const {
    return take_some(1, n, keep) != 0;
  }

  // For tests: C and V.
  static SIMT_INLINE std::int32_t available(std::uint64_t word) {
    return static_cast<std::int32_t>(word);
  }
  static SIMT_INLINE std::int32_t balance(std::uint64_t word) {
    return static_cast<std::int32_t>(
        (word - static_cast<std::uint64_t>(std::int64_t{available(word)})) >> 32);
  }

 private:
  static constexpr auto taking = hands_over ? simt::acquire : simt::relaxed;
  static constexpr auto moving = hands_over ? simt::acq_rel : simt::release;
  static constexpr auto giving = hands_over ? simt::release : simt::relaxed;
  static constexpr unsigned eager = 8;      // turns before a waiting thread looks less often
  static constexpr unsigned patience = 32;  // turns of waiting while nobody promises enough

  struct NoMoves {
    static constexpr bool counted = false;
    SIMT_INLINE void begin() const {}
    SIMT_INLINE void cancel() const {}
  };

  // What to add for changes of V and C: a borrow of C's half is part of the sum, and balance() knows it.
  static SIMT_INLINE std::uint64_t counts(std::int64_t balance, std::int64_t available) {
    return (static_cast<std::uint64_t>(balance) << 32) + static_cast<std::uint64_t>(available);
  }
  SIMT_INLINE simt::atomic_ref<std::uint64_t> word() const {
    return simt::atomic_ref<std::uint64_t>(*word_);
  }
  // Batches for `uncovered` units.
  static SIMT_INLINE std::uint32_t batches(std::int64_t uncovered, std::uint32_t batch) {
    return uncovered <= 0 ? 0 : (static_cast<std::uint32_t>(uncovered) + batch - 1) / batch;
  }

  // There were not enough units; `owed` of them have been subtracted from C all the same. By value: the address of a
  // thread that lives in registers must not escape.
  template <class Thread, class Move>
  static SIMT_OUTLINE Wait wait_longer(std::uint64_t* address, Thread thread, std::uint64_t old,
                                       std::uint32_t n, std::uint32_t owed, std::uint32_t batch,
                                       std::uint32_t* dry, Move move) {
    const simt::atomic_ref<std::uint64_t> word(*address);
    const std::int64_t before = balance(old), brought = std::int64_t{batches(n, batch)} * batch;
    // relaxed, here and below, where no units are taken: these are numbers.
    if (batches(n - before, batch) > batches(-before, batch)) {
      word.fetch_add(counts(brought, owed), simt::relaxed);
      return Wait::grow;
    }
    // What is asked for stays in V.
    if (owed != 0) word.fetch_add(counts(0, owed), simt::relaxed);
    unsigned alone = 0, hope = 0;
    bool gone = false;
    SIMT_ROLLED
    for (unsigned turn = 0; !gone; ++turn) {
      // Thousands that look five times a microsecond would take all that the word's part of the L2 cache can do, and those
      // who bring something need it, too.
      SIMT_ROLLED
      for (unsigned rest = turn < eager ? 1 : 8; rest > 0; --rest) thread.pause(turn);
      std::uint64_t seen = word.load(simt::relaxed);
      // As many threads as there may be on a GPU would take one request each; later one of four of these, ...
      const std::uint32_t dice = (thread.worker() * 32 + thread.lane() + turn) * 2654435769u >> 19;
      const std::uint32_t turns_away = hope < 7 ? dice & (8191u >> 2 * hope) : 0;
      if (available(seen) >= static_cast<std::int64_t>(n) * (1 + turns_away)) {
        move.begin();
        // acquire: what the units stand for. release: see moves.hpp.
        constexpr auto order = Move::counted ? moving : taking;
        if (available(word.fetch_sub(counts(0, n), order)) >= static_cast<std::int32_t>(n))
          return Wait::got;
        word.fetch_add(counts(0, n), simt::relaxed);
        move.cancel();
        hope = 0;
      } else {
        ++hope;
        if (balance(seen) < 0) {
          gone = dry != nullptr && simt::atomic_ref<std::uint32_t>(*dry).load(simt::relaxed) != 0;
          if (++alone > patience && !gone &&
              word.compare_exchange_strong(seen, seen + counts(brought, 0), simt::relaxed,
                                           simt::relaxed)) {
            return Wait::grow;
          }
        }
      }
      gone = gone || ((turn & 63) == 63 && thread.aborted());
    }
    word.fetch_add(counts(n, 0), simt::relaxed);
    return Wait::fail;
  }

  std::uint64_t* word_;
};

using BulkSemaphore = BasicBulkSemaphore<true>;

}  // namespace heapwood::alloc
