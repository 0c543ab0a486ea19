// SPDX-License-Identifier: MIT
// The heap of device malloc(). Its size is fixed once a kernel that uses it is loaded.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "simt/error.hpp"

namespace heapwood::simt {

// Makes the heap of the current device, which is `device`, at least this large. The first call
// reserves at least 1/16 of the device's memory, because later pools may be larger than the first;
// with `exactly` just `bytes`.
inline void reserve_device_heap(int device, std::size_t bytes, bool exactly = false) {
  const auto check = [](cudaError_t status) {
    if (status != cudaSuccess)
      throw Error(Exit::failed, std::string("device heap: ") + cudaGetErrorName(status) + " (" +
                                    cudaGetErrorString(status) + ")");
  };
  // Keeps track of requested sizes: the driver may reserve less than requested without an error,
  // and rejects a second request.
  static std::map<int, std::size_t> requested;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::size_t now = 0, free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total));
  check(cudaDeviceGetLimit(&now, cudaLimitMallocHeapSize));
  // The default heap of 8 MiB is not enough even if the first pool fits: later ones may not.
  if (requested[device] >= bytes) return;
  const std::size_t wanted = exactly ? bytes : std::max(bytes, total / 16);
  const cudaError_t status = cudaDeviceSetLimit(cudaLimitMallocHeapSize, wanted);
  if (status == cudaSuccess) {
    requested[device] = wanted;
    return;
  }
  cudaGetLastError();  // cleared, so that the next launch does not report the error
  if (now >= bytes) return;
  throw Error(
      Exit::failed,
      "cuda: the device heap of " + std::to_string(now) + " bytes cannot grow to " +
          std::to_string(bytes) + " (" + cudaGetErrorName(status) +
          "); its size is fixed once a kernel has used it: run the largest pool first or alone");
}

}  // namespace heapwood::simt
#endif
