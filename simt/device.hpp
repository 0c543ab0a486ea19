// SPDX-License-Identifier: MIT
// Devices by name (`cpu`, `cuda:N`, `auto`), their properties, and why a device is unusable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::simt {

enum class DeviceKind { cpu, cuda };

// Identifies a device. For the CPU also the number of threads (warps of width 1) of a launch.
struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;    // CUDA ordinal
  int threads = 0;  // CPU only; 0 = one per hardware thread
  bool operator==(const DeviceId& other) const {
    return kind == other.kind && index == other.index && threads == other.threads;
  }
};

struct DeviceInfo {
  DeviceId id;
  std::string key;   // "cpu", "cuda:0"
  std::string name;  // "NVIDIA H200"; the processor's model name
  bool usable = false;
  std::string reason;            // why it is unusable, and what to do; empty if usable
  unsigned multiprocessors = 0;  // for a CPU its hardware threads
  std::size_t memory_bytes = 0;
  int compute_capability = 0;  // 90 for sm_90; 0 for the CPU
  std::string driver;          // CUDA driver and runtime versions; "" for the CPU
};

// All devices, the CPU last. Without a usable GPU, an unusable CUDA entry gives the reason.
std::vector<DeviceInfo> list_devices();

// Resolves "auto" (the first usable GPU, else the CPU), "cpu", "cuda:N" and "cuda", which is
// "cuda:0". Throws Error{Exit::device} with the reason, or Error{Exit::usage} for other names.
DeviceInfo find_device(const std::string& key, int threads = 0);
DeviceInfo describe(const DeviceId& id);

// Orders all later work on the default stream, which Heapwood uses, after the work that the caller
// has enqueued in `stream` (a cudaStream_t as a number). No effect on the CPU.
void wait_for_stream(const DeviceId& device, std::uintptr_t stream);

// Restores the calling thread's current GPU at the end of a scope.
class CallerDevice {
 public:
  explicit CallerDevice(const DeviceId& device);
  ~CallerDevice();
  CallerDevice(CallerDevice&&) = delete;

 private:
  int before_ = -1;  // -1: there is none to restore
};

// Requests running launches to stop and prevents new ones (Ctrl-C). Async-signal-safe.
void interrupt() noexcept;
bool interrupted() noexcept;
void clear_interrupt() noexcept;

}  // namespace heapwood::simt
