// SPDX-License-Identifier: MIT
// Constructs the CompiledAllocator of an allocator that kernels contain, for one kind of device.
// Included by the generated translation units only.
#pragma once

#include <type_traits>

#include "alloc/erased.hpp"
#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile_run.hpp"
#include "registry/registry.hpp"
#include "simt/cpu.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/program_trace/replay_run.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::registry {

template <class Kernel, class Device>
KernelUse resources_of(const simt::DeviceId& id) {
  if constexpr (requires(const Device& device) { device.template occupancy<Kernel>(); }) {
    const auto o = Device(id).template occupancy<Kernel>();
    return {o.registers, o.local_bytes, o.shared_bytes, o.warps_per_multiprocessor};
  } else {
    return {};
  }
}

template <class Allocator, class Device>
KernelUse kernel_use(const simt::DeviceId& id, kdtree::RefKind refs) {
  return kdtree::with_ref_kind(refs, [&]<kdtree::RefKind kind>() {
    return resources_of<kdtree::BuildKernel<Allocator, kind>, Device>(id);
  });
}

template <class Allocator, class Device>
std::optional<KernelUse> own_call_use([[maybe_unused]] const simt::DeviceId& id) {
  if constexpr (requires { typename Allocator::WarpState; }) {
    return resources_of<workloads::stress_detail::OwnPairKernel<Allocator>, Device>(id);
  } else {
    return {};
  }
}

template <class Allocator, class Device>
CallUse call_use(const simt::DeviceId& id, bool coalesced, alloc::LargeBackend large) {
  return workloads::with_variant<Allocator>(coalesced, large, [&]<class A>() {
    return CallUse{resources_of<workloads::stress_detail::AllocateKernel<A>, Device>(id),
                   resources_of<workloads::stress_detail::FreeKernel<A>, Device>(id),
                   resources_of<workloads::stress_detail::PairKernel<A>, Device>(id),
                   own_call_use<A, Device>(id)};
  });
}

// `with_probe`: also a build kernel that measures what its warps do (kdtree/build/profile.hpp).
template <class Allocator, class Device, bool with_probe>
constexpr CompiledAllocator make_compiled(simt::DeviceKind kind) {
  CompiledAllocator compiled{
      .traits = &Allocator::traits,
      .settings = settings_of<Allocator>(),
      .device = kind,
      .build =
          [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
            return kdtree::build<Allocator>(Device(workspace.device()), workspace, options);
          },
      .build_recorded =
          [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options,
             std::size_t capacity) {
            return kdtree::build_recorded<Allocator>(Device(workspace.device()), workspace, options,
                                                     capacity);
          },
      .kernel_use = kernel_use<Allocator, Device>,
      .call_use = call_use<Allocator, Device>,
      .stress =
          [](const workloads::StressJob& job) {
            return workloads::stress<Allocator>(Device(job.device), job);
          },
      .adjacency_heap = workloads::graph::adjacency_heap<Allocator, Device>,
      .replay =
          [](const workloads::ReplayJob& job) {
            return workloads::replay_program<Allocator>(Device(job.device), job);
          }};
  if constexpr (with_probe) {
    compiled.build_profiled = [](kdtree::Workspace& workspace,
                                 const kdtree::BuildOptions& options) {
      return kdtree::profile_of<Allocator>(Device(workspace.device()), workspace, options);
    };
  }
  if constexpr (std::is_same_v<Device, simt::Cpu>)
    compiled.cpu_functions = &alloc::ErasedAllocator<Allocator, simt::Cpu>::functions;
  return compiled;
}

}  // namespace heapwood::registry
