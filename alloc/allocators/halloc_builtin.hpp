// SPDX-License-Identifier: MIT
// Halloc with the platform's malloc for requests above 3 KiB, as the published code has it
// (primitives/heap_part.hpp), for builds and all other commands; halloc.hpp has it only in `stress
// --large`. Limits: as halloc.hpp and builtin_heap.hpp. The heap has as many bytes as the pool.
#pragma once

#include "alloc/allocators/halloc.hpp"

namespace heapwood::alloc {

struct HallocBuiltin : HallocOn<HeapPart> {
  static constexpr AllocatorTraits traits{
      .id = "halloc-builtin",
      .label = "Halloc (malloc)",
      .paper = "Adinetz 2014, RegEff 4.5",
      .note = "halloc with the platform's malloc above 3 KiB, as published",
      .smallest_pool = 8192,
      .in_pool = false};

  template <class Device>
  static HallocBuiltin create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);  // names this allocator in its messages
    return {HallocOn::create(pool, options, device)};
  }
};

}  // namespace heapwood::alloc
