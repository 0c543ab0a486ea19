// SPDX-License-Identifier: MIT
// The part of a pool that serves requests too large for an allocator's pages: a Buddy (buddy.hpp)
// stored in the pool itself. The caller's handle holds two pointers to it, and the calls are not
// inlined, so large requests cost the fast path of small ones no registers and no stack.
// heap_part.hpp is the alternative.
#pragma once

#include "alloc/primitives/buddy.hpp"

namespace heapwood::alloc {

// For the command line: the part is a LargePart, or a HeapPart.
inline constexpr AllocatorSetting large_setting = setting_of<&AllocatorOptions::large_backend>(
    {.key = "large",
     .json = "large",
     .about = "large requests are served by a buddy in the pool, or by the platform's malloc; "
              "'heapwood stress' only",
     .words = "buddy builtin"});

class LargePart {
 public:
  static constexpr std::size_t head_bytes = 256;  // capacity of `head`
  static constexpr bool in_pool = true;

  LargePart() = default;

  // Where the part begins in a pool, given the bytes for small requests.
  static std::size_t offset(std::size_t /*pool_bytes*/, std::size_t small_bytes) {
    return small_bytes / 256 * 256;
  }

  // Creates pages of 2^page_shift bytes in `bytes` at `base`; writes the description of the tables
  // to `head`.
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
  SIMT_INLINE bool owns(const void* block) const {
    return static_cast<const std::byte*>(block) >= begin_;
  }

  template <class Thread>
  SIMT_INLINE void* allocate(const Thread& thread, std::size_t bytes) const {
    return allocate_out_of_line(buddy_, thread, bytes);
  }
  template <class Thread>
  SIMT_INLINE void deallocate(const Thread&, void* block) const {
    buddy_->deallocate(block);
  }

  template <class Visitor>
  void walk(const HostView& host, const std::byte* origin, Visitor visit) const {
    host.read(buddy_).walk(host, origin, visit);
  }

 private:
  // Takes the thread by value: the address of a thread kept in registers must not escape.
  template <class Thread>
  static SIMT_OUTLINE void* allocate_out_of_line(const Buddy* buddy, Thread thread,
                                                 std::size_t bytes) {
    return buddy->allocate(thread, bytes);
  }

  const Buddy* buddy_ = nullptr;
  const std::byte* begin_ = nullptr;
};

}  // namespace heapwood::alloc
