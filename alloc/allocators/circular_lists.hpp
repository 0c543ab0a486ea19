// SPDX-License-Identifier: MIT
// The circular lists of RegEff section 5: chunks pre-split as a binary heap, found first fit from
// an offset. Differs from the paper (circular_list/circular_list.hpp has the details): headers are
// in a side table; a request is refused only if no chunk can serve it; a chunk's state is read
// before the chunk is locked; pieces of the pre-split never merge; each offset has a cache sector
// of its own. Limits: see circular_list.hpp; overhead 8 bytes in 24 with headers of two words, 4
// bytes in 20 with fused ones.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/circular_list/circular_list.hpp"

namespace heapwood::alloc {

// Section 5.2: a chunk's header has two words, its state and the link to the next chunk.
struct CMalloc : LaidOut<CMalloc, CircularList<SplitHeaders, Offsets::one>> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc",
      .label = "CMalloc",
      .paper = "RegEff 5.2",
      .note = "circular list, state and link in two words, one offset"};
};

// With recursive concatenation, which section 9 leaves to the future: a free merges all free chunks
// that follow its block, not only the first one. Chunks before the block are not merged, because a
// header has no back link. Pieces of the pre-split stay separate, or the pool would merge into one
// chunk that all threads contend for.
struct CMallocR : LaidOut<CMallocR, CircularList<SplitHeaders, Offsets::one, Joins::all>> {
  static constexpr AllocatorTraits traits{
      .id = "cmalloc-r",
      .label = "CMalloc-R",
      .paper = "RegEff 9",
      .note = "CMalloc; a free merges the block with all free chunks after it"};
};

// Fused, section 5.3: state and link are one word, so one exchange claims a chunk as it was read.
struct CfMalloc : LaidOut<CfMalloc, CircularList<FusedHeaders, Offsets::one>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmalloc",
      .label = "CFMalloc",
      .paper = "RegEff 5.3",
      .note = "circular list, state and link fused in one word, one offset"};
};

// Multi-offset, section 5.4: one offset and one binary heap of chunks per multiprocessor. A request
// that finds no chunk in its multiprocessor's heap continues in the others.
struct CmMalloc : LaidOut<CmMalloc, CircularList<SplitHeaders, Offsets::per_multiprocessor>> {
  static constexpr AllocatorTraits traits{
      .id = "cmmalloc",
      .label = "CMMalloc",
      .paper = "RegEff 5.4",
      .note = "CMalloc with one offset and one heap of chunks per multiprocessor"};
};

// Fused and multi-offset, section 5.4.
struct CfmMalloc : LaidOut<CfmMalloc, CircularList<FusedHeaders, Offsets::per_multiprocessor>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc",
      .label = "CFMMalloc",
      .paper = "RegEff 5.4",
      .note = "CFMalloc with one offset and one heap of chunks per multiprocessor"};
};

}  // namespace heapwood::alloc
