// SPDX-License-Identifier: MIT
// Heapwood (heapwood.hpp) without its context: every request of a build goes through allocate() and
// deallocate(), as those of all other allocators do. The difference to Heapwood is what its context
// contributes. The arenas are those of a program without persistent warps.
//
// Limits: as heapwood.hpp.
#pragma once

#include "alloc/allocators/heapwood.hpp"

namespace heapwood::alloc {

class HeapwoodGeneral {
 public:
  static constexpr AllocatorTraits traits{.id = "heapwood-general",
                                          .label = "Heapwood (general)",
                                          .paper = "none: own design",
                                          .note =
                                              "heapwood without a context: malloc and free of "
                                              "any lanes, also in builds",
                                          .smallest_pool = Heapwood::traits.smallest_pool};

  template <class Device>
  static HeapwoodGeneral create(Pool pool, AllocatorOptions options, const Device& device) {
    check_pool(traits, pool);
    options.has_persistent_warps = false;
    options.spare_bytes_for_warps = 0;
    HeapwoodGeneral h;
    h.heap_ = Heapwood::create(pool, options, device);
    return h;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) const {
    return heap_.allocate(thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) const {
    heap_.deallocate(thread, block);
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    heap_.walk(host, visit);
  }

 private:
  Heapwood heap_;
};

}  // namespace heapwood::alloc
