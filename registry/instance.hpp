// SPDX-License-Identifier: MIT
// Constructs the CompiledAllocator of an allocator on GPUs, whose kernels contain it. Included by
// the generated .cu files only.
#pragma once

#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile_run.hpp"
#include "registry/replay_instance.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/particles/particles_run.hpp"
#include "workloads/stress_run.hpp"
#include "workloads/strings/strings_run.hpp"

namespace heapwood::registry {

template <class Kernel>
KernelUse resources_of(const simt::DeviceId& id) {
  return simt::Cuda(id).occupancy<Kernel>();
}

template <class Allocator>
KernelUse kernel_use(const simt::DeviceId& id, kdtree::RefKind refs) {
  return kdtree::with_ref_kind(refs, [&]<kdtree::RefKind kind>() {
    return resources_of<kdtree::BuildKernel<Allocator, kind>>(id);
  });
}

template <class Allocator>
CallUse call_use(const simt::DeviceId& id, bool coalesced, alloc::LargeBackend large) {
  using namespace workloads::stress_detail;
  return workloads::with_variant<Allocator>(coalesced, large, [&]<class A>() {
    CallUse use{resources_of<AllocateKernel<A>>(id), resources_of<FreeKernel<A>>(id),
                resources_of<PairKernel<A>>(id)};
    if constexpr (requires { typename A::WarpState; }) use.own = resources_of<OwnPairKernel<A>>(id);
    return use;
  });
}

// `with_probe`: also compiles a build kernel that measures what its warps do
// (kdtree/build/profile.hpp). `build_recorded` is that of this allocator, from a translation unit
// of its own (recorded.in).
template <class Allocator, bool with_probe>
constexpr CompiledAllocator make_compiled(
    decltype(CompiledAllocator::build_recorded) build_recorded) {
  using simt::Cuda;
  CompiledAllocator compiled = make_replayed<Allocator>();
  compiled.build = [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
    return kdtree::build<Allocator>(Cuda(workspace.device()), workspace, options);
  };
  compiled.build_recorded = build_recorded;
  compiled.kernel_use = kernel_use<Allocator>;
  if constexpr (!builds_only) {
    compiled.call_use = call_use<Allocator>;
    compiled.stress = [](const workloads::StressJob& job) {
      return workloads::stress<Allocator>(Cuda(job.device), job);
    };
    compiled.adjacency_heap = workloads::graph::adjacency_heap<Allocator, Cuda>;
    compiled.strings = [](const workloads::strings::StringsJob& job) {
      return workloads::strings::run_strings<Allocator>(Cuda(job.device), job);
    };
    compiled.particles = [](const workloads::particles::ParticlesJob& job) {
      return workloads::particles::run_particles<Allocator>(Cuda(job.device), job);
    };
  }
  if constexpr (with_probe) {
    compiled.build_profiled = [](kdtree::Workspace& workspace,
                                 const kdtree::BuildOptions& options) {
      return kdtree::profile_of<Allocator>(Cuda(workspace.device()), workspace, options);
    };
  }
  return compiled;
}

}  // namespace heapwood::registry
