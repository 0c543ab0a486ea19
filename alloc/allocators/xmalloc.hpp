// SPDX-License-Identifier: MIT
// XMalloc (Huang et al. 2010, 2013; RegEff section 2): size classes in powers of two; a class is
// served from superblocks of 16 basic blocks; superblocks and large requests come from a general
// allocator.
//
// Differs from the paper:
//   - the first-level buffer of a class is one word that names the current superblock, its blocks
//     that may be allocated, and how many have been: an allocation is one fetch_add;
//   - superblocks with free blocks are on stacks, one stack per such word, not in one FIFO per
//     class;
//   - the general allocator is primitives/buddy.hpp, and free superblocks are returned to it when
//     it is exhausted; the published ones are permanent;
//   - basic blocks start at 64 bytes, not 512: lanes are not coalesced here (adaptors/coalesced.hpp
//     does that for any allocator), so small requests do occur;
//   - a header of 16 bytes in front of each block names its superblock (8 published), so that
//     blocks are aligned to 16 bytes.
//
// Limits: sizes up to 8176 bytes are rounded up to 2^k - 16, larger ones to whole pages of 1 KiB;
// the largest is the buddy's largest block. A block in use keeps its superblock in its class. At
// most 64 GiB of a pool are used.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <map>

#include "alloc/primitives/buddy.hpp"
#include "alloc/primitives/large_part.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/math.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Superblocks always come from the buddy; Large serves requests above the largest class.
template <class Large>
struct XMallocOn {
  using WithBuiltin = XMallocOn<HeapPart>;

  static constexpr AllocatorTraits traits{
      .id = "xmalloc",
      .label = "XMalloc",
      .paper = "Huang et al. 2013",
      .note = "superblocks of 16 blocks of one size; a buddy above 8 KiB",
      .smallest_pool = 8192,
      .in_pool = Large::in_pool};
  static constexpr AllocatorSetting settings[1] = {large_setting};

  template <class Device>
  static XMallocOn create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    XMallocOn x;
    x.base_ = pool.base;
    x.bytes_ = pool.bytes;
    x.wait_ = options.wait_when_full;
    // Bins hold open superblocks, one per class and bin: at most a sixteenth of the pool.
    constexpr std::size_t bytes_per_bin = blocks * (smallest_block << classes);
    x.bins_ = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(pool.bytes / 16 / bytes_per_bin, 1,
                                std::size_t{bins_per_multiprocessor} * device.multiprocessors()));
    const std::size_t used = std::min(pool.bytes, largest_pool);
    x.pages_ = static_cast<std::uint32_t>((used >> page_shift) + 1);
    x.state_offset_ = bins_at + std::size_t{x.bins_} * classes * sizeof(Bin);
    x.link_offset_ = x.state_offset_ + std::size_t{x.pages_} * sizeof(std::uint32_t);
    x.memory_offset_ =
        round_up(x.link_offset_ + std::size_t{x.pages_} * sizeof(std::uint32_t), 256);
    simt::device_fill(device.id(), pool.base, 0, x.memory_offset_);
    x.buddy_ =
        Buddy::create(pool.base + x.memory_offset_, used - x.memory_offset_, page_shift, device);
    if constexpr (!Large::in_pool) {
      x.heap_ =
          HeapPart::create(pool.base + heap_at, pool.base + pool.bytes, 0, page_shift, device);
    }
    return x;
  }
  static void release(Pool pool, const simt::DeviceId& device) requires(!Large::in_pool) {
    Large::release(pool.base + heap_at, device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    std::uint32_t c = 0;
    HEAPWOOD_ROLLED
    while (c < classes && (smallest_block << c) - header < bytes) ++c;
    return attempt_until(thread, wait_, [&]() -> void* {
      if constexpr (!Large::in_pool) {
        if (c == classes) return heap_.allocate(thread, bytes);
      }
      void* block = c < classes ? take(thread, c) : nullptr;
      return block != nullptr ? block : allocate_pages(thread, bytes);
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* pointer) {
    if (pointer == nullptr) return;
    if constexpr (!Large::in_pool) {
      if (heap_.owns(pointer)) return heap_.deallocate(thread, pointer);
    }
    auto* block = static_cast<std::byte*>(pointer) - header;
    // A large block is aligned to 256 bytes. The block of a class follows its header of 16 bytes,
    // which is aligned to 64 or more.
    if (reinterpret_cast<std::uintptr_t>(pointer) % smallest_block == 0)
      return buddy_.deallocate(pointer);
    const Header h = *reinterpret_cast<const Header*>(block);
    const std::uint32_t page = page_of(h.superblock);
    const std::uint32_t bit = 1u << (h.class_and_block % blocks);
    // release: hands the block over. All changes of `state` are read-modify-writes, so a thread
    // that takes the superblock's free blocks synchronizes with all their owners.
    const std::uint32_t old = Word32(*state(page)).fetch_or(bit, simt::release);
    // relaxed: a count that only tells whether a search is worthwhile.
    if (((old | bit) & all_blocks) == all_blocks) empty_superblocks().fetch_add(1, simt::relaxed);
    if ((old & all_blocks) == 0)
      push(bin(own_bin(thread), h.class_and_block / blocks), h.superblock);
  }

  // Blocks are separate regions; a superblock that is free and in no bin is one region.
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    const auto states = host.read(state(0), pages_);
    std::map<std::uint32_t, std::uint32_t> in_bins;  // superblock: blocks not handed out
    for (const Bin& b : host.read(bin(0, 0), std::size_t{bins_} * classes)) {
      std::uint32_t left = mask_of(b.open);
      for (std::uint32_t n = next_of(b.open); n > 0 && left != 0; --n) left &= left - 1;
      if (left != 0) in_bins[superblock_of(b.open)] |= left;
    }
    buddy_.walk(host, base_, [&](const Region& region) {
      if (region.state != Region::State::used) return visit(region);
      const auto superblock = static_cast<std::uint32_t>((region.offset - memory_offset_) / unit);
      const std::uint32_t s = states[page_of(superblock)];
      if (s >> class_shift == 0) return visit(region);
      const auto found = in_bins.find(superblock);
      if (found == in_bins.end() && (s & all_blocks) == all_blocks) {
        return visit(Region{region.offset, region.bytes, Region::State::free});
      }
      const std::uint32_t free = (s & all_blocks) | (found == in_bins.end() ? 0 : found->second);
      for (std::uint32_t i = 0; i < blocks; ++i) {
        visit(Region{region.offset + i * (region.bytes / blocks), region.bytes / blocks,
                     (free >> i & 1) != 0 ? Region::State::free : Region::State::used});
      }
    });
    const std::size_t end = std::min(bytes_, largest_pool);
    if (end < bytes_) visit(Region{end, bytes_ - end, Region::State::metadata});
  }

 private:
  static constexpr std::uint32_t blocks = 16, all_blocks = (1u << blocks) - 1;  // per superblock
  static constexpr std::uint32_t classes = 8;
  static constexpr std::size_t smallest_block = 64, header = granule;
  static constexpr unsigned page_shift = 10;  // a superblock of the smallest class
  static constexpr unsigned bins_per_multiprocessor = 4;
  static constexpr std::size_t largest_pool = std::size_t{64} << 30;
  static constexpr std::size_t heap_at = 256,
                               bins_at = Large::in_pool ? heap_at : heap_at + HeapPart::head_bytes;
  // A page's state: class + 1, above the bits of the free blocks.
  static constexpr unsigned class_shift = blocks;

  // A superblock is identified by its offset in units of 256 bytes, to which pages are aligned.
  static constexpr std::size_t unit = 256;
  struct Header {
    std::uint32_t superblock, class_and_block;  // class * blocks + number of the block
  };

  // open: {allocations so far:20, blocks that may be allocated:16, superblock:28}. The first thread
  // to find it used up brings the next superblock, and later ones wait for that. The count has
  // space for every lane of the largest GPU.
  struct Bin {
    std::uint64_t open;
    // {exchanges so far:32, superblock on top + 1:32}; the superblocks below are linked.
    std::uint64_t stack;
    std::uint64_t unused[2];
  };
  HEAPWOOD_INLINE static std::uint32_t superblock_of(std::uint64_t open) {
    return low(open) & 0xfffffffu;
  }
  HEAPWOOD_INLINE static std::uint32_t mask_of(std::uint64_t open) {
    return static_cast<std::uint32_t>(open >> 28) & all_blocks;
  }
  HEAPWOOD_INLINE static std::uint32_t next_of(std::uint64_t open) {
    return static_cast<std::uint32_t>(open >> 44);
  }
  static constexpr std::uint64_t one_allocation = std::uint64_t{1} << 44;

  HEAPWOOD_INLINE std::uint32_t own_bin(const auto& thread) const {
    return (thread.sm() * bins_per_multiprocessor + thread.worker() % bins_per_multiprocessor) %
           bins_;
  }
  HEAPWOOD_INLINE Bin* bin(std::uint32_t index, std::uint32_t c) const {
    return reinterpret_cast<Bin*>(base_ + bins_at) + index * classes + c;
  }
  HEAPWOOD_INLINE std::uint32_t* state(std::uint32_t page) const {
    return as<std::uint32_t>(base_ + state_offset_) + page;
  }
  HEAPWOOD_INLINE std::uint32_t* link(std::uint32_t page) const {
    return as<std::uint32_t>(base_ + link_offset_) + page;
  }
  // The page in which a superblock begins. All pages have the same offset from a multiple of their
  // size, so the division gives each page a number of its own.
  HEAPWOOD_INLINE static std::uint32_t page_of(std::uint32_t superblock) {
    return superblock / static_cast<std::uint32_t>((std::size_t{1} << page_shift) / unit);
  }
  HEAPWOOD_INLINE std::byte* memory(std::uint32_t superblock) const {
    return base_ + memory_offset_ + superblock * unit;
  }
  // The number of superblocks whose blocks are all free; may briefly be off by one.
  HEAPWOOD_INLINE Word32 empty_superblocks() const { return Word32(*as<std::uint32_t>(base_)); }

  // Prepares the number-th block in `mask` for its user.
  HEAPWOOD_INLINE void* block(std::uint64_t open, std::uint32_t number, std::uint32_t c) const {
    std::uint32_t mask = mask_of(open);
    HEAPWOOD_ROLLED
    for (; number > 0; --number) mask &= mask - 1;
    const std::uint32_t index = simt::lowest_bit(mask);
    std::byte* address = memory(superblock_of(open)) + index * (smallest_block << c);
    *reinterpret_cast<Header*>(address) = {superblock_of(open), c * blocks + index};
    return address + header;
  }

  // Tries the bin of this multiprocessor, then the remaining blocks of the other bins.
  template <class Thread>
  HEAPWOOD_INLINE void* take(Thread& thread, std::uint32_t c) const {
    std::uint32_t index = own_bin(thread);
    HEAPWOOD_ROLLED
    for (std::uint32_t turn = 0; turn < bins_;) {
      Bin* b = bin(index, c);
      Word64 open(b->open);
      // The counts of other bins are read before they are increased, because a count must not grow
      // without bound. relaxed: decides only whether to try.
      if (turn == 0 || !is_used_up(open.load(simt::relaxed)) ||
          top_of(Word64(b->stack).load(simt::relaxed)) != 0) {
        // acquire: synchronizes with the last owners of the blocks, directly or through the refill.
        std::uint64_t seen = open.fetch_add(one_allocation, simt::acquire);
        const std::uint32_t count = simt::popcount(mask_of(seen)), number = next_of(seen);
        if (number < count) return block(seen, number, c);
        if (number == count) {
          // The first request after the last block opens the next superblock.
          const std::uint64_t fresh = refill(thread, b, c);
          // release: together with the acquire of the next thread, orders the last owners' accesses
          // before that thread's. If there is no superblock, the next thread tries again.
          open.store(fresh != 0 ? fresh + one_allocation : failed_word(seen), simt::release);
          if (fresh != 0) return block(fresh, 0, c);
        } else {
          // Later requests wait for that superblock.
          const std::uint64_t before = seen;
          const auto changed = [&] {
            seen = open.load(simt::relaxed);
            return (seen ^ before) % one_allocation != 0 ||
                   next_of(seen) <= simt::popcount(mask_of(seen));
          };
          if (!simt::wait_until(thread, changed)) return nullptr;
          if (mask_of(seen) != 0) continue;
        }
      }
      ++turn;
      index = index + 1 == bins_ ? 0 : index + 1;
    }
    return nullptr;
  }
  HEAPWOOD_INLINE static bool is_used_up(std::uint64_t open) {
    return next_of(open) >= simt::popcount(mask_of(open));
  }
  // The word that a failed refill stores: no blocks, and another superblock number than before. The
  // changed number tells waiting threads that the refill is over.
  HEAPWOOD_INLINE static std::uint64_t failed_word(std::uint64_t open) {
    return (superblock_of(open) + 1) & 0xfffffffu;
  }

  // Returns a superblock with free blocks as a word for Bin::open, or 0.
  template <class Thread>
  HEAPWOOD_OUTLINE std::uint64_t refill(Thread& thread, Bin* b, std::uint32_t c) const {
    const std::uint32_t top = pop(b);
    if (top != 0) {
      const std::uint32_t superblock = top - 1;
      // acquire: synchronizes with the last owners of the blocks.
      const std::uint32_t free =
          Word32(*state(page_of(superblock))).fetch_and(~all_blocks, simt::acquire) & all_blocks;
      if (free == all_blocks) empty_superblocks().fetch_sub(1, simt::relaxed);
      return std::uint64_t{free} << 28 | superblock;
    }
    auto* memory = static_cast<std::byte*>(buddy_.allocate(thread, blocks * (smallest_block << c)));
    if (memory == nullptr) return 0;
    const auto superblock = static_cast<std::uint32_t>((memory - base_ - memory_offset_) / unit);
    // relaxed: no other thread knows this superblock; the buddy synchronized with its last owners.
    Word32(*state(page_of(superblock))).store((c + 1) << class_shift, simt::relaxed);
    return std::uint64_t{all_blocks} << 28 | superblock;
  }

  // Serves large requests, and those that found no superblock.
  template <class Thread>
  HEAPWOOD_OUTLINE void* allocate_pages(Thread& thread, std::size_t bytes) const {
    void* pages = nullptr;
    HEAPWOOD_ROLLED
    while ((pages = buddy_.allocate(thread, bytes)) == nullptr && release_superblocks()) {
    }
    return pages;
  }

  // Returns all superblocks that are wholly free to the buddy. Returns false if there are none.
  HEAPWOOD_INLINE bool release_superblocks() const {
    if (static_cast<std::int32_t>(empty_superblocks().load(simt::relaxed)) <= 0) return false;
    bool any = false;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < bins_ * classes; ++i) {
      Bin* b = bin(0, 0) + i;
      // Takes all superblocks of the stack at once. acquire: makes their links visible.
      std::uint32_t top = detach(b);
      HEAPWOOD_ROLLED
      while (top != 0) {
        const std::uint32_t superblock = top - 1, page = page_of(superblock);
        top = Word32(*link(page)).load(simt::relaxed);
        Word32 word(*state(page));
        std::uint32_t old = word.load(simt::relaxed);
        // acquire: synchronizes with the last owners of all its blocks. From here on the superblock
        // belongs to this thread alone.
        if ((old & all_blocks) == all_blocks &&
            word.compare_exchange_strong(old, 0, simt::acquire, simt::relaxed)) {
          empty_superblocks().fetch_sub(1, simt::relaxed);
          buddy_.deallocate(memory(superblock));
          any = true;
        } else {
          push(b, superblock);
        }
      }
    }
    return any;
  }

  // Invariant: if a superblock's state shows free blocks, it is on a stack, or a thread has just
  // popped it or is about to push it; else neither. The free of its first block pushes it.
  HEAPWOOD_INLINE static std::uint32_t top_of(std::uint64_t stack) { return low(stack); }
  HEAPWOOD_INLINE static std::uint64_t with_top(std::uint64_t stack, std::uint32_t top) {
    return ((stack >> 32) + 1) << 32 | top;
  }
  HEAPWOOD_INLINE void push(Bin* b, std::uint32_t superblock) const {
    Word64 stack(b->stack);
    Word32 below(*link(page_of(superblock)));
    std::uint64_t seen = stack.load(simt::relaxed);
    do {
      below.store(top_of(seen), simt::relaxed);
      // release: publishes the link.
    } while (!stack.compare_exchange_weak(seen, with_top(seen, superblock + 1), simt::release,
                                          simt::relaxed));
  }
  // Returns the superblock on top + 1, or 0.
  HEAPWOOD_INLINE std::uint32_t pop(Bin* b) const {
    Word64 stack(b->stack);
    // acquire, here and below: makes the link of the top superblock visible.
    std::uint64_t seen = stack.load(simt::acquire);
    HEAPWOOD_ROLLED
    while (top_of(seen) != 0) {
      const std::uint32_t below = Word32(*link(page_of(top_of(seen) - 1))).load(simt::relaxed);
      // The count of exchanges makes this fail if the top was popped and pushed again (ABA).
      if (stack.compare_exchange_weak(seen, with_top(seen, below), simt::acquire, simt::acquire))
        return top_of(seen);
    }
    return 0;
  }
  HEAPWOOD_INLINE std::uint32_t detach(Bin* b) const {
    Word64 stack(b->stack);
    std::uint64_t seen = stack.load(simt::acquire);  // acquire: makes the links visible
    HEAPWOOD_ROLLED
    while (top_of(seen) != 0 &&
           !stack.compare_exchange_weak(seen, with_top(seen, 0), simt::acquire, simt::acquire)) {
    }
    return top_of(seen);
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, state_offset_ = 0, link_offset_ = 0, memory_offset_ = 0;
  std::uint32_t bins_ = 1, pages_ = 0;
  bool wait_ = false;
  Buddy buddy_;
  HeapPart heap_;  // with the built-in malloc
};

using XMalloc = XMallocOn<LargePart>;

// With the platform's malloc for large requests, as the published code has it.
struct XMallocBuiltin : WithHeap<XMallocBuiltin, XMallocOn<HeapPart>> {
  static constexpr AllocatorTraits traits{
      .id = "xmalloc-builtin",
      .label = "XMalloc (malloc)",
      .paper = "Huang et al. 2013",
      .note = "xmalloc with the platform's malloc above 8 KiB, as published",
      .smallest_pool = 8192,
      .in_pool = false};
};

}  // namespace heapwood::alloc
