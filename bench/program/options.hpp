// SPDX-License-Identifier: MIT
// Options shared by several commands.
#pragma once

#include <string>
#include <vector>

#include "bench/build_settings.hpp"
#include "bench/program/allocator_names.hpp"
#include "bench/program/command_options.hpp"

namespace heapwood::bench {

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

// The requested device. If `auto` falls back to the CPU, one note says why: at once, or when work
// starts (note_when_work_starts()).
enum class CpuNote { at_once, when_work_starts };
simt::DeviceInfo choose_device(const DeviceOptions& options, CpuNote when = CpuNote::at_once);

}  // namespace heapwood::bench
