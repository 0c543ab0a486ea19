// SPDX-License-Identifier: MIT
// A pool that grows. Its addresses are reserved, and the allocator uses the first superblocks:
// those that have memory. Tables have space for all; the words of the others are `body`. The size
// of the pool is in its copy of SharedPages, which requests read before they search, so earlier
// handles use what has been added. Host code: no kernel may use the pool at the same time.
#pragma once

#include "alloc/heapwood/layout.hpp"

namespace heapwood::alloc::arena {

// The memory that a pool needs, in bytes from its start: all up to the tables' end, and the blocks.
struct Extent {
  std::size_t tables_end = 0, blocks_begin = 0, blocks_end = 0;
};

// Kernels. Each has the pool to itself, so its accesses need no order.
namespace growth_kernels {
// Adds arenas to the pool, and forgets that it was full.
struct Add {
  SharedPages shared;
  std::uint32_t first, arenas;

  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    const Arenas& all = shared.pages.arenas;
    if (i < arenas) {
      all.counts[first + i] = 0;
      shared.previous[first + i] = OwnedBlocks::no_arena;
      if (i % Arenas::per_superblock == 0)
        all.superblock_words[(first + i) / Arenas::per_superblock] = 0;
    }
    if (i < 1u << shared.slot_shift) shared.refusals[i] = Refusals::none;
    if (i == 0) shared.clear_full();
    // Requests look there first, once they have used the arenas that no search finds.
    if (i == 0 && arenas != 0 && *all.high_water >= all.fresh_end) *all.high_water = first;
  }
};
struct Survey {
  SharedPages shared;
  std::uint32_t* results;  // free arenas; superblocks up to the last one that is used

  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index), s = i / Arenas::per_superblock;
    const Arenas& all = shared.pages.arenas;
    const bool in_span = is_span(all.superblock_words[s]);
    const bool is_fresh = i >= *all.high_water && i < all.fresh_end;
    if (!in_span && (all.counts[i] == 0 || is_fresh))
      Arenas::Word(results[0]).fetch_add(1, simt::relaxed);
    if (in_span || all.counts[i] != 0) Arenas::Word(results[1]).fetch_max(s + 1, simt::relaxed);
  }
};
struct EmptySlot {
  SharedPages shared;
  HEAPWOOD_FN void operator()(std::size_t index) const {
    const auto i = static_cast<std::uint32_t>(index);
    shared.empty_slot(BlockClass(i >> shared.slot_shift), i);
  }
};
struct ReleasePages {
  SharedPages shared;
  HEAPWOOD_FN void operator()(std::size_t part) const {
    shared.release_free_pages(static_cast<std::uint32_t>(part) * SingleLane::mask_width);
  }
};
struct Remove {
  SharedPages shared;
  std::uint32_t first;
  HEAPWOOD_FN void operator()(std::size_t index) const {
    const std::uint32_t i = first + static_cast<std::uint32_t>(index);
    shared.pages.arenas.counts[i] = body;
    if (i % Arenas::per_superblock == 0)
      shared.pages.arenas.superblock_words[i / Arenas::per_superblock] = body;
  }
};
}  // namespace growth_kernels

class Growth {
 public:
  // `all`: of Layout::plan(). `initial_bytes`: of blocks, at least a superblock.
  Growth(Pool pool, const SharedPages& all, std::size_t initial_bytes)
      : pool_(pool), all_(all.pages.arenas), shared_(all) {
    initial_ = superblocks_for(initial_bytes);
    set_superblocks(initial_);
    Layout::plan_runs(shared_);
  }

  const SharedPages& shared() const { return shared_; }
  std::uint32_t superblocks() const { return shared_.pages.arenas.superblocks; }
  // Bytes of all blocks, now and at most.
  std::size_t bytes() const { return bytes_of(superblocks()); }
  std::size_t max_bytes() const { return bytes_of(all_.superblocks); }
  // Superblocks that hold `bytes` bytes of blocks: at least 1, at most all of the pool.
  std::uint32_t superblocks_for(std::size_t bytes) const {
    const std::size_t superblock = std::size_t{Arenas::per_superblock} << all_.shift;
    const std::size_t n = bytes / superblock + (bytes % superblock != 0 ? 1 : 0);
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(n, 1, all_.superblocks));
  }
  // The memory of a pool of that many superblocks. Marks count as tables.
  Extent extent(std::uint32_t superblocks) const {
    const auto blocks = static_cast<std::size_t>(all_.memory - pool_.base);
    return {marks_begin() + Layout::mark_words(shared_, superblocks) * sizeof(std::uint32_t),
            blocks, blocks + bytes_of(superblocks)};
  }

  // Makes superblocks up to this one, which have memory now, available to all requests.
  template <class Device>
  void add_up_to(std::uint32_t superblocks, const Device& device) {
    const std::uint32_t first = shared_.pages.arenas.arenas;
    resize(superblocks, device);
    const std::uint32_t more = shared_.pages.arenas.arenas - first;
    const std::size_t begin =
        marks_begin() + (std::size_t{first} << shared_.pages.word_shift) * sizeof(std::uint32_t);
    if (more != 0)
      simt::device_fill(device.id(), pool_.base + begin, 0, extent(superblocks).tables_end - begin);
    device.for_each(std::max(more, 1u << shared_.slot_shift),
                    growth_kernels::Add{shared_, first, more});
  }
  // Resizes a pool that was laid out in its initial size to what it had before.
  template <class Device>
  void restore(const Device& device) {
    const std::uint32_t before = superblocks();
    resize(initial_, device);
    add_up_to(before, device);
  }
  // Bytes that a kernel may need beyond those of its blocks: a page for each slot and class.
  std::size_t bytes_in_slots() const {
    return (std::size_t{shared_.classes} << shared_.slot_shift) << all_.shift;
  }
  // Bytes of free arenas, after pages without a block in use have become free.
  template <class Device>
  std::size_t free_bytes(const Device& device) const {
    return std::size_t{survey(device)[0]} << all_.shift;
  }
  // Takes superblocks at the end that have no block in use away from the allocator, but for the
  // initial ones.
  template <class Device>
  void remove_unused(const Device& device) {
    device.for_each(std::size_t{shared_.classes} << shared_.slot_shift,
                    growth_kernels::EmptySlot{shared_});
    const std::uint32_t before = shared_.pages.arenas.arenas;
    resize(std::max(survey(device)[1], initial_), device);
    const std::uint32_t left = shared_.pages.arenas.arenas;
    device.for_each(before - left, growth_kernels::Remove{shared_, left});
  }

 private:
  // Survey::results, after pages without a block in use have become free.
  template <class Device>
  std::vector<std::uint32_t> survey(const Device& device) const {
    std::uint32_t* const results = Layout::results(pool_);
    device.for_each(shared_.parts(), growth_kernels::ReleasePages{shared_});
    simt::device_fill(device.id(), results, 0, 2 * sizeof(*results));
    device.for_each(shared_.pages.arenas.arenas, growth_kernels::Survey{shared_, results});
    return HostView(device).read(results, 2);
  }
  std::size_t marks_begin() const {
    return static_cast<std::size_t>(reinterpret_cast<std::byte*>(shared_.pages.marks) - pool_.base);
  }
  std::uint32_t arenas_of(std::uint32_t superblocks) const {
    return std::min(superblocks * Arenas::per_superblock, all_.arenas);
  }
  std::size_t bytes_of(std::uint32_t superblocks) const {
    return std::size_t{arenas_of(superblocks)} << all_.shift;
  }
  void set_superblocks(std::uint32_t superblocks) {
    shared_.pages.arenas.superblocks = superblocks;
    shared_.pages.arenas.arenas = arenas_of(superblocks);
  }
  template <class Device>
  void resize(std::uint32_t superblocks, const Device& device) {
    set_superblocks(superblocks);
    simt::device_upload(device.id(), pool_.base, &shared_, sizeof(shared_));
  }

  Pool pool_;
  Arenas all_;          // of the whole range
  SharedPages shared_;  // now
  std::uint32_t initial_ = 0;
};

}  // namespace heapwood::alloc::arena
