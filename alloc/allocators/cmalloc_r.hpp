// SPDX-License-Identifier: MIT
// CMalloc-R: CMalloc with recursive concatenation, which RegEff section 9 leaves to the future: a free joins all free
// chunks behind its block, not only the first of them. In front of it nothing is joined: a header has no link back.
// Differs from CMalloc in nothing else (primitives/circular_list.hpp): pieces of the pre-split stay apart, or the pool
// would melt into one chunk that all threads then ask. Limits: as CMalloc; overhead 8 bytes in 24.
#pragma once

#include "alloc/primitives/circular_list.hpp"

namespace heapwood::alloc {

struct CMallocR : CircularList<SplitHeaders, Offsets::one, Joins::all> {
  static constexpr AllocatorTraits traits{.id = "cmalloc-r",
                                          .label = "CMalloc-R",
                                          .paper = "RegEff 9",
                                          .note = "CMalloc whose frees join all free chunks behind the block"};

  template <class Device>
  static CMallocR create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CMallocR a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
