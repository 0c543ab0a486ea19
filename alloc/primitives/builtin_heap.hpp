// SPDX-License-Identifier: MIT
// The platform's own malloc and free, for CudaMalloc and for large requests (large_part.hpp).
// Blocks do not lie in the pool.
//   - GPU: create() makes the device heap (cudaLimitMallocHeapSize) at least `bytes` large. The
//     heap can grow only before the first kernel that uses it is loaded, so a process should create
//     its largest heap first; a larger one afterwards is refused with an error that says so. Bytes
//     in use are not counted, because free() does not report how many it returns. create() cannot
//     empty the heap: leaked blocks stay.
//   - CPU: requests plus a header of 32 bytes each are counted against `bytes`, so that exhaustion
//     can be tested. Live blocks are listed, so that release() finds the blocks left by a stopped
//     launch: two uncontended locks per block, about 20 ns each, in addition to malloc's own cost.
// Limits: alignment 16 (as documented for device malloc; checked); the heap's own overhead is
// unknown, and it cannot be walked.
#pragma once

#include <cstdlib>
#include <utility>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

class BuiltinHeap {
 public:
  struct Block {
    std::uint64_t size;  // header included
    Block *previous, *next;
    std::uint64_t unused;
  };
  struct alignas(64) List {
    std::uint32_t locked;
    Block* first;
  };
  // The heap's state, stored in the pool and aligned to 64; used on the CPU only.
  template <unsigned count>
  struct Head {
    std::uint64_t live;  // bytes in use, headers included
    List lists[count];
  };
  static_assert(sizeof(Block) % granule == 0);

  BuiltinHeap() = default;

  // Creates the heap and zeroes `head`.
  template <unsigned count, class Device>
  static BuiltinHeap create(Head<count>* head, std::uint64_t bytes, const Device& device) {
    static_assert((count & (count - 1)) == 0);
    BuiltinHeap heap;
    heap.live_ = &head->live;
    heap.lists_ = head->lists;
    heap.capacity_ = bytes;
    heap.counts_bytes_ = device.id().kind == simt::DeviceKind::cpu;
    heap.list_mask_ = count - 1;
    simt::device_fill(device.id(), head, 0, sizeof(*head));
    if constexpr (requires { device.reserve_heap(bytes); }) {
      device.reserve_heap(bytes);  // simt::Cuda
    } else if (!heap.counts_bytes_) {
      throw Error(Exit::failed, "the built-in malloc: this device cannot set the size of its heap");
    }
    return heap;
  }
  template <unsigned count>
  static void release(Head<count>* head, const simt::DeviceId& device) {
    if (device.kind != simt::DeviceKind::cpu) return;
    for (List& list : head->lists) {
      while (list.first != nullptr) std::free(std::exchange(list.first, list.first->next));
    }
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    if (bytes > capacity_) return nullptr;
    if (counts_bytes_) return allocate_counted(thread, padded(bytes));
    // Here malloc is the GPU's; on the CPU allocate_counted() is used.
    void* block = malloc(padded(bytes));
    if (reinterpret_cast<std::uintptr_t>(block) % granule == 0) return block;
    free(block);
    return nullptr;
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    if (counts_bytes_) {
      block = static_cast<Block*>(block) - 1;
      unlink(thread, static_cast<Block*>(block));
    }
    free(block);
  }

 private:
  // Allocates on the CPU, where bytes are counted. The C library aligns to 16 bytes.
  template <class Thread>
  HEAPWOOD_OUTLINE void* allocate_counted(Thread& thread, std::size_t bytes) const {
    const std::uint64_t size = bytes + sizeof(Block);
    // relaxed, here and below: the count orders no accesses; malloc orders those to the memory.
    Word64 live(*live_);
    std::uint64_t now = live.load(simt::relaxed);
    do {
      if (now + size > capacity_) return nullptr;
    } while (!live.compare_exchange_weak(now, now + size, simt::relaxed, simt::relaxed));
    auto* block = static_cast<Block*>(malloc(size));
    if (block == nullptr) {
      live.fetch_sub(size, simt::relaxed);
      return nullptr;
    }
    List& list = list_of(block);
    lock(thread, list);
    *block = {size, nullptr, list.first, 0};
    if (list.first != nullptr) list.first->previous = block;
    list.first = block;
    unlock(list);
    return block + 1;
  }

  template <class Thread>
  HEAPWOOD_OUTLINE void unlink(Thread& thread, Block* block) const {
    List& list = list_of(block);
    lock(thread, list);
    (block->previous != nullptr ? block->previous->next : list.first) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
    unlock(list);
    Word64(*live_).fetch_sub(block->size, simt::relaxed);
  }

  HEAPWOOD_INLINE List& list_of(const Block* block) const {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
    return lists_[(address * 0x9e3779b97f4a7c15u) >> 32 & list_mask_];
  }
  // Locks the list. Waits for a running CPU thread, which holds it for a few instructions.
  template <class Thread>
  static HEAPWOOD_INLINE void lock(Thread& thread, List& list) {
    // acquire: makes the last holder's changes to the list visible.
    for (unsigned turn = 0; Word32(list.locked).exchange(1, simt::acquire) != 0; ++turn) {
      thread.pause(turn);
    }
  }
  static HEAPWOOD_INLINE void unlock(List& list) { Word32(list.locked).store(0, simt::release); }

  std::uint64_t* live_ = nullptr;
  List* lists_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint32_t list_mask_ = 0;
  bool counts_bytes_ = false;  // on the CPU
};

}  // namespace heapwood::alloc
