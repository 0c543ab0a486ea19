// SPDX-License-Identifier: MIT
// CMalloc as published (RegEff section 5.2): a circular list with headers of two words in the pool.
// Differs from the paper: merged memory is reused only after the walkers in it have left, exact
// exhaustion, alignment to 16 bytes (circular_list_published/list.hpp). Limits: as there.
// cmalloc.hpp is the redesigned one.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CMallocPublished : published::List<published::TwoWordHeaders, published::Offsets::one> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc-published",
      .label = "CMalloc (published)",
      .paper = "RegEff 5.2",
      .note = "the circular list as in the paper: headers in the pool, first fit from one offset"};

  template <class Device>
  static CMallocPublished create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CMallocPublished a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
