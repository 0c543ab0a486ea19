// SPDX-License-Identifier: MIT
// The CompiledAllocator of an allocator that is called through function pointers on CPU threads.
// The builder and the workloads are compiled once for all of them (erased.cpp).
#pragma once

#include "alloc/erased.hpp"
#include "kdtree/build/profile.hpp"
#include "registry/registry.hpp"
#include "simt/cpu.hpp"

namespace heapwood::registry {

// CompiledAllocator describes each of these functions.
namespace erased {
kdtree::BuildRun build(const CpuFunctions&, kdtree::Workspace&, const kdtree::BuildOptions&);
kdtree::RecordedRun build_recorded(const CpuFunctions&, kdtree::Workspace&,
                                   const kdtree::BuildOptions&, std::size_t capacity);
workloads::StressResult stress(const CpuFunctions&, const workloads::StressJob&);
std::unique_ptr<workloads::graph::AdjacencyHeap> adjacency_heap(const CpuFunctions&,
                                                                const workloads::graph::HeapJob&);
workloads::ReplayResult replay(const CpuFunctions&, const workloads::ReplayJob&);
workloads::StepsResult strings(const CpuFunctions&, const workloads::strings::StringsJob&);
workloads::StepsResult particles(const CpuFunctions&, const workloads::particles::ParticlesJob&);
kdtree::BuildProfile build_profiled(const CpuFunctions&, kdtree::Workspace&,
                                    const kdtree::BuildOptions&);
}  // namespace erased

// Makes a function of `erased` one without the first argument, by passing the functions of A.
template <class A, auto function>
struct With;
template <class A, class Result, class... Args, Result (*function)(const CpuFunctions&, Args...)>
struct With<A, function> {
  static Result call(Args... args) {
    return function(alloc::ErasedAllocator<A, simt::Cpu>::functions, args...);
  }
};

template <class A>
constexpr CompiledAllocator make_erased() {
  return {.traits = &A::traits,
          .settings = settings_of<A>(),
          .device = simt::DeviceKind::cpu,
          .build = With<A, erased::build>::call,
          .build_recorded = With<A, erased::build_recorded>::call,
          .kernel_use = [](const simt::DeviceId&, kdtree::RefKind) { return KernelUse{}; },
          .call_use = [](const simt::DeviceId&, bool, alloc::LargeBackend) { return CallUse{}; },
          .stress = With<A, erased::stress>::call,
          .adjacency_heap = With<A, erased::adjacency_heap>::call,
          .replay = With<A, erased::replay>::call,
          .strings = With<A, erased::strings>::call,
          .particles = With<A, erased::particles>::call,
          .build_profiled = With<A, erased::build_profiled>::call,
          .cpu_functions = &alloc::ErasedAllocator<A, simt::Cpu>::functions};
}

}  // namespace heapwood::registry
