// SPDX-License-Identifier: MIT
#include "simt/caller.hpp"

#include "simt/cuda.hpp"

namespace heapwood::simt {

void wait_for_stream(const DeviceId& device, std::uintptr_t stream) {
  if (device.kind != DeviceKind::cuda) return;
  check_cuda(cudaSetDevice(device.index), "cudaSetDevice");
  cudaEvent_t reached{};
  check_cuda(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreate");
  cudaError_t status = cudaEventRecord(reached, reinterpret_cast<cudaStream_t>(stream));
  if (status == cudaSuccess) status = cudaStreamWaitEvent(nullptr, reached, 0);
  cudaEventDestroy(reached);  // takes effect when the event has completed
  check_cuda(status, "the caller's stream");
}

CallerDevice::CallerDevice(const DeviceId& device) {
  if (device.kind == DeviceKind::cuda && cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
}
CallerDevice::~CallerDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace heapwood::simt
