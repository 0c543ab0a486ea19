// SPDX-License-Identifier: MIT
// The circular lists as published in RegEff section 5, followed by the steps that lead from the
// published CFMMalloc to the redesigned one (circular_lists.hpp): each step changes one thing.
// Differs from the paper: headers are in a separate table; a request is refused only if no chunk
// can serve it; blocks are aligned to 16 bytes; flag and link in one word have 64 bits. Details:
// circular_list_published/list.hpp.
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/allocators/circular_lists.hpp"
#include "alloc/circular_list_published/list.hpp"

namespace heapwood::alloc {

// Section 5.2: headers of two words.
struct CMallocPublished
    : LaidOut<CMallocPublished, published::List<published::TwoWordHeaders, Offsets::one>> {
  static constexpr AllocatorTraits traits{.id = "cmalloc-published",
                                          .label = "CMalloc (published)",
                                          .paper = "RegEff 5.2",
                                          .note =
                                              "the circular list as in the paper, but for a table "
                                              "of headers: first fit from one offset"};
};

// Section 5.3: flag and link fused into one word.
struct CfMallocPublished
    : LaidOut<CfMallocPublished, published::List<published::FusedHeaders, Offsets::one>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmalloc-published",
      .label = "CFMalloc (published)",
      .paper = "RegEff 5.3",
      .note = "CMalloc (published) with flag and link in one word"};
};

// Section 5.4: one offset and one binary heap of chunks per multiprocessor.
struct CmMallocPublished
    : LaidOut<CmMallocPublished,
              published::List<published::TwoWordHeaders, Offsets::per_multiprocessor>> {
  static constexpr AllocatorTraits traits{
      .id = "cmmalloc-published",
      .label = "CMMalloc (published)",
      .paper = "RegEff 5.4",
      .note = "CMalloc (published) with an offset and a heap of chunks per multiprocessor"};
};

struct CfmMallocPublished
    : LaidOut<CfmMallocPublished,
              published::List<published::FusedHeaders, Offsets::per_multiprocessor>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-published",
      .label = "CFMMalloc (published)",
      .paper = "RegEff 5.4",
      .note = "CFMalloc (published) with an offset and a heap of chunks per multiprocessor"};
};

// Second step: after every 8 chunks a search continues at a random chunk of the pre-split.
struct CfmMallocDraws
    : LaidOut<CfmMallocDraws, published::List<published::FusedHeaders, Offsets::per_multiprocessor,
                                              published::Walks::drawn>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-draws",
      .label = "CFMMalloc (draws)",
      .paper = "RegEff 5.4",
      .note =
          "CFMMalloc (published) whose searches continue at random chunks; a step of own-ablation"};
};

// A thread whose lanes never act together.
template <class Thread>
struct UngroupedThread : Thread {
  HEAPWOOD_INLINE explicit UngroupedThread(const Thread& thread) : Thread(thread) {}
  HEAPWOOD_INLINE std::uint32_t together() const { return 1u << Thread::lane(); }
  HEAPWOOD_INLINE std::uint32_t together(const void* /*key*/) const { return together(); }
};

// Third step: the redesigned list, but every lane searches for itself.
struct CfmMallocUngrouped
    : LaidOut<CfmMallocUngrouped, CircularList<FusedHeaders, Offsets::per_multiprocessor>> {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-ungrouped",
      .label = "CFMMalloc (ungrouped)",
      .paper = "RegEff 5.4",
      .note = "CFMMalloc whose lanes never share a search; a step of own-ablation"};

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    UngroupedThread<Thread> lane(thread);
    return CircularList::allocate(lane, bytes);
  }
};

}  // namespace heapwood::alloc
