// SPDX-License-Identifier: MIT
// CudaMalloc (RegEff section 4.2): the allocator that comes with the platform, as the baseline. On the GPU malloc() and
// free() in device code; on the CPU those of the C library.
// Blocks do not lie in the pool; of the pool only its size counts, and its first word:
//   - GPU: create() sets the device heap (cudaLimitMallocHeapSize) to the pool's size. The heap can only be set before
//     the first kernel that uses it is loaded, so a process should create its largest pool first; a smaller one
//     afterwards is served from the larger heap, and a larger one is refused with an error that says so. Bytes in use
//     are not counted: free() does not tell how many it gets back. create() cannot empty the heap: blocks that were
//     leaked stay;
//   - CPU: requests and a header of 32 bytes each are counted against the pool's size, so that exhaustion can be
//     tested. Live blocks are listed, for release() to find what a stopped launch left behind: two uncontended locks a
//     block, about 20 ns each, beside malloc's own cost.
// Neither heap can be walked: walk() reports nothing, and its fragmentation is unknown.
// Limits: alignment 16 (what device malloc documents; checked); the heap's own overhead is unknown.
#pragma once

#include <cstdlib>
#include <utility>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

struct CudaMalloc {
  static constexpr AllocatorTraits traits{
      .id = "cuda",
      .label = "CudaMalloc",
      .paper = "RegEff 4.2",
      .note =
          "device malloc on the GPU, the system's on the CPU; the heap cannot be walked, so fragmentation is unknown",
      .in_pool = false};

  // The pool's head; used on the CPU only.
  struct Block {
    std::uint64_t size;  // header included
    Block *previous, *next;
    std::uint64_t unused;
  };
  struct alignas(64) List {
    std::uint32_t locked;
    Block* first;
  };
  struct Head {
    std::uint64_t live;  // bytes in use, headers included
    List lists[32];
  };
  static_assert(sizeof(Block) % granule == 0 && sizeof(Head) <= traits.smallest_pool);

  Head* head = nullptr;
  std::uint64_t capacity = 0;
  bool counts = false;  // on the CPU
  bool wait = false;

  template <class Device>
  static CudaMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    CudaMalloc a;
    a.head = reinterpret_cast<Head*>(pool.base);
    a.capacity = pool.bytes;
    a.wait = options.wait_when_full;
    simt::device_fill(device.id(), pool.base, 0, sizeof(Head));
    a.counts = device.id().kind == simt::DeviceKind::cpu;
    if constexpr (requires { device.reserve_heap(pool.bytes); }) {
      device.reserve_heap(pool.bytes);  // simt::Cuda
    } else if (!a.counts) {
      throw Error(Exit::failed, "cuda: this device cannot set the size of its heap");
    }
    return a;
  }
  static void release(Pool pool, const simt::DeviceId& device) {
    if (device.kind != simt::DeviceKind::cpu) return;
    for (List& list : reinterpret_cast<Head*>(pool.base)->lists) {
      while (list.first != nullptr) std::free(std::exchange(list.first, list.first->next));
    }
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > capacity) return nullptr;
    return attempt_until(thread, wait, [&]() -> void* {
      if (counts) return counted(thread, padded(bytes));
      void* block = malloc(padded(bytes));
      if (reinterpret_cast<std::uintptr_t>(block) % granule == 0) return block;
      free(block);
      return nullptr;
    });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread& thread, void* block) {
    if (block == nullptr) return;
    if (counts) {
      block = static_cast<Block*>(block) - 1;
      unlink(thread, static_cast<Block*>(block));
    }
    free(block);
  }

  template <class Visitor>
  void walk(const HostView&, Visitor) const {}

 private:
  // malloc is the C library's or the GPU's, whichever this is compiled for; both align to 16 bytes.
  template <class Thread>
  SIMT_OUTLINE void* counted(Thread& thread, std::size_t bytes) const {
    const std::uint64_t size = bytes + sizeof(Block);
    // relaxed, here and below: only a count; malloc orders the memory itself.
    simt::atomic_ref<std::uint64_t> live(head->live);
    std::uint64_t now = live.load(simt::relaxed);
    do {
      if (now + size > capacity) return nullptr;
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
  SIMT_OUTLINE void unlink(Thread& thread, Block* block) const {
    List& list = list_of(block);
    lock(thread, list);
    (block->previous != nullptr ? block->previous->next : list.first) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
    unlock(list);
    simt::atomic_ref<std::uint64_t>(head->live).fetch_sub(block->size, simt::relaxed);
  }

  SIMT_INLINE List& list_of(const Block* block) const {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
    return head->lists[(address * 0x9e3779b97f4a7c15u) >> 59];
  }
  // Held for a few instructions by a running CPU thread, so the wait ends.
  template <class Thread>
  static SIMT_INLINE void lock(Thread& thread, List& list) {
    // acquire: what the last holder did to the list.
    for (unsigned turn = 0; simt::atomic_ref<std::uint32_t>(list.locked).exchange(1, simt::acquire) != 0; ++turn) {
      thread.pause(turn);
    }
  }
  static SIMT_INLINE void unlock(List& list) { simt::atomic_ref<std::uint32_t>(list.locked).store(0, simt::release); }
};

}  // namespace heapwood::alloc
