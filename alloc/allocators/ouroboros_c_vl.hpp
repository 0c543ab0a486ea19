// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of chunks with free pages per size class,
// whose slots are in a list of chunks (section 5.2).
#pragma once

#include "alloc/ouroboros/chunk_items.hpp"
#include "alloc/ouroboros/linked_queue.hpp"
#include "alloc/ouroboros/ouroboros.hpp"

namespace heapwood::alloc {

struct OuroborosCVL
    : Ouroboros<ouroboros::ChunkItems<ouroboros::IndexQueue<ouroboros::LinkedQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-vl",
      .label = "Ouroboros-C-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of chunks with free pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosCVL create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosCVL a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
