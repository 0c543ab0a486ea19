// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of pages per size class, whose slots are in a
// list of chunks (section 5.2).
#pragma once

#include "alloc/ouroboros/linked_queue.hpp"
#include "alloc/ouroboros/ouroboros.hpp"
#include "alloc/ouroboros/page_items.hpp"

namespace heapwood::alloc {

struct OuroborosPVL
    : Ouroboros<ouroboros::PageItems<ouroboros::IndexQueue<ouroboros::LinkedQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-vl",
      .label = "Ouroboros-P-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosPVL create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosPVL a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
