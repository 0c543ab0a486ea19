// SPDX-License-Identifier: MIT
// FDGMalloc as published (Widmer et al. 2013; RegEff section 4.4): a warp takes a header and
// superblocks of 8 KiB from the device's malloc (primitives/builtin_heap.hpp), keeps the
// superblocks in a list, and bump-allocates from the current one, once for all lanes that call
// together. All memory of a warp is freed at once, when the last of its blocks has been freed.
//
// Differs from the paper:
//   - a program frees single blocks and calls no function at the end of a warp. A slot counts the
//     blocks of its warp, and the free that leaves none frees the superblocks and the header, as
//     the last lane's call does in the paper. A granule in front of each block names the slot, so
//     that any warp can free it;
//   - a slot has a lock, because warps share slots if there are more warps than slots, and diverged
//     lanes of a warp allocate independently;
//   - superblocks are smaller in a small pool, as in fdg.hpp.
//
// The header and the list belong to the thread that holds the slot's lock. Only that thread adds to
// the count of blocks; a free subtracts without the lock. A thread that subtracts the last block
// locks and reads the count again; if it is still 0, it detaches the header and frees the memory.
//
// Limits: a block in use keeps all memory of its slot; the end of a superblock is lost if a request
// does not fit there; a request larger than a superblock gets one of its size; 16 bytes per block.
// The pool's size determines the heap's size, and the heap cannot be walked.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/allocators/fdg.hpp"
#include "alloc/primitives/builtin_heap.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

struct FdgPublished {
  static constexpr AllocatorTraits traits{
      .id = "fdg-published",
      .label = "FDGMalloc (published)",
      .paper = "RegEff 4.4",
      .note = "superblocks from the platform's malloc, as published; frees a warp's all at once",
      .frees = Frees::all_at_once,
      .lower_bound = true,
      .in_pool = false};
  static constexpr std::size_t head_bytes = 512 << 10;  // of the pool; no more is used

  template <class Device>
  static FdgPublished create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    FdgPublished f;
    const SuperblockShape shape = SuperblockShape::choose(pool.bytes, device.multiprocessors());
    f.capacity_ = shape.granules - 1;
    f.slot_count_ = std::min(shape.slots, max_slots);
    f.slots_ = reinterpret_cast<Slot*>(pool.base + slots_at);
    f.max_bytes_ = pool.bytes;
    f.wait_ = options.wait_when_full;
    f.heap_ = BuiltinHeap::create(reinterpret_cast<Head*>(pool.base), pool.bytes, device);
    simt::device_fill(device.id(), f.slots_, 0, f.slot_count_ * sizeof(Slot));
    return f;
  }
  static void release(Pool pool, const simt::DeviceId& device) {
    BuiltinHeap::release(reinterpret_cast<Head*>(pool.base), device);
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > max_bytes_) return nullptr;
    return attempt_until(thread, wait_, [&]() -> void* {
      Slot& slot = slots_[thread.worker() % slot_count_];
      std::byte* block = take_together(
          thread, &slot, padded(bytes) / granule + 1, capacity_,
          [&](std::size_t n, std::uint32_t blocks) { return take(thread, slot, n, blocks); });
      if (block == nullptr) return nullptr;
      *reinterpret_cast<Slot**>(block) = &slot;
      return block + granule;
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    Slot* slot = *reinterpret_cast<Slot**>(static_cast<std::byte*>(block) - granule);
    const std::uint32_t lanes = thread.together(slot);
    thread.sync(lanes);  // orders all lanes' accesses to their blocks before the subtraction
    if (thread.lane() != simt::lowest_bit(lanes)) return;
    const std::uint32_t blocks = simt::popcount(lanes);
    // release: publishes the lanes' accesses to the thread that frees the superblocks. Later
    // additions and subtractions continue the release sequence.
    if (blocks_of(*slot).fetch_sub(blocks, simt::release) == blocks) free_if_unused(thread, *slot);
  }

  template <class Visitor>
  void walk(const HostView&, Visitor) const {}

 private:
  // A block of the heap that is a superblock: this header in one granule, then the memory.
  struct alignas(granule) Superblock {
    Superblock* next;
  };
  struct alignas(granule) WarpHeader {
    Superblock *first, *current;
    std::uint32_t used_granules;  // of `current`
  };
  // A warp's state, stored in the pool; each has a cache sector of its own.
  struct alignas(32) Slot {
    std::uint32_t locked;
    std::uint32_t blocks;  // in use
    WarpHeader* header;    // or nullptr: no superblock
  };
  static_assert(sizeof(Superblock) == granule && sizeof(Slot) == 32);
  using Head = BuiltinHeap::Head<32>;
  static constexpr std::size_t slots_at = round_up(sizeof(Head), 256);
  static constexpr std::uint32_t max_slots = (head_bytes - slots_at) / sizeof(Slot);
  // The smallest pool has space for the few slots that SuperblockShape gives it.
  static_assert(slots_at + traits.smallest_pool / (4 * 512) * sizeof(Slot) <= traits.smallest_pool);

  static HEAPWOOD_INLINE Word32 blocks_of(Slot& slot) { return Word32(slot.blocks); }
  static HEAPWOOD_INLINE bool try_lock(Slot& slot) {
    Word32 locked(slot.locked);
    // acquire: makes the previous holder's changes to the header and the list visible.
    return locked.load(simt::relaxed) == 0 && locked.exchange(1, simt::acquire) == 0;
  }
  static HEAPWOOD_INLINE void unlock(Slot& slot) {
    // release: publishes the changes to the header and the list.
    Word32(slot.locked).store(0, simt::release);
  }

  // Calls f under the slot's lock, inside the loop that waits for the lock: on a GPU, lanes that
  // have left a loop may have to wait for lanes of their warp that are still in it. If `stops`, an
  // aborted launch ends the wait without a call.
  template <class Thread, class F>
  static HEAPWOOD_INLINE void with_lock(Thread& thread, Slot& slot, bool stops, F f) {
    bool done = false;
    HEAPWOOD_ROLLED
    for (unsigned turn = 0; !done; ++turn) {
      if (try_lock(slot)) {
        f();
        unlock(slot);
        done = true;
      } else {
        thread.pause(turn);
        done = stops && (turn & 63) == 63 && thread.aborted();
      }
    }
  }

  // Takes granules, which hold `blocks` blocks, from the slot's superblock or from a new one.
  template <class Thread>
  HEAPWOOD_INLINE std::byte* take(Thread& thread, Slot& slot, std::size_t granules,
                                  std::uint32_t blocks) const {
    std::byte* first = nullptr;
    with_lock(thread, slot, true, [&] {
      first = bump(slot, granules);
      if (first == nullptr) first = add_superblock(thread, slot, granules);
      // relaxed: free_if_unused() reads the count under the lock.
      if (first != nullptr) blocks_of(slot).fetch_add(blocks, simt::relaxed);
    });
    return first;
  }

  HEAPWOOD_INLINE std::byte* bump(const Slot& slot, std::size_t granules) const {
    WarpHeader* header = slot.header;
    if (header == nullptr || granules > capacity_ - header->used_granules) return nullptr;
    std::byte* first = memory(header->current) + header->used_granules * granule;
    header->used_granules += static_cast<std::uint32_t>(granules);
    return first;
  }

  // Adds a superblock and returns its first granule. A large request gets a superblock of its own
  // size, and the current one stays.
  template <class Thread>
  HEAPWOOD_INLINE std::byte* add_superblock(Thread& thread, Slot& slot,
                                            std::size_t granules) const {
    WarpHeader* header = slot.header;
    if (header == nullptr) {
      header = static_cast<WarpHeader*>(heap_.allocate(thread, sizeof(WarpHeader)));
      if (header == nullptr) return nullptr;
      *header = {nullptr, nullptr, capacity_};
    }
    const bool large = granules > capacity_;
    auto* added = static_cast<Superblock*>(
        heap_.allocate(thread, ((large ? granules : capacity_) + 1) * granule));
    if (added == nullptr) {
      if (slot.header == nullptr) heap_.deallocate(thread, header);
      return nullptr;
    }
    added->next = header->first;
    header->first = added;
    if (!large) {
      header->current = added;
      header->used_granules = static_cast<std::uint32_t>(granules);
    }
    slot.header = header;
    return memory(added);
  }

  // Frees the slot's superblocks and header if none of its blocks is in use: tidyUp of the paper.
  // An aborted launch leaves the rest in the platform's heap, whose frees can take a millisecond.
  template <class Thread>
  HEAPWOOD_INLINE void free_if_unused(Thread& thread, Slot& slot) const {
    WarpHeader* header = nullptr;
    with_lock(thread, slot, false, [&] {
      // acquire: orders all owners' accesses to their blocks before the memory is freed. If blocks
      // have been added since, the count is not 0, and the free of the last of them frees the
      // memory.
      if (blocks_of(slot).load(simt::acquire) != 0) return;
      header = slot.header;
      slot.header = nullptr;
    });
    if (header == nullptr) return;  // blocks are in use, or another thread was first
    HEAPWOOD_ROLLED
    for (Superblock* one = header->first; one != nullptr && !thread.aborted();) {
      Superblock* const next = one->next;
      heap_.deallocate(thread, one);
      one = next;
    }
    heap_.deallocate(thread, header);
  }

  static HEAPWOOD_INLINE std::byte* memory(Superblock* superblock) {
    return reinterpret_cast<std::byte*>(superblock + 1);
  }

  BuiltinHeap heap_;
  Slot* slots_ = nullptr;
  std::uint32_t slot_count_ = 0, capacity_ = 0;  // capacity: granules of a superblock
  std::size_t max_bytes_ = 0;
  bool wait_ = false;
};

}  // namespace heapwood::alloc
