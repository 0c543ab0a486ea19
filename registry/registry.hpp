// SPDX-License-Identifier: MIT
// An allocator compiled for a device, behind function pointers, which the command line, the viewer,
// the benchmarks and the tests call. One CompiledAllocator per registry line and kind of device;
// cmake/registry.cmake generates the table. GPU kernels contain their allocator. On CPU threads
// only builds with a few allocators do (registry.def); the others call it through pointers
// (erased.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "alloc/erased.hpp"
#include "kdtree/build/build.hpp"
#include "simt/cpu.hpp"
#include "simt/launch.hpp"
#include "workloads/graph/adjacency_heap.hpp"
#include "workloads/program_trace/replay.hpp"
#include "workloads/steps.hpp"
#include "workloads/stress.hpp"

namespace heapwood::kdtree {
struct BuildProfile;
}
namespace heapwood::workloads::strings {
struct StringsJob;
}
namespace heapwood::workloads::particles {
struct ParticlesJob;
}

namespace heapwood::registry {

// Whether allocators only build trees: without workloads, recordings and profiles the Python
// package compiles in half the time.
#if defined(HEAPWOOD_BUILDS_ONLY)
inline constexpr bool builds_only = true;
#else
inline constexpr bool builds_only = false;
#endif

using CpuFunctions = alloc::ErasedFunctions<simt::Cpu>;

using simt::KernelUse;

// The resources of kernels with one malloc, one free, and one of each (RegEff table 1); `own`: with
// one of each through the allocator's per-warp context, if it has one.
struct CallUse {
  KernelUse malloc, free, both;
  std::optional<KernelUse> own = {};
};

template <class Allocator>
constexpr std::span<const alloc::AllocatorSetting> settings_of() {
  if constexpr (requires { Allocator::settings; })
    return Allocator::settings;
  else
    return {};
}

struct CompiledAllocator {
  const alloc::AllocatorTraits* traits = nullptr;
  std::span<const alloc::AllocatorSetting> settings = {};
  // Resets the pool and builds one tree. Throws simt::Stopped, simt::KernelFailure, Error.
  kdtree::BuildRun (*build)(kdtree::Workspace&, const kdtree::BuildOptions&) = nullptr;
  // Builds with an instrumented allocator; untimed. Records at most `capacity` events.
  kdtree::RecordedRun (*build_recorded)(kdtree::Workspace&, const kdtree::BuildOptions&,
                                        std::size_t capacity) = nullptr;
  KernelUse (*kernel_use)(const simt::DeviceId&, kdtree::RefKind) = nullptr;  // of the build kernel
  CallUse (*call_use)(const simt::DeviceId&, bool coalesced, alloc::LargeBackend large) = nullptr;
  // Runs a stress test once on a new pool (workloads/stress.hpp).
  workloads::StressResult (*stress)(const workloads::StressJob&) = nullptr;
  // Creates the adjacency blocks of a dynamic graph (workloads/graph/store.hpp).
  std::unique_ptr<workloads::graph::AdjacencyHeap> (*adjacency_heap)(
      const workloads::graph::HeapJob&) = nullptr;
  // Replays a program's requests once on a new pool (workloads/program_trace/replay.hpp).
  workloads::ReplayResult (*replay)(const workloads::ReplayJob&) = nullptr;
  // Runs the steps of strings once on a new pool (workloads/strings/strings.hpp).
  workloads::StepsResult (*strings)(const workloads::strings::StringsJob&) = nullptr;
  // Runs the rounds of particles once on a new pool (workloads/particles/particles.hpp).
  workloads::StepsResult (*particles)(const workloads::particles::ParticlesJob&) = nullptr;
  // Builds with the probe (kdtree/build/profile.hpp). nullptr on the GPU for allocators without
  // `own_kernels`, unless HEAPWOOD_PROBES is set.
  kdtree::BuildProfile (*build_profiled)(kdtree::Workspace&, const kdtree::BuildOptions&) = nullptr;
  // The functions of the allocator itself, on CPU threads.
  const CpuFunctions* cpu_functions = nullptr;

  kdtree::InstrumentedRun build_instrumented(kdtree::Workspace& workspace,
                                             const kdtree::BuildOptions& options) const {
    return build_recorded(workspace, options, 0).instrumented;
  }
};

struct RegisteredAllocator {
  const alloc::AllocatorTraits* traits;
  const CompiledAllocator* cpu;
  const CompiledAllocator* cuda;      // nullptr in builds without CUDA
  alloc::AllocatorOptions options{};  // settings given with its name
  std::span<const alloc::AllocatorSetting> settings() const {
    return cpu ? cpu->settings : std::span<const alloc::AllocatorSetting>{};
  }
  // Returns the given options, changed by the settings that belong to the allocator's name.
  alloc::AllocatorOptions options_over(alloc::AllocatorOptions given) const;
  const CompiledAllocator* on(simt::DeviceKind kind) const {
    return kind == simt::DeviceKind::cpu ? cpu : cuda;
  }
};

// All allocators, in the order of alloc/registry.def.
std::span<const RegisteredAllocator> allocators();
// Finds an allocator by its id, which settings may follow: "scatter:page=64K". Its traits then have
// the whole name as `id`, and a label with the settings. Equal settings give the same address.
// Returns nullptr if no allocator has the id. Throws Error{Exit::usage} if it has no such setting
// or value.
const RegisteredAllocator* find(const std::string& name);

// The values that a setting accepts: "heap or uniform", "a power of two from 256 to 64M".
std::string values_text(const alloc::AllocatorSetting& setting);
// The value of a setting in `options`, as on the command line: "uniform", "4K".
std::string value_text(const alloc::AllocatorSetting& setting,
                       const alloc::AllocatorOptions& options);
// Sets a value. Returns false if the text is not one of values_text().
bool set_value(const alloc::AllocatorSetting& setting, alloc::AllocatorOptions& options,
               const std::string& text);
bool is_default(const alloc::AllocatorSetting& setting, const alloc::AllocatorOptions& options);

}  // namespace heapwood::registry
