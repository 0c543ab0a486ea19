// SPDX-License-Identifier: MIT
// The prefix sum of the CUDA toolkit. For .cu files, after simt/cuda.hpp.
#pragma once

#include <cub/device/device_scan.cuh>

#include "simt/memory.hpp"

namespace heapwood::workloads {

class CudaScan {
 public:
  double exclusive_sum(const simt::Cuda& device, std::uint64_t* values, std::uint64_t count) {
    std::size_t bytes = 0;
    const auto scan = [&](void* memory) {
      simt::check_cuda(cub::DeviceScan::ExclusiveSum(memory, bytes, values, count), "prefix sum");
    };
    scan(nullptr);
    reserve(device, bytes);
    return timed("prefix sum", [&] { scan(memory_.data()); });
  }

 protected:
  // Returns the milliseconds of what f launches.
  template <class F>
  static double timed(const char* what, F f) {
    simt::DeviceControl control;
    simt::CudaEvent begin, end;
    begin.record();
    f();
    end.record();
    const simt::CudaWait waited(end, control, {.what = what});
    return end.ms_since(begin);
  }
  void reserve(const simt::Cuda& device, std::size_t bytes) {
    if (memory_.bytes() < bytes) memory_ = simt::Memory(device.id(), bytes);
  }

  simt::Memory memory_;  // of the toolkit's functions
};

}  // namespace heapwood::workloads
