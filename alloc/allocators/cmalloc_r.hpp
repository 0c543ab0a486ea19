// SPDX-License-Identifier: MIT
// CMalloc-R: CMalloc with recursive concatenation, which RegEff section 9 leaves to the future: a
// free merges all free chunks that follow its block, not only the first one. Chunks before the
// block are not merged, because a header has no back link. Otherwise identical to CMalloc
// (circular_list/circular_list.hpp): pieces of the pre-split stay separate, or the pool would merge
// into one chunk that all threads contend for. Limits: as CMalloc; overhead 8 bytes in 24.
#pragma once

#include "alloc/circular_list/circular_list.hpp"

namespace heapwood::alloc {

struct CMallocR : CircularList<SplitHeaders, Offsets::one, Joins::all> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc-r",
      .label = "CMalloc-R",
      .paper = "RegEff 9",
      .note = "CMalloc; a free merges the block with all free chunks after it"};

  template <class Device>
  static CMallocR create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CMallocR a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
