// SPDX-License-Identifier: MIT
// CMalloc as a doubly linked list, which the paper tried and found slightly slower (RegEff section
// 5.2): a free also merges the previous chunk. Headers have 16 bytes. The paper gives no algorithm.
// Otherwise as cmalloc_published.hpp.
#pragma once

#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

struct CMallocDoubly : published::List<published::TwoWordHeaders, published::Offsets::one,
                                       published::Storage::in_pool, published::Links::both> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc-doubly",
      .label = "CMalloc (doubly linked)",
      .paper = "RegEff 5.2",
      .note = "CMalloc (published) as a doubly linked list: a free also merges the previous chunk"};

  template <class Device>
  static CMallocDoubly create(Pool pool, const AllocatorOptions& options, const Device& device) {
    CMallocDoubly a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
};

}  // namespace heapwood::alloc
