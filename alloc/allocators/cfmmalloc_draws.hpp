// SPDX-License-Identifier: MIT
// CFMMalloc with headers in a table, whose walks continue every 8 chunks at a chunk of the
// pre-split drawn by hash. The third step from the published to the redesigned list
// (circular_list_published/ablation.hpp). Limits: as cfmmalloc_table.hpp.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CfmMallocDraws
    : published::List<published::FusedHeaders, published::Offsets::per_multiprocessor,
                      published::Storage::table, published::Links::next, published::Walks::drawn> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-draws",
      .label = "CFMMalloc (draws)",
      .paper = "RegEff 5.4",
      .note =
          "CFMMalloc (table) whose walks continue at chunks drawn by hash; a step of the ablation"};

  template <class Device>
  static CfmMallocDraws create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CfmMallocDraws a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
