// SPDX-License-Identifier: MIT
// An allocator compiled for a device, behind function pointers: what the command line, the viewer, the benchmarks and the
// tests call. One Engine a registry line and device kind; cmake/registry.cmake generates the table.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "alloc/allocator.hpp"
#include "alloc/exercise.hpp"
#include "alloc/stress.hpp"
#include "kdtree/build.hpp"

namespace heapwood::engine {

// What the compiler made of a kernel with this allocator inside; zeros on the CPU.
struct KernelUse {
  int registers = 0;
  std::size_t local_bytes = 0;   // stack frame a thread
  std::size_t shared_bytes = 0;  // a block
  unsigned warps_per_multiprocessor = 0;
};

// Of kernels with one malloc, one free, one of each (RegEff table 1); and with one of each by a warp's own part of the allocator,
// where it has one.
struct CallUse {
  KernelUse malloc, free, both;
  std::optional<KernelUse> own = {};
};

struct Engine {
  const alloc::AllocatorTraits* traits;
  simt::DeviceKind device;
  // Resets the pool and builds once. Throws simt::Stopped, simt::KernelFailure, Error.
  kdtree::BuildRun (*build)(kdtree::Workspace&, const kdtree::BuildOptions&);
  kdtree::InstrumentedRun (*build_instrumented)(kdtree::Workspace&, const kdtree::BuildOptions&);
  // Keeps at most `capacity` events.
  kdtree::RecordedRun (*build_recorded)(kdtree::Workspace&, const kdtree::BuildOptions&, std::size_t capacity);
  KernelUse (*kernel_use)(const simt::DeviceId&, kdtree::RefKind);  // of the build kernel
  CallUse (*call_use)(const simt::DeviceId&, bool coalesced, alloc::LargeBackend large);
  // Runs a script of allocator calls (alloc/exercise.hpp): conformance tests, later the generic benchmarks.
  alloc::ExerciseResult (*exercise)(const alloc::ExerciseJob&);
  // Runs a generic test once on a fresh pool (alloc/stress.hpp).
  alloc::StressResult (*stress)(const alloc::StressJob&);
};

struct Entry {
  const alloc::AllocatorTraits* traits;
  const Engine* cpu;
  const Engine* cuda;  // nullptr where CUDA was not compiled
  const Engine* on(simt::DeviceKind kind) const { return kind == simt::DeviceKind::cpu ? cpu : cuda; }
};

// In the order of alloc/registry.def.
std::span<const Entry> registry();
// nullptr if there is none.
const Entry* find(const std::string& id);

}  // namespace heapwood::engine
