// SPDX-License-Identifier: MIT
// The source of memory for device_allocate(), and so for every Memory and Buffer: the platform
// (cudaMalloc, mmap), or one that was set.
#pragma once

#include <cstddef>

#include "simt/device.hpp"

namespace heapwood::simt {

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Aligned to 256 bytes; nullptr if memory is exhausted.
  virtual void* allocate(const DeviceId& device, std::size_t bytes) = 0;
  virtual void deallocate(const DeviceId& device, void* block) noexcept = 0;
  virtual std::size_t available(const DeviceId& device) = 0;
};

// nullptr selects the platform. A block is freed to the source that is set at that time, so the
// source must be changed only while no block is allocated.
void set_memory_source(MemorySource* source) noexcept;

// Platform memory, independent of the source; nullptr if memory is exhausted. CPU memory is
// untouched zero pages.
void* platform_allocate(const DeviceId& device, std::size_t bytes);
void platform_free(const DeviceId& device, void* block, std::size_t bytes) noexcept;
std::size_t platform_available(const DeviceId& device);

}  // namespace heapwood::simt
