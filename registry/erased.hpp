// SPDX-License-Identifier: MIT
// The CompiledAllocator of an allocator that is called through function pointers on CPU threads.
// The builder and the workloads are compiled once for all of them (erased.cpp).
#pragma once

#include "alloc/erased.hpp"
#include "kdtree/build/profile.hpp"
#include "registry/registry.hpp"
#include "simt/cpu.hpp"

namespace heapwood::registry {

// As the functions of CompiledAllocator.
namespace erased {
kdtree::BuildRun build(const CpuFunctions&, kdtree::Workspace&, const kdtree::BuildOptions&);
kdtree::RecordedRun build_recorded(const CpuFunctions&, kdtree::Workspace&,
                                   const kdtree::BuildOptions&, std::size_t capacity);
workloads::StressResult stress(const CpuFunctions&, const workloads::StressJob&);
std::unique_ptr<workloads::graph::AdjacencyHeap> adjacency_heap(const CpuFunctions&,
                                                                const workloads::graph::HeapJob&);
workloads::ReplayResult replay(const CpuFunctions&, const workloads::ReplayJob&);
kdtree::BuildProfile build_profiled(const CpuFunctions&, kdtree::Workspace&,
                                    const kdtree::BuildOptions&);
}  // namespace erased

template <class A>
constexpr CompiledAllocator make_erased() {
  constexpr const CpuFunctions& functions = alloc::ErasedAllocator<A, simt::Cpu>::functions;
  return {.traits = &A::traits,
          .settings = settings_of<A>(),
          .device = simt::DeviceKind::cpu,
          .build =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
                return erased::build(functions, workspace, options);
              },
          .build_recorded =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options,
                 std::size_t capacity) {
                return erased::build_recorded(functions, workspace, options, capacity);
              },
          .kernel_use = [](const simt::DeviceId&, kdtree::RefKind) { return KernelUse{}; },
          .call_use = [](const simt::DeviceId&, bool, alloc::LargeBackend) { return CallUse{}; },
          .stress = [](const workloads::StressJob& job) { return erased::stress(functions, job); },
          .adjacency_heap =
              [](const workloads::graph::HeapJob& job) {
                return erased::adjacency_heap(functions, job);
              },
          .replay = [](const workloads::ReplayJob& job) { return erased::replay(functions, job); },
          .build_profiled =
              [](kdtree::Workspace& workspace, const kdtree::BuildOptions& options) {
                return erased::build_profiled(functions, workspace, options);
              },
          .cpu_functions = &functions};
}

}  // namespace heapwood::registry
