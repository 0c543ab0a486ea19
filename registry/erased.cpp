// SPDX-License-Identifier: MIT
// Builder and workloads on CPU threads that call an allocator through function pointers.
#include "registry/erased.hpp"

#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile_run.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/particles/particles_run.hpp"
#include "workloads/stress_run.hpp"
#include "workloads/strings/strings_run.hpp"

namespace heapwood::registry::erased {

using Allocator = alloc::Erased<simt::Cpu>;
using Device = alloc::ErasedDevice<simt::Cpu>;

namespace {
Device device_of(const simt::DeviceId& id, const CpuFunctions& functions) {
  return {simt::Cpu(id), functions};
}
}  // namespace

kdtree::BuildRun build(const CpuFunctions& functions, kdtree::Workspace& workspace,
                       const kdtree::BuildOptions& options) {
  return kdtree::build<Allocator>(device_of(workspace.device(), functions), workspace, options);
}

#if !defined(HEAPWOOD_BUILDS_ONLY)
kdtree::RecordedRun build_recorded(const CpuFunctions& functions, kdtree::Workspace& workspace,
                                   const kdtree::BuildOptions& options, std::size_t capacity) {
  return kdtree::build_recorded<Allocator>(device_of(workspace.device(), functions), workspace,
                                           options, capacity);
}

workloads::StressResult stress(const CpuFunctions& functions, const workloads::StressJob& job) {
  return workloads::stress<Allocator>(
      device_of(job.device, functions.variant(job.options.large_backend)), job);
}

std::unique_ptr<workloads::graph::AdjacencyHeap> adjacency_heap(
    const CpuFunctions& functions, const workloads::graph::HeapJob& job) {
  return std::make_unique<workloads::graph::AdjacencyRun<Allocator, Device>>(
      device_of(job.device, functions), job);
}

workloads::StepsResult strings(const CpuFunctions& functions,
                               const workloads::strings::StringsJob& job) {
  return workloads::strings::run_strings<Allocator>(device_of(job.device, functions), job);
}

workloads::StepsResult particles(const CpuFunctions& functions,
                                 const workloads::particles::ParticlesJob& job) {
  return workloads::particles::run_particles<Allocator>(device_of(job.device, functions), job);
}

kdtree::BuildProfile build_profiled(const CpuFunctions& functions, kdtree::Workspace& workspace,
                                    const kdtree::BuildOptions& options) {
  return kdtree::profile_of<Allocator>(device_of(workspace.device(), functions), workspace,
                                       options);
}
#endif

}  // namespace heapwood::registry::erased
