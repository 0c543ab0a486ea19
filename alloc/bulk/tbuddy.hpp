// SPDX-License-Identifier: MIT
// TBuddy: a buddy allocator of pages for thousands of threads (Gelado and Garland 2019, section 4.1). Two stages: a
// bulk semaphore an order (bulk_semaphore.hpp) gives a thread the right to a block, then it looks for one. A thread
// that finds too few of an order splits a larger one and promises what it does not need of it, so that others wait for
// that and do not conclude that the pool is full: no false starvation.
// Differs from the paper:
// - the static tree is a bitmap an order with summaries (sum_map.hpp): a set bit is an available node, the summaries
//   are the partial ones. Nothing is locked or propagated; both halves of a block are taken by one fetch_and;
// - an order grows from the fifth one above it: a block is split into 32 by one fetch_or, and what thousands of threads
//   wait for is there after a few splits. (Published: into two, so that a whole tree unfolds, a level a trip.) Smaller
//   blocks are split where there are any;
// - a merge takes the two halves first and pays for them with two units of their order, so that it fails only where
//   somebody who has a unit needs one of the halves. (Paying first, as published, fails also while another thread pays
//   for a moment.) What is merged is promised to the next order before it disappears from this one;
// - blocks serve n pages of 2^k >= n; those behind the n go back at once, and are promised from the beginning.
// Orders in which a split, or a merge that failed, leaves free buddies are noted; a search that finds nothing large
// enough makes up for it first (sweep()).
// No false starvation: a thread takes units out of one order to put their memory into another only within a move
// (moves.hpp), which is counted at the higher of the two orders. A request is refused only when supply() has seen no
// unit in its order and above, and no move there meanwhile. So all memory of these orders was in use or taken by other
// requests at that moment, however long any thread was suspended. (A bound on the number of attempts, and a look at
// promises, do not suffice: a suspended thread may hold the only block, a promise may be one that fails, and a block
// may pass below or above the order that is looked at.) tests/model/tbuddy_model.cpp tries all interleavings.
// Order of operations: a unit is there before its bit. So a thread with a unit finds a bit sooner or later, waiting only
// for threads between these two operations; and a thread that takes a bit knows that its unit is or was there.
// Waits end: a thread within a move waits only for bits of units that are there. A request that sees blocks or moves
// over and over, but always loses them to others, is refused after max_turns.
// Limits: up to 2^24 pages of a power of two, the rest of the pool is not used. Overhead: 4.25 bytes per page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/bulk/moves.hpp"
#include "alloc/primitives/sum_map.hpp"

namespace heapwood::alloc {

// Run once, by one thread, on zeroed tables.
template <class Buddy>
struct FreeEveryPage {
  Buddy buddy;
  SIMT_FN void operator()(std::size_t) const { buddy.free_every_page(); }
};

class TBuddy {
 public:
  static constexpr std::uint32_t none = ~0u;

  TBuddy() = default;

  // Lays out `bytes` at `base` (aligned to 256) as tables and pages of 2^page_shift bytes; without room for a page
  // pages() is 0.
  template <class Device>
  static TBuddy create(std::byte* base, std::size_t bytes, unsigned page_shift,
                       const Device& device) {
    TBuddy t;
    t.page_shift_ = page_shift;
    t.base_ = base;
    t.bytes_ = bytes;
    std::vector<std::uint32_t> tables;
    std::uint64_t pages = std::min<std::uint64_t>(bytes >> page_shift, most_pages) + 1;
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

  SIMT_FN void free_every_page() const {
    for (std::uint32_t k = 0; (pages_ >> k) > 0; ++k) *semaphore_word(k) = Semaphore::initial(0);
    give_back(0, pages_, 0);
  }

  SIMT_INLINE std::uint32_t pages() const { return pages_; }
  // Not 0: a request for a few pages has been refused, and nothing was freed since. A hint, which may be outdated: ends
  // waiting for promises that were broken.
  SIMT_INLINE std::uint32_t* full() const { return reinterpret_cast<std::uint32_t*>(base_) + 1; }
  SIMT_INLINE unsigned page_shift() const { return page_shift_; }
  SIMT_INLINE const std::byte* base() const { return base_; }
  SIMT_INLINE std::byte* memory() const { return base_ + memory_at_; }
  SIMT_INLINE std::byte* page(std::uint32_t p) const {
    return memory() + (std::size_t{p} << page_shift_);
  }

  // `bytes` as whole pages, or nullptr.
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    if (bytes > (std::size_t{pages_} << page_shift_)) return nullptr;
    const std::uint32_t first = take_pages(thread, pages_for(bytes), false);
    return first == none ? nullptr : page(first);
  }
  // Of a block of so many bytes, which are not more than there are.
  SIMT_INLINE std::uint32_t pages_for(std::size_t bytes) const {
    return bytes == 0 ? 1
                      : static_cast<std::uint32_t>((bytes + (std::size_t{1} << page_shift_) - 1) >>
                                                   page_shift_);
  }
  SIMT_INLINE void deallocate(void* block) const {
    give_pages(
        static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> page_shift_));
  }

  // n pages, aligned to n if that is a power of two: the first one or none. `marked` is what walk() tells of them.
  template <class Thread>
  SIMT_OUTLINE std::uint32_t take_pages(Thread thread, std::uint32_t n, bool marked) const {
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
    if (taken.from != none) moves(taken.from).end();
    return first;
  }
  // Pages for `times` blocks of n, one behind the other, each of which is given back by itself: the first one or none.
  template <class Thread>
  SIMT_INLINE std::uint32_t take_run(Thread& thread, std::uint32_t n, std::uint32_t times) const {
    const std::uint32_t first = take_pages(thread, n * times, false);
    SIMT_ROLLED
    for (std::uint32_t i = 0; first != none && i < times; ++i) lengths()[first + i * n] = n;
    return first;
  }
  SIMT_OUTLINE void give_pages(std::uint32_t first) const {
    const std::uint32_t n = lengths()[first] & ~mark;
    lengths()[first] = 0;  // plain: the page is the caller's until it is given back
    give_back(first, n, 0);
    simt::atomic_ref<std::uint32_t>(*full()).store(0, simt::relaxed);  // relaxed: a hint
  }

  // visit(Region, first page, marked). Offsets are from `origin`. A free block is a region of its own.
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
      const std::size_t at = start + memory_at_ + (std::size_t{p} << page_shift_);
      visit(Region{at, n << page_shift_, free[p] ? State::free : State::used}, p,
            (length[p] & mark) != 0);
    }
    const std::size_t end = memory_at_ + (std::size_t{pages_} << page_shift_);
    if (end < bytes_) visit(Region{start + end, bytes_ - end, State::metadata}, none, false);
  }

 private:
  static constexpr std::uint32_t most_pages = 1u << 24, mark = 1u << 31;
  static constexpr unsigned max_turns = 1u << 20,
                            max_sweeps = 64;  // of a request that others are faster than
  // At the base: the orders with free buddies, the word for full(); the semaphores, each in a sector with its order's
  // moves; where the maps begin, the words of all maps, the lengths, the pages.
  static constexpr std::size_t semaphores_at = 32, semaphore_bytes = 32;

  SIMT_INLINE simt::atomic_ref<std::uint32_t> missed() const {
    return simt::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(base_));
  }
  SIMT_INLINE std::uint64_t* semaphore_word(std::uint32_t order) const {
    return reinterpret_cast<std::uint64_t*>(base_ + semaphores_at + order * semaphore_bytes);
  }
  // They only count: blocks are handed over with their bits.
  using Semaphore = BasicBulkSemaphore<false>;
  SIMT_INLINE Semaphore semaphore(std::uint32_t order) const {
    return Semaphore(semaphore_word(order));
  }
  // Of blocks of this order that are split, and of buddies that become blocks of this order.
  SIMT_INLINE Moves moves(std::uint32_t order) const { return Moves(semaphore_word(order) + 1); }
  SIMT_INLINE const std::uint32_t* table(std::uint32_t order) const {
    return reinterpret_cast<const std::uint32_t*>(base_ + tables_at_) +
           order * SumMap::table_entries;
  }
  SIMT_INLINE std::uint64_t* words() const {
    return reinterpret_cast<std::uint64_t*>(base_ + words_at_);
  }
  SIMT_INLINE std::uint32_t* lengths() const {
    return reinterpret_cast<std::uint32_t*>(base_ + lengths_at_);
  }
  SIMT_INLINE SumMap map(std::uint32_t order) const {
    return {words(), table(order), pages_ >> order};
  }
  SIMT_INLINE bool is_top(std::uint32_t order) const { return (pages_ >> order) == 1; }
  SIMT_INLINE std::uint32_t top() const { return simt::highest_bit(pages_); }

  // A block of each order that has a bit in `orders` will come, or will not.
  SIMT_INLINE void promise(std::uint32_t orders) const {
    SIMT_ROLLED
    for (; orders != 0; orders &= orders - 1) semaphore(simt::lowest_bit(orders)).promise(1);
  }
  SIMT_INLINE void break_promise(std::uint32_t orders) const {
    SIMT_ROLLED
    for (; orders != 0; orders &= orders - 1) semaphore(simt::lowest_bit(orders)).signal(0, 1);
  }

  enum class Supply : std::uint32_t { none, moving, pairs, some };

  // Of blocks of this order and above; pairs: smaller ones may be merged (looked at if `sweeps`). From the top: a move
  // changes the units of the order that counts it and of lower ones, so each count is read before and after all units
  // that its moves change.
  SIMT_INLINE Supply supply(std::uint32_t order, bool sweeps) const {
    std::uint64_t before = 0, after = 0;
    SIMT_ROLLED
    for (std::uint32_t k = top() + 1; k-- > order;) {
      before += moves(k).read();
      // acquire: a thread that sees units missing sees the move of them below.
      const std::uint64_t seen =
          simt::atomic_ref<std::uint64_t>(*semaphore_word(k)).load(simt::acquire);
      if (Semaphore::available(seen) > 0) return Supply::some;
    }
    // Between the two readings: a split notes its pairs before it ends; a thread that sweeps them is a move at the top.
    // acquire: see that move below.
    if (sweeps && (missed().load(simt::acquire) & ((1u << order) - 1)) != 0) return Supply::pairs;
    if (Moves::in_progress(before) != 0) return Supply::moving;
    SIMT_ROLLED
    for (std::uint32_t k = order; k <= top(); ++k) after += moves(k).read_again();
    return before == after ? Supply::none : Supply::moving;
  }

  // `from`: unless none, the block was taken from this order within a move, which the caller ends.
  struct Taken {
    std::uint32_t block, from;
  };

  // The first attempt has failed. none: there is nothing, or others were faster many times, or the launch is aborted.
  // By value: the address of a thread that lives in registers must not escape.
  template <class Thread>
  SIMT_OUTLINE Taken take_block_slow(Thread thread, std::uint32_t order, bool divides) const {
    const simt::atomic_ref<std::uint32_t> is_full(*full());
    unsigned sweeps = 0;
    SIMT_ROLLED
    for (unsigned turn = 0; turn < max_turns; ++turn) {
      const Supply seen = supply(order, sweeps < max_sweeps);
      if (seen == Supply::none) {
        // relaxed, here and below: a hint for those who wait.
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
      if (seen == Supply::moving) continue;
      if (is_full.load(simt::relaxed) != 0) is_full.store(0, simt::relaxed);
      // Without the hint: all threads that wait might leave because of it, and none would split what is there.
      const Taken taken = take_block(thread, order, divides, nullptr);
      if (taken.block != none) return taken;
    }
    return {none, none};
  }

  // Orders grow from the fifth one above them, or the top: a batch is what a block of that order is split into.
  static constexpr std::uint32_t step = 5;
  SIMT_INLINE std::uint32_t above(std::uint32_t order) const {
    std::uint32_t up = order;
    SIMT_ROLLED
    while (up < order + step && !is_top(up)) ++up;
    return up;
  }

  // One attempt. divides: the caller puts a part of the block back.
  template <class Thread>
  SIMT_INLINE Taken take_block(Thread& thread, std::uint32_t order, bool divides,
                               std::uint32_t* dry) const {
    using Wait = Semaphore::Wait;
    std::uint32_t k = order, low = order;
    bool got = false;
    SIMT_ROLLED
    for (;;) {
      // The top order does not grow: a batch of one promises nothing.
      const std::uint32_t up = above(k), batch = 1u << (up - k);
      std::uint32_t* const hint = k <= step ? dry : nullptr;
      const bool whole = k == order && !divides;
      const auto answer = whole ? semaphore(k).wait(thread, 1, batch, hint)
                                : semaphore(k).wait_and_move(thread, 1, batch, hint, moves(k));
      got = answer == Wait::got;
      if (got || answer == Wait::fail || up == k) break;
      SIMT_ROLLED
      while (!got && ++k < up) got = take_unit(k);  // a smaller block will do, too
      if (got) break;
    }
    const bool is_move = got && (k != order || divides);
    // From the largest to the smallest, as promised or because there was none.
    std::uint32_t b = got ? find(thread, k) : none;
    const std::uint32_t from = is_move && b != none ? k : none;
    if (is_move && b == none) moves(k).end();
    SIMT_ROLLED
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

  // Takes a unit of a block to split within a move, which the caller ends. The load: see wait_and_move().
  SIMT_INLINE bool take_unit(std::uint32_t order) const {
    // relaxed: whether to try.
    if (Semaphore::available(
            simt::atomic_ref<std::uint64_t>(*semaphore_word(order)).load(simt::relaxed)) < 1)
      return false;
    moves(order).begin();
    if (pay(order, 1)) return true;
    moves(order).cancel();
    return false;
  }

  // Takes n units if they are there, within a move. By subtraction: a compare-and-swap on a word that thousands of
  // threads change would succeed about once per trip to the cache. Others may see too few units for a moment; for what
  // that means see supply().
  SIMT_INLINE bool pay(std::uint32_t order, std::uint32_t n) const {
    const simt::atomic_ref<std::uint64_t> word(*semaphore_word(order));
    const auto enough = [n](std::uint64_t seen) {
      const auto least = static_cast<std::int32_t>(n);
      return Semaphore::available(seen) >= least && Semaphore::balance(seen) >= least;
    };
    // relaxed: units only count. release: see moves.hpp.
    if (!enough(word.load(simt::relaxed))) return false;
    if (enough(word.fetch_sub(Semaphore::initial(n), simt::release))) return true;
    word.fetch_add(Semaphore::initial(n), simt::relaxed);
    return false;
  }

  // For a thread that has a unit of this order; none only if the launch is aborted.
  template <class Thread>
  SIMT_INLINE std::uint32_t find(Thread& thread, std::uint32_t order) const {
    const SumMap m = map(order);
    std::uint32_t spread = (thread.worker() * 32 + thread.lane() + 1) * 2654435769u;
    std::uint32_t b = static_cast<std::uint32_t>((std::uint64_t{spread} * m.bits()) >> 32);
    SIMT_ROLLED
    for (unsigned turn = 0;;) {
      const std::uint32_t next = m.find(b);
      if (next != SumMap::none) {
        // Any bit of the word: blocks lie together, and thousands that come from the gap in front of them would take
        // them one after the other.
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

  // Pages [first, first + n) as maximal aligned blocks, each of which was promised `promised` times.
  SIMT_INLINE void give_back(std::uint32_t first, std::uint32_t n, std::uint32_t promised) const {
    SIMT_ROLLED
    while (n > 0) {
      std::uint32_t k = 0;
      SIMT_ROLLED
      while ((first >> k & 1) == 0 && (2u << k) <= n) ++k;
      free_block(k, first >> k, promised);
      first += 1u << k;
      n -= 1u << k;
    }
  }

  // merged: the block comes from merge().
  SIMT_INLINE void free_block(std::uint32_t k, std::uint32_t b, std::uint32_t promised,
                              bool merged = false) const {
    SIMT_ROLLED
    for (;;) {
      semaphore(k).signal(1, promised);
      if (merged) moves(k).end();
      // Of two threads that free buddies, the later one sees the other's bit.
      const std::uint64_t old = map(k).set(b);
      if (is_top(k) || (old >> ((b ^ 1) % 64) & 1) == 0 || !merge(k, b)) return;
      ++k;
      b /= 2;
      promised = 1;
      merged = true;
    }
  }

  // Takes b and its buddy, both of which were free a moment ago, as a block of the next order, which then is promised,
  // within a move, which free_block() ends.
  SIMT_INLINE bool merge(std::uint32_t k, std::uint32_t b) const {
    const SumMap m = map(k);
    const std::uint32_t left = b & ~1u;
    // Before the halves disappear: a thread that needs a larger block is to wait for this one.
    moves(k + 1).begin();
    semaphore(k + 1).promise(1);
    SIMT_ROLLED
    for (std::uint64_t got; (got = m.take(left, 3)) != 0;) {
      const bool both = got == 3;
      if (both && pay(k, 2)) return true;
      const std::uint64_t old = m.raise(left, got) >> (left % 64);
      if (both) {
        // Somebody who has a unit needs one of the two, or one that is freed just now.
        note(k);
        break;
      }
      // One half was taken meanwhile, and the other has been put back. Go on if the taken one was free again by then.
      if ((old & 3 & ~got) == 0) break;
    }
    semaphore(k + 1).signal(0, 1);
    moves(k + 1).end();
    return false;
  }

  // Pairs of free buddies of this order may be left. acq_rel: who makes up for it sees their bits.
  SIMT_INLINE void note(std::uint32_t order) const {
    missed().fetch_or(1u << order, simt::acq_rel);
  }

  // Merges pairs that were left in orders below this one.
  SIMT_OUTLINE void sweep(std::uint32_t order) const {
    const std::uint32_t below = (1u << order) - 1;
    moves(top()).begin();
    // acquire: see the bits of those pairs. release: a thread that sees no note sees the move.
    std::uint32_t orders = missed().fetch_and(~below, simt::acq_rel) & below;
    SIMT_ROLLED
    for (; orders != 0; orders &= orders - 1) {
      const std::uint32_t k = simt::lowest_bit(orders);
      SIMT_ROLLED
      for (std::uint32_t at = 0; at < pages_ >> k; at += 64) {
        // relaxed: only where to try.
        std::uint64_t pairs =
            simt::atomic_ref<std::uint64_t>(words()[table(k)[0] + at / 64]).load(simt::relaxed);
        pairs &= pairs >> 1 & 0x5555555555555555u;
        SIMT_ROLLED
        for (; pairs != 0; pairs &= pairs - 1) {
          const std::uint32_t b = at + simt::lowest_bit(pairs);
          if (merge(k, b)) free_block(k + 1, b / 2, 1, true);
        }
      }
    }
    moves(top()).end();
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t tables_at_ = 0, words_at_ = 0, lengths_at_ = 0, memory_at_ = 0;
  std::uint32_t pages_ = 0;
  unsigned page_shift_ = 12;
};

}  // namespace heapwood::alloc
