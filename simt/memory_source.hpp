// SPDX-License-Identifier: MIT
// Where device_allocate() and with it every Memory and Buffer gets memory: the platform (cudaMalloc, mmap), or a source
// that was set.
#pragma once

#include <cstddef>

#include "simt/device.hpp"

namespace heapwood::simt {

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Aligned to 256 bytes; nullptr where there is not enough.
  virtual void* allocate(const DeviceId& device, std::size_t bytes) = 0;
  virtual void deallocate(const DeviceId& device, void* block) noexcept = 0;
  virtual std::size_t available(const DeviceId& device) = 0;
};

// nullptr: the platform. Memory goes back to the source that is set when it is freed, so this is for times when there is
// none, before the first and after the last buffer.
void set_memory_source(MemorySource* source) noexcept;

// The platform's own, whatever source is set; nullptr where there is not enough memory. CPU memory is untouched zero pages.
void* platform_allocate(const DeviceId& device, std::size_t bytes);
void platform_free(const DeviceId& device, void* block, std::size_t bytes) noexcept;
std::size_t platform_available(const DeviceId& device);

// The same in the order of CUDA's default stream, from the device's memory pool, which keeps what is freed until
// pool_trim(). GPU only.
void* pool_allocate(const DeviceId& device, std::size_t bytes);
void pool_free(const DeviceId& device, void* block) noexcept;
void pool_trim(const DeviceId& device);
std::size_t pool_reserved(const DeviceId& device);  // physical memory that the pool holds

}  // namespace heapwood::simt
