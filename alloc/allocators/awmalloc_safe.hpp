// SPDX-License-Identifier: MIT
// AWMalloc that never overwrites live memory: own design after RegEff section 5.1. Half of the pool is a ring of
// segments, filled one after the other with AWMalloc's bump of one offset; each segment counts its live blocks, and the
// ring only moves on to a segment whose count is 0. The other half is a buddy allocator (primitives/buddy.hpp) for
// requests of more than a quarter of a segment; each half helps out when the other is full.
// Differs from the paper: frees really free, "full" is said instead of overwriting, one more atomic add an allocation.
// Many threads at once may miss an empty segment while another one's attempt is counted in it: then the other half
// helps out.
// Limits: one long-lived block holds its whole segment; the largest request is the buddy's largest block.
#pragma once

#include <algorithm>

#include "alloc/primitives/large_part.hpp"

namespace heapwood::alloc {

struct AwMallocSafe {
  static constexpr AllocatorTraits traits{.id = "awmalloc-safe",
                                          .label = "AWMalloc-safe",
                                          .paper = "RegEff 5.1, own remedy",
                                          .note = "ring of counted segments and a buddy for large requests",
                                          .smallest_pool = 8192};

  template <class Device>
  static AwMallocSafe create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    AwMallocSafe a;
    a.wait_ = options.wait_when_full;
    a.base_ = pool.base;
    const std::size_t half = pool.bytes / 2 / 256 * 256;
    const std::size_t tables = large_at + LargePart::head_bytes;
    // 128 to 255 segments once the pool is large, at least 256 bytes each before that.
    a.segment_shift_ = 8;
    while (((half - tables) >> a.segment_shift_) >= most_segments) ++a.segment_shift_;
    a.segments_ = static_cast<std::uint32_t>((half - tables) >> a.segment_shift_);
    a.memory_offset_ = tables;
    a.ring_bytes_ = half;
    simt::device_fill(device.id(), pool.base, 0, tables);
    const unsigned page_shift = a.segment_shift_ > 9 ? (a.segment_shift_ < 19 ? a.segment_shift_ - 3 : 16) : 6;
    a.large_ = LargePart::create(pool.base + large_at, pool.base + half, pool.bytes - half, page_shift, device);
    return a;
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const bool fits = bytes <= std::size_t{1} << segment_shift_;
    const bool small = bytes <= std::size_t{1} << (segment_shift_ - 2);
    const auto granules = static_cast<std::uint32_t>(fits ? padded(bytes) / granule : 0);
    return attempt_until(thread, wait_, [&] {
      // The half meant for it first, then the other: two turns of a loop, so that each is compiled in once.
      void* block = nullptr;
      bool ring = small;
      SIMT_ROLLED
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
  SIMT_INLINE void deallocate(Thread&, void* block) {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(block);
    const auto s = static_cast<std::uint32_t>((static_cast<std::byte*>(block) - memory()) >> segment_shift_);
    // release: hands the block to whoever opens the segment again.
    simt::atomic_ref<std::uint32_t>(live()[s]).fetch_sub(1, simt::release);
  }

  // A closed segment with live blocks is one used region. Of the open one, what is handed out is used, or held if all
  // of it has been freed: it can be used again only when the ring comes round.
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    const std::uint64_t c = host.read(cursor());
    const auto counts = host.read(live(), segments_);
    const std::size_t size = std::size_t{1} << segment_shift_;
    for (std::uint32_t s = 0; s < segments_; ++s) {
      const std::size_t at = memory_offset_ + s * size;
      if (s != segment(c)) {
        visit(Region{at, size, counts[s] > 0 ? Region::State::used : Region::State::free});
        continue;
      }
      const std::size_t filled = std::min<std::size_t>(size, taken(c) * granule);
      if (filled > 0) visit(Region{at, filled, counts[s] > 0 ? Region::State::used : Region::State::held});
      if (filled < size) visit(Region{at + filled, size - filled, Region::State::free});
    }
    const std::size_t end = memory_offset_ + segments_ * size;
    if (end < ring_bytes_) visit(Region{end, ring_bytes_ - end, Region::State::metadata});
    large_.walk(host, base_, visit);
  }

 private:
  static constexpr std::uint32_t most_segments = 256;
  // At the base: the cursor, the counts, the head of the buddy, the segments.
  static constexpr std::size_t live_at = 256, large_at = live_at + most_segments * sizeof(std::uint32_t);

  SIMT_INLINE std::uint64_t* cursor() const { return reinterpret_cast<std::uint64_t*>(base_); }
  SIMT_INLINE std::uint32_t* live() const { return reinterpret_cast<std::uint32_t*>(base_ + live_at); }
  SIMT_INLINE std::byte* memory() const { return base_ + memory_offset_; }

  // The cursor is {generation:16, open segment:8, granules taken from it:40}. Requests that no longer fit add to it, too,
  // but only those that saw it before it was full: 40 bits hold them all. The generation counts openings, so that an
  // exchange takes an old cursor for the present one only after 65536 of them, in the same segment and equally filled.
  static constexpr unsigned segment_at = 40, generation_at = 48;
  static SIMT_INLINE std::uint32_t segment(std::uint64_t c) {
    return static_cast<std::uint32_t>(c >> segment_at) & 255u;
  }
  static SIMT_INLINE std::uint64_t taken(std::uint64_t c) { return c & ((std::uint64_t{1} << segment_at) - 1); }
  static SIMT_INLINE std::uint64_t opened(std::uint64_t c, std::uint32_t t) {
    return ((c >> generation_at) + 1) << generation_at | std::uint64_t{t} << segment_at;
  }

  SIMT_INLINE void* bump(std::uint32_t granules) const {
    simt::atomic_ref<std::uint64_t> position(*cursor());
    const std::uint64_t size = (std::uint64_t{1} << segment_shift_) / granule;
    // acquire, here and below: the counts of all blocks taken before are visible to next_empty().
    std::uint64_t c = position.load(simt::acquire);
    SIMT_ROLLED
    for (;;) {
      const std::uint32_t s = segment(c);
      if (taken(c) + granules <= size) {
        // Counted before it is taken, so that a closed segment's count is never too low. relaxed: an addition keeps the
        // chain of releases by those that free.
        simt::atomic_ref<std::uint32_t> count(live()[s]);
        count.fetch_add(1, simt::relaxed);
        // acquire: the segment was opened by a thread that waited for its last owners. release: see the count above.
        const std::uint64_t old = position.fetch_add(granules, simt::acq_rel);
        if (old >> segment_at == c >> segment_at && taken(old) + granules <= size) {
          return memory() + (std::size_t{s} << segment_shift_) + taken(old) * granule;
        }
        // What was taken is lost until its segment is opened again. relaxed: nothing was written there.
        count.fetch_sub(1, simt::relaxed);
        c = position.load(simt::acquire);
        continue;
      }
      const std::uint32_t t = next_empty(s);
      if (t == segments_) {
        const std::uint64_t now = position.load(simt::acquire);
        if (now == c) return nullptr;
        c = now;
        continue;
      }
      // While the cursor is c, nothing is taken from t, so t is still empty. release: publishes that, see next_empty().
      const std::uint64_t next = opened(c, t);
      if (position.compare_exchange_strong(c, next, simt::acq_rel, simt::acquire)) c = next;
    }
  }

  // The next segment behind s without live blocks; segments_ if there is none.
  SIMT_INLINE std::uint32_t next_empty(std::uint32_t s) const {
    SIMT_ROLLED
    for (std::uint32_t i = 1, t = s; i < segments_; ++i) {
      t = t + 1 == segments_ ? 0 : t + 1;
      // acquire: waits for the accesses to every block of the segment that was freed.
      if (simt::atomic_ref<std::uint32_t>(live()[t]).load(simt::acquire) == 0) return t;
    }
    return segments_;
  }

  std::byte* base_ = nullptr;
  std::size_t memory_offset_ = 0, ring_bytes_ = 0;
  std::uint32_t segments_ = 0;
  std::uint32_t segment_shift_ = 0;
  bool wait_ = false;
  LargePart large_;
};

}  // namespace heapwood::alloc
