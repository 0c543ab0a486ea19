// SPDX-License-Identifier: MIT
// CFMMalloc as published, but with headers in a table beside the memory, where no header becomes
// user data: merged memory is reused at once. The second step from the published to the redesigned
// list (circular_list_published/ablation.hpp). Limits: as circular_list_published/list.hpp;
// overhead 8 bytes in 24.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CfmMallocTable
    : published::List<published::FusedHeaders, published::Offsets::per_multiprocessor,
                      published::Storage::table> {
  static constexpr AllocatorTraits traits{.id = "cfmmalloc-table",
                                          .label = "CFMMalloc (table)",
                                          .paper = "RegEff 5.4",
                                          .note =
                                              "CFMMalloc (published) with headers in a table "
                                              "beside the memory; a step of the ablation"};

  template <class Device>
  static CfmMallocTable create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CfmMallocTable a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
