// SPDX-License-Identifier: MIT
// AWMalloc that never overwrites live memory: own design after RegEff section 5.1. Half of the pool
// is a ring of segments, filled in turn with AWMalloc's bump of one offset. The offset only grows:
// the n-th segment that it reaches is segment n modulo their number. Each segment counts its live
// blocks and records the n for which it is open. It is opened for a later n if its count is 0;
// otherwise the offset skips it. The other half is a buddy allocator (primitives/buddy.hpp) for
// requests of more than a quarter of a segment. Each half also serves requests of the other when
// that is full.
//
// Differs from the paper: frees make memory reusable, and exhaustion is reported.
//
// Limits: one long-lived block holds its whole segment; the largest request is the buddy's largest
// block.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/primitives/large_part.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

template <class Large>
struct AwMallocSafeOn {
  using WithBuiltin = AwMallocSafeOn<HeapPart>;

  static constexpr AllocatorTraits traits{
      .id = "awmalloc-safe",
      .label = "AWMalloc-safe",
      .paper = "RegEff 5.1, own remedy",
      .note = "ring of counted segments and a buddy for large requests",
      .smallest_pool = 8192,
      .in_pool = Large::in_pool};
  static constexpr AllocatorSetting settings[1] = {large_setting};

  template <class Device>
  static AwMallocSafeOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    AwMallocSafeOn a;
    a.wait_ = options.wait_when_full;
    a.base_ = pool.base;
    const std::size_t half = Large::offset(pool.bytes, pool.bytes / 2);
    // 128 to 255 segments in large pools; in small ones fewer, of at least 256 bytes each.
    a.segment_shift_ = 8;
    while (((half - segments_at) >> a.segment_shift_) >= max_segments) ++a.segment_shift_;
    a.segments_ = static_cast<std::uint32_t>((half - segments_at) >> a.segment_shift_);
    do {
      a.memory_offset_ = round_up(segments_at + a.segments_ * sizeof(std::uint64_t), 256);
    } while (a.memory_offset_ + (std::size_t{a.segments_} << a.segment_shift_) > half &&
             --a.segments_ > 0);
    a.ring_bytes_ = half;
    simt::device_fill(device.id(), pool.base, 0, a.memory_offset_);
    const unsigned page_shift =
        a.segment_shift_ > 9 ? (a.segment_shift_ < 19 ? a.segment_shift_ - 3 : 16) : 6;
    a.large_ = Large::create(pool.base + large_at, pool.base + half, pool.bytes - half, page_shift,
                             device);
    return a;
  }

  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base + large_at, device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const bool fits = bytes <= std::size_t{1} << segment_shift_;
    const bool small = bytes <= std::size_t{1} << (segment_shift_ - 2);
    const auto granules = static_cast<std::uint32_t>(fits ? padded(bytes) / granule : 0);
    return attempt_until(thread, wait_, [&] {
      // Tries the half for this size first, then the other. A loop, so that each is inlined once.
      void* block = nullptr;
      bool ring = small;
      HEAPWOOD_ROLLED
      for (int turn = 0; turn < 2 && block == nullptr; ++turn, ring = !ring) {
        if (!ring) {
          block = large_.allocate(thread, bytes);
        } else if (fits) {
          block = bump(granules);
        }
      }
      return block;
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    const auto s =
        static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> segment_shift_);
    // release: hands the block to the thread that opens the segment again.
    Word64(segments()[s]).fetch_sub(1, simt::release);
  }

  // A closed segment with live blocks is one used region. Of the open one, the part handed out is
  // used, or held if all of it has been freed: it can be reused only on the next lap of the ring.
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    const std::uint64_t offset = host.read(cursor());
    const auto states = host.read(segments(), segments_);
    const std::size_t size = std::size_t{1} << segment_shift_;
    for (std::uint32_t s = 0; s < segments_; ++s) {
      const std::size_t begin = memory_offset_ + s * size;
      const bool open = s == number(offset) % segments_ && opened_for(states[s]) == number(offset);
      const std::size_t used_bytes = open                  ? taken(offset) * granule
                                     : live(states[s]) > 0 ? size
                                                           : 0;
      if (used_bytes > 0)
        visit(Region{begin, used_bytes,
                     live(states[s]) > 0 ? Region::State::used : Region::State::held});
      if (used_bytes < size)
        visit(Region{begin + used_bytes, size - used_bytes, Region::State::free});
    }
    const std::size_t end = memory_offset_ + segments_ * size;
    if (end < ring_bytes_) visit(Region{end, ring_bytes_ - end, Region::State::metadata});
    large_.walk(host, base_, visit);
  }

 private:
  static constexpr std::uint32_t max_segments = 256;
  // Layout from the pool's base: the offset, the buddy's head, the segments' states, the segments.
  static constexpr std::size_t large_at = 256, segments_at = large_at + Large::head_bytes;

  HEAPWOOD_INLINE std::uint64_t* cursor() const { return as<std::uint64_t>(base_); }
  HEAPWOOD_INLINE std::uint64_t* segments() const { return as<std::uint64_t>(base_ + segments_at); }
  HEAPWOOD_INLINE std::byte* memory() const { return base_ + memory_offset_; }

  // The offset counts granules. Segment numbers are taken modulo 2^32, so a thread that stalls
  // while 2^32 segments are filled may mistake one of them for its own.
  HEAPWOOD_INLINE std::uint32_t number(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset >> (segment_shift_ - 4));
  }
  HEAPWOOD_INLINE std::uint64_t taken(std::uint64_t offset) const {
    return offset & (granules_per_segment() - 1);
  }
  HEAPWOOD_INLINE std::uint64_t granules_per_segment() const {
    return (std::uint64_t{1} << segment_shift_) / granule;
  }
  static_assert(granule == 16);

  // The state of a segment is {open for number:32, live blocks:32}.
  static HEAPWOOD_INLINE std::uint32_t opened_for(std::uint64_t state) { return high(state); }
  static HEAPWOOD_INLINE std::uint32_t live(std::uint64_t state) { return low(state); }

  HEAPWOOD_INLINE void* bump(std::uint32_t granules) const {
    Word64 offset(*cursor());
    // relaxed, here and below: the offset only proposes an address; the state of its segment
    // decides whether that is free.
    std::uint64_t c = offset.load(simt::relaxed);
    HEAPWOOD_ROLLED
    for (;;) {
      // Read before the add: a request that does not fit must not use up the rest of the segment.
      if (taken(c) + granules <= granules_per_segment()) {
        c = offset.fetch_add(granules, simt::relaxed);
        if (taken(c) + granules > granules_per_segment()) {
          // Crosses the segment's end; these granules are unused until the next lap of the ring
          c += granules;
          continue;
        }
        const std::uint32_t n = number(c), s = n % segments_;
        if (count_block(s, n))
          return memory() + (std::size_t{s} << segment_shift_) + taken(c) * granule;
      }
      // The next empty segment after this one.
      const std::uint64_t border = (c | (granules_per_segment() - 1)) + 1;
      const std::uint32_t distance = distance_to_empty(number(border));
      if (distance == segments_) return nullptr;
      const std::uint64_t target = border + distance * granules_per_segment();
      c = offset.fetch_max(target, simt::relaxed);
      if (c < target) c = target;
    }
  }

  // Counts a block in segment s if it is open for `n` or empty.
  HEAPWOOD_INLINE bool count_block(std::uint32_t s, std::uint32_t n) const {
    Word64 state(segments()[s]);
    // acquire, here and below: synchronizes with the last owners of the blocks. All changes are
    // read-modify-writes, so they continue the release sequences of all threads that freed.
    std::uint64_t seen = state.load(simt::relaxed);
    HEAPWOOD_ROLLED
    while (opened_for(seen) != n) {
      if (live(seen) != 0) return false;
      const std::uint64_t open = std::uint64_t{n} << 32 | 1;
      if (state.compare_exchange_strong(seen, open, simt::acquire, simt::relaxed)) return true;
    }
    if (opened_for(state.fetch_add(1, simt::acquire)) == n) return true;
    // The segment is now open for a later number. relaxed: this thread wrote nothing there.
    state.fetch_sub(1, simt::relaxed);
    return false;
  }

  // The number of consecutive segments from n on that have live blocks; segments_ if all have.
  HEAPWOOD_INLINE std::uint32_t distance_to_empty(std::uint32_t n) const {
    std::uint32_t s = n % segments_, distance = 0;
    HEAPWOOD_UNROLLED_4
    for (; distance < segments_; ++distance) {
      // relaxed: count_block() checks the segment that is found.
      if (live(Word64(segments()[s]).load(simt::relaxed)) == 0) break;
      s = s + 1 == segments_ ? 0 : s + 1;
    }
    return distance;
  }

  std::byte* base_ = nullptr;
  std::size_t memory_offset_ = 0, ring_bytes_ = 0;
  std::uint32_t segments_ = 0;
  std::uint32_t segment_shift_ = 0;
  bool wait_ = false;
  Large large_;
};

using AwMallocSafe = AwMallocSafeOn<LargePart>;

}  // namespace heapwood::alloc
