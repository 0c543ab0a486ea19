// SPDX-License-Identifier: MIT
// CFMalloc, fused (RegEff section 5.3): CMalloc with state and link in one word, so that one
// exchange claims a chunk exactly as it was read. Differs from the paper: headers in a side table,
// exact out-of-memory (circular_list/circular_list.hpp). Limits: as there; overhead 4 bytes in 20.
#pragma once

#include "alloc/circular_list/circular_list.hpp"

namespace heapwood::alloc {

struct CfMalloc : CircularList<FusedHeaders, Offsets::one> {
  static constexpr AllocatorTraits traits{
      .id = "cfmalloc",
      .label = "CFMalloc",
      .paper = "RegEff 5.3",
      .note = "circular list, state and link fused in one word, one offset"};

  template <class Device>
  static CfMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CfMalloc a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
