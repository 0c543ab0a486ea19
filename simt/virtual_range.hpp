// SPDX-License-Identifier: MIT
// A range of device addresses that physical memory is mapped into piece by piece: CUDA's virtual memory management
// (cuMemAddressReserve, cuMemCreate, cuMemMap), mmap and mprotect on the CPU.
#pragma once

#include <cstddef>
#include <memory>

#include "simt/device.hpp"

namespace heapwood::simt {

class VirtualRange {
 public:
  virtual ~VirtualRange() = default;
  VirtualRange(const VirtualRange&) = delete;
  VirtualRange& operator=(const VirtualRange&) = delete;

  // Reserved; aligned to the granularity. Memory that is not mapped must not be touched.
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  // Offsets and sizes of map() are multiples of it.
  std::size_t granularity() const { return granularity_; }

  // False where the device has not that much memory. Throws Error{Exit::failed} on any other failure.
  virtual bool map(std::size_t offset, std::size_t bytes) = 0;
  // What one map() mapped, as a whole. No kernel may still use it.
  virtual void unmap(std::size_t offset, std::size_t bytes) noexcept = 0;

 protected:
  VirtualRange() = default;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, granularity_ = std::size_t{2} << 20;
};

// `bytes` is rounded up to the granularity. Throws Error{Exit::failed} where the addresses cannot be had.
std::unique_ptr<VirtualRange> reserve_range(const DeviceId& device, std::size_t bytes);

}  // namespace heapwood::simt
