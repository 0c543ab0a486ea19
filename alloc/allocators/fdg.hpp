// SPDX-License-Identifier: MIT
// FDGMalloc (Widmer et al. 2013; RegEff section 4.4): every warp bump-allocates from superblocks of
// its own, and lanes of a warp that call together do so as one. Blocks are not freed individually;
// all memory is freed at once.
//
// Differs from the paper: a superblock is the next one of the pool, not a block of the device's
// malloc, so memory is freed by the next create() for all warps, not by a call at a warp's end; an
// atomic offset replaces one that the whole warp must move in lock step.
//
// Limits: the end of a superblock is lost if a request does not fit there; a request larger than a
// superblock takes whole ones. If there are more warps than slots, warps share slots.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "simt/warp.hpp"

namespace heapwood::alloc {

// Shared by both forms of FDGMalloc: the size of superblocks, the number of slots, and one request
// for all lanes of a warp that call together.
struct SuperblockShape {
  std::uint32_t granules = 512;  // per superblock
  std::uint32_t slots = 1;       // warps share slots if there are more warps

  // 8 KiB per superblock, as published, or less if `bytes` is small; one slot per resident warp if
  // each slot then has four superblocks.
  static SuperblockShape choose(std::size_t bytes, unsigned multiprocessors) {
    SuperblockShape s;
    while (s.granules > 32 && bytes / s.bytes() < 256) s.granules /= 2;
    s.slots = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(bytes / (4 * s.bytes()), 1, 64 * std::size_t{multiprocessors}));
    return s;
  }
  std::size_t bytes() const { return granules * granule; }
};

// Calls take(total, blocks) in one lane for all lanes that call together with the same `owner`, an
// address in the pool, and want at most `max` granules; a lane that wants more makes a request of
// its own. `take` returns the first of `total` granules, which hold `blocks` blocks, or nullptr if
// it refuses all of them. Returns this lane's block. max < 1024.
template <class Thread, class Take>
HEAPWOOD_INLINE std::byte* take_together(Thread& thread, const void* owner, std::size_t granules,
                                         std::uint32_t max, Take take) {
  const bool joins = granules <= max;
  const std::uint32_t lanes = thread.together(owner);
  std::uint32_t group = thread.ballot(lanes, joins);
  const simt::LaneSum sum =
      simt::sum_over<10>(thread, lanes, joins ? static_cast<std::uint32_t>(granules) : 0);
  if (!joins) group = 1u << thread.lane();
  const unsigned leader = simt::lowest_bit(group);
  std::byte* first = nullptr;
  if (thread.lane() == leader) first = take(joins ? sum.total : granules, simt::popcount(group));
  if (!joins) return first;
  first = reinterpret_cast<std::byte*>(
      thread.shfl(group, reinterpret_cast<std::uintptr_t>(first), leader));
  return first == nullptr ? nullptr : first + std::size_t{sum.before} * granule;
}

struct Fdg {
  static constexpr AllocatorTraits traits{
      .id = "fdg",
      .label = "FDGMalloc",
      .paper = "RegEff 4.4",
      .note = "superblocks, each used by one warp; frees everything at once",
      .frees = Frees::all_at_once,
      .lower_bound = true};

  template <class Device>
  static Fdg create(Pool pool, const AllocatorOptions&, const Device& device) {
    check_pool(traits, pool);
    Fdg f;
    f.base_ = pool.base;
    f.bytes_ = pool.bytes;
    const SuperblockShape shape = SuperblockShape::choose(pool.bytes, device.multiprocessors());
    f.granules_ = shape.granules;
    f.slots_ = shape.slots;
    f.used_granules_offset_ = slots_at + f.slots_ * slot_bytes;
    f.superblocks_ = static_cast<std::uint32_t>((pool.bytes - f.used_granules_offset_ - 256) /
                                                (shape.bytes() + sizeof(std::uint32_t)));
    f.memory_offset_ =
        round_up(f.used_granules_offset_ + f.superblocks_ * sizeof(std::uint32_t), 256);
    simt::device_fill(device.id(), pool.base, 0, f.used_granules_offset_);
    return f;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::size_t size = granules_ * granule;
    if (bytes > superblocks_ * size) return nullptr;
    return take_together(thread, base_, padded(bytes) / granule, granules_,
                         [&](std::size_t granules, std::uint32_t) {
                           return granules <= granules_
                                      ? allocate_from_slot(thread,
                                                           static_cast<std::uint32_t>(granules))
                                      : allocate_superblocks(granules);
                         });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread&, void*) {}

  // Space that a warp can still allocate is free; the unused end of a replaced superblock is held.
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    visit(Region{0, memory_offset_, Region::State::metadata});
    const auto used =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(host.read(next()), superblocks_));
    auto used_granules = host.read(used_granules_words(), used);
    std::vector<bool> open(used, false);
    const auto slots =
        host.read(as<const std::uint64_t>(base_ + slots_at), slots_ * slot_bytes / 8);
    for (std::size_t i = 0; i < slots.size(); i += slot_bytes / 8) {
      const std::uint32_t s = static_cast<std::uint32_t>(slots[i]) - 1;
      if (s >= used) continue;
      used_granules[s] = high(slots[i]);
      open[s] = true;
    }
    const std::size_t size = granules_ * granule;
    for (std::uint32_t s = 0; s < used;) {
      const std::size_t offset = memory_offset_ + s * size;
      const std::size_t bytes = std::size_t{used_granules[s]} * granule;
      const std::size_t whole = std::max(size, round_up(bytes, size));
      if (bytes > 0) visit(Region{offset, bytes, Region::State::used});
      if (bytes < whole)
        visit(Region{offset + bytes, whole - bytes,
                     open[s] ? Region::State::free : Region::State::held});
      s += static_cast<std::uint32_t>(whole / size);
    }
    const std::size_t end = memory_offset_ + superblocks_ * size;
    if (used < superblocks_) {
      visit(
          Region{memory_offset_ + used * size, (superblocks_ - used) * size, Region::State::free});
    }
    if (end < bytes_) visit(Region{end, bytes_ - end, Region::State::metadata});
  }

 private:
  // Each slot has a sector of its own.
  static constexpr std::size_t slots_at = 256, slot_bytes = 32;
  static constexpr std::uint32_t none = ~0u, closed = ~0u;

  HEAPWOOD_INLINE std::uint64_t* next() const { return as<std::uint64_t>(base_); }
  HEAPWOOD_INLINE std::uint32_t* used_granules_words() const {
    return as<std::uint32_t>(base_ + used_granules_offset_);
  }
  HEAPWOOD_INLINE std::byte* memory(std::uint64_t superblock) const {
    return base_ + memory_offset_ + superblock * granules_ * granule;
  }

  // Takes `count` superblocks and returns the first one, or `none`. relaxed, here and below: each
  // superblock is handed out once, so it has no earlier user.
  HEAPWOOD_INLINE std::uint64_t take(std::uint64_t count) const {
    Word64 word(*next());
    // Read before the add: a request that cannot be served must leave the rest for smaller ones.
    if (word.load(simt::relaxed) + count > superblocks_) return none;
    const std::uint64_t s = word.fetch_add(count, simt::relaxed);
    return s + count <= superblocks_ ? s : none;
  }

  HEAPWOOD_INLINE std::byte* allocate_superblocks(std::size_t granules) const {
    const std::uint64_t s = take((granules + granules_ - 1) / granules_);
    if (s == none) return nullptr;
    // A plain store: only walk() reads it, after the kernel.
    used_granules_words()[s] = static_cast<std::uint32_t>(granules);
    return memory(s);
  }

  // A slot is {granules allocated:32, superblock + 1:32}. A slot without a superblock behaves like
  // one whose superblock is full. The request that crosses a superblock's end brings the next one,
  // and later requests wait for that.
  template <class Thread>
  HEAPWOOD_INLINE std::byte* allocate_from_slot(Thread& thread, std::uint32_t granules) const {
    auto* slot = as<std::uint64_t>(base_ + slots_at + thread.worker() % slots_ * slot_bytes);
    Word64 word(*slot);
    HEAPWOOD_ROLLED
    for (;;) {
      const std::uint64_t old = word.fetch_add(std::uint64_t{granules} << 32, simt::relaxed);
      const auto s = static_cast<std::uint32_t>(old);
      const std::uint64_t used = old >> 32, size = s == 0 ? 0 : granules_;
      if (s == closed) return nullptr;
      if (used + granules <= size) return memory(s - 1) + used * granule;
      if (used <= size) {
        // A plain store: only walk() reads it, after the kernel.
        if (s != 0) used_granules_words()[s - 1] = static_cast<std::uint32_t>(used);
        const std::uint64_t fresh = take(1);
        // Nothing is ever freed, so a slot that once found no superblock stays closed.
        word.store(fresh == none ? closed : std::uint64_t{granules} << 32 | (fresh + 1),
                   simt::relaxed);
        return fresh == none ? nullptr : memory(fresh);
      }
      const auto changed = [&] {
        return static_cast<std::uint32_t>(word.load(simt::relaxed)) != s;
      };
      if (!simt::wait_until(thread, changed)) return nullptr;
    }
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, used_granules_offset_ = 0, memory_offset_ = 0;
  std::uint32_t granules_ = 0;  // per superblock
  std::uint32_t superblocks_ = 0, slots_ = 0;
};

}  // namespace heapwood::alloc
