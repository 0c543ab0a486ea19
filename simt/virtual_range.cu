// SPDX-License-Identifier: MIT
// VirtualRange on a GPU.
#include "simt/address_range.hpp"
#include "simt/cuda_runtime.hpp"

namespace heapwood::simt::cuda_runtime {

namespace {

class CudaVirtualRange final : public VirtualRange {
 public:
  CudaVirtualRange(int device, std::size_t bytes) : range_(device, bytes) { describe(range_); }
  bool map(std::size_t offset, std::size_t bytes) override { return range_.map(offset, bytes); }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override {
    range_.unmap(offset, bytes);
  }

 private:
  CudaRange range_;
};

}  // namespace

std::unique_ptr<VirtualRange> reserve_range(int device, std::size_t bytes) {
  return std::make_unique<CudaVirtualRange>(device, bytes);
}

}  // namespace heapwood::simt::cuda_runtime
