// SPDX-License-Identifier: MIT
// Ouroboros (ouroboros/ouroboros.hpp) with one queue of pages per size class, whose slots are an
// array (section 4).
#pragma once

#include "alloc/ouroboros/ouroboros.hpp"
#include "alloc/ouroboros/page_items.hpp"
#include "alloc/ouroboros/static_queue.hpp"

namespace heapwood::alloc {

struct OuroborosPS
    : Ouroboros<ouroboros::PageItems<ouroboros::IndexQueue<ouroboros::StaticQueue>>> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-s",
      .label = "Ouroboros-P-S",
      .paper = "Ouroboros 4",
      .note = "queues of pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};

  template <class Device>
  static OuroborosPS create(Pool pool, const AllocatorOptions& options, const Device& device) {
    OuroborosPS a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
