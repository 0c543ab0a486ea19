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
// - up to 16 heads a class, as the counts of a head and of its class are words that every thread of a GPU changes; they
//   have slabs from the start, but an empty slab is anybody's, whether it is a head or not;
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
    const std::size_t slabs_at = Large::head_bytes + heads_bytes;
    const auto slab_shift = simt::highest_bit(slab);
    // Slabs to begin with, anybody's while they are empty; those of a class apart, because all threads count in them.
    std::vector<std::uint32_t> classes(slabs, BlockPages::none), first(heads_bytes / sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < (top + 1) * heads; ++i) {
      const std::uint32_t k = i / heads, at = i % heads * (slabs / heads) + k;
      if (k >= slabs / heads) continue;
      classes[at] = k;
      first[i * a.head_stride_] = at + 1;
    }
    a.slabs_ = BlockPages::create(pool.base + slabs_at, area - slabs_at,
                                  {.page_shift = slab_shift, .least = 0, .top = top, .roomy = true}, device, classes);
    for (std::uint32_t& head : first) head = head > a.slabs_.pages() ? 0 : head;  // the tables have taken some
    simt::device_upload(device.id(), a.heads_, first.data(), heads_bytes);
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
      // Lanes that ask for the same class ask together.
      const LaneGroup<Thread> group(thread, thread.together(reinterpret_cast<const void*>(std::uintptr_t{k})));
      std::uint32_t* const head = &heads_[(k * (head_mask_ + 1) + (thread.worker() & head_mask_)) * head_stride_];
      BlockPages::Seats seats{BlockPages::none, BlockPages::none, k};
      if (group.rank() == 0) {
        // relaxed, wherever heads are read and written: they only say which slab to try; its state orders the rest.
        seats.page = slab_of(simt::atomic_ref<std::uint32_t>(*head).load(simt::relaxed));
        if (seats.page != BlockPages::none) seats.before = slabs_.enter(seats.page, k, group.size());
      }
      seats = seats.shared_by(group);
      // A busy head is to be replaced, by who has a seat in it, too.
      const bool seated = seats.before < busy(slabs_, k) && group.rank() < seats.count(slabs_, group.size());
      const LaneGroup<Thread> part = group.part(seated);
      if (seated) return slabs_.take(thread, part, seats, place(slabs_, thread, seats));
      if (seats.before < busy(slabs_, k)) seats.before = BlockPages::none;  // the others of the group have those
      return elsewhere(slabs_.self(), thread, part.lanes(), head, head_mask_ + 1, seats.page, seats.before, k);
    });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    slabs_.deallocate(thread, block);
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

  // 64 consecutive counts go to one word of the bitmap, each warp to words of its own.
  template <class Thread>
  static SIMT_INLINE std::uint32_t place(const BlockPages& slabs, const Thread& thread,
                                         const BlockPages::Seats& seats) {
    const std::uint32_t words = (slabs.blocks(seats.k) + 63) / 64;
    const std::uint32_t at = hash(thread.worker() + seats.before / 64, words) * 64 + seats.before % 64;
    return at < slabs.blocks(seats.k) ? at : at % 64;
  }

  // A block for each lane of a group for which the head, with seats in slab `page` or none, is busy or has no room.
  template <class Thread>
  static SIMT_OUTLINE void* elsewhere(const BlockPages* slabs, Thread thread, std::uint32_t lanes, std::uint32_t* head,
                                      std::uint32_t heads, std::uint32_t page, std::uint32_t before, std::uint32_t k) {
    LaneGroup<Thread> group(thread, lanes);
    // Searches begin behind slabs that heads begin with.
    const std::uint32_t stretch = hash(thread.worker() * 16 + k, heads);
    const std::uint32_t start = stretch * (slabs->pages() / heads) + slabs->top() + 1;
    SIMT_ROLLED
    for (;;) {
      BlockPages::Seats seats{page, before, k};
      if (group.rank() == 0) seats = renew(slabs, thread, head, seats, start, group.size());
      seats = seats.shared_by(group);
      if (seats.before == BlockPages::none) return nullptr;
      const bool seated = group.rank() < seats.count(*slabs, group.size());
      group = group.part(seated);
      if (seated) return slabs->take(thread, group, seats, place(*slabs, thread, seats));
      page = seats.page;
      before = BlockPages::none;
    }
  }

  // The head is busy, or there is none. Replaces it, unless another thread does so just now, and returns seats.
  template <class Thread>
  static SIMT_INLINE BlockPages::Seats renew(const BlockPages* slabs, const Thread& thread, std::uint32_t* head_word,
                                             BlockPages::Seats seats, std::uint32_t start, std::uint32_t n) {
    const std::uint32_t k = seats.k;
    std::uint32_t last = seats.page;  // the head as this thread has seen it
    bool waited = false;              // for the thread that replaces it
    simt::atomic_ref<std::uint32_t> head(*head_word);
    SIMT_ROLLED
    for (unsigned turn = 0; turn < patience; ++turn) {
      std::uint32_t now = head.load(simt::relaxed);
      if (slab_of(now) != last) {  // it has been replaced
        if (seats.before != BlockPages::none) return seats;
        last = slab_of(now);
        waited = false;
        const std::uint32_t before = BlockPages::look_and_enter(slabs, last, k, n);
        if (before != BlockPages::none) return {last, before, k};
      }
      if ((now & locked) == 0) {
        if (waited) break;  // another thread has found no slab
        if (head.compare_exchange_strong(now, now | locked, simt::relaxed, simt::relaxed)) {
          const BlockPages::Seats next = replace(slabs, k, start, n);
          head.store(next.before == BlockPages::none ? now : next.page + 1, simt::relaxed);
          if (next.before == BlockPages::none) break;
          if (now != 0) resign(slabs, slab_of(now));
          if (seats.before == BlockPages::none) return next;
          slabs->count_off(next.page, next.count(*slabs, n));
          return seats;
        }
      }
      if (seats.before != BlockPages::none) return seats;
      waited = (now & locked) != 0;
      if (turn % 16 == 15 && thread.aborted()) return seats;
      thread.pause(turn);
    }
    // No slab for a head: any empty slab, any block of the class. (In this order: the search for an empty slab may bring
    // others to light that have blocks of the class.)
    SIMT_ROLLED
    for (const std::uint32_t map : {slabs->empty(), slabs->room(k)}) {
      if (seats.before == BlockPages::none) seats = BlockPages::search(slabs, map, k, start, n);
    }
    return seats;
  }

  // Seats in a slab that is no head yet, marked as one.
  static SIMT_INLINE BlockPages::Seats replace(const BlockPages* slabs, std::uint32_t k, std::uint32_t start,
                                               std::uint32_t n) {
    const std::uint32_t roomy = slabs->roomy(k);
    SIMT_ROLLED
    for (std::uint32_t slab; (slab = BlockPages::find(slabs, roomy, start)) != BlockPages::none; start = slab) {
      // relaxed: a mark only keeps heads from sharing a slab. It is an exclusive claim among those that want a head.
      const std::uint32_t old = slabs->state(slab).fetch_or(BlockPages::mark, simt::relaxed);
      if (slabs->serves(roomy, old)) {
        const std::uint32_t before = BlockPages::look_and_enter(slabs, slab, k, n);
        if (before != BlockPages::none) return {slab, before, k};
      }
      if ((old & BlockPages::mark) == 0) slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
      BlockPages::drop(slabs, slab, roomy);
    }
    const BlockPages::Seats seats = BlockPages::search(slabs, slabs->empty(), k, start, n, true);
    if (seats.before != BlockPages::none) slabs->state(seats.page).fetch_or(BlockPages::mark, simt::relaxed);
    return seats;
  }

  // The slab is no longer a head. (It may be one again already, of this class or another: then two heads share it.) If
  // it is still hinted at as empty, it is to be found as what it is from now on.
  static SIMT_INLINE void resign(const BlockPages* slabs, std::uint32_t slab) {
    slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
    BlockPages::drop(slabs, slab, slabs->empty());
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
