// SPDX-License-Identifier: MIT
// Stands in for LargePart (large_part.hpp): large requests go to the platform's own malloc (builtin_heap.hpp), as those
// of the published ScatterAlloc, Halloc and XMalloc do. The whole pool then serves small ones, and the heap may grow to
// as many bytes again. Its blocks are known by their addresses; walk() knows nothing of them.
#pragma once

#include <cstddef>

#include "alloc/primitives/builtin_heap.hpp"

namespace heapwood::alloc {

class HeapPart {
 public:
  static constexpr std::size_t head_bytes = 256;
  static constexpr bool in_pool = false;

  HeapPart() = default;

  static std::size_t offset(std::size_t pool_bytes, std::size_t /*small_bytes*/) { return pool_bytes / 256 * 256; }

  // `base` and `bytes`: what is left of the pool behind the small part, which begins at or behind `head`.
  template <class Device>
  static HeapPart create(std::byte* head, std::byte* base, std::size_t bytes, unsigned /*page_shift*/,
                         const Device& device) {
    static_assert(sizeof(Stored) <= head_bytes);
    HeapPart part;
    part.stored_ = reinterpret_cast<const Stored*>(head);
    part.span_ = static_cast<std::size_t>(base - head);
    part.rest_ = bytes;
    const BuiltinHeap heap = BuiltinHeap::create(lists_of(head), part.span_ + bytes, device);
    simt::device_upload(device.id(), head + offsetof(Stored, heap), &heap, sizeof(heap));
    return part;
  }
  static void release(std::byte* head, const simt::DeviceId& device) { BuiltinHeap::release(lists_of(head), device); }

  SIMT_INLINE bool owns(const void* block) const {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(stored_) >= span_;
  }

  template <class Thread>
  SIMT_INLINE void* allocate(const Thread& thread, std::size_t bytes) const {
    return allocate_from(stored_, thread, bytes);
  }
  template <class Thread>
  SIMT_INLINE void deallocate(const Thread& thread, void* block) const {
    give_back_to(stored_, thread, block);
  }

  template <class Visitor>
  void walk(const HostView&, const std::byte* origin, Visitor visit) const {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(stored_) + span_ - origin);
    if (rest_ > 0) visit(Region{at, rest_, Region::State::metadata});
  }

 private:
  struct Stored {
    BuiltinHeap::Head<2> lists;
    BuiltinHeap heap;
  };
  static BuiltinHeap::Head<2>* lists_of(std::byte* head) { return &reinterpret_cast<Stored*>(head)->lists; }

  // By value: the address of a thread that lives in registers must not escape.
  template <class Thread>
  static SIMT_OUTLINE void* allocate_from(const Stored* stored, Thread thread, std::size_t bytes) {
    return stored->heap.allocate(thread, bytes);
  }
  template <class Thread>
  static SIMT_OUTLINE void give_back_to(const Stored* stored, Thread thread, void* block) {
    stored->heap.deallocate(thread, block);
  }

  const Stored* stored_ = nullptr;
  std::size_t span_ = 0, rest_ = 0;
};

}  // namespace heapwood::alloc
