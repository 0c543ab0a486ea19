// SPDX-License-Identifier: MIT
// ScatterAlloc with the platform's malloc for requests above a page, as the published code has it
// (primitives/heap_part.hpp), for builds and all other commands; scatter.hpp has it only in `stress
// --large`. Limits: as scatter.hpp and builtin_heap.hpp. The heap has as many bytes as the pool.
#pragma once

#include "alloc/allocators/scatter.hpp"

namespace heapwood::alloc {

struct ScatterBuiltin : ScatterOn<HeapPart> {
  static constexpr AllocatorTraits traits{
      .id = "scatter-builtin",
      .label = "ScatterAlloc (malloc)",
      .paper = "Steinberger 2012, RegEff 4.3",
      .note = "scatter with the platform's malloc above a page, as published",
      .smallest_pool = 8192,
      .in_pool = false};

  template <class Device>
  static ScatterBuiltin create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);  // names this allocator in its messages
    return {ScatterOn::create(pool, options, device)};
  }
};

}  // namespace heapwood::alloc
