// SPDX-License-Identifier: MIT
// Options shared by several commands, and allocators by name, as in --allocator and --allocators:
// `ouroboros-c-s:chunk=4K,search=lowest`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/build_settings.hpp"
#include "bench/program/command_options.hpp"
#include "registry/registry.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

// The default of --allocator: the fastest one that frees (docs/performance.md).
inline constexpr const char* default_allocator = "heapwood";

// Throws Error{Exit::usage} that lists the ids or the settings, also for a setting that only
// `heapwood stress` heeds.
const Allocator& find_allocator(const std::string& name);
// "all" or names separated by commas; in the given order, without duplicates.
Allocators find_allocators(const std::string& list, bool for_stress = false);

// The options of earlier versions for single settings, such as --page-bytes: not shown by --help.
// They apply to every allocator that has the setting, and a note names the new form.
void add_old_allocator_options(CommandOptions& command);

struct DeviceOptions {
  std::string device = "auto";
  int threads = 0;     // CPU; 0 = one per hardware thread
  bool waits = false;  // for another process that measures on the GPU
};

void add_device_options(CommandOptions& command, DeviceOptions& options);
// --watertight
void add_watertight_option(CommandOptions& command, bool& watertight);
// --size
void add_size_option(CommandOptions& command, ImageSize& size, const char* what);
// pools: the command accepts a list of sizes, which is stored there; the first is that of settings.
void add_build_options(CommandOptions& command, BuildSettings& settings, bool with_runs,
                       std::vector<PoolSize>* pools = nullptr);
// --builder; with_both: accepts "both" (for comparisons).
void add_builder_option(CommandOptions& command, BuildSettings& settings, bool with_both);

// The requested device. If `auto` falls back to the CPU, one note says why: immediately, or when
// work starts (note_when_work_starts()).
enum class CpuNote { at_once, when_work_starts };
simt::DeviceInfo choose_device(const DeviceOptions& options, CpuNote when = CpuNote::at_once);

struct HostMemoryOptions {
  std::string allocator = "auto";
  std::string trace;  // a file; empty: none
};

// The host allocator of per-level builds: the requested one, TLSF for "auto".
std::string level_allocator(const HostMemoryOptions& options);

// The options are accepted before and after the command.
void add_host_memory_options(CommandOptions& command, HostMemoryOptions& options);
// Runs the action with buffers from that allocator and writes the trace. A debug build throws if
// the action leaks a buffer.
Exit with_host_memory(const HostMemoryOptions& options, const std::function<Exit()>& action);

}  // namespace heapwood::bench
