// SPDX-License-Identifier: MIT
// Two ways to serve requests too large for an allocator's pages: LargePart, a buddy in a part of
// the pool, and HeapPart, the platform's malloc, as in the published ScatterAlloc, Halloc and
// XMalloc.
#pragma once

#include <cstddef>

#include "alloc/primitives/buddy.hpp"
#include "alloc/primitives/builtin_heap.hpp"

namespace heapwood::alloc {

// The option `large`: LargePart (`buddy`) or HeapPart (`builtin`).
inline constexpr AllocatorSetting large_setting = setting_of<&AllocatorOptions::large_backend>(
    {.key = "large",
     .json = "large",
     .about = "large requests are served by a buddy in the pool, or by the platform's malloc; "
              "'heapwood stress' only",
     .words = "buddy builtin"});

// A Buddy (buddy.hpp) stored in the pool itself. A handle holds only two pointers and the calls are
// not inlined, so large requests cost the fast path of small ones no registers and no stack.
class LargePart {
 public:
  static constexpr std::size_t head_bytes = 256;  // bytes that `head` must have
  static constexpr bool in_pool = true;

  LargePart() = default;

  // The offset of the part in a pool whose small requests need `small_bytes`.
  static std::size_t offset(std::size_t /*pool_bytes*/, std::size_t small_bytes) {
    return small_bytes / 256 * 256;
  }

  // Creates pages of 2^page_shift bytes in `bytes` at `base`; describes the tables in `head`.
  template <class Device>
  static LargePart create(std::byte* head, std::byte* base, std::size_t bytes, unsigned page_shift,
                          const Device& device) {
    static_assert(sizeof(Buddy) <= head_bytes);
    const Buddy buddy = Buddy::create(base, bytes, page_shift, device);
    simt::device_fill(device.id(), head, 0, head_bytes);
    simt::device_upload(device.id(), head, &buddy, sizeof(buddy));
    LargePart part;
    part.buddy_ = reinterpret_cast<const Buddy*>(head);
    part.begin_ = base;
    return part;
  }

  // The large part is the last part of its pool.
  HEAPWOOD_INLINE bool owns(const void* block) const {
    return static_cast<const std::byte*>(block) >= begin_;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(const Thread& thread, std::size_t bytes) const {
    return allocate_out_of_line(buddy_, thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(const Thread&, void* block) const {
    buddy_->deallocate(block);
  }

  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    host.read(buddy_).walk(host, origin, visit);
  }

 private:
  // Takes the thread by value: the address of a thread kept in registers must not escape.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_out_of_line(const Buddy* buddy, Thread thread,
                                                     std::size_t bytes) {
    return buddy->allocate(thread, bytes);
  }

  const Buddy* buddy_ = nullptr;
  const std::byte* begin_ = nullptr;
};

// Replaces LargePart: the whole pool serves small requests, and the heap may use as many bytes in
// addition. Its blocks are recognized by their addresses; walk() does not report them.
class HeapPart {
 public:
  static constexpr std::size_t head_bytes = 256;
  static constexpr bool in_pool = false;

  HeapPart() = default;

  static std::size_t offset(std::size_t pool_bytes, std::size_t /*small_bytes*/) {
    return pool_bytes / 256 * 256;
  }

  // `base`, `bytes`: the rest of the pool after the small part, which begins at `head` or later.
  template <class Device>
  static HeapPart create(std::byte* head, std::byte* base, std::size_t bytes,
                         unsigned /*page_shift*/, const Device& device) {
    static_assert(sizeof(Stored) <= head_bytes);
    HeapPart part;
    part.stored_ = reinterpret_cast<const Stored*>(head);
    part.span_ = static_cast<std::size_t>(base - head);
    part.rest_ = bytes;
    const BuiltinHeap heap = BuiltinHeap::create(lists_of(head), part.span_ + bytes, device);
    simt::device_upload(device.id(), head + offsetof(Stored, heap), &heap, sizeof(heap));
    return part;
  }
  static void release(std::byte* head, const simt::DeviceId& device) {
    BuiltinHeap::release(lists_of(head), device);
  }

  HEAPWOOD_INLINE bool owns(const void* block) const {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(stored_) >=
           span_;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(const Thread& thread, std::size_t bytes) const {
    return allocate_out_of_line(stored_, thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(const Thread& thread, void* block) const {
    deallocate_out_of_line(stored_, thread, block);
  }

  template <class Visitor>
  void walk(const HostView&, const std::byte* origin, Visitor visit) const {
    const auto offset =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(stored_) + span_ - origin);
    if (rest_ > 0) visit(Region{offset, rest_, Region::State::metadata});
  }

 private:
  struct Stored {
    BuiltinHeap::Head<2> lists;
    BuiltinHeap heap;
  };
  static BuiltinHeap::Head<2>* lists_of(std::byte* head) {
    return &reinterpret_cast<Stored*>(head)->lists;
  }

  // Takes the thread by value: the address of a thread kept in registers must not escape.
  template <class Thread>
  static HEAPWOOD_OUTLINE void* allocate_out_of_line(const Stored* stored, Thread thread,
                                                     std::size_t bytes) {
    return stored->heap.allocate(thread, bytes);
  }
  template <class Thread>
  static HEAPWOOD_OUTLINE void deallocate_out_of_line(const Stored* stored, Thread thread,
                                                      void* block) {
    stored->heap.deallocate(thread, block);
  }

  const Stored* stored_ = nullptr;
  std::size_t span_ = 0, rest_ = 0;
};

// An allocator A with traits of its own, derived from a Base with a HeapPart. The heap has as many
// bytes as the pool, for builds and all other commands.
template <class A, class Base>
struct WithHeap : Base {
  // There is no choice of another large part.
  static constexpr std::array<AllocatorSetting, 0> settings{};
  template <class Device>
  static A create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(A::traits, pool);  // its messages name A
    return {{Base::create(pool, options, device)}};
  }
};

}  // namespace heapwood::alloc
