// SPDX-License-Identifier: MIT
// CFMalloc as published (RegEff section 5.3): CMalloc with flag and link fused into one word in the
// pool. Differs from the paper: as cmalloc_published.hpp; the word has 64 bits. Limits: as there.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CfMallocPublished : published::List<published::FusedHeaders, published::Offsets::one> {
  static constexpr AllocatorTraits traits{
      .id = "cfmalloc-published",
      .label = "CFMalloc (published)",
      .paper = "RegEff 5.3",
      .note = "CMalloc (published) with flag and link in one word"};

  template <class Device>
  static CfMallocPublished create(Pool pool, const AllocatorOptions& options,
                                  const Device& device) {
    CfMallocPublished a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
