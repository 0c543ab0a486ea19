// SPDX-License-Identifier: MIT
// The builder and the workloads on CPU threads, with an allocator behind function pointers.
#include "registry/erased.hpp"

#include "kdtree/build/driver.hpp"
#include "kdtree/build/profile_run.hpp"
#include "workloads/graph/adjacency_run.hpp"
#include "workloads/program_trace/replay_run.hpp"
#include "workloads/stress_run.hpp"

namespace heapwood::registry::erased {

using Allocator = alloc::Erased<simt::Cpu>;
using Device = alloc::ErasedDevice<simt::Cpu>;

kdtree::BuildRun build(const CpuFunctions& functions, kdtree::Workspace& workspace,
                       const kdtree::BuildOptions& options) {
  return kdtree::build<Allocator>(Device(simt::Cpu(workspace.device()), functions), workspace,
                                  options);
}

kdtree::RecordedRun build_recorded(const CpuFunctions& functions, kdtree::Workspace& workspace,
                                   const kdtree::BuildOptions& options, std::size_t capacity) {
  return kdtree::build_recorded<Allocator>(Device(simt::Cpu(workspace.device()), functions),
                                           workspace, options, capacity);
}

workloads::StressResult stress(const CpuFunctions& functions, const workloads::StressJob& job) {
  const bool uses_builtin = job.options.large_backend == alloc::LargeBackend::builtin &&
                            functions.with_builtin != nullptr;
  return workloads::stress<Allocator>(
      Device(simt::Cpu(job.device), uses_builtin ? *functions.with_builtin : functions), job);
}

std::unique_ptr<workloads::graph::AdjacencyHeap> adjacency_heap(
    const CpuFunctions& functions, const workloads::graph::HeapJob& job) {
  return std::make_unique<workloads::graph::AdjacencyRun<Allocator, Device>>(
      Device(simt::Cpu(job.device), functions), job);
}

workloads::ReplayResult replay(const CpuFunctions& functions, const workloads::ReplayJob& job) {
  return workloads::replay_program<Allocator>(Device(simt::Cpu(job.device), functions), job);
}

kdtree::BuildProfile build_profiled(const CpuFunctions& functions, kdtree::Workspace& workspace,
                                    const kdtree::BuildOptions& options) {
  return kdtree::profile_of<Allocator>(Device(simt::Cpu(workspace.device()), functions), workspace,
                                       options);
}

}  // namespace heapwood::registry::erased
