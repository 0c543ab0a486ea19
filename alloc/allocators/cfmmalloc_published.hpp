// SPDX-License-Identifier: MIT
// CFMMalloc as published (RegEff section 5.4): CFMalloc with one offset and one binary heap of
// chunks per multiprocessor. Differs from the paper and limits: as cfmalloc_published.hpp.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CfmMallocPublished
    : published::List<published::FusedHeaders, published::Offsets::per_multiprocessor> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-published",
      .label = "CFMMalloc (published)",
      .paper = "RegEff 5.4",
      .note = "CFMalloc (published) with an offset and a heap of chunks per multiprocessor"};

  template <class Device>
  static CfmMallocPublished create(Pool pool, const AllocatorOptions& options,
                                   const Device& device) {
    CfmMallocPublished a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
