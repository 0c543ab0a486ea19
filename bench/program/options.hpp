// SPDX-License-Identifier: MIT
// Options shared by several commands, and the parsing of allocators in --allocator and
// --allocators: `ouroboros-c-s:chunk=4K,search=lowest`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/build_settings.hpp"
#include "bench/program/command_options.hpp"
#include "registry/registry.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

// The default of --allocator: the fastest allocator that frees (docs/performance.md).
inline constexpr const char* default_allocator = "heapwood";

// Finds an allocator. Throws Error{Exit::usage} that lists the ids or the settings, also for a
// setting that only `heapwood stress` uses.
const Allocator& find_allocator(const std::string& name);
// Parses "all" or names separated by commas; returns them in the given order, without duplicates.
Allocators find_allocators(const std::string& list, bool for_stress = false);

struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;     // of the CPU; 0 = one per hardware thread
  bool waits = false;  // until no other process measures on the GPU
};

void add_device_options(CommandOptions& command, DeviceOptions& options);
void add_watertight_option(CommandOptions& command, bool& watertight);
void add_size_option(CommandOptions& command, ImageSize& size, const char* what);
// pools: if not nullptr, the command accepts a list of pool sizes and stores it there; the first is
// also stored in `settings`.
void add_build_options(CommandOptions& command, BuildSettings& settings, bool with_runs,
                       std::vector<PoolSize>* pools = nullptr);

// Returns the requested device. If `auto` chooses the CPU, one note says why: immediately, or when
// work starts (note_when_work_starts()).
enum class CpuNote { at_once, when_work_starts };
// `allocators` are those that will run: if one of them calls the GPU's malloc, its heap is reserved
// here, since its size is fixed once a kernel is loaded whose source file calls malloc anywhere.
simt::DeviceInfo choose_device(const DeviceOptions& options, const Allocators& allocators,
                               CpuNote when = CpuNote::at_once);

struct HostMemoryOptions {
  std::string allocator = "auto";
  std::string trace;  // file to write; empty: none
};

// Declares the options of host memory, which are accepted before and after the command.
void add_host_memory_options(CommandOptions& command, HostMemoryOptions& options);
// Runs the action with all buffers from the chosen host allocator, and writes the trace. A debug
// build throws if the action leaks a buffer.
Exit with_host_memory(const HostMemoryOptions& options, const std::function<Exit()>& action);

}  // namespace heapwood::bench
