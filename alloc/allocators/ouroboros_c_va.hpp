// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of chunks with free pages per size class,
// whose slots are in chunks that are found through an array (section 5.1).
#pragma once

#include "alloc/ouroboros/array_queue.hpp"
#include "alloc/ouroboros/chunk_items.hpp"
#include "alloc/ouroboros/ouroboros.hpp"

namespace heapwood::alloc {

struct OuroborosCVA
    : Ouroboros<ouroboros::ChunkItems<ouroboros::IndexQueue<ouroboros::ArrayQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-va",
      .label = "Ouroboros-C-VA",
      .paper = "Ouroboros 5.1",
      .note =
          "queues of chunks with free pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosCVA create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosCVA a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
