// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of chunks with free pages per size class,
// whose slots are an array (section 4).
#pragma once

#include "alloc/ouroboros/chunk_items.hpp"
#include "alloc/ouroboros/ouroboros.hpp"
#include "alloc/ouroboros/static_queue.hpp"

namespace heapwood::alloc {

struct OuroborosCS
    : Ouroboros<ouroboros::ChunkItems<ouroboros::IndexQueue<ouroboros::StaticQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-s",
      .label = "Ouroboros-C-S",
      .paper = "Ouroboros 4",
      .note = "queues of chunks with free pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosCS create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosCS a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
