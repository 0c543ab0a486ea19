// SPDX-License-Identifier: MIT
// The arrays of refs: allocation and deallocation by a warp of the builder, through the allocator's
// context for this warp, if it has one, or by one or two lanes of the warp.
//
// With a context, the larger child of a node that one warp splits stays in the node's block if that
// may shrink: only the smaller child's array is allocated, and nothing is freed. The warp continues
// with the larger child, so it holds at most one block that is larger than its node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "kdtree/build/kernel.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
class RefMemory {
 public:
  using Refs = typename Kernel::Refs;
  using Probe = typename Kernel::Probe::template Of<Warp>;
  static constexpr bool has_context = Kernel::has_context;

  HEAPWOOD_INLINE RefMemory(const Kernel& kernel, Warp& warp, typename Kernel::Scratch& scratch,
                            const Probe& probe)
      : k_(kernel), warp_(warp), probe_(probe), context_(kernel.allocator, warp, scratch) {}

  // Frees the array of n refs. Syncs first, so that all lanes have finished reading it.
  HEAPWOOD_INLINE void free(std::byte* refs, [[maybe_unused]] std::uint32_t n) {
    [[maybe_unused]] const auto in = probe_.in(Phase::free);
    if constexpr (has_context) {
      context_.deallocate(warp_, Refs::block_of(refs, n), granules_of(n));
    } else {
      warp_.sync();
      auto allocator = k_.allocator;
      if (warp_.lane() == 0) allocator.deallocate(warp_, Refs::block_of(refs, n));
    }
  }
  // Returns an array for n > 0 refs, or nullptr if there is no memory: then counts a failed split.
  HEAPWOOD_INLINE std::byte* allocate(std::uint32_t n) {
    [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
    void* block = nullptr;
    if constexpr (has_context) {
      block = context_.allocate(warp_, granules_of(n));
    } else {
      auto allocator = k_.allocator;
      if (warp_.lane() == 0) block = allocator.allocate(warp_, std::size_t{n} * Refs::bytes);
      block = broadcast(block, 0);
    }
    if (block != nullptr) return Refs::in_block(static_cast<std::byte*>(block), n);
    count_failed_split(*k_.counters, warp_, n);
    return nullptr;
  }
  // Returns blocks for arrays of nl and nr refs; 0 refs need no block. If the pool is exhausted,
  // returns no block and keeps none allocated.
  HEAPWOOD_INLINE alloc::BlockPair allocate_children(std::uint32_t nl, std::uint32_t nr) {
    [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
    if constexpr (has_context) {
      return context_.allocate_pair(warp_, granules_of(nl), granules_of(nr));
    } else {
      return allocate_children_by_lanes(nl, nr);
    }
  }
  HEAPWOOD_INLINE static bool is_allocated(const alloc::BlockPair& blocks) {
    return blocks.first != nullptr || (!has_context && blocks.second != nullptr);
  }
  HEAPWOOD_INLINE static ChildArrays arrays_in(const alloc::BlockPair& blocks, const Split& split) {
    return {Refs::in_block(static_cast<std::byte*>(blocks.first), split.nl()),
            Refs::in_block(static_cast<std::byte*>(blocks.second), split.nr())};
  }

  // Counts a node that stays a leaf because n refs got no memory.
  HEAPWOOD_INLINE static void count_failed_split(BuildCounters& counters, Warp& warp,
                                                 std::uint32_t n) {
    if (warp.lane() != 0) return;
    // relaxed: the host reads the count after the launch.
    simt::global_ref(counters.failed_splits).fetch_add(1, simt::relaxed);
    std::uint64_t none = 0;
    simt::atomic_ref<std::uint64_t>(counters.failed_bytes)
        .compare_exchange_strong(none, std::size_t{n} * Refs::bytes, simt::relaxed, simt::relaxed);
  }

  // ---- with a context only ----------------------------------------------------------------------

  // Begin and end the use of the context; end() also releases the memory that it caches.
  HEAPWOOD_INLINE void begin() {
    if constexpr (has_context) context_.begin(warp_);
  }
  HEAPWOOD_INLINE void end() {
    if constexpr (has_context) context_.end(warp_);
  }
  HEAPWOOD_INLINE void release_if_scarce() {
    if constexpr (has_context) context_.release_if_scarce(warp_);
  }
  // Gets arrays for the children of a node that one warp splits: the larger child takes the place
  // of the node's own array. Returns false if that needs a call.
  HEAPWOOD_INLINE bool try_split_in_place(const NodeTask& task, const Split& split,
                                          ChildArrays& arrays) {
    [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
    if (!context_.may_shrink(granules_of(task.n))) return false;
    const std::uint32_t n = smaller(split);
    void* block = nullptr;
    if (!context_.try_allocate(warp_, granules_of(n), block)) return false;
    std::byte* const array = Refs::in_block(static_cast<std::byte*>(block), n);
    arrays =
        split.nl() < split.nr() ? ChildArrays{array, task.refs} : ChildArrays{task.refs, array};
    return true;
  }
  // The slow path after a failed try_split_in_place(), by a call. Returns true if it made space, so
  // that try_split_in_place() is worth repeating; false if allocate_children() is needed.
  HEAPWOOD_INLINE bool make_room(const NodeTask& task, const Split& split) {
    [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
    return context_.may_shrink(granules_of(task.n)) &&
           context_.make_room(warp_, granules_of(smaller(split)));
  }
  // Frees a leaf's array, whose contents stay readable. Returns false if that needs a call.
  HEAPWOOD_INLINE bool try_free_early(const NodeTask& task) {
    [[maybe_unused]] const auto in = probe_.in(Phase::free);
    return context_.try_deallocate(warp_, Refs::block_of(task.refs, task.n), granules_of(task.n));
  }
  // Whether the array of a shared node is freed late, after the warp has split the child with which
  // it continues. Other warps wait for that split.
  HEAPWOOD_INLINE bool delays_parent_free() const {
    if constexpr (has_context) return context_.may_delay_frees();
    return false;
  }

 private:
  using Context = typename alloc::ContextOf<decltype(Kernel::allocator), Warp>::Type;

  HEAPWOOD_INLINE static std::uint32_t smaller(const Split& split) {
    return split.nl() < split.nr() ? split.nl() : split.nr();
  }
  HEAPWOOD_INLINE static std::uint32_t granules_of(std::uint32_t n) {
    constexpr std::uint32_t refs_each =
                                Refs::bytes < alloc::granule ? alloc::granule / Refs::bytes : 1,
                            granules_each = (Refs::bytes + alloc::granule - 1) / alloc::granule;
    return (n + refs_each - 1) / refs_each * granules_each;
  }
  HEAPWOOD_INLINE alloc::BlockPair allocate_children_by_lanes(std::uint32_t nl, std::uint32_t nr) {
    alloc::BlockPair blocks;
    const std::size_t left_bytes = std::size_t{nl} * Refs::bytes,
                      right_bytes = std::size_t{nr} * Refs::bytes;
    auto allocator = k_.allocator;
    if constexpr (Warp::width == 1) {
      if (nl != 0) blocks.first = allocator.allocate(warp_, left_bytes);
      if (nr != 0) blocks.second = allocator.allocate(warp_, right_bytes);
    } else {
      // Two lanes allocate at the same time, so that the latencies of both requests overlap.
      const std::size_t wanted = warp_.lane() == 0   ? left_bytes
                                 : warp_.lane() == 1 ? right_bytes
                                                     : 0;
      void* const mine = wanted != 0 ? allocator.allocate(warp_, wanted) : nullptr;
      warp_.sync();
      blocks = {broadcast(mine, 0), broadcast(mine, 1)};
    }
    void* const held = blocks.first == nullptr    ? blocks.second
                       : blocks.second == nullptr ? blocks.first
                                                  : nullptr;
    if (held != nullptr && nl != 0 && nr != 0) {
      if (warp_.lane() == 0) allocator.deallocate(warp_, held);
      blocks = {};
    }
    return blocks;
  }
  HEAPWOOD_INLINE void* broadcast(void* pointer, unsigned lane) {
    return reinterpret_cast<void*>(warp_.shfl(reinterpret_cast<std::uintptr_t>(pointer), lane));
  }

  const Kernel& k_;
  Warp& warp_;
  [[no_unique_address]] Probe probe_;
  [[no_unique_address]] Context context_;  // the allocator's state for this warp, if it has any
};

}  // namespace heapwood::kdtree
