// SPDX-License-Identifier: MIT
// An AddressRange (address_range.hpp) on a device that is chosen at run time.
#pragma once

#include <cstddef>
#include <memory>

#include "simt/device.hpp"

namespace heapwood::simt {

class VirtualRange {
 public:
  virtual ~VirtualRange() = default;
  VirtualRange(VirtualRange&&) = delete;

  // The start of the range, aligned to the granularity. Unmapped memory must not be accessed.
  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }
  // The unit of offsets and sizes passed to map().
  std::size_t granularity() const { return granularity_; }

  // Maps memory. Returns false if device memory is exhausted; otherwise throws Error{Exit::failed}.
  virtual bool map(std::size_t offset, std::size_t bytes) = 0;
  // Unmaps exactly what one call of map() has mapped. No kernel may be using it.
  virtual void unmap(std::size_t offset, std::size_t bytes) noexcept = 0;

 protected:
  VirtualRange() = default;

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, granularity_ = std::size_t{2} << 20;
};

template <class Range>  // CpuRange or CudaRange
class VirtualRangeOf : public VirtualRange {
 public:
  VirtualRangeOf(int device, std::size_t bytes) : range_(device, bytes) {
    base_ = range_.base();
    bytes_ = range_.bytes();
    granularity_ = range_.granularity();
  }
  bool map(std::size_t offset, std::size_t bytes) override { return range_.map(offset, bytes); }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override {
    range_.unmap(offset, bytes);
  }

 private:
  Range range_;
};

// Rounds `bytes` up to the granularity. Throws Error{Exit::failed} if it cannot reserve addresses.
std::unique_ptr<VirtualRange> reserve_range(const DeviceId& device, std::size_t bytes);

}  // namespace heapwood::simt
