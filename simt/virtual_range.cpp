// SPDX-License-Identifier: MIT
#include "simt/virtual_range.hpp"

#include "simt/address_range.hpp"
#include "simt/cuda_runtime.hpp"
#include "simt/memory.hpp"

namespace heapwood::simt {

namespace {

class CpuVirtualRange final : public VirtualRangeOf<CpuRange> {
 public:
  using VirtualRangeOf::VirtualRangeOf;
  bool map(std::size_t offset, std::size_t bytes) override {
    return bytes <= platform_available({}) && VirtualRangeOf::map(offset, bytes);
  }
};

}  // namespace

std::unique_ptr<VirtualRange> reserve_range(const DeviceId& device, std::size_t bytes) {
  try {
    if (device.kind == DeviceKind::cuda) return cuda_runtime::reserve_range(device.index, bytes);
    return std::make_unique<CpuVirtualRange>(0, bytes);
  } catch (const Error& error) {
    const bool on_gpu = device.kind == DeviceKind::cuda;
    throw Error(error.exit(), std::string(on_gpu ? "" : "cpu: ") + error.what() +
                                  "; or use --host-allocator " + (on_gpu ? "cudamalloc" : "mmap"));
  }
}

}  // namespace heapwood::simt
