// SPDX-License-Identifier: MIT
#include "simt/cuda.hpp"
#include "workloads/prefix_sum.cuh"
#include "workloads/strings/two_pass_run.hpp"

namespace heapwood::workloads::strings::two_pass_cuda {

Column step(const simt::DeviceId& device, Step step, const Source& from, const Source& second,
            double seconds, double& ms) {
  return two_pass_detail::step_on<CudaScan>(simt::Cuda(device), step, from, second, seconds, ms);
}

}  // namespace heapwood::workloads::strings::two_pass_cuda
