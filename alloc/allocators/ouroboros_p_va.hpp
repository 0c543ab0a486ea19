// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of pages per size class, whose slots are in
// chunks that are found through an array (section 5.1).
#pragma once

#include "alloc/ouroboros/array_queue.hpp"
#include "alloc/ouroboros/ouroboros.hpp"
#include "alloc/ouroboros/page_items.hpp"

namespace heapwood::alloc {

struct OuroborosPVA
    : Ouroboros<ouroboros::PageItems<ouroboros::IndexQueue<ouroboros::ArrayQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-va",
      .label = "Ouroboros-P-VA",
      .paper = "Ouroboros 5.1",
      .note = "queues of pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosPVA create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosPVA a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
