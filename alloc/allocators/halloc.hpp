// SPDX-License-Identifier: MIT
// Halloc: A. V. Adinetz, D. Pleiter, "Halloc: a High-Throughput Dynamic Memory Allocator for GPGPU
// Architectures", 2014; RegEff section 4.5. Three quarters of the pool are slabs, each of one size
// class while it is used. A class allocates from a head slab, in a block found by hashing in the
// slab's bitmap. A head that is five sixths full (published: 83.5%) is replaced by a slab of the
// class that is less than five eighths full (60%), or by an empty one. Requests above 3 KiB go to
// another allocator.
//
// Differs from the paper:
//   - a slab's class and count are one word and its bitmap has one bit per block
//     (primitives/block_pages.hpp): slabs need no locks, and are neither lost nor in two sets. An
//     empty slab can change its class;
//   - up to 16 heads per class; they have slabs from the start, but any class can take an empty
//     slab, whether it is a head or not;
//   - a thread that finds a head to be replaced tries its lock once and otherwise continues with
//     the head, which has a sixth of its blocks left; it waits only if there is no head, for a
//     bounded time. When only full slabs are left, they are used up to the last block;
//   - 16-byte alignment, so no blocks of 24 bytes; slabs of 4 MiB only in large pools;
//   - a buddy allocator for large requests, not the device's malloc.
//
// Limits: the largest request is the largest block of the buddy, which has a quarter of the pool.
// Overhead: 0.8% for the bitmaps.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>

#include "alloc/primitives/block_pages.hpp"
#include "alloc/primitives/large_part.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

inline constexpr AllocatorSetting slab_setting = setting_of<&AllocatorOptions::slab_bytes>(
    {.key = "slab",
     .json = "slab_bytes",
     .about = "bytes of a slab (published: 4M); each class needs one",
     .min = 512,
     .max = std::size_t{64} << 20});

template <class Large>
struct HallocOn {
  using WithBuiltin = HallocOn<HeapPart>;

  static constexpr AllocatorTraits traits{
      .id = "halloc",
      .label = "Halloc",
      .paper = "Adinetz 2014, RegEff 4.5",
      .note = "slabs of one size, searched by hashing; a buddy above 3 KiB",
      .smallest_pool = 8192,
      .in_pool = Large::in_pool};
  static constexpr AllocatorSetting settings[2] = {slab_setting, large_setting};

  template <class Device>
  static HallocOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    const std::size_t area = Large::offset(pool.bytes, pool.bytes / 4 * 3);
    // At least 512 slabs if they are then large enough for several blocks of every class.
    const std::size_t wanted =
        std::min<std::size_t>(simt::bit_floor(area / 512 | 1), std::size_t{4} << 20);
    const std::size_t slab =
        options.slab_bytes != 0
            ? options.slab_bytes
            : std::max({wanted,
                        std::min<std::size_t>(simt::bit_floor(area / 32), std::size_t{16} << 10),
                        std::size_t{512}});
    HallocOn a;
    a.wait_ = options.wait_when_full;
    a.max_bytes_ = std::min<std::size_t>(3072, slab / 4);
    const std::uint32_t top = size_class::of(a.max_bytes_);
    const auto slabs = static_cast<std::uint32_t>(area / slab);
    if (options.slab_bytes != 0 && slabs <= top)
      throw Error(Exit::usage, std::string(traits.id) + ": a pool of " +
                                   std::to_string(pool.bytes) + " bytes has fewer than " +
                                   std::to_string(top + 1) + " slabs of " + std::to_string(slab) +
                                   ", one per class; give a larger pool or a smaller slab=");
    const std::uint32_t heads =
        slabs < 64
            ? 1
            : static_cast<std::uint32_t>(std::min<std::uint64_t>(16, simt::bit_floor(slabs / 32)));
    a.head_mask_ = heads - 1;
    a.head_stride_ = heads == 1 ? 1 : 32;
    a.heads_ = as<std::uint32_t>(pool.base + Large::head_bytes);
    const std::size_t heads_bytes =
        round_up(std::size_t{top + 1} * heads * a.head_stride_ * sizeof(std::uint32_t), 256);
    const std::size_t slabs_at = Large::head_bytes + heads_bytes;
    const auto slab_shift = simt::highest_bit(slab);
    // Initial slabs: one per class and head. Any class can take them while they are empty. The
    // heads of one class are far apart, because all threads count in them.
    std::vector<std::uint32_t> classes(slabs, BlockPages::none),
        first(heads_bytes / sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < (top + 1) * heads; ++i) {
      const std::uint32_t k = i / heads, page = i % heads * (slabs / heads) + k;
      if (k >= slabs / heads) continue;
      classes[page] = k;
      first[i * a.head_stride_] = page + 1;
    }
    a.slabs_ = BlockPages::create(pool.base + slabs_at, area - slabs_at,
                                  {.page_shift = slab_shift, .least = 0, .top = top, .roomy = true},
                                  device, classes);
    // The tables occupy the space of some slabs at the end; those cannot be heads.
    for (std::uint32_t& head : first) head = head > a.slabs_.pages() ? 0 : head;
    simt::device_upload(device.id(), a.heads_, first.data(), heads_bytes);
    const unsigned page_shift = std::clamp(slab_shift - 2, 6u, 12u);
    a.large_ = Large::create(pool.base, pool.base + area, pool.bytes - area, page_shift, device);
    return a;
  }

  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base, device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return attempt_until(thread, wait_, [&]() -> void* {
      if (bytes > max_bytes_) return large_.allocate(thread, bytes);
      const std::uint32_t k = size_class::of(bytes);
      // Lanes that request the same class of the same pool act as one.
      const LaneGroup<Thread> group(thread, thread.together(heads_ + k));
      std::uint32_t* const head =
          &heads_[(k * (head_mask_ + 1) + (thread.worker() & head_mask_)) * head_stride_];
      BlockPages::Seats seats{BlockPages::none, BlockPages::none, k};
      if (group.rank() == 0) {
        // relaxed, wherever heads are read and written: a head only selects the slab to try; the
        // slab's state orders all accesses to it.
        seats.page = slab_of(Word32(*head).load(simt::relaxed));
        if (seats.page != BlockPages::none)
          seats.before = slabs_.enter(seats.page, k, group.size());
      }
      seats = seats.shared_by(group);
      // A thread whose head is above the threshold takes the slow path, which replaces the head,
      // even if it has reserved a block there.
      const bool has_seat = seats.before < busy_threshold(slabs_, k) &&
                            group.rank() < seats.count(slabs_, group.size());
      const LaneGroup<Thread> part = group.part(has_seat);
      if (has_seat) return slabs_.take(thread, part, seats, first_block(slabs_, thread, seats));
      // Below the threshold, all reserved blocks belong to the lanes that have returned above; the
      // remaining lanes have none.
      if (seats.before < busy_threshold(slabs_, k)) seats.before = BlockPages::none;
      return allocate_slow(slabs_.self(), thread, part.lanes(), head, head_mask_ + 1, seats.page,
                           seats.before, k);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (block == nullptr) return;
    if (large_.owns(block)) return large_.deallocate(thread, block);
    slabs_.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const auto slabs_at =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(slabs_.self()) - origin());
    visit(Region{0, slabs_at, Region::State::metadata});
    slabs_.walk(host, origin(), visit);
    large_.walk(host, origin(), visit);
  }

 private:
  // A head is {locked, slab + 1}; 0: there is none yet.
  static constexpr std::uint32_t locked = 1u << 31;
  // Turns of waiting for another thread to replace a head.
  static constexpr unsigned max_turns = 64;

  static HEAPWOOD_INLINE std::uint32_t slab_of(std::uint32_t head) { return (head & ~locked) - 1; }
  static HEAPWOOD_INLINE std::uint32_t busy_threshold(const BlockPages& slabs, std::uint32_t k) {
    return slabs.blocks(k) - slabs.blocks(k) / 6;
  }
  static HEAPWOOD_INLINE std::uint32_t hash(std::uint32_t n, std::uint32_t range) {
    return scaled(n * 2654435769u, range);
  }
  const std::byte* origin() const {
    return reinterpret_cast<const std::byte*>(heads_) - Large::head_bytes;
  }

  // Where in the bitmap a group starts to search. The slab's count (seats.before) grows with each
  // reservation; 64 consecutive values use one word of the bitmap. A hash of the warp and the count
  // chooses the word, so that warps rarely meet in one.
  template <class Thread>
  static HEAPWOOD_INLINE std::uint32_t first_block(const BlockPages& slabs, const Thread& thread,
                                                   const BlockPages::Seats& seats) {
    const std::uint32_t words = (slabs.blocks(seats.k) + 63) / 64;
    const std::uint32_t block =
        hash(thread.worker() + seats.before / 64, words) * 64 + seats.before % 64;
    return block < slabs.blocks(seats.k) ? block : block % 64;
  }

  // Allocates a block for each lane of a group whose head is above the threshold or full. The group
  // may have reserved blocks in slab `page`, whose count was `before`; if not, `before` is `none`.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_slow(const BlockPages* slabs, Thread thread,
                                              std::uint32_t lanes, std::uint32_t* head,
                                              std::uint32_t heads, std::uint32_t page,
                                              std::uint32_t before, std::uint32_t k) {
    LaneGroup<Thread> group(thread, lanes);
    // Searches start after the initial heads.
    const std::uint32_t section = hash(thread.worker() * 16 + k, heads);
    const std::uint32_t start = section * (slabs->pages() / heads) + slabs->top() + 1;
    HEAPWOOD_ROLLED
    for (;;) {
      BlockPages::Seats seats{page, before, k};
      if (group.rank() == 0) seats = replace_head(slabs, thread, head, seats, start, group.size());
      seats = seats.shared_by(group);
      if (seats.before == BlockPages::none) return nullptr;
      const bool has_seat = group.rank() < seats.count(*slabs, group.size());
      group = group.part(has_seat);
      if (has_seat) return slabs->take(thread, group, seats, first_block(*slabs, thread, seats));
      page = seats.page;
      before = BlockPages::none;
    }
  }

  // Called if the head is above the threshold, or missing. Replaces it, unless another thread is
  // doing so, and returns reserved blocks.
  template <class Thread>
  static HEAPWOOD_INLINE BlockPages::Seats replace_head(const BlockPages* slabs,
                                                        const Thread& thread,
                                                        std::uint32_t* head_word,
                                                        BlockPages::Seats seats,
                                                        std::uint32_t start, std::uint32_t n) {
    const std::uint32_t k = seats.k;
    std::uint32_t last = seats.page;  // the head as seen by this thread
    bool has_waited = false;          // for the thread that is replacing the head
    Word32 head(*head_word);
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; turn < max_turns; ++turn) {
      std::uint32_t now = head.load(simt::relaxed);
      // Another thread has replaced the head.
      if (slab_of(now) != last) {
        if (seats.before != BlockPages::none) return seats;
        last = slab_of(now);
        has_waited = false;
        const std::uint32_t before = BlockPages::look_and_enter(slabs, last, k, n);
        if (before != BlockPages::none) return {last, before, k};
      }
      if ((now & locked) == 0) {
        if (has_waited) break;  // another thread has found no slab
        if (head.compare_exchange_strong(now, now | locked, simt::relaxed, simt::relaxed)) {
          const BlockPages::Seats next = take_new_head(slabs, k, start, n);
          head.store(next.before == BlockPages::none ? now : next.page + 1, simt::relaxed);
          if (next.before == BlockPages::none) break;
          if (now != 0) unmark_head(slabs, slab_of(now));
          if (seats.before == BlockPages::none) return next;
          slabs->count_off(next.page, next.count(*slabs, n));
          return seats;
        }
      }
      if (seats.before != BlockPages::none) return seats;
      has_waited = (now & locked) != 0;
      if (turn % 16 == 15 && thread.aborted()) return seats;
      thread.pause(turn);
    }
    // No slab can become a head. Searches empty slabs, then slabs with a free block of the class;
    // in this order, since the first search may add hints for the second.
    HEAPWOOD_ROLLED
    for (const std::uint32_t map : {slabs->empty(), slabs->room(k)}) {
      if (seats.before == BlockPages::none) seats = BlockPages::search(slabs, map, k, start, n);
    }
    return seats;
  }

  // Reserves blocks in a slab that is not a head yet, and marks the slab as one.
  static HEAPWOOD_INLINE BlockPages::Seats take_new_head(const BlockPages* slabs, std::uint32_t k,
                                                         std::uint32_t start, std::uint32_t n) {
    const std::uint32_t roomy = slabs->roomy(k);
    HEAPWOOD_ROLLED
    for (std::uint32_t slab; (slab = BlockPages::find(slabs, roomy, start)) != BlockPages::none;
         start = slab) {
      // relaxed: the mark keeps two heads from sharing a slab and orders no accesses. Of several
      // threads that want a head, the one that finds the mark clear gets the slab.
      const std::uint32_t old = slabs->state(slab).fetch_or(BlockPages::mark, simt::relaxed);
      if (slabs->serves(roomy, old)) {
        const std::uint32_t before = BlockPages::look_and_enter(slabs, slab, k, n);
        if (before != BlockPages::none) return {slab, before, k};
      }
      if ((old & BlockPages::mark) == 0)
        slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
      BlockPages::drop(slabs, slab, roomy);
    }
    const BlockPages::Seats seats = BlockPages::search(slabs, slabs->empty(), k, start, n, true);
    if (seats.before != BlockPages::none)
      slabs->state(seats.page).fetch_or(BlockPages::mark, simt::relaxed);
    return seats;
  }

  // Removes the mark of a slab that is no longer a head. (Another thread may have made it a head
  // again, of any class; then two heads share the slab.) If a hint says that the slab is empty,
  // replaces the hint by those of the slab's present state.
  static HEAPWOOD_INLINE void unmark_head(const BlockPages* slabs, std::uint32_t slab) {
    slabs->state(slab).fetch_and(~BlockPages::mark, simt::relaxed);
    BlockPages::drop(slabs, slab, slabs->empty());
  }

  BlockPages slabs_;
  Large large_;
  std::uint32_t* heads_ = nullptr;
  std::size_t max_bytes_ = 0;
  std::uint32_t head_mask_ = 0, head_stride_ = 1;
  bool wait_ = false;
};

using Halloc = HallocOn<LargePart>;

// With the platform's malloc for large requests, as the published code has it.
struct HallocBuiltin : WithHeap<HallocBuiltin, HallocOn<HeapPart>> {
  static constexpr AllocatorTraits traits{
      .id = "halloc-builtin",
      .label = "Halloc (malloc)",
      .paper = "Adinetz 2014, RegEff 4.5",
      .note = "halloc with the platform's malloc above 3 KiB, as published",
      .smallest_pool = 8192,
      .in_pool = false};
};

}  // namespace heapwood::alloc
