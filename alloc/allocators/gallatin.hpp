// SPDX-License-Identifier: MIT
// Gallatin: H. McCoy, P. Pandey, "Gallatin: A General-Purpose GPU Memory Manager", PPoPP 2024. The
// pool is cut into segments, a segment into blocks of one size, and a block into slices of 16 * 2^t
// bytes, which requests get. Free segments, and segments that have a free block of a size, are
// found in trees of bitmaps (van Emde Boas trees of 64-bit words). Each multiprocessor has a buffer
// with one block per size of slices. Lanes that request the same size make one atomic addition, and
// the request that exceeds the block replaces it. A free is one addition to the block's number of
// freed slices; the free of the last slice frees the block, and that of the last block the segment.
// Larger requests take a block, or contiguous segments from the end of the pool.
//
// Differs from the paper:
//   - the number of slices handed out is in the buffer's word next to the block's number, so an
//     allocation changes one word, and never the counter of a block that now has another size;
//   - the segments are BlockPages (primitives/block_pages.hpp): one word has a segment's block size
//     and its number of used blocks, and free blocks are a bitmap, not a ring of pointers. If one
//     thread sets a bit of a tree while another clears it, the set bit is not lost;
//   - before a request is refused, blocks in buffers of which no slice is in use return to their
//     segments, all segments are scanned while nothing is freed or moved, and slices left in other
//     buffers are taken. The published code gives up after a number of attempts;
//   - slices have up to half of the smallest block (32 KiB; published: 4 KiB, and several slices
//     per request above that);
//   - segments have from 16 MiB to 512 bytes, depending on the pool's size, and a block has fewer
//     than 4,096 slices where a segment has less than 1 MiB. Buffers hold up to 1/64 of the pool
//     per size;
//   - contiguous segments are found by a scan, without a lock.
//
// Limits: sizes are rounded up to powers of two, above a segment to whole segments. One slice in
// use keeps its block. walk() reports the slices of a block that have been handed out as one
// region. Overhead: 4 bytes per smallest block, two words of 64 bits per segment and size.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <map>

#include "alloc/primitives/block_pages.hpp"
#include "alloc/primitives/lane_group.hpp"
#include "alloc/primitives/run_map.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

class Gallatin {
 public:
  static constexpr AllocatorTraits traits{.id = "gallatin",
                                          .label = "Gallatin",
                                          .paper = "McCoy and Pandey 2024",
                                          .note = "segments, blocks and slices, found in bitmaps",
                                          .smallest_pool = 8192};

  template <class Device>
  static Gallatin create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    Gallatin g;
    g.base_ = pool.base;
    g.wait_ = options.wait_when_full;
    g.segment_shift_ = std::clamp(simt::highest_bit(pool.bytes / 128), 9u, 24u);
    g.slices_shift_ = std::clamp(g.segment_shift_ - 8, 3u, 12u);
    g.budget_ = static_cast<std::uint32_t>(
        simt::bit_floor(std::max<std::uint64_t>(1, pool.bytes / 64 >> g.unit_shift())));
    while (g.max_buffers_ < std::min<std::uint32_t>(g.budget_, device.multiprocessors()))
      g.max_buffers_ *= 2;

    // Layout: a copy of this handle, two words, buffers, lengths, freed slices, segments.
    const std::size_t buffer_words = g.classes() * g.max_buffers_ * buffer_stride;
    const std::size_t segments = pool.bytes >> g.segment_shift_;
    g.lengths_at_ = buffers_at + buffer_words * sizeof(std::uint64_t);
    g.freed_at_ = g.lengths_at_ + segments * sizeof(std::uint32_t);
    g.segments_at_ =
        round_up(g.freed_at_ + (segments << g.top_class()) * sizeof(std::uint32_t), 256);
    simt::device_fill(device.id(), pool.base, 0, g.segments_at_);
    std::vector<std::uint64_t> buffers(buffer_words);
    for (std::uint32_t t = 0; t < g.classes(); ++t) {
      for (std::uint32_t i = 0; i < g.max_buffers_; ++i)
        buffers[(t * g.max_buffers_ + i) * buffer_stride] = g.without_block(t);
    }
    simt::device_upload(device.id(), pool.base + buffers_at, buffers.data(),
                        buffer_words * sizeof(std::uint64_t));
    g.segments_ = BlockPages::create(pool.base + g.segments_at_, pool.bytes - g.segments_at_,
                                     {.page_shift = g.segment_shift_,
                                      .least = g.size_class(0),
                                      .top = g.size_class(g.top_class())},
                                     device);
    static_assert(sizeof(Gallatin) <= motion_at);
    simt::device_upload(device.id(), pool.base, &g, sizeof(g));
    return g;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > largest_slice()) return allocate_blocks(self(), thread, bytes);
      const std::uint32_t t = bytes <= granule ? 0 : simt::highest_bit(bytes - 1) - 3;
      std::uint64_t* const buffer = this->buffer(t, thread.sm() & (buffers(t) - 1));
      const LaneGroup<Thread> group(thread, thread.together(buffer));
      const std::uint32_t n = group.size();
      // acquire: synchronizes with the last users of the block's memory, through the thread that
      // put the block into the buffer.
      const std::uint64_t seen =
          group.once([&] { return Word64(*buffer).fetch_add(n * one_slice, simt::acquire); });
      if (high(seen) + n > slices(t))
        return allocate_slow(self(), thread, group.lanes(), buffer, seen, t);
      group.sync();  // makes the acquire visible to all lanes
      return slice(seen, group.rank(), t);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) const {
    if (pointer == nullptr) return;
    const auto offset =
        static_cast<std::size_t>(static_cast<std::byte*>(pointer) - segments_.memory());
    // relaxed: a segment keeps its block size while one of its blocks is in use.
    const std::uint32_t k = BlockPages::class_of(
        segments_.state(static_cast<std::uint32_t>(offset >> segment_shift_)).load(simt::relaxed));
    const auto block = static_cast<std::uint32_t>(offset >> unit_shift()) & (~0u << block_class(k));
    const LaneGroup<Thread> group(thread, thread.together(freed() + block));
    group.sync();  // orders these lanes' accesses to their slices before the release
    if (group.rank() == 0) count_freed(self(), thread, block, group.size());
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const;

 private:
  // A buffer is {slices handed out:32, number of the block + 1:32}. If more slices are handed out
  // than the block has, a thread is replacing the block, and others wait for it. Each buffer has a
  // memory sector of its own.
  static constexpr std::uint64_t one_slice = std::uint64_t{1} << 32;
  static constexpr std::size_t motion_at = 256, collecting_at = 288, buffers_at = 320,
                               buffer_stride = 8;
  static constexpr std::uint64_t failed = ~std::uint64_t{0};
  // Max repetitions of a search, and max waits for a block.
  static constexpr unsigned max_turns = 256;

  HEAPWOOD_INLINE const Gallatin* self() const { return as<const Gallatin>(base_); }
  HEAPWOOD_INLINE std::uint64_t* motion() const { return as<std::uint64_t>(base_ + motion_at); }
  // Segments that belong to a large request besides the first.
  HEAPWOOD_INLINE std::uint32_t* lengths() const { return as<std::uint32_t>(base_ + lengths_at_); }
  // The number of freed slices of each block, at the index of its first unit; all_freed() if none
  // is in use. For a block with fewer slices than the maximum the count starts above 0.
  HEAPWOOD_INLINE std::uint32_t* freed() const { return as<std::uint32_t>(base_ + freed_at_); }
  HEAPWOOD_INLINE std::uint32_t all_freed() const { return 1u << slices_shift_; }

  // A unit is the smallest block. Slices of class t have 16 << t bytes, blocks of class c are
  // 1 << c units; those of the top class are whole segments.
  HEAPWOOD_INLINE unsigned unit_shift() const { return slices_shift_ + 4; }
  HEAPWOOD_INLINE std::uint32_t classes() const { return slices_shift_; }
  HEAPWOOD_INLINE std::size_t largest_slice() const { return std::size_t{8} << slices_shift_; }
  HEAPWOOD_INLINE std::uint32_t top_class() const { return segment_shift_ - unit_shift(); }
  HEAPWOOD_INLINE std::uint32_t class_for_slices(std::uint32_t t) const {
    return t < top_class() ? t : top_class();
  }
  // Slices of class t per block.
  HEAPWOOD_INLINE std::uint32_t slices(std::uint32_t t) const {
    return 1u << (slices_shift_ - (t - class_for_slices(t)));
  }
  // Converts block classes c to size classes of BlockPages, where odd ones are powers of two, and
  // back.
  HEAPWOOD_INLINE std::uint32_t size_class(std::uint32_t c) const {
    return 2 * (slices_shift_ + c) - 1;
  }
  HEAPWOOD_INLINE std::uint32_t block_class(std::uint32_t k) const {
    return (k + 1) / 2 - slices_shift_;
  }

  // The number of buffers for slices of class t: a power of two.
  HEAPWOOD_INLINE std::uint32_t buffers(std::uint32_t t) const {
    const std::uint32_t n = budget_ >> class_for_slices(t);
    return n == 0 ? 1 : n < max_buffers_ ? n : max_buffers_;
  }
  HEAPWOOD_INLINE std::uint64_t* buffer(std::uint32_t t, std::uint32_t i) const {
    return as<std::uint64_t>(base_ + buffers_at) + (t * max_buffers_ + i) * buffer_stride;
  }
  // The word of a buffer without a block: the next request brings one.
  HEAPWOOD_INLINE std::uint64_t without_block(std::uint32_t t) const {
    return slices(t) * one_slice;
  }
  HEAPWOOD_INLINE void* slice(std::uint64_t seen, std::uint32_t rank, std::uint32_t t) const {
    return segments_.memory() + (std::size_t{low(seen) - 1} << unit_shift()) +
           (std::size_t{high(seen) + rank} << (t + 4));
  }

  // Slow path of allocate(): the addition has returned `seen`. The first lanes may get slices; the
  // others replace the block, or wait for the thread that does.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const Gallatin* self, Thread thread,
                                              std::uint32_t lanes, std::uint64_t* buffer,
                                              std::uint64_t seen, std::uint32_t t) {
    LaneGroup<Thread> group(thread, lanes);
    const std::uint32_t all = self->slices(t);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; seen != failed; ++turn) {
      const std::uint32_t before = high(seen), rank = group.rank();
      // Exactly one addition raises the count above `all`; its group replaces the block.
      const bool replaces = before <= all && before + group.size() > all;
      const bool has_slice = before + rank < all;
      group.sync();
      group = group.part(has_slice);
      if (has_slice) return self->slice(seen, rank, t);
      seen = group.once([&] {
        return replaces ? replace_block(self, thread, buffer, t, group.size())
                        : await_block(self, thread, buffer, seen, t, group.size(), turn);
      });
    }
    return allocate_rest(self, thread, group.lanes(), t);
  }
  // If no block is free: takes slices that are left in any buffer, also larger ones.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_rest(const Gallatin* self, Thread thread,
                                              std::uint32_t lanes, std::uint32_t t) {
    LaneGroup<Thread> group(thread, lanes);
    HEAPWOOD_ROLLED
    for (; t < self->classes(); ++t) {
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < self->buffers(t); ++i) {
        const std::uint32_t rank = group.rank();
        const std::uint64_t seen =
            group.once([&] { return take_rest(self, self->buffer(t, i), t, group.size()); });
        const bool has_slice = seen != failed && high(seen) + rank < self->slices(t);
        group.sync();
        group = group.part(has_slice);
        if (has_slice) return self->slice(seen, rank, t);
      }
    }
    return nullptr;
  }

  // Puts a new block into the buffer. The caller's lanes get its first n slices, or all of them.
  // Returns the word of the buffer before any slice was handed out.
  template <class Thread>
  static HEAPWOOD_INLINE std::uint64_t replace_block(const Gallatin* self, Thread& thread,
                                                     std::uint64_t* buffer, std::uint32_t t,
                                                     std::uint32_t n) {
    const BlockPages& segments = self->segments_;
    const std::uint32_t k = self->size_class(self->class_for_slices(t));
    BlockPages::Seats seats;
    HEAPWOOD_ROLLED
    while ((seats = reserve(self, thread, k, 1)).before == BlockPages::none &&
           collect(self, thread)) {
    }
    const LaneGroup<Thread> alone(thread, 1u << thread.lane());
    void* const address = seats.before == BlockPages::none
                              ? nullptr
                              : segments.take(thread, alone, seats, seats.before);
    if (address == nullptr) {
      // relaxed: publishes nothing.
      Word64(*buffer).store(self->without_block(t), simt::relaxed);
      return failed;
    }
    const std::uint32_t block = self->block_at(address);
    // relaxed: no other thread knows this block yet.
    Word32(self->freed()[block]).store(self->all_freed() - self->slices(t), simt::relaxed);
    // release: publishes the number of freed slices, and passes on what was acquired from the
    // block's last users. The store overwrites additions of threads that wait; they add again.
    Word64(*buffer).store(n * one_slice + block + 1, simt::release);
    return block + 1;
  }
  HEAPWOOD_INLINE std::uint32_t block_at(const void* address) const {
    return static_cast<std::uint32_t>(
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - segments_.memory()) >>
        unit_shift());
  }

  // Waits until the block of `seen` has been replaced, then adds n again. Fails if there is no
  // block.
  template <class Thread>
  static HEAPWOOD_INLINE std::uint64_t await_block(const Gallatin* self, Thread& thread,
                                                   std::uint64_t* buffer, std::uint64_t seen,
                                                   std::uint32_t t, std::uint32_t n,
                                                   unsigned turn) {
    std::uint64_t now = seen;
    const bool is_replaced = simt::wait_until(thread, [&] {
      now = Word64(*buffer).load(simt::relaxed);  // relaxed: the addition acquires
      return low(now) != low(seen) || high(now) <= self->slices(t);
    });
    if (!is_replaced || low(now) == 0 || turn == max_turns) return failed;
    return Word64(*buffer).fetch_add(n * one_slice, simt::acquire);  // acquire: as in allocate()
  }

  // Takes up to n slices that are left in a buffer, without exceeding its block.
  static HEAPWOOD_INLINE std::uint64_t take_rest(const Gallatin* self, std::uint64_t* buffer,
                                                 std::uint32_t t, std::uint32_t n) {
    const std::uint32_t all = self->slices(t);
    Word64 word(*buffer);
    std::uint64_t seen = word.load(simt::relaxed);
    HEAPWOOD_ROLLED
    while (high(seen) < all) {
      const std::uint32_t left = all - high(seen);
      // acquire: as in allocate().
      if (word.compare_exchange_weak(seen, seen + (left < n ? left : n) * one_slice, simt::acquire,
                                     simt::relaxed))
        return seen;
    }
    return failed;
  }

  // Calls find(attempts) until it returns true. Returns false if find() found nothing while no
  // memory was freed or moved. find() calls attempts.begin() before it tries to take memory,
  // because other threads may miss that memory meanwhile.
  template <class Thread, class Find>
  static HEAPWOOD_INLINE bool search(const Gallatin* self, Thread& thread, Find find) {
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < max_turns && !thread.aborted(); ++turn) {
      const std::uint64_t before = Motion::load(self->motion());
      Motion attempts(self->motion());
      const bool found = find(attempts);
      attempts.end();
      if (found) return true;
      if (Motion::is_idle(before) && Motion::load_after_search(self->motion()) == before) break;
      // Waits for threads that free or move memory. On the CPU such a thread may be preempted.
      thread.pause(turn < 64 ? turn + 60 : simt::long_wait);
    }
    return false;
  }

  // Reserves up to n blocks of a class of BlockPages in one segment. Follows the trees first to a
  // segment with free blocks of this size, then to a free one. The trees change only in attempts
  // and frees that are announced, so a search without any of these meanwhile misses no block. Small
  // blocks stay at the beginning of the pool.
  template <class Thread>
  static HEAPWOOD_OUTLINE BlockPages::Seats reserve(const Gallatin* self, Thread thread,
                                                    std::uint32_t k, std::uint32_t n) {
    const BlockPages* const segments = self->segments_.self();
    BlockPages::Seats seats;
    search(self, thread, [&](Motion& attempts) {
      HEAPWOOD_ROLLED
      for (const std::uint32_t tree : {segments->room(k), segments->empty()}) {
        if (seats.before != BlockPages::none || !segments->hints(tree).hinted()) continue;
        attempts.begin();
        seats = BlockPages::search(segments, tree, k, 0, n);
      }
      return seats.before != BlockPages::none;
    });
    return seats;
  }

  // Frees the blocks in buffers of which no slice is in use. Returns false if there were none, or
  // if another thread does this now: several threads would also take blocks of new requests.
  template <class Thread>
  static HEAPWOOD_OUTLINE bool collect(const Gallatin* self, Thread thread) {
    bool any = false;
    // relaxed, here and below: the word orders no other memory.
    const Word32 collecting(*as<std::uint32_t>(self->base_ + collecting_at));
    if (collecting.exchange(1, simt::relaxed) != 0) return false;
    HEAPWOOD_ROLLED
    for (std::uint32_t t = 0; t < self->classes(); ++t) {
      const std::uint32_t all = self->slices(t);
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0; i < self->buffers(t); ++i) {
        Word64 buffer(*self->buffer(t, i));
        // relaxed: a hint; the exchange below decides.
        std::uint64_t seen = buffer.load(simt::relaxed);
        if (high(seen) >= all) continue;
        const std::uint32_t block = low(seen) - 1, left = all - high(seen);
        if (Word32(self->freed()[block]).load(simt::relaxed) + left != self->all_freed()) continue;
        // acquire: as in allocate(). The other slices now belong to this thread, which frees them.
        if (buffer.compare_exchange_strong(seen, self->without_block(t), simt::acquire,
                                           simt::relaxed)) {
          count_freed(self, thread, block, left);
          any = true;
        }
      }
    }
    collecting.store(0, simt::relaxed);
    return any;
  }

  // Counts n slices of a block as freed; after the last, frees the block, or all segments of a
  // request.
  template <class Thread>
  static HEAPWOOD_INLINE void count_freed(const Gallatin* self, Thread& thread, std::uint32_t block,
                                          std::uint32_t n) {
    // release: hands the slices over to the block's next owner.
    if (Word32(self->freed()[block]).fetch_add(n, simt::release) + n == self->all_freed())
      return_block(self, thread, block);
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE void return_block(const Gallatin* self, Thread thread,
                                            std::uint32_t block) {
    // acquire: synchronizes with all threads that freed slices of the block.
    Word32(self->freed()[block]).exchange(0, simt::acquire);
    const BlockPages& segments = self->segments_;
    std::byte* const address = segments.memory() + (std::size_t{block} << self->unit_shift());
    std::uint32_t& length = self->lengths()[block >> self->top_class()];
    const std::uint32_t more = length;  // plain: this thread owns all segments of the request
    if (more != 0) length = 0;
    // Segments freed first may get a new user before the last one is free: searches then repeat.
    Motion frees(self->motion());
    frees.begin();
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i <= more; ++i)
      segments.deallocate(thread, address + (std::size_t{i} << self->segment_shift_));
    frees.end();
  }

  // Serves requests that are larger than a slice: one block, or segments.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_blocks(const Gallatin* self, Thread thread,
                                                std::size_t bytes) {
    const BlockPages& segments = self->segments_;
    if (bytes > segments.page_bytes()) {
      void* block = nullptr;
      HEAPWOOD_ROLLED
      while ((block = allocate_segments(self, thread, bytes)) == nullptr && collect(self, thread)) {
      }
      return block;
    }
    const unsigned shift = simt::highest_bit(bytes - 1) + 1;
    const std::uint32_t c = shift > self->unit_shift() ? shift - self->unit_shift() : 0;
    // Lanes that request blocks of one size from one pool make one request.
    LaneGroup<Thread> group(thread, thread.together(self->freed() + c));
    HEAPWOOD_ROLLED
    for (;;) {
      BlockPages::Seats seats;
      if (group.rank() == 0) seats = reserve(self, thread, self->size_class(c), group.size());
      seats = seats.shared_by(group);
      if (seats.before == BlockPages::none) {
        if (group.once([&] { return std::uint32_t{collect(self, thread)}; }) == 0) return nullptr;
        continue;
      }
      const bool has_seat = group.rank() < seats.count(segments, group.size());
      group = group.part(has_seat);
      if (!has_seat) continue;
      void* const block = segments.take(thread, group, seats, seats.before);
      if (block != nullptr) self->set_undivided(self->block_at(block));
      return block;
    }
  }
  // Marks the caller's block as one undivided slice.
  HEAPWOOD_INLINE void set_undivided(std::uint32_t block) const {
    // relaxed: the block belongs to this thread; its user passes the address on.
    Word32(freed()[block]).store(all_freed() - 1, simt::relaxed);
  }

  // Takes contiguous free segments, as near to the end of the pool as possible.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_segments(const Gallatin* self, Thread thread,
                                                  std::size_t bytes) {
    const BlockPages* const segments = self->segments_.self();
    const std::uint32_t k = segments->top();
    if ((bytes - 1) >> self->segment_shift_ >= segments->pages()) return nullptr;
    const auto n = static_cast<std::uint32_t>(((bytes - 1) >> self->segment_shift_) + 1);
    void* block = nullptr;
    search(self, thread, [&](Motion& attempts) {
      HEAPWOOD_ROLLED
      for (std::uint32_t first = segments->pages(), run = 0; first-- > 0;) {
        // relaxed: a hint; look_and_enter() decides.
        run = segments->fits(segments->state(first).load(simt::relaxed), k) ? run + 1 : 0;
        if (run < n) continue;
        attempts.begin();
        std::uint32_t rest = n;
        HEAPWOOD_ROLLED
        while (rest > 0 &&
               BlockPages::look_and_enter(segments, first + rest - 1, k, 1) != BlockPages::none)
          --rest;
        if (rest == 0) {
          block = set_large(self, thread, first, n);
          return true;
        }
        // Another thread has taken a segment: returns the others, continues before that segment.
        HEAPWOOD_ROLLED
        for (std::uint32_t i = rest; i < n; ++i) segments->count_off(first + i, 1);
        first += rest - 1;
        run = 0;
      }
      return false;
    });
    return block;
  }
  // Makes n reserved segments one block.
  template <class Thread>
  static HEAPWOOD_INLINE void* set_large(const Gallatin* self, Thread& thread, std::uint32_t first,
                                         std::uint32_t n) {
    const LaneGroup<Thread> alone(thread, 1u << thread.lane());
    void* block = nullptr;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = n; i-- > 0;) {
      block = self->segments_.take(thread, alone, {first + i, 0, self->segments_.top()}, 0);
      if (block == nullptr) return nullptr;  // the launch is aborted
    }
    self->lengths()[first] = n - 1;
    self->set_undivided(self->block_at(block));
    return block;
  }

  BlockPages segments_;
  std::byte* base_ = nullptr;
  std::size_t lengths_at_ = 0, freed_at_ = 0, segments_at_ = 0;
  unsigned segment_shift_ = 24, slices_shift_ = 12;
  std::uint32_t budget_ = 1;  // units that all buffers of a class may hold: a power of two
  std::uint32_t max_buffers_ = 1;
  bool wait_ = false;
};

// Adjacent free segments are one region. The slices of a buffer's block that have been handed out
// are one region, `held` if all of them have been freed; each other slice is a free region.
template <class Visitor>
void Gallatin::walk(const HostView& host, Visitor visit) const {
  using State = Region::State;
  visit(Region{0, segments_at_, State::metadata});
  struct Open {
    std::uint32_t t, handed_out;
  };
  std::map<std::uint32_t, Open> in_buffers;
  const auto words = host.read(buffer(0, 0), classes() * max_buffers_ * buffer_stride);
  for (std::uint32_t t = 0; t < classes(); ++t) {
    for (std::uint32_t i = 0; i < buffers(t); ++i) {
      const std::uint64_t word = words[(t * max_buffers_ + i) * buffer_stride];
      if (high(word) < slices(t)) in_buffers[low(word) - 1] = {t, high(word)};
    }
  }
  const std::uint32_t n = segments_.pages();
  const auto length = host.read(lengths(), n);
  const auto counts = host.read(freed(), std::size_t{n} << top_class());
  const auto memory_at = static_cast<std::size_t>(segments_.memory() - base_);
  Region free_segments;             // not reported yet
  std::uint32_t to_be_skipped = 0;  // segments of a large request
  const auto report_free_segments = [&] {
    if (free_segments.bytes > 0) visit(free_segments);
    free_segments = {};
  };
  segments_.walk(host, base_, [&](const Region& region) {
    if (to_be_skipped > 0) {
      --to_be_skipped;
      return;
    }
    if (region.state == State::free && region.bytes == segments_.page_bytes()) {
      if (free_segments.bytes == 0) free_segments.offset = region.offset;
      free_segments.bytes += region.bytes;
      return;
    }
    report_free_segments();
    if (region.state != State::used) return visit(region);
    const auto block = static_cast<std::uint32_t>((region.offset - memory_at) >> unit_shift());
    const auto found = in_buffers.find(block);
    if (found == in_buffers.end()) {
      to_be_skipped = length[block >> top_class()];
      return visit(Region{region.offset, region.bytes * (to_be_skipped + 1), State::used});
    }
    const auto [t, handed_out] = found->second;
    const std::size_t bytes = granule << t;
    const bool is_used = counts[block] - (all_freed() - slices(t)) != handed_out;
    visit(Region{region.offset, handed_out * bytes, is_used ? State::used : State::held});
    for (std::uint32_t i = handed_out; i < slices(t); ++i)
      visit(Region{region.offset + i * bytes, bytes, State::free});
  });
  report_free_segments();
}

}  // namespace heapwood::alloc
