// SPDX-License-Identifier: MIT
// The CUDA state of a program that calls Heapwood as a library: its streams and its current device.
// Needs no CUDA headers: implemented by cuda_runtime.cu or cuda_absent.cpp.
#pragma once

#include <cstdint>

#include "simt/device.hpp"

namespace heapwood::simt {

// Orders all later work on the default stream, which Heapwood uses, after the work that the caller
// has enqueued in `stream` (a cudaStream_t as a number). No effect on the CPU.
void wait_for_stream(const DeviceId& device, std::uintptr_t stream);

// Restores the calling thread's current GPU at the end of a scope.
class CallerDevice {
 public:
  explicit CallerDevice(const DeviceId& device);
  ~CallerDevice();
  CallerDevice(const CallerDevice&) = delete;
  CallerDevice& operator=(const CallerDevice&) = delete;

 private:
  int before_ = -1;  // none to restore
};

}  // namespace heapwood::simt
