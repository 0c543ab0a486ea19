// SPDX-License-Identifier: MIT
// CudaMalloc (RegEff section 4.2): the allocator that comes with the platform, as the baseline. On the GPU malloc() and
// free() in device code; on the CPU those of the C library.
// Blocks do not lie in the pool; of the pool only its size counts, and its first word:
//   - GPU: create() sets the device heap (cudaLimitMallocHeapSize) to the pool's size. The heap can only be set before
//     the first kernel that uses it is loaded, so a process should create its largest pool first; a smaller one
//     afterwards is served from the larger heap, and a larger one is refused with an error that says so. Bytes in use
//     are not counted: free() does not tell how many it gets back. create() cannot empty the heap: blocks that were
//     leaked stay;
//   - CPU: requests and a header of 16 bytes each are counted against the pool's size, so that exhaustion can be
//     tested. Blocks that a launch leaks are lost to the process, too; create() resets the count.
// Neither heap can be walked: walk() reports nothing, and its fragmentation is unknown.
// Limits: alignment 16 (what device malloc documents; checked); the heap's own overhead is unknown.
#pragma once

#include <cstdlib>

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

  std::uint64_t* live = nullptr;  // CPU: bytes in use, headers included
  std::uint64_t capacity = 0;
  bool counts = false;  // on the CPU
  bool wait = false;

  template <class Device>
  static CudaMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    CudaMalloc a;
    a.live = reinterpret_cast<std::uint64_t*>(pool.base);
    a.capacity = pool.bytes;
    a.wait = options.wait_when_full;
    simt::device_fill(device.id(), pool.base, 0, sizeof(*a.live));
    a.counts = device.id().kind == simt::DeviceKind::cpu;
    if constexpr (requires { device.reserve_heap(pool.bytes); }) {
      device.reserve_heap(pool.bytes);  // simt::Cuda
    } else if (!a.counts) {
      throw Error(Exit::failed, "cuda: this device cannot set the size of its heap");
    }
    return a;
  }

  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > capacity) return nullptr;
    return attempt_until(thread, wait, [&] { return attempt(padded(bytes)); });
  }

  template <class Thread>
  SIMT_INLINE void deallocate(Thread&, void* block) {
    if (block == nullptr) return;
    if (counts) {
      block = static_cast<std::byte*>(block) - granule;
      give_back(*static_cast<std::uint64_t*>(block));
    }
    free(block);
  }

  template <class Visitor>
  void walk(const HostView&, Visitor) const {}

 private:
  // malloc is the C library's or the GPU's, whichever this is compiled for; both align to 16 bytes.
  SIMT_INLINE void* attempt(std::size_t bytes) const {
    const std::size_t size = counts ? bytes + granule : bytes;
    if (counts && !take(size)) return nullptr;
    auto* block = static_cast<std::byte*>(malloc(size));
    if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) % granule != 0) {
      free(block);
      if (counts) give_back(size);
      return nullptr;
    }
    if (!counts) return block;
    *reinterpret_cast<std::uint64_t*>(block) = size;
    return block + granule;
  }
  // relaxed: only a count; malloc orders the memory itself.
  SIMT_INLINE bool take(std::uint64_t size) const {
    simt::atomic_ref<std::uint64_t> count(*live);
    std::uint64_t now = count.load(simt::relaxed);
    SIMT_ROLLED
    while (now + size <= capacity) {
      if (count.compare_exchange_weak(now, now + size, simt::relaxed, simt::relaxed)) return true;
    }
    return false;
  }
  SIMT_INLINE void give_back(std::uint64_t size) const {
    simt::atomic_ref<std::uint64_t>(*live).fetch_sub(size, simt::relaxed);
  }
};

}  // namespace heapwood::alloc
