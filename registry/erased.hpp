// SPDX-License-Identifier: MIT
// The CompiledAllocator of an allocator that is called through function pointers on CPU threads.
// The builder and the workloads are compiled once for all of them (erased.cpp, erased_replay.cpp).
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

// Makes a function of `erased` one without the first argument: the functions of the allocator.
template <const CompiledAllocator& allocator, auto function>
struct With;
template <const CompiledAllocator& allocator, class Result, class... Args,
          Result (*function)(const CpuFunctions&, Args...)>
struct With<allocator, function> {
  static Result call(Args... args) { return function(*allocator.cpu_functions, args...); }
};

// For a program that only replays: the other functions are nullptr.
template <class A>
constexpr CompiledAllocator make_erased_replay() {
  constexpr auto* functions = &alloc::ErasedAllocator<A, simt::Cpu>::functions;
  CompiledAllocator compiled{
      .traits = &A::traits, .settings = settings_of<A>(), .cpu_functions = functions};
  if constexpr (!builds_only) {
    compiled.replay = [](const workloads::ReplayJob& job) {
      return erased::replay(*functions, job);
    };
  }
  return compiled;
}

// Adds the other functions; those in `own`, if they exist, have kernels that contain the allocator.
template <const CompiledAllocator& replayed>
CompiledAllocator make_erased(const CompiledAllocator& own) {
  CompiledAllocator compiled = replayed;
  compiled.build = own.build ? own.build : With<replayed, erased::build>::call;
  compiled.kernel_use = [](const simt::DeviceId&, kdtree::RefKind) { return KernelUse{}; };
  if constexpr (!builds_only) {
    compiled.build_recorded = With<replayed, erased::build_recorded>::call;
    compiled.build_profiled =
        own.build_profiled ? own.build_profiled : With<replayed, erased::build_profiled>::call;
    compiled.call_use = [](const simt::DeviceId&, bool, alloc::LargeBackend) { return CallUse{}; };
    compiled.stress = With<replayed, erased::stress>::call;
    compiled.adjacency_heap = With<replayed, erased::adjacency_heap>::call;
    compiled.strings = With<replayed, erased::strings>::call;
    compiled.particles = With<replayed, erased::particles>::call;
  }
  return compiled;
}

}  // namespace heapwood::registry
