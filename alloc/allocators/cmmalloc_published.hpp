// SPDX-License-Identifier: MIT
// CMMalloc as published (RegEff section 5.4): CMalloc with one offset and one binary heap of chunks
// per multiprocessor. Differs from the paper and limits: as cmalloc_published.hpp.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CmMallocPublished
    : published::List<published::TwoWordHeaders, published::Offsets::per_multiprocessor> {
  static constexpr AllocatorTraits traits{
      .id = "cmmalloc-published",
      .label = "CMMalloc (published)",
      .paper = "RegEff 5.4",
      .note = "CMalloc (published) with an offset and a heap of chunks per multiprocessor"};

  template <class Device>
  static CmMallocPublished create(Pool pool, const AllocatorOptions& options,
                                  const Device& device) {
    CmMallocPublished a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
