// SPDX-License-Identifier: MIT
// AWMalloc that never overwrites live memory: own design after RegEff section 5.1. Half of the pool is a ring of
// segments, filled one after the other with AWMalloc's bump of one offset; each segment counts its live blocks, and the
// ring only moves on to a segment whose count is 0. The other half is a buddy allocator (primitives/buddy.hpp) for
// requests of more than a quarter of a segment; each half helps out when the other is full.
// Differs from the paper: frees really free, "full" is said instead of overwriting, one more atomic add an allocation.
// Limits: one long-lived block holds its whole segment; the largest request is the buddy's largest block.
#pragma once

#include <bit>

#include "alloc/primitives/buddy.hpp"

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
    const std::size_t tables = 256 + most_segments * sizeof(std::uint32_t);
    // 128 to 255 segments once the pool is large, at least 256 bytes each before that.
    a.segment_shift_ = 8;
    while (((half - 256) >> a.segment_shift_) >= most_segments) ++a.segment_shift_;
    a.segments_ = static_cast<std::uint32_t>((half - tables) >> a.segment_shift_);
    a.memory_offset_ = tables;
    a.ring_bytes_ = half;
    simt::device_fill(device.id(), pool.base, 0, tables);
    const std::uint32_t own = 1;  // the open segment's count includes the ring itself
    simt::device_upload(device.id(), a.live(), &own, sizeof(own));
    const unsigned page_shift = a.segment_shift_ > 9 ? (a.segment_shift_ < 19 ? a.segment_shift_ - 3 : 16) : 6;
    a.large_ = Buddy::create(pool.base + half, pool.bytes - half, page_shift, device);
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
    const std::uint64_t open = host.read(cursor());
    const auto counts = host.read(live(), segments_);
    const std::size_t size = std::size_t{1} << segment_shift_;
    for (std::uint32_t s = 0; s < segments_; ++s) {
      const std::size_t at = memory_offset_ + s * size;
      if (s != open >> 32) {
        visit(Region{at, size, counts[s] > 0 ? Region::State::used : Region::State::free});
        continue;
      }
      const std::size_t filled = (open & 0xffffffffu) * granule;
      if (filled > 0) visit(Region{at, filled, counts[s] > 1 ? Region::State::used : Region::State::held});
      if (filled < size) visit(Region{at + filled, size - filled, Region::State::free});
    }
    const std::size_t end = memory_offset_ + segments_ * size;
    if (end < ring_bytes_) visit(Region{end, ring_bytes_ - end, Region::State::metadata});
    large_.walk(host, base_, visit);
  }

 private:
  static constexpr std::uint32_t most_segments = 256;

  SIMT_INLINE std::uint64_t* cursor() const { return reinterpret_cast<std::uint64_t*>(base_); }
  SIMT_INLINE std::uint32_t* live() const { return reinterpret_cast<std::uint32_t*>(base_ + 256); }
  SIMT_INLINE std::byte* memory() const { return base_ + memory_offset_; }

  // The cursor is {open segment:32, granules handed out of it:32}. A value that comes back after a lap means the same
  // as before, so an exchange that mistakes the one for the other does no harm.
  SIMT_INLINE void* bump(std::uint32_t granules) const {
    simt::atomic_ref<std::uint64_t> position(*cursor());
    // acquire: the segment was opened by a thread that waited for its last owners (below); go on from there.
    std::uint64_t c = position.load(simt::acquire);
    SIMT_ROLLED
    for (;;) {
      const auto s = static_cast<std::uint32_t>(c >> 32);
      const auto filled = static_cast<std::uint32_t>(c);
      if (filled + granules <= (1u << segment_shift_) / granule) {
        simt::atomic_ref<std::uint32_t> count(live()[s]);
        // Counted before it is taken, so that the segment cannot be opened again in between. relaxed: an addition keeps
        // the chain of releases by those that free.
        count.fetch_add(1, simt::relaxed);
        // acq_rel: acquire as above; release passes it on to the next one that reads this cursor.
        if (position.compare_exchange_weak(c, c + granules, simt::acq_rel, simt::acquire)) {
          return memory() + (std::size_t{s} << segment_shift_) + std::size_t{filled} * granule;
        }
        count.fetch_sub(1, simt::release);
        continue;
      }
      const std::uint32_t t = claim_empty(s);
      if (t == segments_) {
        // acquire: as above.
        const std::uint64_t now = position.load(simt::acquire);
        if (now == c) return nullptr;
        c = now;
        continue;
      }
      // acq_rel: release publishes that segment t is empty, learnt by claim_empty.
      const bool moved = position.compare_exchange_strong(c, std::uint64_t{t} << 32, simt::acq_rel, simt::acquire);
      // The ring's own count leaves the segment that was closed, or the one that was not needed.
      simt::atomic_ref<std::uint32_t>(live()[moved ? s : t]).fetch_sub(1, simt::release);
      if (moved) c = std::uint64_t{t} << 32;
    }
  }

  // The next segment after s without live blocks, now counted once for the ring; segments_ if there is none.
  SIMT_INLINE std::uint32_t claim_empty(std::uint32_t s) const {
    SIMT_ROLLED
    for (std::uint32_t i = 1, t = s; i < segments_; ++i) {
      t = t + 1 == segments_ ? 0 : t + 1;
      simt::atomic_ref<std::uint32_t> count(live()[t]);
      std::uint32_t empty = count.load(simt::relaxed);
      // acquire: waits for the accesses to every block of the segment that was freed.
      if (empty == 0 && count.compare_exchange_strong(empty, 1, simt::acquire, simt::relaxed)) return t;
    }
    return segments_;
  }

  std::byte* base_ = nullptr;
  std::size_t memory_offset_ = 0, ring_bytes_ = 0;
  std::uint32_t segments_ = 0;
  std::uint32_t segment_shift_ = 0;
  bool wait_ = false;
  Buddy large_;
};

}  // namespace heapwood::alloc
