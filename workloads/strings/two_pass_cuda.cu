// SPDX-License-Identifier: MIT
#include <cub/device/device_scan.cuh>

#include "simt/cuda.hpp"
#include "workloads/strings/two_pass_run.hpp"

namespace heapwood::workloads::strings::two_pass_cuda {

namespace {

struct CudaScan {
  static double exclusive_sum(const simt::Cuda& device, std::uint64_t* values,
                              std::uint64_t count) {
    std::size_t bytes = 0;
    const auto scan = [&](void* memory) {
      simt::check_cuda(cub::DeviceScan::ExclusiveSum(memory, bytes, values, count), "prefix sum");
    };
    scan(nullptr);
    const simt::Memory memory(device.id(), bytes);
    simt::DeviceControl control;
    simt::CudaEvent begin, end;
    begin.record();
    scan(memory.data());
    end.record();
    const simt::CudaWait waited(end, control, {.what = "prefix sum"});
    return end.ms_since(begin);
  }
};

}  // namespace

Column step(const simt::DeviceId& device, Step step, const Source& from, const Source& second,
            double seconds, double& ms) {
  return two_pass_detail::step_on<CudaScan>(simt::Cuda(device), step, from, second, seconds, ms);
}

}  // namespace heapwood::workloads::strings::two_pass_cuda
