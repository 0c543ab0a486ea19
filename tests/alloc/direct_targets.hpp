// SPDX-License-Identifier: MIT
// The allocators that tests instantiate without the registry. New ones need not be added here:
// the tests through the registry cover every registered allocator.
#pragma once

#include <string>
#include <vector>

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/bulk.hpp"
#include "alloc/allocators/circular_lists.hpp"
#include "alloc/allocators/cuda_malloc.hpp"
#include "alloc/allocators/fdg.hpp"
#include "alloc/allocators/fdg_published.hpp"
#include "alloc/allocators/flatter_scatter.hpp"
#include "alloc/allocators/gallatin.hpp"
#include "alloc/allocators/halloc.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "alloc/allocators/ouroboros.hpp"
#include "alloc/allocators/scatter.hpp"
#include "alloc/allocators/xmalloc.hpp"
#include "tests/alloc/exercise_erased.hpp"
#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {

// Whether large requests can go to the platform's malloc instead of the pool.
template <class A>
inline constexpr bool has_heap_beside = requires {
  typename A::WithBuiltin;
}
&&!A::traits.in_pool;

template <class Device, class... A>
void append(std::vector<Target>& list, const std::string& suffix, const simt::DeviceId& device) {
  (list.push_back({.name = identifier(std::string(A::traits.id) + suffix),
                   .traits = &A::traits,
                   .run = exercise<A, Device>,
                   .device = device,
                   .unusable = "",
                   .heap_beside = has_heap_beside<A>}),
   ...);
}

template <class Device>
void append_all(std::vector<Target>& list, const std::string& suffix,
                const simt::DeviceId& device) {
  append<Device, Atomic, AwMalloc, AwMallocSafe, CMalloc, CMallocR, CfMalloc, CmMalloc, CfmMalloc,
         Scatter, Halloc, XMalloc, OuroborosPS, OuroborosPVA, OuroborosPVL, OuroborosCS,
         OuroborosCVL, Fdg, FdgPublished, Bulk, Gallatin, FlatterScatter, Heapwood, CudaMalloc>(
      list, suffix, device);
  append<Device, AwMallocSafe::WithBuiltin, Scatter::WithBuiltin, Halloc::WithBuiltin,
         XMalloc::WithBuiltin>(list, "_builtin" + suffix, device);
}

void append_lockstep(std::vector<Target>& list);

}  // namespace heapwood::alloc::test
