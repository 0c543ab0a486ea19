// SPDX-License-Identifier: MIT
// The redesigned CFMMalloc (cfmmalloc.hpp) without groups: every lane walks alone. The fourth step
// from the published to the redesigned list (circular_list_published/ablation.hpp). Limits: as
// there.
#pragma once

#include "alloc/allocators/cfmmalloc.hpp"

namespace heapwood::alloc {

// A thread whose lanes never act together.
template <class Thread>
struct UngroupedThread : Thread {
  SIMT_INLINE explicit UngroupedThread(const Thread& thread) : Thread(thread) {}
  SIMT_INLINE std::uint32_t together() const { return 1u << Thread::lane(); }
  SIMT_INLINE std::uint32_t together(const void* /*key*/) const { return together(); }
  SIMT_INLINE std::uint32_t together(const void* /*key*/, std::uint32_t& all) const {
    return all = together();
  }
};

struct CfmMallocUngrouped : CfmMalloc {
  static constexpr AllocatorTraits traits{
      .id = "cfmmalloc-ungrouped",
      .label = "CFMMalloc (ungrouped)",
      .paper = "RegEff 5.4",
      .note = "CFMMalloc whose lanes never share a walk; a step of the ablation"};

  template <class Device>
  static CfmMallocUngrouped create(Pool pool, const AllocatorOptions& options,
                                   const Device& device) {
    CfmMallocUngrouped a;
    a.lay_out(traits, pool, options, device);
    return a;
  }
  template <class Thread>
  SIMT_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    UngroupedThread<Thread> lane(thread);
    return CfmMalloc::allocate(lane, bytes);
  }
};

}  // namespace heapwood::alloc
