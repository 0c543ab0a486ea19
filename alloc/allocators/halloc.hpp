// SPDX-License-Identifier: MIT
// Halloc: A. V. Adinetz, D. Pleiter, "Halloc: a High-Throughput Dynamic Memory Allocator for GPGPU Architectures",
// 2014; RegEff section 4.5. Three quarters of the pool are slabs, each of one size class while it is used. A class
// allocates from a head slab, in a block that is found by hashing in the slab's bitmap; a head that is five sixths full
// (published: 83.5%) is replaced by a slab of the class that is less than five eighths full (60%), or by an empty one.
// Requests above 3 KiB go elsewhere.
// Differs from the paper:
// - a slab's class and count are one word and its bitmap is a bit a block (primitives/block_pages.hpp): slabs need no
//   locks, and are neither lost nor in two sets. An empty slab changes its class; the paper's nearly empty ones may,
//   too;
// - up to 16 heads a class, as the counts of a head and of its class are words that every thread of a GPU changes;
// - who finds a head to be replaced tries its lock once and else goes on with the head, which has a sixth of its blocks
//   left; waiting is bounded and only where there is none. When nothing is left but full slabs, these are used up to
//   the last block; the paper's stop at 83.5%;
// - 16-byte alignment, so no blocks of 24 bytes; slabs of 4 MiB only in large pools, smaller ones in smaller pools;
// - a buddy allocator for large requests, not the device's malloc.
// Limits: the largest request is the largest block of the buddy, which has a quarter of the pool. Overhead: 0.8% for
// the bitmaps.
#pragma once

#include <algorithm>

#include "alloc/primitives/block_pages.hpp"
#include "alloc/primitives/heap_part.hpp"
#include "alloc/primitives/large_part.hpp"

namespace heapwood::alloc {

template <class Large>
struct HallocOn {
  using WithBuiltin = HallocOn<HeapPart>;

  static constexpr AllocatorTraits traits{
      .id = "halloc",
      .label = "Halloc",
      .paper = "Adinetz 2014, RegEff 4.5",
      .note = "slabs of one size, searched by hashing; a buddy (or malloc: stress --large) above 3 KiB",
      .smallest_pool = 8192,
      .in_pool = Large::in_pool};

  template <class Device>
  static HallocOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    const std::size_t area = Large::offset(pool.bytes, pool.bytes / 4 * 3);
    // 512 slabs or more where that leaves them large enough for several blocks of every class.
    const std::size_t wanted = std::min<std::size_t>(simt::bit_floor(area / 512 | 1), std::size_t{4} << 20);
    const std::size_t slab =
        std::max({wanted, std::min<std::size_t>(simt::bit_floor(area / 32), std::size_t{16} << 10), std::size_t{512}});
    HallocOn a;
    a.wait_ = options.wait_when_full;
    a.most_ = std::min<std::size_t>(3072, slab / 4);
    const std::uint32_t top = size_class::of(a.most_);
    const auto slabs = static_cast<std::uint32_t>(area / slab);
    const std::uint32_t heads =
        slabs < 64 ? 1 : static_cast<std::uint32_t>(std::min<std::uint64_t>(16, simt::bit_floor(slabs / 32)));
    a.head_mask_ = heads - 1;
    a.head_stride_ = heads == 1 ? 1 : 32;
    a.heads_ = reinterpret_cast<std::uint32_t*>(pool.base + Large::head_bytes);
    const std::size_t heads_bytes =
        round_up(std::size_t{top + 1} * heads * a.head_stride_ * sizeof(std::uint32_t), 256);
    simt::device_fill(device.id(), a.heads_, 0, heads_bytes);
    const std::size_t slabs_at = Large::head_bytes + heads_bytes;
    const auto slab_shift = simt::highest_bit(slab);
    a.slabs_ = BlockPages::create(pool.base + slabs_at, area - slabs_at,
                                  {.page_shift = slab_shift, .least = 0, .top = top, .roomy = true}, device);
    const unsigned page_shift = std::clamp(slab_shift - 2, 6u, 12u);
    a.large_ = Large::create(pool.base, pool.base + area, pool.bytes - area, page_shift, device);
    return a;
  }

  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base, device);
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > most_) return large_.allocate(thread, bytes);
      const std::uint32_t k = size_class::of(bytes);
      std::uint32_t* const head = &heads_[(k * (head_mask_ + 1) + (thread.worker() & head_mask_)) * head_stride_];
      // relaxed, wherever heads are read and written: they only say which slab to try; its state orders the rest.
      const std::uint32_t seen = simt::atomic_ref<std::uint32_t>(*head).load(simt::relaxed);
      BlockPages::Seat seat{slab_of(seen), BlockPages::none, k};
      if (seat.page != BlockPages::none) seat.before = slabs_.reserve(seat.page, k);
      if (seat.before >= busy(slabs_, k)) {
        seat = renew(slabs_.self(), thread, head, seen, seat, hash(thread.worker() * 16 + k, slabs_.pages()));
      }
      if (seat.before == BlockPages::none) return nullptr;
      // 64 consecutive counts go to one word of the bitmap, each warp to words of its own.
      const std::uint32_t words = (slabs_.blocks(k) + 63) / 64;
      return slabs_.take(thread, seat, hash(thread.worker() + seat.before / 64, words) * 64 + seat.before % 64);
    });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    slabs_.deallocate(block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const auto slabs_at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(slabs_.self()) - origin());
    visit(Region{0, slabs_at, Region::State::metadata});
    slabs_.walk(host, origin(), visit);
    large_.walk(host, origin(), visit);
  }

 private:
  // A head is {locked, slab + 1}; 0: there is none yet.
  static constexpr std::uint32_t locked = 1u << 31;
  static constexpr unsigned patience = 64;  // turns of waiting for the thread that replaces a head

  static SIMT_INLINE std::uint32_t slab_of(std::uint32_t head) { return (head & ~locked) - 1; }
  static SIMT_INLINE std::uint32_t busy(const BlockPages& slabs, std::uint32_t k) {
    return slabs.blocks(k) - slabs.blocks(k) / 6;
  }
  static SIMT_INLINE std::uint32_t hash(std::uint32_t n, std::uint32_t range) {
    return static_cast<std::uint32_t>((std::uint64_t{n * 2654435769u} * range) >> 32);
  }
  const std::byte* origin() const { return reinterpret_cast<const std::byte*>(heads_) - Large::head_bytes; }

  // The head is busy, or there is none. Replaces it, unless another thread does so just now, and returns a seat.
  template <class Thread>
  static SIMT_OUTLINE BlockPages::Seat renew(const BlockPages* slabs, Thread thread, std::uint32_t* head_word,
                                             std::uint32_t seen, BlockPages::Seat seat, std::uint32_t start) {
    const std::uint32_t k = seat.k;
    simt::atomic_ref<std::uint32_t> head(*head_word);
    SIMT_ROLLED
    for (unsigned turn = 0; turn < patience; ++turn) {
      std::uint32_t now = head.load(simt::relaxed);
      if (now != seen && slab_of(now) != slab_of(seen)) {  // it has been replaced
        if (seat.before != BlockPages::none) return seat;
        const std::uint32_t before = slabs->reserve(slab_of(now), k);
        if (before != BlockPages::none) return {slab_of(now), before, k};
        seen = now;
      }
      if ((now & locked) == 0) {
        if (turn > 0 && now == seen) break;  // another thread has found no slab
        if (head.compare_exchange_strong(now, now | locked, simt::relaxed, simt::relaxed)) {
          const BlockPages::Seat next = replace(slabs, k, start);
          head.store(next.before == BlockPages::none ? now : next.page + 1, simt::relaxed);
          if (next.before == BlockPages::none) break;
          if (now != 0) resign(slabs, slab_of(now), k);
          if (seat.before == BlockPages::none) return next;
          slabs->count_off(next.page);
          return seat;
        }
      }
      if (seat.before != BlockPages::none) return seat;
      if (turn % 16 == 15 && thread.aborted()) return seat;
      thread.pause(turn);
    }
    // No slab for a head: any block of the class, any empty slab.
    if (seat.before == BlockPages::none) seat = BlockPages::search(slabs, slabs->room(k), k, start);
    if (seat.before == BlockPages::none) seat = BlockPages::search(slabs, slabs->empty(), k, start);
    return seat;
  }

  // A seat in a slab that is no head yet, marked as one.
  static SIMT_INLINE BlockPages::Seat replace(const BlockPages* slabs, std::uint32_t k, std::uint32_t start) {
    const SumMap roomy = slabs->hints(slabs->roomy(k));
    SIMT_ROLLED
    for (std::uint32_t slab; (slab = roomy.find(start)) != SumMap::none; start = slab) {
      // relaxed: a mark only keeps heads from sharing a slab. It is an exclusive claim among those that want a head.
      const std::uint32_t old = slabs->state(slab).fetch_or(BlockPages::mark, simt::relaxed);
      if (slabs->serves(slabs->roomy(k), old)) {
        const std::uint32_t before = slabs->reserve(slab, k);
        if (before != BlockPages::none) return {slab, before, k};
      }
      if ((old & BlockPages::mark) == 0) slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
      BlockPages::refresh(slabs, slab, slabs->roomy(k));
    }
    const BlockPages::Seat seat = BlockPages::search(slabs, slabs->empty(), k, start);
    if (seat.before != BlockPages::none) slabs->state(seat.page).fetch_or(BlockPages::mark, simt::relaxed);
    return seat;
  }

  // The slab is no longer a head. (It may be one again already, of this class or another: then two heads share it.)
  static SIMT_INLINE void resign(const BlockPages* slabs, std::uint32_t slab, std::uint32_t k) {
    slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
    BlockPages::refresh(slabs, slab, slabs->roomy(k));
  }

  BlockPages slabs_;
  Large large_;
  std::uint32_t* heads_ = nullptr;
  std::size_t most_ = 0;
  std::uint32_t head_mask_ = 0, head_stride_ = 1;
  bool wait_ = false;
};

using Halloc = HallocOn<LargePart>;

}  // namespace heapwood::alloc
