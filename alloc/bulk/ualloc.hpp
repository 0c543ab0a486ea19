// SPDX-License-Identifier: MIT
// UAlloc: small blocks for thousands of threads (Gelado and Garland 2019, section 4.2). There is
// one *arena* per multiprocessor, which has a list of *bins* for each size class. A bin is a page
// of equal blocks after a header of 128 bytes. Bins come from *chunks*, which come from TBuddy
// (tbuddy.hpp). The first page of a chunk holds the chunk's header and, in the rest of the page,
// *tails*: 128 bytes for each bin of the chunk, which make up for the bin's header. Hence no block
// of a bin is aligned to a page, while blocks of TBuddy are, so the address of a block tells which
// of the two it belongs to.
//
// A list is served in two stages. Its bulk semaphore grants a thread the right to n blocks; the
// thread then walks the list until it has lowered the `free` counts of bins by n. Finally each lane
// sets the bit of its own block. A thread that finds too few units adds a bin, from the arena's
// list of chunks, which is itself such a list, with bins as its blocks. Invariant of a list: units
// + granted rights = sum of `free` over its bins, except for units that a free has yet to signal.
// Each wait is for a thread that is between two such steps, and the levels form no cycle.
//
// Membership. A bin with free blocks is in the list or about to be. The thread that changes this
// (the first block freed, the last one taken, the last one freed) sets `queued` together with the
// count and posts the bin (rcu.hpp); one thread at a time adds posted bins to the list or
// removes them. If all blocks of a bin are free and the list already has another such bin, the bin
// is closed: it is unlinked, and its page is released when its post has been processed and no
// reader can be at its header (rcu.hpp).
//
// Differs from the paper:
// - chunks have as many pages as a page has tails, one of them for the header and the tails: 32
//   pages of 4 KiB, so that there is a tail for each bin;
// - no thread waits for a mutex or for readers: delegation replaces the collective mutex, and the
//   next thread that works on the list checks the barrier again;
// - partly free bins are queued at the end of the list, not at its head;
// - lanes of a warp that request the same class together are served by one of them;
// - the smallest block has 16 bytes (8 published), so 256 blocks per bin; small pools have smaller
//   pages;
// - a request that its arena cannot serve is served by other arenas, by larger classes, or by a
//   page.
// Limits: an arena holds bins of each class it has used; a list that is never used again keeps an
// empty bin until a request fails (collect()). Overhead: 3.1% for headers and tails, 128 bytes per
// list.
#pragma once

#include "alloc/bulk/rcu.hpp"
#include "alloc/bulk/tbuddy.hpp"
#include "alloc/bulk/ualloc_layout.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

// Executed once per list, on zeroed memory.
template <class U>
struct EmptyLists {
  U u;
  HEAPWOOD_FN void operator()(std::size_t i) const { u.empty_list(static_cast<std::uint32_t>(i)); }
};

class UAlloc : public UAllocLayout {
 public:
  UAlloc() = default;

  // `head` has head_bytes(arenas) bytes. It gets the lists, and copies of the handle and of `pages`
  // for functions that are not inlined.
  template <class Device>
  static UAlloc create(std::byte* head, const TBuddy& pages, std::uint32_t arenas,
                       const Device& device) {
    static_assert(sizeof(UAlloc) <= pages_at && sizeof(TBuddy) <= lists_at - pages_at);
    UAlloc u;
    u.head_ = head;
    u.memory_ = pages.memory();
    u.page_shift_ = pages.page_shift();
    u.arenas_ = arenas;
    u.full_ = pages.full();
    simt::device_fill(device.id(), head, 0, head_bytes(arenas));
    simt::device_upload(device.id(), head, &u, sizeof(u));
    simt::device_upload(device.id(), head + pages_at, &pages, sizeof(pages));
    device.for_each(std::size_t{arenas} * lists_per_arena, EmptyLists<UAlloc>{u});
    return u;
  }

  HEAPWOOD_FN void empty_list(std::uint32_t number) const {
    list_at(number)->units = Units::initial(0);
  }

  // The handle's copy in device memory, for functions that are not inlined: the handle itself is in
  // registers and has no address.
  HEAPWOOD_INLINE const UAlloc* self() const { return reinterpret_cast<const UAlloc*>(head_); }
  HEAPWOOD_INLINE const TBuddy& pages() const {
    return *reinterpret_cast<const TBuddy*>(head_ + pages_at);
  }

  // Serves requests of at most max_bytes().
  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    const std::uint32_t k = class_of(bytes);
    List* const list = list_at(thread.sm() % arenas_ * lists_per_arena + k);
    const std::uint32_t lanes = thread.together(list);
    const std::uint32_t wanted = simt::popcount(lanes);
    const std::uint32_t rank = simt::popcount(lanes & ((1u << thread.lane()) - 1));
    const unsigned leader = simt::lowest_bit(lanes);
    std::uint64_t mine = 0, grant = 0;
    // Blocks that the leader has been granted and has not found yet.
    std::uint32_t rights = 0;
    HEAPWOOD_ROLLED
    for (std::uint32_t done = 0; done < wanted; done += count_of(grant)) {
      if (rank == 0) grant = obtain(thread, list, k, wanted - done, rights);
      grant = thread.shfl(lanes, grant, leader);
      if (count_of(grant) == 0) break;
      if (rank >= done && rank - done < count_of(grant)) {
        mine = grant_of(page_of(grant), start_of(grant) + rank - done, 1);
      }
    }
    thread.sync(lanes);  // makes the bins' headers that the leader acquired visible to all lanes
    if (count_of(mine) == 0) return allocate_slow(self(), thread, k);
    const std::uint32_t i = set_bit(thread, mine);
    return i == none ? nullptr : address(page_of(mine), i << (min_shift + k));
  }

  // Frees a block of a bin. Whole pages are freed by TBuddy.
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    const Location location = locate(block);
    Bin* const bin = bin_at(location.page);
    // relaxed: the list is constant while a block is in use; the state is only a first guess.
    const std::uint32_t number = Word32(bin->list).load(simt::relaxed);
    const std::uint32_t seen = state(bin).load(simt::relaxed);
    const std::uint32_t k = number % lists_per_arena;
    const std::uint32_t i = location.byte >> (min_shift + k);
    // release: hands the block over to the thread that sets the bit.
    bits(bin, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
    const std::uint32_t lanes = thread.together(bin);
    thread.sync(lanes);  // orders the cleared bits before the change of the count
    if (thread.lane() == simt::lowest_bit(lanes)) {
      free_units<bins>(list_at(number), k, location.page, simt::popcount(lanes), seen);
    }
  }

  // Releases empty bins of lists after a failed allocation. Returns false if there were none.
  static HEAPWOOD_OUTLINE bool collect(const UAlloc* self) {
    bool any = false;
    HEAPWOOD_ROLLED
    for (std::uint32_t number = 0; number < self->arenas_ * lists_per_arena; ++number) {
      List* const list = self->list_at(number);
      // relaxed: the count is a hint.
      if (static_cast<std::int32_t>(self->spare(list).load(simt::relaxed)) <= 0) continue;
      any = true;
      if (!Delegation(&list->posted).try_enter()) continue;
      if (number % lists_per_arena == chunk_class) {
        process_list<chunks>(self, list, true);
      } else {
        process_list<bins>(self, list, true);
      }
    }
    return any;
  }

 private:
  enum Level { bins, chunks };  // what a list contains: bins of blocks, or chunks of bins

  static constexpr std::size_t pages_at = 256;
  static constexpr std::uint32_t none = TBuddy::none;

  // A grant is {page of a bin:32, block to search from:16, number of granted blocks:16}.
  static HEAPWOOD_INLINE std::uint64_t grant_of(std::uint32_t page, std::uint32_t start,
                                                std::uint32_t count) {
    return std::uint64_t{page} << 32 | start << 16 | count;
  }
  static HEAPWOOD_INLINE std::uint32_t page_of(std::uint64_t grant) { return high(grant); }
  static HEAPWOOD_INLINE std::uint32_t start_of(std::uint64_t grant) { return low(grant) >> 16; }
  static HEAPWOOD_INLINE std::uint32_t count_of(std::uint64_t grant) {
    return low(grant) & 0xffffu;
  }

  static HEAPWOOD_INLINE Word32 state(Bin* bin) { return Word32(bin->state); }
  static HEAPWOOD_INLINE Word64 bits(Bin* bin, std::uint32_t word) {
    return Word64(bin->used[word]);
  }
  static HEAPWOOD_INLINE Word32 spare(List* list) { return Word32(list->spare); }
  // The semaphores only count; the blocks are handed over through their bin's state and bits.
  using Units = BasicBulkSemaphore<false>;
  static HEAPWOOD_INLINE Units units(List* list) { return Units(&list->units); }
  struct Link {
    const UAlloc* self;
    HEAPWOOD_INLINE std::uint32_t* operator()(std::uint32_t page) const {
      return &self->bin_at(page)->link;
    }
  };

  // Returns up to n blocks of one bin of the list, or none if the list cannot grow. `rights` is
  // state kept by the caller, initially 0.
  template <class Thread>
  HEAPWOOD_INLINE std::uint64_t obtain(Thread& thread, List* list, std::uint32_t k, std::uint32_t n,
                                       std::uint32_t& rights) const {
    if (rights == 0) {
      const std::uint32_t blocks_per_bin = blocks(k);
      const std::uint32_t asked = n < blocks_per_bin ? n : blocks_per_bin;
      const auto answer = units(list).wait(thread, asked, blocks_per_bin, full_);
      if (answer == Units::Wait::grow) return grow<bins>(self(), thread, list, k, asked);
      if (answer == Units::Wait::fail) return 0;
      rights = asked;
    }
    const std::uint64_t grant = find<bins>(thread, list, k, rights);
    rights -= count_of(grant);
    return grant;
  }

  // Returns at least one block of one bin to a thread that has a right to n blocks of the list.
  // Returns none only if the launch is aborted.
  template <Level level, class Thread>
  HEAPWOOD_INLINE std::uint64_t find(Thread& thread, List* list, std::uint32_t k,
                                     std::uint32_t n) const {
    const Rcu readers(&list->readers);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0;;) {
      const std::uint32_t section = readers.enter();
      // acquire, here and below: makes the bin's header visible.
      std::uint32_t next = Word32(list->first).load(simt::acquire);
      HEAPWOOD_ROLLED
      while (next != 0) {
        Bin* const bin = bin_at(next - 1);
        std::uint32_t seen = state(bin).load(simt::relaxed);
        HEAPWOOD_ROLLED
        while (free_of(seen) != 0 && (seen & closed) == 0) {
          const std::uint32_t free = free_of(seen), taken = free < n ? free : n;
          const bool last = taken == free;
          // acquire: together with the bits, synchronizes with the last users of the blocks.
          if (!state(bin).compare_exchange_weak(seen, last ? (seen - taken) | queued : seen - taken,
                                                simt::acquire, simt::relaxed)) {
            continue;
          }
          readers.leave(section);  // safe: a bin with a block in use is not released
          if (free == blocks(k)) spare(list).fetch_sub(1, simt::relaxed);
          if (last && (seen & queued) == 0) post<level>(self(), list, next - 1);
          return grant_of(next - 1, blocks(k) - free, taken);
        }
        next = Word32(bin->next).load(simt::acquire);
      }
      readers.leave(section);
      thread.pause(turn++);
      if (turn % 64 == 0 && thread.aborted()) return 0;
    }
  }

  // Sets the bit of a block of the grant and returns the block's number: the first clear bit from
  // the grant's block on, cyclically. A thread that was counted always finds one. Returns `none`
  // only if the launch is aborted.
  template <class Thread>
  HEAPWOOD_INLINE std::uint32_t set_bit(Thread& thread, std::uint64_t grant) const {
    Bin* const bin = bin_at(page_of(grant));
    std::uint32_t w = start_of(grant) / 64, bit = start_of(grant) % 64, turn = 0;
    std::uint64_t taken = 0;
    HEAPWOOD_ROLLED
    for (;;) {
      if (~taken != 0) {
        const std::uint64_t behind = ~taken >> bit;
        bit = behind != 0 ? bit + simt::lowest_bit(behind) : simt::lowest_bit(~taken);
        const std::uint64_t mine = std::uint64_t{1} << bit;
        // acquire: synchronizes with the last user of the block.
        taken = bits(bin, w).fetch_or(mine, simt::acquire);
        if ((taken & mine) == 0) return w * 64 + bit;
      } else {
        w = (w + 1) % bitmap_words;
        bit = 0;
        taken = bits(bin, w).load(simt::relaxed);
        // A thread that was counted fails only while other threads take and free blocks here. It
        // pauses after each lap of the bitmap.
        if (++turn % bitmap_words == 0) {
          if (thread.aborted()) return none;
          thread.pause(turn / bitmap_words);
        }
      }
    }
  }
  // Adds a bin (or a chunk) that the caller has promised; the caller keeps its first n blocks.
  template <Level level, class Thread>
  static HEAPWOOD_OUTLINE std::uint64_t grow(const UAlloc* self, Thread thread, List* list,
                                             std::uint32_t k, std::uint32_t n) {
    const std::uint32_t left = self->blocks(k) - n;
    std::uint32_t page;
    if constexpr (level == chunks) {
      page = self->pages().take_pages(thread, self->chunk_pages(), true);
    } else {
      page = take_bin(self, thread, list + (chunk_class - k));  // of the same arena
    }
    if (page == none) {
      units(list).signal(0, left);
      return 0;
    }
    // relaxed: the page belongs to this thread; posting publishes it.
    Bin* const bin = self->bin_at(page);
    HEAPWOOD_ROLLED
    for (std::uint32_t w = 0; w < bitmap_words; ++w)
      bits(bin, w).store(self->absent_blocks(k, w), simt::relaxed);
    Word32(bin->list).store(self->number_of(list), simt::relaxed);
    state(bin).store(left == 0 ? 0 : queued | left, simt::relaxed);
    bin->listed = 0;
    if (left != 0) post<level>(self, list, page);
    units(list).signal(left, left);
    return grant_of(page, 0, n);
  }

  // Takes a page from the arena's list of chunks or, if that cannot grow, from another arena's.
  template <class Thread>
  static HEAPWOOD_INLINE std::uint32_t take_bin(const UAlloc* self, Thread& thread, List* list) {
    std::uint64_t grant = 0;
    const auto answer = units(list).wait(thread, 1, self->blocks(chunk_class), self->full_);
    if (answer == Units::Wait::grow) grant = grow<chunks>(self, thread, list, chunk_class, 1);
    if (count_of(grant) == 0) {
      const std::uint32_t own = self->number_of(list);
      std::uint32_t number = own;
      bool got = answer == Units::Wait::got;
      HEAPWOOD_ROLLED
      while (!got) {
        number = (number + lists_per_arena) % (self->arenas_ * lists_per_arena);
        if (number == own) return none;
        got = units(self->list_at(number)).try_wait(1);
      }
      grant = self->template find<chunks>(thread, self->list_at(number), chunk_class, 1);
      if (count_of(grant) == 0) return none;
    }
    const std::uint32_t i = self->set_bit(thread, grant);
    return i == none ? none : page_of(grant) + 1 + i;
  }

  // Slow path: this arena has no block. Takes a block of any arena, a larger one, or a page.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const UAlloc* self, Thread thread, std::uint32_t k) {
    const std::uint32_t own = thread.sm() % self->arenas_;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < 4 && !thread.aborted(); ++turn) {
      // A block of this class or of a larger one, from any arena.
      std::uint64_t grant = 0;
      std::uint32_t c = k, rights = 0;
      if (turn > 0)
        grant = self->obtain(thread, self->list_at(own * lists_per_arena + k), k, 1, rights);
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0;
           count_of(grant) == 0 && c < self->class_of(self->max_bytes()) + 1;) {
        List* const list = self->list_at((own + i) % self->arenas_ * lists_per_arena + c);
        if (units(list).try_wait(1)) {
          grant = self->template find<bins>(thread, list, c, 1);
          if (count_of(grant) == 0) return nullptr;
        } else if (++i == self->arenas_) {
          i = 0;
          ++c;
        }
      }
      if (count_of(grant) != 0) {
        const std::uint32_t i = self->set_bit(thread, grant);
        return i == none ? nullptr : self->address(page_of(grant), i << (min_shift + c));
      }
      // Allocates a page, or releases the empty bins that lists keep and tries again.
      const std::uint32_t page = self->pages().take_pages(thread, 1, false);
      if (page != none) return self->pages().page(page);
      if (!collect(self)) break;
    }
    return nullptr;
  }

  // Returns n blocks of a bin, whose bits are clear. `seen` is a state that the bin had.
  template <Level level>
  HEAPWOOD_INLINE void free_units(List* list, std::uint32_t k, std::uint32_t page, std::uint32_t n,
                                  std::uint32_t seen) const {
    Bin* const bin = bin_at(page);
    HEAPWOOD_ROLLED
    for (;;) {
      const bool all = free_of(seen) + n == blocks(k);
      // relaxed: only a hint whether the list already has an empty bin.
      const bool close = all && static_cast<std::int32_t>(spare(list).load(simt::relaxed)) > 0;
      const bool first = free_of(seen) == 0 && !close;
      // release: orders these users of the bin before the thread that releases its page.
      if (state(bin).compare_exchange_weak(seen,
                                           (seen + n) | (close ? closed : 0) | (first ? queued : 0),
                                           simt::release, simt::relaxed)) {
        // From here on other threads may close the bin; only the thread that closed it or set
        // `queued` may still access it.
        if (all) spare(list).fetch_add(1, simt::relaxed);
        if (close ? retire(self(), list, k, page, n) : first && (seen & queued) == 0)
          post<level>(self(), list, page);
        if (!close) units(list).signal(n, 0);
        return;
      }
    }
  }

  // Called after the caller has closed an empty bin, n of whose units are not signalled yet. Takes
  // the other units out of the list and retires the bin, or reopens it if a thread has a right to
  // its blocks. Returns true if the caller must post the bin.
  static HEAPWOOD_OUTLINE bool retire(const UAlloc* self, List* list, std::uint32_t k,
                                      std::uint32_t page, std::uint32_t n) {
    Bin* const bin = self->bin_at(page);
    const std::uint32_t rest = self->blocks(k) - n;
    const bool has_taken_units = rest == 0 || units(list).try_wait(rest);
    // acq_rel: orders all users of the page before the thread that releases it.
    const std::uint32_t seen =
        state(bin).fetch_or(has_taken_units ? dead | queued : queued, simt::acq_rel);
    if (!has_taken_units) {
      state(bin).fetch_and(~closed, simt::release);
      if (n != 0) units(list).signal(n, 0);
    }
    return (seen & queued) == 0;
  }

  // Posts a bin whose `queued` bit the caller has set.
  template <Level level>
  static HEAPWOOD_INLINE void post(const UAlloc* self, List* list, std::uint32_t page) {
    if (Delegation(&list->posted).post(page, Link{self})) process_list<level>(self, list, false);
  }

  // Executed by the one thread that works on a list: adds or removes the posted bins, closes empty
  // ones if `all`, and releases those whose readers have left.
  template <Level level>
  static HEAPWOOD_OUTLINE void process_list(const UAlloc* self, List* list, bool all) {
    const Delegation posted(&list->posted);
    const Rcu readers(&list->readers);
    HEAPWOOD_ROLLED
    do {
      // Add posted bins to the list, or remove them.
      HEAPWOOD_ROLLED
      for (std::uint32_t next = posted.take(); next != 0;) {
        const std::uint32_t page = next - 1;
        next = Delegation::next_after(page, Link{self});
        update_membership(self, list, page);
      }
      if (all) close_empty(self, list);
      all = false;
      // Begin a grace period for the bins that were unlinked; once it is over, release their pages.
      HEAPWOOD_ROLLED
      while ((list->leaving | list->unlinked) != 0) {
        if (list->leaving == 0) {
          list->leaving = list->unlinked;
          list->unlinked = 0;
          list->period = readers.begin_period();
        }
        if (!readers.is_over(list->period)) break;  // the next worker checks again
        std::uint32_t next = list->leaving;
        list->leaving = 0;
        HEAPWOOD_ROLLED
        while (next != 0) {
          const std::uint32_t page = next - 1;
          next = self->bin_at(page)->link;
          spare(list).fetch_sub(1, simt::relaxed);
          release_page<level>(self, page);
        }
      }
    } while (!posted.finish());
  }

  static HEAPWOOD_INLINE void update_membership(const UAlloc* self, List* list,
                                                std::uint32_t page) {
    Bin* const bin = self->bin_at(page);
    // acquire: synchronizes with the changes to this state. A later change posts the bin again.
    const std::uint32_t seen = state(bin).fetch_and(~queued, simt::acq_rel);
    const bool belongs = free_of(seen) != 0 && (seen & dead) == 0;
    if (belongs && bin->listed == 0) {
      bin->listed = 1;
      bin->previous = list->last;
      Word32(bin->next).store(0, simt::relaxed);
      set_next(self, list, list->last, page + 1);
      list->last = page + 1;
    } else if (!belongs && bin->listed != 0) {
      // Keeps the bin's own `next`: readers may still follow it.
      bin->listed = 0;
      const std::uint32_t next = Word32(bin->next).load(simt::relaxed);
      set_next(self, list, bin->previous, next);
      (next == 0 ? list->last : self->bin_at(next - 1)->previous) = bin->previous;
    }
    if ((seen & dead) != 0) {
      bin->link = list->unlinked;
      list->unlinked = page + 1;
    }
  }
  static HEAPWOOD_INLINE void set_next(const UAlloc* self, List* list, std::uint32_t previous,
                                       std::uint32_t next) {
    // release: publishes the header of the bin that becomes reachable.
    Word32(previous == 0 ? list->first : self->bin_at(previous - 1)->next)
        .store(next, simt::release);
  }

  static HEAPWOOD_INLINE void close_empty(const UAlloc* self, List* list) {
    const std::uint32_t k = self->number_of(list) % lists_per_arena;
    std::uint32_t next = list->first;
    HEAPWOOD_ROLLED
    while (next != 0) {
      const std::uint32_t page = next - 1;
      Bin* const bin = self->bin_at(page);
      next = bin->next;
      std::uint32_t empty = self->blocks(k);
      // relaxed: retire() synchronizes with the bin's users. Skips a bin that is queued now.
      if (state(bin).compare_exchange_strong(empty, empty | closed, simt::relaxed, simt::relaxed)) {
        // The post needs no check: this thread is the list's worker and will find it.
        if (retire(self, list, k, page, 0)) Delegation(&list->posted).post(page, Link{self});
      }
    }
  }

  template <Level level>
  static HEAPWOOD_INLINE void release_page(const UAlloc* self, std::uint32_t page) {
    if constexpr (level == chunks) {
      self->pages().give_pages(page);
    } else {
      const std::uint32_t chunk = self->chunk_of(page), i = self->index_in_chunk(page) - 1;
      Bin* const header = self->bin_at(chunk);
      // release: hands the page over to the thread that sets the bit.
      bits(header, i / 64).fetch_and(~(std::uint64_t{1} << i % 64), simt::release);
      const std::uint32_t number = Word32(header->list).load(simt::relaxed);
      self->template free_units<chunks>(self->list_at(number), chunk_class, chunk, 1,
                                        state(header).load(simt::relaxed));
    }
  }

  std::uint32_t* full_ = nullptr;  // the word TBuddy::full() of `pages`
};

}  // namespace heapwood::alloc
