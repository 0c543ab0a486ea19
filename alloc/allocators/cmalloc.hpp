// SPDX-License-Identifier: MIT
// CMalloc (RegEff section 5.2): a circular list of chunks, pre-split as a binary heap; a header has
// two words, state and link. Differs from the paper: headers in a side table, exact out-of-memory,
// test before lock (circular_list/circular_list.hpp, header_words.hpp). Limits: as there; overhead
// 8 bytes in 24.
#pragma once

#include "alloc/circular_list/circular_list.hpp"

namespace heapwood::alloc {

struct CMalloc : CircularList<SplitHeaders, Offsets::one> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc",
      .label = "CMalloc",
      .paper = "RegEff 5.2",
      .note = "circular list, state and link in two words, one offset"};

  template <class Device>
  static CMalloc create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CMalloc a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
