// SPDX-License-Identifier: MIT
// XMalloc with the platform's malloc for requests above 8 KiB, as the published code has it
// (primitives/heap_part.hpp), for builds and all other commands; xmalloc.hpp has it only in `stress
// --large`. Limits: as xmalloc.hpp and builtin_heap.hpp. The heap has as many bytes as the pool.
#pragma once

#include "alloc/allocators/xmalloc.hpp"

namespace heapwood::alloc {

struct XMallocBuiltin : XMallocOn<HeapPart> {
  static constexpr AllocatorTraits traits{
      .id = "xmalloc-builtin",
      .label = "XMalloc (malloc)",
      .paper = "Huang et al. 2013",
      .note = "xmalloc with the platform's malloc above 8 KiB, as published",
      .smallest_pool = 8192,
      .in_pool = false};

  template <class Device>
  static XMallocBuiltin create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);  // names this allocator in its messages
    return {XMallocOn::create(pool, options, device)};
  }
};

}  // namespace heapwood::alloc
