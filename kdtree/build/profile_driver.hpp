// SPDX-License-Identifier: MIT
// Builds with a probe for two allocators, and builds with the no-cost allocator: a template over
// the device.
#pragma once

#include "alloc/allocators/atomic.hpp"
#include "alloc/allocators/heapwood.hpp"
#include "alloc/private_bump.hpp"
#include "kdtree/build/profile_run.hpp"

namespace heapwood::kdtree {

template <class Device>
BuildProfile build_profiled_on(const Device& device, const ProfileJob& job) {
  if (job.allocator == alloc::Atomic::traits.id)
    return profile_of<alloc::Atomic>(device, job.workspace, job.options);
  return profile_of<alloc::Heapwood>(device, job.workspace, job.options);
}

template <class Device>
BuildRun build_no_cost_on(const Device& device, const ProfileJob& job) {
  return build_with<alloc::PrivateBump, RefKind::clipped>(device, job.workspace, job.options, [&] {
    return alloc::PrivateBump::create(job.workspace.pool(), job.workspace.allocator_options(),
                                      device);
  });
}

}  // namespace heapwood::kdtree
