// SPDX-License-Identifier: MIT
// CMMalloc, multi-offset (RegEff section 5.4): CMalloc with one offset and one binary heap of
// chunks per multiprocessor. A walk that finds its own heap full continues in any of them. Differs
// from the paper: headers in a side table, exact out-of-memory, permanent pieces, each offset in a
// sector of its own (circular_list/circular_list.hpp). Limits: as there; overhead 8 bytes in 24.
#pragma once

#include "alloc/circular_list/circular_list.hpp"

namespace heapwood::alloc {

struct CmMalloc : CircularList<SplitHeaders, Offsets::per_multiprocessor> {
  static constexpr AllocatorTraits traits{
      .id = "cmmalloc",
      .label = "CMMalloc",
      .paper = "RegEff 5.4",
      .note = "CMalloc with one offset and one heap of chunks per multiprocessor"};

  template <class Device>
  static CmMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CmMalloc a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
