// SPDX-License-Identifier: MIT
// Devices by name: `cpu`, `cuda:N`, `auto`. What there is, and why one cannot be used.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::simt {

enum class DeviceKind { cpu, cuda };

// Which device; for the CPU also how many threads ("warps" of width 1) a launch uses.
struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;    // CUDA ordinal
  int threads = 0;  // CPU only; 0 = one a hardware thread
  bool operator==(const DeviceId&) const = default;
};

struct DeviceInfo {
  DeviceId id;
  std::string key;   // "cpu", "cuda:0"
  std::string name;  // "NVIDIA H200", the processor's model name
  bool usable = false;
  std::string reason;            // why not usable, and what to do; empty if usable
  unsigned multiprocessors = 0;  // or hardware threads
  std::size_t memory_bytes = 0;
  int compute_capability = 0;  // 90 for sm_90; 0 for the CPU
  std::string driver;          // CUDA driver and runtime versions, "" for the CPU
};

// Every device of this machine, the CPU last; a line for CUDA even where there is none, with the reason.
std::vector<DeviceInfo> list_devices();

// Resolves "auto" (the first usable GPU, else the CPU), "cpu", "cuda:N". Throws Error{Exit::device} with the reason.
DeviceInfo find_device(const std::string& key, int threads = 0);
DeviceInfo describe(const DeviceId& id);

// Asks running launches to stop, and lets none begin (Ctrl-C). Async-signal-safe.
void interrupt() noexcept;
bool interrupted() noexcept;
void clear_interrupt() noexcept;

}  // namespace heapwood::simt
