// SPDX-License-Identifier: MIT
// TBuddy: a buddy allocator of pages for thousands of threads (Gelado and Garland 2019, section
// 4.1). Allocation has two stages: one bulk semaphore per order (bulk_semaphore.hpp) grants a
// thread the right to a block, then the thread searches for a free block. A thread that finds too
// few units of an order splits a larger block and promises the parts that it does not need, so that
// other threads wait for them and do not conclude that the pool is exhausted (no false starvation).
//
// Differs from the paper:
// - the static tree is one bitmap per order with summaries (sum_map.hpp): a set bit is an available
//   node. Nothing is locked or propagated; one fetch_and takes both halves of a block;
// - an order grows from the order five above it: one fetch_or splits a block into 32. Blocks of the
//   orders between are split if there are any;
// - a merge takes the two halves first and then two units of their order, so it fails only if a
//   thread that holds a unit needs one of the halves. The merged block is promised to the next
//   order before its halves disappear from this one;
// - blocks serve n pages of 2^k >= n; the remaining 2^k - n pages are promised from the beginning
//   and freed immediately;
// - orders in which a split or a failed merge leaves pairs of free buddies are recorded; a request
//   that finds no block large enough merges these pairs first (sweep()).
//
// No false starvation: a thread takes units out of one order to put their memory into another only
// within a transfer (bulk_semaphore.hpp), which is counted at the higher of the two orders. A
// request is refused only after supply() has seen no unit in its order and above, and no
// overlapping transfer there. So all memory of these orders was in use or taken by other requests
// at that moment, however long any thread was suspended. tests/model/tbuddy_model.cpp checks all
// interleavings.
//
// Waits end: a block's unit is added before its bit is set, so a thread with a unit waits only for
// threads between these two operations, and a thread that takes a bit knows that its unit has been
// added. A request that repeatedly sees blocks or transfers, but always loses the blocks to other
// threads, is refused after max_turns.
//
// Limits: at most 2^24 pages, whose size is a power of two; the rest of a larger pool is not used.
// Overhead: 4.25 bytes per page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/primitives/sum_map.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

// Executed once, by one thread, on zeroed tables.
template <class Buddy>
struct FreeEveryPage {
  Buddy buddy;
  HEAPWOOD_FN void operator()(std::size_t) const { buddy.free_every_page(); }
};

class TBuddy {
 public:
  static constexpr std::uint32_t none = ~0u;

  TBuddy() = default;

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages of 2^page_shift bytes, or none.
  template <class Device>
  static TBuddy create(std::byte* base, std::size_t bytes, unsigned page_shift,
                       const Device& device) {
    TBuddy t;
    t.page_shift_ = page_shift;
    t.base_ = base;
    t.bytes_ = bytes;
    std::vector<std::uint32_t> tables;
    std::uint64_t pages = std::min<std::uint64_t>(bytes >> page_shift, max_pages) + 1;
    do {
      --pages;
      tables.clear();
      std::uint32_t words = 0;
      for (std::uint64_t n = pages; n > 0; n /= 2) {
        std::uint32_t table[SumMap::table_entries] = {};
        words += SumMap::plan(static_cast<std::uint32_t>(n), words, table);
        tables.insert(tables.end(), std::begin(table), std::end(table));
      }
      const std::size_t orders = tables.size() / SumMap::table_entries;
      t.tables_at_ = semaphores_at + orders * semaphore_bytes;
      t.words_at_ = t.tables_at_ + tables.size() * sizeof(std::uint32_t);
      t.lengths_at_ = t.words_at_ + words * sizeof(std::uint64_t);
      t.memory_at_ = round_up(t.lengths_at_ + pages * sizeof(std::uint32_t), 256);
    } while (pages > 0 && t.memory_at_ + (pages << page_shift) > bytes);
    t.pages_ = static_cast<std::uint32_t>(pages);
    if (pages == 0) return t;
    simt::device_fill(device.id(), base, 0, t.memory_at_);
    simt::device_upload(device.id(), base + t.tables_at_, tables.data(),
                        tables.size() * sizeof(std::uint32_t));
    device.for_each(1, FreeEveryPage<TBuddy>{t});
    return t;
  }

  HEAPWOOD_FN void free_every_page() const {
    for (std::uint32_t k = 0; (pages_ >> k) > 0; ++k) *semaphore_word(k) = Semaphore::initial(0);
    give_back(0, pages_, 0);
  }

  HEAPWOOD_INLINE std::uint32_t pages() const { return pages_; }
  // A hint: not 0 if a request for a few pages has been refused and nothing has been freed since.
  // Threads that wait for promised blocks then stop waiting: the promise may have been broken.
  HEAPWOOD_INLINE std::uint32_t* full() const { return as<std::uint32_t>(base_) + 1; }
  HEAPWOOD_INLINE unsigned page_shift() const { return page_shift_; }
  HEAPWOOD_INLINE const std::byte* base() const { return base_; }
  HEAPWOOD_INLINE std::byte* memory() const { return base_ + memory_at_; }
  HEAPWOOD_INLINE std::byte* page(std::uint32_t p) const {
    return memory() + (std::size_t{p} << page_shift_);
  }

  // Returns whole pages for `bytes`, or nullptr.
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    if (bytes > (std::size_t{pages_} << page_shift_)) return nullptr;
    const std::uint32_t first = take_pages(thread, pages_for(bytes), false);
    return first == none ? nullptr : page(first);
  }
  // Number of pages for a block of `bytes` bytes, which are at most the pool's.
  HEAPWOOD_INLINE std::uint32_t pages_for(std::size_t bytes) const {
    return bytes == 0 ? 1
                      : static_cast<std::uint32_t>((bytes + (std::size_t{1} << page_shift_) - 1) >>
                                                   page_shift_);
  }
  HEAPWOOD_INLINE void deallocate(void* block) const {
    give_pages(
        static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> page_shift_));
  }

  // Allocates n pages, aligned to n if that is a power of two; returns the first page, or `none`.
  // walk() reports `marked`.
  template <class Thread>
  HEAPWOOD_OUTLINE std::uint32_t take_pages(Thread thread, std::uint32_t n, bool marked) const {
    std::uint32_t k = 0;
    while ((1u << k) < n) ++k;
    if ((pages_ >> k) == 0) return none;
    const std::uint32_t behind = (1u << k) - n;
    promise(behind);
    Taken taken = take_block(thread, k, behind != 0, full());
    if (taken.block == none) taken = take_block_slow(thread, k, behind != 0);
    if (taken.block == none) {
      break_promise(behind);
      return none;
    }
    const std::uint32_t first = taken.block << k;
    lengths()[first] = n | (marked ? mark : 0);
    give_back(first + n, behind, 1);
    if (taken.from != none) transfers(taken.from).end();
    return first;
  }
  // Allocates pages for `times` consecutive blocks of n pages, each of which is freed separately;
  // returns the first page, or `none`.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t take_run(Thread& thread, std::uint32_t n,
                                         std::uint32_t times) const {
    const std::uint32_t first = take_pages(thread, n * times, false);
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; first != none && i < times; ++i) lengths()[first + i * n] = n;
    return first;
  }
  HEAPWOOD_OUTLINE void give_pages(std::uint32_t first) const {
    const std::uint32_t n = lengths()[first] & ~mark;
    lengths()[first] = 0;  // plain: the pages are the caller's until they are freed
    give_back(first, n, 0);
    Word32(*full()).store(0, simt::relaxed);  // relaxed: a hint
  }

  // Calls visit(Region, first page, marked) for each block. Offsets are relative to `origin`.
  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    using State = Region::State;
    const auto start = static_cast<std::size_t>(base_ - origin);
    if (pages_ == 0) return visit(Region{start, bytes_, State::metadata}, none, false);
    visit(Region{start, memory_at_, State::metadata}, none, false);
    std::vector<std::uint32_t> length = host.read(lengths(), pages_);
    std::vector<bool> free(pages_, false);
    for (std::uint32_t k = 0; (pages_ >> k) > 0; ++k) {
      const std::uint32_t bits = pages_ >> k;
      const auto bitmap = host.read(words() + host.read(table(k)), (bits + 63) / 64);
      for (std::uint32_t b = 0; b < bits; ++b) {
        if ((bitmap[b / 64] >> (b % 64) & 1) == 0) continue;
        length[b << k] = 1u << k;
        free[b << k] = true;
      }
    }
    for (std::uint32_t p = 0; p < pages_; p += length[p] & ~mark) {
      const std::size_t n = length[p] & ~mark;
      if (n == 0)
        throw Error(Exit::failed,
                    "tbuddy: page " + std::to_string(p) + " is neither used nor free");
      const std::size_t offset = start + memory_at_ + (std::size_t{p} << page_shift_);
      visit(Region{offset, n << page_shift_, free[p] ? State::free : State::used}, p,
            (length[p] & mark) != 0);
    }
    const std::size_t end = memory_at_ + (std::size_t{pages_} << page_shift_);
    if (end < bytes_) visit(Region{start + end, bytes_ - end, State::metadata}, none, false);
  }

 private:
  static constexpr std::uint32_t max_pages = 1u << 24, mark = 1u << 31;
  // Limits for a request that keeps losing to other threads.
  static constexpr unsigned max_turns = 1u << 20, max_sweeps = 64;
  // Layout at `base_`: the word of orders with pairs of free buddies; the word of full(); per order
  // a cache sector with its semaphore and its transfers; the table of where each map begins; the
  // words of all maps; the lengths; the pages.
  static constexpr std::size_t semaphores_at = 32, semaphore_bytes = 32;

  HEAPWOOD_INLINE Word32 missed() const { return Word32(*as<std::uint32_t>(base_)); }
  HEAPWOOD_INLINE std::uint64_t* semaphore_word(std::uint32_t order) const {
    return as<std::uint64_t>(base_ + semaphores_at + order * semaphore_bytes);
  }
  // The semaphores only count: blocks are handed over with their bits.
  using Semaphore = BasicBulkSemaphore<false>;
  HEAPWOOD_INLINE Semaphore semaphore(std::uint32_t order) const {
    return Semaphore(semaphore_word(order));
  }
  // Counts splits of blocks of this order, and merges of buddies to blocks of this order.
  HEAPWOOD_INLINE TransferCounter transfers(std::uint32_t order) const {
    return TransferCounter(semaphore_word(order) + 1);
  }
  HEAPWOOD_INLINE const std::uint32_t* table(std::uint32_t order) const {
    return as<const std::uint32_t>(base_ + tables_at_) + order * SumMap::table_entries;
  }
  HEAPWOOD_INLINE std::uint64_t* words() const { return as<std::uint64_t>(base_ + words_at_); }
  HEAPWOOD_INLINE std::uint32_t* lengths() const { return as<std::uint32_t>(base_ + lengths_at_); }
  HEAPWOOD_INLINE SumMap map(std::uint32_t order) const {
    return {words(), table(order), pages_ >> order};
  }
  HEAPWOOD_INLINE bool is_top(std::uint32_t order) const { return (pages_ >> order) == 1; }
  HEAPWOOD_INLINE std::uint32_t top() const { return simt::highest_bit(pages_); }

  // Promises one block of each order that has a bit in `orders`.
  HEAPWOOD_INLINE void promise(std::uint32_t orders) const {
    HEAPWOOD_ROLLED
    for (; orders != 0; orders &= orders - 1) semaphore(simt::lowest_bit(orders)).promise(1);
  }
  HEAPWOOD_INLINE void break_promise(std::uint32_t orders) const {
    HEAPWOOD_ROLLED
    for (; orders != 0; orders &= orders - 1) semaphore(simt::lowest_bit(orders)).signal(0, 1);
  }

  enum class Supply : std::uint32_t { none, in_transfer, pairs, some };

  // Whether there may be blocks of this order or above; pairs: smaller blocks may be merged into
  // one (checked only if `sweeps`). Reads from the top order down: a transfer changes the units of
  // the order that counts it and of lower orders, so each count of transfers is read before and
  // after all units that its transfers change.
  HEAPWOOD_INLINE Supply supply(std::uint32_t order, bool sweeps) const {
    std::uint64_t before = 0, after = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t k = top() + 1; k-- > order;) {
      before += transfers(k).read();
      // acquire: a thread that sees that units are missing sees the transfer that took them, below.
      const std::uint64_t seen = Word64(*semaphore_word(k)).load(simt::acquire);
      if (Semaphore::available(seen) > 0) return Supply::some;
    }
    // This is read between the two readings of the transfers, so no pair is missed: a split records
    // its pairs before its transfer ends, and a thread that sweeps pairs is in a transfer of the
    // top order. acquire: makes that transfer visible to the second reading.
    if (sweeps && (missed().load(simt::acquire) & ((1u << order) - 1)) != 0) return Supply::pairs;
    if (TransferCounter::in_progress(before) != 0) return Supply::in_transfer;
    HEAPWOOD_ROLLED
    for (std::uint32_t k = order; k <= top(); ++k) after += transfers(k).read_again();
    return before == after ? Supply::none : Supply::in_transfer;
  }

  // A block. `from`, if not `none`: the order of the transfer that the caller must end.
  struct Taken {
    std::uint32_t block, from;
  };

  // Slow path after the first attempt has failed. Returns none if there is no block, if the request
  // has lost to other threads too often, or if the launch is aborted. `thread` is passed by value:
  // the address of a thread that lives in registers must not escape.
  template <class Thread>
  HEAPWOOD_OUTLINE Taken take_block_slow(Thread thread, std::uint32_t order, bool divides) const {
    const Word32 is_full(*full());
    unsigned sweeps = 0;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < max_turns; ++turn) {
      const Supply seen = supply(order, sweeps < max_sweeps);
      if (seen == Supply::none) {
        // relaxed, here and below: full() is a hint for waiting threads.
        if (order <= step) is_full.store(1, simt::relaxed);
        break;
      }
      if (seen == Supply::pairs) {
        ++sweeps;
        sweep(order);
        continue;
      }
      thread.pause(turn);
      if ((turn & 63) == 63 && thread.aborted()) break;
      if (seen == Supply::in_transfer) continue;
      if (is_full.load(simt::relaxed) != 0) is_full.store(0, simt::relaxed);
      // Ignores the hint full(): otherwise all waiting threads might leave because of it, and no
      // thread would split the remaining blocks.
      const Taken taken = take_block(thread, order, divides, nullptr);
      if (taken.block != none) return taken;
    }
    return {none, none};
  }

  // Each order gets its blocks from the order `step` above it, or from the top order: one batch is
  // the blocks into which one block of that order is split.
  static constexpr std::uint32_t step = 5;
  HEAPWOOD_INLINE std::uint32_t above(std::uint32_t order) const {
    std::uint32_t up = order;
    HEAPWOOD_ROLLED
    while (up < order + step && !is_top(up)) ++up;
    return up;
  }

  // Makes one attempt. divides: the caller keeps a part of the block and frees the rest.
  template <class Thread>
  HEAPWOOD_INLINE Taken take_block(Thread& thread, std::uint32_t order, bool divides,
                                   std::uint32_t* dry) const {
    using Wait = Semaphore::Wait;
    std::uint32_t k = order, low = order;
    bool got = false;
    HEAPWOOD_ROLLED
    for (;;) {
      // The top order has no order above to grow from: a batch of one promises nothing.
      const std::uint32_t up = above(k), batch = 1u << (up - k);
      std::uint32_t* const hint = k <= step ? dry : nullptr;
      const bool whole = k == order && !divides;
      const auto answer =
          whole ? semaphore(k).wait(thread, 1, batch, hint)
                : semaphore(k).wait_and_transfer(thread, 1, batch, hint, transfers(k));
      got = answer == Wait::got;
      if (got || answer == Wait::fail || up == k) break;
      HEAPWOOD_ROLLED
      while (!got && ++k < up) got = take_unit(k);  // a smaller block to split suffices
      if (got) break;
    }
    const bool is_transfer = got && (k != order || divides);
    // Splits the block from its order down to the requested one and signals the promised halves. If
    // no block was found, withdraws the promises.
    std::uint32_t b = got ? find(thread, k) : none;
    const std::uint32_t from = is_transfer && b != none ? k : none;
    if (is_transfer && b == none) transfers(k).end();
    HEAPWOOD_ROLLED
    while (k > order) {
      low = order + (k - 1 - order) / step * step;
      const std::uint32_t promised = (1u << (above(low) - low)) - 1;
      if (b == none) {
        semaphore(low).signal(0, promised);
      } else {
        const std::uint32_t n = 1u << (k - low);
        b <<= k - low;
        semaphore(low).signal(n - 1, promised);
        map(low).raise(b, (std::uint64_t{1} << n) - 2);
        if (n > 2) note(low);
      }
      k = low;
    }
    return {b, from};
  }

  // Takes a unit of a block to split, within a transfer, which the caller ends. The load comes
  // first so that a thread that finds no unit does not count as a transfer; otherwise such threads
  // would wait for each other.
  HEAPWOOD_INLINE bool take_unit(std::uint32_t order) const {
    // relaxed: decides only whether to try.
    if (Semaphore::available(Word64(*semaphore_word(order)).load(simt::relaxed)) < 1) return false;
    transfers(order).begin();
    if (pay(order, 1)) return true;
    transfers(order).cancel();
    return false;
  }

  // Takes n units within a transfer if there are enough. Subtracts, and undoes that if there were
  // too few: a compare-and-swap on a word that thousands of threads change succeeds about once per
  // round trip to the cache. Others may see too few units for a moment; supply() allows for that.
  HEAPWOOD_INLINE bool pay(std::uint32_t order, std::uint32_t n) const {
    const Word64 word(*semaphore_word(order));
    const auto enough = [n](std::uint64_t seen) {
      const auto least = static_cast<std::int32_t>(n);
      return Semaphore::available(seen) >= least && Semaphore::balance(seen) >= least;
    };
    // relaxed: the units only count. release: orders the transfer's begin before it.
    if (!enough(word.load(simt::relaxed))) return false;
    if (enough(word.fetch_sub(Semaphore::initial(n), simt::release))) return true;
    word.fetch_add(Semaphore::initial(n), simt::relaxed);
    return false;
  }

  // Takes the bit of a block for a thread with a unit of this order. `none` if aborted.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t find(Thread& thread, std::uint32_t order) const {
    const SumMap m = map(order);
    std::uint32_t spread = seed_of(thread);
    std::uint32_t b = scaled(spread, m.bits());
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;;) {
      const std::uint32_t next = m.find(b);
      if (next != SumMap::none) {
        // Takes any bit of the word, not the first: free blocks are clustered, and thousands of
        // threads that start in the gap before a cluster would contend for its first bits.
        const std::uint64_t some = m.look(next),
                            behind = some & (~std::uint64_t{0} << (spread >> 26));
        b = some == 0 ? next : (next & ~63u) + simt::lowest_bit(behind != 0 ? behind : some);
        if (m.take(b) != 0) return b;
        spread *= 2654435769u;
      } else {
        thread.pause(turn++);
        if (turn % 64 == 0 && thread.aborted()) return none;
      }
    }
  }

  // Frees pages [first, first + n) as maximal aligned blocks. `promised`: 1 if these blocks have
  // been promised to waiting threads.
  HEAPWOOD_INLINE void give_back(std::uint32_t first, std::uint32_t n,
                                 std::uint32_t promised) const {
    HEAPWOOD_ROLLED
    while (n > 0) {
      std::uint32_t k = 0;
      HEAPWOOD_ROLLED
      while ((first >> k & 1) == 0 && (2u << k) <= n) ++k;
      free_block(k, first >> k, promised);
      first += 1u << k;
      n -= 1u << k;
    }
  }

  // Frees block b of order k. merged: the block comes from merge().
  HEAPWOOD_INLINE void free_block(std::uint32_t k, std::uint32_t b, std::uint32_t promised,
                                  bool merged = false) const {
    HEAPWOOD_ROLLED
    for (;;) {
      semaphore(k).signal(1, promised);
      if (merged) transfers(k).end();
      // Of two threads that free buddies, the later one sees the other's bit.
      const std::uint64_t old = map(k).set(b);
      if (is_top(k) || (old >> ((b ^ 1) % 64) & 1) == 0 || !merge(k, b)) return;
      ++k;
      b /= 2;
      promised = 1;
      merged = true;
    }
  }

  // Takes b and its buddy, both of which were free a moment ago, as a block of the next order, and
  // promises that block. Begins a transfer, which free_block() ends.
  HEAPWOOD_INLINE bool merge(std::uint32_t k, std::uint32_t b) const {
    const SumMap m = map(k);
    const std::uint32_t left = b & ~1u;
    // Before the halves disappear, so that a thread that needs a larger block waits for this one.
    transfers(k + 1).begin();
    semaphore(k + 1).promise(1);
    HEAPWOOD_ROLLED
    for (std::uint64_t got; (got = m.take(left, 3)) != 0;) {
      const bool both = got == 3;
      if (both && pay(k, 2)) return true;
      const std::uint64_t old = m.raise(left, got) >> (left % 64);
      if (both) {
        // A thread that holds a unit needs one of the two halves, or a block that is being freed.
        note(k);
        break;
      }
      // Another thread took one half, and this thread has put back the other. Retry if the missing
      // half was free again by then.
      if ((old & 3 & ~got) == 0) break;
    }
    semaphore(k + 1).signal(0, 1);
    transfers(k + 1).end();
    return false;
  }

  // Records that this order may have pairs of free buddies. acq_rel: the thread that sweeps the
  // order sees the bits of these buddies.
  HEAPWOOD_INLINE void note(std::uint32_t order) const {
    missed().fetch_or(1u << order, simt::acq_rel);
  }

  // Merges the recorded pairs of all orders below this one.
  HEAPWOOD_OUTLINE void sweep(std::uint32_t order) const {
    const std::uint32_t below = (1u << order) - 1;
    transfers(top()).begin();
    // acquire: makes the bits of the recorded pairs visible. release: a thread that no longer sees
    // them recorded sees the transfer.
    std::uint32_t orders = missed().fetch_and(~below, simt::acq_rel) & below;
    HEAPWOOD_ROLLED
    for (; orders != 0; orders &= orders - 1) {
      const std::uint32_t k = simt::lowest_bit(orders);
      HEAPWOOD_ROLLED
      for (std::uint32_t first = 0; first < pages_ >> k; first += 64) {
        // relaxed: decides only where to try.
        std::uint64_t pairs = Word64(words()[table(k)[0] + first / 64]).load(simt::relaxed);
        pairs &= pairs >> 1 & 0x5555555555555555u;
        HEAPWOOD_ROLLED
        for (; pairs != 0; pairs &= pairs - 1) {
          const std::uint32_t b = first + simt::lowest_bit(pairs);
          if (merge(k, b)) free_block(k + 1, b / 2, 1, true);
        }
      }
    }
    transfers(top()).end();
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t tables_at_ = 0, words_at_ = 0, lengths_at_ = 0, memory_at_ = 0;
  std::uint32_t pages_ = 0;
  unsigned page_shift_ = 12;
};

}  // namespace heapwood::alloc
